"""Requests that are wrong in one way each. Reported apart: the outline asks for two of them only.

A malformed request must be *refused* with a JSON body that cannot be taken for a RetrievalResponse; where a
specification leaves the matter open, an answer is as good, but never a crash (*settled*).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from wenyuan.conformance import documents
from wenyuan.conformance.bench import Bench, Case, Mismatch, successful
from wenyuan.conformance.response_checks import looks_like_response
from wenyuan.conformance.targets import NOT_JSON, Answer
from wenyuan.core.errors import msg

JSON = "application/json"
REFUSALS = (400, 413, 415)
DEPTH = 500
BIG = 2 * 1024 * 1024


def refused(answer: Answer) -> str:
    """A description of the refusal; `Mismatch` when the request was not refused."""
    if not answer.by_http:
        if answer.status != 400:
            raise Mismatch("TypeError, ValueError or InvalidRequest", answer)
        return str(answer)
    if answer.status not in REFUSALS:
        raise Mismatch("HTTP 400 (or 413, 415)", answer)
    if answer.body is NOT_JSON or not isinstance(answer.body, Mapping):
        raise Mismatch("a JSON object that says what is wrong", answer)
    if looks_like_response(answer.body):
        raise Mismatch("a body that is no RetrievalResponse", answer)
    return str(answer)


def outcome_of(answer: Answer) -> str:
    """A description, when the request was refused or answered with SUCCESS; `Mismatch` on any failure."""
    return refused(answer) if answer.refused else f"accepted, {len(successful(answer))} fragments"


def _value(changes: Mapping[str, Any], verdict: Any, bench: Bench) -> str:
    request = {**documents.request("many"), **changes}
    return str(verdict(bench.target.ask({k: v for k, v in request.items() if v is not ...})))


def _bytes(body: bytes, verdict: Any, bench: Bench, *, content_type: str | None = JSON) -> str:
    headers = {} if content_type is None else {"Content-Type": content_type}
    return str(verdict(bench.target.send(body, headers)))


def _raw(query: str = '"连接池"', limit: str = "3", more: str = "") -> bytes:
    return f'{{"query": {query}, "max_results": {limit}{more}}}'.encode()


_GOOD = _raw()
_NESTED = "[" * DEPTH + "]" * DEPTH

_VALUES: tuple[tuple[str, str, Mapping[str, Any], Any], ...] = (
    ("max-results-true", "true is no integer", {"max_results": True}, refused),
    ("max-results-false", "false is no integer", {"max_results": False}, refused),
    ("max-results-float", "3.0 is not written as an integer", {"max_results": 3.0}, refused),
    ("max-results-fraction", "2.5 is no integer", {"max_results": 2.5}, refused),
    ("max-results-string", '"3" is no integer', {"max_results": "3"}, refused),
    ("max-results-null", "null is no integer", {"max_results": None}, refused),
    ("max-results-array", "[3] is no integer", {"max_results": [3]}, refused),
    ("max-results-zero", "0 asks for nothing", {"max_results": 0}, refused),
    ("max-results-negative", "-1 asks for less than nothing", {"max_results": -1}, refused),
    ("max-results-missing", "max_results is required", {"max_results": ...}, refused),
    ("max-results-huge", "a thousand million is refused, or is a limit like any other",
     {"max_results": 10**9}, outcome_of),
    ("query-blank", "an empty query asks nothing", {"query": ""}, refused),
    ("query-whitespace", "white space, the ideographic space too, asks nothing", {"query": " \t\n\u3000"}, refused),
    ("query-number", "42 is no string", {"query": 42}, refused),
    ("query-null", "null is no string", {"query": None}, refused),
    ("query-array", "an array is no string", {"query": ["连接池"]}, refused),
    ("query-nul", "U+0000 in a query breaks nothing", {"query": "连接池\x00pool"}, outcome_of),
    ("context-string", "context is an object", {"context": "chapter 3"}, refused),
    ("context-array", "context is an object", {"context": []}, refused),
    ("context-null", "a null context breaks nothing", {"context": None}, outcome_of),
    ("unknown-member", "an unknown member breaks nothing", {"max_result": 3}, outcome_of),
)  # fmt: skip

_BYTES: tuple[tuple[str, str, bytes, Any], ...] = (
    ("json-truncated", "half a JSON text", _GOOD[:-1], refused),
    ("json-empty", "an empty body", b"", refused),
    ("json-array", "an array at the top", b"[" + _GOOD + b"]", refused),
    ("json-string", "a string at the top", '"连接池"'.encode(), refused),
    ("json-trailing", "something after the JSON text", _GOOD + b"x", refused),
    ("json-duplicate-keys", "a member given twice", _raw(more=', "max_results": 1'), refused),
    ("json-nan", "NaN is no JSON", _raw(limit="NaN"), refused),
    ("json-nan-in-context", "NaN is no JSON, in context either", _raw(more=', "context": {"x": NaN}'), refused),
    ("json-infinity", "Infinity is no JSON", _raw(limit="Infinity"), refused),
    ("json-overflow", "1e400 is no integer and fits no float", _raw(limit="1e400"), refused),
    ("json-surrogate", "half a surrogate pair is no character", _raw(query='"\\ud800"'), refused),
    ("json-bom", "a byte order mark is refused or ignored (RFC 8259 §8.1)", b"\xef\xbb\xbf" + _GOOD, outcome_of),
    ("json-invalid-utf8", "bytes that are no UTF-8", _raw(query='"?"').replace(b"?", b"\xff\xfe"), refused),
    ("json-gb18030", "Chinese in GB 18030 is no UTF-8", _GOOD.decode().encode("gb18030"), refused),
    ("json-utf16", "UTF-16 is no UTF-8", _GOOD.decode().encode("utf-16"), refused),
    ("nested-query", msg("an array {depth} deep", depth=DEPTH), _raw(query=_NESTED), refused),
    ("nested-context", msg("a context {depth} deep breaks nothing", depth=DEPTH), _raw(more=f', "context": {{"x": {_NESTED}}}'),
     outcome_of),
    ("body-2mib", "2 MiB are too much", _raw(query='"' + "x" * BIG + '"'), refused),
)  # fmt: skip

_TYPES = (
    ("type-text", "text/plain is no JSON", "text/plain"),
    ("type-form", "a form is no JSON", "application/x-www-form-urlencoded"),
    ("type-missing", "no Content-Type", None),
)


def _values() -> list[Case]:
    return [
        Case(name, title, "contract §3.2, §4", partial(_value, changes, verdict))
        for name, title, changes, verdict in _VALUES
    ]


def _wire() -> list[Case]:
    section = "contract §4; RFC 8259"
    cases = [
        Case(name, title, section, partial(_bytes, body, verdict), needs_bytes=True)
        for name, title, body, verdict in _BYTES
    ]
    form = json.dumps(documents.request("many")).encode()
    cases += [
        Case(name, title, "contract §4; RFC 9110 §15.5.16",
             partial(_bytes, form, refused, content_type=media_type), needs_bytes=True)
        for name, title, media_type in _TYPES
    ]  # fmt: skip
    return cases


MALFORMED = (*_values(), *_wire())
