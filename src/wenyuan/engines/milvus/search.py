"""Keyword and vector search in a Milvus collection, and writing to it."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineError, IndexMismatch, VectorRejected, msg
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.model import Facet, IndexRow
from wenyuan.core.ports import Change, ChangeFeed
from wenyuan.core.scoring import CHINESE, K1, B, bm25, quantised_length, squash, term_weights
from wenyuan.core.scoring.common_words import worth
from wenyuan.core.text import passage_terms
from wenyuan.engines.milvus.sessions import MOST_HITS, MOST_TOKENS, Mark, Names, Session, add_mark, listed, parts

# A scope as an expression of Milvus, and the values of a row as that expression finds them.
#
# No text of anybody's ever stands in an expression: Milvus has no bound values on every server, and JSON compares
# across kinds as it likes. What is asked for by equality is stored as a digest of field, kind and value (`token`), and
# texts that are compared are stored as the hexadecimal digits of their UTF-8, which sort as the texts do. Every leaf is
# true or false, never unknown, so that ``not`` of a missing value is true, as in `core.filters.matches`.


NOTHING = "passage_id < 0"
_EVERYTHING = "passage_id >= 0"
COMPARED_BYTES = 100
"""Texts are compared, in ranges, by so many bytes of their beginning; equality is of the whole text."""
_COLUMNS = ("source_id", "language", "collection")
_BEYOND = 1.7e308  # for infinities, which JSON does not have: above every number that a filter can name


def token(field: str, value: Facet) -> str:
    """32 hexadecimal digits that tell a field's value from any other; equal numbers have one."""
    if isinstance(value, bool):
        return _digest(field, "flag", value)
    if isinstance(value, str):
        return _digest(field, "text", value)
    return _digest(field, "number", repr(_number(value)))


def tokens(row: IndexRow) -> list[str]:
    """Of all values of a row; what is no number (NaN) equals nothing."""
    return sorted(token(field, value) for field, value in _values(row))


def compared(row: IndexRow) -> dict[str, float | str]:
    """By key, the values of a row that ranges compare."""
    held: dict[str, float | str] = {}
    for field, value in _values(row):
        if isinstance(value, str):
            held[_key(field, "text")] = _sortable(value)
        elif not isinstance(value, bool):
            held[_key(field, "number")] = _number(value)
    return held


def condition(scope: Scope, watermark: int) -> str:
    """What a row must meet, of those that were there at change `watermark`."""
    parts = [
        f"source in {listed(sorted(token('source_id', source) for source in scope.sources))}"
        if scope.sources
        else NOTHING,
        f"valid_from <= {scope.day}",
        f"valid_until >= {scope.day}",
        f"seq <= {watermark}",
    ]
    if scope.filter is not None:
        parts.append(_test(scope.filter))
    return " and ".join(parts)


def _test(test: Filter) -> str:
    match test:
        case And():
            return "(" + " and ".join(map(_test, test.parts)) + ")" if test.parts else f"({_EVERYTHING})"
        case Or():
            return "(" + " or ".join(map(_test, test.parts)) + ")" if test.parts else f"({NOTHING})"
        case Not():
            return f"(not {_test(test.part)})"
        case In():
            return f"({_in(test)})"
        case Range():
            return f"({_range(test)})"


def _in(test: In) -> str:
    if test.field != "document_id":
        return f"array_contains_any(tokens, {listed([token(test.field, value) for value in test.values])})"
    numbers = [int(v) for v in test.values if not isinstance(v, (str, bool)) and v == int(v)]
    return f"document_id in {listed(numbers)}" if numbers else NOTHING


def _range(test: Range) -> str:
    bounds = [(b, op) for b, op in ((test.ge, ">="), (test.le, "<=")) if b is not None]
    kinds = {isinstance(bound, str) for bound, _ in bounds}
    if len(kinds) > 1:
        return NOTHING  # no value is a text and a number
    if test.field == "document_id":
        whole = [(math.ceil(b) if op == ">=" else math.floor(b), op) for b, op in bounds if not isinstance(b, str)]
        return " and ".join(f"document_id {op} {bound}" for bound, op in whole) if whole else NOTHING
    if kinds == {False} and test.field in _COLUMNS:
        return NOTHING
    value = f'compared["{_key(test.field, "text" if kinds == {True} else "number")}"]'
    return f"exists {value} and {_between(value, bounds)}"


def _between(value: str, bounds: Sequence[tuple[float | str, str]]) -> str:
    return " and ".join(
        f'{value} {op} "{_sortable(bound)}"' if isinstance(bound, str) else f"{value} {op} {_number(bound)!r}"
        for bound, op in bounds
    )


