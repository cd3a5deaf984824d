"""What a page of a PDF does not show is no text of it: it is left out and counted; what it shows is never lost."""

from __future__ import annotations

import pytest

from pdf_files import make_pdf
from wenyuan.core.model import Document
from wenyuan.readers.pdf.reader import read_pdf
from wenyuan.readers.selection import PagesWanted

SEEN = "Complaints are answered within 24 hours."
OTHER = "Complaints need no answer at all."
LEFT_OUT = "text that nobody sees on the page is left out (28 characters)"


def words(x: int, y: int, text: str, before: bytes = b"") -> bytes:
    return b"BT 0 Tr " + before + b" /F 12 Tf 1 0 0 1 %d %d Tm (%s) Tj ET 0 g " % (x, y, text.encode())


BOX = b"60 590 300 30 re f "
FONT = words(72, 600, OTHER)


def read(*drawn: bytes) -> Document:
    (document,) = read_pdf(make_pdf([[(72, 700, SEEN)]], drawn=[b"".join(drawn)]), uri="file:///a.pdf", name="a.pdf")
    return document


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param(b"1 g " + FONT, id="white"),
        pytest.param(b".98 g " + FONT, id="nearly white"),
        pytest.param(words(72, 600, OTHER, b"3 Tr") + b"BT 0 Tr ET ", id="in no colour"),
        pytest.param(FONT + b"1 g " + BOX + b"0 g ", id="under a white area"),
        pytest.param(FONT + BOX, id="under a black area"),
        pytest.param(b"q 0 0 50 50 re W n " + FONT + b"Q ", id="outside its clip"),
        pytest.param(b"0 0 .6 rg " + BOX + FONT.replace(b"0 g ", b""), id="in the colour of an area"),
        pytest.param(b"1 g " + words(72, 700, OTHER), id="white, below what is seen at its place"),
        pytest.param(words(72, 600, OTHER, b"3 Tr /F 12 Tf") + b"BT 0 Tr ET ", id="in no colour, far from all"),
        pytest.param(b"BT /F 1 Tf 1 0 0 1 72 600 Tm (" + OTHER.encode() + b") Tj ET ", id="one point high"),
        pytest.param(
            b"BT /F 12 Tf .1 Tz 1 0 0 1 72 600 Tm (" + OTHER.encode() + b") Tj 100 Tz ET ", id="without width"
        ),
    ],
)
def test_what_nobody_sees_is_left_out_and_counted(drawn: bytes) -> None:
    """In whatever way it is hidden; what stands beside it is whole."""
    document = read(drawn)
    assert SEEN in document.text
    assert OTHER not in document.text
    assert LEFT_OUT in document.notes
    assert document.fidelity is not None
    assert LEFT_OUT in document.fidelity.warnings


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param(FONT, id="black"),
        pytest.param(b".85 g " + FONT, id="light grey"),
        pytest.param(b"1 1 0 rg " + FONT, id="yellow"),
        pytest.param(b"0 0 .6 rg " + BOX + b"1 g " + FONT, id="white on blue"),
        pytest.param(b"1 g " + BOX + b"0 g " + FONT, id="black on a white area"),
        pytest.param(FONT + b"1 g 60 500 300 30 re f 0 g ", id="beside an area that is drawn later"),
        pytest.param(b"q 0 0 595 842 re W n " + FONT + b"Q ", id="within its clip"),
        pytest.param(FONT + FONT, id="twice at one place"),
        pytest.param(b"BT 1 Tr /F 12 Tf 1 0 0 1 72 600 Tm (" + OTHER.encode() + b") Tj 0 Tr ET ", id="outlines"),
        pytest.param(b"BT /F 4 Tf 1 0 0 1 72 600 Tm (" + OTHER.encode() + b") Tj ET ", id="small print"),
    ],
)
def test_what_is_seen_is_read(drawn: bytes) -> None:
    """In whatever colour, before and behind whatever it is."""
    document = read(drawn)
    assert SEEN in document.text
    assert OTHER in document.text
    assert not any("nobody sees" in note for note in document.notes)


def test_of_a_line_only_the_covered_part_is_left_out() -> None:
    """A black bar over some words of a line, as under a redaction that was only painted."""
    document = read(FONT + b"0 g 134 590 300 30 re f ")
    assert "Complaints\n" in f"{document.text}\n"
    assert "answer at all" not in document.text


def scan(*ink: tuple[int, int]) -> bytes:
    """A picture over the whole page, striped in these rows of a hundred."""
    rows = [b"\x33" * 13 if any(a <= row < b for a, b in ink) else b"\xff" * 13 for row in range(100)]
    return b"q 595 0 0 842 0 0 cm BI /W 100 /H 100 /BPC 1 /CS /G ID " + b"".join(rows) + b" EI Q "


def test_what_was_recognised_in_a_scan_is_read() -> None:
    """Text in no colour over a picture that shows something at its place; how much it is, is said."""
    document = read(scan((20, 90)), words(72, 600, OTHER, b"3 Tr") + b"BT 0 Tr ET ")
    assert OTHER in document.text
    assert any("taken for what they say (28 characters)" in note for note in document.notes)


def test_text_in_no_colour_over_white_paper_of_a_scan_is_left_out() -> None:
    """Nothing was recognised where the picture shows nothing."""
    document = read(scan((80, 90)), words(72, 300, OTHER, b"3 Tr") + b"BT 0 Tr ET ")
    assert OTHER not in document.text
    assert LEFT_OUT in document.notes


def test_text_behind_a_picture_of_the_page_is_its_recognised_text() -> None:
    """Some programs put it under the picture instead of over it; a small picture hides what lies under it."""
    document = read(FONT, scan((20, 90)))
    assert OTHER in document.text
    small = FONT + b"q 300 0 0 40 60 590 cm BI /W 8 /H 8 /BPC 1 /CS /G ID " + b"\x0f" * 8 + b" EI Q "
    assert OTHER not in read(small).text


def test_letters_without_a_shape_on_this_machine_are_read() -> None:
    """A Chinese font that is not in the file may not be here either: what cannot be drawn cannot be compared."""
    content = make_pdf([[(72, 700, "投诉须在二十四小时内答复")]], chinese=True)
    (document,) = read_pdf(content, uri="file:///a.pdf", name="a.pdf")
    assert "投诉须在二十四小时内答复" in document.text


def test_a_page_of_hidden_text_alone_is_no_text_of_its_picture() -> None:
    """White words on a scan do not keep it from being recognised."""
    content = make_pdf([[]], drawn=[scan((80, 90)) + b"1 g " + words(72, 300, OTHER)])
    with pytest.raises(PagesWanted):
        read_pdf(content, uri="file:///a.pdf", name="a.pdf", recognised={})
