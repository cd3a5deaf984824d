"""HTTP/1.1 below the application: bytes that are no request, and requests that never come."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from wenyuan.server.problems import PROBLEM_JSON, problem_body
from wenyuan.wire.contract import encode

HEAD_TIMEOUT = 10.0
"""Seconds in which the head of a request must arrive once it, or its connection, has begun."""

_LINGER = 1.0
"""Seconds in which a client that still sends can read why it was refused; closing at once would reset it."""


_MOST_HEAD = 65_536
"""Bytes of a request line and its headers, however they are cut into packets."""


class StrictConnection(h11.Connection):
    """h11's view of a connection, which also refuses what another server on the way may read otherwise.

    That is a body with a length and in chunks (RFC 9112, 6.3), and another version than HTTP/1; and heads that are too long.
    """

    def next_event(self) -> Any:
        """As h11's; RemoteProtocolError for a request that is refused."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            size = len(event.target) + sum(len(name) + len(value) + 4 for name, value in event.headers)
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("a length and chunks")
            if event.http_version not in (b"1.0", b"1.1"):
                raise h11.RemoteProtocolError("another version", error_status_hint=505)
            if size > _MOST_HEAD:
                raise h11.RemoteProtocolError("the head is too long", error_status_hint=431)
        return event


class StrictProtocol(H11Protocol):
    """uvicorn's protocol, with a time limit on request heads and problem documents for invalid HTTP."""

    head_timeout = HEAD_TIMEOUT
    _head_timer: asyncio.TimerHandle | None = None
    _refused = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = StrictConnection(h11.SERVER, _MOST_HEAD)
        # uvicorn writes its access log, with the query string, to any handler that the root logger has.
        self.access_log = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        # IDLE: the client has sent no complete head yet. Between requests uvicorn's keep-alive timer rules,
        # which it drops as soon as the first byte of the next head is there.
        if self._refused or self.conn.their_state is not h11.IDLE or self.timeout_keep_alive_task is not None:
            self._unwatch()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self._give_up)

    def _unwatch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP/1.1 with a problem document; called by uvicorn, whose own answer is plain
        text.
        """
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # an answer is under way: only cut it off
            self.transport.close()
            return
        request_id = uuid.uuid4().hex
        body = encode(problem_body(400, "invalid_http", "this is not a valid HTTP/1.1 request", request_id))
        headers = [
            (b"content-type", PROBLEM_JSON.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        self.transport.write_eof()
        self.loop.call_later(_LINGER, self.transport.close)
