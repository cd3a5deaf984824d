"""Tables within a passage: which line is the header, without which an excerpt of the rows says little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from wenyuan.core.text.boundaries import Span

_RULE = re.compile(r"\s*\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?\s*)?")
_LEAST_ROWS = 2  # below the header
_DIGIT = re.compile(r"[0-9]")


class TableHeader(NamedTuple):
    """Where a header line stands, and where its table ends; offsets into the text."""

    span: Span
    ends: int


def table_headers(text: str) -> list[TableHeader]:
    """The headers of the tables in a text: lines in a row that have the same number of cells.

    The first of them is the header where a rule stands below it (``|---|---|``), or where it alone has no digit: the
    rows of a table that began before the text have none.
    """
    return [found for run in _runs(text) if (found := _header(text, run)) is not None]


def _runs(text: str) -> Iterator[list[Span]]:
    run: list[Span] = []
    cells, at = 0, 0
    for line in text.splitlines(keepends=True):
        span = (at, at + len(line.rstrip()))
        at += len(line)
        count = line.strip().strip("|").count("|")
        if run and count == cells:
            run.append(span)
            continue
        if run:
            yield run
        run, cells = ([span] if count else []), count
    if run:
        yield run


def _header(text: str, run: list[Span]) -> TableHeader | None:
    lines = [text[a:b] for a, b in run]
    ruled = len(run) > 1 and _RULE.fullmatch(lines[1]) is not None
    rows = lines[2:] if ruled else lines[1:]
    if len(rows) < _LEAST_ROWS:
        return None
    alone = not _DIGIT.search(lines[0]) and all(map(_DIGIT.search, rows))
    return TableHeader(run[0], run[-1][1]) if ruled or alone else None
