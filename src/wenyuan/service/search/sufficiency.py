"""Decides how many passages suffice where ``top_k`` is ``confidence``, by a calibrated judge.

The judge is asked whether the first 1, 3, 5, 8 … passages suffice, and its calibrated probability decides
(`core.scoring.risk`). It sees no text that a language model may not see. Where it cannot be asked, or is not
calibrated, scores decide, and the leg ``judge`` gives the reason. Where nothing sufficed, it may be asked once what is
missing, which is searched, too. What leaves this process is the question as it is kept,
that is redacted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from wenyuan.core.answering import Shown, shown_of
from wenyuan.core.errors import KnowledgeError, LlmError, LlmTimeout, LlmUnavailable, RerankerError, RerankerTimeout
from wenyuan.core.learning_records import KeptCalibration
from wenyuan.core.model import Passage, Source
from wenyuan.core.ports import Deadline, Hit, Judge, WritingJudge
from wenyuan.core.query_rewriting import fault_of_follow_up
from wenyuan.core.scoring.risk import Calibration
from wenyuan.core.source_entries import kept_from_model
from wenyuan.core.text.injection import visible
from wenyuan.service.ingest.question_redaction import Questions
from wenyuan.service.query import Confidence, FollowUp, LegReport, Query, SearchAnswer
from wenyuan.service.search.change_cache import PerChange
from wenyuan.service.search.leg_execution import LegMeter
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.traces import LegTrace, Traces
from wenyuan.service.search.wordings import followed
from wenyuan.settings import JudgeSettings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


LEG = "judge"


def shown_to_model(
    passages: Sequence[Passage], sources: Mapping[str, Source], most: str, catalog: Catalog
) -> tuple[list[Shown], Mapping[str, tuple[str, ...]]]:
    """The parts of passages that a language model may see; and the refs of those it may not, by reason.

    Args:
        most: The highest sensitivity that it may be shown.
    """
    withheld: dict[str, tuple[str, ...]] = {}
    open_ = []
    for passage in passages:
        source = sources.get(passage.source_id)  # it may have been removed since the search
        why = "removed" if source is None else kept_from_model(source, most)
        if why:
            withheld[why] = (*withheld.get(why, ()), passage.ref)
        else:
            open_.append(passage)
    documents = {passage.document_id for passage in open_ if passage.copyright}
    shown, closed = shown_of(open_, catalog.document_chars(documents) if documents else {})
    if closed:
        withheld["copyright"] = tuple(passage.ref for passage in closed)
    return shown, withheld


class _NotAsked(Exception):
    """Raised when the judge cannot be used; the message gives the reason."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sufficiency:
    """Asks the library's judge and applies its calibration.

    Attributes:
        judge: None: none is set up.
        writer: The judge, where it is asked what is missing; None where it is not.
        questions: Redacts what a judge elsewhere is told, as it does stored questions.
        meter: Of the leg ``judge``, as often as the judge was asked.
        traces: Where they are switched on, also of that leg.
    """

    judge: Judge | None
    settings: JudgeSettings
    catalog: Catalog
    questions: Questions
    writer: WritingJudge | None = None
    meter: LegMeter = field(default_factory=LegMeter)
    traces: Traces | None = None

    @cached_property
    def _calibrations(self) -> PerChange[KeptCalibration | None]:
        return PerChange(self.catalog.calibration_at)

    @property
    def waits(self) -> bool:
        """Whether the judge is asked over the network."""
        return self.judge is not None and not self.judge.local

    def calibration(self, change: int, deadline: Deadline | None = None) -> KeptCalibration | None:
        """The calibration of this judge that is in effect at a change; None without one."""
        if self.judge is None:
            return None
        kept = self._calibrations.at(change, deadline)
        return kept if kept is not None and kept.calibration.judge == self.judge.fingerprint else None

    def judged(
        self, query: Query, answer: SearchAnswer, sources: Mapping[str, Source], least: int, deadline: Deadline,
        search: Callable[[Query], SearchAnswer],
    ) -> SearchAnswer:  # fmt: skip
        """An answer with the number of sufficient passages (`SearchAnswer.confidence`) and the report of the leg ``judge``; with
        what was found for what is missing, where the judge names it.

        Args:
            sources: By id.
            least: Passages to give at least.
            search: Gives the answer united with what is found for a query's follow-up.

        Raises:
            LlmError, RerankerError: the judge is required, and cannot be asked.
        """
        trace = None if self.traces is None or self.judge is None else self.traces.after(LEG)
        call = partial(self._judge, query, answer, sources, least, deadline, search, trace)
        return call() if trace is None else trace.run(call)

    def _judge(
        self, query: Query, answer: SearchAnswer, sources: Mapping[str, Source], least: int, deadline: Deadline,
        search: Callable[[Query], SearchAnswer], trace: LegTrace | None,
    ) -> SearchAnswer:  # fmt: skip
        begun = time.perf_counter()
        try:
            found = self._ask_judge(query.whole, answer, sources, least, deadline)
        except (_NotAsked, LlmError, RerankerError) as error:
            if not isinstance(error, _NotAsked):
                late = isinstance(error, LlmTimeout | RerankerTimeout)
                self._count("timeout" if late else "failed", time.perf_counter() - begun, trace)
            if self.settings.required:
                raise self._failure(error) from error
            state = "skipped" if isinstance(error, _NotAsked) else "failed"
            found = Confidence(state="auto", reason=str(error))
            leg = LegReport(name=LEG, state=state, ms=_since(begun), hits=0, error=str(error))
        else:
            why = ""
            if self.writer is not None and found.state == "all" and found.asked:
                left = self.settings.timeout - (time.perf_counter() - begun)
                answer, follow_up = self._followed(self.writer, query, answer, sources, deadline.within(left), search)
                found = replace(found, k=len(passages_of(answer)), follow_up=follow_up)
                why = follow_up.error
            leg = LegReport(name=LEG, state="failed" if why else "ok", ms=_since(begun), hits=found.k, error=why)
            if found.asked:
                self._count(leg.state, leg.ms / 1e3, trace)
        return replace(answer, confidence=found, legs=(*answer.legs, leg))

    def _count(self, state: str, seconds: float, trace: LegTrace | None) -> None:
        """Count a question for which the judge was asked. The trace of one for which it was not is dropped."""
        self.meter.add((LEG, "", state), seconds)
        if trace is not None:
            trace.end(state)

    def told(self, question: str, change: int) -> str:
        """A question as the judge is told it.

        Args:
            change: Of the catalog.

        Raises:
            LlmUnavailable: it may not leave unredacted, and cannot be redacted.
        """
        return self.questions.sent(question, change) if self.waits else question

    def shown(
        self, passages: Sequence[Passage], sources: Mapping[str, Source], steps: Sequence[int]
    ) -> list[tuple[int, tuple[str, ...]]]:
        """What the judge sees of the first k passages, for each k at which it sees anything and more passages follow.

        A judge in this process may read everything: nothing leaves. One elsewhere is not shown what other services answered.
        """
        texts = self._texts(passages, sources)
        told = ((k, tuple(texts[p.passage_id] for p in passages[:k] if p.passage_id in texts)) for k in steps)
        return [(k, shown) for k, shown in told if shown and k < len(passages)]

    def _texts(self, passages: Sequence[Passage], sources: Mapping[str, Source]) -> dict[int, str]:
        """What the judge may see of passages, by id."""
        if self.waits:
            own = [passage for passage in passages if passage.passage_id > 0]
            open_, _ = shown_to_model(own, sources, self.settings.max_sensitivity, self.catalog)
        else:
            open_ = [Shown(passage, passage.text) for passage in passages]
        return {one.passage.passage_id: _text(one) for one in open_}

    def _followed(
        self, writer: WritingJudge, query: Query, answer: SearchAnswer, sources: Mapping[str, Source], until: Deadline,
        search: Callable[[Query], SearchAnswer],
    ) -> tuple[SearchAnswer, FollowUp]:  # fmt: skip
        """The answer with what was found for what the judge says is missing. A failure leaves the answer as it is.

        Raises:
            KnowledgeError: the judge is required, and it or the search failed.
        """
        before = passages_of(answer)
        shown = tuple(self._texts(before, sources).values())
        try:
            question = self.told(query.whole, answer.generation)
            text = writer.missing(question, shown, deadline=until)
            if not text:
                return answer, FollowUp(state="nothing")
            if fault := fault_of_follow_up(text, question, shown):
                return answer, FollowUp(state="refused", refused=fault)
            text = self.questions.sent(text, answer.generation)
            answer = search(replace(query, follow_up=text))
        except KnowledgeError as error:
            if self.settings.required:
                raise
            return answer, FollowUp(state="failed", error=str(error))
        known = {passage.passage_id for passage in before}
        found = sum(passage.passage_id not in known for passage in passages_of(answer))
        return answer, FollowUp(state="searched", query=text, found=found)

    def _ask_judge(
        self, question: str, answer: SearchAnswer, sources: Mapping[str, Source], least: int, deadline: Deadline
    ) -> Confidence:
        """The number of passages that suffice according to the judge; raises where it cannot be asked."""
        if self.judge is None:
            raise _NotAsked("no judge is set up: judge.dialect names one")
        kept = self.calibration(answer.generation, deadline)
        if kept is None:
            raise _NotAsked("the judge is not calibrated for this library: wenyuan tune --judge --golden FILE")
        fit, passages = kept.calibration, passages_of(answer)
        found = Confidence(
            state="all", k=len(passages), judge=self.judge.model, threshold=fit.threshold, risk=fit.risk,
            questions=fit.questions, calibration=kept.calibration_id,
        )  # fmt: skip
        steps = [k for k in fit.steps if least <= k < len(passages)]
        told = self.shown(passages, sources, steps)
        if steps and not told:
            raise _NotAsked("nothing of what was found may be shown to the judge")
        until = deadline.within(self.settings.timeout)
        question = self.told(question, answer.generation) if told else ""
        for k, shown in told:
            raw = self.judge.sufficiency(question, shown, deadline=until)
            p = fit.curve.probability(raw)
            found = replace(found, asked=(*found.asked, (k, raw, p)))
            if p >= fit.threshold:
                return replace(found, state="stopped", k=k)
        return found

    def _failure(self, error: Exception) -> Exception:
        if not isinstance(error, _NotAsked):
            return error
        return LlmUnavailable(
            str(error), component=LEG, hint="judge.required = false lets scores decide where the judge cannot"
        )


