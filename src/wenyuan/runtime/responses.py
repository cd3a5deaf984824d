"""Reading a response completely or not at all, and the errors for a missing one."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

import httpcore2
import httpx2

from wenyuan.core.errors import KnowledgeError, msg
from wenyuan.core.ports import time_left
from wenyuan.runtime.bounded_calls import CallTimedOut

CORE_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    httpcore2.ConnectionNotAvailable,
)
"""Every exception of httpcore2 descends from one of these (a test enumerates them)."""


class TooLarge(Exception):
    """A response exceeds the size limit."""


def read_whole(blocks: Iterable[bytes], most: int, *, cut: bool = False) -> bytes:
    """The body of a response, bounded in decompressed size and time.

    Args:
        cut: Of a larger body its first `most` bytes are given; the rest is not read.

    Raises:
        TooLarge: it has more than `most` bytes, and is not cut.
        TooLate: the deadline of this thread passed (see `until`).
    """
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > most:
            if cut:
                return bytes(content[:most])
            raise TooLarge
        if time_left() == 0:
            raise CallTimedOut
    return bytes(content)


def no_answer(
    error: Exception, component: str, unavailable: type[KnowledgeError], late: type[KnowledgeError], who: str
) -> KnowledgeError:
    """The error for an exception of httpx2 or httpcore2. Its text may contain what was sent, so only its type is
    used.

    Args:
        unavailable, late: The error classes to return.
        who: Was asked: ``server``, ``service``.
    """
    if isinstance(error, (httpx2.TimeoutException, httpcore2.TimeoutException)):
        return late("no answer in time", component=component)
    if isinstance(error, (httpx2.ConnectError, httpcore2.ConnectError)):
        if any(isinstance(reason, ssl.SSLError) for reason in error.args):
            told = "no secure connection: its certificate or protocol is refused"
            return unavailable(told, component=component)
        hint = msg("is the {who} running, and is its address right?", who=who)
        return unavailable("cannot be reached", component=component, hint=hint)
    return unavailable(msg("the connection failed ({kind})", kind=type(error).__name__), component=component)
