"""How frequent the words of general English and Chinese are: a small library cannot tell this by its own counts.

In twenty files a word of daily speech may be as rare as a part's name. The figures are those of English words as stems, and of
Chinese words of up to `LONGEST` characters with their kind; NOTICE names where they come from.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

FILE = "general_words.npz"
"""Written by ``scripts/make_general_words.py``."""

LONGEST = 4
"""Characters of a Chinese word."""
FORM, OTHER, THING = 0, 1, 2
"""Kinds of Chinese words: those that only join others; verbs and adjectives; and nouns, names, places and set phrases."""


class Figure(NamedTuple):
    """What is known of a word of general text.

    Attributes:
        cost: The negative logarithm of its share of all words.
        kind: `FORM`, `OTHER` or `THING`; of an English word `THING`, since nothing else is known.
    """

    cost: float
    kind: int


def latin_figures(stems: Iterable[str]) -> Mapping[str, Figure]:
    """The figures of English stems, of those that general text has."""
    names, tenths, _ = _tables()["latin"]
    return {stem: Figure(float(tenths[at]) / 10, THING) for stem, at in _places(stems, names)}


def chinese_figures(words: Iterable[str]) -> Mapping[str, Figure]:
    """The figures of Chinese words in Simplified characters, of those that general text has."""
    names, tenths, kinds = _tables()["han"]
    return {word: Figure(float(tenths[at]) / 10, int(kinds[at])) for word, at in _places(words, names)}


def _places(words: Iterable[str], names: Any) -> list[tuple[str, int]]:
    """The known ones of some words, and the place of each in the table."""
    asked = list(dict.fromkeys(words))
    if not asked:
        return []
    wanted = np.array([word.encode() for word in asked])
    places = np.minimum(np.searchsorted(names, wanted), len(names) - 1)
    known = names[places] == wanted
    return [(word, at) for word, at, there in zip(asked, places.tolist(), known.tolist(), strict=True) if there]


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, tuple[Any, Any, Any]]:
    """By script: words as UTF-8 in the order of their bytes, the cost of each in tenths, and its kind."""
    with (
        importlib.resources.files(__package__).joinpath(FILE).open("rb") as stream,
        np.load(stream, allow_pickle=False) as file,
    ):
        return {
            "latin": (file["latin"], file["latin_tenths"], None),
            "han": (file["han"], file["han_tenths"], file["han_kinds"]),
        }
