"""PDF to a `Document`: the text layer, page by page, in reading order, lines joined to paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Any

from wenyuan.core.errors import msg
from wenyuan.core.model import Document, Facet
from wenyuan.readers.assemble import Original, Piece, assemble, no_title, rejected, unread
from wenyuan.readers.pdf.annotations import beside_text
from wenyuan.readers.pdf.page import (
    Pages,
    PrintedLine,
    PrintedPage,
    in_pictures,
    marked,
    needs_picture,
    rows_of,
    text_layer,
    units,
)
from wenyuan.readers.pdf.paragraphs import Paragraph, Words, paragraphs, without_running
from wenyuan.readers.pdf.strokes import Stroke
from wenyuan.readers.pdf.tables import Table, aligned_tables, pieces_of, ruled_tables, table_piece
from wenyuan.readers.text import measured, sectioned

# Reading order of a page: columns between full-width elements; finds tables and footnotes.

_LEAST_LINES = 3  # in each of two columns
_CLEAR = 0.7  # space between columns, of a line's height
_OVERLAP = 0.4  # of the shorter column, beside the other
_SWITCHES = 0.2  # of the lines: how often the file may change between columns that it has one after the other
_FULL, _WORDS, _FULL_LINES = (
    0.7,
    8.0,
    4,
)  # of lines in columns that the file has row by row: how full, how wide, how many
_MOST_HEADINGS, _APART = 2, 0.6  # lines; of a line's height
_DEPTH = 4  # of columns within columns
_SMALL = 0.93  # letters of a footnote, of those of the text
_NOTE = re.compile(r"(?:[*†‡§]{1,3}|[①-⑳]|注[0-9]*[:：]?|[\[〔（(]?[0-9]{1,3}[\]〕）)]?)[.、]?\s*[^\s0-9.,%，。]")


@dataclass(frozen=True, slots=True)
class Note:
    """The lines of a footnote."""

    lines: tuple[PrintedLine, ...]


Item = PrintedLine | Table | Note


@dataclass(frozen=True, slots=True)
class _Spot:
    """An element to be ordered: a line, a part of one, or a table; `at` is its position in the file, `whole` the
    complete line.
    """

    thing: PrintedLine | Table
    at: float
    left: float
    right: float
    bottom: float
    top: float
    whole: PrintedLine | None = None


def arranged(page: PrintedPage, lines: Sequence[PrintedLine], letters: float) -> list[Item]:
    """The elements of a page in reading order, with footnotes at the end of their column.

    Args:
        lines: Those of its lines that are text.
        letters: The usual height of the document's lines, in points.
    """
    lines = _downwards(lines)
    places = {id(line): at for at, line in enumerate(lines)}
    spots: list[_Spot] = []
    rest = list(lines)

    def take(table: Table, taken: Iterable[PrintedLine]) -> None:
        ids = set(map(id, taken))
        at = min(places[each] for each in ids) - 0.5
        spots.append(_Spot(table, at, table.edges[0], table.edges[-1], table.bottom, table.top))
        rest[:] = [line for line in rest if id(line) not in ids]

    for table in ruled_tables(rest, page.drawn, page.number):
        if inside := [line for line in rest if _is_inside(line, table)]:
            take(table, inside)
    found = list(rest)
    for table, span in aligned_tables(found, page.frame, page.drawn.across, least=3):
        take(table, found[span.start : span.stop])
    for line in rest:
        parts = pieces_of(line, page.frame) if line.placed else [line]
        for number, part in enumerate(parts):
            at = places[id(line)] + number / len(parts)
            spots.append(_Spot(part, at, part.left, part.right, part.bottom, part.top, line))
    return _ordered(sorted(spots, key=lambda spot: spot.at), page, letters, _DEPTH)


def _downwards(lines: Sequence[PrintedLine]) -> Sequence[PrintedLine]:
    """Lines in file order, or sorted top to bottom where the file runs upwards, as pdfium gives rotated pages."""
    steps = [a.bottom - b.bottom for a, b in pairwise(line for line in lines if line.placed)]
    if 2 * sum(step < 0 for step in steps) <= len(steps):
        return lines
    return [line for row in rows_of([line for line in lines if line.placed]) for line in row] + [
        line for line in lines if not line.placed
    ]


def _is_inside(line: PrintedLine, table: Table) -> bool:
    x, y = (line.left + line.right) / 2, line.bottom + line.height / 2
    return line.placed and table.bottom < y < table.top and table.edges[0] - 1 < x < table.edges[-1] + 1


def _ordered(spots: list[_Spot], page: PrintedPage, letters: float, depth: int) -> list[Item]:
    edge = _gutter(spots) if depth else None
    if edge is None:
        return _column(spots, page, letters)
    found: list[Item] = []
    for band in _bands(spots, edge):
        left = [spot for spot in band if _side(spot, edge) < 0]
        right = [spot for spot in band if _side(spot, edge) > 0]
        if left and right:
            for side in (left, right):
                inner = _ordered(side, page, letters, depth - 1)
                found += [
                    replace(item, column=1 + int(min(spot.left for spot in side)))
                    if isinstance(item, PrintedLine) and not item.column
                    else item
                    for item in inner
                ]
        else:
            found += _column(band, page, letters)
    return found


def _side(spot: _Spot, edge: float) -> int:
    """-1 left of the x `edge`, 1 right of it, 0 across it."""
    if spot.left >= edge - 1:
        return 1
    return -1 if spot.right <= edge - _CLEAR * min(spot.top - spot.bottom, 12.0) else 0


def _bands(spots: Sequence[_Spot], edge: float) -> list[list[_Spot]]:
    """Split a page from top to bottom into full-width elements and two-column areas, each in file order."""
    bands: list[list[_Spot]] = []
    over = False
    for spot in sorted(spots, key=lambda each: (-each.top, each.at)):
        is_over = _side(spot, edge) == 0
        if not bands or is_over != over:
            bands.append([])
            over = is_over
        bands[-1].append(spot)
    for at in range(len(bands) - 1, 0, -1):
        if _side(bands[at][0], edge) == 0 and (heading := _headings(bands[at - 1], edge)):
            bands[at - 1] = [spot for spot in bands[at - 1] if spot not in heading]
            bands[at] = heading + bands[at]
    return [sorted(band, key=lambda each: each.at) for band in bands if band]


def _headings(band: Sequence[_Spot], edge: float) -> list[_Spot]:
    """The last lines of the left column that stand apart below both columns: the heading of the full-width element
    that follows.
    """
    left = [spot for spot in band if _side(spot, edge) < 0]
    right = [spot for spot in band if _side(spot, edge) > 0]
    if not left or not right:
        return []
    end = min(spot.bottom for spot in right)
    below = [spot for spot in left if spot.top <= end]
    above = [spot for spot in left if spot.top > end]
    if not below or not above or len(below) > _MOST_HEADINGS:
        return []
    apart = min(spot.bottom for spot in above) - below[0].top
    return below if apart > _APART * (below[0].top - below[0].bottom) else []


def _gutter(spots: Sequence[_Spot]) -> float | None:
    """The x at which the right one of two columns begins; None for a single column."""
    lines = [spot for spot in spots if spot.whole and spot.right > spot.left]
    edges = Counter(round(spot.left / 2) for spot in lines)
    best: tuple[int, float] = (0, 0.0)
    for near, count in edges.most_common(12):
        if count + edges[near - 1] + edges[near + 1] < _LEAST_LINES:
            continue
        edge = min(spot.left for spot in lines if abs(round(spot.left / 2) - near) <= 1)
        held = sum(len(band) for band in _bands(spots, edge) if _are_columns(band, edge))
        best = max(best, (held, edge))
    return best[1] if best[0] else None


def _are_columns(band: Sequence[_Spot], edge: float) -> bool:
    left = [spot for spot in band if _side(spot, edge) < 0]
    right = [spot for spot in band if _side(spot, edge) > 0]
    if min(len(left), len(right)) < _LEAST_LINES:
        return False
    tops, bottoms = zip(
        *((max(s.top for s in side), min(s.bottom for s in side)) for side in (left, right)), strict=True
    )
    shorter = min(top - bottom for top, bottom in zip(tops, bottoms, strict=True))
    if min(tops) - max(bottoms) < _OVERLAP * shorter:
        return False
    sides = [_side(spot, edge) for spot in band]
    switches = sum(a != b for a, b in pairwise(sides))
    if switches <= max(1, _SWITCHES * min(len(left), len(right))):
        return True
    return all(map(_is_full, (left, right)))


def _is_full(side: Sequence[_Spot]) -> bool:
    """Whether the lines of each column on one side fill it, as running text does."""
    lines = sorted((s for s in side if isinstance(s.thing, PrintedLine)), key=lambda s: s.left)
    columns: list[list[_Spot]] = []
    for line in lines:
        if columns and line.left - columns[-1][0].left <= 2 * (line.top - line.bottom):
            columns[-1].append(line)
        else:
            columns.append([line])
    for column in columns:
        left, right = column[0].left, max(line.right for line in column)
        filled = median((line.right - line.left) / (right - left) for line in column)
        wide = median(units(line.thing.text) for line in column if isinstance(line.thing, PrintedLine))
        if len(column) < _FULL_LINES or filled < _FULL or wide < _WORDS:
            return False
    return bool(columns)


def _column(spots: Sequence[_Spot], page: PrintedPage, letters: float) -> list[Item]:
    """One column in file order, with its two-column tables found and its footnotes last."""
    things = _whole(spots)
    flow: list[PrintedLine | Table] = []
    lines: list[PrintedLine] = []

    def settle() -> None:
        at = 0
        for table, taken in aligned_tables(lines, page.frame, page.drawn.across, least=2):
            flow.extend(lines[at : taken.start])
            flow.append(table)
            at = taken.stop
        flow.extend(lines[at:])
        lines.clear()

    for thing in things:
        if isinstance(thing, Table):
            settle()
            flow.append(thing)
        else:
            lines.append(thing)
    settle()
    notes = _notes(flow, page.drawn.across, letters)
    ids = {id(line) for note in notes for line in note.lines}
    return [thing for thing in flow if id(thing) not in ids] + notes


def _whole(spots: Sequence[_Spot]) -> list[PrintedLine | Table]:
    """Rejoin parts of a line that are still neighbours."""
    counts = Counter(id(spot.whole) for spot in spots if spot.whole)
    found: list[PrintedLine | Table] = []
    at = 0
    while at < len(spots):
        spot = spots[at]
        same = 1
        while at + same < len(spots) and spot.whole and spots[at + same].whole is spot.whole:
            same += 1
        if spot.whole and same == counts[id(spot.whole)] and _is_all_of(spots[at : at + same], spot.whole):
            found.append(spot.whole)
        else:
            found += [each.thing for each in spots[at : at + same]]
        at += same
    return found


def _is_all_of(parts: Sequence[_Spot], whole: PrintedLine) -> bool:
    return (parts[0].left, parts[-1].right) == (whole.left, whole.right)


def _notes(flow: Sequence[PrintedLine | Table], across: Sequence[Stroke], letters: float) -> list[Note]:
    """Remove the footnotes from a column: its last lines, starting at a note mark in small type or below a short
    rule.
    """
    below = sorted((each for each in flow if isinstance(each, Table) or each.placed), key=lambda each: each.bottom)
    tail: list[PrintedLine] = []
    for thing in below:
        if isinstance(thing, Table):
            break
        tail.append(thing)
    tail.reverse()
    start = _first_note(tail, across, letters)
    if start is None:
        return []
    notes: list[list[PrintedLine]] = []
    for line in tail[start:]:
        if _NOTE.match(line.text) or not notes:
            notes.append([line])
        else:
            notes[-1].append(line)
    return [Note(tuple(lines)) for lines in notes]


def _first_note(tail: Sequence[PrintedLine], across: Sequence[Stroke], letters: float) -> int | None:
    """Index of the first footnote line among a column's lines from top to bottom; None without any."""
    small = len(tail)
    while small and tail[small - 1].height < _SMALL * letters:
        small -= 1
    for at, line in enumerate(tail):
        if not at or not _NOTE.match(line.text):
            continue
        if 0 < small <= at or _is_parted(tail[at - 1], line, tail, across):
            return at
    return None


