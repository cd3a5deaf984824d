"""One retrieval: request → scope → (keyword ∥ vector ∥ outside) → fuse → adjust → guard → cut → answer, or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import compress
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineUnavailable, msg
from wenyuan.core.filters import And, Filter, Scope
from wenyuan.core.model import MAX_QUERY_CHARS, Passage, Source
from wenyuan.core.ports import Deadline, Encoder, Engine, Hit, Outside, Ranking, time_left, until
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.answerable import FIRST, VERSION
from wenyuan.core.scoring.copies import REVISION as COPIES
from wenyuan.core.scoring.copies import Copies, beside, distinct
from wenyuan.core.scoring.formula import VECTOR_WEIGHT, Traits
from wenyuan.core.scoring.fusion import (
    NO_CANDIDATES,
    Candidates,
    Fusion,
    Leeway,
    Reference,
    Request,
    Topic,
    adjusted,
    missing_place,
    title_terms,
)
from wenyuan.core.scoring.probability import NEAR, Field, candidate, curve_of
from wenyuan.core.text.introductions import without_introduction
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.query import LegReport, Query, SearchAnswer
from wenyuan.service.rules.derive import Derived, Deriver
from wenyuan.service.rules.unified import RuleQuestion, of_type
from wenyuan.service.search.abstention import Abstention, Coverage, groups
from wenyuan.service.search.candidates import Cutoff, Ranked, above, guard, meeting
from wenyuan.service.search.change_cache import PerChange, Record
from wenyuan.service.search.collection_profile import CollectionProfile, fits
from wenyuan.service.search.external_search import ExternalSearch, no_outside, unaddressed
from wenyuan.service.search.first_use import FirstUse
from wenyuan.service.search.general_texts import SCRIPTS, script_of
from wenyuan.service.search.label_vectors import LabelVectors
from wenyuan.service.search.law_lookup import LawLookup
from wenyuan.service.search.leg_execution import Leg, LegExecutor
from wenyuan.service.search.legs import Aim, LegOutput, LegRequest, OwnLegs
from wenyuan.service.search.placement import placed
from wenyuan.service.search.query_vectors import QueryVectors
from wenyuan.service.search.question import AnalysedQuery, SynonymReader, analysed
from wenyuan.service.search.reranking import Reranking, ordered
from wenyuan.service.search.source_selection import Sources, registry_of
from wenyuan.service.search.topic import TaskTopic, TopicReader
from wenyuan.service.search.traces import Traces
from wenyuan.service.search.wordings import Searched, order, united
from wenyuan.settings import RulesSettings, SearchSettings

_DEEPER = 2
_SPARE = 10
"""Candidates besides those that are wanted: some may be copies of others, and rivals are counted without copies."""
_A_MOMENT = 0.02  # seconds until the index is asked again
_WAITS_FOR_INDEX = 0.5  # of a request's time; then what else was found is given, and said to be behind


class _Moved(Exception):
    """Passages were removed from the catalog while the index was searched; the search must be repeated."""


class Retriever:
    """Answers queries with one engine, one encoder (None: keyword-only) and the external sources.

    Args:
        stale: Since when each overdue source is, by its id.
        rules: Derives rules; None: the library has no rules graph.

    Attributes:
        weight: Of the vector leg, where no tuning says another: as configured, else the general default.
        floors: Gives measured traits by script. It is called for every request: measuring them is no change of the
            catalog.
        deadline: Gives the deadline of a request that starts now.
    """

    def __init__(  # noqa: PLR0913  (its parts, wired in two places)
        self,
        record: Record,
        engine: Engine,
        encoder: Encoder | None,
        settings: SearchSettings,
        open_outside: Callable[[Source], Outside] | None = None,
        stale: Callable[[], Mapping[str, str]] = dict,
        rules: Deriver | None = None,
        united: RulesSettings | None = None,
        *,
        reranking: Reranking | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._record, self._engine, self._encoder = record, engine, encoder
        self._settings = settings
        self.weight = VECTOR_WEIGHT if settings.vector_weight is None else settings.vector_weight
        self._traces = traces
        self._executor = LegExecutor(settings.threads, traces)
        self.meter = self._executor.meter
        self.stale = stale
        self._rules = rules
        self._united = united or RulesSettings()
        self.reranking = reranking or Reranking()
        vectors = self._vectors = QueryVectors(encoder, settings.query_vectors) if encoder is not None else None
        self._labels = LabelVectors(record)
        self._own = OwnLegs(engine, vectors, self._executor, LawLookup(record), self._labels)
        self.query_vectors = self._own.query_vectors
        self._external = ExternalSearch(
            open_outside or no_outside, vectors, LegExecutor(settings.threads, traces, self.meter)
        )
        self._registry = PerChange(lambda _, deadline: registry_of(record.sources(deadline)))
        self._tuned = PerChange(self._tuning_at)
        self._synonyms = PerChange(SynonymReader(record))
        self._topics = TopicReader(record, engine.information)
        self._abstention = Abstention(self._own, engine, record, encoder, settings)
        self.mode = "hybrid" if encoder is not None else "keyword-only"
        self.floors = partial(record.floor, self.mode)
        self.limit = partial(deadline_after, settings.deadline)
        self._first_use = FirstUse(self._loading())

    def _loading(self) -> Sequence[Callable[[Deadline], object]]:
        """What the first question would have to wait for, of what lies in this process."""
        steps: list[Callable[[Deadline], object]] = []
        if (load := getattr(self._encoder, "ready", None)) is not None:
            steps.append(lambda _: load())
        if self._vectors is not None and getattr(self._encoder, "works_here", False):
            steps.append(self._vectors.means)
        if self._engine.works_here or self._engine.name == "memory":
            steps.append(lambda deadline: self._engine.sync(self._record, deadline=deadline))
        if self._rules is not None:
            rules = self._rules
            steps.append(lambda _: rules.known(self._record.seq()))
        return steps

    def ready(self) -> None:
        """Return when what questions need is loaded, or cannot be: see `FirstUse`."""
        self._first_use.ready()

    def deadline(self) -> Deadline:
        """The deadline of a question that begins now. To load what the first one needs does not count."""
        self.ready()
        return self.limit()

    def close(self) -> None:
        self._executor.close()
        self._external.close()

    def retrieve(self, query: Query, deadline: Deadline | None = None) -> SearchAnswer:
        """Run one retrieval; raises a `KnowledgeError` if any required leg failed.

        Args:
            deadline: Another than that of a request.
        """
        deadline = deadline or self.deadline()
        span = nullcontext() if self._traces is None else self._traces.retrieval(query)
        with until(deadline), span as traced:
            while True:  # the deadline ends it
                try:
                    answer = self._retrieve(query, deadline)
                except _Moved:
                    deadline.check("retrieval")
                    time.sleep(_A_MOMENT)
                else:
                    return answer if traced is None else traced(answer)

    def _retrieve(self, query: Query, deadline: Deadline) -> SearchAnswer:
        begun = time.perf_counter()
        change = self._engine.sync(self._record, deadline=deadline)
        day = query.as_of or date.today()
        latest = self._record.seq()
        registry = self._registry.at(latest, deadline)  # not as of `change`: the index may be behind, rights may not
        own, outside = registry.seen(query.sources, min_trust=query.min_trust, day=day)
        scope = Scope(
            sources=frozenset(own),
            as_of=day,
            filter=self._of_type(query, change, deadline) if query.engineering_type else query.filter,
        )
        asked = analysed(query.text, self._synonyms.at(change, deadline), self._engine.information)
        if why := _needless(asked.wordings.words or query.rewriting is not None, (*own, *outside), registry):
            return self._nothing(change, scope, why)
        profile = self.profile(asked.script, self._tuned.at(change, deadline))
        elsewhere = (
            self._external.ask(outside, query.text, query.limit, day, deadline)
            if outside and asked.wordings.words
            else ()
        )
        deriving = None
        if query.rules != "none" and self._rules is not None and self._rules.known(change):
            deriving = self._derive(
                self._rules, query, replace(scope, filter=query.filter), registry, change, deadline
            )
        trusts = {name: registry.by_id[name].trust for name in own}
        own_part = (self._searched if query.rewriting is None else self._worded)(
            query, asked, scope, trusts, profile, change, deadline
        )
        ranked, copies, legs = own_part.ranked, own_part.copies, own_part.legs
        if elsewhere:
            foreign, reports = self._external.collect(elsewhere, deadline)
            ranked, copies = beside(ranked, copies, meeting(self._addressed(foreign, scope), scope.filter))
            legs += reports
        ranked, judged = self.reranking.best(query.whole, ranked, query.limit, self._external.executor, deadline)
        legs += judged
        derived = None if deriving is None else self._executor.outcome(deriving, "rules leg", deadline)
        if derived is not None:
            legs.append(LegReport(name="rules", state="ok", ms=derived.ms, hits=len(derived.found)))
            ranked = self._with_rules(query, ranked, derived)
        if not ranked and not query.partial and (down := [leg for leg in legs if leg.state == "failed"]):
            raise EngineUnavailable(
                msg("nothing was found, and {error}", error=down[0].error), component=down[0].name
            )
        passages = {hit.passage_id: passage for hit, passage in ranked}
        return SearchAnswer(
            hits=Ranking([hit for hit, _ in ranked]),
            passages=passages,
            nearest=None if ranked else own_part.nearest,
            mode=self.mode,
            floor=self._abstention.least,
            answerable=own_part.answerable if scope.sources else None,
            missing_terms=own_part.missing,
            calibrated=self._abstention.measured,
            legs=tuple(legs),
            generation=change,
            scope=scope,
            trusts=trusts,
            floors=profile.recorded,
            reason="" if ranked else own_part.why,
            stale=self.stale(),
            stale_by=self._record.lag(change) if change < latest else 0.0,
            derived=derived,
            weight=profile.fusion.weight,
            curve=profile.curve,
            copies={number: same for number, same in copies.items() if number in passages or not ranked},
            tuning="" if profile.tuning is None else profile.tuning.fingerprint,
            wordings=own_part.asked.others,
            rewriting=query.rewriting,
            ms={"total": (time.perf_counter() - begun) * 1e3, **{leg.name: leg.ms for leg in legs}},
        )

    def _worded(
        self, query: Query, asked: AnalysedQuery, scope: Scope, trusts: Mapping[str, int], profile: CollectionProfile,
        change: int, deadline: Deadline,
    ) -> Searched:  # fmt: skip
        """As `_searched`, for a question and its wordings by a language model, as one."""
        table = self._synonyms.at(change, deadline)
        others = [analysed(text, table, self._engine.information) for text in query.texts[1:]]
        found = [
            self._searched(replace(query, text=one.text), one, scope, trusts, profile, change, deadline)
            if one.wordings.words
            else Searched([], {}, [], _WORDLESS, 0.0, one.wordings)
            for one in (asked, *others)
        ]
        return united(found, query.rewriting, copies=profile.copies)

    def _searched(
        self,
        query: Query,
        asked: AnalysedQuery,
        scope: Scope,
        trusts: Mapping[str, int],
        profile: CollectionProfile,
        change: int,
        deadline: Deadline,
    ) -> Searched:
        """Search the library's own sources: each passage with its probability, or nothing if an answer is unlikely."""
        searched = query, asked, scope, trusts, profile, change, deadline
        found, ranked, copies = self._candidates(*searched, self._settings.floor)
        coverage = Coverage(asked.subject, asked.script)
        verdict = self._abstention.verdict(asked, found, ranked, coverage, scope, deadline)
        why = verdict.why
        if query.nearest and self._settings.floor and not ranked and len(found.candidates.scores):
            found, ranked, copies = self._candidates(*searched, None)  # what lies below the floor can be the nearest
            if ranked:
                verdict = self._abstention.verdict(asked, found, ranked, coverage, scope, deadline)
        if ranked and (query.nearest or not why):
            copied = [copy.passage_id for same in copies.values() for copy in same]
            alike = groups(ranked, coverage)
            rivals = found.candidates.taken(~np.isin(found.candidates.passage_ids, copied)).ordered()
            field = Field(
                [candidate(hit, alike) for hit in rivals.taken(slice(NEAR)).hits()],
                profile.curve,
                verdict.probability,
            )
            hits = field.settled([hit for hit, _ in ranked], alike)
            ranked = ordered(list(zip(hits, (passage for _, passage in ranked), strict=True)))
        given = () if why else ranked
        why = (asked.reference and missing_place(query.text, asked.reference, (p for _, p in given))) or why
        nearest = ranked[0] if why and query.nearest and ranked else None
        if why:
            copies = {hit.passage_id: copies.get(hit.passage_id, ()) for hit, _ in filter(None, [nearest])}
        return Searched(
            [] if why else ranked, copies, found.reports, why, verdict.probability, asked.wordings, verdict.missing,
            nearest,
        )  # fmt: skip

    def _candidates(
        self,
        query: Query,
        asked: AnalysedQuery,
        scope: Scope,
        trusts: Mapping[str, int],
        profile: CollectionProfile,
        change: int,
        deadline: Deadline,
        floor: float | None,
    ) -> tuple[LegOutput, Ranked, Copies]:
        """What the own legs found, the best candidates without copies (as many as are wanted, if there are so many), and
        the copies of each; none where the best scores less than `floor`.
        """
        in_context = bool(query.source_document_uri or query.task_id)
        topic = self._topics.of(query, change, deadline) if in_context else None
        depth = max(self._settings.depth, 2 * query.limit)
        if asked.names:  # a place that is named may share little else with the query
            depth *= _DEEPER
        request = LegRequest(query=asked, scope=scope, depth=depth, profile=profile, deadline=deadline)
        if asked.reference and asked.reference.named:  # that can lift the last one of all, whatever its statute
            request = replace(request, profile=replace(profile, traits=replace(profile.traits, law=0.0)))
        wanted = max(self.reranking.reach(query.limit), FIRST)
        reach = wanted if profile.copies else wanted + max(wanted, _SPARE)
        while True:
            cut = Cutoff.of(floor, reach, trusts.values(), in_context)
            found = LegOutput(NO_CANDIDATES, [], None)
            if scope.sources:
                found = self._own.found(request if asked.reference else replace(request, cut=cut))
            ranked = self._ranked(found.candidates, topic, asked.reference, scope, cut, deadline, change)
            if profile.copies:  # they are given, too, as answers of a former version did
                return found, ordered(ranked), {}
            kept, copies = distinct(sorted(ranked, key=_preferred))
            if len(kept) >= wanted or len(ranked) < reach:
                return found, ordered(kept), copies
            reach *= 4

    def _of_type(self, query: Query, change: int, deadline: Deadline) -> Filter:
        """The request's filter, combined with the one that its engineering type implies."""
        kind = query.engineering_type
        names = frozenset((kind,)) if self._rules is None else self._rules.names_of_type(kind, change, deadline)
        typed = of_type(names, self._united.type_facets)
        return typed if query.filter is None else And((query.filter, typed))

    def _derive(
        self, rules: Deriver, query: Query, scope: Scope, registry: Sources, change: int, deadline: Deadline
    ) -> Leg[Derived]:
        """Start deriving rules."""
        question = RuleQuestion(
            text="\n".join(query.texts)[:MAX_QUERY_CHARS],
            processes=query.processes,
            engineering_type=query.engineering_type,
            parameters=query.parameters,
        )
        given = question, scope, registry.by_id, change, deadline
        vectors = self._vectors if query.by_meaning else None
        embed = None if vectors is None else lambda: vectors.of(without_introduction(query.text), deadline)[0]
        bounded = query.sources is not None
        return self._executor.begin(
            lambda: rules.derive(*given, min_trust=query.min_trust, embed=embed, bounded=bounded), "rules"
        )

    def _with_rules(
        self, query: Query, ranked: list[tuple[Hit, Passage]], derived: Derived
    ) -> list[tuple[Hit, Passage]]:
        """Passages and derived rules in one order; beside one another, all of both."""
        if query.rules != "within":
            return sorted([*ranked, *derived.found], key=order)
        answering = {
            hit.passage_id
            for hit, _ in derived.found
            if "asked" not in hit.parts or derived.details[hit.passage_id].get("answers")
        }
        found = list(derived.found)
        return placed(ranked, found, answering, query.text, query.limit, self._engine.information)

    def derive(self, query: Query, deadline: Deadline | None = None) -> SearchAnswer:
        """Rules only: what follows for the processes that the query gives or its text names.

        Raises:
            KnowledgeError: the graph cannot be asked; an empty answer says why it is empty.
        """
        deadline = deadline or self.deadline()
        change = self._record.seq()
        day = query.as_of or date.today()
        registry = self.registry(change, deadline)
        own, _ = registry.seen(query.sources, min_trust=query.min_trust, day=day)
        scope = Scope(sources=frozenset(own), as_of=day, filter=query.filter)
        if query.rules == "none" or self._rules is None or not self._rules.known(change):
            return self._nothing(change, scope, "the library has no rules")
        deriving = self._derive(self._rules, query, scope, registry, change, deadline)
        derived = self._executor.outcome(deriving, "rules leg", deadline)
        found = sorted(derived.found, key=order)  # limits are applied by the leg, which reports them
        return replace(
            self._nothing(change, scope, derived.reason),
            hits=Ranking([hit for hit, _ in found]),
            passages={hit.passage_id: passage for hit, passage in found},
            legs=(LegReport(name="rules", state="ok", ms=derived.ms, hits=len(derived.found)),),
            trusts={name: registry.by_id[name].trust for name in own},
            stale=self.stale(),
            derived=derived,
        )

    def registry(self, change: int | None = None, deadline: Deadline | None = None) -> Sources:
        """The registry at a change of the catalog, by default the latest; read within the time of one request."""
        with self.in_time(deadline) as ends:
            return self._registry.at(self._record.seq() if change is None else change, ends)

    @contextmanager
    def in_time(self, deadline: Deadline | None = None) -> Iterator[Deadline]:
        """A context for what is read of the catalog before a question's own time begins: it ends at `deadline`, by default
        after the time of one request.
        """
        left = time_left()
        ends = deadline or self.limit()
        ends = ends if left is None else ends.within(left)
        with until(ends):
            yield ends

    def follow(self) -> None:
        """Bring the index up to date, within the time of one request."""
        self._engine.sync(self._record, deadline=self.limit())

    def tuning(self) -> Tuning | None:
        """The tuning in effect now."""
        return self._tuned.at(self._record.seq())

    def _tuning_at(self, change: int, deadline: Deadline | None) -> Tuning | None:
        """The tuning in effect at a change; None without one, or if it was learned with another encoder.

        Raises:
            IndexCorrupt: its map is damaged: an answer without it would be another answer.
        """
        found = None if self._encoder is None else self._record.tuning_at(change, deadline)
        return found if found is not None and fits(found, self._encoder) else None

    def told(self, task_id: str, deadline: Deadline | None = None) -> TaskTopic:
        """What a task id contributes to rankings."""
        if not task_id:
            return TaskTopic()
        deadline = deadline or self.limit()
        return self._topics.told(task_id, self._engine.sync(self._record, deadline=deadline), deadline)

    def profile(self, script: str, tuning: Tuning | None) -> CollectionProfile:
        """The collection profile for queries in a script, under a tuning."""
        known = self.floors().get(script, {})
        traits, curve = Traits.of(known), curve_of(known, self.mode)
        distinct = known.get("distinct", float(COPIES))
        recorded = {
            "distinct": distinct,
            "bridge": traits.bridge,
            "law": traits.law,
            "labels": float(traits.labels),
            "removed": self._engine.removed_share(),
            "answerable": float(VERSION),
            "least": self._abstention.least,
            **curve.measured(),
        }
        scale = (0.0, 1.0) if self._encoder is None else self._encoder.fingerprint.scale
        return CollectionProfile(
            traits=traits,
            curve=curve,
            fusion=Fusion(weight=self.weight if tuning is None else tuning.weight, scale=scale),
            tuning=tuning,
            copies=not distinct,
            recorded=recorded,
        )

    def aim(self, question: str, vector: Any) -> Aim:
        """The vector search target of a query without any tuning."""
        script = script_of(question)
        return self._own.aim(script, vector, self.profile(script, None), self.limit())

    def shares(self, candidates: Collection[int]) -> Mapping[int, float]:
        """Statute factors of candidates; see `OwnLegs.shares`."""
        return self._own.shares(candidates, self.profile(SCRIPTS[0], None).traits.law, self.limit())

    def labels(self, passages: Collection[int]) -> Mapping[int, Any]:
        """Label vectors of passages, in libraries where labels count."""
        counted = self.profile(SCRIPTS[0], None).traits.labels
        return self._labels.of(passages, self.limit()) if counted else {}

    def _addressed(self, foreign: list[tuple[Hit, Passage]], scope: Scope) -> list[tuple[Hit, Passage]]:
        """External passages; their addresses are removed if a more trusted visible source holds that document."""
        if not foreign:
            return foreign
        held = self._record.holders(sorted({passage.uri.partition("#")[0] for _, passage in foreign}))
        trusts = {
            uri: max((holder.trust for holder in holders if holder.source_id in scope.sources), default=0)
            for uri, holders in held.items()
        }
        return [
            (hit, unaddressed(p) if trusts.get(p.uri.partition("#")[0], 0) > p.trust else p) for hit, p in foreign
        ]

    # -- from candidates to the answer ----------------------------------------------------------------

    def _ranked(
        self,
        found: Candidates,
        topic: Topic | None,
        reference: Reference | None,
        scope: Scope,
        cut: Cutoff,
        deadline: Deadline,
        change: int,
    ) -> Ranked:
        """The candidates that count, after adjustment; `change` is the one that was searched."""
        if reference:  # a named place counts however little else its text shares with the query: the floor comes last
            naming = self._own.naming(reference, found.passage_ids.tolist(), deadline)
            candidates = cut.placed(found, naming).hits()
        else:
            candidates = cut.liftable(found.taken(above(found.scores, cut.floor))).hits()
        passages = self._record.passages([hit.passage_id for hit in candidates], deadline)
        moved = len(passages) < len(candidates) and self._record.seq() != change
        if moved and deadline.remaining() > self._settings.deadline * _WAITS_FOR_INDEX:
            raise _Moved
        said = reference.terms().union(*map(title_terms, passages.values())) if reference else ()
        told = self._engine.information(sorted(said)) if said else {}
        leeway = Leeway() if topic is None else Leeway.among(found.scores[:NEAR].tolist())
        request = Request(topic=topic, leeway=leeway, reference=reference, information=told)
        ranked = []
        for hit in candidates:
            passage = passages.get(hit.passage_id)
            if passage is None:
                continue  # the record has the last word
            guard(passage, scope)
            if passage.recognition is not None and passage.recognition.confidence < self._settings.min_confidence:
                continue
            settled = adjusted(hit, passage, request)
            template = passage.collection == self._united.template_collection
            ranked.append((settled._replace(origin="template") if template else settled, passage))
        if reference:
            scores = np.array([hit.score for hit, _ in ranked])
            named = np.array([hit.parts.get("identifier", 0.0) > 0.0 for hit, _ in ranked], bool)
            ranked = list(compress(ranked, above(scores, cut.floor, named)))
        if moved and not ranked:  # that there is nothing else is unknown
            raise _Moved
        return ranked

    def _nothing(self, change: int, scope: Scope, reason: str) -> SearchAnswer:
        return SearchAnswer(
            hits=Ranking(), passages={}, mode=self.mode, floor=0.0, legs=(), generation=change, scope=scope,
            reason=reason,
        )  # fmt: skip


_WORDLESS = "the query has no word or character to search for"


def _needless(worded: object, sources: Sequence[object], registry: Sources) -> str:
    """Why no leg needs to run; ``""`` if one does."""
    if not worded:
        return _WORDLESS
    if sources:
        return ""
    if not registry.by_id:
        return "the library has no source yet: wenyuan add PATH --source ID"
    return "the library has no source that is in force on that day"


def _preferred(pair: tuple[Hit, Passage]) -> tuple[float, int]:
    """Sort key for choosing among copies: score, then trust."""
    hit, _ = pair
    return -hit.score * hit.parts.get("trust", 1.0), hit.passage_id
