"""Between the processes that serve a library together: what is not for each of them is passed on to the first."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import AsyncIterator, Collection, Iterator
from typing import Any

import httpx2
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wenyuan.runtime.surplus_replies import refuse_surplus
from wenyuan.server.problems import Problem
from wenyuan.server.refusals import refusal
from wenyuan.server.request_body import ClientGone

log = logging.getLogger(__name__)

_CALLER = b"x-wenyuan-caller"  # between our own processes: the address of who has asked
_OF_A_CONNECTION = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", b"te", b"trailer"))
_TO_CONNECT = 5.0  # seconds
_MOST_CONNECTIONS = 256


def patterns_of(paths: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Paths of routes (``/v1/documents/{id}``), for `is_among`."""
    return tuple(tuple(path.strip("/").split("/")) for path in paths)


def is_among(path: str, patterns: Collection[tuple[str, ...]]) -> bool:
    """Whether a path is one of these."""
    given = path.strip("/").split("/")
    return any(
        len(given) == len(pattern)
        and all(named.startswith("{") or named == part for named, part in zip(pattern, given, strict=True))
        for pattern in patterns
    )


class Forwarding:
    """The application of a process that is not the first: it answers some paths itself and passes on all others.

    Args:
        app: Answers.
        own: Paths of the routes that are answered here.
        door: The socket of the first process.
    """

    def __init__(self, app: ASGIApp, own: Collection[str], door: str) -> None:
        self._app, self._own = app, patterns_of(own)
        limits = httpx2.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=16, keepalive_expiry=5.0)
        refuse_surplus()
        self._client = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(uds=door, limits=limits),
            timeout=httpx2.Timeout(None, connect=_TO_CONNECT, pool=_TO_CONNECT),
            trust_env=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_among(scope["path"], self._own):
            await self._app(scope, receive, send)
            return
        begun = False

        async def tell(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._pass_on(scope, receive, tell)
        except ClientGone:
            log.info("the client hung up")
        except httpx2.HTTPError as error:
            log.warning("the first serving process does not answer: %s: %s", type(error).__name__, error)
            if begun:
                raise  # the connection is cut, which no one can misread
            problem = Problem(
                503, "starting", "the process that answers this is being started anew", headers={"Retry-After": "2"}
            )
            headers = Headers(scope=scope)
            response = refusal(problem, headers.get("x-request-id") or uuid.uuid4().hex, scope["path"], headers)
            await response(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = scope["headers"]
        headers = [(name, value) for name, value in given if name not in _OF_A_CONNECTION and name != _CALLER]
        headers.append((_CALLER, json.dumps(scope["client"]).encode()))
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        request = httpx2.Request(
            scope["method"],
            httpx2.URL("http://first", raw_path=scope["raw_path"] + query),
            headers=headers,
            content=_body(receive)
            if any(name in (b"content-length", b"transfer-encoding") for name, _ in given)
            else b"",
        )
        if not any(name == b"host" for name, _ in given):
            del request.headers["host"]
        answer = await self._client.send(request, stream=True)
        try:
            kept = [(name, value) for name, value in _lower(answer) if name not in _OF_A_CONNECTION]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": kept})
            async for chunk in answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            await answer.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _lower(answer: httpx2.Response) -> Iterator[tuple[bytes, bytes]]:
    return ((name.lower(), value) for name, value in answer.headers.raw)


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    """The body of a request as it comes; ClientGone where the client hangs up."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        yield message.get("body", b"")
        more = message.get("more_body", False)


def received(app: ASGIApp) -> ASGIApp:
    """The application of the first process: what comes from another one has the address of who had asked that one.

    Requests of other processes come by the socket in their folder, and alone have no address of their own.
    """

    async def front(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            told: dict[str, Any] = {}
            if not scope.get("client"):
                said = dict(scope["headers"]).get(_CALLER, b"null")
                caller = json.loads(said)
                told["client"] = None if caller is None else tuple(caller)
            told["headers"] = [(name, value) for name, value in scope["headers"] if name != _CALLER]
            scope = {**scope, **told}
        await app(scope, receive, send)

    return front
