"""The JSON shapes of questions that were not answered well (``/v1/gaps``)."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.gaps import DAYS, MOST_DAYS, MOST_NOTE, GapState
from wenyuan.core.principals import parse_access_list
from wenyuan.core.text.synonyms import MOST_CHARS
from wenyuan.service.gaps.answers import MOST_ANSWER, MOST_AUTHOR, GapAnswerRequest

_Day = Annotated[date | None, Field(strict=False)]


class GapsQueryShape(BaseModel):
    """How far back is looked, and whose questions are wanted."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    days: Annotated[float, Field(gt=0, le=MOST_DAYS, description="How far back.")] = DAYS
    agent: str | None = Field(None, description="Only what this agent asked.")
    state: GapState | None = Field(None, description="Only gaps in this state; all without it.")
    limit: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None,
        description="At most so many gaps, and as many failures; all without it. `total` and `failures` count all.",
    )


class _Settled(BaseModel):
    """What is said of a gap, and what of it the caller has seen."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    days: Annotated[float, Field(gt=0, le=MOST_DAYS, description="How far back the gap is looked for.")] = DAYS
    decided_at: float | None = Field(
        None,
        description="`at` of the decision that the caller has seen; without it, none. Another one is a conflict.",
    )
    again: bool = Field(False, description="Decide also where somebody has decided something else.")


class GapDecisionShape(_Settled):
    """What is decided about a gap."""

    state: GapState = Field(description="`open` takes a decision back.")
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""
    until: _Day = Field(None, description="Of `later`: the day on which it is open again.")


class GapAnswerShape(_Settled):
    """An answer that is written for a gap."""

    answer: Annotated[str, Field(min_length=1, max_length=MOST_ANSWER)]
    beside: Annotated[str, Field(max_length=64)] = Field(
        "",
        description="The source whose domain, sensitivity and owner it has; without it, that of what lies nearest.",
    )
    trust: Annotated[int, Field(ge=1, le=5)] | None = None
    author: Annotated[str, Field(max_length=MOST_AUTHOR)] = ""
    review_on: _Day = Field(None, description="The day on which somebody should look at it again.")
    readers: list[str] | None = Field(None, description="Who may read it; without it, whoever reads its source.")
    deny: list[str] | None = None

    def request(self) -> GapAnswerRequest:
        """What the service takes; InvalidRequest lists every fault."""
        lists = {name: value for name in ("readers", "deny") if (value := getattr(self, name)) is not None}
        return GapAnswerRequest(
            answer=self.answer, beside=self.beside, trust=self.trust, author=self.author, review_on=self.review_on,
            access=parse_access_list(lists) if lists else None, days=self.days, decided_at=self.decided_at,
            again=self.again,
        )  # fmt: skip


class GapPassageShape(_Settled):
    """The passage that has the answer to a gap."""

    ref: Annotated[str, Field(min_length=1, max_length=100, description="`policies#12`")]


class GapSynonymShape(_Settled):
    """A word of a gap, and what documents say for it."""

    term: Annotated[str, Field(min_length=1, max_length=MOST_CHARS)]
    synonym: Annotated[str, Field(min_length=1, max_length=MOST_CHARS)]


class GapsAskShape(BaseModel):
    """Which open gaps are asked again."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    days: Annotated[float, Field(gt=0, le=MOST_DAYS, description="Those asked within so many days.")] = DAYS
