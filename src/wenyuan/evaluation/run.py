"""Runs a judged set: builds its library, runs its queries, shows progress."""

from __future__ import annotations

import hashlib
import os
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TextIO

from wenyuan.app import IN_FOLDER, open_encoder, open_library
from wenyuan.core.errors import ConfigError, KnowledgeError, RetrievalFailed, SourceError, msg
from wenyuan.core.filters import Scope
from wenyuan.core.model import Document, Source
from wenyuan.core.ports import Deadline, Hit
from wenyuan.core.text import ANALYZER, search_terms
from wenyuan.evaluation.data import READ_AS, Corpus, Question
from wenyuan.runtime import deadline_after
from wenyuan.service.ingest import READING, Ingester
from wenyuan.service.ingest.run import Progress
from wenyuan.service.library import Library
from wenyuan.settings import load_settings

# How far a long run has come, on standard error: what is done, how fast, and how long it will take.


_ON_A_TERMINAL = 0.25  # seconds between two looks
_IN_A_LOG = 15.0


class Pace:
    """A progress line up to `total`: rewritten on a terminal, repeated now and then in a log."""

    def __init__(self, doing: str, total: int, unit: str, out: TextIO) -> None:
        self._doing, self._total, self._unit, self._out = doing, total, unit, out
        self._live = out.isatty()
        self._shown = self._begun = time.monotonic()
        self._first = 0
        self._done = 0

    def skip(self, done: int) -> None:
        """Count work done in an earlier run, which does not enter the rate."""
        self._begun, self._first, self._done = time.monotonic(), done, done

    def at(self, done: int) -> None:
        """Update the count."""
        self._done = done
        if time.monotonic() - self._shown >= (_ON_A_TERMINAL if self._live else _IN_A_LOG):
            self._show("\r" if self._live else "")

    def close(self) -> None:
        """Write the final line."""
        self._show("\r" if self._live else "")
        if self._live:
            self._out.write("\n")

    def _show(self, before: str) -> None:
        self._shown = time.monotonic()
        seconds, done = self._shown - self._begun, self._done - self._first
        line = f"{self._doing} {self._done}/{self._total} {self._unit}"
        if done > 0 and seconds > 0:
            line += f", {done / seconds:.1f}/s"
            left = (self._total - self._done) * seconds / done
            line += f", {_clock(left)} left" if left else f", {_clock(seconds)}"
        self._out.write(f"{before}{line:<78}" if self._live else f"{line}\n")
        self._out.flush()


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return (
        f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02}"
    )


# A corpus as a real library, kept in a cache: built once through the whole write path, then only opened.


SOURCE_ID = "eval"
_BUILT = "evaluation"
_UNHURRIED = 3_600.0  # seconds: an index that was lost is written anew before anything is measured
_PATIENT = 60.0  # seconds: a slow answer is measured, not refused


def default_cache() -> Path:
    """``$XDG_CACHE_HOME/wenyuan/eval``, or the same below ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wenyuan" / "eval"


def open_built(corpus: Corpus, cache: Path, err: TextIO, **overrides: Any) -> Library:
    """The library for a corpus; built or completed first, keeping what an earlier run stored.

    The folder's name covers the corpus, the encoder, the analyser and the versions of reading and cutting.

    Raises:
        KnowledgeError: as `open_library` and `Ingester.ingest`.
    """
    overrides = overrides | {"search": {"deadline": _PATIENT} | dict(overrides.get("search", {}))}
    encoder = open_encoder(load_settings(**overrides).encoder)
    made_of = (corpus.sha256, encoder.fingerprint.key if encoder else "", ANALYZER, READING, READ_AS)
    if encoder is not None:
        encoder.close()
    digest = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
    library = open_library(cache / f"{corpus.name}-{digest}", create=True, **{**overrides, **IN_FOLDER})
    try:
        if library.catalog.value(_BUILT) is None:
            _build(library, corpus, err)
        library.engine.sync(library.catalog, deadline=deadline_after(_UNHURRIED))
        library.measure_collection()  # it may have been built by another version
    except BaseException:
        library.close()
        raise
    return library


def entries_of(library: Library, corpus: Corpus) -> Mapping[int, str]:
    """The corpus id of each passage's document, by passage id."""
    documents = library.catalog.live_documents(SOURCE_ID)
    entry_of = {documents[uri][0]: entry for entry, uri in corpus.uris.items()}
    changes = library.catalog.changes(0, library.catalog.seq(), vectors=False)
    return {c.passage_id: entry_of[c.row.document_id] for c in changes if c.row is not None}


