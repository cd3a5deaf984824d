"""The legs that ask external sources, those of type ``api`` and ``vector_index``, while our own legs work."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from wenyuan.core.errors import EngineUnavailable, KnowledgeError
from wenyuan.core.model import Passage, Source
from wenyuan.core.ports import Deadline, Hit, Outside, OutsideHit
from wenyuan.core.scoring.formula import trust_factor
from wenyuan.core.stated_addresses import is_script
from wenyuan.service.query import LegReport
from wenyuan.service.search.leg_execution import Leg, LegExecutor
from wenyuan.service.search.query_vectors import QueryVectors

Answered = tuple[Sequence[OutsideHit], float]


@dataclass(frozen=True, slots=True)
class PendingQuery:
    """A pending query to one external source."""

    source: Source
    day: date
    answer: Leg[Answered]


class ExternalSearch:
    """Queries external sources.

    Args:
        open_source: Opens a source for asking; raises a `KnowledgeError` when it is described wrongly.
        executor: Runs these legs alone, and is closed with this: others that hang must not keep our own legs from running.
    """

    def __init__(
        self, open_source: Callable[[Source], Outside], vectors: QueryVectors | None, executor: LegExecutor
    ) -> None:
        self._open_source = open_source
        self._vectors = vectors
        self.executor = executor
        self._opened: dict[str, tuple[str, Outside]] = {}
        self._lock = threading.Lock()

    def ask(
        self, sources: Iterable[Source], query: str, limit: int, as_of: date, deadline: Deadline
    ) -> list[PendingQuery]:
        """Start the queries to all external sources of the request."""

        def call(source: Source) -> Answered:
            begun = time.perf_counter()
            outside = self._outside(source)
            vector = self._vectors.of(query, deadline)[0] if outside.needs_vector and self._vectors else None
            hits = outside.ask(query, vector=vector, limit=limit, as_of=as_of, deadline=deadline)
            return hits, (time.perf_counter() - begun) * 1e3

        return [
            PendingQuery(s, as_of, self.executor.begin(partial(call, s), "outside", s.source_id)) for s in sources
        ]

    def _outside(self, source: Source) -> Outside:
        described = json.dumps([source.type, dict(source.settings)], sort_keys=True, default=str)
        with self._lock:
            known = self._opened.get(source.source_id)
            if known is None or known[0] != described:
                if known is not None:
                    known[1].close()
                known = self._opened[source.source_id] = (described, self._open_source(source))
            return known[1]

    def collect(
        self, asked: Sequence[PendingQuery], deadline: Deadline
    ) -> tuple[list[tuple[Hit, Passage]], list[LegReport]]:
        """Collect the results. A failed source with ``required: false`` is reported; any other failure is raised."""
        found: list[tuple[Hit, Passage]] = []
        reports = []
        for question in asked:
            source = question.source
            name = f"source {source.source_id}"
            try:
                hits, ms = self.executor.outcome(question.answer, name, deadline)
            except KnowledgeError as error:
                if source.settings.get("required", True):
                    raise
                reports.append(LegReport(name=name, state="failed", ms=0.0, hits=0, error=str(error)))
                continue
            live = [hit for hit in hits if hit.in_force_on(question.day)]  # it may not have known of the day
            reports.append(LegReport(name=name, state="ok", ms=ms, hits=len(live), withheld=len(hits) - len(live)))
            found += [_entered(source, hit) for hit in live]
        return found, reports

    def close(self) -> None:
        self.executor.close()
        with self._lock:
            for _, outside in self._opened.values():
                outside.close()
            self._opened.clear()


def no_outside(source: Source) -> Outside:
    """The opener of libraries without external sources; raises EngineUnavailable."""
    raise EngineUnavailable("sources of this type cannot be asked here", component=f"source {source.source_id}")


def _entered(source: Source, hit: OutsideHit) -> tuple[Hit, Passage]:
    """An external hit as a passage. Its id is negative and stable, derived from source and key."""
    digest = hashlib.sha256(f"{source.source_id}\x00{hit.key}".encode()).digest()
    passage_id = -1 - int.from_bytes(digest[:6])
    passage = Passage(
        passage_id=passage_id,
        source_id=source.source_id,
        document_id=passage_id,
        uri=hit.uri,
        title=hit.title or source.title,
        headings=hit.headings,
        text=hit.content,
        sha256=hashlib.sha256(hit.content.encode()).hexdigest(),
        start=0,
        end=len(hit.content),
        language=source.language,
        trust=source.trust,
        domain=source.domain,
        collection=source.collection,
        copyright=source.copyright,
        effective_from=hit.effective_from or source.effective_from,
        effective_until=hit.effective_until or source.effective_until,
        facets=hit.facets,
    )
    if is_script(hit.uri):
        passage = unaddressed(passage)
    trust = trust_factor(source.trust)
    parts = {"outside": hit.score, "trust": trust}
    return Hit(passage_id=passage_id, score=min(1.0, hit.score * trust), parts=parts), passage


def unaddressed(passage: Passage) -> Passage:
    """An external passage without the address that its source gave; a stable name replaces it."""
    return replace(passage, uri=f"urn:wenyuan:{passage.source_id}:{-passage.passage_id}")
