"""Numbered headings and clauses among paragraphs: where the format marks none, the numbers do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from wenyuan.core.text.structure import DocumentLine, SectionOpening, openings
from wenyuan.readers.assemble import Piece
from wenyuan.readers.text import heading_label


def sectioned(pieces: Sequence[Piece], *, levels_are_sure: bool = True) -> list[Piece]:
    """Pieces with paragraphs split at lines that open a section, which become headings or clauses.

    Args:
        levels_are_sure: The format says what its headings' levels are; else a number in a heading decides.
    """
    lines: list[DocumentLine] = []
    owners: list[int] = []
    for index, piece in enumerate(pieces):
        for n, text in enumerate(piece.text.split("\n") if piece.kind == "paragraph" else [piece.text]):
            lines.append(DocumentLine(text if piece.kind in ("paragraph", "heading") else "…", first=n == 0))
            owners.append(index)
    found: list[list[tuple[str, SectionOpening | None]]] = [[] for _ in pieces]
    for owner, line, accepted in zip(owners, lines, openings(lines), strict=True):
        found[owner].append((line.text, accepted))
    result: list[Piece] = []
    depth = 0  # of the marked heading above
    for piece, parts in zip(pieces, found, strict=True):
        if piece.kind == "paragraph":
            result.extend(_split_piece(piece, parts, depth))
        elif piece.kind == "heading" and not levels_are_sure and (first := parts[0][1]):
            result.append(replace(piece, level=depth + first.level, label=heading_label(first)))
        else:
            depth = piece.level or depth
            result.append(piece)
    return result


def _split_piece(piece: Piece, parts: Sequence[tuple[str, SectionOpening | None]], depth: int) -> Iterator[Piece]:
    """Split a paragraph at each section opening, and after a line that is entirely a heading."""
    now, gathered = piece, [""]
    for text, accepted in parts:
        if accepted is None:
            gathered.append(text)
            continue
        yield replace(now, text="\n".join(gathered).strip("\n"))
        level = depth + accepted.level
        if accepted.heading:
            yield replace(piece, kind="heading", text=text, level=level, label=heading_label(accepted))
            now, gathered = piece, []
        else:
            now, gathered = replace(piece, kind="clause", level=level, label=accepted.label), [text]
    yield replace(now, text="\n".join(gathered).strip("\n"))
