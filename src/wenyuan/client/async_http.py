"""What `AsyncClient` needs of HTTP: names and meanings as in `wenyuan.runtime.responses`, for calls that are awaited."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2

from wenyuan.core.ports import Deadline
from wenyuan.runtime.bounded_calls import CallTimedOut
from wenyuan.runtime.responses import TooLarge
from wenyuan.runtime.surplus_replies import refuse_surplus

__all__ = ["TooLarge", "punctual", "read_whole", "until"]


def punctual(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """The client as it is: `until` cancels whatever it waits for."""
    refuse_surplus()
    return client


@asynccontextmanager
async def until(deadline: Deadline) -> AsyncIterator[None]:
    """Cancel what is done within when the deadline passes.

    Raises:
        CallTimedOut: it passed.
    """
    with anyio.move_on_after(max(deadline.remaining(), 0.0)) as scope:
        yield
    if scope.cancelled_caught:
        raise CallTimedOut


async def read_whole(blocks: AsyncIterable[bytes], most: int) -> bytes:
    """The body of a response.

    Raises:
        TooLarge: it has more than `most` bytes.
    """
    content = bytearray()
    async for block in blocks:
        content += block
        if len(content) > most:
            raise TooLarge
    return bytes(content)
