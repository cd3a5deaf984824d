"""Names that were meant to be one of a few and are spelled otherwise: a letter amiss, a plural, separators, case, full-width letters.

A name that is a word of its own ("filer", "min_truss") is no misspelling of its neighbour.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

MOST_CHARS = 200  # of a name that is looked at
_SHORT, _LONG = 4, 8  # letters: up to _SHORT only neighbours are exchanged, from _LONG on two letters may be amiss
_PART = re.compile(r"[A-Z]?[^\W_A-Z]+|[A-Z]+")
_WORDS = frozenset(
    """falter filer filler fitter remain romain charter chatter dearest historic rewritten rewriter process processed processor
    processors perimeter perimeters diameter story
    argent agency agents event events parent reagent regent urgent urgents ask mask tasks
    brush burst bust crest crust dust entrust erupt frost fruit grunt gust just lust must oust rest rust strut test thrust thus toast
    tract trait trash treat truce truck true trump trunk truss trustee trustees trustful trusty truth twist wrist
    main man mid mind mine mint mix
    resets resorts revolts adults insults""".split()
)
"""Words of their own, a letter or two beside a part of a name that restricts."""


def plain(name: str) -> str:
    """A name in lower case, Simplified characters and half-width letters, without separators."""
    folded = unicodedata.normalize("NFKC", name[:MOST_CHARS])
    if not folded.isascii():
        from wenyuan.core.text.folding import simplified  # its tables are large, and hardly any name needs them

        folded = unicodedata.normalize("NFKD", simplified(folded))
    folded = folded.casefold()
    return "".join(one for one in folded if one.isalnum())


def meant_by(name: str, known: Iterable[str], *, most: Mapping[str, int] | None = None) -> str | None:
    """Which of the known names this one is a misspelling of; None: of none, or it is that name.

    Args:
        known: Names as `plain` gives them.
        most: How many letters may be amiss at most, by known name; by its length where it is not in here.
    """
    short = plain(name)
    near = []
    for one in known:
        allowed = min(_allowed(one), (most or {}).get(one, 2))
        amiss = distance(short, one, allowed)
        if 0 < amiss <= allowed and (
            len(one) > _SHORT or not one.isascii() or sorted(set(short)) == sorted(set(one))
        ):
            near.append((amiss, one))
    if not near or _own_word(name, short):
        return None
    return min(near)[1]


def _own_word(name: str, short: str) -> bool:
    return short in _WORDS or any(part.casefold() in _WORDS for part in _PART.findall(name[:MOST_CHARS]))


def _allowed(known: str) -> int:
    """How many letters may be amiss in a name of this length; Chinese characters say more than letters."""
    if not known.isascii():
        return 1 if len(known) >= _SHORT else 0
    return 1 if len(known) < _LONG else 2


def distance(one: str, other: str, most: int) -> int:
    """How many letters are too many, missing, others or at their neighbour's place; more than `most` is `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, sought in enumerate(other, 1):
            least = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != sought))
            exchanged = row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == sought
            line.append(min(least, before[column - 2] + 1) if exchanged else least)
        before, last = last, line
    return min(last[-1], most + 1)
