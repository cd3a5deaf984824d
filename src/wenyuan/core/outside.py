"""Sources that are searched where they are: somebody else's service, somebody else's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from wenyuan.core.model import Facet
from wenyuan.core.ports import Deadline

__all__ = ["Outside", "OutsideHit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideHit:
    """A passage of a source that is not ours, with its score.

    Attributes:
        uri: Where it can be found; `key` names it within its source and is the same at every call.
        score: 0..1, as the source itself gives it.
        effective_from, effective_until: The first and the last day on which it counts, as far as its source says.
        dated: False where the source says a day that is none: then nobody knows whether it counts.
    """

    key: str
    uri: str
    content: str
    score: float
    title: str = ""
    headings: tuple[str, ...] = ()
    facets: Mapping[str, Facet] = field(default_factory=dict)
    effective_from: date | None = None
    effective_until: date | None = None
    dated: bool = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"score {self.score!r} is not in 0..1")

    def in_force_on(self, day: date) -> bool:
        """Whether it counts on a day; what has no day that can be read does not."""
        return self.dated and (self.effective_from or date.min) <= day <= (self.effective_until or date.max)


class Outside(Protocol):
    """One source that is searched in place, read only.

    Raises, from `ask`:
        EngineTimeout, EngineUnavailable: it did not answer, refused, or answered FAILED or nonsense; never an
            empty result instead.
    """

    source_id: str
    needs_vector: bool

    def ask(self, query: str, *, vector: Any, limit: int, as_of: date, deadline: Deadline) -> Sequence[OutsideHit]:
        """The best passages for a query, best first; ``vector`` is its (dim,) embedding where `needs_vector`."""
        ...

    def close(self) -> None: ...
