"""The write path, in steps that count all at once: with the mark that is written at their end.

A step records that it has begun, writes rows of later changes (which no query reads yet) and new term statistics
(beside the former ones), and then the checkpoint record. Only now are removed rows deleted. The next writer undoes an
unfinished step, or completes its deletions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineError, VectorRejected, msg
from wenyuan.core.model import IndexRow
from wenyuan.core.ports import Change, ChangeFeed
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.core.text.analysis import passage_terms
from wenyuan.engines.index_mark import Mark, check_same
from wenyuan.engines.milvus.collections import MOST_TOKENS, CollectionNames, add_mark
from wenyuan.engines.milvus.search import frequency
from wenyuan.engines.milvus.sessions import Session, parts
from wenyuan.engines.milvus.term_weights import FIELDS
from wenyuan.engines.term_statistics import digest, norm, weighed
from wenyuan.engines.value_digests import compared, token, tokens

_STEP = 64  # changes of the catalog
_BATCH = 1_000
_IN_CHINESE = token("language", CHINESE)
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
    for batch in _batched(itertools.chain([first], changes)):
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


class _Step:
    """What one step adds up to."""

    def __init__(self, session: Session, names: CollectionNames, mark: Mark, upto: int) -> None:
        self._session, self._names, self._mark, self._upto = session, names, mark, upto
        self._gone: list[int] = []
        self._known: dict[str, tuple[int, int]] = {}  # by digest: number, passages that held it before
        self._more: Counter[str] = Counter()
        self._passages, self._length = mark.passages, mark.length
        self._terms, self._least, self._sums = mark.terms, mark.least, mark.sums

    def take(self, batch: Sequence[Change]) -> None:
        added = [change for change in batch if change.row is not None]
        again = {change.passage_id for change in added}
        self._count_out([change.passage_id for change in batch], again)
        if added:
            self._put(added)

    def end(self, stamp: str) -> Mark:
        """The mark that makes it count, once what terms are worth is written."""
        rows = [
            {"term": key, "number": number, "held": held + self._more[key], "at": self._upto, "before": held,
             "nothing": [0.0, 1.0]}
            for key, (number, held) in self._known.items() if self._more[key]
        ]  # fmt: skip
        self._session.put(self._names.words, rows)
        return replace(
            self._mark,
            watermark=self._upto,
            swept=self._mark.swept if self._gone else self._upto,
            stamp=stamp,
            passages=self._passages,
            length=self._length,
            vectors=int(self._sums.counts.sum()),
            chinese=int(self._sums.counts[1]),
            terms=self._terms,
            least=self._least,
            open=False,
            gone=tuple(self._gone),
            total=self._sums.sums.astype(np.float32).ravel(),
        )

    def _count_out(self, passage_ids: Sequence[int], again: set[int]) -> None:
        """Take out of the sums what is removed; a row is never there twice, so also what is added anew."""
        fields = ["passage_id", "length", "words", "embedded", "tokens", *(["vector"] if self._names.vectors else [])]
        for ids in parts(passage_ids, _BATCH):
            rows = self._session.named(self._names.passages, "passage_id", ids, fields)
            numbers = sorted({number for row in rows for number in row["words"] if number})
            keys = self._learn("number", numbers)
            for row in rows:
                self._passages -= 1
                self._length -= int(row["length"])
                self._more.subtract(keys[number] for number in row["words"] if number)
                if row["embedded"]:
                    chinese = _IN_CHINESE in row["tokens"]
                    self._sums.remove(np.asarray(row["vector"], np.float64), chinese=chinese)
            self._gone += [row["passage_id"] for row in rows if row["passage_id"] not in again]

    def _learn(self, field: str, values: Sequence[Any]) -> Mapping[int, str]:
        """Look words up; digests by number."""
        rows = self._session.named(self._names.words, field, values, FIELDS)
        for row in rows:
            self._known[row["term"]] = int(row["number"]), int(row["held"])
        return {int(row["number"]): row["term"] for row in rows}

    def _put(self, added: Sequence[Change]) -> None:
        counted = [Counter(_terms(change)) for change in added]
        self._number({key for counts in counted for key in counts})
        self._passages += len(added)
        self._length += sum(counts.total() for counts in counted)
        mean = max(1.0, self._length / self._passages)
        self._least = min(self._least or mean, mean)
        rows = []
        for change, counts in zip(added, counted, strict=True):
            self._more.update(counts.keys())
            length = counts.total()
            words = {self._known[key][0]: weighed(often, length, mean) for key, often in counts.items()}
            rows.append(self._row(change, length, mean, words))
        self._session.put(self._names.passages, rows)

    def _number(self, keys: set[str]) -> None:
        """Learn the numbers of terms, giving one to those that are new."""
        self._learn("term", sorted(keys - self._known.keys()))
        for key in sorted(keys - self._known.keys()):
            self._terms += 1
            self._known[key] = self._terms, 0

    def _row(self, change: Change, length: int, mean: float, words: Mapping[int, float]) -> dict[str, Any]:
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
            "words": words or _WORDLESS,
            **self._vector(row),
        }

    def _vector(self, row: IndexRow) -> dict[str, Any]:
        dimension = self._names.vectors
        if not dimension:
            return {}
        if row.vector is None:
            return {"vector": [0.0] * dimension}
        if len(row.vector) != dimension:
            raise VectorRejected(
                msg(
                    "the vector of passage {passage_id} has {count} dimensions, the index {dimension}",
                    passage_id=row.passage_id,
                    count=len(row.vector),
                    dimension=dimension,
                ),
                component="engine milvus",
            )
        self._sums.add(row.vector, chinese=row.language == CHINESE)
        return {"vector": np.asarray(row.vector, np.float32).tolist()}


def _terms(change: Change) -> list[str]:
    assert change.row is not None
    return [digest(term) for term in passage_terms(change.row.heading_text, change.row.text)]


def _batched(changes: Iterable[Change]) -> Iterable[Sequence[Change]]:
    left = iter(changes)
    while batch := tuple(itertools.islice(left, _BATCH)):
        yield batch
