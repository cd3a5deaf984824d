"""Calibrating the judge: from questions whose answers are known to a threshold that keeps the stated risk, or to none.

::

    resolve                 addresses → passages; questions that must not be answered count, too: nothing suffices for them
    Retriever.retrieve      each question, of all sources of the library's own; which of its first k passages answer is known
    Judge.sufficiency       at 1, 3, 5, 8 … passages, as in a search
    compared                judge and retrieval probability, each calibrated on the other folds (`core.scoring.risk`)
    threshold               how sure the judge must be for the risk that is asked for

It is adopted only where it beats the library's own probability on questions that it was not calibrated on, and where a threshold
keeps the risk. That is a change of the library like any other: it can be undone, and a replay knows it.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Literal

import numpy as np

from wenyuan.core.errors import InvalidRequest, LlmUnavailable, NotFound, msg
from wenyuan.core.filters import Scope
from wenyuan.core.learning_records import KeptCalibration, QuestionAddress
from wenyuan.core.model import Passage, RetrievalRequest
from wenyuan.core.ports import Judge
from wenyuan.core.scoring.auto_cut import auto_cut
from wenyuan.core.scoring.curve_fit import Floats
from wenyuan.core.scoring.folds import deal
from wenyuan.core.scoring.risk import (
    Calibration,
    Compared,
    Flags,
    allowed,
    bound_of,
    compared,
    highest_wrong,
    least_questions,
    monotone,
    steps_below,
    threshold,
)
from wenyuan.core.text.analysis import query_terms
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.learning.lessons import Lesson, TrainingPassages, load_holdings, resolve
from wenyuan.service.learning.training import Step
from wenyuan.service.queries import query_of
from wenyuan.service.query import SearchAnswer
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import falling
from wenyuan.service.search.sufficiency import Sufficiency, passages_of
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

LEAST_QUESTIONS = 40
"""With fewer, folds are too small to tell a better judge from an accident: a judgement, as for tunings."""
_PATIENT = 60.0  # seconds for one question
_SHOWN = 20  # addresses that lead nowhere, in a report

Outcome = Literal["adopted", "would be adopted", "no better", "never sure", "too few"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """The result of calibrating a judge.

    Attributes:
        judge: Its model.
        questions: How many it was calibrated on, or would have been.
        needed: How many are needed at least, for the risk that is asked for.
        unknown: How many addresses lead nowhere; `examples` are some of them, with where they stand.
        steps: Numbers of passages at which it was asked.
        compared: How it did beside the library's own probability, on held-out questions; None where questions are too few.
        threshold: How sure it must be (calibrated); None: it is never sure enough.
        risk: What was asked for: stopped though not sufficient, at most.
        lost: How many of the questions are stopped too early at this threshold; `allowed` is the most for the risk.
        passages: The mean number of passages given: as scores say, and as the judge says.
        sufficient: The share of questions for which these suffice, likewise.
        calibration_id: Of what was adopted; None when nothing was.
    """

    outcome: Outcome
    judge: str
    questions: int
    needed: int
    unknown: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    steps: tuple[int, ...] = ()
    compared: Compared | None = None
    threshold: float | None = None
    risk: float = 0.0
    lost: int = 0
    allowed: int = 0
    passages: tuple[float, float] = (0.0, 0.0)
    sufficient: tuple[float, float] = (0.0, 0.0)
    calibration_id: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A question, the library's answer, and the number of leading passages that suffice (None: no number does)."""

    text: str
    answer: SearchAnswer
    passages: Sequence[Passage]
    enough: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """The judge's and the library's numbers, ``(questions, steps)`` each; NaN where the judge is not asked."""

    questions: Sequence[_Question]
    steps: tuple[int, ...]
    raw: Floats
    own: Floats
    sufficient: Flags


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeTuner:
    """Calibrates the judge of a library."""

    settings: Settings
    catalog: Catalog
    recorder: AuditRecorder
    retriever: Retriever
    sufficiency: Sufficiency

    def tune_judge(
        self,
        pairs: Sequence[QuestionAddress],
        *,
        sources: Collection[str] | None = None,
        dry_run: bool = False,
        step: Step = lambda stage, done, total: None,
    ) -> JudgeReport:
        """Ask the judge about questions whose answers are known; adopt its calibration if it may be believed.

        Args:
            sources: Only answers in these count; None for all.
            dry_run: Adopt nothing.
            step: Told how far it is: ``(stage, done, total)``, stages ``read``, ``ask``, ``judge``.

        Raises:
            LlmError, RerankerError: there is no judge, or it failed.
            InvalidRequest: no pair leads to a passage.
            CatalogBusy: another process is writing.
        """
        begun = time.monotonic()
        judge = self.sufficiency.judge
        if judge is None:
            raise LlmUnavailable(
                "no judge is set up: judge.dialect names one", component="judge", hint="see docs/judge.md"
            )
        risk = self.settings.judge.risk
        questions, unknown = self._answers(pairs, sources, step)
        report = JudgeReport(
            outcome="too few", judge=judge.model, questions=len(questions), risk=risk,
            needed=max(LEAST_QUESTIONS, least_questions(risk)), unknown=len(unknown),
            examples=tuple((pair.answer, pair.where) for pair in unknown[:_SHOWN]),
        )  # fmt: skip
        if report.questions >= report.needed:
            course = self._course(judge, questions, step)
            report = self._verdict(judge, course, report, dry_run=dry_run)
        return replace(report, seconds=round(time.monotonic() - begun, 1))

    def undo_judge(self) -> KeptCalibration:
        """End the current calibration: ``confidence`` is decided by scores again.

        Raises:
            NotFound: there is none.
        """
        kept = self.judge_calibration()
        if kept is None:
            raise NotFound("the library has no calibrated judge", hint="wenyuan tune --judge --golden FILE")
        self.catalog.undo_calibration()
        self.recorder.changed("tuning", "removed", f"judge {kept.calibration_id}", _calibration_entry(kept), None)
        return kept

    def judge_calibration(self) -> KeptCalibration | None:
        """The active calibration, of any judge; None without one."""
        return self.catalog.calibration_at(self.catalog.seq())

    def _answers(
        self, pairs: Sequence[QuestionAddress], sources: Collection[str] | None, step: Step
    ) -> tuple[list[_Question], Sequence[QuestionAddress]]:
        """All questions with the library's answers, and the pairs whose addresses are unknown."""
        step("read", 0, 1)
        self.retriever.follow()
        day, registry = date.today(), self.retriever.registry()
        own = tuple(
            s.source_id
            for s in registry.by_id.values()
            if s.type == "static_doc" and registry.in_force(s.source_id, day)
        )
        scope = Scope(sources=frozenset(own), as_of=day)
        holdings = load_holdings(self.catalog, scope, self.catalog.counts()["passages"], None)
        found = resolve(pairs, self.catalog, holdings, sources)
        if not found.pairs:
            raise InvalidRequest(
                msg("none of {count} addresses is in the library", count=len(found.unknown)),
                hint="wenyuan search shows addresses",
            )
        step("read", 1, 1)
        lessons: dict[str, Lesson | None] = {lesson.question: lesson for lesson in found.lessons}
        written: dict[str, str] = {}  # each question in its first form: the judge is asked in the words of a search
        for pair in pairs:
            question = unicodedata.normalize("NFKC", pair.question.strip())  # as in `resolve`
            written.setdefault(question, pair.question.strip())
            if not pair.answer and query_terms(question):
                lessons.setdefault(question, None)
        questions = []
        for number, (question, lesson) in enumerate(lessons.items(), start=1):
            text = written[question]
            answer = self._answer(text, own)
            passages = passages_of(answer)
            enough = None if lesson is None else _enough(lesson, holdings, passages)
            questions.append(_Question(text=text, answer=answer, passages=passages, enough=enough))
            step("ask", number, len(lessons))
        return questions, found.unknown

    def _answer(self, text: str, sources: tuple[str, ...]) -> SearchAnswer:
        most = self.settings.search.auto_most
        query = query_of(RetrievalRequest(query=text, max_results=most), self.settings.rules)
        return self.retriever.retrieve(replace(query, rules="none", sources=sources), deadline_after(_PATIENT))

    def _course(self, judge: Judge, questions: Sequence[_Question], step: Step) -> _Course:
        """Ask the judge at every step of every question, several at a time."""
        steps = steps_below(self.settings.search.auto_most)
        registry = self.retriever.registry().by_id

        def judged(question: _Question) -> list[float]:
            shown = dict(self.sufficiency.shown(question.passages, registry, steps))
            text = self.sufficiency.told(question.text, question.answer.generation)
            return [
                judge.sufficiency(text, shown[k], deadline=deadline_after(_PATIENT)) if k in shown else np.nan
                for k in steps
            ]

        raw = []
        with ThreadPoolExecutor(self.settings.judge.concurrency, "judge") as pool:
            for number, numbers in enumerate(pool.map(judged, questions), start=1):
                raw.append(numbers)
                step("judge", number, len(questions))
        return _Course(
            questions=questions,
            steps=steps,
            raw=np.array(raw).reshape(len(questions), len(steps)),
            own=np.array([_own_probabilities(question.answer, steps) for question in questions]).reshape(
                len(questions), len(steps)
            ),
            sufficient=np.array([[q.enough is not None and q.enough <= k for k in steps] for q in questions]),
        )

    def _verdict(self, judge: Judge, course: _Course, report: JudgeReport, *, dry_run: bool) -> JudgeReport:
        """The verdict on a judge, and the adoption of its calibration."""
        report = replace(report, steps=course.steps)
        seen = ~np.isnan(course.raw)
        folds = deal(
            [query_terms(q.text) for q in course.questions], [(str(n),) for n in range(report.questions)]
        ).folds
        if not seen.any():
            return replace(report, outcome="never sure")
        found = compared(course.raw, np.where(seen, course.own, np.nan), course.sufficient, folds)
        curve = monotone(course.raw[seen], course.sufficient[seen])
        lost = allowed(report.questions, report.risk) or 0
        least = threshold(curve, float(bound_of(highest_wrong(course.raw, course.sufficient), lost)))
        report = replace(report, compared=found, threshold=least, allowed=lost)
        if least is None:
            return replace(report, outcome="never sure")
        calibration = Calibration(
            judge=judge.fingerprint, steps=course.steps, curve=curve, threshold=least, risk=report.risk,
            questions=report.questions,
        )  # fmt: skip
        report = self._fill_report(course, calibration, report)
        if not found.better:
            return replace(report, outcome="no better")
        report = replace(report, outcome="would be adopted")
        return report if dry_run else self._adopted(calibration, report)

    def _fill_report(self, course: _Course, calibration: Calibration, report: JudgeReport) -> JudgeReport:
        """The report's figures on how many passages would have been given for these questions."""
        stops = calibration.curve.probabilities(np.nan_to_num(course.raw, nan=-1.0)) >= calibration.threshold
        stops &= ~np.isnan(course.raw)
        given, by_scores = [], []
        low, high = self.settings.search.auto_least, self.settings.search.auto_most
        for question, row in zip(course.questions, stops, strict=True):
            first = next((k for k, stop in zip(course.steps, row, strict=True) if stop), len(question.passages))
            given.append(first)
            scores = falling(question.answer.hits)
            by_scores.append(auto_cut(scores, low=low, high=high, floor=question.answer.floor))
        enough = [np.inf if q.enough is None else q.enough for q in course.questions]
        known = [q for q in range(report.questions) if np.isfinite(enough[q])]
        return replace(
            report,
            lost=sum(k < len(q.passages) and k < e for k, q, e in zip(given, course.questions, enough, strict=True)),
            passages=(round(float(np.mean(by_scores)), 2), round(float(np.mean(given)), 2)),
            sufficient=(_share(by_scores, enough, known), _share(given, enough, known)),
        )

    def _adopted(self, calibration: Calibration, report: JudgeReport) -> JudgeReport:
        former = self.judge_calibration()
        number = self.catalog.adopt_calibration(calibration, asdict(replace(report, outcome="adopted")))
        kept = self.judge_calibration()
        self.recorder.changed(
            "tuning", "changed" if former else "added", f"judge {number}",
            _calibration_entry(former) if former else None, _calibration_entry(kept) if kept else None,
        )  # fmt: skip
        return replace(report, outcome="adopted", calibration_id=number)


