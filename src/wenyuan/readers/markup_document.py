"""The document of a file of markup (reStructuredText, AsciiDoc, LaTeX) that was read into an outline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece, assemble, left_out_note
from wenyuan.readers.outline import Outline
from wenyuan.readers.text import measured


class MarkupPage(Protocol):
    """A file that was read.

    Attributes:
        left_out: How much of what is not shown was left out, by kind.
        pictures: Number of pictures, which are not read.
    """

    outline: Outline
    left_out: Counter[str]
    pictures: int

    def warnings(self) -> tuple[str, ...]:
        """What a reader of the document should know."""


def markup_document(
    page: MarkupPage,
    original: Original,
    *,
    own_text: str,
    media_type: str,
    empty: str,
    notes: Sequence[str],
    pieces: Iterable[Piece] | None = None,
    title: str = "",
) -> Document:
    """The document, with how much of the file it contains.

    Args:
        own_text: All text of the file, extracted in another way; see `measured`.
        empty: Why it is refused where no piece has text.
        notes: Of decoding it.
        pieces: Those of the outline, unless they were changed.
        title: Of the document; by default its first heading that opens no numbered part.

    Raises:
        DocumentRejected: no piece has text.
    """
    document = assemble(
        page.outline.pieces if pieces is None else pieces,
        original,
        title=title,
        media_type=media_type,
        empty=empty,
        notes=(*notes, *left_out_note(page.left_out)),
    )
    return measured(document, own_text, added=page.outline.added, pictures=page.pictures, warnings=page.warnings())