def _is_parted(
    above: PrintedLine, line: PrintedLine, column: Iterable[PrintedLine], across: Sequence[Stroke]
) -> bool:
    """Whether a short rule at the left separates two lines."""
    left, right = min(each.left for each in column), max(each.right for each in column)
    return any(
        line.top - line.height / 4 <= stroke.at <= above.bottom + above.height / 4
        and abs(stroke.start - left) <= line.height
        and stroke.end - stroke.start <= 0.6 * (right - left)
        for stroke in across
    )


# From ordered pages to blocks: paragraphs that continue over columns and pages, followed by their tables and
# footnotes.

_NO_HEADING = re.compile(r"[。；，,;：:]\Z")
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


_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_MAX_PAGES = 5_000
_MAX_CHARACTERS = 20_000_000


def read_pdf(content: bytes, *, uri: str, name: str, recognised: Pages | None = None) -> tuple[Document, ...]:
    """Read a PDF: the text layer of each page, or recognised text (OCR) where the layer is empty or broken.

    Args:
        recognised: What was recognised, by page; None where no OCR is installed.

    Raises:
        PagesWanted: which pages are to be recognised first.
        DocumentRejected: encrypted, damaged, too long, or without any text.
    """
    import pypdfium2 as pdfium

    try:
        with pdfium.PdfDocument(content) as pdf:
            pages, notes = _pages(pdf, name, recognised)
            properties = {
                key: " ".join(pdf.get_metadata_value(key).split()) for key in ("Title", "Author", "Subject")
            }
    except pdfium.PdfiumError as error:
        reason = (
            "it is encrypted" if error.err_code == _PASSWORD_ERROR else msg("it is damaged: {error}", error=error)
        )
        raise rejected(reason, name) from error
    metadata: dict[str, Facet] = {"pages": len(pages)}
    metadata |= {key.lower(): properties[key][:500] for key in ("Author", "Subject") if not no_title(properties[key])}
    title, original = properties["Title"], Original(content, uri, name)
    return (document_of(pages, original, title, media_type="application/pdf", notes=notes, metadata=metadata),)


