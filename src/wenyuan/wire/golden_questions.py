"""The JSON shape of a golden question that is kept (``/v1/evaluations/questions``)."""

from __future__ import annotations

from pydantic import Field

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Text
from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.wire.search_requests import checked


class GoldenQuestionShape(Strict):
    """A question and what answers it; or all whose answers somebody called right."""

    question: Text | None = Field(None, description="In the words in which it is asked.")
    answer: str = Field(
        "",
        max_length=4_000,
        description="The ref of a passage, or the address of a document or passage; empty: the library must not answer it.",
    )
    liked: bool = Field(False, description="Keep the questions of answers of which a passage was called right.")


def golden_question_from_wire(payload: object) -> GoldenQuestionShape:
    """Parse what is to be kept; InvalidRequest lists every fault."""
    body = checked(GoldenQuestionShape, payload)
    if (body.question is not None) == body.liked:
        message = "is required, or liked; one of them"
        raise InvalidRequest(msg("question {message}", message=message), faults=(Fault("question", message),))
    return body
