"""How well does a library answer, and better or worse than before?

Questions whose answers are known are asked of the library as it is, of all its own sources in force, through the whole
read path but for rules, which are no passages. Beside them nonsense is asked, which should get no answer. Results are
stored with the questions, so that the evaluation can be repeated later and compared question by question.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import InvalidRequest, KnowledgeError, RetrievalFailed, msg
from wenyuan.core.evaluation_records import CUT, AskedQuestion, Evaluation, WholeEvaluation, set_id_of
from wenyuan.core.filters import Scope
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import MAX_QUERY_CHARS, RetrievalRequest
from wenyuan.core.ports import Encoder
from wenyuan.core.scoring.evaluation import (
    PairedDifference,
    calibration_error,
    changed,
    in_bins,
    ndcg,
    percentile,
    recall,
    reciprocal_rank,
)
from wenyuan.core.scoring.reliability import PLACES, reliability
from wenyuan.core.text.analysis import query_terms
from wenyuan.core.version import VERSION
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.learning.lessons import Lesson, TrainingPassages, load_holdings, resolve
from wenyuan.service.learning.training import Step
from wenyuan.service.queries import query_of
from wenyuan.service.query import SearchAnswer
from wenyuan.service.search.general_texts import SCRIPTS
from wenyuan.service.search.nonsense import junk_queries
from wenyuan.service.search.retriever import Retriever
from wenyuan.settings import Settings

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

MOST_QUESTIONS = 5_000
_DEPTH = 50  # passages of an answer: enough for ten documents
_PATIENT = 60.0  # seconds for one question: a slow answer is measured, not refused
_NONSENSE, _SEED = 24, 29  # of each script
_SHOWN = 20  # addresses that lead nowhere, in a report


KEPT = "kept"
"""The name of evaluations with the golden questions that are kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluator:
    """Runs judged questions against a library, and stores the results."""

    settings: Settings
    catalog: Catalog
    encoder: Encoder | None
    recorder: AuditRecorder
    retriever: Retriever

    def evaluate(
        self,
        pairs: Sequence[QuestionAddress],
        *,
        name: str,
        step: Step = lambda stage, done, total: None,
        keep: bool = True,
    ) -> WholeEvaluation:
        """Ask judged questions, and compute how well they are answered.

        Args:
            name: Of where the questions come from; shown beside the figures.
            step: Told how far it is: ``(stage, done, total)``, stages ``read``, ``ask``, ``nonsense``.
                What it raises ends the evaluation, and nothing is kept.
            keep: Store the results and the questions; else its number is 0.

        Raises:
            InvalidRequest: there is no question with an answer, too many, one that cannot be asked, or no answer
                leads to a passage.
            RetrievalFailed: a question was not answered; the message names it.
            CatalogBusy: another process is writing.
        """
        begun = time.monotonic()
        pairs = [replace(pair, question=self.recorder.questions.text(pair.question)) for pair in pairs]
        step("read", 0, 1)
        self.retriever.follow()
        holdings, own = self._searchable()
        found = resolve(pairs, self.catalog, holdings)
        questions, silent = _questions(pairs), _silent(pairs)
        if not found.pairs:
            raise InvalidRequest(*self._nowhere(found.unknown), hint="wenyuan search shows addresses")
        lessons = {lesson.question: lesson for lesson in found.lessons}
        step("read", 1, 1)
        course = _Course(self._asker(own), holdings)
        for number, question in enumerate(questions, start=1):
            course.ask(question, lessons.get(question))
            step("ask", number, len(questions) + len(silent))
        for number, question in enumerate(silent, start=len(questions) + 1):
            course.ask_in_vain(question)
            step("ask", number, len(questions) + len(silent))
        figures = course.figures() | {"refused": course.refused(step)}
        kept = Evaluation(
            evaluation_id=0,
            at=time.time(),
            name=name,
            set_id=set_id_of(pairs),
            questions=len(questions),
            unknown=sum(question not in lessons for question in questions),
            examples=tuple((pair.answer, pair.where) for pair in found.unknown[:_SHOWN]),
            figures=figures,
            bins=tuple(in_bins(course.scored)),
            places={name: reliability(course.placed[name]) for name in PLACES},
            made_of=self._made_of(course.last),
            seconds=round(time.monotonic() - begun, 1),
        )
        if keep:
            number = self.catalog.keep_evaluation(kept, pairs, (*course.asked, *course.in_vain))
            kept = replace(kept, evaluation_id=number)
            noted = {"name": name, "set_id": kept.set_id, "figures": dict(figures)}
            self.recorder.changed("evaluation", "added", str(number), None, noted)
        return WholeEvaluation(evaluation=kept, asked=tuple(course.asked), in_vain=tuple(course.in_vain))

    def evaluate_kept(self, *, step: Step = lambda stage, done, total: None) -> WholeEvaluation:
        """Evaluate with the golden questions that are kept in the library, as of gaps that were answered; raises as `evaluate`."""
        kept = self.catalog.golden_questions()
        if not kept:
            raise InvalidRequest(
                "no golden questions are kept", hint="wenyuan gaps answer, or write a table: wenyuan eval --golden"
            )
        pairs = [
            QuestionAddress(question=one.question, answer=one.answer, grade=1.0 if one.answer else 0.0)
            for one in kept
        ]
        return self.evaluate(pairs, name=KEPT, step=step)

    def evaluate_again(self, evaluation_id: int, *, step: Step = lambda stage, done, total: None) -> WholeEvaluation:
        """Repeat a stored evaluation; raises as `evaluate`, and NotFound if there is none with that number."""
        former = self.evaluation(evaluation_id).evaluation
        return self.evaluate(self.catalog.golden_set(former.set_id), name=former.name, step=step)

    def compared(self, evaluation: WholeEvaluation, former: WholeEvaluation) -> PairedDifference:
        """Compare two evaluations of the same questions.

        Raises:
            InvalidRequest: they are not of the same questions.
        """
        own, other = evaluation.evaluation, former.evaluation
        before = {asked.question: asked.ndcg for asked in former.asked}
        if own.set_id != other.set_id or not all(a.question in before for a in evaluation.asked):
            raise InvalidRequest(
                msg(
                    "evaluations {evaluation_id} and {evaluation_id2} asked other questions: they cannot be compared",
                    evaluation_id=own.evaluation_id,
                    evaluation_id2=other.evaluation_id,
                )
            )
        return changed([before[a.question] for a in evaluation.asked], [a.ndcg for a in evaluation.asked])

    def evaluations(self, limit: int = 50, before: int | None = None) -> tuple[Evaluation, ...]:
        """Stored evaluations, newest first; with `before`, those with lower numbers."""
        return self.catalog.evaluations(limit, before)

    def evaluation(self, evaluation_id: int) -> WholeEvaluation:
        """One stored evaluation with its questions; NotFound if there is none with that number."""
        return self.catalog.evaluation(evaluation_id)

    def remove_evaluation(self, evaluation_id: int) -> None:
        """Delete an evaluation, and its questions if no other uses them; NotFound if there is none with that number."""
        name = self.evaluation(evaluation_id).evaluation.name
        self.catalog.remove_evaluation(evaluation_id)
        self.recorder.changed("evaluation", "removed", str(evaluation_id), {"name": name}, None)

    def _searchable(self) -> tuple[TrainingPassages, tuple[str, ...]]:
        """All passages searchable today, without vectors, and their sources."""
        day, registry = date.today(), self.retriever.registry()
        own = [s.source_id for s in registry.by_id.values() if s.type == "static_doc"]
        own = [name for name in own if registry.in_force(name, day)]
        scope = Scope(sources=frozenset(own), as_of=day)
        return load_holdings(self.catalog, scope, self.catalog.counts()["passages"], None), tuple(own)

    @staticmethod
    def _nowhere(unknown: Sequence[QuestionAddress]) -> tuple[str]:
        if not unknown:
            return ("there is no question with an answer",)
        where = f" ({unknown[0].where})" if unknown[0].where else ""
        return (
            msg(
                "none of {count} addresses is in the library, e.g. {answer}{where}",
                count=len(unknown),
                answer=repr(unknown[0].answer),
                where=where,
            ),
        )

    def _asker(self, sources: tuple[str, ...]) -> Callable[[str], SearchAnswer]:
        """A function that queries these sources, with a longer deadline than a request has."""

        def ask(question: str) -> SearchAnswer:
            query = query_of(RetrievalRequest(query=question, max_results=_DEPTH), self.settings.rules)
            deadline = deadline_after(_PATIENT)
            try:
                return self.retriever.retrieve(replace(query, rules="none", sources=sources), deadline)
            except KnowledgeError as error:
                raise RetrievalFailed(
                    msg("{question} was not answered: {error}", question=repr(question), error=error), hint=error.hint
                ) from error

        return ask

    def _made_of(self, answer: SearchAnswer) -> Mapping[str, Any]:
        counts = self.catalog.counts()
        return {
            "change": answer.generation,
            "documents": counts["documents"],
            "passages": counts["passages"],
            "encoder": self.encoder.fingerprint.id if self.encoder is not None else None,
            "mode": answer.mode,
            "weight": answer.weight,
            "tuning": answer.tuning,
            "program": VERSION,
        }


