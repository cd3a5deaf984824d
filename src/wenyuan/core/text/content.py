"""The words of a text that say what it is about, by their stems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wenyuan.core.text import placed_stems

GLUE = frozenset(
    "a an the of to in on at by for from with and or but if is are was were be been being it its this that these those they them "
    "their there who which what when where while than then as so do doe did done has have had will would shall should must may "
    "might can could need not no never onli ani each everi per into onto about up out over under within least most more less get "
    "got onc also later earlier befor after not n't".split()
) | frozenset(
    "的了在于和与及或由被把将对为是有其之并且也都就应当须必可以能不得未无没要会从至到等各该此这那每个者予内"
)
"""Stems of words, and characters, that say nothing of it."""


def content_of(text: str) -> Iterator[str]:
    """The stems of a text that say something, in turn; of Chinese, characters."""
    return (stem for stem, _, _ in placed_stems(text)[1] if stem not in GLUE and any(map(str.isalpha, stem)))


def alike(one: str, other: str) -> bool:
    """Whether two stems are the same, or one begins with the other: weigh, weight."""
    return one == other or (min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one)))


def share_of(said: Sequence[str], there: Sequence[str]) -> float:
    """Share of stems that others have, too; 1 of none."""
    return sum(any(alike(one, other) for other in there) for one in said) / len(said) if said else 1.0
