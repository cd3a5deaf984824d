"""Scopes and terms as Milvus expressions."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence

from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.hidden_documents import listed_documents
from wenyuan.core.model import Facet, IndexRow
from wenyuan.engines.milvus.sessions import value_list

# A scope as an expression of Milvus, and the values of a row as that expression finds them.
#
# No text of anybody's ever stands in an expression: Milvus has no bound values on every server, and JSON compares
# across kinds as it likes. What is asked for by equality is stored as a digest of field, kind and value (`token`), and
# texts that are compared are stored as the hexadecimal digits of their UTF-8, which sort as the texts do. Every leaf is
# true or false, never unknown, so that ``not`` of a missing value is true, as in `core.filters.matches`.


NOTHING = "passage_id < 0"
_EVERYTHING = "passage_id >= 0"
MOST_HIDDEN = 20_000
"""Documents that an expression can leave out; their numbers stand in it."""
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
        f"source in {value_list(sorted(token('source_id', source) for source in scope.sources))}"
        if scope.sources
        else NOTHING,
        f"valid_from <= {scope.day}",
        f"valid_until >= {scope.day}",
        f"seq <= {watermark}",
    ]
    if scope.hidden is not None and (hidden := listed_documents(scope.hidden, "milvus", MOST_HIDDEN)):
        parts.append(f"document_id not in {value_list(hidden)}")
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
        return f"array_contains_any(tokens, {value_list([token(test.field, value) for value in test.values])})"
    numbers = [int(v) for v in test.values if not isinstance(v, (str, bool)) and v == int(v)]
    return f"document_id in {value_list(numbers)}" if numbers else NOTHING


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
