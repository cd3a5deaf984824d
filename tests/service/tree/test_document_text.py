"""Lines of a text that was cut into passages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wenyuan.catalog.readings import PlacedPassage
from wenyuan.service.tree.document_text import GivenPassage, sections, text_lines


def passage(number: int, start: int, text: str, headings: tuple[str, ...] = ()) -> GivenPassage:
    placed = PlacedPassage(
        number, "s", "u", headings, text, start, start + len(text), None, None, None, None, None, None
    )
    return GivenPassage(placed, text)


@given(st.lists(st.text("ab\n", max_size=6), min_size=1, max_size=5), st.data())
def test_lines_are_those_of_the_whole_text(texts: list[str], data: st.DataObject) -> None:
    """Wherever it is cut: within a line, at its end, or at a blank line."""
    parts, whole = [], ""
    for number, text in enumerate(texts, 1):
        between = data.draw(st.sampled_from(["", "\n", "\n\n"])) if number > 1 else ""
        whole += between
        parts.append(passage(number, len(whole), text))
        whole += text
    lines = list(text_lines(parts))
    assert [one.text for one in lines] == whole.split("\n")
    assert [one.number for one in lines] == list(range(1, len(lines) + 1))


def test_sections_begin_where_headings_change() -> None:
    """A heading that several passages share is one section; what goes on above it begins none."""
    parts = [
        passage(1, 0, "top"),
        passage(2, 5, "one", ("A",)),
        passage(3, 10, "two", ("A",)),
        passage(4, 15, "three", ("A", "B")),
        passage(5, 22, "four", ("C", "B")),
    ]
    assert list(sections(text_lines(parts))) == [(3, 1, "A"), (7, 2, "B"), (9, 1, "C"), (9, 2, "B")]
