"""The JSON shapes of Dify's External Knowledge API (``POST /retrieval``).

Published by Dify: https://docs.dify.ai, "External Knowledge API". Its clients send null where they have nothing to
say, may send members that we do not know, and break on a record whose metadata is null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.core.conditions import Condition, Conditions, Test
from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.model import MAX_RESULTS, Facet, RetrievalRequest
from wenyuan.core.suggest import did_you_mean
from wenyuan.service.doors import Given, Wanted
from wenyuan.wire.governed import checked
from wenyuan.wire.shapes import QueryText, Text, no_default

__all__ = [
    "DifyAnswerShape",
    "DifyErrorShape",
    "DifyRequestShape",
    "dify_error",
    "dify_failure",
    "dify_from_wire",
    "dify_to_wire",
]

_DEFAULT_TOP_K = 5
_DAY = re.compile(r"[0-9]{4}(?![0-9.])")  # a date, or its beginning
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")

_TESTS: Mapping[str, Test] = {
    "contains": "contains", "not contains": "lacks", "start with": "starts", "end with": "ends", "is": "eq",
    "is not": "ne", "in": "in", "not in": "nin", "empty": "empty", "not empty": "given", "=": "eq", "≠": "ne",
    ">": "gt", "<": "lt", "≥": "gte", "≤": "lte", "before": "lt", "after": "gt",
}  # fmt: skip

_CODES: Mapping[str, int] = {
    "invalid_request": 4000,
    "unknown_domain": 2001,
    "not_found": 2001,
    "not_permitted": 1002,
    "engine_unavailable": 5001,
    "engine_timeout": 5002,
    "index_mismatch": 5001,
    "index_corrupt": 5001,
    "encoder_unavailable": 5003,
    "encoder_timeout": 5003,
    "catalog_unavailable": 5004,
    "overloaded": 5005,
    "too_many_requests": 4029,
}
"""What failed → the number that Dify shows. 1001, 1002 and 2001 are Dify's own, the others ours."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class DifySettingShape(_Lenient):
    """How much is wanted."""

    top_k: Annotated[int, Field(ge=1, le=MAX_RESULTS)] | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class DifyConditionShape(_Lenient):
    """A test of one field."""

    name: Text = Field(min_length=1, max_length=128)
    comparison_operator: str
    value: str | int | float | list[str] | None = None


class DifyConditionsShape(_Lenient):
    """Tests of what documents say of themselves."""

    logical_operator: Literal["and", "or"] | None = None
    conditions: list[DifyConditionShape] | None = Field(None, max_length=64)


class DifyRequestShape(_Lenient):
    """What Dify asks."""

    knowledge_id: Text = Field(min_length=1, description="A knowledge domain, or `all`.")
    query: QueryText
    retrieval_setting: DifySettingShape | None = None
    metadata_condition: DifyConditionsShape | None = None


class DifyRecordShape(BaseModel):
    """A fragment."""

    content: str
    score: Annotated[float, Field(ge=0.0, le=1.0)]
    title: str
    metadata: dict[str, Any]


class DifyAnswerShape(BaseModel):
    """Fragments, best first; perhaps none. A failure is never this, but an error with a status of 500 and above."""

    records: list[DifyRecordShape]


class DifyErrorShape(BaseModel):
    """Why there is no answer."""

    error_code: int = Field(
        description="1001, 1002 authorization; 2001 no such knowledge; 4xxx request; 5xxx failed."
    )
    error_msg: str
    request_id: str | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)


def dify_from_wire(payload: object) -> Wanted:
    """The request that a body is; InvalidRequest lists what is wrong with it."""
    body = checked(DifyRequestShape, payload)
    setting = body.retrieval_setting or DifySettingShape()
    return Wanted(
        request=RetrievalRequest(query=body.query, max_results=setting.top_k or _DEFAULT_TOP_K),
        domain=body.knowledge_id,
        conditions=_conditions(body.metadata_condition),
        least_score=setting.score_threshold or 0.0,
        door="dify",
    )


def _conditions(shape: DifyConditionsShape | None) -> Conditions | None:
    if shape is None or not shape.conditions:
        return None
    parts = [_condition(one, f"metadata_condition.conditions[{at}]") for at, one in enumerate(shape.conditions)]
    return Conditions(join=shape.logical_operator or "and", parts=tuple(parts))


def _condition(shape: DifyConditionShape, path: str) -> Condition:
    operator = shape.comparison_operator
    if operator not in _TESTS:
        why = f"is no operator{did_you_mean(operator, _TESTS)}; known: {', '.join(_TESTS)}"
        raise _fault(f"{path}.comparison_operator", why)
    test = _TESTS[operator]
    if test in ("empty", "given"):
        return Condition(field=shape.name, test=test, path=path)
    if shape.value is None:
        raise _fault(f"{path}.value", f"is required by the operator {operator!r}")
    given = shape.value if isinstance(shape.value, list) else [shape.value]
    if not given:
        raise _fault(f"{path}.value", "must not be an empty array")
    if test in ("in", "nin") and isinstance(shape.value, str):
        given = [part.strip() for part in shape.value.split(",")]
    dated = operator in ("before", "after")
    values = [reading for value in given for reading in _readings(value, dated=dated, path=f"{path}.value")]
    return Condition(field=shape.name, test=test, values=tuple(values), path=f"{path}.name")


def _readings(value: str | int | float, *, dated: bool, path: str) -> list[Facet]:
    """What a value may mean: Dify's form gives numbers as text, and days as seconds since the epoch."""
    number = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if not dated:
        return [value, float(value)] if number else [value]
    if isinstance(value, str):
        if _DAY.match(value):
            return [value]
        if not number:
            raise _fault(path, "must be a date such as 2024-05-20, or seconds since the epoch")
        value = float(value)
    try:
        return [datetime.fromtimestamp(value, UTC).date().isoformat(), value]
    except (OverflowError, OSError, ValueError) as error:
        raise _fault(path, "is no time that there is") from error


def _fault(path: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"{path} {why}", faults=(Fault(path, why),))


def dify_to_wire(given: Given) -> Mapping[str, Any]:
    """The body of an answer."""
    return {
        "records": [
            {
                "content": fragment.content,
                "score": fragment.retrieval_score,
                "title": fragment.metadata.get("title") or fragment.source,
                "metadata": {"source": fragment.source, **fragment.metadata},
            }
            for fragment in given.fragments
        ]
    }


def dify_failure(why: str) -> Mapping[str, Any]:
    """One record that says the knowledge service failed, for clients that take any error for an empty answer.

    Its score is 1, so that no threshold of the client hides it.
    """
    said = f"知识服务未能回答，请勿据此认为没有相关知识。The knowledge service failed; this is not an empty answer: {why}"
    metadata = {"source": "", "status": "FAILED", "error": why}
    return {"records": [{"content": said, "score": 1.0, "title": "FAILED 知识服务故障", "metadata": metadata}]}


def dify_error(code: str, status: int, why: str, request_id: str) -> Mapping[str, Any]:
    """The body of an error."""
    number = _CODES.get(code) or (5000 if status >= 500 else 4000)
    return {"error_code": number, "error_msg": why, "request_id": request_id}
