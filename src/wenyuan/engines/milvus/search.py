"""Search on Milvus: scopes as expressions, term weights, and exact BM25 over candidates."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.model import Facet, IndexRow
from wenyuan.core.scoring import K1, B, bm25, quantised_length, squash, term_weights
from wenyuan.engines.milvus.collections import Mark, Names
from wenyuan.engines.milvus.sessions import MOST_HITS, Session, listed

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
        worth: By number, the idf of those that some passage holds.
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
        worth = {known[term][0]: weight for term, weight in weights.items() if held_by[term] > 0}
        return cls(weights, worth, mark.mean, mark.least)

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