def _build(library: Library, corpus: Corpus, err: TextIO) -> None:
    catalog, begun = library.catalog, time.monotonic()
    source = Source(source_id=SOURCE_ID, title=corpus.name, path=str(corpus.path.resolve()))
    if library.encoder is not None and catalog.value("encoder") is None:
        catalog.set_value("encoder", asdict(library.encoder.fingerprint))
    catalog.put_source(source)
    reading = _Reading(corpus, Pace(f"building {corpus.name}", len(corpus), "documents", err))
    ingester = Ingester(
        catalog=catalog,
        engine=library.engine,
        encoder=library.encoder,
        read=reading.read,
        readable=lambda name: name == corpus.path.name,
        uploads=library.folder / "uploads",
    )
    report = ingester.ingest(source, reading.told)
    reading.pace.close()
    if report.failed:
        raise SourceError(
            msg("{path} could not be taken in: {failed}", path=corpus.path, failed=next(iter(report.failed.values())))
        )
    library.engine.checkpoint(always=True)
    catalog.set_value(_BUILT, {"documents": len(corpus), "seconds": round(time.monotonic() - begun, 1)})


class _Reading:
    """Supplies the corpus as documents, and counts."""

    def __init__(self, corpus: Corpus, pace: Pace) -> None:
        self._corpus = corpus
        self._read = 0
        self.pace = pace

    def read(self, path: Path, uri: str) -> Iterator[Document]:
        for document in self._corpus.documents():
            yield document
            self._read += 1
            self.pace.at(self._read)

    def told(self, progress: Progress) -> None:
        """Progress callback: documents passed before the first embedding were stored by an earlier run."""
        if progress.embedded <= 1:
            self.pace.skip(self._read)
        self.pace.at(self._read)


# The questions, asked of one leg alone or of the whole library, with the time that each stage takes.


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
class Run:
    """Results of one engine by query id, and durations in milliseconds by stage.

    Attributes:
        floor: How likely an answer had to be, or the score that was set; 0 for a leg alone.
    """

    engine: str
    ranked: dict[str, Ranked] = field(default_factory=dict)
    ms: dict[str, list[float]] = field(default_factory=dict)
    floor: float = 0.0


class Asker:
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

    def run(self, engine: str, questions: Sequence[Question], pace: Pace) -> Run:
        """Run all queries, after one warm-up query that is not measured.

        Raises:
            ConfigError: the engine needs vectors, and the library has none.
            RetrievalFailed: a question was not answered; the message names it.
        """
        ask: Callable[[Question, Stages], Iterable[Hit]] = getattr(self, f"_{engine}")
        if engine == "vector" and self._library.encoder is None:
            raise ConfigError(
                "there is no encoder, so vectors cannot be measured", hint="set encoder.kind, or leave vector out"
            )
        self._floor = 0.0
        self._ask(ask, questions[0], {})
        run = Run(engine, floor=self._floor)
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
    def _ask(ask: Callable[[Question, Stages], Iterable[Hit]], question: Question, ms: Stages) -> Iterable[Hit]:
        try:
            return ask(question, ms)
        except KnowledgeError as error:
            raise RetrievalFailed(
                msg("query {query_id} was not answered: {error}", query_id=repr(question.query_id), error=error),
                hint=error.hint,
            ) from error

    def _keyword(self, question: Question, ms: Stages) -> Iterable[Hit]:
        begun = time.perf_counter()
        words = search_terms(question.text)
        found = self._library.engine.keyword(words, scope=self._scope(question), limit=DEPTH, deadline=_deadline())
        ms["keyword"] = (time.perf_counter() - begun) * 1e3
        return found.hits

    def _vector(self, question: Question, ms: Stages) -> Iterable[Hit]:
        assert self._library.encoder is not None
        begun = time.perf_counter()
        text = unicodedata.normalize("NFKC", question.text.strip())
        vector = self._library.encoder.encode_queries([text], deadline=_deadline())[0]
        ms["encode"] = (time.perf_counter() - begun) * 1e3
        begun = time.perf_counter()
        found = self._library.engine.vector(vector, scope=self._scope(question), limit=DEPTH, deadline=_deadline())
        ms["vector"] = (time.perf_counter() - begun) * 1e3
        return found.hits

    def _fused(self, question: Question, ms: Stages) -> Iterable[Hit]:
        answer = self._library.search(
            question.text,
            limit=DEPTH,
            filter=question.filter,
            context=question.context if self._context else None,
        )
        ms.update(answer.ms)
        self._floor = answer.floor
        return answer.with_copies

    def _scope(self, question: Question) -> Scope:
        return Scope(sources=frozenset({SOURCE_ID}), as_of=self._today, filter=question.filter)

    def _ranked(self, hits: Iterable[Hit]) -> Ranked:
        best: dict[str, float] = {}
        for hit in hits:
            best.setdefault(self._entries[hit.passage_id], hit.score)
        return Ranked(tuple(best), tuple(best.values()))


def _deadline() -> Deadline:
    return deadline_after(_PATIENT)
