"""A command opens what it needs: those that are about the record alone load no index, encoder, reader or redaction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import wenyuan

HEAVY = (
    "numpy", "faiss", "onnxruntime", "sentencepiece", "tantivy", "pypdfium2", "lxml", "starlette", "wenyuan.app",
    "wenyuan.core.scoring", "wenyuan.core.rules.checking", "wenyuan.core.redaction.findings", "wenyuan.encoders", "wenyuan.engines",
    "wenyuan.readers", "wenyuan.service.ingest", "wenyuan.service.library",
)  # fmt: skip
RECORD = (
    ["key", "list"], ["key", "create", "--rights", "search"], ["agent", "set", "a", "--scope", "docs"], ["agent", "list"],
    ["agent", "show", "a"], ["agent", "remove", "a", "--yes"], ["task", "list"], ["source", "list"], ["source", "show", "docs"],
    ["audit", "list"], ["audit", "verify"],
)  # fmt: skip
_CHILD = """
import json, sys
from typer.testing import CliRunner
from wenyuan.cli.root import app
heavy, commands = json.loads(sys.argv[1])
for command in commands:
    done = CliRunner().invoke(app, command, prog_name="wenyuan")
    assert done.exit_code == 0, (command, done.output)
print(json.dumps([name for name in heavy if name in sys.modules]))
"""


def loaded(folder: Path, *commands: list[str]) -> list[str]:
    """The heavy modules that a fresh process has loaded after some commands."""
    asked = [sys.executable, "-c", _CHILD, json.dumps([HEAVY, commands])]
    environment = {**os.environ, "WENYUAN_LIBRARY": str(folder)}
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the built-in encoder and a document."""
    place = tmp_path_factory.mktemp("opened")
    (place / "a.md").write_text("# 养护\n\n混凝土养护不少于七天。\n", "utf-8")
    with wenyuan.open(place / "library", create=True) as library:
        library.add(wenyuan.Source(source_id="docs", path=str(place / "a.md")))
    return place / "library"


def test_commands_about_the_record_load_nothing_that_answers(folder: Path) -> None:
    """Sources, agents, keys, tasks and the audit are listed and changed without index, encoder, reader or redaction."""
    assert loaded(folder, *RECORD) == []


def test_what_they_change_is_audited(folder: Path) -> None:
    """A key that is made without opening the library has its record."""
    loaded(folder, ["key", "create", "--rights", "search"])
    with wenyuan.open(folder) as library:
        (newest,) = library.audit.list(kind="key", limit=1)
        assert newest.record["action"] == "created"
        assert library.audit.verify().ok


def test_commands_that_list_documents_load_no_encoder(folder: Path) -> None:
    """An index is opened to say what is indexed; a model is not."""
    found = loaded(folder, ["document", "list"], ["synonyms", "list"], ["corrections"])
    assert not {"onnxruntime", "sentencepiece"} & set(found)


def test_a_search_loads_what_answers(folder: Path) -> None:
    """So it is seen that the other tests look at what there is to see."""
    found = set(loaded(folder, ["search", "养护几天"]))
    assert {"numpy", "onnxruntime", "tantivy", "wenyuan.core.scoring", "wenyuan.engines"} <= found
    assert "faiss" not in found, "a library of a few passages has no codes"
