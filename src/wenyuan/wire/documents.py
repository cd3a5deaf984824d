"""The parameters of ``/v1/documents``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.model import DocumentState
from wenyuan.service.documents import MOST_LISTED
from wenyuan.wire import Text
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
