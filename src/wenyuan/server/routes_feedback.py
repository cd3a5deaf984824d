"""Feedback: what callers say of answers that they were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.agents import Principal
from wenyuan.core.errors import NotPermitted
from wenyuan.server.access import Handler
from wenyuan.server.desk import Desk, json_response, missing
from wenyuan.service.facade import Library
from wenyuan.wire.feedback import FeedbackAnswerShape, FeedbackRequestShape
from wenyuan.wire.governed import checked

__all__ = ["FEEDBACK_DESCRIBED", "Feedback"]


class Feedback:
    """``/v1/feedback``."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {("POST", "/v1/feedback"): self.give}

    async def give(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        return await self._desk.work(request, lambda body: self._give(body, principal))

    def _give(self, body: object, principal: Principal) -> Response:
        said = checked(FeedbackRequestShape, body)
        try:
            kept = self._library.give_feedback(said.audit_id, good=said.good, bad=said.bad, principal=principal)
        except NotPermitted as error:  # of others, or of nobody: told alike
            raise missing("answer") from error
        return json_response({"audit_id": said.audit_id, "kept": dict(kept)})


FEEDBACK_DESCRIBED: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("POST", "/v1/feedback"): {
        "summary": "Which parts of an answer are right or wrong",
        "answer": FeedbackAnswerShape.model_json_schema(),
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": FeedbackRequestShape.model_json_schema()}},
        },
    },
}
"""What the OpenAPI document says of the route."""
