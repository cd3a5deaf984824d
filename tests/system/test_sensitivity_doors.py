"""A higher sensitivity, set at any door, takes effect at once: over HTTP, by ``source set``, by ``apply``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from governed_door import governed_server, key, send
from wenyuan.cli.root import app

MAIL = "canary.seven@example.org"
TEXT = f"# 投诉\n\n投诉请写信到 {MAIL}。\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "contacts"
    folder.mkdir()
    (folder / "a.md").write_text(TEXT)
    return folder


def found(library: Any) -> bool:
    return MAIL in repr(library.search("投诉请写信到", sources=["contacts"]).passages)


def test_over_http(tmp_path: Path, docs: Path) -> None:
    """PATCH reads the source again before it answers, and says how that went; other changes read nothing."""
    with governed_server(tmp_path / "served") as (url, library):
        library.add(wenyuan.Source(source_id="contacts", path=str(docs)))
        assert found(library)
        token = key(library, "registry", "ingest")
        answer = send(url, "PATCH", "/v1/sources/contacts", {"title": "Contacts"}, token)
        assert (answer.status, "refresh" in answer.json) == (200, False)
        answer = send(url, "PATCH", "/v1/sources/contacts", {"sensitivity": "internal"}, token)
        assert answer.json["refresh"]["status"] == "SUCCESS"
        assert answer.json["refresh"]["report"]["redacted"] == {"email": 1}
        assert not found(library)
        docs.rename(docs.with_name("gone"))
        answer = send(url, "PATCH", "/v1/sources/contacts", {"sensitivity": "restricted"}, token)
        assert answer.json["refresh"]["status"] == "FAILED"
        assert answer.json["refresh"]["error_message"]
        assert answer.json["counts"]["documents"] == 0


def test_by_the_command_line(tmp_path: Path, docs: Path) -> None:
    """``source set`` and ``apply`` read again at once, show it, and fail when it cannot be read."""
    world = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_LIBRARY": str(tmp_path / "library"), "LC_ALL": "C.UTF-8"}

    def run(*args: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, list(args), env=world, prog_name="wenyuan")
        assert done.exit_code == code, done.output
        return done.stdout

    def held() -> bool:
        return MAIL in run("search", "投诉请写信到", "--json")

    run("init")
    run("add", str(docs), "--source", "contacts")
    assert held()
    run("source", "set", "contacts", "--title", "Contacts")
    assert held()
    told = json.loads(run("source", "set", "contacts", "--sensitivity", "internal", "--json"))
    assert [outcome["source_id"] for outcome in told["refreshed"]] == ["contacts"]
    assert not held()
    file = tmp_path / "registry.yaml"
    entry = "sources: [{{source_id: contacts, path: {}, title: Contacts, sensitivity: {}}}]\n"
    file.write_text(entry.format(docs, "confidential"))
    assert "1 changed" in run("apply", str(file))
    docs.rename(docs.with_name("gone"))
    file.write_text(entry.format(docs, "restricted"))
    told = json.loads(run("apply", str(file), "--json", code=1))
    assert told["status"] == "FAILED"
    assert json.loads(run("source", "show", "contacts", "--json"))["source"]["documents"] == 0
