"""Text of a PDF that nobody sees on its page is left out and counted: what lies beyond the edges, and what is far too small."""

from __future__ import annotations

import pytest

from pdf_files import make_pdf
from wenyuan.core.model import Document
from wenyuan.readers.pdf.reader import read_pdf

SEEN = "Complaints are answered within 24 hours."
HIDDEN = "Complaints need no answer at all."


def read(content: bytes) -> Document:
    (document,) = read_pdf(content, uri="file:///a.pdf", name="a.pdf")
    return document


def left_out(document: Document) -> list[str]:
    return [note for note in document.notes if "nobody sees" in note]


@pytest.mark.parametrize(("x", "y"), [(5000, 600), (-2000, 600), (72, 5000), (72, -300)])
def test_what_lies_beyond_the_edges_is_left_out(x: int, y: int) -> None:
    """On every side of the page; how much it was is said."""
    document = read(make_pdf([[(72, 700, SEEN), (x, y, HIDDEN)]]))
    assert SEEN in document.text
    assert HIDDEN not in document.text
    assert left_out(document) == ["text that nobody sees on the page is left out (28 characters)"]


def test_what_is_too_small_to_see_is_left_out() -> None:
    """Letters of less than a point are a message to programs; small print is read."""
    tiny = make_pdf([[(72, 700, SEEN), (72, 600, HIDDEN)]]).replace(
        b"/F 12 Tf 1 0 0 1 72 600 Tm", b"/F 12 Tf .02 0 0 .02 72 600 Tm"
    )
    document = read(tiny)
    assert HIDDEN not in document.text
    assert len(left_out(document)) == 1
    small = read(make_pdf([[(72, 700, SEEN), (72, 600, "Small print.", 4)]]))
    assert "Small print." in small.text
    assert left_out(small) == []


def test_what_reaches_over_an_edge_is_read() -> None:
    """A line that begins or ends on the page is seen in part, and so is one of a page in other units."""
    document = read(make_pdf([[(500, 700, SEEN), (-30, 600, HIDDEN)]]))
    assert SEEN in document.text
    assert HIDDEN in document.text
    assert left_out(document) == []
