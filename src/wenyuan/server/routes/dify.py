"""Dify's External Knowledge API: ``POST /retrieval``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.server.handling import ProtocolReply, RequestHandler
from wenyuan.server.openapi import foreign
from wenyuan.server.problems import Problem
from wenyuan.server.refusals import DIFY
from wenyuan.server.route import route
from wenyuan.wire.dify import (
    DifyAnswerShape,
    DifyErrorShape,
    DifyRequestShape,
    dify_failure,
    dify_from_wire,
    dify_to_wire,
)

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_RETRIEVAL = foreign(
    "dify_retrieval", "Dify's External Knowledge API", DifyRequestShape, DifyAnswerShape, DifyErrorShape
)


class Dify:
    """Dify's External Knowledge API. A failure is an HTTP error, or a record where the settings say so."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route("POST", DIFY, "retrieve", _RETRIEVAL)
    async def retrieval(self, request: Request) -> Response:
        principal = request.state.principal

        def answer(body: object) -> ProtocolReply:
            given = self._library.fragments(dify_from_wire(body), principal)
            return ProtocolReply(dify_to_wire(given), given.degraded)

        try:
            return await self._handler.tell(request, answer)
        except Problem as problem:
            if problem.status < 500 or not self._handler.settings.dify_failure_record:
                raise
            return self._handler.told(dify_failure(problem.detail), "FAILED")
