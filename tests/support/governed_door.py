"""A governed library behind a real server, for the tests of access, registry, search and context over HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import wenyuan
from http_door import JSON, Answer, call
from wenyuan.core.access import parse_agent
from wenyuan.server.access import KeyRing
from wenyuan.server.app import ROUTES, create_app
from wenyuan.server.run import start_in_thread
from wenyuan.server.settings import ServerSettings

RIGHT_OF = {(one.method, one.path): one.right for one in ROUTES}
TEXTS = {
    "crm_policy": "# 投诉处理\n\n客户投诉需在 24 小时内第一次响应，并登记投诉编号。\n",
    "regulation_cn_gdpr": "# 个人数据\n\n用户个人数据需经同意后才能存储，客户投诉中的个人数据亦同。\n",
    "wiki": "# Wiki\n\n客户投诉一般三天内响应就可以了。\n",
}
TRUST = {"crm_policy": 5, "regulation_cn_gdpr": 4, "wiki": 2}
SUPPORT = {
    "agent_id": "support",
    "knowledge_scope": [{"domain": "crm_policy", "top_k": 3}, {"domain": "regulation_cn_gdpr", "top_k": 1}],
}
OTHER = {"agent_id": "other", "knowledge_scope": [{"domain": "wiki", "top_k": 2}]}


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


@contextlib.contextmanager
def governed_server(folder: Path, *, needs_keys: bool = True, **settings: Any) -> Iterator[tuple[str, Any]]:
    """The URL of a server, and its library."""
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}, cache={"seconds": 0}) as library:
        fill(library, folder / "docs")
        ring = KeyRing(library.catalog, open_without_keys=not needs_keys)
        url, stop = start_in_thread(
            create_app(library, authenticate=ring, settings=ServerSettings(**settings)), grace=1
        )
        try:
            yield url, library
        finally:
            stop()


def key(library: Any, *rights: str, agent: str | None = None, expires_at: float | None = None) -> str:
    """A new key's secret."""
    return str(library.catalog.create_key(agent, frozenset(rights), expires_at)[1])


def send(url: str, method: str, path: str, body: object = None, token: str | None = None) -> Answer:
    """A request with a key."""
    headers = JSON if token is None else {**JSON, "Authorization": f"Bearer {token}"}
    return call(url, method, path, body, headers)
