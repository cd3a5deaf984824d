"""The read path: request → scope → query → (keyword ∥ vector) → fuse → adjust → guard → cut."""

from __future__ import annotations

import math
import threading
import time
import unicodedata
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from wenyuan.core.errors import EngineError, Fault, InvalidRequest, NotPermitted
from wenyuan.core.filters import Filter, Scope
from wenyuan.core.fuse import CONTEXT_BOUND, Request, Topic, adjusted, fused
from wenyuan.core.model import FOREVER, IndexRow, Passage
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.ranking import Hit, LegResult, Ranking
from wenyuan.core.reference import Reference, reference_of, title_terms
from wenyuan.core.score import trust_factor
from wenyuan.core.text import identifiers, query_terms, terms
from wenyuan.core.uri import folder_of, path_words
from wenyuan.core.vectors import checked_vectors
from wenyuan.service.legs import Crew, outcome
from wenyuan.service.probes import script_of
from wenyuan.service.record import Record
from wenyuan.settings import SearchSettings

__all__ = ["Answer", "LegReport", "Query", "Retriever"]

_DEEPER = 2
_SPARE = 30  # rows read beyond those asked for, in case some are gone from the record


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to the library, already checked."""

    text: str
    limit: int
    sources: tuple[str, ...] | None = None
    filter: Filter | None = None
    as_of: date | None = None
    source_document_uri: str = ""
    task_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReport:
    """How one leg did: state ``ok`` or ``not configured``, time in ms, number of hits."""

    name: str
    state: str
    ms: float
    hits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A ranking with its passages. Empty only when nothing was found; `reason` then says why."""

    hits: Ranking
    passages: Mapping[int, Passage]
    mode: str
    floor: float
    legs: tuple[LegReport, ...]
    reason: str = ""
    ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Floor:
    """What nonsense reaches in this library: in score, and in lift (cosine above the query's mean cosine)."""

    score: float
    lift: float


