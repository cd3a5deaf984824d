"""Calls of the HTTP API from within the process: the console's only way to the library.

Each call goes through everything that a call from outside goes through, with the key of whoever is signed in: rights,
limits, counting, audit. So no page can show or do what its reader could not ask for with curl.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive

from wenyuan.core.errors import TRANSLATABLE, received
from wenyuan.server.on_behalf_of import ON_BEHALF_OF
from wenyuan.server.problems import PROBLEM_JSON
from wenyuan.server.remote_callers import ELSEWHERE

_STATUS = "x-retrieval-status"


@dataclass(frozen=True, slots=True)
class ApiReply:
    """A response of the API."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def said(self) -> str:
        """``SUCCESS`` or ``FAILED`` where the response answers a question, else ``""``."""
        return self.headers.get(_STATUS, "")

    @property
    def value(self) -> Any:
        """The body as JSON; ValueError when it is none."""
        return json.loads(self.body)


class Refused(Exception):
    """The API responded with a problem document."""

    def __init__(self, reply: ApiReply) -> None:
        problem = reply.value
        detail = received(problem["detail"], problem.get(TRANSLATABLE))
        super().__init__(detail)
        self.status: int = problem["status"]
        self.code: str = problem["code"]
        self.detail: str = detail
        self.request_id: str = problem["request_id"]
        self.faults: Mapping[str, str] = {
            fault["path"]: received(fault["message"], fault.get(TRANSLATABLE)) for fault in problem["errors"]
        }


class Api:
    """Calls the server's own ASGI application directly, without a network.

    Args:
        app: The whole application, the layer that checks keys included.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def call(  # noqa: PLR0913  (what a request is made of, each by name)
        self,
        method: str,
        segments: Iterable[str],
        *,
        host: str,
        remote: bool = False,
        token: str = "",
        query: Mapping[str, object] | None = None,
        body: object = None,
        form: Request | None = None,
        seen: str = "",
        on_behalf_of: str = "",
    ) -> ApiReply:
        """The response to one request.

        Args:
            segments: Of the path; one that is empty or has a slash in it leads nowhere, so that no id can name
                another route.
            host: What the caller's own request had as Host: the API refuses foreign ones.
            remote: Whether the caller is on another machine.
            token: The key to ask with; ``""`` for none.
            body: A JSON value; None for no body.
            form: A request whose body is handed on as it comes.
            seen: The version that the caller has seen of what is changed; another one is refused.
            on_behalf_of: Whom it asks for, see `server.on_behalf_of`; ``""`` for nobody else.

        Raises:
            Refused: a problem document. An answer that says FAILED is returned.
        """
        names = tuple(segments)
        if not all(names) or any("/" in name for name in names):
            raise Refused(_nowhere())
        content = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        headers = [(b"host", host.encode("latin-1", "replace"))]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode("latin-1", "replace")))
        if seen:
            headers.append((b"if-match", seen.encode("latin-1", "replace")))
        if on_behalf_of:
            headers.append((ON_BEHALF_OF.lower().encode(), quote(on_behalf_of, safe=":@,").encode()))
        if body is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        if form is not None:
            told = ("content-type", "content-length", "transfer-encoding")
            headers += [
                (name.encode(), form.headers[name].encode("latin-1")) for name in told if name in form.headers
            ]
        sent = content if form is None else form.receive
        reply = await self._asked(method, names, headers, query or {}, sent, remote=remote)
        if reply.headers.get("content-type") == PROBLEM_JSON:
            raise Refused(reply)
        return reply

    async def _asked(
        self,
        method: str,
        names: tuple[str, ...],
        headers: list[tuple[bytes, bytes]],
        query: Mapping[str, object],
        content: bytes | Receive,
        *,
        remote: bool,
    ) -> ApiReply:
        path = "/" + "/".join(names)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": quote(path).encode(),
            "root_path": "",
            "query_string": urlencode({n: v for n, v in query.items() if v not in (None, "")}).encode(),
            "headers": headers,
            "client": None,
            ELSEWHERE: remote,
            "server": None,
        }
        parts: list[bytes] = []
        begun: dict[str, Any] = {}

        sent: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

        async def at_once() -> Message:
            if not sent:  # receive never reports a disconnect, since this call has no connection
                await asyncio.get_running_loop().create_future()
            return sent.pop()

        receive = at_once if isinstance(content, bytes) else content

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                begun.update(message)
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        told = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in begun["headers"]}
        return ApiReply(begun["status"], told, b"".join(parts))


def _nowhere() -> ApiReply:
    problem = {
        "status": 404,
        "code": "not_found",
        "detail": "there is nothing at this path",
        "errors": [],
        "request_id": "",
    }
    return ApiReply(404, {}, json.dumps(problem).encode())
