"""Answers as JSON and back, for keeping them outside of this process. Only the classes named here come back.

A dataclass, and a hit, is ``{"$": its name, field: value …}``; what JSON does not have is tagged likewise. Arrays are tuples.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import date
from typing import Any

from wenyuan.core.calibrate import Curve
from wenyuan.core.filters import And, In, Not, Or, Range, Scope
from wenyuan.core.model import Passage
from wenyuan.core.ranking import Hit, Ranking
from wenyuan.service.answer import Answer, LegReport, Query
from wenyuan.service.derive import Derived
from wenyuan.service.search import Found, SearchResult

__all__ = ["FORMAT", "result_from_json", "result_to_json"]

FORMAT = "kept/1"
"""Changes with what is written here; the fields of the classes count by themselves."""

_TAG = "$"
_CLASSES: Mapping[str, Any] = {
    cls.__name__: cls
    for cls in (
        SearchResult,
        Found,
        Hit,
        Passage,
        LegReport,
        Query,
        Answer,
        Scope,
        In,
        Range,
        And,
        Or,
        Not,
        Derived,
        Curve,
    )
}


def result_to_json(result: SearchResult) -> bytes:
    """A result with all that it was made of but the words of the question, of which the key has a hash.

    Raises:
        TypeError: it holds a value of a kind that is not known here.
    """
    answers = tuple((replace(query, text=""), answer) for query, answer in result.answers)
    return json.dumps(_plain(replace(result, answers=answers)), ensure_ascii=False, separators=(",", ":")).encode()


def result_from_json(written: bytes) -> SearchResult:
    """What `result_to_json` wrote.

    Raises:
        ValueError: it is anything else.
    """
    try:
        found = _made(json.loads(written))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no kept answer: {type(error).__name__}") from error
    if not isinstance(found, SearchResult):
        raise ValueError("no kept answer")
    return found


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case date():
            return {_TAG: "date", "at": value.isoformat()}
        case Ranking():
            return {_TAG: "Ranking", "hits": [_plain(hit) for hit in value]}
        case Hit():  # before tuples, of which it is one
            return {_TAG: "Hit", **{name: _plain(item) for name, item in value._asdict().items()}}
        case tuple() | list():
            return [_plain(item) for item in value]
        case frozenset():
            return {_TAG: "set", "of": sorted(map(_plain, value))}
        case Mapping():
            return {_TAG: "map", "of": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if is_dataclass(value) and type(value).__name__ in _CLASSES:
        return {_TAG: type(value).__name__, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    raise TypeError(f"a {type(value).__name__} cannot be kept")


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_made, value))
    if not isinstance(value, dict):
        return value
    tag = value.pop(_TAG)
    match tag:
        case "date":
            return date.fromisoformat(value["at"])
        case "Ranking":
            return Ranking(_made(value["hits"]))
        case "set":
            return frozenset(_made(value["of"]))
        case "map":
            return dict(_made(value["of"]))
    return _CLASSES[tag](**{name: _made(item) for name, item in value.items()})
