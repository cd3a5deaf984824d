"""Every route and every command does its work in a library at a relative path, which an owner's first one is.

Both tables are compared with what there is: a new route or command without a call fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer.main

import wenyuan
from command_line import runner
from http_door import JSON, call, url_of
from patience import HANGS
from wenyuan.cli.root import app
from wenyuan.server.app import ROUTES, create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.server.token_callers import METADATA
from wenyuan.settings import ServerSettings

LIBRARY = "./library"
LEAVE = "# 请假制度\n\n员工每年有 10 天年假。\n\n请假须提前三天申请。\n"
PRICES = "品名,单价\n纸,3\n笔,2\n"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000100054bfd5b0000000049454e44ae426082"
)
SEEN: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}}
State = dict[str, Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an owner's files; paths are given as they are typed there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "请假.md").write_text(LEAVE, "utf-8")
    (tmp_path / "价目.csv").write_text(PRICES, "utf-8")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "价目.csv").write_text(PRICES.replace("3", "4"), "utf-8")
    (tmp_path / "新.md").write_text(LEAVE.replace("10 天", "15 天"), "utf-8")
    (tmp_path / "说法.csv").write_text("说法,同义词,方向\n休假,请假,双向\n", "utf-8")
    (tmp_path / "golden.csv").write_text(
        f"question,uri\n年假几天,{(tmp_path / 'docs' / '请假.md').as_uri()}\n", "utf-8"
    )
    (tmp_path / "registry.yaml").write_text("sources:\n  - {source_id: docs, path: ./docs, title: 制度}\n", "utf-8")
    return tmp_path


# -- routes ---------------------------------------------------------------------------------------------------

FENCE = "----fence"


def _form(name: str, content: bytes) -> bytes:
    head = f'--{FENCE}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'
    return head.encode() + content + f"\r\n--{FENCE}--\r\n".encode()


Step = tuple[str, str, Callable[[State], Any]]
MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
STEPS: Sequence[Step] = (
    *(
        ("GET", path, lambda _: None)
        for path in (
            "/livez",
            "/readyz",
            "/openapi.json",
            "/openapi-tools.json",
            "/llms.txt",
            "/metrics",
            METADATA,
            METADATA + "/mcp",
        )
    ),
    (
        "POST",
        "/v1/sources",
        lambda _: {"source_id": "docs", "path": str(Path("docs").absolute()), "copyright": "allow"},
    ),
    ("POST", "/v1/sources", lambda _: {"source_id": "mine", "copyright": "allow"}),
    ("GET", "/v1/sources", lambda _: None),
    ("GET", "/v1/sources/{source_id}", lambda _: None),
    ("PATCH", "/v1/sources/{source_id}", lambda _: {"title": "制度"}),
    ("POST", "/v1/sources/{source_id}/refresh", lambda _: {}),
    ("GET", "/v1/sources/{source_id}/refresh", lambda _: None),
    ("GET", "/v1/documents", lambda _: None),
    ("GET", "/v1/documents/{document_id}", lambda _: None),
    ("GET", "/v1/documents/{document_id}/passages", lambda _: None),
    ("GET", "/v1/documents/{document_id}/history", lambda _: None),
    ("GET", "/v1/documents/{document_id}/original", lambda _: None),
    ("GET", "/v1/documents/{document_id}/original/state", lambda _: None),
    ("GET", "/v1/sources/{source_id}/files/{path}", lambda _: None),
    ("GET", "/v1/documents/{document_id}/pages/{page}", lambda _: None),
    ("GET", "/v1/passages/{passage_id}", lambda _: None),
    ("PUT", "/v1/documents/{document_id}/readers", lambda _: {"readers": ["group:hr"], "deny": ["user:li"]}),
    ("GET", "/v1/documents/{document_id}/readers", lambda _: None),
    ("GET", "/v1/readers", lambda _: None),
    ("DELETE", "/v1/documents/{document_id}/readers", lambda _: None),
    (
        "POST",
        "/v1/corrections",
        lambda s: {"action": "questions", "ref": f"docs#{s['passage_id']}", "questions": ["能休几天"]},
    ),
    ("GET", "/v1/corrections", lambda _: None),
    ("DELETE", "/v1/corrections/{correction_id}", lambda _: None),
    (
        "POST",
        "/v1/sources/{source_id}/documents",
        lambda s: s.update(source_id="mine") or _form("价目.csv", PRICES.encode()),
    ),
    ("PUT", "/v1/documents/{document_id}", lambda _: _form("价目.csv", PRICES.replace("3", "4").encode())),
    ("DELETE", "/v1/documents/{document_id}", lambda _: None),
    ("POST", "/v1/sources/{source_id}/documents", lambda _: _form("图.png", PNG)),
    ("POST", "/v1/agents", lambda _: {"agent_id": "desk", "knowledge_scope": [{"domain": "docs"}]}),
    ("GET", "/v1/agents", lambda _: None),
    ("GET", "/v1/agents/{agent_id}", lambda _: None),
    ("POST", "/v1/retrieve_fragments", lambda _: {"query": "年假几天", "max_results": 2}),
    ("POST", "/retrieve_fragments", lambda _: {"query": "年假几天", "max_results": 2}),
    ("POST", "/v1/search", lambda _: {"query": "年假几天"}),
    ("POST", "/search", lambda _: {"query": "年假几天"}),
    ("POST", "/v1/context", lambda _: {"retrieval_query": "年假几天"}),
    ("POST", "/v1/verify", lambda _: {"answer": "员工每年有 10 天年假。"}),
    ("POST", "/v1/answer", lambda _: {"query": "年假几天"}),
    ("POST", "/retrieval", lambda _: {"knowledge_id": "all", "query": "年假几天"}),
    ("POST", "/mcp", lambda _: MCP),
    ("GET", "/v1/vector_stores", lambda _: None),
    ("POST", "/v1/vector_stores/{vector_store_id}/search", lambda _: {"query": "年假几天"}),
    ("GET", "/v1/audit", lambda _: None),
    ("GET", "/v1/audit/{audit_id}", lambda _: None),
    ("POST", "/v1/audit/{audit_id}/replay", lambda _: {}),
    ("POST", "/v1/audit/verify", lambda _: {}),
    ("POST", "/v1/feedback", lambda s: {"audit_id": s["audit_id"], "good": [s["ref"]]}),
    ("POST", "/v1/tasks", lambda _: {"profile_id": "leave", "tasks": ["leave-*"], "domains": ["docs"]}),
    ("GET", "/v1/tasks", lambda _: None),
    ("GET", "/v1/tasks/{profile_id}", lambda _: None),
    ("DELETE", "/v1/tasks/{profile_id}", lambda _: None),
    ("POST", "/v1/synonyms", lambda _: {"term": "休假", "synonym": "请假"}),
    ("GET", "/v1/erasures", lambda _: None),
    ("POST", "/v1/erasures/plan", lambda _: {"kind": "person", "values": ["欧阳雪松"]}),
    ("POST", "/v1/erasures", lambda _: {"kind": "person", "values": ["欧阳雪松"], "confirm": True}),
    ("POST", "/v1/erasures/resume", lambda _: {}),
    ("GET", "/v1/erasures/{erasure_id}/certificate", lambda _: None),
    ("POST", "/v1/erasures/{erasure_id}/verify", lambda _: {}),
    ("POST", "/v1/holds", lambda _: {"kind": "person", "values": ["欧阳雪松"], "reason": "case 7"}),
    ("GET", "/v1/holds", lambda _: None),
    ("POST", "/v1/holds/{hold_id}/lift", lambda _: None),
    ("GET", "/v1/conflicts", lambda _: None),
    ("POST", "/v1/conflicts/find", lambda _: {}),
    ("POST", "/v1/conflicts/{conflict_id}", lambda s: s.update(conflict_id="0" * 16) or {"state": "later"}),
    ("GET", "/v1/gaps", lambda _: None),
    ("POST", "/v1/gaps/ask", lambda _: {}),
    ("POST", "/v1/gaps/{gap_id}", lambda s: s.update(gap_id="0" * 16) or {"state": "later"}),
    ("GET", "/v1/synonyms", lambda _: None),
    ("DELETE", "/v1/synonyms/{number}", lambda _: None),
    ("GET", "/v1/quarantine", lambda _: None),
    ("POST", "/v1/quarantine/{sha256}/release", lambda s: s.update(sha256="a" * 64) or {}),
    ("POST", "/v1/quarantine/{sha256}/discard", lambda s: s.update(sha256="b" * 64) or {}),
    ("POST", "/v1/rules/import", lambda _: {"pack": "customer_service"}),
    ("GET", "/v1/rules", lambda _: None),
    ("GET", "/v1/rules/nodes/{node_id}", lambda _: None),
    ("GET", "/v1/rules/statements/{statement_id}", lambda _: None),
    ("GET", "/v1/rules/review", lambda _: None),
    ("POST", "/v1/rules/review", lambda _: {"statement_ids": [1], "action": "reject", "reason": "x"}),
    ("POST", "/v1/rules/propose", lambda _: {"source": "docs", "dry_run": True}),
    ("POST", "/v1/infer_rules", lambda _: {"context": "退款"}),
    ("POST", "/v1/retrieve", lambda _: {"query": "退款"}),
    ("DELETE", "/v1/rules/packs/{pack}", lambda _: None),
    ("GET", "/v1/evaluations", lambda _: None),
    ("POST", "/v1/evaluations", lambda _: {"path": str(Path("golden.csv").absolute())}),
    ("DELETE", "/v1/evaluations/running", lambda _: None),
    ("GET", "/v1/evaluations/{evaluation_id}", lambda _: None),
    ("DELETE", "/v1/evaluations/{evaluation_id}", lambda _: None),
    ("PUT", "/v1/groups/{group}", lambda _: {"members": ["user:li", "group:works"]}),
    ("PATCH", "/v1/groups/{group}", lambda _: {"add": ["user:wu"], "remove": ["user:li"]}),
    ("GET", "/v1/groups", lambda _: None),
    ("GET", "/v1/people", lambda _: None),
    ("GET", "/v1/groups/{group}", lambda _: None),
    ("GET", "/v1/keys", lambda _: None),
    ("POST", "/v1/keys", lambda _: {"rights": ["admin"], "name": "me"}),
    ("PATCH", "/v1/keys/{key_id}", lambda _: {"user": "user:li", "groups": ["hr"]}),
    ("DELETE", "/v1/keys/{key_id}", lambda _: None),
    ("DELETE", "/v1/agents/{agent_id}", lambda _: None),
    ("DELETE", "/v1/sources/{source_id}", lambda _: None),
)
NOT_HERE = {
    ("GET", "/v1/documents/{document_id}/pages/{page}"): 404,  # of a text there are no pages
    ("POST", "/v1/conflicts/{conflict_id}"): 404,  # nothing contradicts
    ("POST", "/v1/gaps/{gap_id}"): 404,  # everything was answered well
    ("POST", "/v1/rules/propose"): 503,  # there is no language model
    ("DELETE", "/v1/evaluations/running"): 404,  # it may have ended
}
"""What is refused here, and how."""


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
        try:
            told = _walked(url, library)
        finally:
            stop()
    assert set(told) == {(one.method, one.path) for one in ROUTES}, "a route without a call"
    wrong = {
        route: said
        for route, said in told.items()
        if said[0] not in ({NOT_HERE[route], 200, 202} if route in NOT_HERE else {200, 201, 202})
    }
    assert wrong == {}


def _walked(url: str, library: Any) -> dict[tuple[str, str], tuple[int, bytes]]:
    told: dict[tuple[str, str], tuple[int, bytes]] = {}
    s: State = {"group": "hr", "source_id": "docs", "path": "%E8%AF%B7%E5%81%87.md", "agent_id": "desk", "vector_store_id": "docs", "profile_id": "leave",
                "number": "1", "pack": "customer_service", "node_id": "1", "statement_id": "1", "page": "1", "token": None}  # fmt: skip
    for method, path, body in STEPS:
        if path == "/v1/audit/{audit_id}":
            library.audit.flush()
            s["audit_id"] = library.audit.list(kind="retrieval", limit=50)[-1].audit_id
        if "evaluation_id" in path and "evaluation_id" not in s:
            s["evaluation_id"] = _evaluated(library)
        sent = body(s)
        kind = (
            {"Content-Type": f"multipart/form-data; boundary={FENCE}"}
            if isinstance(sent, bytes)
            else {**JSON, "Accept": "application/json, text/event-stream"}
        )
        headers = {**kind, **({"Authorization": f"Bearer {s['token']}"} if s["token"] else {})}
        answer = call(url, method, path.format(**s), sent, headers)
        if (method, path) not in told or answer.status >= 300:
            told[method, path] = (answer.status, answer.body[:300])
        _learn(s, method, path, answer, library)
    return told


def _evaluated(library: Any) -> int:
    """The number of the evaluation, as soon as it has ended."""
    in_time_until(lambda: bool(library.evaluations()))
    return int(library.evaluations()[0].evaluation_id)


def in_time_until(done: Callable[[], bool]) -> None:
    import time

    until = time.monotonic() + HANGS
    while not done() and time.monotonic() < until:
        time.sleep(0.05)


def _learn(s: State, method: str, path: str, answer: Any, library: Any) -> None:
    """Ids that later steps need."""
    if path in ("/v1/documents", "/v1/sources/{source_id}/documents"):
        live = {
            source: dict(library.catalog.live_documents(source))
            for source in ("docs", "mine")
            if source in {x.source_id for x in library.sources()}
        }
        found = live.get(s["source_id"]) or live["docs"]
        s["document_id"] = next(iter(found.values()))[0]
    if path == "/v1/documents/{document_id}/passages":
        s["passage_id"] = answer.json["passages"][0]["ref"].rpartition("#")[2]
    if path == "/v1/retrieve_fragments":
        s["ref"] = answer.json["fragments"][0]["metadata"]["passage_id"]
    if (method, path) == ("POST", "/v1/corrections"):
        s["correction_id"] = answer.json["correction_id"]
    if (method, path) == ("PUT", "/v1/documents/{document_id}"):
        s["document_id"] = next(iter(library.catalog.live_documents("mine").values()))[0]
    if (method, path) == ("POST", "/v1/erasures"):
        s["erasure_id"] = answer.json["erasure_id"]
    if (method, path) == ("POST", "/v1/holds"):
        s["hold_id"] = answer.json["hold_id"]
    if (method, path) == ("POST", "/v1/keys"):
        s["token"], s["key_id"] = answer.json["key"], answer.json["key_id"]
    if (method, path) == ("DELETE", "/v1/keys/{key_id}"):
        s["token"] = library.catalog.create_key(None, frozenset({"admin"}), None)[1]


# -- commands -------------------------------------------------------------------------------------------------

Words = Callable[[State], list[object]]
COMMANDS: Sequence[tuple[str, list[object] | Words, int]] = (
    ("init", [], 0),
    ("add", ["docs", "--source", "docs"], 0),
    ("ingest", ["docs"], 0),
    ("apply", ["registry.yaml"], 0),
    ("refresh", ["docs"], 0),
    ("worker", ["--once"], 0),
    ("source list", [], 0),
    ("source show", ["docs"], 0),
    ("source set", ["docs", "--title", "制度"], 0),
    ("source export", ["out.yaml"], 0),
    ("document upload", ["mine", "价目.csv"], 0),
    ("document list", [], 0),
    ("document show", lambda s: [s["mine"]], 0),
    ("document replace", lambda s: [s["mine"], "new/价目.csv"], 0),
    ("document list", [], 0),
    ("document replace", lambda s: [s["docs"], "新.md"], 2),  # of a source with a path
    ("document history", lambda s: [s["mine"]], 0),
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
    ("gaps list", [], 0),
    ("gaps ask", [], 0),
    ("gaps show", ["0123456789abcdef"], 2),
    ("gaps decide", ["0123456789abcdef", "--as", "later"], 2),
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
    called = {name for name, _, _ in COMMANDS} | {"serve", "mcp"}
    assert called == set(_commands(typer.main.get_command(app))), "a command without a call"
    run = runner(Path(LIBRARY), WENYUAN_ENCODER__KIND="hashing")

    def value(*words: object) -> Any:
        return json.loads(run(*words, "--json").stdout)

    s: State = {}
    for name, words, code in COMMANDS:
        if name in ("document show", "document history", "document delete"):
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
