"""Doors, objects and rights: with exactly the right that is declared a door opens, with every other one alone it does not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

import wenyuan
from command_line import runner
from every_route import QUERIES, State, owners_files, walk, wrong_in
from governed_door import key, send
from http_door import Answer, call
from mcp_clients import calling, over_http
from pdf_files import make_pdf
from rights_objects import OBJECTS, OF_COMMANDS, OF_TOOLS, object_of, routes_by_row
from wenyuan.core.access import RIGHTS
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.mcp.tools import TOOLS
from wenyuan.server.app import ROUTES, create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

HOME = Path(__file__).parents[2]
GUARDED = sorted((one.method, one.path, one.right) for one in ROUTES if one.right is not None)
OPEN = sorted((one.method, one.path) for one in ROUTES if one.right is None)
MADE_UP = dict.fromkeys(
    ("source_id", "agent_id", "key_id", "audit_id", "erasure_id", "hold_id", "gap_id", "digest", "conflict_id", "group", "path", "pack",
     "profile_id", "vector_store_id", "sha256", "report_id", "backup_id"), "none",
) | dict.fromkeys(
    ("document_id", "passage_id", "correction_id", "number", "page", "node_id", "statement_id", "evaluation_id"), "987654",
)  # fmt: skip
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "search": {"query": "年假几天"}, "fetch": {"id": "document-1"}, "retrieve_fragments": {"query": "年假几天"},
    "infer_rules": {"context": "退款"}, "get_context": {"retrieval_query": "年假几天"},
    "verify": {"answer": "员工每年有 10 天年假。"}, "answer": {"query": "年假几天"}, "list_sources": {},
    "list": {}, "read": {"path": "/docs/请假.md"}, "grep": {"pattern": "年假"},
}  # fmt: skip


@dataclass
class Walked:
    """What the doors of a library answered on an owner's day.

    Attributes:
        told: With exactly the right that is needed, by route.
        refused: By route and right ("" for no key), the status and body of what exists and of what does not.
    """

    url: str
    library: Any
    keys: Mapping[str, str]
    told: dict[tuple[str, str], tuple[int, bytes]] = field(default_factory=dict)
    refused: dict[tuple[str, str, str], list[tuple[int, bytes]]] = field(default_factory=dict)


def _objects(library: Any, folder: Path) -> Mapping[tuple[str, str], State]:
    """What an owner's files alone do not make: pages, two statements that contradict, and a question not answered well."""
    more = folder / "more"
    more.mkdir()
    for name, hours in (("a", 24), ("b", 48)):
        text = f"# 客户服务 {name}\n\n## 投诉\n\n客户投诉应当在 {hours} 小时内回复客户并登记。\n"
        (more / f"{name}.md").write_text(text, "utf-8")
    (more / "page.pdf").write_bytes(make_pdf([[(72, 700, "Visitors sign the book at the gate.")]]))
    library.add(Source(source_id="more", path=str(more), copyright="allow"))
    library.conflicts.find()
    found = library.retrieve_fragments(RetrievalRequest(query="客户投诉几小时回复", max_results=5))
    library.give_feedback(found.fragments[0].metadata["audit_id"], bad=["1"])
    conflict = library.conflicts.listed()[0]
    (gap,) = library.gaps.find(days=1).gaps
    paged = next(number for uri, (number, *_) in library.catalog.live_documents("more").items() if ".pdf" in uri)
    return {
        ("POST", "/v1/conflicts/{conflict_id}"): {"conflict_id": conflict.conflict_id},
        ("POST", "/v1/gaps/{gap_id}"): {"gap_id": gap.gap_id},
        ("GET", "/v1/documents/{document_id}/pages/{page}"): {"document_id": paged, "page": 1},
    }


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walked]:
    """Each door is tried without a key and with each wrong right before it is with the right one."""
    folder = tmp_path_factory.mktemp("day")
    before = Path.cwd()
    os.chdir(folder)
    owners_files(folder)
    issuer = {
        "issuer": "https://id.example.com",
        "address": "https://kb.example.com",
        "audience": ["https://kb.example.com"],
    }
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}, "oidc": issuer}
    with wenyuan.open(folder / "library", create=True, **settings) as library:
        for name in ("a" * 64, "b" * 64):
            library.quarantine.keep(b"bad", sha256=name, suffix=".md", scanner="clamd", reason="Trojan")
        known = _objects(library, folder)
        keys = {right: key(library, right) for right in RIGHTS}
        app = create_app(
            library,
            authenticate=KeyRing(library.catalog, open_without_keys=False),
            settings=ServerSettings(ingest_roots=(folder,), rate_per_key=0),
        )
        url, stop = start_in_thread(app, grace=1)
        found = Walked(url, library, keys)
        try:
            found.told = walk(library, _asking(found), known)
            yield found
        finally:
            stop()
            os.chdir(before)


