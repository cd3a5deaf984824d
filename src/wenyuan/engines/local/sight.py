"""Keyword scores and statistics within what somebody may see: documents that are hidden from them count nowhere.

tantivy knows the frequencies and the mean length of all its rows, and scores by these. So the postings of a question's terms are read
from it, once for all who ask as long as nothing is indexed, and added up here by the frequencies and the mean length of the rows in
sight.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from wenyuan.core.hidden_documents import AccessClasses, HiddenDocuments
from wenyuan.core.scoring.common_words import worth
from wenyuan.core.scoring.formula import K1, LENGTHS, B, squash, term_weights
from wenyuan.engines.local.columns import Array, Columns
from wenyuan.engines.local.keyword import KeywordIndex
from wenyuan.engines.local.vectors import VectorScan

_MOST_SIGHTS = 32
_MOST_POSTINGS = 8_000_000  # entries that are remembered, of eight bytes each
_LENGTHS = np.array(LENGTHS, dtype=np.int64)
_Key = tuple[int, frozenset[int]]


class Postings(NamedTuple):
    """The live rows that hold a term.

    Attributes:
        rows: (k,) int32, rising.
        often: (k,) float32, how often each holds it.
    """

    rows: Array
    often: Array


@dataclass(slots=True)
class RowsInSight:
    """The rows that count for somebody.

    Attributes:
        classes: By which they were chosen.
        mask: (n,) bool.
        count: How many there are.
        norms: By code of a length, what BM25 adds to a term's frequency.
        chinese: The share that is in Chinese.
        means: By vector, the mean cosine to it.
    """

    classes: AccessClasses
    mask: Array
    count: int
    norms: Array
    chinese: float
    means: dict[bytes, float] = field(default_factory=dict)


class _Query(NamedTuple):
    """A question's terms as they count: what each adds, its postings, and the question's information."""

    counted: Mapping[str, float]
    postings: Mapping[str, Postings]
    total: float
    norms: Array

    def parts(self) -> Iterator[tuple[float, Postings]]:
        for term, counts in self.counted.items():
            yield counts * (K1 + 1.0), self.postings[term]


class SightStatistics:
    """What is counted within sights, of the rows as they are at one change. Safe to share between threads."""

    def __init__(self, keyword: KeywordIndex, searcher: Any, columns: Columns) -> None:
        self._keyword, self._searcher, self._columns = keyword, searcher, columns
        self._lock = threading.Lock()
        self._postings: OrderedDict[str, Postings] = OrderedDict()
        self._entries = 0
        self._sights: OrderedDict[_Key, RowsInSight] = OrderedDict()

    @cached_property
    def _codes(self) -> Array:
        """By row, which of the lengths its own is counted as, (n,) int16."""
        return np.searchsorted(_LENGTHS, self._columns.lengths, side="right").astype(np.int16) - 1

    def of(self, searcher: Any, columns: Columns) -> bool:
        """Whether it is of these rows."""
        return self._searcher is searcher and self._columns.alive is columns.alive

    def information(self, terms: Sequence[str], uncounted: HiddenDocuments) -> Mapping[str, float]:
        """Idf by term, within a sight."""
        return self._weights(terms, self._sight(uncounted))

    def best(
        self, terms: Sequence[str], uncounted: HiddenDocuments, mask: Array | None, limit: int
    ) -> list[tuple[int, float]]:
        """(passage id, share of the query's information) of the best rows in a mask, best first, ties by id."""
        query = self._query(terms, self._sight(uncounted))
        if query is None:
            return []
        sums = np.zeros(len(self._codes))
        for weight, (rows, often) in query.parts():
            sums[rows] += weight * often / (often + query.norms[self._codes[rows]])
        found = np.flatnonzero(sums > 0.0 if mask is None else mask & (sums > 0.0))
        if len(found) > limit:
            least = np.partition(sums[found], -limit)[-limit]
            found = found[sums[found] >= least]
        ids = self._columns.passage_ids[found]
        scores = [squash(share) for share in (sums[found] / query.total).tolist()]
        ranked = sorted(zip(ids.tolist(), scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
        return ranked[:limit]

    def scores(
        self, terms: Sequence[str], passage_ids: Sequence[int], uncounted: HiddenDocuments
    ) -> Mapping[int, float]:
        """The scores of given passages; those without any of the terms are absent."""
        query, rows = self._query(terms, self._sight(uncounted)), self._columns.rows_of(passage_ids)
        if query is None or not len(rows):
            return {}
        sums, norms = np.zeros(len(rows)), query.norms[self._codes[rows]]
        for weight, (held, often) in query.parts():
            at = np.minimum(np.searchsorted(held, rows), len(held) - 1)
            holds = held[at] == rows
            count = often[at[holds]]
            sums[holds] += weight * count / (count + norms[holds])
        ids = self._columns.passage_ids[rows].tolist()
        shares = (sums / query.total).tolist()
        return {number: squash(share) for number, share in zip(ids, shares, strict=True) if share > 0.0}

    def mean_cosine(self, vector: Any, scan: VectorScan, crcs: Array, uncounted: HiddenDocuments) -> float:
        """The mean cosine of the vectors in sight; 0 without any."""
        sight, key = self._sight(uncounted), np.asarray(vector, np.float32).tobytes()
        if key not in sight.means:
            cosines = scan.cosines(vector)[sight.mask & (crcs != 0)]
            sight.means[key] = math.fsum(cosines.tolist()) / len(cosines) if len(cosines) else 0.0
        return sight.means[key]

    def chinese_share(self, uncounted: HiddenDocuments) -> float:
        """The share of rows in sight that are in Chinese."""
        return self._sight(uncounted).chinese

    def _sight(self, uncounted: HiddenDocuments) -> RowsInSight:
        key = id(uncounted.classes), uncounted.unread
        with self._lock:
            known = self._sights.get(key)
            if known is not None:
                self._sights.move_to_end(key)
                return known
        mask = self._columns.alive & self._columns.readable(uncounted)
        count = int(np.count_nonzero(mask))
        mean = int(self._columns.lengths[mask].sum()) / count if count else 1.0
        norms = K1 * (1.0 - B + B * _LENGTHS / mean)
        chinese = int(np.count_nonzero(mask & self._columns.chinese)) / max(1, count)
        # It holds the classes, so that no others get their id.
        made = RowsInSight(uncounted.classes, mask, count, norms, chinese)
        with self._lock:
            self._sights[key] = made
            if len(self._sights) > _MOST_SIGHTS:
                self._sights.popitem(last=False)
        return made

    def _query(self, terms: Sequence[str], sight: RowsInSight) -> _Query | None:
        weights = self._weights(terms, sight)
        if not weights or not sight.count:
            return None
        counted = worth(weights, sight.count)
        held = {term: found for term in weights if len((found := self._of(term)).rows)}
        return _Query({t: counted[t] for t in held}, held, math.fsum(weights.values()), sight.norms)

    def _weights(self, terms: Sequence[str], sight: RowsInSight) -> Mapping[str, float]:
        holding = {t: int(np.count_nonzero(sight.mask[self._of(t).rows])) for t in dict.fromkeys(terms)}
        return term_weights(sight.count, holding)

    def _of(self, term: str) -> Postings:
        with self._lock:
            known = self._postings.get(term)
            if known is not None:
                self._postings.move_to_end(term)
                return known
        made = self._read(term)
        with self._lock:
            if term not in self._postings:
                self._postings[term] = made
                self._entries += len(made.rows) + 1
            while self._entries > _MOST_POSTINGS and len(self._postings) > 1:
                self._entries -= len(self._postings.popitem(last=False)[1].rows) + 1
        return made

    def _read(self, term: str) -> Postings:
        """The postings of a term: how often a row holds it is told by its score there, and by its length."""
        found = self._keyword.occurrences(self._searcher, term)
        rows = self._columns.rows_of(found.passage_ids)
        if len(rows) < len(found.passage_ids):
            kept = np.isin(found.passage_ids, self._columns.passage_ids[rows])
            shares = found.shares[kept]
        else:
            shares = found.shares
        norms = K1 * (1.0 - B + B * _LENGTHS[self._codes[rows]] / found.mean_length)
        often = np.maximum(1.0, np.round(norms * shares / (1.0 - shares))).astype(np.float32)
        order = np.argsort(rows)
        return Postings(rows[order].astype(np.int32), often[order])
