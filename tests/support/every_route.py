"""Every route called once with what it takes, in the order of an owner's day."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from http_door import JSON, Answer
from patience import HANGS
from wenyuan.core.gaps import digest_of
from wenyuan.server.token_callers import METADATA

LEAVE = "# 请假制度\n\n员工每年有 10 天年假。\n\n请假须提前三天申请。\n"
PRICES = "品名,单价\n纸,3\n笔,2\n"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000100054bfd5b0000000049454e44ae426082"
)
State = dict[str, Any]
Told = tuple[int, bytes]


def owners_files(folder: Path) -> None:
    """An owner's files, which the calls name as they are typed in that folder."""
    (folder / "docs").mkdir()
    (folder / "docs" / "请假.md").write_text(LEAVE, "utf-8")
    (folder / "价目.csv").write_text(PRICES, "utf-8")
    (folder / "new").mkdir()
    (folder / "new" / "价目.csv").write_text(PRICES.replace("3", "4"), "utf-8")
    (folder / "新.md").write_text(LEAVE.replace("10 天", "15 天"), "utf-8")
    (folder / "说法.csv").write_text("说法,同义词,方向\n休假,请假,双向\n", "utf-8")
    (folder / "golden.csv").write_text(f"question,uri\n年假几天,{(folder / 'docs' / '请假.md').as_uri()}\n", "utf-8")
    (folder / "registry.yaml").write_text("sources:\n  - {source_id: docs, path: ./docs, title: 制度}\n", "utf-8")


FENCE = "----fence"


def _form(name: str, content: bytes) -> bytes:
    head = f'--{FENCE}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'
    return head.encode() + content + f"\r\n--{FENCE}--\r\n".encode()


QUERIES = {"/v1/tree/text": f"?path=/docs/{quote('请假.md')}", "/v1/tree/matches": f"?pattern={quote('请假')}"}
"""Of paths that need one."""
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
    ("GET", "/v1/tree", lambda _: None),
    ("GET", "/v1/tree/text", lambda _: None),
    ("GET", "/v1/tree/matches", lambda _: None),
    ("GET", "/v1/documents/{document_id}", lambda _: None),
    ("GET", "/v1/documents/{document_id}/passages", lambda _: None),
    ("GET", "/v1/documents/{document_id}/history", lambda _: None),
    ("PATCH", "/v1/documents/{document_id}", lambda _: {"title": "请假制度", "tags": {"year": 2026}}),
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
    ("POST", "/v1/preview", lambda _: _form("价目.csv", PRICES.encode())),
    ("PUT", "/v1/documents/{document_id}", lambda _: _form("价目.csv", PRICES.replace("3", "4").encode())),
    ("POST", "/v1/documents/{document_id}/restore", lambda _: None),
    ("POST", "/v1/documents/{document_id}/move", lambda _: {"to": "mine"}),
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
    ("GET", "/v1/overview", lambda _: None),
    ("GET", "/v1/impact", lambda _: None),
    ("POST", "/v1/impact", lambda s: {"target": str(s["document_id"])}),
    ("GET", "/v1/impact/{report_id}", lambda _: None),
    ("GET", "/v1/gaps", lambda _: None),
    ("POST", "/v1/gaps/ask", lambda _: {}),
    ("POST", "/v1/gaps/{gap_id}", lambda s: s.update(gap_id="0" * 16) or {"state": "later"}),
    ("POST", "/v1/gaps/{gap_id}/answer", lambda _: {"answer": "At seven."}),
    ("POST", "/v1/gaps/{gap_id}/passage", lambda _: {"ref": "a#1"}),
    ("POST", "/v1/gaps/{gap_id}/synonym", lambda _: {"term": "canteen", "synonym": "cafeteria"}),
    ("GET", "/v1/synonyms", lambda _: None),
    ("DELETE", "/v1/synonyms/{number}", lambda _: None),
    ("POST", "/v1/backups", lambda _: {}),
    ("GET", "/v1/backups", lambda _: None),
    ("GET", "/v1/backups/{backup_id}", lambda _: None),
    ("DELETE", "/v1/backups/{backup_id}", lambda _: None),
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
    ("GET", "/v1/model", lambda _: None),
    ("POST", "/v1/model", lambda _: {"question": "Who are you?"}),
    ("GET", "/v1/evaluations", lambda _: None),
    (
        "POST",
        "/v1/evaluations/questions",
        lambda s: s.update(digest=digest_of("年假几天")) or {"question": "年假几天"},
    ),
    ("GET", "/v1/evaluations/questions", lambda _: None),
    ("DELETE", "/v1/evaluations/questions/{digest}", lambda _: None),
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
    ("POST", "/v1/documents/{document_id}/move"): 400,  # it is there already
    ("POST", "/v1/documents/{document_id}/restore"): 400,  # it is the version that counts
    ("POST", "/v1/gaps/{gap_id}"): 404,  # everything was answered well
    ("POST", "/v1/gaps/{gap_id}/answer"): 404,
    ("POST", "/v1/gaps/{gap_id}/passage"): 404,
    ("POST", "/v1/gaps/{gap_id}/synonym"): 404,
    ("POST", "/v1/model"): 503,  # there is no language model
    ("POST", "/v1/rules/propose"): 503,  # there is no language model
    ("DELETE", "/v1/evaluations/running"): 404,  # it may have ended
}
"""What is refused here, and how."""


