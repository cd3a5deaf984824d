"""Struck text in PDF: a line through the middle of letters is marked; underlines, rules of tables and bars are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pdf_files import grid, make_pdf, rules
from wenyuan.core.model import Document
from wenyuan.readers.pdf.reader import read_pdf

PRINTED = Path(__file__).parents[2] / "data"


def read(content: bytes) -> Document:
    (document,) = read_pdf(content, uri="file:///a.pdf", name="a.pdf")
    return document


@pytest.mark.parametrize("name", ["struck_browser.pdf", "struck_writer.pdf"])
def test_as_browsers_and_word_processors_print_it(name: str) -> None:
    """A price, a cell, a number of one digit and a whole sentence are struck; what is underlined is not; a cell stays one."""
    text = read((PRINTED / name).read_bytes()).text
    for said in ("~~100 EUR~~ 80 EUR per year", "payable at once", "Pen | ~~3.00~~ 2.50", "x ~~5~~ 6"):
        assert said in text
    assert "~~This whole sentence is no longer in force.~~" in text
    assert text.count("Pen |") == 1
    assert "~~payable" not in text


def test_chinese_is_struck_as_a_browser_prints_it() -> None:
    """The deleted amount is marked, the new one is not, nor what is underlined."""
    assert "定金为~~三百元~~二百元，不予退还。" in read((PRINTED / "struck_browser.pdf").read_bytes()).text


WORDS = "The fee is 100 EUR a year."
LEFT, BASE, SIZE = 60, 700, 12


def _with(*strokes: tuple[float, float, float, float]) -> str:
    return read(
        make_pdf(
            [[(LEFT, BASE, WORDS, SIZE), (LEFT, 600, "The last line of the page.", SIZE)]], drawn=[rules(*strokes)]
        )
    ).text


@pytest.mark.parametrize(
    "stroke",
    [
        (110, BASE - 2, 160, BASE - 2),  # an underline
        (110, BASE + 12, 160, BASE + 12),  # a line above
        (20, BASE + 4, 500, BASE + 4),  # a rule of the page
        (210, BASE + 4, 300, BASE + 4),  # one behind the words
    ],
)
def test_other_lines_strike_nothing(stroke: tuple[float, float, float, float]) -> None:
    """Lines below, above and beside letters, and rules that go on, leave the text as it is."""
    assert WORDS in _with(stroke)


def test_a_line_through_letters_strikes_them() -> None:
    """What it covers, and no more."""
    struck = _with((LEFT, BASE + 4, 115, BASE + 4))
    assert struck.startswith("~~The fee is~~") or "~~The fee" in struck
    assert "EUR a year." in struck


def test_rules_of_a_table_strike_nothing() -> None:
    """A grid around cells, however near its lines are."""
    cells = [(62.0, 706.0 - 14 * row, text, 10.0) for row, text in enumerate(("Pen", "Ink", "Cap"))]
    cells += [(122.0, 706.0 - 14 * row, text, 10.0) for row, text in enumerate(("2.50", "3.10", "0.40"))]
    text = read(make_pdf([cells], drawn=[grid([60.0, 120.0, 180.0], [675.0, 689.0, 703.0, 717.0])])).text
    assert "~~" not in text
    assert "Ink | 3.10" in text
