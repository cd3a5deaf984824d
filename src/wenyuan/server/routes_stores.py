"""OpenAI's vector-store search: ``POST /v1/vector_stores/{vector_store_id}/search``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.server.access import Handler
from wenyuan.server.desk import Desk, Told
from wenyuan.wire.vector_stores import store_from_wire, store_to_wire

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["Stores"]


class Stores:
    """Every knowledge domain is a vector store; ``all`` is the library."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {
            ("POST", "/v1/vector_stores/{vector_store_id}/search"): self.search
        }

    async def search(self, request: Request) -> Response:
        principal = request.state.principal
        store = request.path_params["vector_store_id"]

        def answer(body: object) -> Told:
            asked = store_from_wire(body, store)
            given = [self._library.fragments(wanted, principal) for wanted in asked]
            degraded = dict.fromkeys(name for one in given for name in one.degraded)
            return Told(store_to_wire(asked, given), tuple(degraded))

        return await self._desk.tell(request, answer)