def _asking(found: Walked) -> Any:
    right_of = {(one.method, one.path): one.right for one in ROUTES}

    def ask(method: str, path: str, address: str, sent: Any, headers: Mapping[str, str], state: State) -> Answer:
        right = right_of[method, path]
        if right is None:
            return call(found.url, method, address, sent, headers)
        fixed = {**headers, "X-Request-Id": "the-same"}
        for other in {"", *RIGHTS} - {right, "admin"}:
            held = {"Authorization": f"Bearer {found.keys[other]}"} if other else {}
            answers = [
                call(found.url, method, one, sent, {**fixed, **held}) for one in (address, path.format(**MADE_UP))
            ]
            found.refused.setdefault((method, path, other), []).extend((one.status, one.body) for one in answers)
        if (method, path) == ("PUT", "/v1/documents/{document_id}/readers"):
            sent = {
                "readers": ["everyone"]
            }  # where something is hidden, doors with † are shut to all but administrators
        if path == "/v1/feedback":  # who has asked judges what was answered
            asked = call(found.url, "POST", "/v1/search", {"query": "年假几天"}, _with(headers, found.keys["search"]))
            sent = {"audit_id": re.findall(r"a-\w{26}", asked.body.decode())[0], "good": ["1"]}
        return call(found.url, method, address, sent, _with(headers, found.keys[right]))

    return ask


def _with(headers: Mapping[str, str], token: str) -> Mapping[str, str]:
    return {**headers, "Authorization": f"Bearer {token}"}


def test_every_door_opens_to_exactly_its_right(walked: Walked) -> None:
    """Each route is called on objects that there are, with a key that has this one right."""
    assert set(walked.told) == {(one.method, one.path) for one in ROUTES}
    assert wrong_in(walked.told) == {}
    made = ("/v1/conflicts/{conflict_id}", "/v1/gaps/{gap_id}", "/v1/documents/{document_id}/pages/{page}")
    assert {path: said[0] for (_, path), said in walked.told.items() if path in made} == dict.fromkeys(made, 200)


@pytest.mark.parametrize(("method", "path", "right"), GUARDED)
def test_every_other_right_alone_is_refused(walked: Walked, method: str, path: str, right: str) -> None:
    """403 with the right that is needed, in the same bytes whether what is named is there or not."""
    others = set(RIGHTS) - {right, "admin"}
    assert len(others) >= 6
    for other in others:
        (status, body), *rest = walked.refused[method, path, other]
        assert (status, repr(right).encode() in body or f'"{right}"'.encode() in body) == (403, True), (other, body)
        assert {(status, body)} == {(status, body), *rest}


@pytest.mark.parametrize(("method", "path", "right"), GUARDED)
def test_without_a_key_it_is_401(walked: Walked, method: str, path: str, right: str) -> None:
    """In the same bytes whether what is named is there or not; Dify takes 403 for it alone."""
    answers = walked.refused[method, path, ""]
    assert {status for status, _ in answers} == {403 if path == "/retrieval" else 401}
    assert len(set(answers)) == 1


def test_whoever_administers_may_do_everything(walked: Walked) -> None:
    """Each list that takes no id."""
    for method, path, _ in GUARDED:
        if method == "GET" and "{" not in path:
            assert send(walked.url, method, path + QUERIES.get(path, ""), token=walked.keys["admin"]).status == 200, (
                path
            )


def test_what_needs_no_right_needs_no_key(walked: Walked) -> None:
    """What a server says of itself, and nothing of a library."""
    assert {object_of(*one) for one in OPEN} == {"description of the server"}
    assert {object_of(method, path) for method, path, _ in GUARDED} == set(OBJECTS) - {"description of the server"}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_opens_to_its_right_and_that_of_its_door(walked: Walked, tool: Any) -> None:
    """Over HTTP a tool needs ``retrieve``, which opens the door, and its own right; no other one helps."""
    use = calling(tool.name, **ARGUMENTS[tool.name])
    both = over_http(walked.url, use, token=key(walked.library, "retrieve", tool.right))
    assert "needs a key with the right" not in str(both.content)
    if tool.right != "retrieve":
        refused = over_http(walked.url, use, token=walked.keys["retrieve"])
        assert (refused.is_error, repr(tool.right) in str(refused.content)) == (True, True)
    for other in set(RIGHTS) - {"retrieve", "admin"}:
        with pytest.raises((MCPError, ExceptionGroup)):
            over_http(walked.url, use, token=walked.keys[other])


@pytest.mark.parametrize("right", sorted(set(RIGHTS) - {"admin"}))
def test_a_command_with_a_key_has_the_right_of_its_route(
    walked: Walked, right: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``wenyuan context --url`` asks by the contract's own method."""
    monkeypatch.setenv("WENYUAN_KEY", walked.keys[right])
    (needed,) = {right for _, right in OF_COMMANDS.values()}
    ran = runner(tmp_path / "none")(
        "context", "年假几天", "--url", walked.url, "--json", code=0 if right == needed else 2
    )
    assert (f"'{needed}'" in ran.output) == (right != needed)


@pytest.mark.parametrize(("page", "language"), [("rights.md", "en"), ("rights.zh.md", "zh")])
def test_the_table_of_the_documents_is_the_one_that_is_declared(page: str, language: str) -> None:
    """Printed by the script from the declarations of routes and tools."""
    printed = [sys.executable, str(HOME / "scripts" / "rights_table.py"), "--lang", language]
    table = subprocess.run(printed, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    assert table in (HOME / "docs" / page).read_text("utf-8")
    assert all(f" {path}`" in table for _, path, _ in GUARDED)
    assert set(OF_TOOLS) == {tool.name for tool in TOOLS} and all(f"`{name}`" in table for name in OF_TOOLS)
    assert len(routes_by_row()) <= len(table.splitlines()) - 2
