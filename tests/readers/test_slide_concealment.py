"""Text of slides that nobody sees is left out and counted; what is seen is never lost."""

from __future__ import annotations

import pytest

from package_files import presentation, slide
from wenyuan.core.model import Document
from wenyuan.readers.slides import read_pptx

SEEN = "Complaints are answered within 24 hours."
OTHER = "Complaints need no answer at all."
WHITE = '<a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill>'
BLUE = '<a:solidFill><a:srgbClr val="1F3864"/></a:solidFill>'
SIZE = '<p:sldSz cx="9144000" cy="6858000"/>'


def placed(x: int, y: int, text: str = OTHER, *, run: str = "<a:rPr/>", fill: str = "", turn: int = 0) -> str:
    """A text box of 2,000,000 by 500,000 units."""
    return (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:nvPr/></p:nvSpPr>'
        f'<p:spPr><a:xfrm rot="{turn}"><a:off x="{x}" y="{y}"/><a:ext cx="2000000" cy="500000"/></a:xfrm>{fill}</p:spPr>'
        f"<p:txBody><a:bodyPr/><a:p><a:r>{run}<a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def group(inside: str, x: int) -> str:
    """A group at `x`, in whose inside one unit is two."""
    place = f'<a:off x="{x}" y="0"/><a:ext cx="4000000" cy="1000000"/><a:chOff x="0" y="0"/><a:chExt cx="2000000" cy="500000"/>'
    return f"<p:grpSp><p:nvGrpSpPr/><p:grpSpPr><a:xfrm>{place}</a:xfrm></p:grpSpPr>{inside}</p:grpSp>"


def read(*shapes: str) -> Document:
    content = presentation(slide(placed(0, 0, SEEN), *shapes), size=SIZE)
    (document,) = read_pptx(content, uri="file:///a.pptx", name="a.pptx")
    return document


@pytest.mark.parametrize(
    ("shape", "note"),
    [
        (placed(-3_000_000, 0), "shapes beside the slide"),
        (placed(9_200_000, 0), "shapes beside the slide"),
        (placed(0, -600_000), "shapes beside the slide"),
        (placed(0, 7_000_000), "shapes beside the slide"),
        (group(placed(0, 0), -5_000_000), "shapes beside the slide"),
        (placed(0, 0, run='<a:rPr sz="100"/>'), "runs too small to be seen"),
        (placed(0, 0, run="<a:rPr><a:noFill/></a:rPr>"), "runs without a colour"),
        (
            placed(
                0,
                0,
                run='<a:rPr><a:solidFill><a:srgbClr val="000000"><a:alpha val="0"/></a:srgbClr></a:solidFill></a:rPr>',
            ),
            "runs without a colour",
        ),
        (placed(0, 0, run=f"<a:rPr>{WHITE}</a:rPr>"), "white runs"),
    ],
)
def test_what_nobody_sees_is_left_out_and_counted(shape: str, note: str) -> None:
    """Beside the slide on each side, in a group, tiny, without a colour, white on a white slide."""
    document = read(shape)
    assert SEEN in document.text
    assert OTHER not in document.text
    assert document.notes == (f"left out {note} (1)",)


@pytest.mark.parametrize(
    "shape",
    [
        placed(0, 0),
        placed(-1_000_000, 0),
        placed(-2_100_000, 0, turn=2_700_000),
        group(placed(0, 0), -3_000_000),
        placed(0, 0, run='<a:rPr sz="400"/>'),
        placed(0, 0, run=f"<a:rPr>{WHITE}</a:rPr>", fill=BLUE),
        placed(0, 0, run=f"<a:rPr>{BLUE}</a:rPr>", fill=WHITE),
        placed(0, 0, run=f"<a:rPr><a:ln>{BLUE}</a:ln><a:noFill/></a:rPr>"),
    ],
)
def test_what_is_seen_is_read(shape: str) -> None:
    """Over an edge, turned, small, white on blue, as outlines."""
    document = read(shape)
    assert SEEN in document.text
    assert OTHER in document.text
    assert document.notes == ()


def test_what_moves_onto_the_slide_is_read() -> None:
    """A shape that waits beside the slide for its path is seen when it is shown."""
    moves = slide(placed(0, 0, SEEN), placed(-3_000_000, 0)).replace(
        "</p:cSld>", '</p:cSld><p:timing><p:animMotion path="M 0 0 L 1 0"/></p:timing>'
    )
    (document,) = read_pptx(presentation(moves, size=SIZE), uri="file:///a.pptx", name="a.pptx")
    assert OTHER in document.text


def test_white_text_over_a_picture_is_read_and_said() -> None:
    """What a picture shows at its place is not known."""
    document = read("<p:pic><p:nvPicPr/></p:pic>", placed(0, 0, run=f"<a:rPr>{WHITE}</a:rPr>"))
    assert OTHER in document.text
    assert document.fidelity is not None
    assert document.fidelity.warnings == ("white text is read, since what lies under it is not known (1 passages)",)
