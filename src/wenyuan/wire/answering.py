"""JSON models of ``/v1/answer``, ``/v1/verify``, ``/v1/documents`` and ``/v1/corrections``."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.core.access import MAX_DOMAINS, parse_scope
from wenyuan.core.claims import Claim, claims_of
from wenyuan.core.corrections import CorrectionAction
from wenyuan.core.errors import Fault, InvalidRequest, listed, msg
from wenyuan.core.filters import parse_filter
from wenyuan.core.model import DocumentState
from wenyuan.core.prompt import LOW_TRUST
from wenyuan.service.documents import MOST_LISTED
from wenyuan.service.generation.answers import MOST_PASSAGES, AnswerRequest
from wenyuan.service.ingest.corrections import (
    MOST_QUESTION_CHARS,
    MOST_QUESTIONS,
    MOST_REASON_CHARS,
    MOST_TEXT_CHARS,
    CorrectionRequest,
)
from wenyuan.service.verification import MOST_CHARS, MOST_CLAIMS, Verdict, VerifyRequest
from wenyuan.wire import HISTORY, REWRITE, Day, MayFail, QueryText, Text, failed_body, no_default
from wenyuan.wire.search import History, ScopeShape, Strict, checked, conversation_of
from wenyuan.wire.strict_json import MAX_INTEGER

# JSON models of ``/v1/verify``: an answer, and a verdict on each of its claims.

MOST_ANSWER = 50_000
"""Characters of an answer."""

_Sources = Annotated[list[Annotated[str, Field(min_length=1, max_length=2_000)]], Field(max_length=50)]


class ClaimShape(Strict):
    """One statement, and what it cites."""

    text: str = Field(min_length=1, max_length=MOST_CHARS)
    sources: _Sources = Field(
        default_factory=list, description="Addresses, ids of sources, ids of passages, or marks of `citations`."
    )


class VerifyRequestShape(Strict):
    """An answer as a text with marks of its sources, or as claims; by whomever it was written."""

    answer: str | None = Field(
        None, min_length=1, max_length=MOST_ANSWER,
        description="Its sentences are the claims; `[1]`, `【1】`, `(source: …)`, `（来源：…）` mark their sources.",
    )  # fmt: skip
    claims: Annotated[list[ClaimShape], Field(min_length=1, max_length=MOST_CLAIMS)] | None = None
    citations: dict[str, Text] = Field(
        default_factory=dict, description='What marks stand for: `{"1": "policies#12"}`.'
    )
    min_trust: int = Field(1, ge=1, le=5, description="Trust below which evidence is too little.")
    as_of: Day | None = Field(None, description="The day on which evidence must be in force (YYYY-MM-DD).")


class UncertainShape(BaseModel):
    """Characters that were not recognised surely in an image; offsets into the passage's text."""

    start: int
    end: int
    text: str
    kind: str = Field(description="`number`, `date`, `amount`, `unit` or `clause`.")
    confidence: float


class EvidenceShape(BaseModel):
    """Where the library says what the claim says, or what the claim was made of; offsets into the passage's text."""

    passage_id: str
    source_id: str
    source: str
    title: str
    trust: int
    quote: str
    start: int
    end: int
    uncertain: list[UncertainShape] | SkipJsonSchema[None] = Field(
        None, description="What of the quote was not read surely.", json_schema_extra=no_default
    )


class ChangeShape(BaseModel):
    """What the evidence says, and what the claim says in its place."""

    was: str
    said: str


class ContradictedRuleShape(BaseModel):
    """A mandatory rule that the claim contradicts, with its clause."""

    id: str
    text: str
    clause: str


class JudgedClaimShape(BaseModel):
    """A claim with its verdict: the gravest of its findings."""

    text: str
    sources: list[str]
    verdict: Verdict
    findings: list[Verdict]
    evidence: list[EvidenceShape]
    changes: list[ChangeShape]
    rule: ContradictedRuleShape | None
    unknown_sources: list[str] = Field(description="Citations that are nothing that the caller may see.")


class VerifyAnswerShape(MayFail):
    """SUCCESS with a verdict on every claim; or FAILED with a reason and none."""

    status: Literal["SUCCESS", "FAILED"]
    claims: list[JudgedClaimShape]
    counts: dict[str, int] | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    as_of: str | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    generation: int | SkipJsonSchema[None] = Field(None, json_schema_extra=no_default)
    audit_id: str | None = None


