"""The JSON shapes of feedback (``/v1/feedback``)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Text
from wenyuan.service.learning.feedback import MAX_JUDGED

Parts = Annotated[list[Text], Field(max_length=MAX_JUDGED)]


class FeedbackRequestShape(Strict):
    """Which parts of an answer are right or wrong."""

    audit_id: Text = Field(description="Of the answer; fragments have it in their metadata.")
    good: Parts = Field(default_factory=list, description="Refs (`metadata.passage_id`) or addresses of fragments.")
    bad: Parts = Field(default_factory=list)


class FeedbackAnswerShape(BaseModel):
    """What was kept: by ref, whether it is right."""

    audit_id: str
    kept: dict[str, bool]
