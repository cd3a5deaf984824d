"""Finds running headers, footers and page numbers, which repeat from page to page and are no part of the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wenyuan.readers.pdf.page import SENTENCE_END, PrintedLine, rows_of

_NUMBER = re.compile(r"[0-9]+")
_NUMBER_AT_AN_END = re.compile(r"^[0-9]{1,5}(?= )|(?<= )[0-9]{1,5}\Z")
_AT_AN_END = object()
_MAX_RUNNING = 120  # characters
_EDGE_LINES = 2
_RUNNING_PAGES = 3
_MOST_SAID = 6
_PAGE_OF = re.compile(
    r"(?i)(?:page|seite|p\.)\s*[0-9]{1,5}(?:\s*(?:of|/|von)\s*[0-9]{1,5})?|第\s*[0-9]{1,5}\s*[页頁](?:\s*[，,/]?\s*共\s*[0-9]{1,5}\s*[页頁])?"
    r"|^[0-9]{1,5}(?=\s|\Z)|(?<=\s)[0-9]{1,5}(?:\s*/\s*[0-9]{1,5})?\Z"
)
"""The page's number with the words around it, or at an end."""
_SAYS = re.compile(r"[^\W\d_]{3}|[\u2e80-\u9fff]{2}|[A-Za-z]+[- ]?[0-9]")
"""What says more than which page it is."""
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


class Running(NamedTuple):
    """Pages without what runs through them.

    Attributes:
        kept: The lines of each page that are its own.
        heads: What stood at the top of pages in words, each once, as where it stood first: it may say what the document is.
        feet: Likewise at the bottom.
        notes: On what was taken out.
    """

    kept: list[list[PrintedLine]]
    heads: list[PrintedLine]
    feet: list[PrintedLine]
    notes: list[str]


def without_running(pages: Sequence[Sequence[PrintedLine]]) -> Running:
    """The lines of each page without running headers and footers, what these say, and a note for each of them."""
    running = running_lines(pages)
    kept = [
        [line for index, line in enumerate(lines) if (at, index) not in running] for at, lines in enumerate(pages)
    ]
    texts = Counter(re.sub("[0-9]+", "#", text) for text in running.values())
    shared = {text: count for text, count in texts.items() if count >= _SHARED}
    notes = [f"removed a running line from {count} pages: {text[:80]!r}" for text, count in shared.items()]
    if others := len(running) - sum(shared.values()):
        notes.append(f"removed {others} running lines with the page's number")
    heads, feet = _said_once(pages, kept, running)
    return Running(kept, heads, feet, notes)


def _said_once(
    pages: Sequence[Sequence[PrintedLine]],
    kept: Sequence[Sequence[PrintedLine]],
    running: Mapping[tuple[int, int], str],
) -> tuple[list[PrintedLine], list[PrintedLine]]:
    """The first of each running line that is the same on its pages and whose words stand nowhere else in the text."""
    bare = {place: _PAGE_OF.sub("", said).strip(" -–—|·") for place, said in running.items()}
    same = Counter(bare.values())
    text = "".join("".join(line.text.split()) for lines in kept for line in lines).casefold()
    heads: list[PrintedLine] = []
    feet: list[PrintedLine] = []
    for (at, index), said in sorted(bare.items()):
        words = "".join(said.split()).casefold()
        if same[said] >= _SHARED and _SAYS.search(said) and words not in text:
            line = pages[at][index]
            height = max((each.top for each in pages[at]), default=0.0)
            (heads if line.bottom > height / 2 else feet).append(line)
            text += words
    return heads[:_MOST_SAID], feet[:_MOST_SAID]
