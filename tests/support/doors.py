"""A library with facets and an optional part that can break, behind a real server: for tests of foreign doors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.access import parse_agent
from wenyuan.core.errors import EngineUnavailable
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.settings import ServerSettings

DOCUMENTS = {
    "policy": (
        5,
        "---\n部门: 客服部\nyear: 2024\nissued: 2024-05-20\n---\n# 投诉处理\n\n客户投诉需在 24 小时内第一次响应，并登记投诉编号。\n",
    ),
    "law": (
        4,
        "---\n部门: 法务部\nyear: 2021\nissued: 2021-11-01\n---\n# 个人数据\n\n个人数据经同意后才能存储，客户投诉中的个人数据亦同。\n",
    ),
    "wiki": (
        2,
        "# Pool\n\nThe database connection pool holds ten connections; a customer complaint is no reason to add one.\n",
    ),
}
AGENT = {"agent_id": "support", "knowledge_scope": [{"domain": "policy"}, {"domain": "law"}]}


@contextlib.contextmanager
def foreign_library(folder: Path, **settings: Any) -> Iterator[Any]:
    """An open library with three sources and an agent that may see two of them."""
    options: dict[str, Any] = {"encoder": {"kind": "hashing"}, "cache": {"seconds": 0}, **settings}
    with wenyuan.open(folder / "library", create=True, **options) as library:
        for name, (trust, text) in DOCUMENTS.items():
            (folder / name).mkdir()
            (folder / name / f"{name}.md").write_text(text, encoding="utf-8")
            library.add(wenyuan.Source(source_id=name, path=str(folder / name), trust=trust, title=name.title()))
        library.catalog.put_agent(parse_agent(AGENT))
        yield library


@contextlib.contextmanager
def served(library: Any, *, needs_keys: bool = False, **settings: Any) -> Iterator[str]:
    """The URL of a server for a library."""
    ring = KeyRing(library.catalog, open_without_keys=not needs_keys)
    app = create_app(library, authenticate=ring, settings=ServerSettings(**settings))
    url, stop = start_in_thread(app, grace=1)
    try:
        yield url
    finally:
        stop()


class BrokenEngine:
    """The library's own engine until `broken` is set; then its legs fail as those of a lost index do."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.broken = False

    def __getattr__(self, name: str) -> Any:
        if self.broken and name in ("keyword", "vector", "sync", "search", "keyword_search", "vector_search"):
            raise EngineUnavailable("the index is gone", component="engine test")
        return getattr(self._engine, name)


@contextlib.contextmanager
def broken(library: Any) -> Iterator[None]:
    """While entered, the library's engine cannot be asked."""
    engine = library._retriever._engine
    library._retriever._engine = stand_in = BrokenEngine(engine)
    stand_in.broken = True
    try:
        yield
    finally:
        library._retriever._engine = engine


def attach_optional(library: Any, url: str = "http://127.0.0.1:9/v1/retrieve_fragments") -> None:
    """A source elsewhere that nobody answers for, and that is allowed to fail."""
    library.catalog.put_source(
        wenyuan.Source(source_id="elsewhere", type="api", settings={"url": url, "required": False})
    )
