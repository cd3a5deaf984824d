"""Tuning: a library learns its domain from questions whose answers are known.

A map of query vectors and the weight of the legs are learned from the questions (`core.scoring.adapt`), tried on questions
that they were not learned from (`core.scoring.evaluation`), and adopted only where those gain. No passage is embedded again, and
what was adopted can be undone: it is a change of the library like any other, and a replay knows it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wenyuan.core.errors import EncoderUnavailable, InvalidRequest, NotFound, msg
from wenyuan.core.filters import Scope
from wenyuan.core.learning_records import KeptTuning, QuestionAddress
from wenyuan.core.ports import Encoder, Engine
from wenyuan.core.records import AuditRecord
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.cross_validation import TuningVerdict, judge
from wenyuan.core.scoring.curve_fit import JudgedPassages, calibrated, error_of, first_calibrated
from wenyuan.core.scoring.folds import Deal, deal
from wenyuan.core.scoring.probability import CURVES
from wenyuan.core.text.analysis import query_terms
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.learning.lessons import Lessons, judged_pairs, load_holdings, resolve
from wenyuan.service.learning.question_documents import documents_of
from wenyuan.service.learning.training import Step, TrainingSet, embedded, first_results
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import CollectionTraits, kept_tuning
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


LEAST_QUESTIONS = 40
"""With fewer, folds are too small to tell a gain from an accident: a judgement, not a measurement."""
LEAST_CURVE = 30
"""With so many, how scores become probabilities can be learned alone: two numbers, drawn to the usual ones, tried on held-out questions."""
_KNOWN = 40
"""Questions that the curve of other collections counts as: few of one's own move it little."""
_SHOWN = 20  # addresses that lead nowhere, in a report

