"""The sockets between rooms. One exists only where two real implementations do.

Every engine call takes a `Scope` and a `Deadline`. A failure is an exception from `core.errors`; an empty
answer is ``LegResult.ok(())`` and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from wenyuan.core.errors import EngineTimeout
from wenyuan.core.filters import Scope
from wenyuan.core.model import Document, EncoderFingerprint, Facet, IndexRow

# Hits, rankings and what a leg answers. A `Ranking` cannot be wrong in form: it refuses to exist.


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


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock, with that clock: core itself reads none.

    Attributes:
        at: Seconds on `clock` after which work must have stopped.
    """

    at: float
    clock: Callable[[], float]

    def remaining(self) -> float:
        """Seconds left, 0 when passed."""
        return max(0.0, self.at - self.clock())

    def within(self, seconds: float) -> Deadline:
        """This moment, or the one that many seconds from now if that is earlier."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock)

    def unless(self, gone: Callable[[], bool]) -> Deadline:
        """This moment, which is past as soon as nobody waits for the work any more."""
        return Deadline(self.at, lambda: math.inf if gone() else self.clock())

    def check(self, component: str) -> None:
        """Raise `EngineTimeout` when the moment has passed."""
        if self.clock() > self.at:
            raise EngineTimeout("the deadline passed", component=component)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSpec:
    """What an index is built with. Two that differ are two generations, never mixed."""

    analyzer: str
    encoder: EncoderFingerprint | None

    @property
    def key(self) -> str:
        return f"{self.analyzer}/{self.encoder.key if self.encoder else 'keyword-only'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus:
    """What an engine holds: counts of live passages and vectors, and the last change it has seen."""

    name: str
    watermark: int
    passages: int
    vectors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of the catalog: `row` was added at `seq`, or `passage_id` was removed at `seq` (row is None)."""

    seq: int
    passage_id: int
    row: IndexRow | None


class ChangeFeed(Protocol):
    """The catalog's ordered changes, as engines read them."""

    def seq(self) -> int:
        """Number of the last committed change (0 for an empty catalog)."""
        ...

    def changes(self, after: int, upto: int, *, vectors: bool = True) -> Iterator[Change]:
        """Changes with ``after < seq <= upto``: removals first, then additions that are still live at `upto`."""
        ...

    def stamp(self, seq: int) -> str:
        """What tells change `seq` from one of that number in another catalog, e.g. one restored from a backup."""
        ...

    def lag(self, watermark: int) -> float:
        """Seconds since the oldest change after `watermark` that added or removed passages; 0 when there is none."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Stores rows and ranks them. Scores are absolute, 0..1 (see `core.scoring`).

    Attributes:
        works_here: Whether it computes in this process, instead of waiting for another one: then no more requests are
            worked on at once than there are cores. An encoder may say so, too.
    """

    name: str
    works_here: bool

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        """Best rows by BM25 share of the query's information; parts: ``keyword``."""
        ...

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        """Best rows by cosine to ``vector`` ((dim,) float32 unit); parts: ``vector`` and raw ``cosine``."""
        ...

    def checkpoint(self, *, always: bool = False) -> None:
        """After a change: write what makes the next start quick, where that pays, or in any case."""
        ...

    def purge(self, feed: ChangeFeed) -> None:
        """What was removed leaves the engine's files, too, not only its answers."""
        ...

    def mean_cosine(self, vector: Any) -> float:
        """The mean cosine of indexed vectors to ``vector``: what a passage must stand out from; 0 for none."""
        ...

    def keyword_scores(
        self, terms: Sequence[str], passage_ids: Sequence[int], *, deadline: Deadline
    ) -> Mapping[int, float]:
        """The keyword score of given rows; a row without any of the terms is absent (its score is 0)."""
        ...

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        """The raw cosine of given rows; a row without a vector is absent."""
        ...

    def information(self, terms: Sequence[str]) -> Mapping[str, float]:
        """Inverse document frequency of each distinct term: what `explain` shows."""
        ...

    def removed_share(self) -> float:
        """The share of removed rows, 0..1, among those in which the index still counts how rare words are.

        An index in files counts them until it merges its files, which is no change of the catalog; others have none.
        """
        ...

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        """Bring the index up to the catalog; returns the watermark it now answers at.

        Raises:
            EngineError: it cannot; a shorter answer is never given instead.
        """
        ...

    def status(self) -> EngineStatus: ...

    def close(self) -> None: ...


