"""Which part of a name in Latin letters may stand for the whole: *Collins* of *Sarah Collins*, no word of daily speech."""

from __future__ import annotations

from functools import lru_cache

from wenyuan.core.redaction import listed_names
from wenyuan.core.redaction.commonness import commonness
from wenyuan.core.redaction.family_names import FAMILY, SURNAME_WORDS, WORLD
from wenyuan.core.redaction.given_names import AMBIGUOUS, GIVEN

_SHORTEST = 4  # letters
_LISTED_WORD, _ANOTHER_WORD = 3.0, 2.0  # of 6.5: the most common a name of public lists, and any other word, may be


@lru_cache(maxsize=4_096)
def parts_of(name: str) -> tuple[str, ...]:
    """Its first and its last word, in lower case, where they are no daily words; none of a name of one word.

    Args:
        name: In any case; words of Latin letters.
    """
    words = [word for word in name.split() if len(word.rstrip(".")) > 1]
    if len(words) < 2 or not all(
        word.replace("-", "").replace("'", "").replace("’", "").rstrip(".").isalpha() for word in words
    ):
        return ()
    return tuple(dict.fromkeys(word.casefold() for word in (words[0], words[-1]) if _may_stand_alone(word)))


def _may_stand_alone(word: str) -> bool:
    if len(word) < _SHORTEST:
        return False
    name = word[:1].upper() + word[1:].lower()
    if name in AMBIGUOUS or name in SURNAME_WORDS:
        return False
    if name in GIVEN or name in FAMILY or name in WORLD:
        return True
    listed = name in listed_names.given() or name in listed_names.family()
    return commonness(name) < (_LISTED_WORD if listed else _ANOTHER_WORD)
