"""Whether a library can answer, and how it is doing in numbers. Mixed into `Library`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.ports import Encoder, Engine
from wenyuan.service.derive import Deriver
from wenyuan.service.hired import HiredWorker, WorkerProgress
from wenyuan.service.retrieve import Retriever
from wenyuan.service.search import Searcher
from wenyuan.service.vitals import Vitals, index_lag, source_counts
from wenyuan.service.warmth import WarmUp
from wenyuan.service.witness import Witness

__all__ = ["HealthDoor", "Readiness"]

_REBUILT_HERE = "remove the library's index folder; it is rebuilt from the catalog"
_REBUILT_THERE = "drop what the server holds of the index; it is built again from the catalog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the library can answer; each part has ``state`` (ok, degraded, failed) and ``detail``; one that failed ``hint``, too."""

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

    def warm_up(self) -> None:
        """Read the names of the rules now, in a thread, and not when the first question needs them."""
        self.warmth = WarmUp(lambda: self._deriver.configured(self.catalog.seq()))
        self.warmth.start()

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
        parts: dict[str, Mapping[str, object]] = {}
        for name, check in (("catalog", self._check_catalog), ("engine", self._check_engine)):
            begun = time.perf_counter()
            try:
                parts[name] = {"state": "ok", "detail": check(), "ms": round((time.perf_counter() - begun) * 1e3, 2)}
            except KnowledgeError as error:
                parts[name] = {"state": "failed", "detail": str(error), "hint": error.hint}
        if self.encoder is not None:
            parts["encoder"] = {"state": "ok", "detail": self.encoder.fingerprint.id}
        else:
            parts["encoder"] = {"state": "degraded", "detail": self._encoder_note or "keyword-only by setting"}
        if self.worker is not None:
            parts["worker"] = _worker_part(self.worker.progress())
        if self.warmth is not None:
            parts["rules"] = self.warmth.told()
        if key := self._retriever.reranking.fingerprint:
            parts["reranker"] = {"state": "ok", "detail": key}
        return Readiness(ready=all(part["state"] != "failed" for part in parts.values()), parts=parts)

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


def _worker_part(done: WorkerProgress) -> Mapping[str, object]:
    """A worker in trouble makes no answer wrong: what it should have refreshed says that it is overdue."""
    detail = f"{done.refreshed} refreshed, {done.failed} failed"
    trouble = done.trouble or ("" if done.alive else "it has ended")
    return {"state": "degraded" if trouble else "ok", "detail": f"{detail}; {trouble}" if trouble else detail}
