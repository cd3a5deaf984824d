"""The language model over HTTP: what is set up, and a test question. For administrators."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import Strict
from wenyuan.contract.fields import Text
from wenyuan.server.handling import RequestHandler, json_response
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.registry import operator
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library

_TEXT, _COUNT, _NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


class ModelTrialShape(Strict):
    """A test question, to which nothing of the library is shown."""

    question: Text


class ModelRoutes:
    """``/v1/model``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/model",
        "admin",
        storage_operation(
            "The language model that is set up, and how much of the day's tokens is used",
            object_of(
                address=_TEXT, model=_TEXT, timeout=_NUMBER, max_sensitivity=_TEXT, tokens_a_day=_COUNT,
                used_today=_COUNT, calls={"type": "object", "additionalProperties": _COUNT},
            ),
        ),
    )  # fmt: skip
    async def show(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(lambda: json_response(asdict(self._library.model_desk.setup())))

    @route(
        "POST",
        "/v1/model",
        "admin",
        storage_operation(
            "Ask the language model a test question; it counts as any other",
            object_of(answer=_TEXT, ms=_NUMBER, tokens_in=_COUNT, tokens_out=_COUNT, cost=_NUMBER),
            body=ModelTrialShape,
        ),
    )
    async def ask(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.work(request, self._asked)

    def _asked(self, body: object) -> Response:
        return json_response(asdict(self._library.model_desk.ask(checked(ModelTrialShape, body).question)))
