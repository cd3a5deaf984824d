"""Scopes and rows as an OpenSearch cluster finds them.

Every leaf is true or false, so that ``must_not`` of a missing value is true, as in `core.filters.matches`. What ranges
compare is one field of texts, ``key:value``, for all facets: no library makes a mapping grow.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.hidden_documents import listed_documents
from wenyuan.core.model import IndexRow
from wenyuan.engines.opensearch.marks import ClusterMark
from wenyuan.engines.value_digests import COLUMNS, compared, number_in_range, sortable, token, value_key

EMBEDDED: Mapping[str, Any] = {"term": {"embedded": True}}
NOTHING: Mapping[str, Any] = {"match_none": {}}
_EVERYTHING: Mapping[str, Any] = {"match_all": {}}
MOST_HIDDEN = 200_000
"""Documents that a query can leave out; their numbers stand in it."""
_AT_ONCE = 50_000  # values of one condition: clusters take 65,536
_LONG = 2**63 - 1

Condition = Mapping[str, Any]


def ordered(row: IndexRow) -> list[str]:
    """The values of a row that ranges compare, each behind the key of its field."""
    return sorted(f"{key}:{_comparable(value)}" for key, value in compared(row).items())


def there(mark: ClusterMark, *more: Condition, without: Sequence[Condition] = ()) -> Condition:
    """The rows that count at a mark."""
    gone = [{"ids": {"values": list(mark.gone[at : at + _AT_ONCE])}} for at in range(0, len(mark.gone), _AT_ONCE)]
    return {"bool": {"filter": [{"range": {"seq": {"lte": mark.watermark}}}, *more], "must_not": [*gone, *without]}}


def condition(scope: Scope, mark: ClusterMark, *more: Condition) -> Condition:
    """What a row must meet, of those that count at a mark."""
    if not scope.sources:
        return NOTHING
    within: list[Condition] = [
        {"terms": {"source": sorted(token("source_id", source) for source in scope.sources)}},
        {"range": {"valid_from": {"lte": scope.day}}},
        {"range": {"valid_until": {"gte": scope.day}}},
    ]
    if scope.filter is not None:
        within.append(_test(scope.filter))
    hidden = [] if scope.hidden is None else listed_documents(scope.hidden, "opensearch", MOST_HIDDEN)
    return there(mark, *within, *more, without=of_documents(hidden))


def of_documents(documents: Sequence[int]) -> list[Condition]:
    """Conditions of which a row of any of these documents meets one."""
    some = [documents[at : at + _AT_ONCE] for at in range(0, len(documents), _AT_ONCE)]
    return [{"terms": {"document_id": list(part)}} for part in some]


def _test(test: Filter) -> Condition:
    match test:
        case And():
            return {"bool": {"filter": [_test(part) for part in test.parts]}} if test.parts else _EVERYTHING
        case Or():
            return _any([_test(part) for part in test.parts])
        case Not():
            return {"bool": {"must_not": [_test(test.part)]}}
        case In():
            return _in(test)
        case Range():
            return _range(test)


def _any(tests: Sequence[Condition]) -> Condition:
    return {"bool": {"should": list(tests), "minimum_should_match": 1}} if tests else NOTHING


def _in(test: In) -> Condition:
    if test.field == "document_id":
        numbers = [int(v) for v in test.values if not isinstance(v, (str, bool)) and _whole(v)]
        return _any(of_documents([number for number in numbers if abs(number) <= _LONG]))
    values = sorted({token(test.field, value) for value in test.values})
    return _any([{"terms": {"tokens": values[at : at + _AT_ONCE]}} for at in range(0, len(values), _AT_ONCE)])


def _whole(value: float) -> bool:
    return math.isfinite(value) and value == int(value)


def _range(test: Range) -> Condition:
    bounds = [(b, op) for b, op in ((test.ge, "gte"), (test.le, "lte")) if b is not None]
    kinds = {isinstance(bound, str) for bound, _ in bounds}
    if len(kinds) > 1:
        return NOTHING  # no value is a text and a number
    if test.field == "document_id":
        return _numbered(bounds) if kinds == {False} else NOTHING
    if kinds == {False} and test.field in COLUMNS:
        return NOTHING
    key = value_key(test.field, "text" if kinds == {True} else "number")
    asked = {"gte": f"{key}:", "lt": f"{key};"} | {op: f"{key}:{_comparable(_bound(b))}" for b, op in bounds}
    if "lte" in asked:
        del asked["lt"]
    return {"range": {"ordered": asked}}


def _numbered(bounds: Sequence[tuple[float | str, str]]) -> Condition:
    asked: dict[str, int] = {}
    for bound, op in bounds:
        value = number_in_range(float(bound))
        asked[op] = max(-_LONG, min(_LONG, math.ceil(value) if op == "gte" else math.floor(value)))
    return {"range": {"document_id": asked}}


def _bound(bound: float | str) -> float | str:
    return sortable(bound) if isinstance(bound, str) else number_in_range(bound)


def _comparable(value: float | str) -> str:
    """A text that sorts as the values do: of a number, its bits, turned so that they rise."""
    if isinstance(value, str):
        return value
    (bits,) = struct.unpack(">Q", struct.pack(">d", value))
    turned = bits ^ 0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else bits ^ 0x8000_0000_0000_0000
    return f"n{turned:016x}"
