"""What ``wenyuan doctor`` says of an issuer: each fault with what helps, and nothing where all is well."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from issuer_server import CLIENT, IssuerServer, ec_key, issuing, signing_settings
from wenyuan.cli.root import app


@pytest.fixture
def issuer() -> Iterator[IssuerServer]:
    with issuing() as made:
        yield made


def checks(folder: Path, server: IssuerServer, language: str = "en", **more: Any) -> list[dict[str, Any]]:
    """The doctor's lines of the issuer."""
    told = {name: value for name, value in signing_settings(server, **more).items() if value is not None}
    groups = told.pop("groups", {})
    lines = ["[oidc]", *(f"{name} = {json.dumps(value)}" for name, value in told.items())]
    lines += [f"[oidc.groups.{name}]\nroles = {json.dumps(roles)}" for name, roles in groups.items()]
    (folder / "wenyuan.toml").write_text("\n".join(lines), "utf-8")
    done = CliRunner().invoke(app, ["doctor", "--json", "--library", str(folder), "--lang", language])
    return [one for one in json.loads(done.stdout)["checks"] if one["name"] == "issuer"]


def test_an_issuer_that_is_well(tmp_path: Path, issuer: IssuerServer) -> None:
    """One line, with its address."""
    (check,) = checks(tmp_path, issuer, client_id=CLIENT)
    assert (check["state"], check["detail"]) == ("ok", issuer.issuer)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("more", "state", "said", "help_"),
    [
        ({"audience": []}, "warn", ("no audience", "没有设置令牌应发给谁"), "oidc.audience"),
        ({"address": None}, "warn", ("own address", "本服务的地址"), "oidc.address"),
        ({"everyone": []}, "warn", ("nobody may", "谁也做不了"), "oidc.everyone, oidc.groups"),
        ({"groups": {"hr": ["reader"]}}, "warn", ("no claim says", "由哪个声明"), "oidc.groups_claim"),
        ({"algorithms": ["ES256"]}, "fail", ("PS256", "PS256"), "oidc.algorithms"),
        ({"issuer": "http://127.0.0.1:9"}, "fail", ("cannot be reached", "无法连接"), None),
        ({"allow_private": None, "issuer": "https://127.0.0.1:9"}, "fail", ("private address", "内网"), "oidc.allow_private"),
    ],
    ids=["audience", "address", "nobody", "groups", "algorithms", "unreachable", "private"],
)  # fmt: skip
def test_each_fault_is_named(
    tmp_path: Path, issuer: IssuerServer, language: str, more: dict[str, Any], state: str, said: tuple[str, str], help_: str | None
) -> None:  # fmt: skip
    """What is wrong, in either language, with the setting that helps."""
    (check,) = checks(tmp_path, issuer, language, **more)
    assert check["state"] == state
    assert said[language == "zh"] in check["detail"]
    assert help_ is None or help_ in check["next"]


def test_an_issuer_that_calls_itself_otherwise(tmp_path: Path, issuer: IssuerServer) -> None:
    """A slash too many is the usual mistake, and the hint says so."""
    issuer.metadata = {"issuer": issuer.issuer + "/"}
    (check,) = checks(tmp_path, issuer)
    assert check["state"] == "fail"
    assert "a slash at the end included" in check["next"]


def test_an_issuer_without_usable_keys(tmp_path: Path, issuer: IssuerServer) -> None:
    """Keys for encryption verify nothing."""
    issuer.published = {"keys": [{**ec_key().as_dict(private=False), "use": "enc"}]}
    (check,) = checks(tmp_path, issuer)
    assert "no key that can verify" in check["detail"]


def test_clocks_that_differ(tmp_path: Path, issuer: IssuerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The issuer's clock is an hour behind."""
    import time

    from issuer_server import IssuerAnswer

    monkeypatch.setattr(
        IssuerAnswer, "date_time_string", lambda self: time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() - 3600))
    )  # fmt: skip
    (check,) = checks(tmp_path, issuer)
    assert check["state"] == "fail"
    assert "differ by 3600 seconds" in check["detail"] or "differ by 3601 seconds" in check["detail"]


@pytest.mark.parametrize("command", ["doctor", "serve"])
def test_what_verifies_is_not_installed(tmp_path: Path, issuer: IssuerServer, command: str) -> None:
    """Without the extra both say the command that installs it."""
    subprocess.run(
        [sys.executable, "-m", "wenyuan.cli", "--library", str(tmp_path / "l"), "init"],
        check=True,
        capture_output=True,
    )
    (tmp_path / "l" / "wenyuan.toml").write_text(
        f'encoder = {{kind = "none"}}\n[oidc]\nissuer = "{issuer.issuer}"\nallow_private = true\n', "utf-8"
    )
    without = "import sys; sys.modules['joserfc'] = None; from wenyuan.cli.entry import main; sys.argv = ['wenyuan', *sys.argv[1:]]; main()"
    done = subprocess.run(
        [sys.executable, "-c", without, command, "--library", str(tmp_path / "l"), "--lang", "en"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "is not installed" in said
    assert "oidc" in said.partition("is not installed")[2]
    assert "install" in said.partition("is not installed")[2]
    assert "Traceback" not in said
