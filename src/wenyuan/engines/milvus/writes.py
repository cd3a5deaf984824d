"""The write path, in steps that count all at once: with the mark that is written at their end.

A step records that it has begun, writes rows of later changes (which no query reads yet) and new term statistics
(beside the former ones), and then the checkpoint record. Only now are removed rows deleted. The next writer undoes an
unfinished step, or completes its deletions.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineError, msg
from wenyuan.core.model import IndexRow
from wenyuan.core.ports import Change, ChangeFeed
from wenyuan.core.slices import parts
from wenyuan.engines.index_mark import Mark, check_same
from wenyuan.engines.index_step import IndexStep, in_batches
from wenyuan.engines.milvus.collections import MOST_TOKENS, CollectionNames, add_mark
from wenyuan.engines.milvus.search import frequency
from wenyuan.engines.milvus.sessions import Session
from wenyuan.engines.milvus.term_weights import FIELDS
from wenyuan.engines.term_statistics import norm, weighed
from wenyuan.engines.value_digests import compared, token, tokens

_STEP = 64  # changes of the catalog
_BATCH = 1_000
_WORDLESS = {0: 1.0}  # a sparse vector must hold something; terms are numbered from 1
_DRIFT = 1.25
"""How far the mean length may grow before rows that were weighed with less are weighed anew."""


def advance(session: Session, names: CollectionNames, feed: ChangeFeed, target: int, mark: Mark) -> Mark:
    """Apply some changes; the mark that then counts. The caller holds the library's lock."""
    if mark.open:
        mark = _taken_back(session, names, mark)
    if mark.swept < mark.watermark:
        changes = feed.changes(mark.swept, mark.watermark, vectors=False)
        gone = [c.passage_id for c in itertools.takewhile(lambda change: change.row is None, changes)]
        mark = _swept(session, names, gone, mark)
    if mark.watermark >= target:
        return mark
    check_same(feed, mark, names.copied, session.component)
    upto = min(target, mark.watermark + _STEP)
    changes = feed.changes(mark.watermark, upto, vectors=names.vectors > 0)
    first = next(changes, None)
    if first is None:  # only the registry has changed
        return add_mark(session, names.marks, replace(mark, watermark=upto, swept=upto, stamp=feed.stamp(upto)))
    mark = add_mark(session, names.marks, replace(mark, open=True))
    step = _Step(session, names, mark, upto)
    for batch in in_batches(itertools.chain([first], changes), _BATCH):
        step.take(batch)
    mark = add_mark(session, names.marks, step.end(feed.stamp(upto)))
    return _swept(session, names, mark.gone, mark)


def renew(session: Session, names: CollectionNames, mark: Mark) -> Mark:
    """Recompute the term weights of rows that were weighted when passages were much shorter; their scores stay the
    same.
    """
    if mark.mean <= _DRIFT * mark.least:
        return mark
    fields = ["*"]
    while rows := session.rows(names.passages, f"mean < {mark.mean / _DRIFT!r}", fields, limit=_BATCH):
        for row in rows:
            length, old = int(row["length"]), norm(row["length"], row["mean"])
            often = {number: frequency(weight, old) for number, weight in row["words"].items() if number}
            held = {number: weighed(count, length, mark.mean) for number, count in often.items()} or _WORDLESS
            row |= {"words": held, "mean": mark.mean}  # type: ignore[operator]
        session.put(names.passages, rows)
    return add_mark(session, names.marks, replace(mark, least=mark.mean / _DRIFT))


def _taken_back(session: Session, names: CollectionNames, mark: Mark) -> Mark:
    """Undo an unfinished step of another process."""
    session.drop_where(names.passages, f"seq > {mark.watermark}")
    session.drop_where(names.words, f"number > {mark.terms}")
    while rows := session.rows(names.words, f"at > {mark.watermark}", [*FIELDS, "nothing"], limit=_BATCH):
        session.put(names.words, [{**row, "held": row["before"], "at": mark.watermark} for row in rows])
    return add_mark(session, names.marks, replace(mark, open=False))