def _values(row: IndexRow) -> Iterator[tuple[str, Facet]]:
    for name in _COLUMNS:
        yield name, getattr(row, name)
    for name, value in row.facets.items():
        if not (isinstance(value, float) and math.isnan(value)):
            yield f"metadata.{name}", value


def _digest(*parts: str | bool) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _key(field: str, kind: str) -> str:
    return "k" + _digest(field, kind)


def _sortable(text: str) -> str:
    """The hexadecimal digits of the beginning, which sort as the text does (by code points)."""
    return "x" + text.encode("utf-8", "surrogatepass")[:COMPARED_BYTES].hex()


def _number(value: float) -> float:
    try:
        found = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        found = math.inf if value > 0 else -math.inf
    return max(-_BEYOND, min(_BEYOND, found)) + 0.0  # without a negative zero


# What terms are worth: their numbers, and how many passages hold them.


FIELDS = ("term", "number", "held", "at", "before")


def digest(term: str) -> str:
    """The key of a term, 32 hexadecimal digits: it needs no quoting, and does not tell the term."""
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Query:
    """A query's terms as the index knew them at one mark.

    Attributes:
        weights: Idf of every term that asks for something.
        worth: By number, what those add that some passage holds; see `core.scoring.common_words`.
        mean: Length of a passage, in terms.
        least: The least mean with which rows were weighed.
    """

    weights: Mapping[str, float]
    worth: Mapping[int, float]
    mean: float
    least: float

    @classmethod
    def of(cls, session: Session, names: Names, terms: Sequence[str], mark: Mark) -> Query:
        keys = {digest(term): term for term in terms}
        known: dict[str, tuple[int, int]] = {}
        for row in session.named(names.words, "term", list(keys), FIELDS):
            held = row["held"] if row["at"] <= mark.watermark else row["before"]
            known[keys[row["term"]]] = int(row["number"]), int(held)
        held_by = {term: known.get(term, (0, 0))[1] for term in terms}
        weights = term_weights(mark.passages, held_by) if mark.passages else {}
        counted = worth(weights, mark.passages)
        by_number = {known[term][0]: counted[term] for term in weights if held_by[term] > 0}
        return cls(weights, by_number, mark.mean, mark.least)

    @property
    def total(self) -> float:
        """The query's information."""
        return math.fsum(self.weights.values())


# Keyword search: candidates by the inner product of sparse vectors, then exact BM25.
#
# A row's weights are those of BM25 with the mean length of all passages when it was written; that drifts as passages
# come and go. A weight w = (k1 + 1) · f / (f + n), where n is the length's norm, tells how often the term occurs
# (`frequency`), so no count is stored beside it. How far a weight can be from what it would be now is known, so
# candidates are fetched until no other row could enter the ranking.


SPARE = 1.25
"""How many more rows are fetched than are asked for, at first; then four times as many in each round."""
_FIELDS = ("passage_id", "length", "mean", "words")


def norm(length: int, mean: float) -> float:
    """What BM25 adds to a term's frequency, for a passage of `length` terms."""
    return K1 * (1.0 - B + B * quantised_length(length) / mean)


def weighed(frequency: int, length: int, mean: float) -> float:
    """The part of BM25 that is a passage's own: the score is the sum of these times idf."""
    return (K1 + 1.0) * frequency / (frequency + norm(length, mean))


def frequency(weight: float, norm: float) -> int:
    """How often a term occurs, from its weight: exact for float32 while frequency · mean length is below 5 million."""
    return round(norm / ((K1 + 1.0) / weight - 1.0))


def best(
    session: Session, names: Names, terms: Sequence[str], where: str, limit: int, mark: Mark
) -> list[tuple[int, float]]:
    """(passage, score) of the best `limit` rows that meet a condition, ties by id."""
    query = Query.of(session, names, terms, mark)
    if not query.worth:
        return []
    fetched = min(MOST_HITS, math.ceil(SPARE * limit))
    asked = {number: float(weight) for number, weight in query.worth.items()}
    while True:
        found = session.nearest(names.passages, "words", asked, where=where, limit=fetched, fields=_FIELDS, search={})
        shares = {int(row["passage_id"]): _share(query, row) for _, row in found}
        ranked = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        if len(found) < fetched or fetched == MOST_HITS or _settled(query, ranked, limit, found[-1][0]):
            return [(passage, squash(share)) for passage, share in ranked[:limit] if share > 0]
        fetched = min(MOST_HITS, 4 * fetched)


def given(
    session: Session, names: Names, terms: Sequence[str], passage_ids: Sequence[int], mark: Mark
) -> dict[int, float]:
    """The scores of given passages; those without any of the terms are absent."""
    query = Query.of(session, names, terms, mark)
    rows = session.named(names.passages, "passage_id", passage_ids, (*_FIELDS, "seq"))
    shares = {int(row["passage_id"]): _share(query, row) for row in rows if row["seq"] <= mark.watermark}
    return {passage: squash(share) for passage, share in shares.items() if share > 0}


