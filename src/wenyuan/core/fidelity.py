"""What was read of a file, against what it holds: places of lines on pages, doubtful characters, and a record of losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Line(NamedTuple):
    """A printed line of a paged document: ``text[start:end]`` of the document, and where it stands on its page.

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
    """Characters ``text[start:end]`` of a document that were not recognised surely enough to be quoted as sure.

    Attributes:
        kind: What the characters say: ``number``, ``date``, ``amount``, ``unit``, ``clause``.
        confidence: The least of its characters, 0..1.
    """

    start: int
    end: int
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How much of a file its document holds. Characters are counted without white space.

    Attributes:
        pages: Pages, slides or sheets; 0 where the format has none.
        ocr_pages: Pages whose text was recognised in an image.
        source_characters: In the file's own text (its text layer, its XML); None where that cannot be counted apart.
        read_characters: In the document's text.
        lost: Of `source_characters`, those that are not in the text (running heads and page numbers included).
        invented: Of `read_characters`, those that the file's own text does not have.
        confidence: Mean of all recognised characters, 0..1; None without any.
        tables: Tables that were read as tables.
        pictures: Pictures whose content was not read.
        warnings: What a reader of the document should know, one sentence each.
    """

    pages: int = 0
    ocr_pages: int = 0
    source_characters: int | None = None
    read_characters: int = 0
    lost: int = 0
    invented: int = 0
    confidence: float | None = None
    tables: int = 0
    pictures: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def kept(self) -> float | None:
        """Share of the file's own characters that are in the text, 0..1; None where they cannot be counted."""
        if not self.source_characters:
            return None
        return 1 - self.lost / self.source_characters