Ask = Callable[[str, str, str, Any, Mapping[str, str], State], Answer]
"""``ask(method, path, address, body, headers, state)``: the path as it is declared, and with ids in it."""
NAMES: Mapping[str, Any] = {
    "group": "hr", "source_id": "docs", "path": "%E8%AF%B7%E5%81%87.md", "agent_id": "desk", "vector_store_id": "docs",
    "profile_id": "leave", "number": "1", "pack": "customer_service", "node_id": "1", "statement_id": "1", "page": "1",
    "token": None,
}  # fmt: skip


def walk(library: Any, ask: Ask, known: Mapping[tuple[str, str], State] | None = None) -> dict[tuple[str, str], Told]:
    """The status and the beginning of what answers each route: its first answer, or the last that refuses.

    Args:
        known: By route, ids that are to stand in its address.
    """
    told: dict[tuple[str, str], Told] = {}
    s: State = dict(NAMES)
    for method, path, body in STEPS:
        if path == "/v1/audit/{audit_id}":
            library.audit.flush()
            s["audit_id"] = library.audit.list(kind="retrieval", limit=50)[-1].audit_id
        if "evaluation_id" in path and "evaluation_id" not in s:
            s["evaluation_id"] = _evaluated(library)
        sent = body(s)
        named = {**s, **(known or {}).get((method, path), {})}
        kind = (
            {"Content-Type": f"multipart/form-data; boundary={FENCE}"}
            if isinstance(sent, bytes)
            else {**JSON, "Accept": "application/json, text/event-stream"}
        )
        answer = ask(method, path, path.format(**named) + QUERIES.get(path, ""), sent, kind, s)
        if (method, path) not in told or answer.status >= 300:
            told[method, path] = (answer.status, answer.body[:300])
        _learn(s, method, path, answer, library)
    return told


def wrong_in(told: Mapping[tuple[str, str], Told]) -> Mapping[tuple[str, str], Told]:
    """What was not answered as it should be."""
    return {
        route: said
        for route, said in told.items()
        if said[0] not in ({NOT_HERE[route], 200, 202} if route in NOT_HERE else {200, 201, 202})
    }


def _evaluated(library: Any) -> int:
    """The number of the evaluation, as soon as it has ended."""
    in_time_until(lambda: bool(library.evaluations()))
    return int(library.evaluations()[0].evaluation_id)


def in_time_until(done: Callable[[], bool]) -> None:
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
    if (method, path) == ("PATCH", "/v1/documents/{document_id}"):
        s["document_id"] = answer.json["document_id"]
        passages = library.document_passages(s["document_id"]).passages
        s["passage_id"] = passages[0]["passage_id"]
    if (method, path) == ("POST", "/v1/backups"):
        library.backups.stop()
        s["backup_id"] = library.backups.made()[0].name
    if (method, path) == ("POST", "/v1/impact"):
        s["report_id"] = answer.json["report_id"]
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
