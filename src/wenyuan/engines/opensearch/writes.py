"""The write path, in steps that count all at once: with the mark that is written at their end.

A step records that it has begun, writes rows of later changes (which no query reads yet) and new counts of terms (beside
the former ones), lets searches see them, and then writes the mark. It names the rows that count no more, which queries
leave out from then on; only now are they deleted. The next writer undoes an unfinished step, or completes its deletions.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineUnavailable, IndexCorrupt, msg
from wenyuan.core.model import IndexRow
from wenyuan.core.ports import Change, ChangeFeed
from wenyuan.core.slices import parts
from wenyuan.engines.index_mark import check_same
from wenyuan.engines.index_step import IndexStep, in_batches
from wenyuan.engines.opensearch.conditions import ordered, there
from wenyuan.engines.opensearch.indices import IndexNames
from wenyuan.engines.opensearch.marks import ClusterMark, put_mark
from wenyuan.engines.opensearch.sessions import ClusterSession
from wenyuan.engines.opensearch.term_numbers import packed, unpacked, vector_of, vector_text
from wenyuan.engines.term_statistics import weighed
from wenyuan.engines.value_digests import token, tokens

_STEP = 64  # changes of the catalog
_BATCH = 500
_DRIFT = 1.25
"""How far the mean length may grow before rows that were weighed with less are weighed anew."""
_DECIMALS = 7  # of a vector in the graph; what it is compared with exactly stands beside it
_ROW = (
    "passage_id", "source", "document_id", "tokens", "ordered", "valid_from", "valid_until", "seq", "length", "mean",
    "embedded", "counts",
)  # fmt: skip


def advance(
    session: ClusterSession, names: IndexNames, feed: ChangeFeed, target: int, mark: ClusterMark, copied: str
) -> ClusterMark:
    """Apply some changes; the mark that then counts. The caller holds the library's lock."""
    if mark.open:
        mark = _taken_back(session, names, mark)
    if mark.gone or mark.swept < mark.watermark:
        mark = _swept(session, names, mark)
    if mark.watermark >= target:
        return mark
    check_same(feed, mark, copied, session.component)
    upto = min(target, mark.watermark + _STEP)
    changes = feed.changes(mark.watermark, upto, vectors=names.vectors > 0)
    first = next(changes, None)
    if first is None:  # only the registry has changed
        return put_mark(session, names.marks, replace(mark, watermark=upto, swept=upto, stamp=feed.stamp(upto)))
    mark = put_mark(session, names.marks, replace(mark, open=True))
    step = _Step(session, names, mark, upto)
    for batch in in_batches(itertools.chain([first], changes), _BATCH):
        step.take(batch)
    return _swept(session, names, put_mark(session, names.marks, step.end(feed.stamp(upto))))


def renew(session: ClusterSession, names: IndexNames, mark: ClusterMark) -> ClusterMark:
    """Recompute the weights of rows that were weighed when passages were much shorter; their scores stay the same."""
    if mark.open or mark.mean <= _DRIFT * mark.least:
        return mark
    index, least = names.passages(mark), mark.mean / _DRIFT
    fields = [*_ROW, *(["exact"] if names.vectors else [])]
    old = {"bool": {"filter": [{"range": {"mean": {"lt": least}}}]}}
    for batch in parts(list(session.rows(index, old, fields)), _BATCH):
        session.write(f"{index}_w", [(row["_id"], _again(row, mark.mean)) for row in batch], mark.step)
    session.refresh(index)
    return put_mark(session, names.marks, replace(mark, least=least))


def _again(row: Mapping[str, Any], mean: float) -> Mapping[str, Any]:
    """A row as it was written, weighed with another mean."""
    numbers, counts = unpacked(row["counts"])
    made: dict[str, Any] = {name: row[name] for name in _ROW if name in row}
    length = int(row["length"])
    counted = {int(number): int(often) for number, often in zip(numbers, counts, strict=True)}
    words = {str(number): weighed(often, length, mean) for number, often in counted.items()}
    made |= {"mean": mean, "counts": packed(counted), **({"words": words} if words else {})}
    if row["embedded"]:
        made |= _vector_fields(vector_of(row["exact"]))
    return made


def _taken_back(session: ClusterSession, names: IndexNames, mark: ClusterMark) -> ClusterMark:
    """Undo an unfinished step of another process."""
    passages, words = names.passages(mark), names.words(mark)
    for index in (passages, words):
        session.refresh(index)
    session.drop_where(f"{passages}_w", {"range": {"seq": {"gt": mark.watermark}}})
    session.drop_where(f"{words}_w", {"range": {"number": {"gt": mark.terms}}})
    while found := _later_words(session, words, mark.watermark):
        session.write(
            f"{words}_w",
            [(key, {**row, "held": row["before"], "at": mark.watermark}) for key, row in found],
            mark.step,
        )
        session.refresh(words)
    return put_mark(session, names.marks, replace(mark, open=False))


def _later_words(session: ClusterSession, words: str, watermark: int) -> list[tuple[str, Mapping[str, Any]]]:
    body = {"size": _BATCH, "query": {"range": {"at": {"gt": watermark}}}}
    return [(hit["_id"], hit["_source"]) for hit in session.search(words, body)["hits"]["hits"]]


