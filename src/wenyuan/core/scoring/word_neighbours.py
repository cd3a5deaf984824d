"""Which words of general English and Chinese say nearly the same: *fee* and *price*, 医生 and 医师.

People ask in other words than texts are written in. A word of a question that does not stand in a passage may stand there as a
neighbour, which counts in part. The neighbours are those of the built-in encoder, with which they were computed once, so that they
hold for every encoder, and for none.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from wenyuan.core.text.folding import has_han

LIST = "word_neighbours.npz"
"""Written by ``scripts/make_word_neighbours.py``."""

LEAST = 0.4
"""The nearness of two words from which they are neighbours, 0..1."""
_ALIKE, _MOST = 0.7, 0.8
"""The nearness from which a neighbour counts the most that it can, as a share of the word itself."""


class Neighbour(NamedTuple):
    """A word that says nearly the same as another one.

    Attributes:
        text: As it is compared: a Chinese word in Simplified characters, the stem of a Latin one.
        counts: As a share of what the other one would, above 0 and below 1.
    """

    text: str
    counts: float


@lru_cache(maxsize=4_096)
def neighbours(word: str) -> Sequence[Neighbour]:
    """The neighbours of a word, the nearest first; none of a word that general text hardly has.

    Args:
        word: As it is compared, see `Neighbour`.
    """
    words, begins, ends, levels = _tables()["han" if has_han(word) else "latin"]
    wanted = word.encode()
    place = int(np.searchsorted(words, wanted))
    if place == len(words) or words[place] != wanted:
        return ()
    own = slice(begins[place], begins[place + 1])
    return tuple(
        Neighbour(words[end].decode(), _MOST * min(1.0, (level / 100 - LEAST) / (_ALIKE - LEAST)))
        for end, level in zip(ends[own].tolist(), levels[own].tolist(), strict=True)
        if level > 100 * LEAST
    )


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, tuple[Any, Any, Any, Any]]:
    """By script: words as UTF-8 in the order of their bytes; where the neighbours of each begin, and of the one behind it; their
    places; and how near they are, in hundredths.
    """
    with (
        importlib.resources.files(__package__).joinpath(LIST).open("rb") as stream,
        np.load(stream, allow_pickle=False) as file,
    ):
        return {
            script: (
                file[script],
                np.concatenate(([0], np.cumsum(file[f"{script}_counts"], dtype=np.int64))),
                file[f"{script}_ends"],
                file[f"{script}_levels"],
            )
            for script in ("latin", "han")
        }
