"""JSON models of ``/v1/verify``."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Day, Text
from wenyuan.core.claims import Claim, claims_of
from wenyuan.core.errors import Fault, InvalidRequest, listed, msg
from wenyuan.core.places import ClaimDifference
from wenyuan.service.verification import MOST_CHARS, MOST_CLAIMS, ContradictedRule, Verdict, VerifyRequest
from wenyuan.wire.contract import MayFail, failed_body, no_default
from wenyuan.wire.search_requests import checked

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


class DisputeShape(BaseModel):
    """A statement elsewhere that contradicts one of the passage."""

    conflict_id: str
    kind: str
    quote: str
    other: str
    other_uri: str
    other_title: str
    holds: Literal["this", "other", ""] = Field(description="Which of both holds; empty: its owner must say.")
    why: str


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
    conflicts: list[DisputeShape] | SkipJsonSchema[None] = Field(
        None, description="What contradicts it elsewhere.", json_schema_extra=no_default
    )


class JudgedClaimShape(BaseModel):
    """A claim with its verdict: the gravest of its findings."""

    text: str
    sources: list[str]
    verdict: Verdict
    findings: list[Verdict]
    evidence: list[EvidenceShape]
    changes: list[ClaimDifference]
    rule: ContradictedRule | None
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
