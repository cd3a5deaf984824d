"""JSON models of other protocols: Dify's External Knowledge API and OpenAI's vector stores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.filters import Condition, Conditions, Test
from wenyuan.core.model import MAX_RESULTS, Facet, Fragment, RetrievalRequest
from wenyuan.core.restrictions import misplaced_in
from wenyuan.service.fragments import FragmentsAnswer, FragmentsRequest
from wenyuan.wire import QueryText, Text, no_default
from wenyuan.wire.search import checked

# The JSON shapes of Dify's External Knowledge API (``POST /retrieval``).
#
# Published by Dify: https://docs.dify.ai, "External Knowledge API". Its clients send null where they have nothing to
# say, may send members that we do not know, and break on a record whose metadata is null.


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


_DIFY_SAYS = {
    "domain": "knowledge_id", "filter": "metadata_condition", "max_results": "retrieval_setting.top_k",
    "least_score": "retrieval_setting.score_threshold",
}  # fmt: skip
_STORES_SAY = {
    "filter": "filters", "max_results": "max_num_results", "least_score": "ranking_options.score_threshold",
    "domain": "vector_store_id",
}  # fmt: skip
"""What says a restriction in these protocols, by its name here."""


def _restricting(
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
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))


def dify_from_wire(payload: object) -> FragmentsRequest:
    """Parse a request body; InvalidRequest lists its faults."""
    parts: Mapping[str, type[BaseModel]] = {
        "retrieval_setting": DifySettingShape,
        "metadata_condition": DifyConditionsShape,
    }
    _restricting(payload, DifyRequestShape, _DIFY_SAYS, parts)
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


def _condition(shape: DifyConditionShape, path: str) -> Condition:
    operator = shape.comparison_operator
    if operator not in _TESTS:
        near = did_you_mean(operator, _TESTS)
        why = msg("is no operator{near}; known: {operators}", near=near, operators=", ".join(_TESTS))
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
    """Possible meanings of a filter value: Dify's form sends numbers as text, and days as seconds since the epoch."""
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


# The JSON shapes of OpenAI's vector stores: their list (``GET /v1/vector_stores``) and their search.
#
# As the types of the ``openai`` package have them. What is not ours to do (``rewrite_query``, a ranker by name) is
# accepted and left undone: the answer's ``search_query`` says what was searched for.


_MOST_QUERIES = 8
_MOST_DEPTH = 8
_MOST_ATTRIBUTES, _MOST_CHARS = 16, 512
_ATTRIBUTES = (
    "source", "source_id", "passage_id", "heading", "trust", "origin", "priority", "copyright", "language",
    "effective_from", "effective_until", "stale_since", "stale_by", "degraded", "audit_id", "page", "line",
)  # fmt: skip


