"""Which words of one text stand for which of another, with work that is bounded whatever repeats in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

PAIRS = 8_000
"""Equal words of both that are tried with one another."""


def aligned(said: Sequence[str], there: Sequence[str]) -> SequenceMatcher[str]:
    """The alignment of two texts by their words.

    Words that both repeat most often count only beside others: of a word that each has a thousand times there are a million pairs, and
    the time grows with the third power of it.
    """
    own, other = Counter(said), Counter(there)
    pairs = {word: count * other[word] for word, count in own.items() if word in other}
    total, repeated = sum(pairs.values()), set[str]()
    for word in sorted(pairs, key=lambda one: -pairs[one]):
        if total <= PAIRS:
            break
        total -= pairs[word]
        repeated.add(word)
    return SequenceMatcher(repeated.__contains__ if repeated else None, said, there, autojunk=False)
