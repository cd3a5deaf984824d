"""Reading quality: places of lines on pages, uncertain characters, and how much of a file its document contains."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp"})
"""Suffixes of files that are pictures: the text in them is recognised."""


class Line(NamedTuple):
    """A printed line of a paged document, ``text[start:end]``, with its place on the page.

    Attributes:
        page: 1-based.
        box: Left, top, right and bottom as shares (0..1) of the page's width and height, from its top left corner.
        confidence: Mean of its characters, 0..1, where the line was recognised in an image; None for a text layer.
    """

    start: int
    end: int
    page: int
    box: tuple[float, float, float, float]
    confidence: float | None = None


class Uncertain(NamedTuple):
    """Characters ``text[start:end]`` of a document recognised with low confidence.

    Attributes:
        kind: What the characters say: ``number``, ``date``, ``amount``, ``unit``, ``clause``, ``word``.
        confidence: The least of its characters, 0..1.
    """

    start: int
    end: int
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How completely a file was read. Characters are counted without white space.

    Attributes:
        pages: Pages, slides or sheets; 0 where the format has none.
        ocr_pages: Pages whose text was recognised in an image.
        unread_pages: Pages that hold no text but perhaps an image of it, and were not recognised.
        dropped_lines: Lines that were recognised in images and left out, since they were more likely no text.
        source_characters: In the file's own text (its text layer, its XML); None where that cannot be counted apart.
        read_characters: In the document's text.
        lost: Of `source_characters`, those that are not in the text (running heads and page numbers included).
        invented: Of `read_characters`, those that the file's own text does not have.
        confidence: Mean of all recognised characters, 0..1; None without any.
        tables: Tables that were read as tables.
        pictures: Pictures whose content was not read.
        warnings: Warnings for readers of the document, one sentence each.
    """

    pages: int = 0
    ocr_pages: int = 0
    unread_pages: int = 0
    dropped_lines: int = 0
    source_characters: int | None = None
    read_characters: int = 0
    lost: int = 0
    invented: int = 0
    confidence: float | None = None
    tables: int = 0
    pictures: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def by_recognition(self) -> bool:
        """Whether another OCR would read the file otherwise."""
        return bool(self.ocr_pages or self.unread_pages)

    @property
    def kept(self) -> float | None:
        """Share (0..1) of the file's characters that are in the text; None where they cannot be counted."""
        if not self.source_characters:
            return None
        return 1 - self.lost / self.source_characters

    @property
    def score(self) -> float | None:
        """The minimum (0..1) of the known ones among: share kept, share not invented, and confidence. None when none
        is known.
        """
        own = None
        if self.source_characters is not None and self.read_characters:
            own = 1 - self.invented / self.read_characters
        known = [value for value in (self.kept, own, self.confidence) if value is not None]
        return max(0.0, min(known)) if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """Recognition confidence of a passage that was, at least partly, an image.

    Attributes:
        confidence: Mean of its recognised lines by their length, 0..1.
        least: Lowest confidence of a line or of uncertain characters, 0..1.
        uncertain: Uncertain spans; offsets into the passage's text.
    """

    confidence: float
    least: float
    uncertain: tuple[Uncertain, ...] = ()

    def doubts(self, start: int, end: int) -> tuple[Uncertain, ...]:
        """The uncertain characters in ``text[start:end]`` of the passage."""
        return tuple(one for one in self.uncertain if one.start < end and start < one.end)


def part_of(told: Recognition | None, start: int, end: int) -> Recognition | None:
    """The recognition of ``text[start:end]``, from that of the whole text."""
    if told is None:
        return None
    return replace(told, uncertain=_within(told.uncertain, start, end))


def _within(uncertain: Sequence[Uncertain], start: int, end: int) -> tuple[Uncertain, ...]:
    """The uncertain spans inside ``text[start:end]``, with offsets relative to `start`."""
    return tuple(
        one._replace(start=max(one.start, start) - start, end=min(one.end, end) - start)
        for one in uncertain
        if one.start < end and start < one.end
    )


def together(parts: Sequence[tuple[int, int, Recognition | None]]) -> Recognition | None:
    """The recognition of a text from those of its parts, each given as start, length and recognition."""
    known = [(at, length, told) for at, length, told in parts if told is not None]
    if not known:
        return None
    doubts = [one._replace(start=at + one.start, end=at + one.end) for at, _, told in known for one in told.uncertain]
    weight = sum(length for _, length, _ in known)
    mean = sum(told.confidence * length for _, length, told in known) / max(1, weight)
    return Recognition(
        confidence=round(mean, 4), least=min(told.least for _, _, told in known), uncertain=tuple(doubts)
    )


class Recognised:
    """Recognition data of a document, queried by passage.

    Args:
        lines: In order of their offsets.
        uncertain: Likewise.
    """

    def __init__(self, lines: Sequence[Line], uncertain: Sequence[Uncertain]) -> None:
        self._lines = [line for line in lines if line.confidence is not None]
        self._starts, self._ends = [line.start for line in self._lines], [line.end for line in self._lines]
        self._uncertain = uncertain

    def of(self, start: int, end: int) -> Recognition | None:
        """Recognition of ``text[start:end]``; None where no part of it was an image."""
        if not self._lines and not self._uncertain:
            return None
        lines = self._lines[bisect_right(self._ends, start) : bisect_left(self._starts, end)]
        doubts = _within(self._uncertain, start, end)
        sure = [(line.confidence or 0.0, min(line.end, end) - max(line.start, start)) for line in lines]
        if not sure and not doubts:
            return None
        told = [value for value, _ in sure] or [one.confidence for one in doubts]
        length = sum(weight for _, weight in sure)
        mean = sum(value * weight for value, weight in sure) / length if length else sum(told) / len(told)
        least = min(*told, *(one.confidence for one in doubts), 1.0)
        return Recognition(confidence=round(mean, 4), least=round(least, 4), uncertain=doubts)
