"""The body of a request: JSON, read once, within its bound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from wenyuan.core.errors import msg
from wenyuan.server.problems import Problem

# Reading a request body: counted, timed, and of the one media type that is understood.


_DISCARD_BYTES = 8 * 1024 * 1024
WAITING = 8  # threads of requests that wait for a language model
"""What is left of a refused body is read, up to this much, so that the client gets to read why."""


class ClientGone(Exception):
    """The client has closed the connection; no response can be sent."""


def _is_json(content_type: str) -> bool:
    media_type, *parameters = content_type.lower().split(";")
    pairs = [parameter.partition("=") for parameter in parameters]
    charsets = {value.strip().strip('"') for name, _, value in pairs if name.strip() == "charset"}
    return media_type.strip() == "application/json" and charsets <= {"utf-8", "utf8"}


def require_json(headers: Headers) -> None:
    """Refuse every body that does not declare itself as plain JSON in UTF-8.

    Raises:
        Problem: 415.
    """
    for coding in headers.getlist("content-encoding"):
        if coding.strip().lower() not in ("", "identity"):
            raise Problem(415, "unsupported_content_encoding", "the body must be sent without Content-Encoding")
    types = headers.getlist("content-type")
    if len(types) != 1 or not _is_json(types[0]):
        raise Problem(
            415, "unsupported_media_type", "Content-Type must be application/json, in UTF-8 if it names a charset"
        )


class Body:
    """The body of one request.

    Args:
        limit: Bytes that are accepted.
        timeout: Seconds, from the first reading on, in which the whole must have arrived.
    """

    def __init__(self, headers: Headers, receive: Receive, *, limit: int, timeout: float) -> None:
        self._receive = receive
        self._limit = limit
        self._timeout = timeout
        self._deadline: float | None = None
        length = headers.get("content-length", "")
        self._declared = int(length) if length.isascii() and length.isdecimal() else 0
        # With `Expect: 100-continue` the client sends nothing before it is asked to.
        self._waits = "expect" in headers
        self.finished = not self._declared and "transfer-encoding" not in headers

    async def receive(self) -> Message:
        """The ASGI `receive`, with limits on size and time."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._waits = False
            self.finished = not message.get("more_body", False)
        return message

    async def _chunk(self) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        return chunk

    def _remaining(self) -> float:
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._timeout
        return max(0.0, self._deadline - now)

    async def read(self) -> bytes:
        """The complete body.

        Raises:
            Problem: 413 if it is larger than the limit, 408 if it does not arrive in time.
            ClientGone: the client hung up.
        """
        if self._declared > self._limit:
            raise self._too_large()
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._remaining()):
                while not self.finished:
                    chunks.append(await self._chunk())
                    size += len(chunks[-1])
                    if size > self._limit:
                        raise self._too_large()
        except TimeoutError as error:
            late = msg("the body did not arrive within {seconds} seconds", seconds=f"{self._timeout:g}")
            raise Problem(408, "body_timeout", late) from error
        return b"".join(chunks)

    async def chunks(self, *, limit: int, pause: float) -> AsyncIterator[bytes]:
        """The body in chunks, for uploads too large to hold in memory.

        Args:
            limit: Bytes that are accepted, in the place of the usual ones.
            pause: Seconds for which nothing may come.

        Raises:
            Problem: 413 if it is larger than the limit, 408 if nothing comes any more.
            ClientGone: the client hung up.
        """
        self._limit = limit
        if self._declared > limit:
            raise self._too_large()
        size = 0
        while not self.finished:
            self._deadline = time.monotonic() + pause
            try:
                async with asyncio.timeout(pause):
                    chunk = await self._chunk()
            except TimeoutError as error:
                late = msg("nothing of the body arrived for {seconds} seconds", seconds=f"{pause:g}")
                raise Problem(408, "body_timeout", late) from error
            size += len(chunk)
            if size > limit:
                raise self._too_large()
            yield chunk

    def _too_large(self) -> Problem:
        return Problem(413, "body_too_large", msg("the body is larger than {limit} bytes", limit=self._limit))

    async def discard(self) -> bool:
        """Read the rest of the body, within limits; returns whether the connection can be reused.

        Raises:
            ClientGone: the client hung up.
        """
        bound = _DISCARD_BYTES
        if self._waits or self._declared > bound:
            return self.finished
        with suppress(TimeoutError):
            async with asyncio.timeout(self._remaining()):
                while not self.finished and bound > 0:
                    bound -= len(await self._chunk())
        return self.finished
