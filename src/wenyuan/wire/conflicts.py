"""The JSON shapes of statements that contradict one another (``/v1/conflicts``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.conflicts.record import MOST_NOTE, ConflictState


class ConflictsQueryShape(BaseModel):
    """Which conflicts are wanted."""

    model_config = ConfigDict(extra="forbid")

    state: ConflictState | None = Field(None, description="Only those in this state; all without it.")
    source: str | None = Field(None, description="Only those with a statement of this source.")


class ConflictsFindShape(BaseModel):
    """What is compared."""

    model_config = ConfigDict(extra="forbid", strict=True)

    anew: bool = Field(False, description="Everything, and not only what is new since the last time.")


class ConflictDecisionShape(BaseModel):
    """Which of two statements holds."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    state: ConflictState = Field(description="`both`: they are about different things; `open` takes a decision back.")
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""
    decided_at: float | None = Field(
        None,
        description="`at` of the decision that the caller has seen; without it, none. Another one is a conflict.",
    )
    again: bool = Field(False, description="Decide also where somebody has decided something else.")
