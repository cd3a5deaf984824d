"""Words that say nearly the same."""

from __future__ import annotations

import pytest

from wenyuan.core.scoring.content_words import share_in
from wenyuan.core.scoring.word_neighbours import neighbours
from wenyuan.core.text.analysis import stemmed
from wenyuan.core.text.folding import fold


@pytest.mark.parametrize(
    ("word", "near"),
    [("price", "cost"), ("holiday", "vacation"), ("doctor", "physician"), ("colour", "color"), ("医生", "医师"), ("价格", "费用"), ("请假", "休假")],
)  # fmt: skip
def test_words_that_say_the_same_are_neighbours(word: str, near: str) -> None:
    """In both languages; each counts for a part of the other."""
    asked, other = (text if not text.isascii() else stemmed([text])[0] for text in (word, near))
    counts = {one.text: one.counts for one in neighbours(asked)}
    assert 0.0 < counts[other] < 1.0


@pytest.mark.parametrize("word", ["price", "holiday", "食堂", "医生"])
def test_the_nearest_neighbour_comes_first(word: str) -> None:
    """Each is looked for in turn; a word is none of its own."""
    (key,) = stemmed([word]) if word.isascii() else [word]
    found = neighbours(key)
    assert [one.counts for one in found] == sorted((one.counts for one in found), reverse=True)
    assert key not in {one.text for one in found}


@pytest.mark.parametrize("word", ["zq2x139k", "㐀", ""])
def test_a_word_that_general_text_lacks_has_none(word: str) -> None:
    """Nothing is guessed."""
    assert neighbours(word) == ()


def test_neighbours_are_looked_for_as_words_are() -> None:
    """A stem of the list is found in its other forms."""
    (stem,) = stemmed(["price"])
    assert any(share_in(near.text, fold("What it costs.")) == 1.0 for near in neighbours(stem))
