"""JSON models of Dify's External Knowledge API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.contract.bodies import Lenient
from wenyuan.contract.fields import QueryText, Text
from wenyuan.core.conditions import Conditions, FieldComparison, Test
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.model import MAX_RESULTS, Facet, RetrievalRequest
from wenyuan.core.restrictions import misplaced_in
from wenyuan.service.fragment_search import FragmentsAnswer, FragmentsRequest
from wenyuan.wire.contract import no_default
from wenyuan.wire.search_requests import checked

# The JSON shapes of Dify's External Knowledge API (``POST /retrieval``).
#
# Published by Dify: https://docs.dify.ai, "External Knowledge API". Its clients send null where they have nothing to
# say, may send members that we do not know, and break on a record whose metadata is null.


_DEFAULT_TOP_K = 5
_CONDITIONS = 64  # of one question
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


class DifySettingShape(Lenient):
    """How much is wanted."""

    top_k: Annotated[int, Field(ge=1, le=MAX_RESULTS)] | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class DifyConditionShape(Lenient):
    """A test of one field."""

    name: Text = Field(min_length=1, max_length=128)
    comparison_operator: str
    value: str | int | float | list[str] | None = None


class DifyConditionsShape(Lenient):
    """Tests of what documents say of themselves."""

    logical_operator: Literal["and", "or"] | None = None
    conditions: list[DifyConditionShape] | None = Field(None, max_length=_CONDITIONS)


class DifyRequestShape(Lenient):
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


_DIFY_SAYS = {
    "domain": "knowledge_id", "filter": "metadata_condition", "max_results": "retrieval_setting.top_k",
    "least_score": "retrieval_setting.score_threshold",
}  # fmt: skip
STORES_SAY = {
    "filter": "filters", "max_results": "max_num_results", "least_score": "ranking_options.score_threshold",
    "domain": "vector_store_id",
}  # fmt: skip
"""What says a restriction in these protocols, by its name here."""


def restricting(
    payload: object, shape: type[BaseModel], says: Mapping[str, str], parts: Mapping[str, type[BaseModel]]
) -> None:
    """Refuse members that look like restrictions and are not those of the protocol; others that are not known are ignored.

    Raises:
        InvalidRequest: there are any; all are listed.
    """
    faults = misplaced_in(payload, shape.model_fields, says)
    for part, of in parts.items():
        inner = payload.get(part) if isinstance(payload, Mapping) else None
        faults += misplaced_in(inner, of.model_fields, says, f"{part}.")
        tests = inner.get("conditions") if of is DifyConditionsShape and isinstance(inner, Mapping) else None
        for at, one in enumerate(tests[:_CONDITIONS] if isinstance(tests, list) else ()):
            faults += misplaced_in(one, DifyConditionShape.model_fields, says, f"{part}.conditions[{at}].")
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))


def dify_from_wire(payload: object) -> FragmentsRequest:
    """Parse a request body; InvalidRequest lists its faults."""
    parts: Mapping[str, type[BaseModel]] = {
        "retrieval_setting": DifySettingShape,
        "metadata_condition": DifyConditionsShape,
    }
    restricting(payload, DifyRequestShape, _DIFY_SAYS, parts)
    body = checked(DifyRequestShape, payload)
    setting = body.retrieval_setting or DifySettingShape()
    return FragmentsRequest(
        request=RetrievalRequest(query=body.query, max_results=setting.top_k or _DEFAULT_TOP_K),
        domain=body.knowledge_id,
        conditions=_dify_conditions(body.metadata_condition),
        least_score=setting.score_threshold or 0.0,
        door="dify",
    )


def _dify_conditions(shape: DifyConditionsShape | None) -> Conditions | None:
    if shape is None or not shape.conditions:
        return None
    parts = [_condition(one, f"metadata_condition.conditions[{at}]") for at, one in enumerate(shape.conditions)]
    return Conditions(join=shape.logical_operator or "and", parts=tuple(parts))


def _condition(shape: DifyConditionShape, path: str) -> FieldComparison:
    operator = shape.comparison_operator
    if operator not in _TESTS:
        near = did_you_mean(operator, _TESTS)
        why = msg("is no operator{near}; known: {operators}", near=near, operators=", ".join(_TESTS))
        raise fault_of(f"{path}.comparison_operator", why)
    test = _TESTS[operator]
    if test in ("empty", "given"):
        return FieldComparison(field=shape.name, test=test, path=path)
    if shape.value is None:
        raise fault_of(f"{path}.value", f"is required by the operator {operator!r}")
    given = shape.value if isinstance(shape.value, list) else [shape.value]
    if not given:
        raise fault_of(f"{path}.value", "must not be an empty array")
    if test in ("in", "nin") and isinstance(shape.value, str):
        given = [part.strip() for part in shape.value.split(",")]
    dated = operator in ("before", "after")
    values = [reading for value in given for reading in _readings(value, dated=dated, path=f"{path}.value")]
    return FieldComparison(field=shape.name, test=test, values=tuple(values), path=f"{path}.name")


def _readings(value: str | int | float, *, dated: bool, path: str) -> list[Facet]:
    """Possible meanings of a filter value: Dify's form sends numbers as text, and days as seconds since the epoch."""
    number = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if not dated:
        return [value, float(value)] if number else [value]
    if isinstance(value, str):
        if _DAY.match(value):
            return [value]
        if not number:
            raise fault_of(path, "must be a date such as 2024-05-20, or seconds since the epoch")
        value = float(value)
    try:
        return [datetime.fromtimestamp(value, UTC).date().isoformat(), value]
    except (OverflowError, OSError, ValueError) as error:
        raise fault_of(path, "is no time that there is") from error


def fault_of(path: str, why: str) -> InvalidRequest:
    return InvalidRequest(msg("{place} {fault}", place=path, fault=why), faults=(Fault(path, why),))


def dify_to_wire(given: FragmentsAnswer) -> Mapping[str, Any]:
    """The body of an answer in Dify's format."""
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
    """A record that reports a failure, for clients that treat any error as an empty answer.

    Its score is 1, so that no threshold of the client hides it.
    """
    said = f"知识服务未能回答，请勿据此认为没有相关知识。The knowledge service failed; this is not an empty answer: {why}"
    metadata = {"source": "", "status": "FAILED", "error": why}
    return {"records": [{"content": said, "score": 1.0, "title": "FAILED 知识服务故障", "metadata": metadata}]}


def dify_error(code: str, status: int, why: str, request_id: str) -> Mapping[str, Any]:
    """The body of an error in Dify's format."""
    number = _CODES.get(code) or (5000 if status >= 500 else 4000)
    return {"error_code": number, "error_msg": why, "request_id": request_id}
