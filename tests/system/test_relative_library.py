"""Every route and every command does its work in a library at a relative path, which an owner's first one is.

Both tables are compared with what there is: a new route or command without a call fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.main

import wenyuan
from command_line import runner
from every_route import State, owners_files, walk, wrong_in
from http_door import Answer, call, url_of
from patience import HANGS
from wenyuan.cli.root import app
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.server.app import ROUTES, create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

LIBRARY = "./library"
SEEN: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an owner's files; paths are given as they are typed there."""
    monkeypatch.chdir(tmp_path)
    owners_files(tmp_path)
    return tmp_path


def test_every_route_works_on_a_relative_library(home: Path) -> None:
    """Each is called, in the order of an owner's day, and answers as it does elsewhere."""
    issuer = {
        "issuer": "https://id.example.com",
        "address": "https://kb.example.com",
        "audience": ["https://kb.example.com"],
    }
    with wenyuan.open(LIBRARY, create=True, oidc=issuer, **SEEN) as library:
        for name in ("a" * 64, "b" * 64):
            library.quarantine.keep(b"bad", sha256=name, suffix=".md", scanner="clamd", reason="Trojan")
        url, stop = start_in_thread(
            create_app(
                library,
                authenticate=KeyRing(library.catalog, open_without_keys=True),
                settings=ServerSettings(ingest_roots=(home,)),
            ),
            grace=1,
        )

        def ask(method: str, _path: str, address: str, sent: Any, headers: Mapping[str, str], state: State) -> Answer:
            held = {"Authorization": f"Bearer {state['token']}"} if state["token"] else {}
            return call(url, method, address, sent, {**headers, **held})

        try:
            told = walk(library, ask)
        finally:
            stop()
    assert set(told) == {(one.method, one.path) for one in ROUTES}, "a route without a call"
    assert wrong_in(told) == {}


Words = Callable[[State], list[object]]
COMMANDS: Sequence[tuple[str, list[object] | Words, int]] = (
    ("init", [], 0),
    ("add", ["docs", "--source", "docs"], 0),
    ("ingest", ["docs"], 0),
    ("import-vectors", ["passages.parquet", "--source", "wiki"], 0),
    ("apply", ["registry.yaml"], 0),
    ("refresh", ["docs"], 0),
    ("worker", ["--once", "--jobs", "2"], 0),
    ("workers", [], 0),
    ("source list", [], 0),
    ("source show", ["docs"], 0),
    ("source set", ["docs", "--title", "制度"], 0),
    ("source export", ["out.yaml"], 0),
    ("preview", ["价目.csv", "--passage-size", "100"], 0),
    ("document upload", ["mine", "价目.csv"], 0),
    ("document list", [], 0),
    ("document show", lambda s: [s["mine"]], 0),
    ("document replace", lambda s: [s["mine"], "new/价目.csv"], 0),
    ("document list", [], 0),
    ("document replace", lambda s: [s["docs"], "新.md"], 2),  # of a source with a path
    ("document history", lambda s: [s["mine"]], 0),
    ("document set", lambda s: [s["mine"], "--title", "请假制度", "--tag", "年度=2026"], 0),
    ("document restore", lambda s: [s["docs"]], 2),  # of a source with a path
    ("document move", lambda s: [s["docs"], "--to", "mine"], 2),  # likewise
    ("document readers", lambda s: [s["docs"], "--readers", "group:hr", "--deny", "user:li"], 0),
    ("document readers", [], 0),
    ("document readers", lambda s: [s["docs"], "--clear"], 0),
    ("search", ["年假几天"], 0),
    ("retrieve", ["年假几天"], 0),
    ("answer", ["年假几天"], 1),  # there is no language model
    ("context", ["年假几天"], 0),
    ("verify", ["员工每年有 10 天年假。"], 0),
    ("correct", lambda s: [s["ref"], "--question", "能休几天"], 0),
    ("corrections", [], 0),
    ("undo", ["1"], 0),
    ("forget list", [], 0),
    ("forget person", ["欧阳雪松", "--yes"], 0),
    ("forget document", ["999999", "--plan"], 2),
    ("forget source", ["nowhere", "--plan"], 2),
    ("forget certificate", ["e-0"], 2),
    ("forget verify", ["e-0"], 2),
    ("forget expired", ["--plan"], 0),
    ("forget resume", [], 0),
    ("forget hold", ["person", "欧阳雪松", "--reason", "case 7"], 0),
    ("forget holds", [], 0),
    ("forget lift", ["h-0"], 2),
    ("conflicts list", [], 0),
    ("conflicts find", [], 0),
    ("conflicts show", ["0123456789abcdef"], 2),
    ("conflicts decide", ["0123456789abcdef", "--as", "later"], 2),
    ("fs ls", ["/docs"], 0),
    ("fs tree", [], 0),
    ("fs find", ["*"], 0),
    ("fs grep", ["休假"], 0),
    ("fs cat", ["document-999999"], 2),
    ("okf export", ["bundle"], 0),
    ("okf check", ["bundle"], 0),
    ("overview", ["--days", "7"], 0),
    ("impact", [], 0),
    ("gaps list", [], 0),
    ("gaps ask", [], 0),
    ("gaps show", ["0123456789abcdef"], 2),
    ("gaps decide", ["0123456789abcdef", "--as", "later"], 2),
    ("gaps answer", ["0123456789abcdef", "At seven."], 2),
    ("gaps passage", ["0123456789abcdef", "a#1"], 2),
    ("gaps synonym", ["0123456789abcdef", "canteen", "cafeteria"], 2),
    ("synonyms add", ["休假", "请假"], 0),
    ("synonyms list", [], 0),
    ("synonyms import", ["说法.csv"], 0),
    ("synonyms export", [], 0),
    ("synonyms remove", ["休假", "请假"], 0),
    ("agent set", ["desk", "--scope", "docs"], 0),
    ("agent list", [], 0),
    ("agent show", ["desk"], 0),
    ("task set", ["leave", "--domain", "docs"], 0),
    ("task list", [], 0),
    ("task show", ["leave"], 0),
    ("task remove", ["leave"], 0),
    ("group set", ["hr", "user:li", "group:works"], 0),
    ("group add", ["hr", "user:wu"], 0),
    ("group remove", ["hr", "user:li"], 0),
    ("group list", [], 0),
    ("group show", ["hr"], 0),
    ("key create", ["--rights", "search", "--agent", "desk"], 0),
    ("key list", [], 0),
    ("key change", lambda s: [s["key"], "--as", "user:li", "--groups", "hr,works"], 0),
    ("key revoke", lambda s: [s["key"]], 0),
    ("agent remove", ["desk", "--yes"], 0),
    ("rules packs", [], 0),
    ("rules import", ["customer_service"], 0),
    ("rules template", ["rules.xlsx"], 0),
    ("rules list", [], 0),
    ("rules show", ["1"], 0),
    ("rules export", ["-o", "rules.yaml"], 0),
    ("rules review", [], 0),
    ("rules infer", ["退款"], 0),
    ("rules propose", ["docs", "--dry-run"], 1),  # there is no language model
    ("rules remove", ["customer_service", "--yes"], 0),
    ("eval", ["--golden", "golden.csv"], 0),
    ("tune", ["--status"], 0),
    ("feedback", lambda s: [s["audit"], "--good", "1"], 0),
    ("audit list", [], 0),
    ("audit show", lambda s: [s["audit"]], 0),
    ("audit verify", [], 0),
    ("audit head", [], 0),
    ("audit export", ["audit.jsonl"], 0),
    ("audit replay", lambda s: [s["audit"]], 0),
    ("quarantine list", [], 0),
    ("quarantine release", ["ffff"], 2),
    ("quarantine discard", ["ffff"], 2),
    ("reembed", [], 0),
    ("doctor", [], 0),
    ("connect", ["openai"], 0),
    ("conformance", ["--self"], 0),
    ("demo", [], 0),
    ("encoder check", ["docs"], 1),  # no model lies there
    ("backup", ["copy"], 0),
    ("migrate", ["--to", "./library"], 2),  # to itself
    ("document delete", lambda s: [s["mine"], "--yes"], 0),
    ("source remove", ["mine", "--yes"], 0),
)


