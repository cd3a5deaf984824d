"""Text of OpenDocument files that the page does not show is left out and counted; what it shows is never lost."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from package_files import opendocument
from wenyuan.core.model import Document
from wenyuan.readers.opendocument import read_odp, read_odt

INKS = {
    "white": 'fo:color="#ffffff"',
    "navy": 'fo:color="#000080"',
    "pale": 'fo:color="#eeeeee"',
    "tiny": 'fo:font-size="1pt"',
    "small": 'fo:font-size="6pt"',
    "hidden": 'text:display="none"',
    "on": 'text:display="true"',
    "faint": 'fo:color="#000000" style:opacity="3%"',
    "shadow": 'fo:color="#ffffff" fo:text-shadow="1pt 1pt"',
    "auto": 'fo:color="#ffffff" style:use-window-font-color="true"',
    "marked": 'fo:color="#ffffff" fo:background-color="#000080"',
    "same": 'fo:color="#000080" fo:background-color="#000080"',
}
FILLS = {"none": 'draw:fill="none"', "dark": 'draw:fill="solid" draw:fill-color="#000080"', "unsaid": ""}


def style(name: str, family: str, properties: str) -> str:
    return f'<style:style style:name="{name}" style:family="{family}">{properties}</style:style>'


STYLES = (
    "".join(style(name, "text", f"<style:text-properties {said}/>") for name, said in INKS.items())
    + "".join(style(name, "paragraph", f"<style:text-properties {said}/>") for name, said in INKS.items())
    + "".join(style(name, "graphic", f"<style:graphic-properties {said}/>") for name, said in FILLS.items())
    + style("ground", "paragraph", '<style:paragraph-properties fo:background-color="#000080"/>')
    + style("away", "paragraph", '<style:paragraph-properties fo:margin-left="-40cm"/>')
    + style("cell", "table-cell", '<style:table-cell-properties fo:background-color="#000080"/>')
    + style("dark", "drawing-page", '<style:drawing-page-properties draw:fill="solid" draw:fill-color="#000080"/>')
    + '<style:style style:name="deep" style:family="text" style:parent-style-name="hidden"/>'
)
MASTERS = (
    '<office:document-styles xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0">'
    '<office:automatic-styles><style:page-layout style:name="L"><style:page-layout-properties fo:page-width="28cm" '
    'fo:page-height="21cm"/></style:page-layout></office:automatic-styles><office:master-styles><style:master-page '
    'style:name="M" style:page-layout-name="L"/></office:master-styles></office:document-styles>'
)


def span(ink: str, text: str) -> str:
    return f'<text:span text:style-name="{ink}">{text}</text:span>'


def read(body: str, more: Mapping[str, str] | None = None) -> Document:
    whole = f"<text:p>The fee is due.</text:p>{body}<text:p>Complaints need no answer.</text:p>"
    content = opendocument(whole, styles=STYLES, more=more)
    (document,) = read_odt(content, uri="file:///a.odt", name="a.odt")
    return document


def slide(*frames: str, page: str = "") -> Document:
    first = "<draw:frame draw:style-name='none'><draw:text-box><text:p>The fee is due.</text:p></draw:text-box></draw:frame>"
    body = f'<draw:page draw:style-name="{page}" draw:master-page-name="M">{first}{"".join(frames)}</draw:page>'
    content = opendocument(body, kind="presentation", styles=STYLES, more={"styles.xml": MASTERS})
    (document,) = read_odp(content, uri="file:///a.odp", name="a.odp")
    return document


def frame(text: str, fill: str = "none", left: str = "2cm") -> str:
    place = f'svg:x="{left}" svg:y="2cm" svg:width="9cm" svg:height="2cm"'
    box = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
    return f'<draw:frame draw:style-name="{fill}" {place}>{box}</draw:frame>'


def table(cell: str, text: str) -> str:
    inside = f'<table:table-cell table:style-name="{cell}"><text:p>{text}</text:p></table:table-cell>'
    return f"<table:table><table:table-row>{inside}</table:table-row></table:table>"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (f"<text:p>{span('white', 'secret')}</text:p>", "white runs (1)"),
        (f"<text:p>{span('tiny', 'secret')}</text:p>", "runs too small to be seen (1)"),
        (f"<text:p>{span('faint', 'secret')}</text:p>", "runs without a colour (1)"),
        (f"<text:p>{span('same', 'secret')}</text:p>", "runs in the colour of their ground (1)"),
        (
            f"<text:p text:style-name='ground'>{span('navy', 'secret')}</text:p>",
            "runs in the colour of their ground (1)",
        ),
        (f"<text:p>{span('hidden', 'secret')}</text:p>", "hidden passages (1)"),
        (f"<text:p>{span('deep', 'secret')}</text:p>", "hidden passages (1)"),
        ("<text:p text:style-name='white'>secret</text:p>", "white runs (1)"),
        ("<text:h text:style-name='white'>secret</text:h>", "white runs (1)"),
        ("<text:p text:style-name='away'>secret</text:p>", "runs beyond the page (1)"),
        (f"<text:p>{span('white', 'secret ' + span('on', 'secret'))}</text:p>", "white runs (2)"),
        (table("", span("white", "secret")), "white runs (1)"),
        (
            "<text:section text:display='condition' text:is-hidden='true'><text:p>secret</text:p></text:section>",
            "hidden passages (1)",
        ),
        (f"<text:p>{frame(span('white', 'secret'))}</text:p>", "white runs (1)"),
    ],
)
def test_what_a_text_document_hides_is_left_out_and_counted(body: str, reason: str) -> None:
    """By a style or the one that it is based on, in white, tiny, clear, in the colour of what lies under it."""
    document = read(body)
    assert "secret" not in document.text
    assert document.text.startswith("The fee is due.")
    assert document.text.endswith("Complaints need no answer.")
    assert document.notes == (f"left out {reason}",)


@pytest.mark.parametrize(
    "body",
    [
        *(
            f"<text:p>{span(ink, 'seen')}</text:p>"
            for ink in ("on", "pale", "small", "navy", "shadow", "auto", "marked")
        ),
        f"<text:p text:style-name='ground'>{span('white', 'seen')}</text:p>",
        f"<text:p text:style-name='white'>{span('navy', 'seen')}</text:p>",
        f"<text:p>{span('white', 'x')} seen</text:p>",
        table("cell", span("white", "seen")),
        f"<text:p>{frame(span('white', 'seen'), 'dark')}</text:p>",
    ],
)
def test_what_a_text_document_shows_is_read(body: str) -> None:
    """In another colour, on a dark ground, with a shadow, in the colour that a program chooses."""
    assert "seen" in read(body).text


def test_white_text_of_a_box_of_which_nothing_is_said_is_read_and_told() -> None:
    """What fills it is not known."""
    document = read(f"<text:p>{frame(span('white', 'seen'), 'unsaid')}</text:p>")
    assert "seen" in document.text
    assert document.fidelity
    assert any("white text is read" in warning for warning in document.fidelity.warnings)


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([frame(span("white", "secret"))], "white runs (1)"),
        ([frame(span("navy", "secret"), "dark")], "runs in the colour of their ground (1)"),
        ([frame(span("tiny", "secret"))], "runs too small to be seen (1)"),
        ([frame("secret", left="-20cm")], "shapes beside the slide (1)"),
    ],
)
def test_what_a_slide_hides_is_left_out_and_counted(frames: list[str], reason: str) -> None:
    """White on a page without a ground, tiny, or wholly beside it."""
    document = slide(*frames)
    assert "secret" not in document.text
    assert "The fee is due." in document.text
    assert document.notes == (f"left out {reason}",)


@pytest.mark.parametrize(
    ("frames", "page"),
    [
        ([frame(span("white", "seen"), "dark")], ""),
        ([frame(span("white", "seen"))], "dark"),
        ([frame("", "dark"), frame(span("white", "seen"))], ""),
        ([frame("seen", left="-1cm")], ""),
        ([frame(span("white", "seen"), "unsaid")], ""),
    ],
)
def test_what_a_slide_shows_is_read(frames: list[str], page: str) -> None:
    """On a dark page or shape, over another shape, partly beside the page."""
    assert "seen" in slide(*frames, page=page).text
