"""OpenAI's vector stores: ``GET /v1/vector_stores`` and ``POST /v1/vector_stores/{vector_store_id}/search``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.agents import Principal
from wenyuan.server.access import Handler
from wenyuan.server.desk import Desk, Told, json_response
from wenyuan.server.routes_audit import queried
from wenyuan.service.doors import EVERYTHING
from wenyuan.wire.vector_stores import (
    Store,
    StoresQueryShape,
    store_from_wire,
    store_to_wire,
    stores_to_wire,
)

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["Stores"]


class Stores:
    """Every knowledge domain is a vector store; ``all`` is the library."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk
        self.handlers: Mapping[tuple[str, str], Handler] = {
            ("GET", "/v1/vector_stores"): self.list,
            ("POST", "/v1/vector_stores/{vector_store_id}/search"): self.search,
        }

    async def list(self, request: Request) -> Response:
        asked = queried(request, StoresQueryShape)
        principal = request.state.principal
        return await self._desk.pool.run(lambda: json_response(stores_to_wire(self._stores(principal), asked)))

    def _stores(self, principal: Principal) -> Sequence[Store]:
        """Those of which the caller may read a source today, ``all`` among them."""
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

    async def search(self, request: Request) -> Response:
        principal = request.state.principal
        store = request.path_params["vector_store_id"]

        def answer(body: object) -> Told:
            asked = store_from_wire(body, store)
            given = [self._library.fragments(wanted, principal) for wanted in asked]
            degraded = dict.fromkeys(name for one in given for name in one.degraded)
            return Told(store_to_wire(asked, given), tuple(degraded))

        return await self._desk.tell(request, answer)
