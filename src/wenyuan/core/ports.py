"""The interfaces between packages. One exists only where it has two real implementations.

Every engine call takes a `Scope` and a `Deadline`. A failure is an exception from `core.errors`; an empty
answer is ``LegResult.ok(())`` and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from wenyuan.core.errors import EngineTimeout
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Document, EncoderFingerprint, Facet, IndexRow

# Hits, rankings and what a leg answers. A `Ranking` cannot be wrong in form: it refuses to exist.


class Hit(NamedTuple):
    """A passage with its score; a tuple, since a query makes hundreds.

    Attributes:
        score: 0..1, absolute: it does not depend on the other hits.
        parts: The scores it is made of, by name (``keyword``, ``vector``, ``cosine``, ``context`` …).
    """

    passage_id: int
    score: float
    origin: str = "vector"
    parts: Mapping[str, float] = MappingProxyType({})


class Ranking(tuple[Hit, ...]):
    """Hits, best first.

    Raises:
        ValueError: a score outside 0..1 or NaN, a score that rises, a passage twice.
    """

    __slots__ = ()

    def __new__(cls, hits: Iterable[Hit] = ()) -> Ranking:
        found = tuple(hits)
        seen: set[int] = set()
        last = 1.0
        for rank, hit in enumerate(found, start=1):
            if not 0.0 <= hit.score <= 1.0:  # false for NaN too
                raise ValueError(f"score {hit.score!r} at rank {rank} is not in 0..1")
            if hit.score > last:
                raise ValueError(f"score rises at rank {rank}: {last} → {hit.score}")
            if hit.passage_id in seen:
                raise ValueError(f"passage {hit.passage_id} stands twice in the ranking")
            seen.add(hit.passage_id)
            last = hit.score
        return super().__new__(cls, found)

    def __repr__(self) -> str:
        return f"Ranking({list(self)!r})"


@dataclass(frozen=True, slots=True, init=False)
class LegResult:
    """The result of one leg. It is made by `ok` only, so that "nothing found" is always explicit."""

    hits: Ranking

    def __init__(self, hits: Ranking) -> None:
        raise TypeError("use LegResult.ok(hits); a leg that failed raises instead")

    @classmethod
    def ok(cls, hits: Sequence[Hit]) -> LegResult:
        made = object.__new__(cls)
        object.__setattr__(made, "hits", Ranking(hits))
        return made


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock, together with that clock: core reads none itself.

    Attributes:
        at: Seconds on `clock` after which work must have stopped.
    """

    at: float
    clock: Callable[[], float]

    def remaining(self) -> float:
        """Seconds left, 0 when passed."""
        return max(0.0, self.at - self.clock())

    def within(self, seconds: float) -> Deadline:
        """This deadline, or the one in that many seconds, whichever is earlier."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock)

    def unless(self, gone: Callable[[], bool]) -> Deadline:
        """This deadline, which also counts as passed once the caller has cancelled."""
        return Deadline(self.at, lambda: math.inf if gone() else self.clock())

    @property
    def cancelled(self) -> bool:
        """Whether it counts as passed since the caller has cancelled, not since its moment came."""
        return math.isinf(self.clock())

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
    """Numbers of live passages and vectors of an engine, and the last change it has applied."""

    name: str
    watermark: int
    passages: int
    vectors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of the catalog: `row` was added at `seq`, or `passage_id` was removed at `seq` (row is None)."""

    seq: int
    passage_id: int
    row: IndexRow | None


