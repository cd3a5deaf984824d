"""One MCP request over HTTP: read and answered completely, without a session.

The transport of the protocol's own library does the work. It is made anew for every exchange, so that the server needs
no session, no life cycle and no memory of its callers.
"""

from __future__ import annotations

import logging
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)  # it greets at every exchange


class Exchange(Response):
    """Answers a request whose body was already read.

    Args:
        limit: Bytes that a body may have.
        status_header: Name of the header that says FAILED where a tool did.
    """

    def __init__(self, server: Server[Any], request: Request, body: bytes, *, limit: int, status_header: str) -> None:
        super().__init__()
        self._server = server
        self._state = request.state
        self._content = body
        self._limit = limit
        self._status_header = status_header

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pending: list[Message] = [{"type": "http.request", "body": self._content, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        async def marked(message: Message) -> None:
            said = getattr(self._state, "retrieval_status", "")
            if message["type"] == "http.response.start" and said:
                MutableHeaders(scope=message)[self._status_header] = said
            await send(message)

        # Host and Origin were checked before; see `wenyuan.server`.
        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=self._limit
        )
        async with manager.run():
            await manager.handle_request(scope, replay, marked)
