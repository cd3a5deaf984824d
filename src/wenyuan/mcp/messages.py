"""Messages as the other doors read JSON: what is none, or could be read in two ways, is refused and never guessed at.

The protocol's own library drops a line that it cannot parse without a word, and whoever sent it waits for ever. It
takes ``NaN``, repeated keys and NUL, too, which the published schemas forbid.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from wenyuan.core.errors import InvalidRequest
from wenyuan.wire import strict_json

_ID = re.compile(r'"id"\s*:\s*(-?\d{1,15}|"[^"\\]{1,100}")\s*[,}]')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)  # one without an end is looked at once
_IDS_TRIED = 4
_log = logging.getLogger("wenyuan.mcp")


def refusal(text: bytes) -> JSONRPCError | None:
    """The error response to invalid JSON-RPC, with the request's id if one can be found; None for a valid message."""
    try:
        value = strict_json.loads(text)
    except InvalidRequest as error:
        return _messages_error(PARSE_ERROR, f"Parse error: {error.message}", text)
    try:
        jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _messages_error(INVALID_REQUEST, "Invalid request: the body is no JSON-RPC message", text)
    return None


def wants_answer(text: bytes) -> bool:
    """Whether the sender may wait for a response: not for notifications and responses."""
    envelope = _envelope(text)
    if envelope is None:
        return True
    return "id" in envelope if "method" in envelope else not {"result", "error"} & set(envelope)


def _messages_error(code: int, message: str, text: bytes) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=_id(text), error=ErrorData(code=code, message=message))


def _envelope(text: bytes) -> dict[str, Any] | None:
    """Leniently parsed content of a refused message, used only for its id."""
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _id(text: bytes) -> str | int | None:
    envelope = _envelope(text)
    if envelope is not None:
        value = envelope.get("id")
        known = type(value) is int or (isinstance(value, str) and value.isprintable())
        return value if known else None
    whole = text.decode("utf-8", "replace")
    for found in islice(_ID.finditer(whole), _IDS_TRIED):
        before = _STRING.sub("", whole[: found.start()])
        if before.count("{") - before.count("}") == 1 and before.count("[") == before.count("]"):
            own: str | int = json.loads(found[1])  # a member of the message itself, not of its arguments
            return own
    return None


class InputLines:
    """Input lines for the protocol library. Invalid messages are answered here and left out.

    Attributes:
        answer: Sends a message to the other side.
    """

    def __init__(self, stream: anyio.AsyncFile[bytes]) -> None:
        self._stream = stream
        self.answer: Callable[[SessionMessage], Awaitable[None]] | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._stream:
            refused = refusal(line) if line.strip() else None
            if refused is None:
                yield line.decode("utf-8", "replace")
            elif wants_answer(line) and self.answer is not None:
                await self.answer(SessionMessage(refused))
            else:
                _log.warning("a message was refused that nobody waits for: %s", refused.error.message)


@contextmanager
def standard_input() -> Iterator[BinaryIO]:
    """Standard input, protected from other readers in this process and from child processes."""
    try:
        ours = sys.stdin.fileno() == 0
    except (OSError, ValueError):
        ours = False
    if not ours:
        yield sys.stdin.buffer
        return
    kept, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        yield os.fdopen(kept, "rb", closefd=False)  # a thread may still read it when this ends
    finally:
        os.dup2(kept, 0)
