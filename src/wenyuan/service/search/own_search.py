"""The library's own passages for a question: candidates of both legs → guard → adjust → without copies → is there an
answer? → probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline, Engine, Hit
from wenyuan.core.principals import reading_as
from wenyuan.core.scoring.answerable import FIRST
from wenyuan.core.scoring.copies import Copies, distinct
from wenyuan.core.scoring.fusion import (
    NO_CANDIDATES,
    Candidates,
    Leeway,
    Reference,
    Request,
    Topic,
    adjusted,
    missing_place,
    title_terms,
)
from wenyuan.core.scoring.probability import NEAR, Field, candidate
from wenyuan.service.search.abstention import Abstention
from wenyuan.service.search.candidates import Cutoff, Ranked, above, guard
from wenyuan.service.search.change_cache import Record
from wenyuan.service.search.coverage import Coverage, word_matches
from wenyuan.service.search.legs import LegOutput, LegRequest, OwnLegs
from wenyuan.service.search.question import AnalysedQuery
from wenyuan.service.search.reranking import Reranking, ordered
from wenyuan.service.search.search_context import SearchContext
from wenyuan.service.search.topic import TopicReader
from wenyuan.service.search.wordings import Searched, united
from wenyuan.settings import SearchSettings

WORDLESS = "the query has no word or character to search for"
_DEEPER = 2
_SPARE = 10
"""Candidates besides those that are wanted: some may be copies of others, and rivals are counted without copies."""
_COMPARED = 2 * NEAR
"""With how many of the first, by either score, the others are compared to find copies: only they are given, or rivals."""
_WAITS_FOR_INDEX = 0.5  # of a request's time; then what else was found is given, and said to be behind


class PassagesMoved(Exception):
    """Passages were removed from the catalog while the index was searched; the search must be repeated."""


class OwnSearch:
    """Searches the library's own index.

    Args:
        templates: The collection whose passages are templates.
    """

    def __init__(
        self, record: Record, engine: Engine, legs: OwnLegs, topics: TopicReader, abstention: Abstention,
        reranking: Reranking, settings: SearchSettings, *, templates: str,
    ) -> None:  # fmt: skip
        self._record, self._engine = record, engine
        self._legs, self._topics, self._abstention = legs, topics, abstention
        self._reranking, self._settings, self._templates = reranking, settings, templates

    def search(self, context: SearchContext) -> Searched:
        """Each passage that may be given with its probability, best first; nothing where an answer is unlikely.

        Raises:
            PassagesMoved: what the index found is no longer what the catalog has.
            KnowledgeError: a leg failed.
        """
        if context.query.rewriting is None:
            return self._searched(context, context.questions[0])
        parts = [
            self._searched(context, question)
            if question.wordings.words
            else Searched([], {}, [], WORDLESS, 0.0, question.wordings)
            for question in context.questions
        ]
        return united(parts, context.query.rewriting, copies=context.profile.copies)

    def _searched(self, context: SearchContext, question: AnalysedQuery) -> Searched:
        """Search for one wording of the question."""
        query, profile = context.query, context.profile
        abstention = self._abstention.at(query.abstain)
        floor = abstention.floor
        found, ranked, copies = self._candidates(context, question, floor)
        coverage = Coverage(question.subject, question.script, question.meant)
        coverage.compare([passage for _, passage in ranked[:FIRST]])
        bounds = coverage, context.scope, context.deadline
        verdict = abstention.verdict(question, found, ranked, *bounds)
        why = verdict.why
        if query.nearest and floor and not ranked and len(found.candidates.scores):
            found, ranked, copies = self._candidates(context, question, None)  # what lies below it can be the nearest
            if ranked:
                verdict = abstention.verdict(question, found, ranked, *bounds)
        if ranked and (query.nearest or not why):
            copied = [copy.passage_id for same in copies.values() for copy in same]
            words = word_matches(ranked, coverage)
            rivals = found.candidates.taken(~np.isin(found.candidates.passage_ids, copied)).ordered()
            field = Field(
                [candidate(hit, words) for hit in rivals.taken(slice(NEAR)).hits()],
                profile.curve,
                verdict.probability,
            )
            hits = field.settled([hit for hit, _ in ranked], words)
            ranked = ordered(list(zip(hits, (passage for _, passage in ranked), strict=True)))
        given = () if why else ranked
        place = question.reference and missing_place(question.text, question.reference, (p for _, p in given))
        why = place or why
        nearest = ranked[0] if why and query.nearest and ranked else None
        if why:
            copies = {hit.passage_id: copies.get(hit.passage_id, ()) for hit, _ in filter(None, [nearest])}
        return Searched(
            [] if why else ranked, copies, found.reports, why, verdict.probability, question.wordings,
            verdict.missing, nearest,
        )  # fmt: skip

    def _candidates(
        self, context: SearchContext, question: AnalysedQuery, floor: float | None
    ) -> tuple[LegOutput, Ranked, Copies]:
        """What the legs found, the best candidates without copies (as many as are wanted, if there are so many), and
        the copies of each; none where the best scores less than `floor`.
        """
        query, profile = context.query, context.profile
        topic = None
        if context.has_topic:
            topic = self._topics.of(
                replace(query, text=question.text), context.scope, context.change, context.deadline
            )
        depth = max(self._settings.depth, 2 * query.limit)
        if question.names:  # a place that is named may share little else with the query
            depth *= _DEEPER
        request = LegRequest(
            query=question, scope=context.scope, depth=depth, profile=profile, deadline=context.deadline
        )
        if question.reference and question.reference.named:  # that can lift the last one of all, whatever its statute
            request = replace(request, profile=replace(profile, traits=replace(profile.traits, law=0.0)))
        wanted = max(self._reranking.reach(query.limit), FIRST)
        reach = wanted if profile.copies else wanted + max(wanted, _SPARE)
        while True:
            cut = Cutoff.of(floor, reach, context.trusts.values(), context.has_topic)
            found = LegOutput(NO_CANDIDATES, [], None)
            if context.scope.sources:
                found = self._legs.found(request if question.reference else replace(request, cut=cut))
            ranked = self._ranked(found.candidates, topic, question.reference, cut, context)
            if profile.copies:  # they are given, too, as answers of a former version did
                return found, ordered(ranked), {}
            ranked.sort(key=_preferred)
            first = [hit.passage_id for hit, _ in ranked[: max(wanted, _COMPARED)]]
            kept, copies = distinct(ranked, {*first, *found.candidates.passage_ids[:_COMPARED].tolist()})
            if len(kept) >= wanted or len(ranked) < reach:
                return found, ordered(kept), copies
            reach *= 4

    def _passages(self, candidates: Sequence[Hit], deadline: Deadline) -> Mapping[int, Passage]:
        """The passages of candidates, hidden ones too: else the guard could not tell what is hidden from what is gone."""
        with reading_as(None):
            return self._record.passages([hit.passage_id for hit in candidates], deadline)

    def _ranked(
        self,
        found: Candidates,
        topic: Topic | None,
        reference: Reference | None,
        cut: Cutoff,
        context: SearchContext,
    ) -> Ranked:
        """The candidates that count, after adjustment."""
        if reference:  # a named place counts however little else its text shares with the query: the floor comes last
            naming = self._legs.naming(reference, found.passage_ids.tolist(), context.scope, context.deadline)
            candidates = cut.placed(found, naming).hits()
        else:
            candidates = cut.liftable(found.taken(above(found.scores, cut.floor))).hits()
        passages = self._passages(candidates, context.deadline)
        moved = len(passages) < len(candidates) and self._record.seq() != context.change
        if moved and context.deadline.remaining() > self._settings.deadline * _WAITS_FOR_INDEX:
            raise PassagesMoved
        guard(passages.values(), context.scope)
        said = reference.terms().union(*map(title_terms, passages.values())) if reference else ()
        told = self._engine.information(sorted(said), uncounted=context.scope.uncounted) if said else {}
        leeway = Leeway() if topic is None else Leeway.among(found.scores[:NEAR].tolist())
        request = Request(topic=topic, leeway=leeway, reference=reference, information=told)
        ranked = []
        for hit in candidates:
            passage = passages.get(hit.passage_id)
            if passage is None:
                continue  # the record has the last word
            if passage.recognition is not None and passage.recognition.confidence < self._settings.min_confidence:
                continue
            settled = adjusted(hit, passage, request)
            template = passage.collection == self._templates
            ranked.append((settled._replace(origin="template") if template else settled, passage))
        if reference:
            scores = np.array([hit.score for hit, _ in ranked])
            named = np.array([hit.parts.get("identifier", 0.0) > 0.0 for hit, _ in ranked], bool)
            ranked = list(compress(ranked, above(scores, cut.floor, named)))
        if moved and not ranked:  # that there is nothing else is unknown
            raise PassagesMoved
        return ranked


def _preferred(pair: tuple[Hit, Passage]) -> tuple[float, int]:
    """Sort key for choosing among copies: score, then trust."""
    hit, _ = pair
    return -hit.score * hit.parts.get("trust", 1.0), hit.passage_id
