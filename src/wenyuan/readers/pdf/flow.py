"""From ordered pages to blocks: paragraphs that continue over columns and pages, followed by their tables and
footnotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.readers.assemble import Piece
from wenyuan.readers.pdf.arrange import Note, arranged
from wenyuan.readers.pdf.page import PrintedLine, PrintedPage
from wenyuan.readers.pdf.paragraphs import Paragraph, Words, paragraphs
from wenyuan.readers.pdf.tables import Table, table_piece

_NO_HEADING = re.compile(r"[。；，,;：:]$")
_HEADING_RATIO = (1.6, 1.3, 1.15)  # height of the letters to that of the text, for levels 1, 2, 3
_MAX_HEADING = 100
_MUCH = 0.4  # of a document: more than headings ever are


@dataclass(frozen=True, slots=True)
class Flow:
    """The blocks of a document.

    Attributes:
        largest: The largest text of the first page that has any, a title of last resort.
        added: Characters of it that no page has: the signs between cells, what is repeated in merged ones.
    """

    pieces: list[Piece]
    largest: str
    added: str


def flowing(pages: Sequence[PrintedPage], kept: Sequence[Sequence[PrintedLine]]) -> Flow:
    """The blocks of a document.

    Args:
        kept: The lines of each page that are text.
    """
    letters = _usual((line.height, len(line.text)) for lines in kept for line in lines)
    lines: list[PrintedLine] = []
    floating: list[tuple[int, Table | Note]] = []  # after how many lines
    for page, of_page in zip(pages, kept, strict=True):
        for item in arranged(page, of_page, letters):
            if isinstance(item, PrintedLine):
                lines.append(item)
            else:
                floating.append((len(lines), item))
    words = Words(line.text for of_page in kept for line in of_page)
    found = list(paragraphs(lines, words, {place for place, item in floating if _parts(item, lines, place)}))
    body = _usual((paragraph.height, len(paragraph.text)) for paragraph in found)
    pieces: list[Piece] = []
    added: list[str] = []
    waiting = _together(floating)
    read = 0
    for paragraph in [*found, None]:
        while waiting and (paragraph is None or waiting[0][0] <= read):
            _, item = waiting.pop(0)
            if isinstance(item, Note):
                pieces += (_piece(each, 0.0) for each in paragraphs(item.lines, words))
            else:
                piece, more = table_piece(item)
                pieces.append(piece)
                added.append(more)
        if paragraph is not None:
            pieces.append(_piece(paragraph, body))
            read += len(paragraph.printed)
    return Flow(pieces, _largest(found, body), "".join(added))


def _usual(heights: Iterable[tuple[float, int]]) -> float:
    """The body text's letter height, from heights with weights; 0 without any.

    The median, or what is higher and makes up nearly as much: a manual may hold more listings, in small letters, than text.
    """
    ranked = sorted(heights)
    whole = sum(weight for _, weight in ranked)
    shares: Counter[float] = Counter()
    middle, seen = 0.0, 0
    for height, weight in ranked:
        if 2 * seen < whole:
            middle = height
        seen += weight
        shares[round(height, 1)] += weight
    return max([middle, *(height for height, weight in shares.items() if weight >= _MUCH * whole > 0)])


def _parts(item: Table | Note, lines: Sequence[PrintedLine], place: int) -> bool:
    """Whether a table between two lines of one column separates their paragraphs."""
    if not isinstance(item, Table) or not 0 < place < len(lines):
        return False
    above, below = lines[place - 1], lines[place]
    return above.page == item.page == below.page and above.bottom > item.bottom > below.bottom


def _together(floating: Sequence[tuple[int, Table | Note]]) -> list[tuple[int, Table | Note]]:
    """Tables and footnotes, with parts of a table on consecutive pages merged, even with footnotes between them."""
    found: list[tuple[int, Table | Note]] = []
    last: int | None = None  # the table that may go on
    for place, item in floating:
        if isinstance(item, Table):
            before = found[last] if last is not None else None
            if before and before[0] == place and isinstance(before[1], Table) and before[1].goes_on(item):
                found[last or 0] = place, before[1].with_more(item)
                continue
            last = len(found)
        found.append((place, item))
    return found


def _largest(found: Sequence[Paragraph], body: float) -> str:
    top = [p for p in found if p.page == found[0].page and len(p.text) <= _MAX_HEADING]
    largest = max(top, key=lambda p: p.height, default=None)
    return largest.text if largest and largest.height > _HEADING_RATIO[-1] * body > 0 else ""


def _piece(paragraph: Paragraph, body: float) -> Piece:
    text = paragraph.text
    place: dict[str, Any] = {"page": paragraph.page, "anchor": f"page={paragraph.page}"}
    if body and len(text) <= _MAX_HEADING and not _NO_HEADING.search(text) and any(map(str.isalpha, text)):
        for level, ratio in enumerate(_HEADING_RATIO, 1):
            if paragraph.height > ratio * body:
                return Piece("heading", text, level=level, lines=paragraph.lines, **place)
    turns = tuple((offset, f"page={page}") for offset, page in paragraph.turns)
    return Piece("paragraph", text, inner=turns, lines=paragraph.lines, **place)
