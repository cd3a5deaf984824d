"""The JSON shape of what is asked of an overview (``/v1/overview``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wenyuan.contract.bodies import QueryString
from wenyuan.service.overview import DAYS, MOST_DAYS


class OverviewQueryShape(QueryString):
    """Which days are counted."""

    days: Annotated[int, Field(ge=1, le=MOST_DAYS, description="How many, today included.")] = DAYS
    zone: str | None = Field(
        None,
        max_length=100,
        description="Time zone whose days are counted, `Asia/Shanghai`; without it the server's.",
    )
