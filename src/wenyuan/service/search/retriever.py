"""One retrieval: request → scope → (keyword ∥ vector ∥ outside) → fuse → adjust → guard → cut → answer, or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from wenyuan.core.access import Principal
from wenyuan.core.errors import EngineUnavailable, msg
from wenyuan.core.filters import And, Filter, Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import MAX_QUERY_CHARS, Passage, Source
from wenyuan.core.ports import Deadline, Encoder, Engine, Hit, Outside, Ranking, time_left, until
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.answerable import VERSION
from wenyuan.core.scoring.copies import REVISION as COPIES
from wenyuan.core.scoring.copies import beside
from wenyuan.core.scoring.formula import VECTOR_WEIGHT, Traits
from wenyuan.core.scoring.fusion import (
    Fusion,
)
from wenyuan.core.scoring.probability import curve_of
from wenyuan.core.text.introductions import without_introduction
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.conflicts.disputes import loses, with_disputes
from wenyuan.service.query import LegReport, Query, SearchAnswer
from wenyuan.service.rules.derive import Derived, Deriver
from wenyuan.service.rules.unified import RuleQuestion, of_type
from wenyuan.service.search.abstention import Abstention
from wenyuan.service.search.candidates import meeting
from wenyuan.service.search.change_cache import PerChange, Record
from wenyuan.service.search.collection_profile import CollectionProfile, fits
from wenyuan.service.search.external_search import ExternalSearch, PendingQuery, no_outside, unaddressed
from wenyuan.service.search.first_use import FirstUse
from wenyuan.service.search.general_texts import SCRIPTS, script_of
from wenyuan.service.search.label_vectors import LabelVectors
from wenyuan.service.search.law_lookup import LawLookup
from wenyuan.service.search.leg_execution import Leg, LegExecutor
from wenyuan.service.search.legs import Aim, OwnLegs
from wenyuan.service.search.own_search import WORDLESS, OwnSearch, PassagesMoved
from wenyuan.service.search.placement import merge_by_score, unbounded
from wenyuan.service.search.query_vectors import QueryVectors
from wenyuan.service.search.question import SynonymReader, analysed
from wenyuan.service.search.reranking import Reranking
from wenyuan.service.search.search_context import SearchContext
from wenyuan.service.search.sight_traits import WITHIN_SIGHT, SightTraits
from wenyuan.service.search.source_selection import Sources, registry_of
from wenyuan.service.search.topic import TaskTopic, TopicReader
from wenyuan.service.search.traces import Traces
from wenyuan.service.search.wordings import order
from wenyuan.settings import RulesSettings, SearchSettings

_A_MOMENT = 0.02  # seconds until the index is asked again
WITHHELD = "what was found contradicts another statement that holds (search.withhold_disputed)"


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
        self._topics = TopicReader(record, engine)
        self._sight_traits = SightTraits(engine, encoder)
        self._abstention = Abstention(self._own, engine, record, encoder, settings)
        self._own_search = OwnSearch(
            record, engine, self._own, self._topics, self._abstention, self.reranking, settings,
            templates=self._united.template_collection,
        )  # fmt: skip
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
                except PassagesMoved:
                    deadline.check("retrieval")
                    time.sleep(_A_MOMENT)
                else:
                    return answer if traced is None else traced(answer)

    def _retrieve(self, query: Query, deadline: Deadline) -> SearchAnswer:
        begun = time.perf_counter()
        context, outside = self._context(query, deadline)
        change, scope, profile = context.change, context.scope, context.profile
        if why := _needless(context, outside):
            return self._nothing(change, scope, why)
        elsewhere: Sequence[PendingQuery] = ()
        if outside and context.questions[0].wordings.words:
            elsewhere = self._external.ask(outside, query.text, query.limit, scope.as_of, deadline)
        deriving = self._derive(query, replace(scope, filter=query.filter), context.registry, change, deadline)
        own = self._own_search.search(context)
        ranked, copies, legs = own.ranked, own.copies, own.legs
        if elsewhere:
            foreign, reports = self._external.collect(elsewhere, deadline)
            ranked, copies = beside(ranked, copies, meeting(self._addressed(foreign, scope), scope.filter))
            legs += reports
        ranked, judged = self.reranking.best(query.whole, ranked, query.limit, self._external.executor, deadline)
        legs += judged
        derived = None if deriving is None else self._executor.outcome(deriving, "rules leg", deadline)
        if derived is not None:
            legs.append(LegReport(name="rules", state="ok", ms=derived.ms, hits=len(derived.found)))
            ranked = self._with_rules(query, ranked, derived, scope)
        if not ranked and not query.partial and (down := [leg for leg in legs if leg.state == "failed"]):
            raise EngineUnavailable(
                msg("nothing was found, and {error}", error=down[0].error), component=down[0].name
            )
        passages = with_disputes(self._record, {hit.passage_id: one for hit, one in ranked}, scope, deadline)
        found = len(ranked)
        if self._settings.withhold_disputed:
            ranked = [(hit, one) for hit, one in ranked if not loses(passages[hit.passage_id])]
            passages = {hit.passage_id: passages[hit.passage_id] for hit, _ in ranked}
        return SearchAnswer(
            hits=Ranking([hit for hit, _ in ranked]),
            passages=passages,
            nearest=None if ranked else own.nearest,
            mode=self.mode,
            floor=self._abstention.at(query.abstain).least,
            answerable=own.answerable if scope.sources else None,
            missing_terms=own.missing,
            calibrated=self._abstention.measured,
            legs=tuple(legs),
            generation=change,
            scope=replace(scope, hidden=None),  # an answer may be kept, and rights are asked anew
            trusts=context.trusts,
            floors=self._floors_of(profile, query),
            reason="" if ranked else WITHHELD if found else own.why,
            stale=self.stale(),
            stale_by=self._record.lag(change) if change < context.latest else 0.0,
            derived=derived,
            weight=profile.fusion.weight,
            curve=profile.curve,
            copies={number: same for number, same in copies.items() if number in passages or not found},
            tuning="" if profile.tuning is None else profile.tuning.fingerprint,
            wordings=own.asked.others,
            rewriting=query.rewriting,
            ms={"total": (time.perf_counter() - begun) * 1e3, **{leg.name: leg.ms for leg in legs}},
        )

    def _floors_of(self, profile: CollectionProfile, query: Query) -> Mapping[str, float]:
        """What an answer had to reach, for the audit; by a request's own strictness, and then by the library's (``usual``), too."""
        if not query.abstain:
            return profile.recorded
        least = self._abstention.at(query.abstain).least
        return {**profile.recorded, "least": least, "usual": self._abstention.least}

    def check_strictness(self, strictness: str, principal: Principal) -> None:
        """NotPermitted where who is bound to an agent asks for a laxer strictness than the library's: a request never widens what an
        agent is given.
        """
        if principal.agent_id is not None:
            self._abstention.check_narrower(strictness)

    def _context(self, query: Query, deadline: Deadline) -> tuple[SearchContext, Sequence[Source]]:
        """What the stages share, and the sources elsewhere that are to be asked, too."""
        change = self._engine.sync(self._record, deadline=deadline)
        latest = self._record.seq()
        registry = self._registry.at(latest, deadline)
        day = query.as_of or date.today()
        own, outside = registry.seen(query.sources, min_trust=query.min_trust, day=day)
        filter = self._of_type(query, change, deadline) if query.engineering_type else query.filter
        synonyms = self._synonyms.at(change, deadline)
        # Of the catalog as it is, too, and not before its last change was read: nothing comes in unseen.
        scope = self.scope(own, day, self._record.hidden(deadline), filter)
        # Misspelled words are told by those that the library has; what only hidden documents have, nobody has.
        known = partial(self._engine.information, uncounted=scope.hidden)
        questions = tuple(analysed(text, synonyms, known) for text in query.texts)
        context = SearchContext(
            query=query,
            questions=questions,
            scope=scope,
            registry=registry,
            trusts={name: registry.by_id[name].trust for name in own},
            profile=self.profile(questions[0].script, self._tuned.at(change, deadline), scope.uncounted),
            change=change,
            latest=latest,
            deadline=deadline,
        )
        return context, outside

    def scope(
        self, sources: Iterable[str], day: date, hidden: HiddenDocuments | None, filter: Filter | None = None
    ) -> Scope:
        """What a request may search, and of what its scores take frequencies and means."""
        known = next(iter(self.floors().values()), {}) if hidden is not None else {}
        shared = not known.get(WITHIN_SIGHT, float(not self._settings.shared_statistics))
        return Scope(sources=frozenset(sources), as_of=day, filter=filter, hidden=hidden, shared_statistics=shared)

    def _of_type(self, query: Query, change: int, deadline: Deadline) -> Filter:
        """The request's filter, combined with the one that its engineering type implies."""
        kind = query.engineering_type
        names = frozenset((kind,)) if self._rules is None else self._rules.names_of_type(kind, change, deadline)
        typed = of_type(names, self._united.type_facets)
        return typed if query.filter is None else And((query.filter, typed))

    def _derive(
        self, query: Query, scope: Scope, registry: Sources, change: int, deadline: Deadline
    ) -> Leg[Derived] | None:
        """Start deriving rules; None where none are asked for, or there are none."""
        rules = self._rules
        if query.rules == "none" or rules is None or not rules.known(change):
            return None
        question = RuleQuestion(
            text="\n".join(query.texts)[:MAX_QUERY_CHARS],
            processes=query.processes,
            engineering_type=query.engineering_type,
            parameters=query.parameters,
        )
        given = question, scope, registry.by_id, change, deadline
        vectors = self._vectors if query.by_meaning else None
        embed = None if vectors is None else lambda: vectors.of(without_introduction(query.text), deadline)[0]
        bounded = query.sources is not None or scope.hidden is not None
        return self._executor.begin(
            lambda: rules.derive(*given, min_trust=query.min_trust, embed=embed, bounded=bounded), "rules"
        )

    def _with_rules(
        self, query: Query, ranked: list[tuple[Hit, Passage]], derived: Derived, scope: Scope
    ) -> list[tuple[Hit, Passage]]:
        """Passages and derived rules in one order; beside one another, all of both."""
        answering = {
            hit.passage_id
            for hit, _ in derived.found
            if "asked" not in hit.parts or derived.details[hit.passage_id].get("answers")
        }
        found = list(derived.found)
        information = partial(self._engine.information, uncounted=scope.uncounted)
        if query.rules != "within":
            return unbounded(ranked, found, answering, query.text, information)
        return merge_by_score(ranked, found, answering, query.text, query.limit, information)

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
        scope = self.scope(own, day, self._record.hidden(deadline), query.filter)
        deriving = self._derive(query, scope, registry, change, deadline)
        if deriving is None:
            return self._nothing(change, scope, "the library has no rules")
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
        change = self._engine.sync(self._record, deadline=deadline)
        scope = self.scope((), date.today(), self._record.hidden(deadline))
        return self._topics.told(task_id, change, deadline, scope.uncounted)

    def profile(
        self, script: str, tuning: Tuning | None, uncounted: HiddenDocuments | None = None
    ) -> CollectionProfile:
        """The collection profile for queries in a script, under a tuning.

        Args:
            uncounted: See `Scope.uncounted`.
        """
        known = self.floors().get(script, {})
        if uncounted is not None and WITHIN_SIGHT not in known:
            known = {**known, **self._sight_traits.of(uncounted)}
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
        if WITHIN_SIGHT in known:
            recorded[WITHIN_SIGHT] = known[WITHIN_SIGHT]
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

    def shares(self, candidates: Sequence[int]) -> Mapping[int, float]:
        """The statute factor of each candidate, by passage id; see `OwnLegs.shares`."""
        law = self.profile(SCRIPTS[0], None).traits.law
        factors = self._own.shares(np.array(candidates, np.int64), law, self.limit())
        return dict(zip(candidates, factors.tolist(), strict=True))

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

    def _nothing(self, change: int, scope: Scope, reason: str) -> SearchAnswer:
        return SearchAnswer(
            hits=Ranking(), passages={}, mode=self.mode, floor=0.0, legs=(), generation=change,
            scope=replace(scope, hidden=None),
            reason=reason,
        )  # fmt: skip


def _needless(context: SearchContext, outside: Sequence[Source]) -> str:
    """Why no leg needs to run; ``""`` if one does."""
    if not context.questions[0].wordings.words and context.query.rewriting is None:
        return WORDLESS
    if context.scope.sources or outside:
        return ""
    if not context.registry.by_id:
        return "the library has no source yet: wenyuan add PATH --source ID"
    return "the library has no source that is in force on that day"
