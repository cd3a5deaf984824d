"""The JSON shapes of erasures and holds (``/v1/erasures``, ``/v1/holds``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.erasure import ErasureKind
from wenyuan.core.redaction.erased_values import LONGEST, MOST

_Value = Annotated[str, Field(max_length=4 * LONGEST)]
MOST_REASON = 1_000


class ErasureTargetShape(BaseModel):
    """What is to be erased, or held."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: ErasureKind
    values: list[_Value] = Field([], max_length=MOST, description="Of a person: names and numbers, in any form.")
    stays: list[_Value] = Field(
        [], max_length=MOST, alias="except", description="What stays, though one of the values is a part of it."
    )
    documents: bool = Field(False, description="Of a person: whole documents, and not only the values in them.")
    document_id: int | None = Field(None, ge=1, description="Of a document: its number; or source_id and uri.")
    source_id: str = Field("", max_length=200, description="Of a source; or of a document that is named by its uri.")
    uri: str = Field("", max_length=8_000, description="Of a document: its address.")


class ErasureShape(ErasureTargetShape):
    """An erasure that is to be done."""

    reference: str = Field("", max_length=MOST_REASON, description="What you call the request for it.")
    common: bool = Field(
        False, description="Erase also what stands in so many passages that it is probably a common word."
    )
    confirm: bool = Field(False, description="Must be true: nothing that is erased comes back.")


class HoldShape(ErasureTargetShape):
    """A hold that is to be set."""

    reason: str = Field(min_length=1, max_length=MOST_REASON)


class ErasureCheckShape(BaseModel):
    """What a certificate is checked against."""

    model_config = ConfigDict(extra="forbid", strict=True)

    values: list[_Value] = Field([], max_length=MOST, description="What is said to have been erased.")


class ErasureNothingShape(BaseModel):
    """No more is said."""

    model_config = ConfigDict(extra="forbid", strict=True)
