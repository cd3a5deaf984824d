"""The Model Context Protocol over HTTP: ``POST /mcp``, stateless, for revision 2026-07-28 and older clients."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotPermitted
from wenyuan.server.handling import STATUS_HEADER, RequestHandler, json_response
from wenyuan.server.openapi import MCP
from wenyuan.server.problems import Problem
from wenyuan.server.route import route

if TYPE_CHECKING:
    from wenyuan.service.library import Library


class Mcp:
    """MCP over HTTP, stateless."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler
        self._server: Any = None

    @route("POST", "/mcp", "retrieve", MCP)
    async def exchange(self, request: Request) -> Response:
        if self._server is None:
            self._server = self._make()
        from wenyuan.mcp.exchange import Exchange
        from wenyuan.mcp.messages import refusal

        body = await self._handler.content(request)
        refused = await run_in_threadpool(refusal, body)
        if refused is not None:
            return json_response(refused.model_dump(by_alias=True, exclude_unset=True), 400)
        return Exchange(
            self._server, request, body, limit=self._handler.settings.max_body, status_header=STATUS_HEADER
        )

    def _make(self) -> Any:
        if find_spec("mcp") is None:
            raise Problem(
                501,
                "mcp_not_installed",
                "this server was installed without MCP; on its machine, `wenyuan mcp` says how to add it",
            )
        from wenyuan.mcp.server import make_server

        handler = self._handler
        return make_server(self._library, caller=_caller, run=handler.pool.run, waiting=handler.waiting.run)


def _caller(context: Any) -> Principal:
    """The principal of the HTTP request that carries an MCP request."""
    principal = context.request.state.principal
    if not isinstance(principal, Principal):
        raise NotPermitted("nobody is behind this request")
    return principal
