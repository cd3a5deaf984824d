"""What a library asks its databases and its engine while something is done."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any
from unittest import mock

import sqlalchemy as sa
from sqlalchemy import event

import wenyuan.catalog.documents

_ASKED = ("keyword", "vector", "cosines", "keyword_scores", "information")


@contextmanager
def asked_of(library: Any) -> Iterator[Counter[str]]:
    """Counts the statements that read, by their text, and the calls of the engine, by their name."""
    asked: Counter[str] = Counter()

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        writes_audit = threading.current_thread().name == "audit"  # in its own time, whatever was asked
        if not writes_audit and statement.lstrip().upper().startswith(("SELECT", "WITH")):
            asked[statement] += 1

    at_once = wenyuan.catalog.documents.told_at_once

    def counted_at_once(engine: Any, statement: str, *more: Any) -> Any:
        asked[statement] += 1
        return at_once(engine, statement, *more)

    engine = library._retriever._engine
    with mock.patch.object(wenyuan.catalog.documents, "told_at_once", counted_at_once):
        event.listen(sa.Engine, "before_cursor_execute", executed)
        kept = {name: getattr(engine, name) for name in _ASKED}
        for name, call in kept.items():

            def counted(*given: Any, _name: str = name, _call: Any = call, **named: Any) -> Any:
                asked[_name] += 1
                return _call(*given, **named)

            setattr(engine, name, counted)
        try:
            yield asked
        finally:
            for name in kept:
                delattr(engine, name)
            event.remove(sa.Engine, "before_cursor_execute", executed)


def least_asked(library: Any, ask: Callable[[], object]) -> Counter[str]:
    """Of several times: what other threads ask now and then is no part of it, nor what is remembered after the first."""
    counts = []
    for _ in range(4):
        with asked_of(library) as asked:
            ask()
        counts.append(asked)
    return reduce(and_, counts)