def document_of(
    pages: Sequence[PrintedPage],
    original: Original,
    title: str = "",
    *,
    media_type: str,
    notes: Sequence[str],
    metadata: Mapping[str, Facet],
) -> Document:
    """The document made from printed pages.

    Args:
        title: As the file says; ``""`` where it says none.
        notes: What is to be said of pages that could not be read.

    Raises:
        DocumentRejected: there is no text on them.
    """
    seals = [line for page in pages for line in page.lines if line.seal]
    running = without_running([[line for line in page.lines if not line.seal] for page in pages])
    kept, removed = running.kept, running.notes
    flow = flowing(pages, kept)
    pieces = [*map(_alone, running.heads), *_with_seals(flow.pieces, seals), *map(_alone, running.feet)]
    document = assemble(
        sectioned(pieces, levels_are_sure=False),
        original,
        title=flow.largest if no_title(title) else title,
        media_type=media_type,
        empty=f"no text on any of its {len(pages)} pages but running headers",
        notes=(*removed, *notes),
        metadata=metadata,
    )
    taken = sum(map(_size, (line for page in pages for line in page.lines))) - sum(
        map(_size, (line for lines in (*kept, running.heads, running.feet, seals) for line in lines))
    )
    left_out = msg("running heads, feet and page numbers are left out ({count} characters)", count=taken)
    pressed = msg(
        "read from seals, and no headings: {texts}", texts="; ".join(line.text for line in seals[:20])[:500]
    )
    told = (*notes, *[left_out] * bool(taken), *[pressed] * bool(seals))
    return marked(_with_fidelity(document, pages, flow, told), pages)