def passages_of(answer: SearchAnswer) -> list[Passage]:
    """The passages of an answer in their order, without derived rules."""
    return [answer.passages[hit.passage_id] for hit in answer.hits if hit.origin != "kg_rule"]


def leading(hits: Sequence[Hit], k: int, *, beside: bool) -> list[Hit]:
    """The first k passages, with the rules ranked among them; with all rules where rules are beside passages."""
    kept: list[Hit] = []
    for hit in hits:
        rule = hit.origin == "kg_rule"
        if k > 0 or (rule and beside):
            kept.append(hit)
        k -= not rule
    return kept


def k_again(judged: Mapping[str, Any], calibration: Calibration | None) -> str:
    """The number of passages to which a judge's recorded numbers lead under a calibration: a number, ``all`` or
    ``auto``.
    """
    if calibration is None or judged["state"] == "auto":
        return "auto"
    said = ((k, calibration.curve.probability(raw)) for k, raw, _ in judged["asked"])
    return next((str(k) for k, p in said if p >= calibration.threshold), "all")


def _text(shown: Shown) -> str:
    passage = shown.passage
    place = visible(" > ".join(filter(None, (passage.title, *passage.headings))))
    return f"{place}\n{shown.text}" if place else shown.text


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1e3


# The second search for what the first one lacked: of the library's own sources, within the scope of the first.


def search_missing(retriever: Retriever, query: Query, first: SearchAnswer, deadline: Deadline) -> SearchAnswer:
    """An answer united with what is found for the query's follow-up.

    Args:
        first: The answer to the query without it. Where the library changed since, it is asked again.

    Raises:
        KnowledgeError: a required leg failed.
    """
    while True:  # the deadline ends it
        sources = tuple(sorted(first.scope.sources)) if first.scope is not None else ()
        more = retriever.retrieve(
            replace(
                query, text=query.follow_up, follow_up="", sources=sources, rules="none", rewriting=None, partial=True
            ),
            deadline,
        )
        if more.generation == first.generation:
            return followed(query, first, more)
        first = retriever.retrieve(replace(query, follow_up=""), deadline)


def retrieve_whole(retriever: Retriever, query: Query) -> SearchAnswer:
    """As `Retriever.retrieve`, for a recorded query that may have a follow-up.

    Raises:
        KnowledgeError: a required leg failed.
    """
    deadline = retriever.deadline()
    first = retriever.retrieve(replace(query, follow_up=""), deadline)
    return search_missing(retriever, query, first, deadline) if query.follow_up else first
