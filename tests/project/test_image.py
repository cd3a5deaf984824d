"""The image is made of the wheel alone, runs as nobody in particular, and is what compose and Kubernetes start."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import yaml

from setting_defaults import settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "examples" / "deploy"
FILE = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text("utf-8"))
STEPS = [line.split(None, 1) for line in FILE.splitlines() if line and not line.startswith("#")]
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
KUBERNETES = [one for one in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")) if one]


def last_stage() -> list[list[str]]:
    """The steps of the image that is kept."""
    return STEPS[max(number for number, (word, _) in enumerate(STEPS) if word == "FROM") :]


def copied() -> list[str]:
    """What the first stage takes from the project."""
    named = [rest.split()[:-1] for word, rest in STEPS if word == "COPY" and not rest.startswith("--from")]
    return [name for names in named for name in names]


def test_what_is_copied_is_enough_to_build_the_wheel(tmp_path: Path) -> None:
    """The build backend makes it of these files alone, as the first stage does."""
    for name in copied():
        target = tmp_path / "src" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile)(ROOT / name, target)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")]
    done = subprocess.run(build, cwd=tmp_path / "src", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [file.suffix for file in (tmp_path / "out").iterdir()] == [".whl"]


def test_nothing_that_is_copied_is_left_out_of_the_context() -> None:
    """What `.dockerignore` names is no part of the build, and what is large or private is named."""
    ignored = [one for one in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if one and one[0] != "#"]
    assert [name for name in copied() if any(fnmatch(name, one) for one in ignored)] == []
    assert {".git", ".venv*", "library", "dist"} <= set(ignored)


def test_the_image_is_slim_and_not_root() -> None:
    """A stage of its own without build tools, a pinned base, a numbered user, and nothing fetched as root at run time."""
    words = [word for word, _ in last_stage()]
    bases = {rest.split()[0] for word, rest in STEPS if word == "FROM"}
    assert len([word for word, _ in STEPS if word == "FROM"]) == 2
    assert all(re.fullmatch(r"python:3\.\d+-slim", base) for base in bases)
    assert "ADD" not in words
    assert not any("pip install" in rest or "apt-get" in rest for _, rest in last_stage())
    (user,) = [rest for word, rest in last_stage() if word == "USER"]
    assert user.isdigit() and int(user) >= 10_000
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert all("--no-cache-dir" in part for part in re.findall(r"pip (?:install|wheel)[^&]*", FILE))


def test_image_compose_and_kubernetes_agree() -> None:
    """One user, one port, one question for health, and a root that is only read, with room for what must be written."""
    (user,) = [rest for word, rest in last_stage() if word == "USER"]
    (health,) = [rest for word, rest in last_stage() if word == "HEALTHCHECK"]
    (port,) = [rest for word, rest in last_stage() if word == "EXPOSE"]
    command = json.loads(next(rest for word, rest in last_stage() if word == "CMD"))
    server = COMPOSE["services"]["server"]
    assert json.loads(health[health.index("[") :]) == server["healthcheck"]["test"][1:]
    assert (int(port), command) == (dict(settings())["server.port"], server["command"])
    ours = [one for one in COMPOSE["services"].values() if one["image"].startswith("wenyuan:")]
    assert all(one["read_only"] and one["tmpfs"] == ["/tmp"] and one["cap_drop"] == ["ALL"] for one in ours)
    for one in KUBERNETES:
        if one["kind"] != "StatefulSet":
            continue
        pod = one["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsUser"] == int(user)
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert {mount["mountPath"] for mount in container["volumeMounts"]} >= {"/tmp", "/library"}
        if one["metadata"]["name"] == "wenyuan":
            assert pod["containers"][0]["args"] == command
