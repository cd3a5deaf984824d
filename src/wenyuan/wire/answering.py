"""JSON models of ``/v1/answer``: a question, and an answer with a quote for every claim."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Day, QueryText, Text
from wenyuan.core.access import MAX_DOMAINS, parse_scope
from wenyuan.core.filters import parse_filter
from wenyuan.core.prompt_parts import LOW_TRUST
from wenyuan.service.generation.answers import MOST_PASSAGES, AnswerRequest, Citation, DroppedClaim
from wenyuan.wire.contract import HISTORY, REWRITE, MayFail, failed_body, no_default
from wenyuan.wire.search import History, ScopeShape
from wenyuan.wire.search_requests import checked, conversation_of


class AnswerRequestShape(Strict):
    """A question to be answered by the language model of the library, within what the caller may see."""

    query: QueryText
    agent_id: Text | None = Field(None, description="Whose knowledge scope counts.")
    knowledge_scope: Annotated[list[ScopeShape], Field(min_length=1, max_length=MAX_DOMAINS)] | None = Field(
        None, description="Each domain once. Without it, all of the agent's; without an agent, every source."
    )
    min_trust: int = Field(
        LOW_TRUST, ge=1, le=5, description="Trust below which nothing is shown to the model or cited."
    )
    filters: dict[str, Any] | None = Field(None, description="As of `/v1/search`.")
    as_of: Day | None = Field(None, description="The day on which what is cited must be in force (YYYY-MM-DD).")
    task_id: Text | None = Field(None, description="Copyright limits count over all that one task is given.")
    limit: int = Field(
        8, ge=1, le=MOST_PASSAGES, description="Passages that the model is shown, where no domain is named."
    )
    on_failure: Literal["fail", "extract"] = Field(
        "fail", description="Where the model fails: FAILED, or an answer of extracts, `origin` extractive."
    )
    rewrite: bool = Field(False, description=REWRITE)
    history: History = Field(None, description=HISTORY)
    stream: bool = Field(
        False, description="Answer with server-sent events: stages, then checked claims, then the whole."
    )


class AnswerClaimShape(BaseModel):
    """A claim that passed every check."""

    text: str
    origin: Literal["model", "quote", "rule", "extractive"] = Field(
        description="Whose words: the model's (which are the source's), the source's in their place, a rule's, an extract's."
    )
    citations: list[Citation]
    checks: dict[str, Any]


class ModelUseShape(BaseModel):
    """What was used of the model."""

    name: str
    tokens_in: int
    tokens_out: int
    cost: float


class AnswerShape(MayFail):
    """SUCCESS with an answer, or with none and the reason; or FAILED with what failed."""

    status: Literal["SUCCESS", "FAILED"]
    answer: str | None = Field(description="The claims, a line each, with the number of the citation behind it.")
    origin: Literal["model", "extractive", "rules"] | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    reason: str = ""
    missing: str = Field(
        "",
        description="The words of the question that the model says no passage answers; nothing else of what it says.",
    )
    claims: list[AnswerClaimShape]
    dropped: list[DroppedClaim] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict, description="Dropped claims by reason.")
    withheld: dict[str, list[str]] = Field(default_factory=dict, description="Passages that the model was not shown.")
    rules_left: int = 0
    fragments: list[dict[str, Any]] = Field(default_factory=list, description="What was found, best first.")
    model: ModelUseShape | None = Field(None, description="None where no model was asked.")
    as_of: str | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    generation: int | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    degraded: list[str] = Field(default_factory=list)
    audit_id: str | None = None
    rewritten: dict[str, Any] | SkipJsonSchema[None] = Field(
        None, description="In which words the question was asked, too, and what was left out.",
        json_schema_extra=no_default,
    )  # fmt: skip


def answer_from_wire(payload: object) -> AnswerRequest:
    """Parse and validate a request; InvalidRequest lists every fault."""
    body = checked(AnswerRequestShape, payload)
    scope = body.knowledge_scope
    return AnswerRequest(
        query=body.query,
        agent_id=body.agent_id,
        knowledge_scope=None if scope is None else parse_scope([entry.model_dump() for entry in scope]),
        min_trust=body.min_trust,
        filter=None if body.filters is None else parse_filter(body.filters),
        as_of=None if body.as_of is None else date.fromisoformat(body.as_of),
        task_id=body.task_id or "",
        limit=body.limit,
        on_failure=body.on_failure,
        stream=body.stream,
        conversation=conversation_of(body),
    )


def failed_answer(why: str) -> dict[str, Any]:
    """The body of a failed answer."""
    return failed_body(why, answer=None, claims=[])
