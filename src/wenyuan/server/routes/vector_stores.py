"""OpenAI's vector stores: ``GET /v1/vector_stores`` and ``POST /v1/vector_stores/{vector_store_id}/search``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.server.handling import ProtocolReply, RequestHandler, json_response
from wenyuan.server.openapi import foreign
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.service.fragment_search import EVERYTHING
from wenyuan.wire.vector_stores import (
    Store,
    StoreErrorShape,
    StoreListShape,
    StorePageShape,
    StoreRequestShape,
    StoresQueryShape,
    store_from_wire,
    store_to_wire,
    stores_to_wire,
)

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_STORES = foreign(
    "list_vector_stores",
    "OpenAI's list of vector stores",
    None,
    StoreListShape,
    StoreErrorShape,
    query=StoresQueryShape,
)
_STORE_SEARCH = foreign(
    "search_vector_store", "OpenAI's vector-store search", StoreRequestShape, StorePageShape, StoreErrorShape
)


class Stores:
    """OpenAI's vector stores: every knowledge domain is a store; ``all`` is the whole library."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route("GET", "/v1/vector_stores", "retrieve", _STORES)
    async def list(self, request: Request) -> Response:
        asked = queried(request, StoresQueryShape)
        principal = request.state.principal
        return await self._handler.pool.run(lambda: json_response(stores_to_wire(self._stores(principal), asked)))

    def _stores(self, principal: Principal) -> Sequence[Store]:
        """The stores with a source that the caller may read today, ``all`` among them."""
        held: dict[str, dict[str, None]] = {}
        for name, source in self._library.readable_sources(principal).items():
            held.setdefault(source.domain, {})[name] = None
            held.setdefault(EVERYTHING, {})
        every = [name for names in held.values() for name in names]
        # A source may have the name of all for its domain; then that domain is what the name stands for.
        sources = {domain: list(names) or every for domain, names in held.items()}
        since, counts = self._library.catalog.registered_at(), self._library.catalog.counts_by_source()
        return [
            Store(
                name=domain,
                created_at=min(since.get(name, 0.0) for name in names),
                documents=sum(counts.get(name, {}).get("documents", 0) for name in names),
                failures=sum(counts.get(name, {}).get("failures", 0) for name in names),
            )
            for domain, names in sources.items()
        ]

    @route("POST", "/v1/vector_stores/{vector_store_id}/search", "retrieve", _STORE_SEARCH)
    async def search(self, request: Request) -> Response:
        principal = request.state.principal
        store = request.path_params["vector_store_id"]

        def answer(body: object) -> ProtocolReply:
            asked = store_from_wire(body, store)
            given = [self._library.fragments(wanted, principal) for wanted in asked]
            degraded = dict.fromkeys(name for one in given for name in one.degraded)
            return ProtocolReply(store_to_wire(asked, given), tuple(degraded))

        return await self._handler.tell(request, answer)