def _swept(session: Session, names: CollectionNames, gone: Sequence[int], mark: Mark) -> Mark:
    """Delete rows that do not count any more."""
    if mark.swept == mark.watermark:
        return mark
    session.drop(names.passages, "passage_id", gone)
    return add_mark(session, names.marks, replace(mark, swept=mark.watermark, gone=()))


class _Step(IndexStep[Mark]):
    """One step on Milvus."""

    def __init__(self, session: Session, names: CollectionNames, mark: Mark, upto: int) -> None:
        super().__init__(mark, upto, "engine milvus")
        self._session, self._names = session, names

    def take(self, batch: Sequence[Change]) -> None:
        added = [change for change in batch if change.row is not None]
        self._take_out([change.passage_id for change in batch], {change.passage_id for change in added})
        if added:
            self._put(added)

    def end(self, stamp: str) -> Mark:
        """The mark that makes it count, once what terms are worth is written."""
        rows = [{"term": key, **counts, "nothing": [0.0, 1.0]} for key, counts in self._counts_of_terms()]
        self._session.put(self._names.words, rows)
        return self._made(stamp)

    def _take_out(self, passage_ids: Sequence[int], again: set[int]) -> None:
        """Take out of the sums what is removed; a row is never there twice, so also what is added anew."""
        fields = ["passage_id", "length", "words", "embedded", "tokens", *(["vector"] if self._names.vectors else [])]
        for ids in parts(passage_ids, _BATCH):
            rows = self._session.named(self._names.passages, "passage_id", ids, fields)
            numbers = sorted({number for row in rows for number in row["words"] if number})
            keys = self._learn("number", numbers)
            for row in rows:
                vector = np.asarray(row["vector"], np.float64) if row["embedded"] else None
                held = [keys[number] for number in row["words"] if number]
                self._count_out(int(row["length"]), held, row["tokens"], vector)
            self._gone += [row["passage_id"] for row in rows if row["passage_id"] not in again]

    def _look_up(self, keys: Sequence[str]) -> None:
        self._learn("term", keys)

    def _learn(self, field: str, values: Sequence[Any]) -> Mapping[int, str]:
        """Look words up; digests by number."""
        rows = self._session.named(self._names.words, field, values, FIELDS)
        for row in rows:
            self._known[row["term"]] = int(row["number"]), int(row["held"])
        return {int(row["number"]): row["term"] for row in rows}

    def _put(self, added: Sequence[Change]) -> None:
        counted, mean = self._count_in(added)
        rows = [self._row(change, counts, mean) for change, counts in zip(added, counted, strict=True)]
        self._session.put(self._names.passages, rows)

    def _row(self, change: Change, counts: Mapping[int, int], mean: float) -> dict[str, Any]:
        row = change.row
        assert row is not None
        held = tokens(row)
        if len(held) > MOST_TOKENS:
            raise EngineError(
                msg(
                    "passage {passage_id} has {count} facets; Milvus holds {most_tokens}",
                    passage_id=row.passage_id,
                    count=len(held),
                    most_tokens=MOST_TOKENS,
                ),
                component="engine milvus",
            )
        length = sum(counts.values())
        return {
            "passage_id": row.passage_id,
            "source": token("source_id", row.source_id),
            "document_id": row.document_id,
            "tokens": held,
            "compared": compared(row),
            "valid_from": row.valid_from,
            "valid_until": row.valid_until,
            "seq": self._upto,
            "length": length,
            "mean": mean,
            "embedded": row.vector is not None and self._names.vectors > 0,
            "words": {number: weighed(often, length, mean) for number, often in counts.items()} or _WORDLESS,
            **self._vector(row),
        }

    def _vector(self, row: IndexRow) -> dict[str, Any]:
        dimension = self._names.vectors
        if not dimension:
            return {}
        if row.vector is None:
            return {"vector": [0.0] * dimension}
        self._count_vector(row, dimension)
        return {"vector": np.asarray(row.vector, np.float32).tolist()}
