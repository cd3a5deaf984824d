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
    """

    key: str
    uri: str
    content: str
    score: float
    title: str = ""
    headings: tuple[str, ...] = ()
    facets: Mapping[str, Facet] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"score {self.score!r} is not in 0..1")


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