def _alone(line: PrintedLine) -> Piece:
    """A line as a paragraph of its own, never a heading."""
    return _piece(Paragraph(line.text, line.page, line.height, (), ((0, len(line.text), line),)), 0.0)


def _with_seals(pieces: Sequence[Piece], seals: Sequence[PrintedLine]) -> list[Piece]:
    """The pieces, and after the last of a page what its seals say."""
    found = list(pieces)
    for line in seals:
        after = max((at for at, piece in enumerate(found, 1) if (piece.page or 0) <= line.page), default=len(found))
        found.insert(after, _alone(line))
    return found


def _size(line: PrintedLine) -> int:
    return len("".join(line.text.split()))


def _with_fidelity(document: Document, pages: Sequence[PrintedPage], flow: Flow, left: Sequence[str]) -> Document:
    cut = [page.number for page in pages if page.drawn.cut]
    drawn = msg("so much is drawn on pages {pages} that no lines of tables were looked for", pages=_some(cut))
    document = measured(
        document,
        (page.own for page in pages),
        added=flow.added,
        pages=len(pages),
        pictures=sum(page.drawn.pictures for page in pages if not page.recognised),
        warnings=[*left, *[drawn] * bool(cut)],
    )
    recognised = [sure for page in pages if page.recognised for line in page.lines for sure in line.sure]
    fidelity = document.fidelity and replace(
        document.fidelity,
        ocr_pages=sum(page.recognised for page in pages),
        unread_pages=sum(page.unread for page in pages),
        dropped_lines=sum(page.dropped for page in pages),
        confidence=sum(recognised) / len(recognised) if recognised else None,
    )
    return replace(document, fidelity=fidelity)


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")


def _pages(pdf: Any, name: str, recognised: Pages | None) -> tuple[list[PrintedPage], list[str]]:
    """The pages, and notes on those that could not be read."""
    if len(pdf) > _MAX_PAGES:
        raise rejected(
            msg("it has {count} pages; at most {max_pages} are read", count=len(pdf), max_pages=_MAX_PAGES), name
        )
    pages: list[PrintedPage] = []
    pictures: list[int] = []
    characters = 0
    beside: Counter[str] = Counter()
    for index in range(len(pdf)):
        page = pdf[index]
        beside += beside_text(page)
        pages.append(text_layer(page, index + 1))
        characters += len(pages[-1].own)
        if needs_picture(page, pages[-1].own, pages[-1].unmapped):
            pictures.append(index + 1)
        page.close()
        if characters > _MAX_CHARACTERS:
            raise rejected(
                msg("it holds more than {max_characters} characters", max_characters=f"{_MAX_CHARACTERS:,}"), name
            )
    read, notes = in_pictures(pages, pictures, recognised, name)
    return read, [*notes, *unread(beside)]
