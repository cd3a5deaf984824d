"""How much a word says by itself: little where general text is full of it ("how", 怎么), much where it is rare.

A library of twenty files cannot tell this by its own counts: in it a word of daily speech may be as rare as a part's name.
The figures are those of general English words and of pairs of Chinese characters; NOTICE names where they come from.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np

from wenyuan.core.text.analysis import PAIR, search_terms
from wenyuan.core.text.folding import has_han

FILE = "word_frequencies.npz"
"""Written by ``scripts/make_word_frequencies.py``."""

LEAST = 7.5
"""The negative logarithm of a share of all words (e^−7.5: one word in 1,800): what is more frequent says nothing."""
RARE_LATIN, RARE_HAN = 6.5, 5.0
"""What a word, or a pair of Chinese characters, says that general text hardly has, above `LEAST`."""

_MARKED = ("#", "@")  # identifiers have terms of their own, beside their words


def terms_of(text: str) -> list[str]:
    """Its words as stems and its pairs of Chinese characters, in order, without pairs of words and marked identifiers."""
    return _plain(search_terms(text))


def _plain(terms: Iterable[str]) -> list[str]:
    return [term for term in terms if PAIR not in term and not term.startswith(_MARKED)]


def weights(terms: Iterable[str]) -> Mapping[str, float]:
    """What each of a text's search terms says, 0 to `RARE_LATIN`; pairs of words and marked identifiers are left out."""
    terms = list(dict.fromkeys(_plain(terms)))
    names, tenths = _figures()
    wanted = np.array([term.encode() for term in terms] or [b""])
    places = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    known = names[places] == wanted
    return {
        term: float(tenths[place]) / 10 if is_known else RARE_HAN if has_han(term) else RARE_LATIN
        for term, place, is_known in zip(terms, places.tolist(), known.tolist(), strict=False)
    }


@lru_cache(maxsize=1)
def latin_words() -> Mapping[str, int]:
    """The words of general English as stems, and what each says in tenths."""
    names, tenths = _figures()
    return {
        name.decode(): tenth for name, tenth in zip(names.tolist(), tenths.tolist(), strict=True) if name.isalpha()
    }


@lru_cache(maxsize=1)
def pairs() -> Mapping[str, int]:
    """The pairs of Chinese characters of general text, and what each says in tenths."""
    names, tenths = _figures()
    told = zip((name.decode() for name in names.tolist()), tenths.tolist(), strict=True)
    return {name: tenth for name, tenth in told if has_han(name)}


@lru_cache(maxsize=1)
def _figures() -> tuple[np.ndarray, np.ndarray]:
    """Terms as UTF-8 in the order of their bytes, and what each says in tenths."""
    with (
        importlib.resources.files(__package__).joinpath(FILE).open("rb") as stream,
        np.load(stream, allow_pickle=False) as file,
    ):
        return file["terms"], file["tenths"]
