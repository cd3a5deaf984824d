"""A governed library behind a real server, for the tests of access, registry, search and context over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import wenyuan
from copies import copied
from http_door import JSON, Answer, call
from wenyuan.core.access import parse_agent
from wenyuan.server.app import ROUTES, create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

RIGHT_OF = {(one.method, one.path): one.right for one in ROUTES}
TEXTS = {
    "crm_policy": "# 投诉处理\n\n客户投诉需在 24 小时内第一次响应，并登记投诉编号。\n",
    "regulation_cn_gdpr": "# 个人数据\n\n用户个人数据需经同意后才能存储，客户投诉中的个人数据亦同。\n",
    "wiki": "# Wiki\n\n客户投诉一般三天内响应就可以了。\n",
}
SETTINGS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}}
TRUST = {"crm_policy": 5, "regulation_cn_gdpr": 4, "wiki": 2}
SUPPORT = {
    "agent_id": "support",
    "knowledge_scope": [{"domain": "crm_policy", "top_k": 3}, {"domain": "regulation_cn_gdpr", "top_k": 1}],
}
OTHER = {"agent_id": "other", "knowledge_scope": [{"domain": "wiki", "top_k": 2}]}
BODIES: dict[str, Any] = {
    "/v1/vector_stores/{vector_store_id}/search": {"query": "客户投诉"},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "/retrieval": {"knowledge_id": "all", "query": "客户投诉"},
    "/v1/retrieve_fragments": {"query": "客户投诉", "max_results": 5},
    "/v1/search": {"query": "客户投诉"},
    "/v1/context": {"retrieval_query": "客户投诉"},
    "/v1/answer": {"query": "客户投诉"},
    "/v1/sources": {"source_id": "new", "path": "/nowhere"},
    "/v1/agents": SUPPORT,
    "/v1/keys": {"rights": ["search"], "agent_id": "support"},
    "/v1/sources/{source_id}": {"title": "又"},
    "/v1/retrieve": {"query": "客户投诉"},
    "/v1/feedback": {"audit_id": "a-none", "good": ["x#1"]},
    "/v1/infer_rules": {"context": "客户投诉"},
    "/v1/evaluations": {"again": 1},
    "/v1/model": {"question": "Who are you?"},
    "/v1/evaluations/questions": {"question": "客户投诉多久响应", "answer": "wiki#3"},
    "/v1/rules/review": {"statement_ids": [1], "action": "reject"},
    "/v1/rules/propose": {"source": "wiki", "dry_run": True},
    "/v1/corrections": {"action": "exclude", "ref": "wiki#3"},
    "/v1/documents/{document_id}": {"title": "又"},
    "/v1/documents/{document_id}/readers": {"readers": ["everyone"]},
    "/v1/groups/{group}": {"members": ["user:li"]},
    "/v1/keys/{key_id}": {"user": "user:li", "groups": ["hr"]},
    "/v1/erasures/plan": {"kind": "person", "values": ["欧阳雪松"]},
    "/v1/erasures": {"kind": "person", "values": ["欧阳雪松"], "confirm": True},
    "/v1/holds": {"kind": "person", "values": ["欧阳雪松"], "reason": "case 7"},
    "/v1/gaps/{gap_id}/answer": {"answer": "客户投诉两天内响应。"},
    "/v1/gaps/{gap_id}/passage": {"ref": "wiki#3"},
    "/v1/gaps/{gap_id}/synonym": {"term": "客户", "synonym": "用户"},
    "/v1/impact": {"target": "3"},
    "/v1/rules/import": {"pack": "customer_service", "dry_run": True},
}
"""A request that is valid, of each route that takes one."""


@contextlib.contextmanager
def measured_once(library: Any) -> Iterator[None]:
    """Sources are added to a small library: what it is like is looked at in the end, and not after each."""
    library.traits.keep = dict
    yield
    del library.traits.keep
    library.measure_collection()


def fill(library: Any, folder: Path, names: Mapping[str, str] = TEXTS) -> None:
    """Sources as the specification has them, and two agents."""
    with measured_once(library):
        for name in names:
            (folder / name).mkdir(parents=True)
            (folder / name / f"{name}.md").write_text(TEXTS[name], encoding="utf-8")
            library.add(wenyuan.Source(source_id=name, path=str(folder / name), trust=TRUST[name]))
    for agent in (SUPPORT, OTHER):
        library.catalog.put_agent(parse_agent(agent))


def governed(folder: Path) -> None:
    """Make the governed library in a folder, for `copied`."""
    with wenyuan.open(folder / "library", create=True, **SETTINGS) as library:
        fill(library, folder / "docs")


@contextlib.contextmanager
def governed_server(folder: Path, *, needs_keys: bool = True, **settings: Any) -> Iterator[tuple[str, Any]]:
    """The URL of a server, and its library."""
    copied(governed, folder)
    with wenyuan.open(folder / "library", **SETTINGS) as library:
        ring = KeyRing(library.catalog, open_without_keys=not needs_keys)
        url, stop = start_in_thread(
            create_app(library, authenticate=ring, settings=ServerSettings(**settings)), grace=1
        )
        try:
            yield url, library
        finally:
            stop()


def at(path: str, **ids: str) -> str:
    """A path of `RIGHT_OF` with ids in it: those that are given, else of what nobody made or everybody may see."""
    return path.format(
        **{
            "source_id": "wiki",
            "agent_id": "other",
            "key_id": "00000000",
            "audit_id": "a-none",
            "statement_id": "1",
            "node_id": "1",
            "number": "1",
            "evaluation_id": "1",
            "profile_id": "none",
            "pack": "customer_service",
            "vector_store_id": "wiki",
            "document_id": "3",
            "correction_id": "1",
            "page": "1",
            "path": "wiki.md",
            "passage_id": "3",
            "gap_id": "0" * 16,
            "digest": "0" * 16,
            "group": "hr",
            "conflict_id": "0" * 16,
            "report_id": "0" * 16,
            "backup_id": "library-20260101T000000Z",
            "sha256": "0" * 64,
            "erasure_id": "e-none",
            "hold_id": "h-none",
            **ids,
        }
    )


def key(library: Any, *rights: str, agent: str | None = None, expires_at: float | None = None) -> str:
    """A new key's secret."""
    return str(library.catalog.create_key(agent, frozenset(rights), expires_at)[1])


def send(url: str, method: str, path: str, body: object = None, token: str | None = None) -> Answer:
    """A request with a key."""
    headers = JSON if token is None else {**JSON, "Authorization": f"Bearer {token}"}
    return call(url, method, path, body, headers)
