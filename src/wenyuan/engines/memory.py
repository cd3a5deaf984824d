"""The reference engine, which the others are compared with: plain lists in memory, exact scores."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wenyuan.core.errors import IndexMismatch
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import IndexRow
from wenyuan.core.ports import ChangeFeed, Deadline, EngineStatus, Hit, IndexSpec, LegResult
from wenyuan.core.scoring.common_words import worth
from wenyuan.core.scoring.formula import bm25, rescale, squash, term_weights
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.core.text.analysis import passage_terms


class _Tally(NamedTuple):
    """How many rows there are, how many terms they have, and how many rows hold each term."""

    rows: int
    length: int
    holding: Counter[str]


class MemoryEngine:
    """Rows in a dict; a linear scan per query."""

    name = "memory"
    works_here = False

    def __init__(self, spec: IndexSpec) -> None:
        self._spec = spec
        self._scale = spec.encoder.scale if spec.encoder else (0.0, 1.0)
        self._rows: dict[int, IndexRow] = {}
        self._counts: dict[int, Counter[str]] = {}
        self._holding: Counter[str] = Counter()  # term → number of rows that hold it
        self._total_length = 0
        self._watermark = 0
        self._lock = threading.RLock()

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        with self._lock:
            target = feed.seq()
            if target < self._watermark:
                raise IndexMismatch("the catalog is older than the index", component=f"engine {self.name}")
            if target > self._watermark:
                for change in feed.changes(self._watermark, target):
                    if change.row is None:
                        self._drop(change.passage_id)
                    else:
                        self._add(change.row)
                self._watermark = target
            return self._watermark

    def _add(self, row: IndexRow) -> None:
        self._drop(row.passage_id)
        counts = Counter(passage_terms(row.heading_text, row.text))
        self._rows[row.passage_id] = row
        self._counts[row.passage_id] = counts
        self._holding.update(counts.keys())
        self._total_length += counts.total()

    def _drop(self, passage_id: int) -> None:
        if self._rows.pop(passage_id, None) is not None:
            counts = self._counts.pop(passage_id)
            self._holding.subtract(counts.keys())
            self._total_length -= counts.total()

    def information(self, terms: Sequence[str], *, uncounted: HiddenDocuments | None = None) -> Mapping[str, float]:
        with self._lock:
            return self._weights(terms, self._tally(uncounted))

    def _tally(self, uncounted: HiddenDocuments | None) -> _Tally:
        """What there is of rows and terms, without those of documents that are not to be counted."""
        if uncounted is None:
            return _Tally(len(self._rows), self._total_length, self._holding)
        seen = [i for i, row in self._rows.items() if not uncounted.hides(row.document_id)]
        holding = Counter(term for i in seen for term in self._counts[i])
        return _Tally(len(seen), sum(self._counts[i].total() for i in seen), holding)

    def _weights(self, terms: Sequence[str], tally: _Tally) -> Mapping[str, float]:
        return term_weights(tally.rows, {t: tally.holding[t] for t in terms})

    def _keyword_score(self, passage_id: int, weights: Mapping[str, float], tally: _Tally) -> float:
        counts = self._counts[passage_id]
        counted = worth(weights, tally.rows)
        return squash(bm25(counts, counts.total(), tally.length / tally.rows, counted) / math.fsum(weights.values()))

    def keyword(self, terms: Sequence[str], *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        with self._lock:
            tally = self._tally(scope.uncounted)
            weights = self._weights(terms, tally)
            return self._best(scope, limit, deadline, lambda row: self._keyword_hit(row.passage_id, weights, tally))

    def _keyword_hit(self, passage_id: int, weights: Mapping[str, float], tally: _Tally) -> Hit | None:
        score = self._keyword_score(passage_id, weights, tally) if weights else 0.0
        return Hit(passage_id=passage_id, score=score, parts={"keyword": score}) if score > 0 else None

    def vector(self, vector: Any, *, scope: Scope, limit: int, deadline: Deadline) -> LegResult:
        def hit(row: IndexRow) -> Hit | None:
            if row.vector is None:
                return None
            cosine = float(np.dot(row.vector, vector))
            score = float(rescale(cosine, self._scale))
            return Hit(passage_id=row.passage_id, score=score, parts={"vector": score, "cosine": cosine})

        with self._lock:
            return self._best(scope, limit, deadline, hit)

    def _best(self, scope: Scope, limit: int, deadline: Deadline, hit: Callable[[IndexRow], Hit | None]) -> LegResult:
        hits = []
        for row in self._rows.values():
            deadline.check(f"engine {self.name}")
            if scope.allows(row):
                found = hit(row)
                if found is not None:
                    hits.append(found)
        hits.sort(key=lambda h: (-h.parts.get("cosine", h.score), h.passage_id))
        return LegResult.ok(hits[:limit])

    def keyword_scores(
        self,
        terms: Sequence[str],
        passage_ids: Sequence[int],
        *,
        deadline: Deadline,
        uncounted: HiddenDocuments | None = None,
    ) -> Mapping[int, float]:
        with self._lock:
            tally = self._tally(uncounted)
            weights = self._weights(terms, tally)
            held = self._held(passage_ids) if weights and tally.rows else []
            scores = {i: self._keyword_score(i, weights, tally) for i in held}
        return {i: score for i, score in scores.items() if score > 0}

    def cosines(self, vector: Any, passage_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, float]:
        with self._lock:
            rows = ((i, self._rows[i].vector) for i in self._held(passage_ids))
            return {i: float(np.dot(v, vector)) for i, v in rows if v is not None}

    def _held(self, passage_ids: Iterable[int]) -> list[int]:
        return [i for i in passage_ids if i in self._rows]

    def checkpoint(self, *, always: bool = False) -> None:
        """No-op: there are no files."""

    def purge(self, feed: ChangeFeed) -> None:
        """No-op: removed rows are not kept."""

    def mean_cosine(self, vector: Any, *, uncounted: HiddenDocuments | None = None) -> float:
        with self._lock:
            cosines = [
                float(np.dot(row.vector, vector))
                for row in self._rows.values()
                if row.vector is not None and not (uncounted and uncounted.hides(row.document_id))
            ]
        return math.fsum(cosines) / len(cosines) if cosines else 0.0

    def chinese_share(self, *, uncounted: HiddenDocuments) -> float:
        with self._lock:
            seen = [row.language for row in self._rows.values() if not uncounted.hides(row.document_id)]
        return seen.count(CHINESE) / len(seen) if seen else 0.0

    def removed_share(self) -> float:
        return 0.0

    def status(self) -> EngineStatus:
        vectors = sum(row.vector is not None for row in self._rows.values())
        return EngineStatus(name=self.name, watermark=self._watermark, passages=len(self._rows), vectors=vectors)

    def close(self) -> None:
        self._rows.clear()
        self._counts.clear()