Outcome = Literal[
    "adopted", "would be adopted", "curve adopted", "curve would be adopted", "no gain", "too few", "cannot tell"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneReport:
    """The result of a tuning run.

    Attributes:
        questions: How many were learned from, or would have been; those that read the same are one.
        needed: How many are needed at least.
        pairs: Of questions and answers that lead to a passage, by where they came from.
        unknown: How many addresses lead nowhere; `examples` are some of them, with where they stand.
        lost: Judgements of answers whose question is not kept.
        same_documents: The folds were dealt by wording alone: the verdict is of other questions about the same documents.
        documents: How many documents the questions are about that folds can keep apart; see `core.scoring.evaluation`.
        largest: The share of the questions that those about one document have, or about several that are tied.
        across: Number of questions in no fold, because their answers are in documents of several folds.
        verdict: What questions say that nothing was learned from; None when there are too few, or where the folds cannot
            tell.
        tuning_id: Of what was adopted; None when nothing was.
        curve: How scores become probabilities then, learned from what the folds held out; see `core.scoring.probability.Curve`. Empty
            where that is no better than the usual one.
        brier: Mean squared error of the first passage's probability on held-out questions, as it is and with a curve of the library's
            own, where only that is learned; else None.
        error: Expected calibration error of the first ten answers of held-out questions: as it is, and with what the
            folds chose and learned; None when there are too few.
    """

    outcome: Outcome
    questions: int
    needed: int = LEAST_CURVE
    pairs: Mapping[str, int]
    unknown: int = 0
    examples: tuple[tuple[str, str], ...] = ()
    lost: int = 0
    same_documents: bool = False
    documents: int = 0
    largest: float = 0.0
    across: int = 0
    verdict: TuningVerdict | None = None
    weight: tuple[float, float] | None = None
    tuning_id: int | None = None
    curve: Mapping[str, float] = field(default_factory=dict)
    error: tuple[float, float] | None = None
    brier: tuple[float, float] | None = None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Tuner:
    """Learns from judged questions."""

    settings: Settings
    catalog: Catalog
    engine: Engine
    encoder: Encoder | None
    recorder: AuditRecorder
    retriever: Retriever
    traits: CollectionTraits

    def tune(
        self,
        pairs: Iterable[QuestionAddress] = (),
        *,
        feedback: bool = True,
        sources: Collection[str] | None = None,
        same_documents: bool = False,
        dry_run: bool = False,
        step: Step = lambda stage, done, total: None,
    ) -> TuneReport:
        """Learn from pairs and feedback; adopt the result if held-out questions gain.

        Scores are compared with those of the library without any tuning, and what is adopted replaces the tuning
        that counts. It counts for the whole library. Where ranking gains nothing, or there are fewer than `LEAST_QUESTIONS`, and no tuning
        counts, how scores become probabilities is learned alone: ranking stays as it is.

        Args:
            feedback: Learn from what callers said of audited answers, too.
            sources: Learn only from answers of these.
            same_documents: Questions to come are about the documents that these are about, as those of an FAQ are: try what is
                learned on other questions about the same documents, instead of on questions about others.
            dry_run: Adopt nothing.
            step: Told how far it is: ``(stage, done, total)``, stages ``read``, ``embed``, ``learn``, ``floor``.

        Raises:
            EncoderUnavailable: the library has no vectors.
            InvalidRequest: no pair leads to a passage.
            NotFound: a source is not known.
            CatalogBusy: another process is writing.
        """
        begun = time.monotonic()
        encoder = self._tunable(sources)
        given: dict[str, list[QuestionAddress]] = {"golden": list(pairs)}
        lost = 0
        if feedback:
            given["feedback"], lost = judged_pairs(self.catalog.feedback(), self._answer_record, self.catalog)
        course, report = self._course(encoder, given, sources, step)
        report = replace(report, lost=lost)
        if report.questions >= LEAST_CURVE:
            dealt = self._dealt(course, same_documents=same_documents)
            report = replace(
                report,
                outcome="no gain" if dealt.sound else "cannot tell",
                same_documents=same_documents,
                documents=len(np.unique(dealt.groups)),
                largest=round(dealt.largest, 3),
                across=len(dealt.folds) - len(dealt.held),
            )
            if dealt.sound:
                report = self._verdict(course, encoder, dealt, report, step, dry_run=dry_run)
        return replace(report, seconds=round(time.monotonic() - begun, 1))

    def undo_tuning(self) -> KeptTuning:
        """End the current tuning: scores are again those without it.

        Raises:
            NotFound: there is none.
        """
        kept = self.tuning()
        if kept is None:
            raise NotFound("the library has no tuning", hint="wenyuan tune --golden FILE")
        self.retriever.follow()
        self.catalog.undo_tuning(self.traits.under({}))
        self.recorder.changed("tuning", "removed", str(kept.tuning_id), _tuning_entry(kept), None)
        return kept

    def tuning(self) -> KeptTuning | None:
        """The last tuning that was adopted and not undone; None without one.

        It counts with the encoder that it was learned with (`service.search.collection_profile.fits`), and is ignored under another.
        """
        return kept_tuning(self.catalog)

    def _tunable(self, sources: Collection[str] | None) -> Encoder:
        if self.encoder is None:
            raise EncoderUnavailable(
                "a tuning is learned from vectors, and this library has none", component="encoder",
                hint="wenyuan doctor",
            )  # fmt: skip
        known = self.retriever.registry().by_id
        for name in sources or ():
            if name not in known:
                raise NotFound(msg("there is no source {name}", name=repr(name)), hint="wenyuan source list")
        return self.encoder

    def _answer_record(self, audit_id: str) -> AuditRecord | None:
        """The audit record of an answer, if it is kept."""
        if self.recorder.log is None:
            return None
        try:
            return self.recorder.log.show(audit_id)
        except NotFound:  # its record has expired
            return None

    def _course(
        self,
        encoder: Encoder,
        given: Mapping[str, Sequence[QuestionAddress]],
        sources: Collection[str] | None,
        step: Step,
    ) -> tuple[TrainingSet, TuneReport]:
        """The training set, and a report that describes it."""
        step("read", 0, 1)
        self.retriever.follow()
        day, registry = date.today(), self.retriever.registry()
        own = (s.source_id for s in registry.by_id.values() if s.type == "static_doc")
        scope = Scope(sources=frozenset(name for name in own if registry.in_force(name, day)), as_of=day)
        holdings = load_holdings(self.catalog, scope, self.catalog.counts()["vectors"], encoder.fingerprint.dimension)
        found = resolve(_all(given), self.catalog, holdings, sources)
        if not found.pairs:
            raise InvalidRequest(*_nothing(found), hint="wenyuan source list; addresses are shown by wenyuan search")
        step("read", 1, 1)
        enough = len(found.lessons) >= LEAST_CURVE
        questions = [lesson.question for lesson in found.lessons] if enough else []
        queries = embedded(encoder, questions, step)
        course = TrainingSet(
            holdings=holdings,
            lessons=found.lessons,
            aims=[self.retriever.aim(*asked) for asked in zip(questions, queries, strict=True)],
            engine=self.engine,
            scope=scope,
            scale=encoder.fingerprint.scale,
            depth=self.settings.search.depth,
            shares=self.retriever.shares,
            labels=self.retriever.labels,
        )
        return course, TuneReport(
            outcome="too few",
            questions=len(found.lessons),
            pairs={name: len(pairs) for name, pairs in given.items() if pairs},
            unknown=len(found.unknown),
            examples=tuple((pair.answer, pair.where) for pair in found.unknown[:_SHOWN]),
        )

    def _dealt(self, course: TrainingSet, *, same_documents: bool) -> Deal:
        """The folds of the questions."""
        documents: Sequence[Collection[str]] = (
            [(str(number),) for number in range(len(course.lessons))]
            if same_documents
            else documents_of(course.lessons, course.holdings, self.catalog)
        )
        return deal([query_terms(lesson.question) for lesson in course.lessons], documents)

    def _verdict(
        self, course: TrainingSet, encoder: Encoder, dealt: Deal, report: TuneReport, step: Step, *, dry_run: bool
    ) -> TuneReport:
        """The cross-validated verdict on a training set, and its adoption."""
        weight = self.retriever.weight
        trials, folds = course.trials(dealt, step), dealt.folds[dealt.held]
        verdict = judge(trials, folds, dealt.groups[dealt.held], weight=weight)
        usual = CURVES[self.retriever.mode]
        plain = error_of([first_results(trial, 0.0, weight) for trial in trials], [usual] * len(trials))
        chosen = [first_results(trial, verdict.strength, verdict.weight) for trial in trials]
        curve, error = calibrated(chosen, folds, usual, _KNOWN)
        report = replace(report, verdict=verdict, weight=(weight, verdict.weight), error=(plain, error))
        if not verdict.adopt or report.questions < LEAST_QUESTIONS:
            firsts = [first_results(trial, 0.0, weight) for trial in trials]
            return report if self.tuning() else self._curve_alone(firsts, folds, encoder, report, dry_run=dry_run)
        learned = None
        if verdict.strength:
            everything = np.arange(len(course.lessons))
            learned = course.weakened(course.learned(everything), verdict.strength, everything)
        tuning = Tuning(weight=verdict.weight, encoder=encoder.fingerprint.key, map=learned)
        learned_curve = {} if curve == usual else curve.measured()
        report = replace(report, outcome="would be adopted", curve=learned_curve)
        return report if dry_run else self._adopted(tuning, report)

    def _curve_alone(
        self, questions: Sequence[JudgedPassages], folds: Any, encoder: Encoder, report: TuneReport, *, dry_run: bool
    ) -> TuneReport:
        """Learn how scores become probabilities, and nothing else; adopted where held-out questions gain."""
        usual, weight = CURVES[self.retriever.mode], self.retriever.weight
        curve, brier = first_calibrated(questions, folds, usual)
        report = replace(report, brier=brier)
        if curve == usual:
            return report
        report = replace(report, outcome="curve would be adopted", curve=curve.measured(), weight=(weight, weight))
        tuning = Tuning(weight=weight, encoder=encoder.fingerprint.key, map=None)
        return report if dry_run else replace(self._adopted(tuning, report), outcome="curve adopted")

    def _adopted(self, tuning: Tuning, report: TuneReport) -> TuneReport:
        former = self.tuning()
        told = {"questions": report.questions, "pairs": dict(report.pairs), "verdict": asdict(report.verdict)}  # type: ignore[arg-type]
        told |= {
            "curve": dict(report.curve),
            "error": report.error,
            "brier": report.brier,
            "same_documents": report.same_documents,
        }
        number = self.catalog.adopt_tuning(tuning, told, self.traits.under(report.curve))
        kept = self.tuning()
        self.recorder.changed(
            "tuning", "changed" if former else "added", str(number),
            _tuning_entry(former) if former else None, _tuning_entry(kept) if kept else None,
        )  # fmt: skip
        return replace(report, outcome="adopted", tuning_id=number)


def _all(given: Mapping[str, Sequence[QuestionAddress]]) -> Iterable[QuestionAddress]:
    return (pair for pairs in given.values() for pair in pairs)


def _nothing(found: Lessons) -> tuple[str]:
    if not found.unknown:
        return ("there is nothing to learn from: no golden file, and no feedback that says what is right",)
    first = found.unknown[0]
    where = f" ({first.where})" if first.where else ""
    return (
        msg(
            "none of {count} addresses is in the library, e.g. {answer}{where}",
            count=len(found.unknown),
            answer=repr(first.answer),
            where=where,
        ),
    )


def _tuning_entry(kept: KeptTuning) -> Mapping[str, Any]:
    """The audit entry of a tuning."""
    return {"tuning_id": kept.tuning_id, "fingerprint": kept.fingerprint, "weight": kept.weight}
