"""What changed between two versions of a text, in pure functions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.text.differences import TextPart, changes, pieces_between

WORDS = st.text("ab 甲乙，", max_size=40)


@given(WORDS, WORDS)
def test_the_pieces_are_both_texts(before: str, after: str) -> None:
    """Without what came they are the old text, without what went the new one."""
    pieces = pieces_between(before, after)
    assert "".join(text for kind, text in pieces if kind != "in") == before
    assert "".join(text for kind, text in pieces if kind != "out") == after


@given(
    st.lists(st.builds(TextPart, st.sampled_from("abc"), WORDS), max_size=6),
    st.lists(st.builds(TextPart, st.sampled_from("abc"), WORDS), max_size=6),
)
def test_every_part_is_told_once(before: list[TextPart], after: list[TextPart]) -> None:
    """As many parts come and go as the versions differ in."""
    found = changes(before, after)
    added, removed = (sum(one.kind == kind for one in found) for kind in ("added", "removed"))
    assert len(before) + added - removed == len(after)


def test_words_are_marked_in_both_languages() -> None:
    """A character of Chinese, a word of English or a number."""
    assert [one for one in pieces_between("费用为 5 元", "费用为 12 元") if one.kind != "same"] == [
        ("out", "5"),
        ("in", "12"),
    ]
    assert [one for one in pieces_between("It may be paid", "It must be paid") if one.kind != "same"] == [
        ("out", "may"),
        ("in", "must"),
    ]


def test_a_part_that_moved_is_no_change() -> None:
    """The same text under another number stays what it is."""
    assert (
        changes(
            [TextPart("1", "a"), TextPart("2", "b")], [TextPart("1", "n"), TextPart("2", "a"), TextPart("3", "b")]
        )[0].kind
        == "added"
    )


def test_a_long_text_is_compared_in_bounded_time() -> None:
    """Of thousands of words that all differ the whole is told, and nothing is lost."""
    before, after = "甲乙" * 20_000, "乙丙" * 20_000
    assert "".join(text for kind, text in pieces_between(before, after) if kind != "out") == after
