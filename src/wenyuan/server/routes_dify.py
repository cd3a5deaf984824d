"""Dify's External Knowledge API: ``POST /retrieval``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.server.access import Handler
from wenyuan.server.desk import Desk, Told
from wenyuan.server.dialects import DIFY
from wenyuan.server.problem import Problem
from wenyuan.wire.dify import dify_failure, dify_from_wire, dify_to_wire

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["Dify"]


class Dify:
    """Answers Dify; a failure is an error, unless the server is set to say it in a record."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {("POST", DIFY): self.retrieval}

    async def retrieval(self, request: Request) -> Response:
        principal = request.state.principal

        def answer(body: object) -> Told:
            given = self._library.fragments(dify_from_wire(body), principal)
            return Told(dify_to_wire(given), given.degraded)

        try:
            return await self._desk.tell(request, answer)
        except Problem as problem:
            if problem.status < 500 or not self._desk.settings.dify_failure_record:
                raise
            return self._desk.told(dify_failure(problem.detail), "FAILED")
