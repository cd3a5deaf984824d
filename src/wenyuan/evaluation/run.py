"""The questions, asked of one leg alone or of the whole library, with the time that each stage takes."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from wenyuan.core.errors import ConfigError, KnowledgeError, RetrievalFailed, msg
from wenyuan.core.filters import Scope
from wenyuan.core.ports import Deadline, Hit
from wenyuan.core.text.analysis import search_terms
from wenyuan.evaluation.built_library import PATIENT, SOURCE_ID
from wenyuan.evaluation.pace import Pace
from wenyuan.evaluation.questions import JudgedQuery
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.library import Library

ENGINES = ("keyword", "vector", "fused")
DEPTH = 100
"""Passages that each engine is asked for: what a request may ask for at most."""

Stages = dict[str, float]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Ranked documents for a query, each with rank and score of its best passage."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(slots=True)
class EngineRun:
    """Results of one engine by query id, and durations in milliseconds by stage.

    Attributes:
        floor: How likely an answer had to be, or the score that was set; 0 for a leg alone.
    """

    engine: str
    ranked: dict[str, Ranked] = field(default_factory=dict)
    ms: dict[str, list[float]] = field(default_factory=dict)
    floor: float = 0.0


class QueryRunner:
    """Runs queries on a library.

    Args:
        entries: The document of each passage.
        context: Whether the fused engine is given the context of each question.
    """

    def __init__(self, library: Library, entries: Mapping[int, str], *, context: bool = False) -> None:
        self._library = library
        self._entries = entries
        self._context = context
        self._today = date.today()
        self._floor = 0.0

    def run(self, engine: str, questions: Sequence[JudgedQuery], pace: Pace) -> EngineRun:
        """Run all queries, after one warm-up query that is not measured.

        Raises:
            ConfigError: the engine needs vectors, and the library has none.
            RetrievalFailed: a question was not answered; the message names it.
        """
        ask: Callable[[JudgedQuery, Stages], Iterable[Hit]] = getattr(self, f"_{engine}")
        if engine == "vector" and self._library.encoder is None:
            raise ConfigError(
                "there is no encoder, so vectors cannot be measured", hint="set encoder.kind, or leave vector out"
            )
        self._floor = 0.0
        self._ask(ask, questions[0], {})
        run = EngineRun(engine, floor=self._floor)
        for number, question in enumerate(questions, 1):
            ms: Stages = {}
            begun = time.perf_counter()
            hits = self._ask(ask, question, ms)
            ms["total"] = (time.perf_counter() - begun) * 1e3
            run.ranked[question.query_id] = self._ranked(hits)
            for stage, value in ms.items():
                run.ms.setdefault(stage, []).append(value)
            pace.at(number)
        pace.close()
        return run

    @staticmethod
    def _ask(ask: Callable[[JudgedQuery, Stages], Iterable[Hit]], question: JudgedQuery, ms: Stages) -> Iterable[Hit]:
        try:
            return ask(question, ms)
        except KnowledgeError as error:
            raise RetrievalFailed(
                msg("query {query_id} was not answered: {error}", query_id=repr(question.query_id), error=error),
                hint=error.hint,
            ) from error

    def _keyword(self, question: JudgedQuery, ms: Stages) -> Iterable[Hit]:
        begun = time.perf_counter()
        words = search_terms(question.text)
        found = self._library.engine.keyword(words, scope=self._scope(question), limit=DEPTH, deadline=_deadline())
        ms["keyword"] = (time.perf_counter() - begun) * 1e3
        return found.hits

    def _vector(self, question: JudgedQuery, ms: Stages) -> Iterable[Hit]:
        assert self._library.encoder is not None
        begun = time.perf_counter()
        text = unicodedata.normalize("NFKC", question.text.strip())
        vector = self._library.encoder.encode_queries([text], deadline=_deadline())[0]
        ms["encode"] = (time.perf_counter() - begun) * 1e3
        begun = time.perf_counter()
        found = self._library.engine.vector(vector, scope=self._scope(question), limit=DEPTH, deadline=_deadline())
        ms["vector"] = (time.perf_counter() - begun) * 1e3
        return found.hits

    def _fused(self, question: JudgedQuery, ms: Stages) -> Iterable[Hit]:
        answer = self._library.search(
            question.text,
            limit=DEPTH,
            filter=question.filter,
            context=question.context if self._context else None,
        )
        ms.update(answer.ms)
        self._floor = answer.floor
        return answer.with_copies

    def _scope(self, question: JudgedQuery) -> Scope:
        return Scope(sources=frozenset({SOURCE_ID}), as_of=self._today, filter=question.filter)

    def _ranked(self, hits: Iterable[Hit]) -> Ranked:
        best: dict[str, float] = {}
        for hit in hits:
            best.setdefault(self._entries[hit.passage_id], hit.score)
        return Ranked(tuple(best), tuple(best.values()))


def _deadline() -> Deadline:
    return deadline_after(PATIENT)
