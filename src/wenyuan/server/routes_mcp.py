"""The Model Context Protocol over HTTP: ``POST /mcp``, stateless, for revision 2026-07-28 and older clients."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.agents import Principal
from wenyuan.core.errors import NotPermitted
from wenyuan.server.access import Handler
from wenyuan.server.desk import STATUS_HEADER, Desk, json_response
from wenyuan.server.problem import Problem

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["Mcp"]


class Mcp:
    """Answers MCP clients, each request for itself."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk
        self._server: Any = None
        self.handlers: Mapping[tuple[str, str], Handler] = {("POST", "/mcp"): self.exchange}

    async def exchange(self, request: Request) -> Response:
        if self._server is None:
            self._server = self._make()
        from wenyuan.mcp.exchange import Exchange
        from wenyuan.mcp.messages import refusal

        body = await self._desk.content(request)
        refused = await run_in_threadpool(refusal, body)
        if refused is not None:
            return json_response(refused.model_dump(by_alias=True, exclude_unset=True), 400)
        return Exchange(self._server, request, body, limit=self._desk.settings.max_body, status_header=STATUS_HEADER)

    def _make(self) -> Any:
        if find_spec("mcp") is None:
            raise Problem(
                501,
                "mcp_not_installed",
                "this server was installed without MCP; on its machine, `wenyuan mcp` says how to add it",
            )
        from wenyuan.mcp.server import make_server

        return make_server(self._library, caller=_caller, run=self._desk.pool.run)


def _caller(context: Any) -> Principal:
    """Who was let in for the HTTP request behind an MCP request."""
    principal = context.request.state.principal
    if not isinstance(principal, Principal):
        raise NotPermitted("nobody is behind this request")
    return principal
