"""A small library in which one document is for HR alone, and those who ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.access import Principal
from wenyuan.core.model import Source
from wenyuan.service.search.searcher import SearchRequest

READING = frozenset({"retrieve", "search"})
LI = Principal(key_id="k", rights=READING, user="user:li", groups=frozenset({"group:hr"}))
WU = Principal(key_id="w", rights=READING, user="user:wu")


@contextmanager
def small(folder: Path, **more: Any) -> Iterator[Any]:
    """Three documents, of which one is for HR alone."""
    docs = folder / "docs"
    docs.mkdir(exist_ok=True)
    for name, text in {"a": "年假十天。", "b": "年假以外的薪酬方案机密。", "c": "年假申请表。"}.items():
        (docs / f"{name}.md").write_text(f"# 年假 {name}\n\n{text}\n", "utf-8")
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0.0, "deadline": 30}, **more}
    with wenyuan.open(folder / "library", create=True, **settings) as library:
        rule = {"documents": [{"path": "b.md", "readers": ["group:hr"]}]}
        library.add(Source(source_id="docs", path=str(docs), settings={"readers": rule}))
        yield library


def texts(library: Any, principal: Principal) -> set[str]:
    """The documents of an answer, by letter."""
    found = library.find(SearchRequest(query="年假", limit=20), principal)
    return {one.passage.title[-1] for one in found.passages}
