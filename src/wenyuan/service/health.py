"""Whether a library can answer, and how it is doing in numbers. Mixed into `Library`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.service.answer import Query
from wenyuan.service.derive import Deriver
from wenyuan.service.hired import HiredWorker, WorkerProgress
from wenyuan.service.retrieve import Retriever
from wenyuan.service.search import Searcher
from wenyuan.service.vitals import Vitals, index_lag, source_counts
from wenyuan.service.warmth import WarmUp
from wenyuan.service.witness import Witness

__all__ = ["HealthDoor", "Readiness"]

_ANSWERS = ("ok", "degraded")
_STARTING: Mapping[str, object] = {"state": "starting", "detail": "what the first question needs is being read"}
_QUESTION = "ready 就绪"
_PATIENT = 3  # times as long as any question has: load alone, which passes, must not make a server unready
_NO_HURRY = 300.0
_REBUILT_HERE = "remove the library's index folder; it is rebuilt from the catalog"
_REBUILT_THERE = "drop what the server holds of the index; it is built again from the catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the library can answer; each part has ``state`` (ok, degraded, starting, failed) and ``detail``; one that failed ``hint``, too."""

    ready: bool
    parts: Mapping[str, Mapping[str, object]]


class HealthDoor:
    """Health of the parts."""

    catalog: Any
    engine: Engine
    encoder: Encoder | None
    witness: Witness
    _retriever: Retriever
    _searcher: Searcher
    _deriver: Deriver
    _encoder_note: str
    worker: HiredWorker | None = None
    """Refreshes this library in a thread of this process; None where nobody asked for that."""
    warmth: WarmUp | None = None
    """Made ready what the first question needs, or is at it; None where nobody asked for that."""

    def warm_up(self) -> WarmUp:
        """Make ready now, in a thread, what the first question needs: the names of the rules, models, and parts of files."""

        def work() -> None:
            self._deriver.configured(self.catalog.seq())
            self._asked(_NO_HURRY)

        self.warmth = WarmUp(work)
        self.warmth.start()
        return self.warmth

    def vitals(self) -> Vitals:
        """How the library is doing, in numbers.

        Raises:
            CatalogError: it cannot be told.
        """
        sources, counts = source_counts(self.catalog)
        return Vitals(
            at=time.time(),
            sources=sources,
            counts=counts,
            legs=self._retriever.meter.read(list(counts)),
            cache=self._searcher.cache_counts(),
            query_vectors=self._retriever.query_vectors(),
            audit=None if self.witness.log is None else self.witness.log.progress(),
            index=index_lag(self.catalog, self.engine),
            worker=None if self.worker is None else self.worker.progress(),
        )

    def readiness(self) -> Readiness:
        """Whether the library can answer, part by part."""
        parts = {"catalog": _checked(self._check_catalog), "engine": _checked(self._check_engine)}
        if self.encoder is not None:
            parts["encoder"] = {"state": "ok", "detail": self.encoder.fingerprint.id}
        else:
            parts["encoder"] = {"state": "degraded", "detail": self._encoder_note or "keyword-only by setting"}
        if self.worker is not None:
            parts["worker"] = _worker_part(self.worker.progress())
        starting = self.warmth is not None and self.warmth.under_way
        if self.warmth is not None:
            parts["rules"] = _STARTING if starting else _checked(self._check_rules)
        if key := self._retriever.reranking.fingerprint:
            parts["reranker"] = {"state": "ok", "detail": key}
        if not starting and all(part["state"] != "failed" for part in parts.values()):
            parts["search"] = _checked(self._check_search)  # what no part tells, a question does
        if self.witness.log is not None:
            parts["audit"] = _checked(self._check_audit)
        return Readiness(ready=all(part["state"] in _ANSWERS for part in parts.values()), parts=parts)

    def _check_rules(self) -> str:
        found = self._deriver.configured(self.catalog.seq())
        return "the names of the rules are read" if found else "the library has no rules"

    def _check_search(self) -> str:
        self._asked(_PATIENT * self._retriever.deadline().remaining())
        return "a question is answered"

    def _check_audit(self) -> str:
        assert self.witness.log is not None
        self.witness.log.check()
        return "a record can be written"

    def _asked(self, seconds: float) -> None:
        """Ask a question of all that the library itself holds; raises what makes it fail."""
        own = tuple(source.source_id for source in self.catalog.sources() if source.type == "static_doc")
        deadline = Deadline(time.monotonic() + seconds, time.monotonic)
        self._retriever.retrieve(Query(text=_QUESTION, limit=1, sources=own), deadline)

    def _check_catalog(self) -> str:
        counts = self.catalog.counts()
        return f"{counts['documents']} documents, {counts['passages']} passages, change {self.catalog.seq()}"

    def _check_engine(self) -> str:
        self._retriever.follow()
        status, counts = self.engine.status(), self.catalog.counts()
        behind = self.catalog.seq() - status.watermark
        held = status.passages, status.vectors
        if not behind and held != (counts["passages"], counts["vectors"]):
            raise KnowledgeError(
                f"holds {held[0]} passages and {held[1]} vectors, the catalog {counts['passages']} and "
                f"{counts['vectors']}",
                component=f"engine {status.name}",
                hint=_REBUILT_HERE if status.name == "local" else _REBUILT_THERE,
            )
        late = f"; {behind} behind the catalog" if behind > 0 else ""  # of what somebody else is writing
        return f"{status.name}: {held[0]} passages, {held[1]} vectors, change {status.watermark}{late}"


def _checked(check: Callable[[], str]) -> Mapping[str, object]:
    """A part of which a check tells; whatever it raises would make an answer fail."""
    begun = time.perf_counter()
    try:
        return {"state": "ok", "detail": check(), "ms": round((time.perf_counter() - begun) * 1e3, 2)}
    except KnowledgeError as error:
        return {"state": "failed", "detail": str(error), "hint": error.hint}


def _worker_part(done: WorkerProgress) -> Mapping[str, object]:
    """A worker in trouble makes no answer wrong: what it should have refreshed says that it is overdue."""
    detail = f"{done.refreshed} refreshed, {done.failed} failed"
    trouble = done.trouble or ("" if done.alive else "it has ended")
    return {"state": "degraded" if trouble else "ok", "detail": f"{detail}; {trouble}" if trouble else detail}
