"""What a PDF says of its letters is text only where the page shows these letters."""

from __future__ import annotations

import pytest

from wenyuan.core.model import Document
from wenyuan.readers.pdf.reader import read_pdf

SEEN = "The fee is due at the end of the month."


def pdf(stream: str, claims: str = "", font: str = "Helvetica", rotation: int = 0) -> bytes:
    """A page with a line in a font that maps its codes as `claims` says, and one in an honest font."""
    line = f"BT /G 12 Tf 1 0 0 1 72 600 Tm ({SEEN}) Tj ET"
    content = f"{stream} {line}"
    table = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <00> <FF> endcodespacerange\n"
        f"{claims.count('>') // 2} beginbfchar\n{claims}endbfchar endcmap end end"
    )
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        f"<< /Type /Page /Parent 2 0 R /Rotate {rotation} /MediaBox [0 0 595 842] /Contents 4 0 R "
        "/Resources << /Font << /F 5 0 R /G 7 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} {'/ToUnicode 6 0 R' if claims else ''} >>",
        f"<< /Length {len(table)} >>\nstream\n{table}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
    ]
    body = "".join(f"{at} 0 obj\n{each}\nendobj\n" for at, each in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R >>\n".encode()


def claiming(shown: str, said: str) -> str:
    return "".join(
        f"<{ord(one):02X}> <{ord(other):04X}>\n" for one, other in dict(zip(shown, said, strict=True)).items()
    )


def line(shown: str, *, turned: bool = False, before: str = "", after: str = "") -> str:
    place = "0 1 -1 0 300 72 Tm" if turned else "1 0 0 1 72 700 Tm"
    return f"{before} BT /F 12 Tf {place} ({shown}) Tj ET {after}"


def read(content: bytes) -> Document:
    (document,) = read_pdf(content, uri="file:///a.pdf", name="a.pdf")
    return document


@pytest.mark.parametrize("font", ["Helvetica", "Times-Italic", "Courier-Bold"])
@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("Refunds are refused here", "Bqwertz xyz qwerty1 poiu"),
        ("Refunds are paid", "Refunds are mean"),
        ("Pay 4712 euro", "Pay 9325 euro"),
    ],
)
def test_letters_that_are_drawn_as_others_are_left_out_and_counted(shown: str, said: str, font: str) -> None:
    """A font says of its glyphs what they are, and the page shows something else."""
    document = read(pdf(line(shown), claiming(shown, said), font))
    assert document.text == SEEN or said.rsplit(maxsplit=1)[-1] not in document.text
    assert SEEN in document.text
    assert any("nobody sees on the page" in note for note in document.notes)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_letters_count_as_they_stand_however_they_and_the_page_are_turned(rotation: int, *, turned: bool) -> None:
    """An honest font loses nothing, another one is left out."""
    shown = "Refunds are refused here"
    honest = read(pdf(line(shown, turned=turned), claiming(shown, shown), rotation=rotation))
    assert shown in honest.text
    assert honest.notes == ()
    other = read(pdf(line(shown, turned=turned), claiming(shown, "Bqwertz xyz qwerty1 poiu"), rotation=rotation))
    assert "qwert" not in other.text


def test_a_single_letter_that_is_another_takes_its_word_along() -> None:
    """The rest of the line is read."""
    document = read(pdf(line("Pay to Miller"), claiming("Pay to Miller", "Xay to Miller")))
    assert "Xay" not in document.text
    assert "to Miller" in document.text


def test_letters_that_look_alike_are_read() -> None:
    """O and 0, l and 1, capitals that are small letters."""
    document = read(pdf(line("O0l1 oS5 Xx"), claiming("O0l1 oS5 Xx", "0Ol1 Os5 xX")))
    assert document.notes == ()


MARK = "/Span << /ActualText ({}) >> BDC"


def test_a_text_in_place_of_another_that_the_page_shows_is_not_read() -> None:
    """What the page shows is."""
    document = read(pdf(line("Refunds are refused", before=MARK.format("Send the keys away"), after="EMC")))
    assert "keys" not in document.text
    assert "Refunds are refused" in document.text
    assert document.notes == ("text that nobody sees on the page is left out (15 characters)",)


def test_another_number_in_place_of_the_one_that_the_page_shows_is_not_read() -> None:
    """However alike they are."""
    document = read(pdf(line("20210", before=MARK.format("20120"), after="EMC")))
    assert "20210" in document.text
    assert "20120" not in document.text


@pytest.mark.parametrize(
    ("drawn", "said"), [("Refunds", "refunds"), ("Chap", "Chapter"), ("co-operate", "cooperate"), ("x", "times")]
)
def test_a_text_that_stands_for_what_is_drawn_is_read(drawn: str, said: str) -> None:
    """Another spelling, the whole word, without a hyphen, a sign by its name."""
    document = read(pdf(line(drawn, before=MARK.format(said), after="EMC")))
    assert said in document.text
    assert document.notes == ()
