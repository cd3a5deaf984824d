"""The JSON shapes of OpenAI's vector stores: their list (``GET /v1/vector_stores``) and their search.

As the types of the ``openai`` package have them. What is not ours to do (``rewrite_query``, a ranker by name) is
accepted and left undone: the answer's ``search_query`` says what was searched for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.contract.bodies import Lenient, Strict
from wenyuan.contract.fields import QueryText, Text
from wenyuan.core.conditions import Conditions, FieldComparison, Test
from wenyuan.core.errors import Fault, InvalidRequest, listed
from wenyuan.core.fragment_metadata import OF_STORES
from wenyuan.core.model import Facet, Fragment, RetrievalRequest
from wenyuan.service.fragment_search import FragmentsAnswer, FragmentsRequest
from wenyuan.wire.dify import STORES_SAY, fault_of, restricting
from wenyuan.wire.search import S
from wenyuan.wire.search_requests import checked

_MOST_QUERIES = 8
_MOST_DEPTH = 8
_MOST_ATTRIBUTES, _MOST_CHARS = 16, 512


class RankingShape(Lenient):
    """Least score of a result."""

    ranker: str | None = None
    score_threshold: Annotated[float, Field(ge=0, le=1)] | None = None


class StoreRequestShape(Lenient):
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


class _JoinShape(Strict):
    type: Literal["and", "or"]
    filters: Any = None


class _ComparisonShape(Strict):
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
    restricting(payload, StoreRequestShape, STORES_SAY, {"ranking_options": RankingShape})
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


def _conditions(tree: Any, path: str, depth: int) -> FieldComparison | Conditions:
    if not isinstance(tree, dict) or depth > _MOST_DEPTH:
        raise fault_of(path, f"must be an object, nested at most {_MOST_DEPTH} deep")
    join = tree.get("type")
    if join not in ("and", "or"):
        return _comparison(tree, path)
    parts = tree.get("filters")
    _checked_at(path, _JoinShape, {name: value for name, value in tree.items() if value is not None})
    if not isinstance(parts, list) or not parts:
        raise fault_of(f"{path}.filters", "must be a non-empty array")
    found = (_conditions(part, f"{path}.filters[{at}]", depth + 1) for at, part in enumerate(parts))
    return Conditions(join=join, parts=tuple(found))


def _comparison(tree: Mapping[str, Any], path: str) -> FieldComparison:
    shape = _checked_at(path, _ComparisonShape, tree)
    if isinstance(shape.value, list) != (shape.type in ("in", "nin")):
        raise fault_of(f"{path}.value", "must be an array for in and nin, and none for any other type")
    values: Sequence[Facet] = shape.value if isinstance(shape.value, list) else [shape.value]
    test: Test = shape.type
    return FieldComparison(field=shape.key, test=test, values=tuple(values), path=f"{path}.key")


def _checked_at(path: str, shape: type[S], tree: Mapping[str, Any]) -> S:
    """A part of a filter in its shape, which has no other members; its faults name their places in the whole."""
    try:
        return checked(shape, tree)
    except InvalidRequest as error:
        faults = tuple(Fault(f"{path}.{fault.path}", fault.message) for fault in error.faults)
        raise InvalidRequest(listed(faults[:3]), faults=faults) from error


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
        raise fault_of(path, "must be the id of a vector store")
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
        for name in ("source", *OF_STORES)
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
