"""The words of a text that say what it is about, by their stems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from wenyuan.core.text.analysis import placed_stems

GLUE = frozenset(
    "a an the of to in on at by for from with and or but if is are was were be been being it its this that these those they them "
    "their there who which what when where while than then as so do doe did done has have had will would shall should must may "
    "might can could need not no never onli ani each everi per into onto about up out over under within least most more less get "
    "got onc also later earlier befor after abov below exceed allow permit not n't".split()
) | frozenset(
    "的了在于和与及或由被把将对为是有其之并且也都就应当须必可以能不得未无没要会从至到等各该此这那每个者予内而"
)
"""Stems of words, and characters, that say nothing of it."""


def content_of(text: str) -> Iterator[str]:
    """The stems of a text that say something, in turn; of Chinese, characters."""
    return (stem for stem, _, _ in placed_stems(text)[1] if stem not in GLUE and any(map(str.isalpha, stem)))


def same_stem(one: str, other: str) -> bool:
    """Whether two stems are the same, or one begins with the other: weigh, weight."""
    return one == other or (min(len(one), len(other)) >= _HEAD and (one.startswith(other) or other.startswith(one)))


def share_of(said: Sequence[str], there: Sequence[str]) -> float:
    """Share of stems that others have, too; 1 of none."""
    exact, heads = set(there), _heads(tuple(there))
    held = sum(
        one in exact or (len(one) >= _HEAD and any(same_stem(one, other) for other in heads.get(one[:_HEAD], ())))
        for one in said
    )
    return held / len(said) if said else 1.0


_HEAD = 4  # letters with which two stems begin that are compared


@lru_cache(maxsize=1_024)
def _heads(stems: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for stem in dict.fromkeys(stems):
        if len(stem) >= _HEAD:
            found.setdefault(stem[:_HEAD], []).append(stem)
    return found
