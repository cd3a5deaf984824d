"""Hits, rankings and what a leg answers. A `Ranking` cannot be wrong in form: it refuses to exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["Hit", "LegResult", "Ranking"]


class Hit(NamedTuple):
    """A passage with its score; a tuple, since a question makes hundreds.

    Attributes:
        score: 0..1, absolute: it does not depend on the other hits.
        parts: The scores it is made of, by name (``keyword``, ``vector``, ``cosine``, ``context`` …).
    """

    passage_id: int
    score: float
    origin: str = "vector"
    parts: Mapping[str, float] = MappingProxyType({})


class Ranking(Sequence[Hit]):
    """Hits, best first.

    Raises:
        ValueError: a score outside 0..1 or NaN, a score that rises, a passage twice.
    """

    __slots__ = ("_hits",)

    def __init__(self, hits: Sequence[Hit] = ()) -> None:
        seen: set[int] = set()
        last = 1.0
        for rank, hit in enumerate(hits, start=1):
            if not 0.0 <= hit.score <= 1.0:  # false for NaN too
                raise ValueError(f"score {hit.score!r} at rank {rank} is not in 0..1")
            if hit.score > last:
                raise ValueError(f"score rises at rank {rank}: {last} → {hit.score}")
            if hit.passage_id in seen:
                raise ValueError(f"passage {hit.passage_id} stands twice in the ranking")
            seen.add(hit.passage_id)
            last = hit.score
        self._hits = tuple(hits)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._hits[index]

    def __len__(self) -> int:
        return len(self._hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self._hits)

    def __repr__(self) -> str:
        return f"Ranking({list(self._hits)!r})"


@dataclass(frozen=True, slots=True)
class LegResult:
    """What one leg answered. Made by `ok` alone, so that "nothing found" is always said on purpose."""

    hits: Ranking
    _made_by_ok: bool = False

    def __post_init__(self) -> None:
        if not self._made_by_ok:
            raise TypeError("use LegResult.ok(hits); a leg that failed raises instead")

    @classmethod
    def ok(cls, hits: Sequence[Hit]) -> LegResult:
        return cls(Ranking(hits), _made_by_ok=True)
