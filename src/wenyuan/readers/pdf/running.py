"""Finds running headers, footers and page numbers, which repeat from page to page and are no part of the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from wenyuan.readers.pdf.page import SENTENCE_END, PrintedLine, rows_of

_NUMBER = re.compile(r"[0-9]+")
_NUMBER_AT_AN_END = re.compile(r"^[0-9]{1,5}(?= )|(?<= )[0-9]{1,5}$")
_AT_AN_END = object()
_MAX_RUNNING = 120  # characters
_EDGE_LINES = 2
_RUNNING_PAGES = 3
_SHARED = 3  # pages on which a running line stands that is told in words


def running_lines(pages: Sequence[Sequence[PrintedLine]]) -> dict[tuple[int, int], str]:
    """Headers and footers: among a page's two outermost lines at top and bottom, those in the margins that three
    pages share.

    Lines are shared when identical, or when they differ in the page's number alone (``第 3 页``). Those that name the
    section at hand (``2.5. Priorities 11``, ``12 Chapter 3``) are told by the page's number at one end, on a fifth of all pages.

    Returns:
        The line's text by (index of page, index of line).
    """
    seen: Counter[tuple[object, ...]] = Counter()
    found: dict[tuple[int, int], tuple[str, set[tuple[object, ...]]]] = {}
    for at, lines in enumerate(pages):
        edge = _edge(lines)
        of_page: set[tuple[object, ...]] = set()
        for index in (i for i in edge if lines[i].in_margin):
            text = " ".join(lines[index].text.split())
            keys: set[tuple[object, ...]] = {(text,)}
            if len(text) <= 60:
                keys |= {
                    (text[: n.start()], int(n[0]) - at, text[n.end() :])
                    for n in _NUMBER.finditer(text)
                    if len(n[0]) < 6
                }
            if not SENTENCE_END.search(text):  # a footnote may have the page's number by chance
                keys |= {
                    (_AT_AN_END, n.start() == 0, int(n[0]) - at)
                    for n in _NUMBER_AT_AN_END.finditer(text[:_MAX_RUNNING])
                }
            found[at, index] = text, keys
            of_page |= keys
        seen.update(of_page)
    enough = {_AT_AN_END: max(_RUNNING_PAGES, len(pages) // 5)}
    return {
        place: text
        for place, (text, keys) in found.items()
        if any(seen[key] >= enough.get(key[0], _RUNNING_PAGES) for key in keys)
    }


def _edge(lines: Sequence[PrintedLine]) -> set[int]:
    """The first and last lines of a page, both in file order and by position."""
    first, last = range(min(_EDGE_LINES, len(lines))), range(max(len(lines) - _EDGE_LINES, 0), len(lines))
    places = {id(line): at for at, line in enumerate(lines)}
    rows = rows_of([line for line in lines if line.placed and line.in_margin])
    outer = {places[id(line)] for row in (*rows[:_EDGE_LINES], *rows[-_EDGE_LINES:]) for line in row}
    return {*first, *last, *outer}


def without_running(pages: Sequence[Sequence[PrintedLine]]) -> tuple[list[list[PrintedLine]], list[str]]:
    """The lines of each page without running headers and footers, and a note for each of these."""
    running = running_lines(pages)
    kept = [
        [line for index, line in enumerate(lines) if (at, index) not in running] for at, lines in enumerate(pages)
    ]
    texts = Counter(re.sub("[0-9]+", "#", text) for text in running.values())
    shared = {text: count for text, count in texts.items() if count >= _SHARED}
    notes = [f"removed a running line from {count} pages: {text[:80]!r}" for text, count in shared.items()]
    if others := len(running) - sum(shared.values()):
        notes.append(f"removed {others} running lines with the page's number")
    return kept, notes
