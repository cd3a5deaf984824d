"""The examples in `examples/deploy` name only settings, commands, addresses and volumes that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from setting_defaults import settings
from wenyuan.cli.root import app
from wenyuan.server.app import PUBLIC

DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
KUBERNETES = [one for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")) if one]
PORT = dict(settings())["server.port"]
KINDS = {
    "ConfigMap": "v1", "PersistentVolumeClaim": "v1", "Service": "v1", "PodDisruptionBudget": "policy/v1",
    "StatefulSet": "apps/v1",
}  # fmt: skip
SETS = [one for one in KUBERNETES if one["kind"] == "StatefulSet"]


def found(tree: Any, key: str) -> Iterator[Any]:
    """Every value under a key, at any depth."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name == key:
                yield value
            yield from found(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from found(value, key)


def containers(one: Any) -> list[Any]:
    pod = one["spec"]["template"]["spec"]
    return [*pod.get("initContainers", []), *pod["containers"]]


@pytest.mark.parametrize("file", sorted(DEPLOY.iterdir()), ids=lambda file: file.name)
def test_variables_are_settings(file: Path) -> None:
    """Each environment variable of ours is a setting."""
    named = set(re.findall(r"WENYUAN_[A-Z_]+", file.read_text("utf-8"))) - {"WENYUAN_LIBRARY"}
    known = {"WENYUAN_" + path.upper().replace(".", "__") for path, _ in settings()}
    assert named <= known


def test_commands_exist() -> None:
    """What containers run are commands of the program, with options that they have."""
    commands: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    run = [service["command"] for service in COMPOSE["services"].values() if "command" in service]
    run += [container["args"] for one in SETS for container in containers(one) if "args" in container]
    assert len(run) == 5
    for name, *rest in run:
        options = {option for parameter in commands[name].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= options


def test_compose_holds_together() -> None:
    """Images carry a version, volumes are declared, and who is depended on says when it is healthy."""
    services = COMPOSE["services"]
    for service in services.values():
        assert re.fullmatch(r"[\w./-]+:[\w.-]+", service["image"])
        assert not service["image"].endswith(":latest")
        for volume in service.get("volumes", []):
            name = volume.partition(":")[0]
            assert name.startswith("./") or name in COMPOSE["volumes"]
        for name, how in service.get("depends_on", {}).items():
            assert how == {"condition": "service_healthy"}
            assert services[name]["healthcheck"]["test"][0] == "CMD"
    assert services["server"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]


def test_no_secret_is_written_down() -> None:
    """Passwords come from the environment or a secret of the cluster."""
    assert all("${POSTGRES_PASSWORD:?" in v for v in found(COMPOSE, "POSTGRES_PASSWORD"))
    assert all("${POSTGRES_PASSWORD:?" in v for v in found(COMPOSE, "WENYUAN_CATALOG__DSN"))
    assert not any("DSN" in name or "TOKEN" in name for one in KUBERNETES for name in one.get("data", {}))


def test_kubernetes_holds_together() -> None:
    """Kinds have their versions, selectors find their pods, mounts their volumes, ports their names."""
    for one in KUBERNETES:
        assert one["apiVersion"] == KINDS[one["kind"]]
        assert re.fullmatch(r"[a-z0-9-]{1,63}", one["metadata"]["name"])
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in SETS]
    claims = {one["metadata"]["name"] for one in KUBERNETES if one["kind"] == "PersistentVolumeClaim"}
    for one in SETS:
        spec = one["spec"]
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
        own = {v["name"] for v in spec["template"]["spec"]["volumes"]}
        own |= {v["metadata"]["name"] for v in spec["volumeClaimTemplates"]}
        for container in containers(one):
            assert {mount["name"] for mount in container["volumeMounts"]} == own
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert set(found(one, "claimName")) <= claims
    service = next(one for one in KUBERNETES if one["kind"] == "Service")
    assert service["spec"]["selector"] in labels
    assert {port["targetPort"] for port in service["spec"]["ports"]} == {"http"}
    assert list(found(SETS, "containerPort")) == [PORT]


def test_probes_ask_what_needs_no_key() -> None:
    """The addresses of probes are there, and open to who has no key."""
    paths = {probe["path"] for probe in found(SETS, "httpGet")} | {"/readyz"}
    assert {"/livez", "/readyz"} == paths
    assert paths <= PUBLIC
    assert "/readyz" in str(COMPOSE["services"]["server"]["healthcheck"])
