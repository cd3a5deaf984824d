"""A connection on which more came than was asked for is closed: the rest would be taken for the answer to the next question.

httpcore2 keeps what it has read beyond a response and reads the next response from it. A proxy that answers once too often
would shift all answers by one: another text's vector, another caller's passages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from httpcore2._async.http11 import AsyncHTTP11Connection
from httpcore2._sync.http11 import HTTP11Connection


def _surplus(connection: Any) -> bool:
    return bool(connection._h11_state.trailing_data[0])


def _strict(closed: Callable[[Any], None]) -> Callable[[Any], None]:
    def response_closed(connection: HTTP11Connection) -> None:
        if _surplus(connection):
            connection.close()
        else:
            closed(connection)

    return response_closed


def _strict_async(closed: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
    async def response_closed(connection: AsyncHTTP11Connection) -> None:
        if _surplus(connection):
            await connection.aclose()
        else:
            await closed(connection)

    return response_closed


_CLOSED = _strict(HTTP11Connection._response_closed)
_CLOSED_ASYNC = _strict_async(AsyncHTTP11Connection._response_closed)


def refuse_surplus() -> None:
    """From now on no connection of this process is used again on which more has come than one response."""
    for kind, closed in ((HTTP11Connection, _CLOSED), (AsyncHTTP11Connection, _CLOSED_ASYNC)):
        kind._response_closed = closed  # type: ignore[method-assign, assignment]
