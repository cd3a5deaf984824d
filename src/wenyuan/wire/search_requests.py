"""From JSON to requests of search and context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import date
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from wenyuan.core.access import DomainScope, parse_scope
from wenyuan.core.contract import required_query
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.filters import parse_filter
from wenyuan.core.query_rewriting import Turn, conversation
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.wire.search import ContextRequestShape, Rewritable, SearchRequestShape
from wenyuan.wire.strict_json import MAX_FAULTS, ROOT, safe_key, unbranched

T = TypeVar("T")


def checked(shape: type[T], payload: object) -> T:
    """Validate a body against a model, or a dataclass whose fields say what they take.

    Raises:
        InvalidRequest: listing every fault, an unknown member with the one that may have been meant.
    """
    try:
        found: T = _adapter(shape).validate_python(payload)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        faults = [_fault(*told, shape) for told in unbranched(details[:MAX_FAULTS], payload)]
        raise _invalid(faults) from error
    return found


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def _fault(steps: Sequence[str | int], kind: str, said: str, shape: type[Any]) -> Fault:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{safe_key(step)}" for step in steps)
    path = path.removeprefix(".") or ROOT
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return Fault(
            path, msg("is unknown{near}", near=did_you_mean(str(steps[-1]), _member_names(shape, steps[:-1])))
        )
    return Fault(path, said)


def _member_names(shape: type[Any], steps: Iterable[str | int]) -> Iterable[str]:
    """The member names of the model at a place within a model, or of a dataclass."""
    if is_dataclass(shape):
        return tuple(_adapter(shape).json_schema()["properties"])
    for step in steps:
        if isinstance(step, str):
            shape = _model_in(shape.model_fields[step].annotation) or shape
    return shape.model_fields


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _invalid(faults: list[Fault]) -> InvalidRequest:
    return InvalidRequest(listed(faults[:3]), faults=tuple(faults))


def search_from_wire(payload: object) -> SearchRequest:
    """Parse a search request; InvalidRequest lists every fault."""
    body = checked(SearchRequestShape, payload)
    scope = None
    if body.knowledge_scope is not None:
        scope = parse_scope([entry.model_dump() for entry in body.knowledge_scope])
    return SearchRequest(
        query=body.query,
        agent_id=body.agent_id,
        knowledge_scope=scope,
        min_trust=body.min_trust,
        filter=None if body.filters is None else parse_filter(body.filters),
        as_of=None if body.as_of is None else date.fromisoformat(body.as_of),
        source_document_uri=body.source_document_uri or "",
        task_id=body.task_id or "",
        limit=body.limit,
        summary=body.summary,
        conversation=conversation_of(body),
        nearest=body.nearest,
        abstain=body.abstain,
    )


def context_from_wire(payload: object) -> ContextRequest:
    """Parse a context request; InvalidRequest lists every fault."""
    body = checked(ContextRequestShape, payload)
    if body.top_k is not None:
        # The same rules as for a scope that is written out; an empty object changes nothing.
        parse_scope([{"domain": d, "top_k": k} for d, k in body.top_k.items()] or [{"domain": "-"}], "top_k")
    return ContextRequest(
        retrieval_query=required_query("retrieval_query", body.retrieval_query, body.query),
        agent_id=body.agent_id,
        extra_queries=tuple(body.extra_queries),
        top_k=body.top_k or None,
        allow_low_trust=body.allow_low_trust,
        token_budget=body.token_budget,
        task_id=body.task_id or "",
        source_document_uri=body.source_document_uri or "",
        summary=body.summary,
        conversation=conversation_of(body),
    )


def conversation_of(body: Rewritable) -> tuple[Turn, ...] | None:
    """What was said before a question that is to be reworded; None where it is not to be."""
    turns = None if body.history is None else [turn.model_dump() for turn in body.history]
    return conversation(turns, wanted=body.rewrite)


def domains_of(scope: Iterable[DomainScope] | None, top_k: Mapping[str, object] | None = None) -> frozenset[str]:
    """The domains that a request names."""
    return frozenset([entry.domain for entry in scope or ()] + list(top_k or ()))