class _VectorStoresLenient(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class RankingShape(_VectorStoresLenient):
    """Least score of a result."""

    ranker: str | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class StoreRequestShape(_VectorStoresLenient):
    """What is searched for."""

    query: QueryText | Annotated[list[QueryText], Field(min_length=1, max_length=_MOST_QUERIES)]
    filters: dict[str, Any] | None = Field(None, description="A comparison {type, key, value}, or {type, filters}.")
    max_num_results: int = Field(10, ge=1, le=50)
    ranking_options: RankingShape | None = None
    rewrite_query: bool | None = None


class StoreTextShape(BaseModel):
    """A piece of text."""

    type: Literal["text"]
    text: str


class StoreResultShape(BaseModel):
    """A fragment."""

    file_id: str = Field(description="Address of the passage: crm_policy#42.")
    filename: str
    score: Annotated[float, Field(ge=0.0, le=1.0)]
    attributes: dict[str, str | float | bool] = Field(description=f"At most {_MOST_ATTRIBUTES}.")
    content: list[StoreTextShape]


class StorePageShape(BaseModel):
    """Fragments, best first."""

    object: Literal["vector_store.search_results.page"]
    search_query: list[str]
    data: list[StoreResultShape]
    has_more: bool
    next_page: str | None


class StoresQueryShape(BaseModel):
    """Which vector stores are listed: a page of those after, or before, one of them."""

    model_config = ConfigDict(extra="ignore")

    limit: int = Field(20, ge=1, le=100, description="At most so many.")
    order: Literal["asc", "desc"] = Field("desc", description="By `created_at`: the newest first, or the oldest.")
    after: Text | SkipJsonSchema[None] = Field(None, description="Id of the last one of the page before.")
    before: Text | SkipJsonSchema[None] = Field(None, description="Id of the first one of the page behind.")


class StoreCountsShape(BaseModel):
    """Documents of a vector store: those taken in, and those that could not be read."""

    in_progress: int
    completed: int
    failed: int
    cancelled: int
    total: int


class StoreShape(BaseModel):
    """A vector store: a knowledge domain, or ``all``."""

    id: str
    object: Literal["vector_store"]
    name: str
    created_at: int = Field(description="When its first source was registered: seconds since the epoch.")
    status: Literal["completed"]
    file_counts: StoreCountsShape
    usage_bytes: int = Field(description="Not measured: 0.")


class StoreListShape(BaseModel):
    """A page of the vector stores that the caller may search."""

    object: Literal["list"]
    data: list[StoreShape]
    first_id: str | None
    last_id: str | None
    has_more: bool


class StoreFaultShape(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    code: str


class StoreErrorShape(BaseModel):
    """Why there is no answer."""

    error: StoreFaultShape


class _ComparisonShape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    type: Literal["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin"]
    key: Text
    value: str | int | float | bool | Annotated[list[str | int | float | bool], Field(min_length=1)]


def store_from_wire(payload: object, store: str) -> tuple[FragmentsRequest, ...]:
    """The requests in a body, one per query.

    Args:
        store: The id of the vector store: a knowledge domain, or ``all``.

    Raises:
        InvalidRequest: with what is wrong.
    """
    _restricting(payload, StoreRequestShape, _STORES_SAY, {"ranking_options": RankingShape})
    body = checked(StoreRequestShape, payload)
    ranking = body.ranking_options or RankingShape(ranker=None)
    conditions = None if body.filters is None else _conditions(body.filters, "filters", 0)
    return tuple(
        FragmentsRequest(
            request=RetrievalRequest(query=query, max_results=body.max_num_results),
            domain=store,
            conditions=conditions,
            least_score=ranking.score_threshold or 0.0,
            door="vector_stores",
        )
        for query in ([body.query] if isinstance(body.query, str) else body.query)
    )


def _conditions(tree: Any, path: str, depth: int) -> Condition | Conditions:
    if not isinstance(tree, dict) or depth > _MOST_DEPTH:
        raise _fault(path, f"must be an object, nested at most {_MOST_DEPTH} deep")
    join = tree.get("type")
    if join not in ("and", "or"):
        return _comparison(tree, path)
    parts = tree.get("filters")
    if not isinstance(parts, list) or not parts:
        raise _fault(f"{path}.filters", "must be a non-empty array")
    found = (_conditions(part, f"{path}.filters[{at}]", depth + 1) for at, part in enumerate(parts))
    return Conditions(join=join, parts=tuple(found))


def _comparison(tree: Mapping[str, Any], path: str) -> Condition:
    try:
        shape = checked(_ComparisonShape, tree)
    except InvalidRequest as error:
        faults = tuple(Fault(f"{path}.{fault.path}", fault.message) for fault in error.faults)
        raise InvalidRequest(listed(faults[:3]), faults=faults) from error
    if isinstance(shape.value, list) != (shape.type in ("in", "nin")):
        raise _fault(f"{path}.value", "must be an array for in and nin, and none for any other type")
    values: Sequence[Facet] = shape.value if isinstance(shape.value, list) else [shape.value]
    test: Test = shape.type
    return Condition(field=shape.key, test=test, values=tuple(values), path=f"{path}.key")


def store_to_wire(asked: Sequence[FragmentsRequest], given: Sequence[FragmentsAnswer]) -> Mapping[str, Any]:
    """The body of an answer: each fragment once, with its best score over all queries."""
    best: dict[str, Fragment] = {}
    for fragment in (f for one in given for f in one.fragments):
        known = best.get(_address(fragment))
        if known is None or fragment.retrieval_score > known.retrieval_score:
            best[_address(fragment)] = fragment
    ranked = sorted(best.values(), key=lambda f: -f.retrieval_score)  # stable: equal scores stay as they were
    return {
        "object": "vector_store.search_results.page",
        "search_query": [one.request.query for one in asked],
        "data": [_result(fragment) for fragment in ranked[: asked[0].request.max_results]],
        "has_more": False,
        "next_page": None,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A vector store that a caller may search.

    Attributes:
        created_at: Seconds since the epoch.
        documents, failures: How many it holds, and how many could not be read.
    """

    name: str
    created_at: float
    documents: int
    failures: int


def stores_to_wire(stores: Sequence[Store], asked: StoresQueryShape) -> Mapping[str, Any]:
    """The requested page of stores.

    Raises:
        InvalidRequest: no store is called what ``after`` or ``before`` names.
    """
    ranked = sorted(stores, key=lambda store: (store.created_at, store.name), reverse=asked.order == "desc")
    names = [store.name for store in ranked]
    begin = _place(names, asked.after, "after") + 1 if asked.after is not None else 0
    end = _place(names, asked.before, "before") if asked.before is not None else len(names)
    inside = ranked[begin:end]
    # Backwards, the page is the one that ends right before the store that was named.
    backwards = asked.before is not None and asked.after is None
    page = inside[-asked.limit :] if backwards else inside[: asked.limit]
    return {
        "object": "list",
        "data": [_store(store) for store in page],
        "first_id": page[0].name if page else None,
        "last_id": page[-1].name if page else None,
        "has_more": len(page) < len(inside),
    }


def _place(names: Sequence[str], name: str, path: str) -> int:
    if name not in names:
        raise _fault(path, "must be the id of a vector store")
    return names.index(name)


def _store(store: Store) -> Mapping[str, Any]:
    counts = {"completed": store.documents, "failed": store.failures, "total": store.documents + store.failures}
    return {
        "id": store.name,
        "object": "vector_store",
        "name": store.name,
        "created_at": int(store.created_at),
        "status": "completed",
        "file_counts": {"in_progress": 0, "cancelled": 0, **counts},
        "usage_bytes": 0,
    }


def _address(fragment: Fragment) -> str:
    return str(fragment.metadata.get("passage_id") or fragment.source)


def _result(fragment: Fragment) -> Mapping[str, Any]:
    told = {"source": fragment.source, **fragment.metadata}
    attributes = {
        name: value[:_MOST_CHARS] if isinstance(value, str) else value
        for name in _ATTRIBUTES
        if isinstance(value := told.get(name), (str, int, float)) and value != ""
    }
    return {
        "file_id": _address(fragment),
        "filename": fragment.metadata.get("title") or fragment.source,
        "score": fragment.retrieval_score,
        "attributes": attributes,
        "content": [{"type": "text", "text": fragment.content}],
    }


def store_error(code: str, status: int, why: str, param: str | None) -> Mapping[str, Any]:
    """The body of an error in OpenAI's format."""
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = "server_error" if status >= 500 else kinds.get(status, "invalid_request_error")
    return {"error": {"message": why, "type": kind, "param": param, "code": code}}