class Retriever:
    """Answers queries from one engine and one encoder (None: keyword-only)."""

    def __init__(self, record: Record, engine: Engine, encoder: Encoder | None, settings: SearchSettings) -> None:
        self._record = record
        self._engine = engine
        self._encoder = encoder
        self._settings = settings
        self._crew = Crew(settings.threads)
        self._floor_lock = threading.Lock()
        self._floors: tuple[int, Mapping[str, Mapping[str, float]]] | None = None
        self.mode = "hybrid" if encoder is not None else "keyword-only"

    def close(self) -> None:
        self._crew.close()

    def retrieve(self, query: Query) -> Answer:
        """Raises a `KnowledgeError` when any leg that had to answer did not."""
        deadline = self._deadline()
        begun = time.perf_counter()
        watermark = self._engine.sync(self._record, deadline=deadline)
        scope = self._scope(query, deadline)
        words = query_terms(query.text)
        if not words:
            return self._nothing("the query has no word or character to search for")
        if not scope.sources:
            return self._nothing("the library has no source that is in force on that day")
        hits, legs = self._legs(query, words, scope, deadline)
        floor = self._floor(watermark, script_of(query.text))
        chosen, passages = self._choose(hits, query, scope, floor, deadline)
        reason = "" if chosen else self._why_empty(hits, floor.score)
        return Answer(
            hits=Ranking(chosen),
            passages=passages,
            mode=self.mode,
            floor=floor.score,
            legs=legs,
            reason=reason,
            ms={"total": (time.perf_counter() - begun) * 1e3, **{leg.name: leg.ms for leg in legs}},
        )

    def follow(self) -> None:
        """Bring the index up to the record, within the time of one request."""
        self._engine.sync(self._record, deadline=self._deadline())

    def best_of_all(self, text: str) -> tuple[float, float]:
        """The best score and lift that any passage of the library has for `text`, without floor or adjustment."""
        query = Query(text=text, limit=1)
        deadline = self._deadline()
        hits, _ = self._legs(query, query_terms(text), self._scope(query, deadline), deadline)
        return max((h.score for h in hits), default=0.0), max((h.parts.get("lift", 0.0) for h in hits), default=0.0)

    def forget_floor(self) -> None:
        """Read the floor anew from the record with the next query."""
        with self._floor_lock:
            self._floors = None

    def _deadline(self) -> Deadline:
        return Deadline(time.monotonic() + self._settings.deadline, time.monotonic)

    def _scope(self, query: Query, deadline: Deadline) -> Scope:
        day = query.as_of or date.today()
        sources = {s.source_id: s for s in self._record.sources(deadline)}
        for name in query.sources or ():
            if name not in sources:
                raise NotPermitted(f"there is no source {name!r}", hint="wenyuan source list")
        wanted = sources.keys() if query.sources is None else query.sources
        in_force = (
            name
            for name in wanted
            if (sources[name].effective_from or date.min) <= day <= (sources[name].effective_until or date.max)
        )
        return Scope(sources=frozenset(in_force), as_of=day, filter=query.filter)

    # -- the two legs -------------------------------------------------------------------------------

    def _legs(
        self, query: Query, words: list[str], scope: Scope, deadline: Deadline
    ) -> tuple[list[Hit], tuple[LegReport, ...]]:
        """All candidates of both legs, each with both scores, so that a score never depends on the others."""
        depth = max(self._settings.depth, 2 * query.limit)
        if identifiers(query.text):
            depth *= _DEEPER  # the place that is named may share little else with the query
        clock: dict[str, float] = {}

        def keyword() -> LegResult:
            begun = time.perf_counter()
            result = self._engine.keyword(words, scope=scope, limit=depth, deadline=deadline)
            clock["keyword"] = (time.perf_counter() - begun) * 1e3
            return result

        encoded: list[Any] = []

        def vector(encoder: Encoder) -> LegResult:
            begun = time.perf_counter()
            text = unicodedata.normalize("NFKC", query.text.strip())
            answered = encoder.encode_queries([text], deadline=deadline)
            encoded.append(checked_vectors(answered, 1, encoder.fingerprint.dimension, "encoder")[0])
            clock["encode"] = (time.perf_counter() - begun) * 1e3
            result = self._engine.vector(encoded[0], scope=scope, limit=depth, deadline=deadline)
            clock["vector"] = (time.perf_counter() - begun) * 1e3
            return result

        encoder = self._encoder
        second: Future[LegResult] | None = None
        if encoder is not None:
            second = self._crew.begin(lambda: vector(encoder))
        by_keyword = outcome(self._crew.begin(keyword), "keyword leg", deadline)
        found = {hit.passage_id: hit.score for hit in by_keyword.hits}
        reports = [LegReport(name="keyword", state="ok", ms=clock["keyword"], hits=len(by_keyword.hits))]
        if second is None:
            return fused(found, None, weight=self._settings.vector_weight, scale=(0.0, 1.0)), tuple(reports)
        by_vector = outcome(second, "vector leg", deadline)
        reports.append(LegReport(name="vector", state="ok", ms=clock["vector"], hits=len(by_vector.hits)))
        cosines = {hit.passage_id: hit.parts["cosine"] for hit in by_vector.hits}
        hits = self._complete(words, encoded[0], found, cosines, deadline)
        return hits, tuple(reports)

    def _complete(
        self, words: list[str], vector: Any, keyword: dict[int, float], cosines: dict[int, float], deadline: Deadline
    ) -> list[Hit]:
        """Ask each engine for the scores of what only the other one found."""
        unseen_words = [i for i in cosines if i not in keyword]
        unseen_vectors = [i for i in keyword if i not in cosines]
        first = self._crew.begin(lambda: self._engine.keyword_scores(words, unseen_words, deadline=deadline))
        second = self._crew.begin(lambda: self._engine.cosines(vector, unseen_vectors, deadline=deadline))
        keyword_more: Mapping[int, float] = outcome(first, "keyword leg", deadline)
        cosines_more: Mapping[int, float] = outcome(second, "vector leg", deadline)
        assert self._encoder is not None
        mean = self._engine.mean_cosine(vector)
        scale = self._encoder.fingerprint.scale
        return fused(
            {**keyword, **keyword_more},
            {**cosines, **cosines_more},
            weight=self._settings.vector_weight,
            scale=scale,
            mean=mean,
        )

    # -- from candidates to the answer ----------------------------------------------------------------

    def _choose(
        self, hits: list[Hit], query: Query, scope: Scope, floor: Floor, deadline: Deadline
    ) -> tuple[list[Hit], Mapping[int, Passage]]:
        reference = reference_of(query.text)
        topic = self._topic(query, deadline)
        # A named place counts however little else its text shares with the query: then the floor comes last.
        candidates = hits if reference else _liftable(_above(hits, floor), query.limit, topic is not None)
        passages = self._record.passages([hit.passage_id for hit in candidates], deadline)
        request = Request(topic=topic, reference=reference, information=self._information(reference, passages))
        ranked = []
        for hit in candidates:
            passage = passages.get(hit.passage_id)
            if passage is None:
                continue  # removed since the index was brought up to date: the record has the last word
            _guard(passage, scope)
            ranked.append(adjusted(hit, passage, request))
        if reference:
            ranked = _above(ranked, floor)
        ranked.sort(key=lambda h: (-h.score, h.passage_id))
        chosen = ranked[: query.limit]
        return chosen, {hit.passage_id: passages[hit.passage_id] for hit in chosen}

    def _information(self, reference: Reference | None, passages: Mapping[int, Passage]) -> Mapping[str, float]:
        if reference is None:
            return {}
        titles = (title_terms(passage) for passage in passages.values())
        return self._engine.information(sorted(reference.terms().union(*titles)))

    def _topic(self, query: Query, deadline: Deadline) -> Topic | None:
        if not query.source_document_uri and not query.task_id:
            return None
        uri = query.source_document_uri.partition("#")[0]
        known = self._record.document_by_uri(uri, deadline) if uri else None
        words = " ".join((known[2] if known else "", path_words(uri) if uri else "", path_words(query.task_id)))
        asked = set(terms(query.text))
        weights = self._engine.information([t for t in terms(words) if t not in asked and len(t) > 1])
        return Topic(document_id=known[0] if known else None, folder=folder_of(uri) if known else "", weights=weights)

    def _floor(self, watermark: int, script: str) -> Floor:
        if self._settings.floor is not None:
            return Floor(score=self._settings.floor, lift=math.inf)
        with self._floor_lock:
            if self._floors is None or self._floors[0] != watermark:
                self._floors = (watermark, self._record.floor(self.mode))
            measured = self._floors[1].get(script, {})
        return Floor(score=measured.get("score", 0.0), lift=measured.get("lift", math.inf))

    def _nothing(self, reason: str) -> Answer:
        return Answer(hits=Ranking(), passages={}, mode=self.mode, floor=0.0, legs=(), reason=reason)

    @staticmethod
    def _why_empty(hits: list[Hit], floor: float) -> str:
        if not hits or hits[0].score == 0:
            return "no passage in scope shares a word or a meaning with the query"
        return (
            f"the best passage scores {hits[0].score:.3f}, below the floor {floor:.3f} at which nonsense scores "
            "in this library"
        )


def _above(hits: list[Hit], floor: Floor) -> list[Hit]:
    """The hits that say something.

    Those that score above the floor; if there are none, those that stand out from the collection as no
    nonsense does. A question in another language than the passages shares no words with them and has lower
    cosines than nonsense in their own, yet its answer stands out.
    """
    above = [hit for hit in hits if hit.score >= floor.score and hit.score > 0]
    return above or [hit for hit in hits if hit.parts.get("lift", 0.0) > floor.lift and hit.score > 0]


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
