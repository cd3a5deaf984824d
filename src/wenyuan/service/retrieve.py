"""The read path: request → scope → (keyword ∥ vector ∥ outside) → fuse → adjust → guard → cut → answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

from wenyuan.core.errors import EngineError, EngineUnavailable, Fault, InvalidRequest
from wenyuan.core.filters import Filter, Scope
from wenyuan.core.fuse import CONTEXT_BOUND, Request, Topic, adjusted
from wenyuan.core.model import FOREVER, IndexRow, Passage, Source
from wenyuan.core.outside import Outside
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.ranking import Hit, Ranking
from wenyuan.core.reference import Reference, reference_of, title_terms
from wenyuan.core.score import trust_factor
from wenyuan.core.text import has_han, identifiers, query_terms, terms
from wenyuan.core.uri import folder_of, path_words, readable
from wenyuan.service.abroad import Abroad
from wenyuan.service.crew import Crew
from wenyuan.service.legs import LegReport, OwnLegs, QueryVectors
from wenyuan.service.probes import script_of
from wenyuan.service.record import Record
from wenyuan.service.sight import Sight, Sources
from wenyuan.settings import SearchSettings

__all__ = ["Answer", "LegReport", "Query", "Retriever"]

_DEEPER = 2
_NO_HURRY = 60.0  # seconds: measuring a floor is nobody's request
_SPARE = 30  # rows read beyond those asked for, in case some are gone from the record


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to the library, already checked.

    Attributes:
        sources: Only these; None for all that are in force.
        min_trust: Sources below are not searched.
        partial: It is a part of a wider question, which alone can say whether nothing was found.
    """

    text: str
    limit: int
    sources: tuple[str, ...] | None = None
    min_trust: int = 1
    filter: Filter | None = None
    as_of: date | None = None
    source_document_uri: str = ""
    task_id: str = ""
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A ranking with its passages. Empty only when nothing was found; `reason` then says why.

    Attributes:
        generation: The change of the catalog that was searched.
        scope, trusts, floors: What was searched in the end, and what was too little; for the audit.
        degraded: Names of the legs that failed though they were allowed to.
    """

    hits: Ranking
    passages: Mapping[int, Passage]
    mode: str
    floor: float
    legs: tuple[LegReport, ...]
    generation: int = 0
    scope: Scope | None = None
    trusts: Mapping[str, int] = field(default_factory=dict)
    floors: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(leg.name for leg in self.legs if leg.state == "failed")


class _Moved(Exception):
    """Passages were removed while the index was asked; what took their place it had not heard of: ask again."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What nonsense reaches in this library: in score, and in lift (cosine above the query's mean cosine)."""

    score: float
    lift: float