def _share(query: Query, row: Mapping[str, Any]) -> float:
    length, words = int(row["length"]), row["words"]
    old = norm(length, row["mean"])
    held = {number: frequency(words[number], old) for number in query.worth if number in words}
    return bm25(held, length, query.mean, query.worth) / query.total if held else 0.0


def _settled(query: Query, ranked: Sequence[tuple[int, float]], limit: int, last: float) -> bool:
    """Whether no row that the server ranks behind `last` could enter the ranking."""
    drift = max(1.0, query.mean / query.least)
    return ranked[limit - 1][1] >= drift * last / query.total


# The write path, in steps that count all at once: with the mark that is written at their end.
#
# A step records that it has begun, writes rows of later changes (which no query reads yet) and new term statistics
# (beside the former ones), and then the checkpoint record. Only now are removed rows deleted. The next writer undoes an
# unfinished step, or completes its deletions.

_STEP = 64  # changes of the catalog
_BATCH = 1_000
_IN_CHINESE = token("language", CHINESE)
_WORDLESS = {0: 1.0}  # a sparse vector must hold something; terms are numbered from 1
_DRIFT = 1.25
"""How far the mean length may grow before rows that were weighed with less are weighed anew."""


def advance(session: Session, names: Names, feed: ChangeFeed, target: int, mark: Mark) -> Mark:
    """Apply some changes; the mark that then counts. The caller holds the library's lock."""
    if mark.open:
        mark = _taken_back(session, names, mark)
    if mark.swept < mark.watermark:
        changes = feed.changes(mark.swept, mark.watermark, vectors=False)
        gone = [c.passage_id for c in itertools.takewhile(lambda change: change.row is None, changes)]
        mark = _swept(session, names, gone, mark)
    if mark.watermark >= target:
        return mark
    check_same(feed, mark, names, session.component)
    upto = min(target, mark.watermark + _STEP)
    changes = feed.changes(mark.watermark, upto, vectors=names.vectors > 0)
    first = next(changes, None)
    if first is None:  # only the registry has changed
        return add_mark(session, names.marks, replace(mark, watermark=upto, swept=upto, stamp=feed.stamp(upto)))
    mark = add_mark(session, names.marks, replace(mark, open=True))
    step = _Step(session, names, mark, upto)
    for batch in _batched(itertools.chain([first], changes)):
        step.take(batch)
    return _swept(session, names, step.gone, add_mark(session, names.marks, step.end(feed.stamp(upto))))


def check_same(feed: ChangeFeed, mark: Mark, names: Names, component: str) -> None:
    """IndexMismatch when the index follows another history of changes, which only happens to be as long."""
    if mark.watermark and mark.stamp != feed.stamp(mark.watermark):
        raise IndexMismatch(
            msg("its change {watermark} is not the catalog's", watermark=mark.watermark),
            component=component,
            hint=msg(
                "the catalog was restored or copied, and has changed since: drop the collections {base}_…",
                base=names.base,
            ),
        )


def renew(session: Session, names: Names, mark: Mark) -> Mark:
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


def _taken_back(session: Session, names: Names, mark: Mark) -> Mark:
    """Undo an unfinished step of another process."""
    session.drop_where(names.passages, f"seq > {mark.watermark}")
    session.drop_where(names.words, f"number > {mark.terms}")
    while rows := session.rows(names.words, f"at > {mark.watermark}", [*FIELDS, "nothing"], limit=_BATCH):
        session.put(names.words, [{**row, "held": row["before"], "at": mark.watermark} for row in rows])
    return add_mark(session, names.marks, replace(mark, open=False))


def _swept(session: Session, names: Names, gone: Sequence[int], mark: Mark) -> Mark:
    """Delete rows that do not count any more."""
    if mark.swept == mark.watermark:
        return mark
    session.drop(names.passages, "passage_id", gone)
    return add_mark(session, names.marks, replace(mark, swept=mark.watermark))


class _Step:
    """What one step adds up to.

    Attributes:
        gone: Rows to be deleted once the step counts.
    """

    def __init__(self, session: Session, names: Names, mark: Mark, upto: int) -> None:
        self._session, self._names, self._mark, self._upto = session, names, mark, upto
        self.gone: list[int] = []
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
            swept=self._mark.swept if self.gone else self._upto,
            stamp=stamp,
            passages=self._passages,
            length=self._length,
            vectors=int(self._sums.counts.sum()),
            chinese=int(self._sums.counts[1]),
            terms=self._terms,
            least=self._least,
            open=False,
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
            self.gone += [row["passage_id"] for row in rows if row["passage_id"] not in again]

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
