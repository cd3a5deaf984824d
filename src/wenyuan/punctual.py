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

from wenyuan.core.hurry import time_left, until

__all__ = ["Timed", "punctual", "seconds_left", "until"]

_LONGEST_STEP = 60.0
"""Seconds of a step that has neither a timeout nor a deadline."""


def seconds_left(timeout: float | None, late: type[Exception]) -> float:
    """How long one step may take: its own timeout or what is left until the deadline; raises `late` for nothing."""
    given = (timeout, time_left())
    left = min((seconds for seconds in given if seconds is not None), default=_LONGEST_STEP)
    if left <= 0:
        raise late("the deadline passed")
    return left


def punctual(client: httpx2.Client) -> httpx2.Client:
    """The client, whose connections are timed from now on, those through proxies too.

    httpx2 takes no network backend, so that of its pools is wrapped where it lies.
    """
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = _Punctual(transport._pool._network_backend)
    return client


class _Punctual(httpcore2.NetworkBackend):
    """Connects as another backend does, to timed streams."""

    def __init__(self, backend: httpcore2.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
        return Timed(self._backend.connect_tcp(host, port, seconds, local_address, socket_options))


class Timed(httpcore2.NetworkStream):
    """A stream each of whose steps ends at the deadline of the thread that takes it."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, seconds_left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, seconds_left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = seconds_left(timeout, httpcore2.ConnectTimeout)
        return Timed(self._stream.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
