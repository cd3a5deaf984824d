"""The JSON shapes of what rests on something (``/v1/impact``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from wenyuan.contract.bodies import QueryString
from wenyuan.core.impact import DAYS, MOST_DAYS, MOST_SECONDS


class ImpactShape(BaseModel):
    """What is asked about, how far back, and how long questions are asked again."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    target: Annotated[
        str,
        Field(
            min_length=1, max_length=2_000,
            description="A document by its number or address, a passage as `policies#57`, or a rule as `rule-12`.",
        ),
    ]  # fmt: skip
    days: Annotated[float, Field(gt=0, le=MOST_DAYS, description="How far back.")] = DAYS
    seconds: Annotated[float, Field(gt=0, le=MOST_SECONDS, description="Time for asking questions again.")] = 60.0


class ReportPageShape(QueryString):
    """Which of the answers of a report are wanted."""

    after: Annotated[int, Field(ge=0, le=100_000)] = Field(0, description="`next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=200)] = 50