def verify_from_wire(payload: object) -> VerifyRequest:
    """Parse and validate a request.

    Raises:
        InvalidRequest: with every fault; also where there is neither an answer nor claims, or both.
    """
    body = checked(VerifyRequestShape, payload)
    if (body.answer is None) == (body.claims is None):
        faults = (Fault("answer", msg("is required, or claims; not both")),)
        raise InvalidRequest(listed(faults), faults=faults)
    claims = (
        [Claim(one.text, tuple(one.sources)) for one in body.claims]
        if body.claims is not None
        else claims_of(body.answer or "")
    )
    return VerifyRequest(
        claims=tuple(claims),
        citations=dict(body.citations),
        min_trust=body.min_trust,
        as_of=None if body.as_of is None else date.fromisoformat(body.as_of),
    )


def failed_verification(why: str) -> dict[str, Any]:
    """The body of a failed verification."""
    return failed_body(why, claims=[])


# JSON models of ``/v1/answer``: a question, and an answer with a quote for every claim.


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


class CitationShape(BaseModel):
    """What a claim rests on: the source's own words; offsets into the passage's text, null for the clause of a rule."""

    source: str
    quote: str
    start: int | None
    end: int | None
    ref: str
    source_id: str
    title: str
    trust: int
    clause: str


class AnswerClaimShape(BaseModel):
    """A claim that passed every check."""

    text: str
    origin: Literal["model", "quote", "rule", "extractive"] = Field(
        description="Whose words: the model's (which are the source's), the source's in their place, a rule's, an extract's."
    )
    citations: list[CitationShape]
    checks: dict[str, Any]


class DroppedClaimShape(BaseModel):
    """What the model said that is not in the answer, and why."""

    text: str
    passage: str
    reason: str
    replaced: bool = Field(description="The quoted sentences are in the answer in its place.")
    changes: list[ChangeShape]
    rule: ContradictedRuleShape | None


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
    origin: Literal["model", "extractive", "rules"] | SkipJsonSchema[None] = None
    reason: str = ""
    missing: str = Field(
        "",
        description="The words of the question that the model says no passage answers; nothing else of what it says.",
    )
    claims: list[AnswerClaimShape]
    dropped: list[DroppedClaimShape] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict, description="Dropped claims by reason.")
    withheld: dict[str, list[str]] = Field(default_factory=dict, description="Passages that the model was not shown.")
    rules_left: int = 0
    fragments: list[dict[str, Any]] = Field(default_factory=list, description="What was found, best first.")
    model: ModelUseShape | SkipJsonSchema[None] = None
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


# JSON models of ``/v1/documents`` and ``/v1/corrections``.


class DocumentsQueryShape(BaseModel):
    """Which documents are wanted, and which page of them."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    source: Annotated[Text, Field(max_length=64)] | None = None
    state: DocumentState | None = None
    q: Annotated[Text, Field(max_length=500)] = Field("", description="What title or address must hold.")
    after: Annotated[Text, Field(max_length=16_000)] = Field("", description="`next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 50


class PassagesQueryShape(BaseModel):
    """Which page of a document's passages is wanted: those behind the passage of a number."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    after: Annotated[int, Field(ge=0, le=MAX_INTEGER)] = Field(0, description="`next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 50


class CorrectionShape(Strict):
    """What is to be corrected: a passage, or, to be excluded, a document."""

    action: CorrectionAction
    ref: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(None, description="`policies#12`")
    document_id: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    text: Annotated[Text, Field(max_length=MOST_TEXT_CHARS)] = Field(
        "", description="Of `text`: what it reads now. Of `heading`: how the heading reads, nothing where it is none."
    )
    questions: Annotated[
        list[Annotated[Text, Field(min_length=1, max_length=MOST_QUESTION_CHARS)]], Field(max_length=MOST_QUESTIONS)
    ] = Field(default_factory=list, description="Of `questions`: what else it answers.")
    at: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = Field(
        None, description="Of `split`: the offset in its text where the second part begins."
    )
    joined_with: Annotated[Text, Field(max_length=100)] = Field(
        "", alias="with", description="Of `join`: the ref of the passage right behind it."
    )
    heading: Annotated[Text, Field(max_length=MOST_TEXT_CHARS)] = Field(
        "", description="Of `heading`: which of the passage's headings; without, the one right above it."
    )
    reason: Annotated[Text, Field(max_length=MOST_REASON_CHARS)] = ""


class CorrectionsQueryShape(BaseModel):
    """Whose corrections are wanted, and which page of them: those with ids below ``before``."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    document_id: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    source: Annotated[Text, Field(max_length=64)] | None = None
    before: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 50


def correction_from_wire(payload: object) -> CorrectionRequest:
    """Parse and validate a request; InvalidRequest lists every fault."""
    body = checked(CorrectionShape, payload)
    return CorrectionRequest(
        action=body.action, ref=body.ref or "", document_id=body.document_id, text=body.text,
        questions=tuple(body.questions), at=body.at, joined_with=body.joined_with,
        heading=body.heading, reason=body.reason,
    )  # fmt: skip