def _enough(lesson: Lesson, holdings: TrainingPassages, passages: Sequence[Passage]) -> int | None:
    """How many leading passages suffice: the position of the first one that holds an answer; None without one."""
    wanted = {int(key) for target in lesson.targets for key in lesson.keys(holdings, target.rows)}
    for place, passage in enumerate(passages, start=1):
        row = holdings.place.get(passage.passage_id)
        if row is not None and int(lesson.keys(holdings, np.array([row], dtype=np.int64))[0]) in wanted:
            return place
    return None


def _own_probabilities(answer: SearchAnswer, steps: Sequence[int]) -> list[float]:
    """The library's probability that one of the first k passages answers; the events are taken as exclusive."""
    scores = [hit.score for hit in answer.hits if hit.origin != "kg_rule"]
    return [min(1.0, sum(scores[:k])) for k in steps]


def _share(given: Sequence[int], enough: Sequence[float], known: Sequence[int]) -> float:
    """The share of answerable questions for which the passages given suffice."""
    return round(sum(given[q] >= enough[q] for q in known) / max(1, len(known)), 4)


def _calibration_entry(kept: KeptCalibration) -> Mapping[str, object]:
    """The audit entry of a calibration."""
    fit = kept.calibration
    return {
        "calibration_id": kept.calibration_id, "judge": fit.judge, "threshold": fit.threshold, "risk": fit.risk,
        "questions": fit.questions,
    }  # fmt: skip