def _swept(session: ClusterSession, names: IndexNames, mark: ClusterMark) -> ClusterMark:
    """Delete rows that do not count any more."""
    if not mark.gone and mark.swept == mark.watermark:
        return mark
    if mark.gone:
        passages = names.passages(mark)
        session.write(f"{passages}_w", [(one, None) for one in mark.gone], mark.step)
        session.refresh(passages)
    return put_mark(session, names.marks, replace(mark, swept=mark.watermark, gone=()))


class _Step(IndexStep[ClusterMark]):
    """One step on a cluster."""

    def __init__(self, session: ClusterSession, names: IndexNames, mark: ClusterMark, upto: int) -> None:
        super().__init__(mark, upto, session.component)
        self._session, self._names = session, names
        self._index, self._words = names.passages(mark), names.words(mark)

    def take(self, batch: Sequence[Change]) -> None:
        added = [change for change in batch if change.row is not None]
        self._take_out([change.passage_id for change in batch])
        if added:
            self._put(added)

    def end(self, stamp: str) -> ClusterMark:
        """The mark that makes it count, once all else is written and can be searched."""
        self._session.write(f"{self._words}_w", list(self._counts_of_terms()), self._mark.step)
        self._session.refresh(self._index)
        made = self._made(stamp)
        self._check(made)
        return made

    def _check(self, made: ClusterMark) -> None:
        """Count what is to count: what this step read may have come from a node that knew an earlier state.

        Raises:
            EngineUnavailable: it is not all there; the next writer undoes the step.
            IndexCorrupt: it was not before, either.
        """
        counted = self._session.count(self._index, there(made))
        if counted == made.passages:
            return
        before = self._session.count(self._index, there(self._mark))
        if before != self._mark.passages:
            raise IndexCorrupt(
                msg("{passages} of {passages2} rows are there", passages=before, passages2=self._mark.passages),
                component=self._session.component,
                hint=msg("delete the indices {base}_*; they are built again from the catalog", base=self._names.base),
            )
        raise EngineUnavailable(
            msg("{passages} of {passages2} rows are there", passages=counted, passages2=made.passages),
            component=self._session.component,
        )

    def _take_out(self, passage_ids: Sequence[int]) -> None:
        """Take out of the sums what is removed or comes again."""
        fields = ["passage_id", "length", "counts", "embedded", "tokens", *(["exact"] if self._names.vectors else [])]
        where = {
            "bool": {
                "filter": [
                    {"terms": {"passage_id": list(passage_ids)}}, {"range": {"seq": {"lte": self._mark.watermark}}},
                ]
            }
        }  # fmt: skip
        rows = list(self._session.rows(self._index, where, fields))
        held = [unpacked(row["counts"])[0].tolist() for row in rows]
        keys = self._digests_of({number for numbers in held for number in numbers})
        for row, numbers in zip(rows, held, strict=True):
            vector = vector_of(row["exact"]).astype(np.float64) if row["embedded"] else None
            self._count_out(int(row["length"]), [keys[number] for number in numbers], row.get("tokens", ()), vector)
            self._gone.append(row["_id"])

    def _digests_of(self, numbers: set[int]) -> Mapping[int, str]:
        """The digests of terms by their numbers."""
        known = {number: key for key, (number, _) in self._known.items()}
        asked = sorted(numbers - known.keys())
        if asked:
            self._session.refresh(self._words)  # nothing else searches it, so no step does
        for some in parts(asked, 1_000):
            body = {"size": len(some), "query": {"terms": {"number": list(some)}}}
            for hit in self._session.search(self._words, body)["hits"]["hits"]:
                self._learn(hit["_id"], hit["_source"])
                known[int(hit["_source"]["number"])] = hit["_id"]
        return known

    def _look_up(self, keys: Sequence[str]) -> None:
        for key, row in self._session.named(self._words, keys).items():
            self._learn(key, row)

    def _learn(self, key: str, row: Mapping[str, Any]) -> None:
        self._known.setdefault(key, (int(row["number"]), int(row["held"])))

    def _put(self, added: Sequence[Change]) -> None:
        counted, mean = self._count_in(added)
        documents = [
            (f"{change.passage_id}-{self._upto}", self._row(change, counts, mean))
            for change, counts in zip(added, counted, strict=True)
        ]
        self._session.write(f"{self._index}_w", documents, self._mark.step)

    def _row(self, change: Change, counts: Mapping[int, int], mean: float) -> dict[str, Any]:
        row = change.row
        assert row is not None
        length = sum(counts.values())
        words = {str(number): weighed(often, length, mean) for number, often in counts.items()}
        return {
            "passage_id": row.passage_id,
            "source": token("source_id", row.source_id),
            "document_id": row.document_id,
            "tokens": tokens(row),
            "ordered": ordered(row),
            "valid_from": row.valid_from,
            "valid_until": row.valid_until,
            "seq": self._upto,
            "length": length,
            "mean": mean,
            "counts": packed(counts),
            **({"words": words} if words else {}),
            **self._vector(row),
        }

    def _vector(self, row: IndexRow) -> dict[str, Any]:
        dimension = self._names.vectors
        if not dimension or row.vector is None:
            return {"embedded": False}
        self._count_vector(row, dimension)
        return {"embedded": True, **_vector_fields(row.vector)}


def _vector_fields(vector: Any) -> dict[str, Any]:
    rounded = np.round(np.asarray(vector, np.float64), _DECIMALS)
    return {"vector": rounded.tolist(), "exact": vector_text(vector)}
