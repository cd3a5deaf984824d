"""Settings of sources that are searched in place."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class SourceSettings(BaseModel):
    """Settings of every source that is searched in place.

    Attributes:
        timeout: Seconds that a question may take, when its deadline leaves more.
        required: Whether an answer without this source is a failure; the service reads it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    timeout: float = Field(default=10.0, gt=0, le=60)
    required: bool = True
