"""JSON models of ``/v1/documents`` and ``/v1/corrections``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wenyuan.contract.bodies import QueryString, Strict
from wenyuan.contract.fields import MAX_INTEGER, Text
from wenyuan.core.document_choice import DocumentSort
from wenyuan.core.model import DocumentState
from wenyuan.service.documents import MOST_LISTED


class DocumentsQueryShape(QueryString):
    """Which documents are wanted, and which page of them."""

    source: Annotated[Text, Field(max_length=64)] | None = None
    state: DocumentState | None = None
    q: Annotated[Text, Field(max_length=500)] = Field("", description="What title or address must hold.")
    trust: Annotated[int, Field(ge=1, le=5)] = Field(
        1, description="Only of sources that are trusted so far at least."
    )
    owner: Annotated[Text, Field(max_length=500)] | None = Field(None, description="Only of sources of this owner.")
    kind: Annotated[Text, Field(max_length=100)] = Field(
        "", description="Ending of the name, `pdf`, or a media type."
    )
    fidelity_below: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Only what was read with a lower score."
    )
    read_since: float | None = Field(None, description="Seconds since the epoch.")
    read_until: float | None = Field(None, description="Seconds since the epoch, exclusive.")
    sort: DocumentSort = Field("address", description="What could not be read is listed by address alone.")
    after: Annotated[Text, Field(max_length=16_000)] = Field("", description="`next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 50


class MoveShape(Strict):
    """Where a document is to go."""

    to: Annotated[Text, Field(min_length=1, max_length=64, description="The id of a source of uploads.")]


class PassagesQueryShape(QueryString):
    """Which page of a document's passages is wanted: those behind the passage of a number."""

    after: Annotated[int, Field(ge=0, le=MAX_INTEGER)] = Field(0, description="`next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 50


class CorrectionsQueryShape(QueryString):
    """Whose corrections are wanted, and which page of them: those with ids below ``before``."""

    document_id: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    source: Annotated[Text, Field(max_length=64)] | None = None
    before: Annotated[int, Field(ge=1, le=MAX_INTEGER)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 50
