"""How often general text has a word of English or a pair of Chinese characters: what tells a name from a word."""

from __future__ import annotations

from functools import lru_cache

from wenyuan.core.scoring.word_frequencies import latin_words, pairs
from wenyuan.core.text.analysis import search_terms


@lru_cache(maxsize=65_536)
def rarity(pair: str) -> float:
    """How rarely general text has a pair of characters: 0 often, 5 hardly, 6 never."""
    return pairs().get(pair, 60) / 10


@lru_cache(maxsize=16_384)
def commonness(word: str) -> float:
    """How often general English has a word: 0 never, 6.5 all the time."""
    terms = search_terms(word)
    tenth = latin_words().get(terms[0]) if terms else None
    return 0.0 if tenth is None else (65 - tenth) / 10
