"""The alignment of two texts stays within bounds whatever repeats."""

from __future__ import annotations

import pytest

from wenyuan.core.text.alignment import PAIRS, aligned
from wenyuan.core.tokens import tokens_of
from wenyuan.core.verification import compared_with


@pytest.mark.parametrize("words", ["a", "a b", "a b c d", "不 得 超 过"])
@pytest.mark.parametrize("times", [10, 100, 1_000, 4_000])
def test_equal_words_that_are_tried_are_bounded(words: str, times: int) -> None:
    """Of words that both repeat no more pairs are tried however often they do."""
    said = words.split() * times
    matcher = aligned(said, said)
    assert sum(len(matcher.b2j.get(word, ())) for word in said) <= PAIRS


def test_a_few_repeated_words_are_aligned_as_they_stand() -> None:
    """What people write is aligned word by word."""
    said, there = "the pump of the hall and the yard".split(), "the pump of the large hall and the yard".split()
    assert [tag for tag, *_ in aligned(said, there).get_opcodes()] == ["equal", "insert", "equal"]


def test_a_change_beside_repeated_words_is_found() -> None:
    """A number that differs within a long text of one word is still named."""
    claim, text = "open " * 300 + "for 5 days. ", "open " * 300 + "for 6 days. "
    found = compared_with(tokens_of(claim), text)
    assert found is not None
    assert found.kind == "number_changed"