def _commands(command: Any, before: str = "") -> Iterator[str]:
    for name, one in command.commands.items():
        yield from _commands(one, f"{before}{name} ") if hasattr(one, "commands") else [f"{before}{name}"]


def test_every_command_works_on_a_relative_library(home: Path) -> None:
    """Each is given as an owner types it, and ends as it should; `serve` and `mcp` are started as processes."""
    vectors = HashingEncoder().encode_passages(["年假为 5 天。"])
    passages = pa.table({"text": ["年假为 5 天。"], "vector": np.asarray(vectors, np.float32).tolist()})
    pq.write_table(passages.replace_schema_metadata({"wenyuan.encoder": "hashing"}), home / "passages.parquet")
    called = {name for name, _, _ in COMMANDS} | {"serve", "mcp"}
    assert called == set(_commands(typer.main.get_command(app))), "a command without a call"
    run = runner(Path(LIBRARY), WENYUAN_ENCODER__KIND="hashing")

    def value(*words: object) -> Any:
        return json.loads(run(*words, "--json").stdout)

    s: State = {}
    for name, words, code in COMMANDS:
        if name in (
            "document show",
            "document history",
            "document set",
            "document restore",
            "document move",
            "document delete",
        ):
            s |= {one["source_id"]: one["document_id"] for one in value("document", "list")["documents"]}
        if name == "correct":
            s["ref"] = value("search", "年假几天")["fragments"][0]["metadata"]["passage_id"]
        if name == "key change":
            s["key"] = value("key", "list")["keys"][0]["key_id"]
        if name == "feedback":
            s["audit"] = value("search", "年假几天")["audit_id"]
        run(*name.split(), *(words(s) if callable(words) else words), code=code)


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_what_stays_is_started_on_a_relative_library(home: Path, command: str) -> None:
    """It answers, and ends when it is told to."""
    runner(Path(LIBRARY), WENYUAN_ENCODER__KIND="hashing")("add", "docs", "--source", "docs")
    words = [
        sys.executable,
        "-m",
        "wenyuan.cli",
        "--library",
        LIBRARY,
        command,
        *(["--port", "0", "--json"] if command == "serve" else []),
    ]
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home,
        env=os.environ | {"WENYUAN_ENCODER__KIND": "hashing"},
    )
    if command == "serve":
        answer = call(url_of(process), "POST", "/v1/search", {"query": "年假几天"})
        assert (answer.status, answer.json["status"]) == (200, "SUCCESS")
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HANGS)
    assert process.returncode == 0
