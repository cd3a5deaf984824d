"""The JSON shapes of unified retrieval (``/retrieve``) and of rule inference (``/infer_rules``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import QueryText, Text
from wenyuan.core.contract import named_twice
from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.core.rules.retrieval_item import RetrievalItem
from wenyuan.service.rules.unified import Parameters, Processes, RuleItems, RuleQuestion, Unified, UnifiedRequest
from wenyuan.wire.contract import MayFail, no_default
from wenyuan.wire.search_requests import checked


class InferRequestShape(Strict):
    """Which rules follow: for processes named, or recognised in the text."""

    context: QueryText | None = Field(None, description="A text in which processes are recognised.")
    query: QueryText | None = Field(None, description="The same as `context`; both must not differ.")
    processes: Processes | None = None
    engineering_type: Text | None = None
    parameters: Parameters = Field(default_factory=dict)
    link: Literal["words", "llm"] = Field(
        "words",
        description="How processes are recognised: by the words of the text, or a language model chooses among the graph's names.",
    )


class UnifiedAnswerShape(MayFail):
    """SUCCESS with items by priority, then falling score; or FAILED with a reason, without items."""

    status: Literal["SUCCESS", "FAILED"]
    items: list[RetrievalItem]
    regulations: list[RetrievalItem]
    cases: list[RetrievalItem]
    query_context: dict[str, Any]


class InferAnswerShape(MayFail):
    """SUCCESS with rules by falling score, perhaps none and then why; or FAILED with a reason."""

    status: Literal["SUCCESS", "FAILED"]
    items: list[RetrievalItem]
    recognised: list[dict[str, Any]]
    unmatched_processes: list[str]
    truncated: list[str]
    notes: list[str]
    audit_id: str | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    reason: str | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)


def unified_from_wire(payload: object) -> UnifiedRequest:
    """Parse a request body; InvalidRequest lists every fault."""
    return checked(UnifiedRequest, payload)


def infer_from_wire(payload: object) -> RuleQuestion:
    """Parse a request body; InvalidRequest lists every fault."""
    body = checked(InferRequestShape, payload)
    text = named_twice("context", body.context, body.query)
    if text is None and body.processes is None:
        why = "is required, or processes"
        raise InvalidRequest(msg("context {why}", why=why), faults=(Fault("context", why),))
    return RuleQuestion(
        text=text or "",
        processes=None if body.processes is None else tuple(body.processes),
        engineering_type=body.engineering_type or "",
        parameters=body.parameters,
        link=body.link,
    )


def unified_to_wire(unified: Unified) -> Mapping[str, Any]:
    """The body of a unified answer."""
    return {"status": "SUCCESS", **unified.response.to_dict()}


def infer_to_wire(answer: RuleItems) -> Mapping[str, Any]:
    """The body of an answer with inferred rules."""
    body: dict[str, Any] = {
        "status": "SUCCESS",
        "items": [item.to_dict() for item in answer.items],
        "recognised": [dict(one) for one in answer.recognised],
        "unmatched_processes": list(answer.unmatched),
        "truncated": list(answer.truncated),
        "notes": list(answer.notes),
    }
    said = {"reason": answer.reason, "audit_id": answer.audit_id}
    return body | {name: value for name, value in said.items() if value}
