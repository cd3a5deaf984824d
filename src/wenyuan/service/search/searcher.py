"""Search on behalf of agents: scope and query → passages per domain, with summaries and coverage. And the traits of a
library that scoring depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

from wenyuan.core.access import AUTO, CONFIDENCE, Agent, DomainScope, Principal, parse_scope
from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import (
    EngineTimeout,
    EngineUnavailable,
    InvalidRequest,
    KnowledgeError,
    NotFound,
    NotPermitted,
    did_you_mean,
    msg,
)
from wenyuan.core.filters import Filter
from wenyuan.core.learning_records import KeptTuning
from wenyuan.core.model import MAX_QUERY_CHARS, ORIGIN_PRIORITY, Passage
from wenyuan.core.ports import Deadline, Encoder, Engine, Hit, until
from wenyuan.core.query_rewriting import Turn
from wenyuan.core.scoring.answerable import Strictness
from wenyuan.core.scoring.auto_cut import auto_cut
from wenyuan.core.scoring.copies import distinct
from wenyuan.core.scoring.formula import BRIDGE
from wenyuan.core.scoring.law_factor import LAW
from wenyuan.core.scoring.probability import raw_of
from wenyuan.core.text.summaries import summarize
from wenyuan.service.query import Confidence, LegReport, Query, Rewriting, SearchAnswer
from wenyuan.service.search.answer_cache import AnswerCache, CacheCounts, CacheStore, OwnMemory
from wenyuan.service.search.general_texts import SCRIPTS
from wenyuan.service.search.leg_execution import abreast
from wenyuan.service.search.one_state import of_one_state
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.sight_traits import BOTH, FIRST_ARTICLES
from wenyuan.service.search.source_selection import Allowed, Sources
from wenyuan.service.search.sufficiency import Sufficiency, leading, search_missing
from wenyuan.settings import CacheSettings, SearchSettings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


# Collection traits that scoring depends on: languages, statutes and labels.

_MEASURE = 8  # version of what is measured of a library: what another one measured is measured anew
_SAMPLE = 400  # passages that tell which languages there are


class CollectionTraits:
    """Measures the traits of a collection and stores them in the catalog, where searches read them
    (`core.scoring.formula.Traits`).
    """

    def __init__(self, catalog: Catalog, engine: Engine, encoder: Encoder | None, retriever: Retriever) -> None:
        self._catalog, self._engine, self._encoder, self._retriever = catalog, engine, encoder, retriever

    def keep(self) -> None:
        """Measure and store the traits (both languages, statutes) if they changed."""
        known, now = self._catalog.value("floor"), self.under(self._curve())
        if known != now:
            self._catalog.set_value("floor", now)

    def under(self, curve: Mapping[str, float]) -> Mapping[str, Any]:
        """The traits with a learned probability curve (``{}`` for none), by mode and script: see `Traits`."""
        passages, mode = self._catalog.some_passages(_SAMPLE), self._retriever.mode
        chinese = sum(passage.language == "zh" for passage in passages)
        both = bool(passages) and min(chinese, len(passages) - chinese) >= BOTH * len(passages)
        law = LAW if self._engine.information(FIRST_ARTICLES) else 0.0
        labels = float(self._encoder is not None and bool(passages) and not self._catalog.unlabelled())
        traits = {
            "bridge": BRIDGE if both and self._encoder is not None else 0.0, "law": law, "labels": labels, **curve
        }  # fmt: skip
        known = self._catalog.value("floor") or {}
        others = known if known.get("measure") == _MEASURE else {}
        return {**others, mode: dict.fromkeys(SCRIPTS, traits), "measure": _MEASURE}

    def _curve(self) -> Mapping[str, float]:
        """The learned probability curve of the tuning in effect; empty without one."""
        tuning = self._retriever.tuning()
        kept = kept_tuning(self._catalog) if tuning is not None else None
        if tuning is None or kept is None or kept.fingerprint != tuning.fingerprint:
            return {}
        learned: Mapping[str, float] = kept.report.get("curve", {})
        return learned


def kept_tuning(catalog: Catalog) -> KeptTuning | None:
    """The tuning that was adopted last and not undone; None while there is none."""
    last = next(iter(catalog.tunings()[::-1]), None)
    return last if last is not None and last.undone_seq is None else None


LOCAL = Principal()
"""Whoever holds the library object itself: no key is needed, every right is given."""


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search request. It can narrow the rights of its agent, never widen them.

    Attributes:
        agent_id: Whose knowledge scope counts; a principal bound to an agent can name no other.
        knowledge_scope: Domains with their top_k: all of the agent's when None; without an agent, all sources.
        limit: Passages in all, where neither agent nor scope says how many.
        summary: Whether each passage gets its extract of 50-100 tokens; ``generated``: a language model chooses its
            sentences, which `service.generation` checks.
        rules: Derived rules compete with passages for ``top_k``, come beside them, or are not asked for.
        own: Only the library's own sources, none that is asked elsewhere.
        abstain: How likely there must be an answer, in place of the setting; None for the setting. For an agent it may only be stricter.
        nearest: Whether to show the nearest passage of a domain in which nothing is given, see `SearchResult.nearest`.
        conversation: See `core.query_rewriting.conversation`: where it is not None, a language model says the question in other
            words, which are asked, too.
        rewriting: What came of that; made by `service.generation`.
    """

    query: str
    agent_id: str | None = None
    knowledge_scope: tuple[DomainScope, ...] | None = None
    min_trust: int = 1
    filter: Filter | None = None
    as_of: date | None = None
    source_document_uri: str = ""
    task_id: str = ""
    limit: int = 10
    summary: bool | Literal["generated"] = True
    rules: Literal["within", "beside", "none"] = "within"
    own: bool = False
    nearest: bool = False
    abstain: Strictness | None = None
    conversation: tuple[Turn, ...] | None = None
    rewriting: Rewriting | None = None

    def __post_init__(self) -> None:
        text = self.query.strip()
        if not text or len(text) > MAX_QUERY_CHARS:
            raise InvalidRequest(
                msg(
                    "query must have 1 to {max_query_chars} characters, not {count}",
                    max_query_chars=MAX_QUERY_CHARS,
                    count=len(text),
                )
            )
        if type(self.min_trust) is not int or not 1 <= self.min_trust <= 5:
            raise InvalidRequest(
                msg("min_trust must be an integer from 1 to 5, not {min_trust}", min_trust=repr(self.min_trust))
            )
        if type(self.limit) is not int or not 1 <= self.limit <= 100:
            raise InvalidRequest(msg("limit must be an integer from 1 to 100, not {limit}", limit=repr(self.limit)))
        if self.knowledge_scope is not None:
            parse_scope([{"domain": scope.domain, "top_k": scope.top_k} for scope in self.knowledge_scope])


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPassage:
    """One result passage, its domain and extract; a rule also has its `derivation`.

    Attributes:
        copies: Passages that say the same, which are not given themselves.
        calibrated: See `SearchAnswer.calibrated`.
        summary_origin: Who chose the summary, where a language model was to: ``generated`` or ``extractive``.
    """

    hit: Hit
    passage: Passage
    domain: str
    summary: str
    derivation: Mapping[str, Any] = field(default_factory=dict)
    copies: tuple[Passage, ...] = ()
    calibrated: bool = True
    summary_origin: Literal["", "generated", "extractive"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Search results, best first, and the state of each leg.

    Attributes:
        scope: What was searched: domain → ids of its sources.
        reasons: By domain, why nothing was found there.
        stale: Since when each overdue source is, by its id; of now, not of when the answer was kept.
        stale_by: See `SearchAnswer`; what is behind is not kept.
        answerable: The probability that any of what was searched holds an answer: the highest of its domains. None where
            nothing had to be asked.
        missing_terms: Codes and things that the question names and that stand in none of the domains.
        nearest: Of each domain in which an answer is too unlikely, its nearest passage, where that was asked for: no answer and no
            evidence.
        confidence: By domain whose ``top_k`` is ``confidence``, how many passages are given, and why.
        answers: What was asked of each domain and answered, for the audit.
        rewriting: What came of asking for other wordings; None where none were asked for.
    """

    passages: tuple[ResultPassage, ...]
    legs: tuple[LegReport, ...]
    scope: Mapping[str, tuple[str, ...]]
    generation: int
    mode: str
    reasons: Mapping[str, str]
    answers: tuple[tuple[Query, SearchAnswer], ...] = ()
    audit_ids: tuple[str, ...] = ()
    cache_hit: bool = False
    cache_age_ms: float = 0.0
    stale: Mapping[str, str] = field(default_factory=dict)
    stale_by: float = 0.0
    answerable: float | None = None
    missing_terms: tuple[str, ...] = ()
    nearest: tuple[ResultPassage, ...] = ()
    confidence: Mapping[str, Confidence] = field(default_factory=dict)
    rewriting: Rewriting | None = None

    @property
    def degraded(self) -> tuple[str, ...]:
        return tuple(leg.name for leg in self.legs if leg.state == "failed")


_NOISE = 0.09
"""Of the score behind the probability: what scores less is more likely noise than help."""


def _everywhere(missing: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The terms that each domain lacks."""
    return tuple(term for term in missing[0] if all(term in others for others in missing))


@dataclass(frozen=True, slots=True)
class _Area:
    """One domain of a search: its sources, and how many passages to return."""

    domain: str
    sources: tuple[str, ...] | None
    top_k: int | str


class Searcher:
    """Searches on behalf of agents; see `SearchRequest` for the bounds of a search.

    Args:
        store: Where answers are kept; in this process by default.
        search: Says how many passages there are at least and at most where a domain's ``top_k`` is ``auto`` or ``confidence``.
        sufficiency: Says how many suffice where it is ``confidence``.
    """

    def __init__(
        self,
        retriever: Retriever,
        catalog: Catalog,
        settings: CacheSettings,
        store: CacheStore[SearchResult] | None = None,
        search: SearchSettings | None = None,
        *,
        sufficiency: Sufficiency,
    ) -> None:
        self._retriever = retriever
        self.in_time = retriever.in_time
        self._catalog = catalog
        self._sufficiency = sufficiency
        search = search or SearchSettings()
        self._auto = search.auto_least, search.auto_most
        self._noise = _NOISE if search.floor is None else search.floor
        if store is None and settings.seconds > 0:
            most = settings.max_mb * 1_000_000
            store = OwnMemory(seconds=settings.seconds, max_bytes=most, size=_size, state=lambda key: int(key[0]))
        self._cache = AnswerCache(store, keep=_may_be_kept)

    def searches(
        self, requests: Sequence[SearchRequest], principal: Principal
    ) -> Sequence[Callable[[], SearchResult]]:
        """Start several searches that are parts of one request and share its deadline.

        Returns:
            What gives the result of each, or raises as `search` does; to be called in their order.
        """
        deadline = self._retriever.deadline()
        calls = [partial(self.search, request, principal, deadline) for request in requests]
        areas, _ = self._all_areas(requests[0], principal)
        return abreast(calls) if self._waits(areas) else calls

    def search(
        self, request: SearchRequest, principal: Principal = LOCAL, deadline: Deadline | None = None
    ) -> SearchResult:
        """Search, or return the cached result for the same query, rights and library state.

        Args:
            deadline: Of the request that this is a part of; by default it is a whole one.

        Raises:
            InvalidRequest, NotPermitted: an unknown domain, or one that the agent may not ask.
            KnowledgeError: a leg that had to answer did not.
        """
        deadline = deadline or self._retriever.deadline()
        with until(deadline):
            return self._kept_or_found(request, principal, deadline)

    def _kept_or_found(self, request: SearchRequest, principal: Principal, deadline: Deadline) -> SearchResult:
        generation = self._catalog.seq()
        agent = self.agent_of(request.agent_id, principal)
        self._retriever.check_strictness(request.abstain or "", principal)
        min_trust = max(request.min_trust, agent.min_trust if agent else 1)
        registry = self._retriever.registry(generation, deadline)
        areas = self._areas(request, agent, registry)
        told = self._retriever.told(request.task_id, deadline)
        day = request.as_of or date.today()
        seen = _visible_sources(agent, registry, day)
        hidden = self._catalog.hidden(deadline)
        near = (request.source_document_uri, seen) if request.source_document_uri else None
        key = (
            generation, repr(self._retriever.floors()), request.query.strip(), tuple(areas), min_trust,
            repr(request.filter), day, near, told, bool(request.summary), request.rules,
            request.nearest, request.abstain, "" if hidden is None else hidden.digest, self._catalog.conflicts_version(),
            None if request.rewriting is None else (request.rewriting.wordings, request.rewriting.follows, request.rewriting.error),
        )  # fmt: skip
        led: list[bool] = []

        def compute() -> SearchResult:
            led.append(True)
            return self._search(request, areas, min_trust, day, deadline, seen)

        try:
            kept = self._cache.get(key, compute)
        except EngineTimeout:
            if led or deadline.remaining() <= 0:
                raise
            kept = self._cache.get(key, compute)  # a concurrent caller with less time asked the same
        # It may have been found for another task of which the same is told: what is recorded is who asks now.
        text, task, rewriting = request.query.strip(), request.task_id, request.rewriting
        free = None if rewriting is None else replace(rewriting, tokens_in=0, tokens_out=0, cost=0.0)
        answers = tuple(  # the model was asked once, so the record of the first domain has what that took
            (replace(query, text=text, task_id=task, rewriting=free if number else rewriting), answer)
            for number, (query, answer) in enumerate(kept.value.answers)
        )
        result = replace(kept.value, answers=answers, stale=self._retriever.stale(), rewriting=rewriting)
        return replace(result, cache_hit=True, cache_age_ms=kept.age_ms) if kept.hit else result

    def whole(self, request: SearchRequest, principal: Principal) -> Query:
        """The search as a single query over everything it may see, as the record of a failed search needs it."""
        areas, seen = self._all_areas(request, principal)
        names = None if areas[0].sources is None else {name for part in areas for name in part.sources or ()}
        area = _Area("", None if names is None else tuple(sorted(names)), request.limit)
        return _query(request, area, request.min_trust, request.as_of or date.today(), request.limit, seen)

    def _all_areas(self, request: SearchRequest, principal: Principal) -> tuple[list[_Area], tuple[str, ...] | None]:
        """The areas of a request, and the sources that it may see (`_visible_sources`); an empty one where they cannot be read."""
        try:
            agent, registry = self.agent_of(request.agent_id, principal), self._retriever.registry()
            seen = _visible_sources(agent, registry, request.as_of or date.today())
            return self._areas(request, agent, registry), seen
        except KnowledgeError:  # record what can be recorded; the first error gives the reason
            return [_Area("", (), request.limit)], ()

    def forget_answers(self) -> None:
        """Forget the kept answers; KnowledgeError where that cannot be done."""
        self._cache.clear()

    def cache_counts(self) -> CacheCounts:
        """Statistics of the result cache."""
        return self._cache.counts()

    def agent_of(self, agent_id: str | None, principal: Principal) -> Agent | None:
        """The agent of a request; NotFound if there is none, or if the principal is bound to another."""
        if principal.agent_id is not None:
            if agent_id not in (None, principal.agent_id):
                raise NotFound(
                    msg("there is no agent {agent_id}", agent_id=repr(agent_id))
                )  # others' ids are not even confirmed
            agent_id = principal.agent_id
        return None if agent_id is None else self._agent(agent_id)

    def _agent(self, agent_id: str) -> Agent:
        with self._retriever.in_time():
            return self._catalog.agent(agent_id)

    def bounded(self, query: Query, principal: Principal) -> Query:
        """A contract query, narrowed to what the principal's agent may see."""
        if principal.agent_id is None:
            return query
        agent, registry = self._agent(principal.agent_id), self._retriever.registry()
        sources = tuple(sorted(registry.within(_domains(agent))))
        seen = _visible_sources(agent, registry, query.as_of or date.today())
        return replace(query, sources=sources, seen=seen, min_trust=max(query.min_trust, agent.min_trust))

    def allowed(self, principal: Principal) -> Allowed | None:
        """What the principal's agent may see; None (everything) if it is bound to none."""
        agent = self.agent_of(None, principal)
        if agent is None:
            return None
        registry, least = self._retriever.registry(), agent.min_trust
        sources = frozenset(registry.within(_domains(agent)))
        trusted = frozenset(name for name in sources if registry.by_id[name].trust >= least)
        return Allowed(sources=sources, trusted=trusted, min_trust=least)

    def _areas(self, request: SearchRequest, agent: Agent | None, sources: Sources) -> list[_Area]:
        asked = request.knowledge_scope
        if agent is None and asked is None:
            return [_Area("", _indexed_sources(sources, sources.by_id) if request.own else None, request.limit)]
        allowed = {scope.domain: scope for scope in agent.knowledge_scope} if agent else None
        chosen: Sequence[DomainScope] = asked if asked is not None else tuple((allowed or {}).values())
        areas = []
        for scope in chosen:
            if allowed is not None and scope.domain not in allowed:  # told alike whether there is such a domain
                near = did_you_mean(scope.domain, allowed)
                raise NotPermitted(
                    msg(
                        "the agent's knowledge scope does not hold the domain {domain}{near}",
                        domain=repr(scope.domain),
                        near=near,
                    )
                )
            # A domain of the scope may have lost its last source: the agent's other ones answer all the same.
            found = sources.of_domain(scope.domain) if allowed is None else sources.within({scope.domain})
            areas.append(
                _Area(scope.domain, _indexed_sources(sources, found) if request.own else tuple(found), scope.top_k)
            )
        return areas

    def trusts(self, request: SearchRequest, principal: Principal) -> frozenset[int]:
        """Trust of the sources that a search may see, independent of the trust that it asks for."""
        agent, registry = self.agent_of(request.agent_id, principal), self._retriever.registry()
        day, least = request.as_of or date.today(), agent.min_trust if agent else 1
        named = [area.sources for area in self._areas(request, agent, registry)]
        seen = {name for some in named for name in (registry.by_id if some is None else some)}
        trusts = (registry.by_id[name].trust for name in seen if registry.in_force(name, day))
        return frozenset(trust for trust in trusts if trust >= least)

    def _waits(self, areas: Sequence[_Area]) -> bool:
        """Whether a search asks anything that may hang, so that it may take the whole deadline."""
        known = self._retriever.registry().by_id
        names = {name for area in areas for name in (known if area.sources is None else area.sources)}
        return (
            self._retriever.reranking.reranker is not None
            or (self._sufficiency.waits and any(area.top_k == CONFIDENCE for area in areas))
            or any(name in known and known[name].type != "static_doc" for name in names)
        )

    def _search(
        self, request: SearchRequest, areas: Sequence[_Area], min_trust: int, day: date, deadline: Deadline,
        seen: tuple[str, ...] | None,
    ) -> SearchResult:  # fmt: skip
        asked = [_query(request, area, min_trust, day, self._auto[1], seen) for area in areas]
        calls = [partial(self._part, area, query, deadline) for area, query in zip(areas, asked, strict=True)]
        # Else what hangs in one domain, and may, would leave the next one no time for what it must do.
        parts = [part() for part in abreast(calls)] if self._waits(areas) else of_one_state(calls, deadline)
        answers = []
        found: list[ResultPassage] = []
        for area, (answer, hits) in zip(areas, parts, strict=True):
            answers.append((area, answer))
            found += [_result_item(request, answer, hit, area.domain) for hit in hits]
        first: dict[int, ResultPassage] = {}  # a rule may be in two domains
        for one in found:
            first.setdefault(one.passage.passage_id, one)
        # What is equal in both stays in the order in which it was answered.
        found = sorted(first.values(), key=lambda f: (-f.hit.score, ORIGIN_PRIORITY[f.hit.origin]))
        found = _once(found) if len(areas) > 1 else found
        legs = tuple(leg for _, answer in answers for leg in answer.legs)
        if not found and (down := [leg for leg in legs if leg.state == "failed"]):
            raise EngineUnavailable(
                msg("nothing was found, and {error}", error=down[0].error), component=down[0].name
            )
        return SearchResult(
            passages=tuple(found),
            legs=legs,
            scope={area.domain: area.sources or () for area in areas},
            generation=(oldest := min(answer.generation for _, answer in answers)),
            mode=answers[0][1].mode,
            reasons={area.domain: why for area, answer in answers if (why := _reason(area, answer))},
            answers=tuple(
                (_followed(query, answer), answer) for query, (_, answer) in zip(asked, answers, strict=True)
            ),
            stale_by=max(
                *(answer.stale_by for _, answer in answers),
                self._catalog.lag(oldest) if any(answer.generation > oldest for _, answer in answers) else 0.0,
            ),
            answerable=max((a.answerable for _, a in answers if a.answerable is not None), default=None),
            missing_terms=_everywhere([answer.missing_terms for _, answer in answers]),
            nearest=tuple(
                _domain_item(request, answer, *answer.nearest, area.domain)
                for area, answer in answers
                if answer.nearest
            ),
            confidence={area.domain: answer.confidence for area, answer in answers if answer.confidence is not None},
        )

    def _part(self, area: _Area, query: Query, deadline: Deadline) -> tuple[SearchAnswer, list[Hit]]:
        """The answer of one area, and the hits of it that are given."""
        answer = self._retriever.retrieve(query, deadline)
        hits, (low, high) = list(answer.hits), self._auto
        if area.top_k == CONFIDENCE and hits:
            registry = self._retriever.registry(deadline=deadline)  # of now: what may be shown may have changed
            first = answer
            answer = self._sufficiency.judged(
                query, first, registry.by_id, low, deadline,
                lambda missing: search_missing(self._retriever, missing, first, deadline),
            )  # fmt: skip
            if answer.confidence is not None and answer.confidence.state != "auto":
                return answer, leading(list(answer.hits), answer.confidence.k, beside=query.rules == "beside")
        if area.top_k in (AUTO, CONFIDENCE):
            hits = hits[: auto_cut(falling(hits), low=low, high=high, floor=self._noise)]
        if answer.confidence is not None:
            k = sum(hit.origin != "kg_rule" for hit in hits)
            answer = replace(answer, confidence=replace(answer.confidence, k=k))
        return answer, hits


def _indexed_sources(sources: Sources, names: Iterable[str]) -> tuple[str, ...]:
    """The sources that are in the library's own index."""
    return tuple(name for name in names if sources.by_id[name].type == "static_doc")


def _reason(area: _Area, answer: SearchAnswer) -> str:
    """Why an area has no results."""
    return "no source has this domain any more" if area.sources == () else answer.reason


def _followed(query: Query, answer: SearchAnswer) -> Query:
    """A query with the follow-up that was searched, too."""
    follow_up = None if answer.confidence is None else answer.confidence.follow_up
    return query if follow_up is None else replace(query, follow_up=follow_up.query)


def falling(hits: Sequence[Hit]) -> list[float]:
    """The scores behind the probabilities, which spread more evenly, with rules and external hits in between."""
    return list(accumulate((raw_of(hit) for hit in hits), min))


def _domains(agent: Agent) -> set[str]:
    return {scope.domain for scope in agent.knowledge_scope}


def _visible_sources(agent: Agent | None, registry: Sources, day: date) -> tuple[str, ...] | None:
    """All sources that an agent may see on a day, whatever the request narrows; None without an agent."""
    if agent is None:
        return None
    names = registry.within(_domains(agent))
    return tuple(sorted(n for n in names if registry.by_id[n].trust >= agent.min_trust and registry.in_force(n, day)))


def _query(
    request: SearchRequest, area: _Area, min_trust: int, day: date, most: int, seen: tuple[str, ...] | None
) -> Query:
    return Query(
        text=request.query.strip(),
        limit=area.top_k if isinstance(area.top_k, int) else most,
        sources=area.sources,
        seen=seen,
        min_trust=min_trust,
        filter=request.filter,
        as_of=day,
        source_document_uri=request.source_document_uri,
        task_id=request.task_id,
        partial=True,
        rules=request.rules,
        rewriting=request.rewriting,
        nearest=request.nearest,
        abstain=request.abstain or "",
    )


def _result_item(request: SearchRequest, answer: SearchAnswer, hit: Hit, domain: str) -> ResultPassage:
    return _domain_item(request, answer, hit, answer.passages[hit.passage_id], domain)


def _domain_item(
    request: SearchRequest, answer: SearchAnswer, hit: Hit, passage: Passage, domain: str
) -> ResultPassage:
    summary = summarize(passage.text, request.query, language=passage.language).text if request.summary else ""
    derivation = {} if answer.derived is None else answer.derived.details.get(hit.passage_id, {})
    copies = answer.copies.get(hit.passage_id, ())
    domain = domain or passage.domain
    return ResultPassage(
        hit=hit, passage=passage, domain=domain, summary=summary, derivation=derivation, copies=copies,
        calibrated=answer.calibrated or "raw" not in hit.parts,
    )  # fmt: skip


def _once(found: Sequence[ResultPassage]) -> list[ResultPassage]:
    """Results without copies of passages that another domain already gave."""
    of = {f.passage.passage_id: f for f in found}
    kept, copies = distinct([(f.hit, f.passage) for f in found])
    given = (of[hit.passage_id] for hit, _ in kept)
    return [replace(f, copies=(*f.copies, *copies.get(f.passage.passage_id, ()))) for f in given]


def _may_be_kept(key: Any, result: SearchResult) -> bool:
    """Whether a result is complete and current, so that it may be cached under the change it began with."""
    return not result.degraded and result.generation >= key[0]


def _size(result: SearchResult) -> int:
    return 3_000 + sum(
        4 * len(f.passage.text) + 4 * len(f.summary) + 1_600 for f in (*result.passages, *result.nearest)
    )
