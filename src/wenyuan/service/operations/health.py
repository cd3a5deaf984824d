"""Health checks, statistics, and warming up."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from wenyuan.core.errors import KnowledgeError, msg
from wenyuan.core.ports import ChangeFeed, Encoder, Engine, Judge, LanguageModel, ModelUse
from wenyuan.core.records import AuditProgress
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.timings import Timing
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.operations.background_refresh import BackgroundRefresh, WorkerProgress
from wenyuan.service.operations.source_health import SourceHealth, source_counts
from wenyuan.service.query import Query
from wenyuan.service.rules.derive import Deriver
from wenyuan.service.search.answer_cache import CacheCounts
from wenyuan.service.search.retriever import Retriever
from wenyuan.service.search.searcher import Searcher
from wenyuan.service.search.sufficiency import Sufficiency

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

# Statistics of a library for ``/metrics``, and the state of each source.


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLag:
    """How far the index is behind the catalog: number of changes, and age in seconds of the oldest one missing."""

    engine: str
    watermark: int
    changes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryWork:
    """What a library has done in this process, and how far it is.

    Attributes:
        legs: Times by ``(leg, source, state)``.
        query_vectors: How the vectors of queries were come by; None without an encoder.
        audit: None when it is switched off.
        llm, judge: What the language model and the judge were used for; None where none is set up.
    """

    legs: Mapping[tuple[str, ...], Timing]
    cache: CacheCounts
    query_vectors: CacheCounts | None
    audit: AuditProgress | None
    index: IndexLag
    llm: ModelUse | None = None
    judge: ModelUse | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryStats(LibraryWork):
    """Statistics of a library at a moment.

    Attributes:
        at: Seconds since the epoch.
        counts: Documents, passages, vectors and failures, by source.
        worker: None where no worker runs in this process.
    """

    at: float
    sources: tuple[SourceHealth, ...]
    counts: Mapping[str, Mapping[str, int]]
    worker: WorkerProgress | None = None

    def beside(self, work: LibraryWork) -> LibraryStats:
        """With the work of other processes, too; of legs, those of sources that are registered."""
        known = {"", *self.counts}
        told = {one.name: getattr(work, one.name) for one in fields(LibraryWork)}
        legs = {names: timing for names, timing in work.legs.items() if names[1] in known}
        return replace(self, **{**told, "legs": legs})


def index_lag(feed: ChangeFeed, engine: Engine) -> IndexLag:
    """How far an index is behind."""
    status = engine.status()
    return IndexLag(
        engine=status.name,
        watermark=status.watermark,
        changes=max(0, feed.seq() - status.watermark),
        seconds=feed.lag(status.watermark),
    )


# What the first question would have to wait for, made ready in a thread as soon as a server begins.


log = logging.getLogger(__name__)


class WarmUp:
    """Performs once, in a thread, the work that the first query would wait for; queries meanwhile wait for it.

    Args:
        work: Does it. Failures are only logged: the next query tries again and reports them.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wenyuan-warm-up", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has finished, at most `seconds`."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    @property
    def under_way(self) -> bool:
        return not self._ended.is_set()

    def _run(self) -> None:
        try:
            self._work()
        except Exception:
            log.exception("warming up failed")
        finally:
            self._ended.set()


# Whether a library can answer, and how it is doing in numbers.


