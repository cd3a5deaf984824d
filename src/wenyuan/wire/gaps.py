"""The JSON shapes of questions that were not answered well (``/v1/gaps``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.gaps import GapState


class GapsQueryShape(BaseModel):
    """How far back is looked, and whose questions are wanted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    days: Annotated[float, Field(gt=0, le=36_500, description="How far back.")] = 30.0
    agent: str | None = Field(None, description="Only what this agent asked.")
    state: GapState | None = Field(None, description="Only gaps in this state; all without it.")


class GapDecisionShape(BaseModel):
    """What is decided about a gap."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    state: GapState = Field(description="`open` takes a decision back.")
    note: Annotated[str, Field(max_length=1_000)] = ""
    days: Annotated[float, Field(gt=0, le=36_500, description="How far back the gap is looked for.")] = 30.0


class GapsAskShape(BaseModel):
    """Which open gaps are asked again."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    days: Annotated[float, Field(gt=0, le=36_500, description="Those asked within so many days.")] = 30.0
