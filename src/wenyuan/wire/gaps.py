"""The JSON shapes of questions that were not answered well (``/v1/gaps``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.gaps import DAYS, MOST_DAYS, MOST_NOTE, GapState


class GapsQueryShape(BaseModel):
    """How far back is looked, and whose questions are wanted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    days: Annotated[float, Field(gt=0, le=MOST_DAYS, description="How far back.")] = DAYS
    agent: str | None = Field(None, description="Only what this agent asked.")
    state: GapState | None = Field(None, description="Only gaps in this state; all without it.")


class GapDecisionShape(BaseModel):
    """What is decided about a gap."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    state: GapState = Field(description="`open` takes a decision back.")
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""
    days: Annotated[float, Field(gt=0, le=MOST_DAYS, description="How far back the gap is looked for.")] = DAYS
    decided_at: float | None = Field(
        None,
        description="`at` of the decision that the caller has seen; without it, none. Another one is a conflict.",
    )
    again: bool = Field(False, description="Decide also where somebody has decided something else.")


class GapsAskShape(BaseModel):
    """Which open gaps are asked again."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    days: Annotated[float, Field(gt=0, le=MOST_DAYS, description="Those asked within so many days.")] = DAYS
