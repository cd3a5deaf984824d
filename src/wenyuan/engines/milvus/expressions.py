"""Scopes and terms as Milvus expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.hidden_documents import listed_documents
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.milvus.sessions import value_list
from wenyuan.engines.value_digests import COLUMNS, number_in_range, sortable, token, value_key

# Every leaf is true or false, never unknown, so that ``not`` of a missing value is true, as in `core.filters.matches`.


NOTHING = "passage_id < 0"
_EVERYTHING = "passage_id >= 0"
MOST_HIDDEN = 20_000
"""Documents that an expression can leave out; their numbers stand in it."""


def there(mark: Mark) -> str:
    """The rows that count at a mark."""
    gone = f" and passage_id not in {value_list(mark.gone)}" if mark.gone else ""
    return f"seq <= {mark.watermark}{gone}"


def condition(scope: Scope, mark: Mark) -> str:
    """What a row must meet, of those that count at a mark."""
    parts = [
        f"source in {value_list(sorted(token('source_id', source) for source in scope.sources))}"
        if scope.sources
        else NOTHING,
        f"valid_from <= {scope.day}",
        f"valid_until >= {scope.day}",
        there(mark),
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
    if kinds == {False} and test.field in COLUMNS:
        return NOTHING
    value = f'compared["{value_key(test.field, "text" if kinds == {True} else "number")}"]'
    return f"exists {value} and {_between(value, bounds)}"


def _between(value: str, bounds: Sequence[tuple[float | str, str]]) -> str:
    return " and ".join(
        f'{value} {op} "{sortable(bound)}"' if isinstance(bound, str) else f"{value} {op} {number_in_range(bound)!r}"
        for bound, op in bounds
    )