@runtime_checkable
class Encoder(Protocol):
    """Text → unit vectors, ``(n, dimension)`` float32, checked (finite, not zero) before they leave."""

    fingerprint: EncoderFingerprint

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any: ...

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        """Vectors of passages, in the order given; ``progress(n)`` is told how many more are done."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Reranker(Protocol):
    """Reads the query and a text together, and says how well the text answers it.

    Attributes:
        fingerprint: One string that differs whenever scores would.
    """

    fingerprint: str

    def rerank(self, query: str, texts: Sequence[str], *, deadline: Deadline) -> Sequence[float]:
        """The probability (0..1, checked) that a text answers the query, by text, in their order.

        Raises:
            RerankerError: it cannot; never fewer scores, and never such as say nothing.
        """
        ...

    def close(self) -> None: ...


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply(Generic[T]):
    """What a language model answered.

    Attributes:
        value: What it wrote, as it was read.
        text: What it wrote.
        tokens_in, tokens_out: What was used, a repair included; an estimate where the endpoint does not say.
        cost: In the currency of the settings' prices.
    """

    value: T
    text: str
    tokens_in: int
    tokens_out: int
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What a language model was used for since this process began: calls by outcome (``ok``, or the code of the error)."""

    calls: Mapping[str, int]
    tokens_in: int
    tokens_out: int
    cost: float


@runtime_checkable
class LanguageModel(Protocol):
    """Answers messages with JSON of a form that is asked for. What it says is never taken for true.

    Attributes:
        fingerprint: One string that differs whenever answers would.
    """

    fingerprint: str

    def ask(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        schema: Mapping[str, Any],
        read: Callable[[Any], T],
        deadline: Deadline,
    ) -> ModelReply[T]:
        """The answer as `read` makes it of JSON. What cannot be read is asked for once more, with what is wrong with it.

        Args:
            messages: ``role`` and ``content`` each.
            schema: JSON schema of the answer, an object.
            read: Raises ValueError for an answer that is not of the form.

        Raises:
            LlmError: there is no answer that can be read.
        """
        ...

    def use(self) -> ModelUse: ...

    def close(self) -> None: ...


class TokenBudget(Protocol):
    """How many tokens may still be used today, by all processes together."""

    def reserve(self, tokens: int) -> str:
        """Count tokens before they are used; returns the day that they are counted for.

        Raises:
            LlmBudgetSpent: there are not so many left.
        """
        ...

    def settle(self, day: str, reserved: int, used: int) -> None:
        """Count what was used in place of what was reserved."""
        ...


class Reader(Protocol):
    """Bytes → `Document`. ``uri`` is the document's own; ``name`` is what a person calls it.

    Raises:
        DocumentRejected: with the reason.
    """

    def __call__(self, content: bytes, *, uri: str, name: str) -> Sequence[Document]: ...


# Until when what this thread does must be done, for what is called without being told.


_deadline: ContextVar[Deadline | None] = ContextVar("wenyuan_deadline", default=None)


@contextmanager
def until(deadline: Deadline) -> Iterator[None]:
    """Within it, whatever this thread does on a timed connection ends at the deadline, however the other side behaves."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def patient() -> Iterator[None]:
    """Within it no deadline of this thread counts: for what is done once for all, and would never be done in time."""
    token = _deadline.set(None)
    try:
        yield
    finally:
        _deadline.reset(token)


def time_left() -> float | None:
    """Seconds until the deadline of this thread, 0 when it has passed; None where there is none."""
    deadline = _deadline.get()
    return None if deadline is None else deadline.remaining()


# Sources that are searched where they are: somebody else's service, somebody else's table.


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