def _silent(pairs: Sequence[QuestionAddress]) -> list[str]:
    """The questions that the library must not answer, without duplicates.

    Raises:
        InvalidRequest: a question has an answer elsewhere in the file, too, or there are too many.
    """
    silent = _askable(pair.question for pair in pairs if not pair.answer)
    both = set(silent) & set(_askable(pair.question for pair in pairs if pair.grade > 0))
    if both:
        raise InvalidRequest(
            msg("the question {both} has an answer in one place and none in another", both=repr(min(both)[:40]))
        )
    return silent


def _questions(pairs: Sequence[QuestionAddress]) -> list[str]:
    """All questions to ask, without duplicates, with or without an answer in the library."""
    return _askable(pair.question for pair in pairs if pair.grade > 0)


def _askable(texts: Iterable[str]) -> list[str]:
    asked = (text for text in texts if query_terms(text))
    questions = list(dict.fromkeys(unicodedata.normalize("NFKC", text.strip()) for text in asked))
    if len(questions) > MOST_QUESTIONS:
        raise InvalidRequest(
            msg(
                "there are {count} questions; at most {most_questions} are asked",
                count=len(questions),
                most_questions=MOST_QUESTIONS,
            )
        )
    for question in questions:
        if len(question) > MAX_QUERY_CHARS:
            raise InvalidRequest(
                msg(
                    "the question {question} has {count} characters; at most {max_query_chars}",
                    question=repr(question[:40]),
                    count=len(question),
                    max_query_chars=MAX_QUERY_CHARS,
                )
            )
    return questions