_ANSWERS = ("ok", "degraded")
_STARTING: Mapping[str, object] = {"state": "starting", "detail": "what the first question needs is being read"}
_QUESTION = "ready 就绪"
_PATIENT = 3  # times as long as any question has: load alone, which passes, must not make a server unready
_NO_HURRY = 300.0
_REBUILT_HERE = "remove the library's index folder; it is rebuilt from the catalog"
_REBUILT_THERE = "drop what the server holds of the index; it is built again from the catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the library can answer; each part has ``state`` (ok, degraded, starting, failed), ``detail`` and, if
    failed, ``hint``.
    """

    ready: bool
    parts: Mapping[str, Mapping[str, object]]


@dataclass(kw_only=True, eq=False)
class Health:
    """Health checks of a library's parts.

    Attributes:
        encoder_note: Why there is no encoder; ``""``: since it was set so.
        worker: Refreshes the library in a thread of this process; None where nobody asked for that.
        check_tasks: Raises where the counts of tasks are not those that the catalog knows.
        warmth: Made ready what the first question needs, or is at it; None where nobody asked for that.
    """

    catalog: Catalog
    engine: Engine
    encoder: Encoder | None
    encoder_note: str
    recorder: AuditRecorder
    retriever: Retriever
    searcher: Searcher
    deriver: Deriver
    sufficiency: Sufficiency
    check_tasks: Callable[[], None]
    llm: LanguageModel | None = None
    worker: BackgroundRefresh | None = None
    warmth: WarmUp | None = None

    def warm_up(self) -> WarmUp:
        """Load in a thread what the first query needs: names of rules, models, and parts of files."""

        def work() -> None:
            self.deriver.known(self.catalog.seq())
            self.retriever.ready()
            self._test_query(_NO_HURRY)

        self.warmth = WarmUp(work)
        self.warmth.start()
        return self.warmth

    def vitals(self) -> LibraryStats:
        """Current statistics.

        Raises:
            CatalogError: the catalog cannot be read.
        """
        sources, counts = source_counts(self.catalog)
        self.retriever.meter.of(list(counts))  # those of sources that are gone are forgotten
        work = self.work()
        return LibraryStats(
            at=time.time(),
            sources=sources,
            counts=counts,
            worker=None if self.worker is None else self.worker.progress(),
            **{one.name: getattr(work, one.name) for one in fields(LibraryWork)},
        )

    def work(self) -> LibraryWork:
        """What has been done in this process.

        Raises:
            CatalogError: the catalog cannot be read.
        """
        return LibraryWork(
            legs={**self.retriever.meter.read(), **self.sufficiency.meter.read()},
            cache=self.searcher.cache_counts(),
            query_vectors=self.retriever.query_vectors(),
            audit=None if self.recorder.log is None else self.recorder.log.progress(),
            index=index_lag(self.catalog, self.engine),
            llm=None if self.llm is None else self.llm.use(),
            judge=None if self.sufficiency.judge is None else self.sufficiency.judge.use(),
        )

    def readiness(self) -> Readiness:
        """Check every part."""
        parts = {"catalog": _checked(self._check_catalog), "engine": _checked(self._check_engine)}
        parts["tasks"] = _checked(self._check_counts)
        if self.encoder is not None:
            parts["encoder"] = {"state": "ok", "detail": self.encoder.fingerprint.id}
        else:
            parts["encoder"] = {"state": "degraded", "detail": self.encoder_note or "keyword-only by setting"}
        if self.worker is not None:
            parts["worker"] = _worker_part(self.worker.progress())
        starting = self.warmth is not None and self.warmth.under_way
        if self.warmth is not None:
            parts["rules"] = _STARTING if starting else _checked(self._check_rules)
        if key := self.retriever.reranking.fingerprint:
            parts["reranker"] = {"state": "ok", "detail": key}
        if self.llm is not None:  # it is not asked: that would cost, and nothing but answers needs it
            parts["llm"] = {"state": "ok", "detail": self.llm.fingerprint.rpartition("|")[0]}
        if self.sufficiency.judge is not None:  # nor is the judge
            parts["judge"] = {"state": "ok", "detail": self._judge_told(self.sufficiency.judge)}
        if not starting and all(part["state"] != "failed" for part in parts.values()):
            parts["search"] = _checked(self._check_search)  # what no part tells, a question does
        if self.recorder.log is not None:
            parts["audit"] = _checked(self._check_audit)
        return Readiness(ready=all(part["state"] in _ANSWERS for part in parts.values()), parts=parts)

    def _judge_told(self, judge: Judge) -> str:
        if self.sufficiency.calibration(self.catalog.seq()) is None:
            return msg("{judge}, not calibrated", judge=judge.model)
        return judge.fingerprint

    def _check_rules(self) -> str:
        found = self.deriver.known(self.catalog.seq())
        return "the names of the rules are read" if found else "the library has no rules"

    def _check_search(self) -> str:
        self._test_query(_PATIENT * self.retriever.limit().remaining())
        return "a question is answered"

    def _check_audit(self) -> str:
        assert self.recorder.log is not None
        self.recorder.log.check()
        return "a record can be written"

    def _test_query(self, seconds: float) -> None:
        """Run a test query on the library's own content; raises what makes it fail."""
        own = tuple(source.source_id for source in self.catalog.sources() if source.type == "static_doc")
        deadline = deadline_after(seconds)
        self.retriever.retrieve(Query(text=_QUESTION, limit=1, sources=own), deadline)

    def _check_catalog(self) -> str:
        counts = self.catalog.counts()
        return msg(
            "{documents} documents, {passages} passages, change {catalog}",
            documents=counts["documents"],
            passages=counts["passages"],
            catalog=self.catalog.seq(),
        )

    def _check_counts(self) -> str:
        self.check_tasks()
        return "what tasks were given is counted"

    def _check_engine(self) -> str:
        self.retriever.follow()
        status, counts = self.engine.status(), self.catalog.counts()
        behind = self.catalog.seq() - status.watermark
        held = status.passages, status.vectors
        if not behind and held != (counts["passages"], counts["vectors"]):
            raise KnowledgeError(
                msg(
                    "holds {held} passages and {held2} vectors, the catalog {passages} and {vectors}",
                    held=held[0],
                    held2=held[1],
                    passages=counts["passages"],
                    vectors=counts["vectors"],
                ),
                component=f"engine {status.name}",
                hint=_REBUILT_HERE if status.name == "local" else _REBUILT_THERE,
            )
        late = (
            msg("; {behind} behind the catalog", behind=behind) if behind > 0 else ""
        )  # of another process's writes
        return msg(
            "{name}: {held} passages, {held2} vectors, change {watermark}{late}",
            name=status.name,
            held=held[0],
            held2=held[1],
            watermark=status.watermark,
            late=late,
        )


def _checked(check: Callable[[], str]) -> Mapping[str, object]:
    """The state of a part by its check; an exception means failed."""
    begun = time.perf_counter()
    try:
        return {"state": "ok", "detail": check(), "ms": round((time.perf_counter() - begun) * 1e3, 2)}
    except KnowledgeError as error:
        return {"state": "failed", "detail": str(error), "hint": error.hint}


def _worker_part(done: WorkerProgress) -> Mapping[str, object]:
    """State of the worker, at worst degraded: answers stay right, and overdue sources are reported themselves."""
    detail = msg("{refreshed} refreshed, {failed} failed", refreshed=done.refreshed, failed=done.failed)
    trouble = done.trouble or ("" if done.alive else "it has ended")
    return {"state": "degraded" if trouble else "ok", "detail": f"{detail}; {trouble}" if trouble else detail}
