"""Connections that end when their time is up, however slowly bytes come.

The timeouts of an HTTP library are for one step on a socket. A server that sends a header every second, or one
``102 Processing`` after another, never breaks them, and holds its caller for as long as it likes.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

from wenyuan.core.ports import time_left
from wenyuan.runtime.surplus_replies import refuse_surplus

_LONGEST_STEP = 60.0
"""Seconds of a step that has neither a timeout nor a deadline."""


def seconds_left(timeout: float | None, late: type[Exception]) -> float:
    """Time-out of one step: its own, or the time left until the deadline if shorter; raises `late` when none is left."""
    given = (timeout, time_left())
    left = min((seconds for seconds in given if seconds is not None), default=_LONGEST_STEP)
    if left <= 0:
        raise late("the deadline passed")
    return left


def punctual(client: httpx2.Client, *, step: float | None = None) -> httpx2.Client:
    """The client with a deadline on all its connections, including those through proxies.

    Args:
        step: See `TimedStream`.

    httpx2 takes no network backend, so that of its pools is wrapped in place.
    """
    refuse_surplus()
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = _Punctual(transport._pool._network_backend, step)
    return client


class _Punctual(httpcore2.NetworkBackend):
    """A network backend that wraps another one's connections in `TimedStream`."""

    def __init__(self, backend: httpcore2.NetworkBackend, step: float | None) -> None:
        self._backend, self._step = backend, step

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
        return TimedStream(self._backend.connect_tcp(host, port, seconds, local_address, socket_options), self._step)


class TimedStream(httpcore2.NetworkStream):
    """A stream whose every step ends at the deadline of the calling thread.

    Args:
        step: Seconds after which a read looks at the deadline again, which may have come nearer; None: never.
    """

    def __init__(self, stream: httpcore2.NetworkStream, step: float | None = None) -> None:
        self._stream, self._step = stream, step

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            seconds = seconds_left(timeout, httpcore2.ReadTimeout)
            if self._step is None or seconds <= self._step:
                return self._stream.read(max_bytes, seconds)
            try:
                return self._stream.read(max_bytes, self._step)
            except httpcore2.ReadTimeout:
                timeout = None if timeout is None else timeout - self._step

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, seconds_left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
        return TimedStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._step)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
