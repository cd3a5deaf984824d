"""JSON models of ``/v1/documents`` and ``/v1/corrections``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.corrections import CorrectionAction
from wenyuan.core.model import DocumentState
from wenyuan.service.documents import MOST_LISTED
from wenyuan.service.ingest.corrections import (
    MOST_QUESTION_CHARS,
    MOST_QUESTIONS,
    MOST_REASON_CHARS,
    MOST_TEXT_CHARS,
    CorrectionRequest,
)
from wenyuan.wire.contract import Text
from wenyuan.wire.search import Strict
from wenyuan.wire.search_requests import checked
from wenyuan.wire.strict_json import MAX_INTEGER


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