class Retriever:
    """Answers queries from one engine, one encoder (None: keyword-only) and sources that are outside."""

    def __init__(
        self,
        record: Record,
        engine: Engine,
        encoder: Encoder | None,
        settings: SearchSettings,
        open_outside: Callable[[Source], Outside] | None = None,
    ) -> None:
        self._record = record
        self._engine = engine
        self._settings = settings
        self._crew = Crew(settings.threads)
        vectors = QueryVectors(encoder, settings.query_vectors) if encoder is not None else None
        self._own = OwnLegs(engine, vectors, settings, self._crew)
        self._abroad = Abroad(open_outside or _no_outside, vectors, self._crew)
        self._sight = Sight(record)
        self.mode = "hybrid" if encoder is not None else "keyword-only"

    def close(self) -> None:
        self._crew.close()
        self._abroad.close()

    def retrieve(self, query: Query) -> Answer:
        """Raises a `KnowledgeError` when any leg that had to answer did not."""
        deadline = self._deadline()
        while True:  # the deadline ends it
            try:
                return self._retrieve(query, deadline)
            except _Moved:
                deadline.check("retrieval")

    def _retrieve(self, query: Query, deadline: Deadline) -> Answer:
        begun = time.perf_counter()
        change = self._engine.sync(self._record, deadline=deadline)
        day = query.as_of or date.today()
        registry = self.registry(change)
        own, outside = self._sight.seen(registry, query.sources, min_trust=query.min_trust, day=day)
        scope = Scope(sources=frozenset(own), as_of=day, filter=query.filter)
        words = query_terms(query.text)
        if not words:
            return self._nothing(change, scope, "the query has no word or character to search for")
        if not own and not outside:
            return self._nothing(change, scope, "the library has no source that is in force on that day")
        asked = self._abroad.ask(outside, query.text, query.limit, day, deadline)
        floor = self._floor(script_of(query.text))
        hits, legs = self._own.candidates(query.text, words, scope, self._depth(query), deadline) if own else ([], [])
        ranked = self._ranked(hits, query, scope, floor, deadline, change)
        foreign, reports = self._abroad.collect(asked, deadline)
        ranked = sorted(ranked + foreign, key=lambda pair: (-pair[0].score, pair[0].passage_id))[: query.limit]
        legs += reports
        if not ranked and not query.partial and (down := [leg for leg in legs if leg.state == "failed"]):
            raise EngineUnavailable(f"nothing was found, and {down[0].error}", component=down[0].name)
        return Answer(
            hits=Ranking([hit for hit, _ in ranked]),
            passages={hit.passage_id: passage for hit, passage in ranked},
            mode=self.mode,
            floor=floor.score,
            legs=tuple(legs),
            generation=change,
            scope=scope,
            trusts={name: registry.by_id[name].trust for name in own},
            floors={"score": floor.score, "lift": floor.lift}
            if math.isfinite(floor.lift)
            else {"score": floor.score},
            reason="" if ranked else _why_empty(hits, floor.score),
            ms={"total": (time.perf_counter() - begun) * 1e3, **{leg.name: leg.ms for leg in legs}},
        )

    def registry(self, change: int | None = None) -> Sources:
        """The sources as of a change of the catalog, or of the last one."""
        return self._sight.sources(self._record.seq() if change is None else change, self._deadline())

    def follow(self) -> None:
        """Bring the index up to the record, within the time of one request."""
        self._engine.sync(self._record, deadline=self._deadline())

    def best_of_all(self, text: str) -> tuple[float, float]:
        """The best score and lift that any passage of the library has for `text`, without floor or adjustment."""
        deadline = Deadline(time.monotonic() + _NO_HURRY, time.monotonic)
        own = [s.source_id for s in self._record.sources(deadline) if s.type == "static_doc"]
        scope = Scope(sources=frozenset(own), as_of=date.today())
        hits, _ = self._own.candidates(text, query_terms(text), scope, self._settings.depth, deadline)
        return max((h.score for h in hits), default=0.0), max((h.parts.get("lift", 0.0) for h in hits), default=0.0)

    def floors(self) -> Mapping[str, Mapping[str, float]]:
        """The measured floors by script. Read for every request: measuring them is no change of the catalog."""
        return self._record.floor(self.mode)

    def _deadline(self) -> Deadline:
        return Deadline(time.monotonic() + self._settings.deadline, time.monotonic)

    def _depth(self, query: Query) -> int:
        depth = max(self._settings.depth, 2 * query.limit)
        # A place that is named may share little else with the query.
        return depth * _DEEPER if identifiers(query.text) else depth

    # -- from candidates to the answer ----------------------------------------------------------------

    def _ranked(
        self, hits: list[Hit], query: Query, scope: Scope, floor: Floor, deadline: Deadline, change: int
    ) -> list[tuple[Hit, Passage]]:
        reference = reference_of(query.text)
        topic = self._topic(query, deadline)
        # A named place counts however little else its text shares with the query: then the floor comes last.
        candidates = hits if reference else _liftable(_above(hits, floor), query.limit, topic is not None)
        across = not candidates
        if across:
            candidates = _outstanding(hits, floor)
        passages = self._record.passages([hit.passage_id for hit in candidates], deadline)
        if len(passages) < len(candidates) and self._record.seq() != change:
            raise _Moved
        request = Request(topic=topic, reference=reference, information=self._information(reference, passages))
        ranked = []
        for hit in candidates:
            passage = passages.get(hit.passage_id)
            if passage is None:
                continue  # the record has the last word
            _guard(passage, scope)
            if across and (passage.language == "zh") == has_han(query.text):
                continue  # in the query's own language it would have had to reach the floor
            ranked.append(adjusted(hit, passage, request))
        if reference:
            ranked = _above(ranked, floor)
        return [(hit, passages[hit.passage_id]) for hit in ranked]

    def _information(self, reference: Reference | None, passages: Mapping[int, Passage]) -> Mapping[str, float]:
        if reference is None:
            return {}
        titles = (title_terms(passage) for passage in passages.values())
        return self._engine.information(sorted(reference.terms().union(*titles)))

    def _topic(self, query: Query, deadline: Deadline) -> Topic | None:
        if not query.source_document_uri and not query.task_id:
            return None
        uri = readable(query.source_document_uri.partition("#")[0])
        known = self._record.document_by_uri(uri, deadline) if uri else None
        words = " ".join((known[2] if known else "", path_words(uri) if uri else "", path_words(query.task_id)))
        asked = set(terms(query.text))
        weights = self._engine.information([t for t in terms(words) if t not in asked and len(t) > 1])
        return Topic(document_id=known[0] if known else None, folder=folder_of(uri) if known else "", weights=weights)

    def _floor(self, script: str) -> Floor:
        if self._settings.floor is not None:
            return Floor(score=self._settings.floor, lift=math.inf)
        measured = self.floors().get(script, {})
        return Floor(score=measured.get("score", 0.0), lift=measured.get("lift", math.inf))

    def _nothing(self, change: int, scope: Scope, reason: str) -> Answer:
        return Answer(
            hits=Ranking(),
            passages={},
            mode=self.mode,
            floor=0.0,
            legs=(),
            generation=change,
            scope=scope,
            reason=reason,
        )


