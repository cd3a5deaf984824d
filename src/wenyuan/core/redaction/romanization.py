"""How a Chinese name is spelt in Latin letters: 李明 is *Li Ming*, 吕燕 *Lü Yan*, *Lv Yan*, *Lyu Yan*."""

from __future__ import annotations

import importlib.resources
from collections import defaultdict
from functools import lru_cache
from itertools import product

from wenyuan.core.redaction.names import surname_length

FILE = "pinyin.txt"
"""Written by ``scripts/make_pinyin.py``: a syllable and the characters that are read so, ü as v."""

_UMLAUTS = ("v", "u", "yu", "ü")  # lv, lu, lyu, lü
_MOST = 16  # spellings of one name


def spellings(name: str) -> list[tuple[str, ...]]:
    """The syllables of a name in Latin letters, the surname as one word first, in each reading; none where a character is unknown.

    Args:
        name: In simplified characters, without spaces.
    """
    surname = surname_length(name)
    if not 0 < surname < len(name) <= surname + 2:
        return []
    readings = [_readings(character) for character in name]
    if not all(readings):
        return []
    spelt = (("".join(one[:surname]), *one[surname:]) for one in product(*readings))
    return list(dict.fromkeys(spelt))[:_MOST]


@lru_cache(maxsize=4_096)
def _readings(character: str) -> tuple[str, ...]:
    plain = _table().get(character, ())
    forms = (syllable.replace("v", form) if "v" in syllable else syllable for syllable in plain for form in _UMLAUTS)
    return tuple(dict.fromkeys(forms))


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, ...]]:
    text = importlib.resources.files(__package__).joinpath(FILE).read_text("utf-8")
    readings: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        syllable, _, characters = line.partition(" ")
        for character in characters:
            readings[character].append(syllable)
    return {character: tuple(each) for character, each in readings.items()}
