"""What callers of other machines are answered: addresses under the service, and no paths of this machine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wenyuan.core.access import Principal
from wenyuan.server.request_origin import host_of, is_loopback, names_loopback
from wenyuan.service.file_addresses import FileAddresses, Known

ELSEWHERE = "elsewhere"
"""Member of a scope that says whether the caller is on another machine, where something in this process asks for it."""
_SEARCHED = re.compile(
    r"(?:application/(?:[a-z.]+\+)?json|application/x-ndjson|text/event-stream|text/plain)(?:;.*)?"
)
_STREAMED = ("application/x-ndjson", "text/event-stream")
_INWARD = "inward"


def is_elsewhere(scope: Scope) -> bool:
    """Whether a request comes from another machine: by its connection, by the name that it calls this one, or through a
    proxy that says for whom it asks.
    """
    if ELSEWHERE in scope:
        return bool(scope[ELSEWHERE])
    headers = Headers(scope=scope)
    peer = scope.get("client")
    if (peer is not None and not is_loopback(peer[0])) or "x-forwarded-for" in headers or "forwarded" in headers:
        return True
    host = headers.get("host", "")
    return bool(host) and not names_loopback(host)


def base_of(scope: Scope) -> str:
    """The service's address as the caller wrote it; ``""`` where its Host header names no host."""
    headers = Headers(scope=scope)
    host = headers.get("host", "")
    scheme = headers.get("x-forwarded-proto", scope.get("scheme", "http"))
    return f"{scheme if scheme == 'https' else 'http'}://{host}" if host_of(host) else ""


class RemoteAddresses:
    """ASGI middleware around all others: whatever is sent to another machine, problems and streams included, has addresses
    under the service. Files that are handed out stay as they are.

    Args:
        known: The addresses as of now; asked in a thread.
    """

    def __init__(self, app: ASGIApp, *, known: Known) -> None:
        self._app, self._known = app, known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_elsewhere(scope):
            await self._app(scope, receive, send)
            return
        known = await asyncio.to_thread(self._known)
        state = scope.setdefault("state", {})
        state[_INWARD] = (known, base_of(scope))
        await self._app(scope, receive, _Outward(send, known, base_of(scope), state))


class _Outward:
    """`send` of one request. What is no stream is kept until it is whole, since its length changes."""

    def __init__(self, send: Send, known: FileAddresses, base: str, state: MutableMapping[str, Any]) -> None:
        self._send, self._known, self._base, self._state = send, known, base, state
        self._start: Message | None = None
        self._kept = b""
        self._streamed = self._whole = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            kind = headers.get("content-type", "")
            if _SEARCHED.fullmatch(kind) and "content-disposition" not in headers:
                self._start, self._streamed = message, kind.partition(";")[0] in _STREAMED
                self._whole = kind.startswith("application/problem+json")
                if not self._streamed:
                    return
            await self._send(message)
        elif message["type"] != "http.response.body" or self._start is None:
            await self._send(message)
        else:
            await self._body(message, self._start)

    async def _body(self, message: Message, start: Message) -> None:
        self._kept += message.get("body", b"")
        last = not message.get("more_body", False)
        if self._streamed:
            whole, end, rest = (self._kept, b"", b"") if last else self._kept.rpartition(b"\n")
            self._kept = rest
            await self._send({**message, "body": self._replaced(whole + end)})
        elif last:
            body = self._replaced(self._kept)
            headers = MutableHeaders(raw=list(start["headers"]))
            if self._kept and "content-length" in headers:
                headers["content-length"] = str(len(body))
            await self._send({**start, "headers": headers.raw})
            await self._send({**message, "body": body})

    def _replaced(self, content: bytes) -> bytes:
        principal: Principal | None = self._state.get("principal")
        administers = principal is not None and principal.agent_id is None and principal.may("registry")
        return self._known.outward(content, self._base, whole=self._whole, paths=not administers)


def inward(state: Any, content: bytes) -> bytes:
    """The body of a request with addresses under the service as those of the files.

    Args:
        state: Of the request.
    """
    known: tuple[FileAddresses, str] | None = getattr(state, _INWARD, None)
    return content if known is None else known[0].inward(content, known[1])