def _no_outside(source: Source) -> Outside:
    raise EngineUnavailable("sources of this type cannot be asked here", component=f"source {source.source_id}")


def _why_empty(hits: list[Hit], floor: float) -> str:
    if not hits or hits[0].score == 0:
        return "no passage in scope shares a word or a meaning with the query"
    return (
        f"the best passage scores {hits[0].score:.3f}, below the floor {floor:.3f} at which nonsense scores "
        "in this library"
    )


def _above(hits: list[Hit], floor: Floor) -> list[Hit]:
    """The hits that score above the floor, once the best one does; then also those half as good as the best one."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0 or best < floor.score:
        return []
    line = min(floor.score, 0.5 * best)
    return [hit for hit in hits if hit.score >= line and hit.score > 0]


def _outstanding(hits: list[Hit], floor: Floor) -> list[Hit]:
    """The hits that stand out from the collection as no nonsense does.

    A question in another language than its answer shares no words with it and has lower cosines than nonsense
    in the answer's own language, yet the answer stands out.
    """
    return [hit for hit in hits if hit.parts.get("lift", 0.0) > floor.lift and hit.score > 0]


def _liftable(hits: list[Hit], limit: int, in_context: bool) -> list[Hit]:
    """The first `limit` hits, and all that trust and context could lift among them: a limit only cuts."""
    if len(hits) <= limit:
        return hits
    reach = trust_factor(5) / trust_factor(1) * (1.0 + CONTEXT_BOUND if in_context else 1.0)
    least = hits[limit - 1].score / reach
    return hits[: max(limit + _SPARE, sum(hit.score >= least for hit in hits))]


def _guard(passage: Passage, scope: Scope) -> None:
    """The record is asked again: what an engine must not have found is an error, not something to hide."""
    row = IndexRow(
        passage_id=passage.passage_id,
        source_id=passage.source_id,
        document_id=passage.document_id,
        heading_text="",
        text="",
        language=passage.language,
        collection=passage.collection,
        facets=passage.facets,
        valid_from=passage.effective_from.toordinal() if passage.effective_from else 0,
        valid_until=passage.effective_until.toordinal() if passage.effective_until else FOREVER,
    )
    if not scope.allows(row):
        raise EngineError(
            f"passage {passage.ref} lies outside the scope of the request; nothing is answered", component="guard"
        )


def parse_day(value: object) -> date | None:
    """A day from a request's context (``as_of``), or None when it is not given."""
    if value is None:
        return None
    try:
        return date.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        fault = Fault("context.as_of", f"is {value!r}, not a date like 2026-11-21")
        raise InvalidRequest(f"{fault.path} {fault.message}", faults=(fault,)) from error
