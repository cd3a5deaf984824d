"""Text of RTF files that the page does not show is left out and counted; what it shows is never lost."""

from __future__ import annotations

import pytest

from wenyuan.core.model import Document
from wenyuan.readers.rtf import read_rtf

HEAD = (
    r"{\rtf1\ansi\deff0{\fonttbl{\f0 Arial;}}{\colortbl;\red255\green255\blue255;\red0\green0\blue0;\red0\green0\blue128;"
    r"\red238\green238\blue238;}"
)


def read(part: str) -> Document:
    text = rf"{HEAD}\pard The fee is due.\par {part}\par\pard\plain Complaints need no answer.\par}}"
    (document,) = read_rtf(text.encode(), uri="file:///a.rtf", name="a.rtf")
    return document


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (r"\pard{\cf1 secret}", "white runs (1)"),
        (r"\pard\cf1 secret \b again", "white runs (1)"),
        (r"\pard{\v secret}", "hidden passages (1)"),
        (r"\pard{\fs2 secret}", "runs too small to be seen (1)"),
        (r"\pard{\fs1 secret}", "runs too small to be seen (1)"),
        (r"\pard{\cf3\highlight3 secret}", "runs in the colour of their ground (1)"),
        (r"\pard\cbpat3{\cf3 secret}", "runs in the colour of their ground (1)"),
        (r"\pard{\cf1\highlight1 secret}", "white runs (1)"),
        (r"\trowd\cellx5000\pard\intbl{\cf1 secret}\cell\row\pard", "white runs (1)"),
        (r"\pard{\cf1 \u31192?\u23494? secret}", "white runs (2)"),
    ],
)
def test_what_an_rtf_file_hides_is_left_out_and_counted(part: str, reason: str) -> None:
    """By a property, in white, tiny, in the colour of its highlight or shading."""
    document = read(part)
    assert "secret" not in document.text
    assert "密" not in document.text
    assert document.text.startswith("The fee is due.")
    assert document.text.endswith("Complaints need no answer.")
    assert document.notes == (f"left out {reason}",)


@pytest.mark.parametrize(
    "part",
    [
        r"\pard{\v0 seen}",
        r"\pard{\cf4 seen}",
        r"\pard{\cf0 seen}",
        r"\pard{\cf99 seen}",
        r"\pard{\fs16 seen}",
        r"\pard{\cf1 \cf2 seen}",
        r"\pard{\cf1{\cf0 seen}}",
        r"\pard{\cf1 \plain seen}",
        r"\pard{\cf1\highlight3 seen}",
        r"\pard{\cf1\chcbpat3 seen}",
        r"\pard\cbpat3{\cf1 seen}",
        r"\pard{\cf1\shad seen}",
        r"\trowd\clcbpat3\cellx5000\pard\intbl{\cf1 seen}\cell\row\pard",
    ],
)
def test_what_an_rtf_file_shows_is_read(part: str) -> None:
    """On a dark ground, with a shadow, in another colour again."""
    assert "seen" in read(part).text


def test_white_text_in_a_box_is_read_and_said() -> None:
    """What fills the box is not looked at."""
    box = r"{\shp{\*\shpinst{\sp{\sn fillColor}{\sv 8388608}}{\shptxt\pard\cf1 seen\par}}}\pard"
    document = read(box)
    assert "seen" in document.text
    assert document.fidelity
    assert any("white text is read" in warning for warning in document.fidelity.warnings)