class _Course:
    """A running evaluation and its results so far."""

    def __init__(self, answer: Callable[[str], SearchAnswer], holdings: TrainingPassages) -> None:
        self._answer = answer
        self._holdings = holdings
        self.asked: list[AskedQuestion] = []
        self.in_vain: list[AskedQuestion] = []
        self.scored: list[tuple[float, bool]] = []
        self.placed: dict[str, list[tuple[float, bool]]] = {name: [] for name in PLACES}
        self._sums = dict.fromkeys((f"ndcg@{CUT}", f"recall@{CUT}", f"mrr@{CUT}", "hit@1", "hit@3", "answered"), 0.0)
        self._ms: list[float] = []
        self.last: SearchAnswer

    def ask(self, question: str, lesson: Lesson | None) -> None:
        """Ask one question; without a lesson the library has no answer to it."""
        begun = time.perf_counter()
        self.last = self._answer(question)
        self._ms.append((time.perf_counter() - begun) * 1e3)
        graded = self._graded(self.last, lesson)
        grades = [grade for _, grade in graded]
        ideal = [target.grade for target in lesson.targets] if lesson is not None else []
        worth = ndcg(grades, ideal, CUT)
        rank = next((rank for rank, grade in enumerate(grades, start=1) if grade > 0), 0)
        self.asked.append(
            AskedQuestion(
                question=question,
                ndcg=round(worth, 4),
                rank=rank,
                score=round(graded[0][0], 4) if graded else None,
                known=lesson is not None,
            )
        )
        self.scored += [(score, grade > 0) for score, grade in graded[:CUT]]
        self._place(self.last, lesson)
        for name, value in (
            (f"ndcg@{CUT}", worth),
            (f"recall@{CUT}", recall(grades, len(ideal), CUT)),
            (f"mrr@{CUT}", reciprocal_rank(grades, CUT)),
            ("hit@1", float(rank == 1)),
            ("hit@3", float(0 < rank <= 3)),
            ("answered", float(bool(graded))),
        ):
            self._sums[name] += value

    def ask_in_vain(self, question: str) -> None:
        """Ask a question that must not be answered; any result is wrong."""
        answer = self._answer(question)
        graded = self._graded(answer, None)
        score = round(graded[0][0], 4) if graded else None
        self.in_vain.append(AskedQuestion(question=question, ndcg=0.0, rank=0, score=score, known=False, vain=True))
        self.scored += [(score, False) for score, _ in graded[:CUT]]
        self._place(answer, None)

    def refused(self, step: Step) -> float:
        """The share of nonsense queries that correctly get no answer."""
        queries = [text for script in SCRIPTS for text in junk_queries(script, _NONSENSE, _SEED)]
        count = 0
        for number, text in enumerate(queries, start=1):
            count += not self._answer(text).hits
            step("nonsense", number, len(queries))
        return round(count / len(queries), 4)

    def figures(self) -> dict[str, float | None]:
        """Mean metrics over all questions, and over those that must not be answered, if there are any."""
        error = calibration_error(in_bins(self.scored))
        means = {name: round(total / len(self.asked), 4) for name, total in self._sums.items()}
        times = {f"p{share}_ms": round(percentile(self._ms, share / 100), 1) for share in (50, 95)}
        known = [one for one in self.asked if one.known]
        means["answer_refused"] = round(sum(one.score is None for one in known) / max(1, len(known)), 4)
        if self.in_vain:
            first = [one.score for one in self.in_vain]
            means["no_answer"] = float(len(first))
            means["no_answer_refused"] = round(first.count(None) / len(first), 4)
            means["no_answer_first"] = round(sum(score or 0.0 for score in first) / len(first), 4)
        return {**means, "ece": None if error is None else round(error, 4), **times}

    def _place(self, answer: SearchAnswer, lesson: Lesson | None) -> None:
        """Note the scores of the fragments that people look at, and whether each is right."""
        targets = {} if lesson is None else self._targets(lesson)
        by_document = lesson is None or lesson.by_document
        for name, (start, end) in PLACES.items():
            for hit in list(answer.hits)[start:end]:
                same = (hit.passage_id, *(copy.passage_id for copy in answer.copies.get(hit.passage_id, ())))
                right = any(self._key(number, by_document=by_document) in targets for number in same)
                self.placed[name].append((hit.score, right))

    def _graded(self, answer: SearchAnswer, lesson: Lesson | None) -> list[tuple[float, float]]:
        """Score and grade of what was found, best first; each answer and each document, or passage, counts once."""
        targets = {} if lesson is None else self._targets(lesson)
        best: dict[tuple[str, int], tuple[float, float]] = {}
        for hit in answer.with_copies:
            key = self._key(hit.passage_id, by_document=lesson is None or lesson.by_document)
            number, grade = targets.get(key, (-1, 0.0))
            best.setdefault(("answer", number) if grade else ("other", key), (hit.score, grade))
        return list(best.values())

    def _targets(self, lesson: Lesson) -> dict[int, tuple[int, float]]:
        """By what passages count as, the number of the answer that they hold, and its grade."""
        return {
            int(key): (number, target.grade)
            for number, target in enumerate(lesson.targets)
            for key in lesson.keys(self._holdings, target.rows)
        }

    def _key(self, passage_id: int, *, by_document: bool) -> int:
        """What a passage counts as: its document, or its row; what came meanwhile, itself."""
        row = self._holdings.place.get(passage_id)
        if row is None:
            return -passage_id
        return int(self._holdings.documents[row]) if by_document else row