class ChangeFeed(Protocol):
    """The ordered change log of the catalog, as engines read it."""

    def seq(self) -> int:
        """Number of the last committed change (0 for an empty catalog)."""
        ...

    def changes(self, after: int, upto: int, *, vectors: bool = True) -> Iterator[Change]:
        """Changes with ``after < seq <= upto``: removals first, then additions that are still live at `upto`."""
        ...

    def stamp(self, seq: int) -> str:
        """A value that distinguishes change `seq` from the same number in another catalog, e.g. one restored from a
        backup.
        """
        ...

    def lag(self, watermark: int) -> float:
        """Seconds since the oldest change after `watermark` that added or removed passages; 0 when there is none."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Indexes rows and ranks them. Scores are absolute, 0..1 (see `core.scoring`).

    What it counts, for frequencies and means, is every live passage but those of the documents that are `uncounted`
    (`Scope.uncounted`): so nothing that it answers moves with documents that the caller may not see.

    Attributes:
        works_here: Whether it computes in this process rather than waiting for another one: then no more requests run
            at once than there are cores. An encoder may have this attribute, too.
    """

    name: str
    works_here: bool

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        """The best rows by keyword score (BM25 share of the query's information); parts: ``keyword``."""
        ...

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        """The best rows by cosine to ``vector`` ((dim,) float32 unit); parts: ``vector`` and raw ``cosine``."""
        ...

    def checkpoint(self, *, always: bool = False) -> None:
        """Save state after a change, so that the next start is quick: if worthwhile, or always."""
        ...

    def purge(self, feed: ChangeFeed) -> None:
        """Remove deleted rows from the engine's files, too."""
        ...

    def mean_cosine(self, vector: Any, *, uncounted: HiddenDocuments | None = None) -> float:
        """The mean cosine of all indexed vectors to ``vector``; 0 without any."""
        ...

    def chinese_share(self, *, uncounted: HiddenDocuments) -> float:
        """The share of passages that are in Chinese, 0..1; 0 without any."""
        ...

    def keyword_scores(
        self,
        terms: Sequence[str],
        passage_ids: Sequence[int],
        *,
        deadline: Deadline,
        uncounted: HiddenDocuments | None = None,
    ) -> Mapping[int, float]:
        """Keyword scores of given rows; rows without any of the terms are absent (score 0)."""
        ...

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        """Raw cosines of given rows; rows without a vector are absent."""
        ...

    def information(self, terms: Sequence[str], *, uncounted: HiddenDocuments | None = None) -> Mapping[str, float]:
        """Inverse document frequency of each distinct term, as `explain` shows it."""
        ...

    def removed_share(self) -> float:
        """The share of removed rows, 0..1, that the index still counts in document frequencies.

        An index in files counts them until it merges its files, which is no change of the catalog; others have none.
        """
        ...

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        """Apply the catalog's changes; returns the change up to which the engine now answers.

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
        """Vectors of passages, in the order given; ``progress(n)`` is called with how many more are done."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class Reranker(Protocol):
    """Judges how well a text answers a query by reading both together.

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


@runtime_checkable
class Judge(Protocol):
    """Estimates the confidence that passages suffice to answer a question. The values are no probabilities until
    calibrated (`core.scoring.risk`).

    Attributes:
        model: As messages and records call it.
        fingerprint: One string that differs whenever numbers would.
        local: Whether what it is shown stays in this process.
    """

    model: str
    fingerprint: str
    local: bool

    def sufficiency(self, question: str, passages: Sequence[str], *, deadline: Deadline) -> float:
        """The confidence, 0..1, validated.

        Raises:
            LlmError, RerankerError: it cannot; never a number that says nothing.
        """
        ...

    def use(self) -> ModelUse:
        """What it was used for; no tokens where it is in this process."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class WritingJudge(Judge, Protocol):
    """A judge that can also say in words what passages lack."""

    def missing(self, question: str, passages: Sequence[str], *, deadline: Deadline) -> str:
        """A search query for what the passages lack to answer the question; ``""`` for nothing. It is what a model wrote,
        and not checked.

        Raises:
            LlmError: it cannot say.
        """
        ...


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply(Generic[T]):
    """The reply of a language model.

    Attributes:
        value: The parsed reply.
        text: The reply as text.
        tokens_in, tokens_out: Tokens used, including a repair; an estimate where the endpoint gives none.
        cost: In the currency of the settings' prices.
    """

    value: T
    text: str
    tokens_in: int
    tokens_out: int
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """Usage of a language model, or of a judge, since this process began: calls by outcome.

    Attributes:
        calls: ``ok``, ``gone`` (the caller disconnected), or the code of the error; empty of a judge, whose leg is counted.
    """

    calls: Mapping[str, int] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


@runtime_checkable
class LanguageModel(Protocol):
    """A language model that replies with JSON of a given schema. Its content is never trusted.

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
        again: bool = True,
    ) -> ModelReply[T]:
        """The reply, parsed by `read`. An invalid reply is asked for once more, with the error.

        Args:
            messages: ``role`` and ``content`` each.
            schema: JSON schema of the answer, an object.
            read: Raises ValueError for an answer that is not of the form.
            again: Whether it may be asked for once more.

        Raises:
            LlmError: there is no answer that can be read.
        """
        ...

    def use(self) -> ModelUse: ...

    def close(self) -> None: ...


class TokenBudget(Protocol):
    """The tokens left for today, counted over all processes."""

    def reserve(self, tokens: int) -> str:
        """Count tokens before they are used; returns the day that they are counted for.

        Raises:
            LlmBudgetSpent: there are not so many left.
        """
        ...

    def settle(self, day: str, reserved: int, used: int) -> None:
        """Replace a reservation by the tokens really used."""
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
    """A context in which all timed I/O of this thread ends at the deadline."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def patient() -> Iterator[None]:
    """A context in which no deadline applies to this thread: for one-time work that must not be cut short."""
    token = _deadline.set(None)
    try:
        yield
    finally:
        _deadline.reset(token)


_gone: ContextVar[Callable[[], bool]] = ContextVar("wenyuan_gone", default=lambda: False)


@contextmanager
def unless(gone: Callable[[], bool]) -> Iterator[None]:
    """A context in which this thread works for a caller who may disconnect: then ``gone()`` is True."""
    token = _gone.set(gone)
    try:
        yield
    finally:
        _gone.reset(token)


def caller_gone() -> Callable[[], bool]:
    """What tells whether the caller for whom this thread works has disconnected."""
    return _gone.get()


def time_left() -> float | None:
    """Seconds until this thread's deadline, 0 if it has passed; None without one."""
    deadline = _deadline.get()
    return None if deadline is None else deadline.remaining()


# Sources that are searched where they are: somebody else's service, somebody else's table.


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideHit:
    """A hit in an external source.

    Attributes:
        uri: Where it can be found; `key` names it within its source and is the same at every call.
        score: 0..1, as the source itself gives it.
        effective_from, effective_until: The first and the last day on which it counts, as far as its source says.
        dated: False where the source gives an invalid date, so that its validity is unknown.
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
        """Whether it is in force on a day; False if its validity cannot be parsed."""
        return self.dated and (self.effective_from or date.min) <= day <= (self.effective_until or date.max)


class Outside(Protocol):
    """An external source that is searched in place, read-only.

    Raises, from `ask`:
        EngineTimeout, EngineUnavailable: it did not answer, refused, or answered FAILED or nonsense; never an
            empty result instead.
    """

    source_id: str
    needs_vector: bool

    def ask(self, query: str, *, vector: Any, limit: int, as_of: date, deadline: Deadline) -> Sequence[OutsideHit]:
        """The best passages for a query, best first; ``vector`` is its (dim,) embedding if `needs_vector`."""
        ...

    def close(self) -> None: ...
