"""Words of a question that are spelled wrongly ("printign", "resreved") are looked for as what was meant.

A word is taken for another one only where neither general English nor the library has it, and the library has that other one, which is
general English and one letter away: one too many, missing, another or at its neighbour's place. By itself such a word would find nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_lowercase

from wenyuan.core.scoring.word_frequencies import latin_words
from wenyuan.core.text.analysis import PAIR, stemmed

_LEAST, _MOST = 4, 24  # letters of a word
_MOST_WORDS = 8  # of a question
_NO_WORD = "\ue000"  # a term that no passage holds: the information of one


def respelled(words: Sequence[str], information: Callable[[Sequence[str]], Mapping[str, float]]) -> Mapping[str, str]:
    """What stands for terms of a question that are spelled wrongly, by term; pairs of words have theirs, too.

    Args:
        words: The question's terms; see `core.text.analysis.search_terms`.
        information: Inverse document frequency by term, in the library.
    """
    known = latin_words()
    odd = [w for w in words if _LEAST <= len(w) <= _MOST and w.isascii() and w.isalpha() and w not in known]
    meant = {word: _neighbours(word) for word in odd[:_MOST_WORDS]}
    meant = {word: near for word, near in meant.items() if near}
    if not meant:
        return {}
    asked = sorted({*meant, *(one for near in meant.values() for one in near)})
    told = information([*asked, _NO_WORD])
    held = {word for word in asked if told.get(word, told[_NO_WORD]) < told[_NO_WORD]}
    found = {
        word: next(one for one in near if one in held)
        for word, near in meant.items()
        if word not in held and not held.isdisjoint(near)
    }
    pairs = (word for word in words if PAIR in word and not found.keys().isdisjoint(word.split(PAIR)))
    return {**found, **{pair: PAIR.join(found.get(word, word) for word in pair.split(PAIR)) for pair in pairs}}


def _neighbours(word: str) -> list[str]:
    """General words one letter away, those with the same first letter and the more frequent ones first."""
    known = latin_words()
    near = _edits(word)
    found = {one for one in near.union(stemmed(sorted(near))) if len(one) >= _LEAST and one in known} - {word}
    return sorted(found, key=lambda one: (one[0] != word[0], known[one], one))


def _edits(word: str) -> set[str]:
    """All that is one letter away."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    return {
        *(left + right[1:] for left, right in cuts if right),
        *(left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1),
        *(left + letter + right[1:] for left, right in cuts if right for letter in ascii_lowercase),
        *(left + letter + right for left, right in cuts for letter in ascii_lowercase),
    } - {word}
