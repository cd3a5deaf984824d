"""Connections that a server cannot take, since the process has no file handle left for them, are refused with 503."""

from __future__ import annotations

import errno
import os
import socket
import time
import uuid
from contextlib import suppress

from wenyuan.core.errors import msg
from wenyuan.runtime.shortage import is_shortage, tell_shortage
from wenyuan.server.problems import PROBLEM_JSON, Problem, problem_body
from wenyuan.wire.contract import encode

_PATIENCE = (
    0.02  # seconds for a refused client's request to arrive: closing before it does would reset the connection
)
_PAUSE = 0.05  # seconds without accepting, where not even a refusal can be sent
_RETRY_AFTER = "1"


def short_of_handles() -> Problem:
    """503 for a request for which no file handle is left; at most one line of the log each minute."""
    tell_shortage()
    return Problem(
        503, "out_of_handles", msg("the server has no file handle left"), headers={"Retry-After": _RETRY_AFTER}
    )


class Listener(socket.socket):
    """A listening socket that keeps one handle in reserve, to refuse connections for which there is none.

    asyncio would leave them waiting, and try again for each place of the backlog, with a traceback for each try.
    """

    _spare = -1
    in_turn = False
    """Take one connection each time: others accept at this socket, too, and asyncio would take all that wait."""
    _taken = False

    def reserve(self) -> None:
        """Open the reserved handle, unless it is open."""
        if self._spare < 0:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def accept(self) -> tuple[socket.socket, object]:
        """A connection; BlockingIOError where there is none, or those that came were refused."""
        self.reserve()
        if self.in_turn and self._taken:
            self._taken = False
            raise BlockingIOError(errno.EAGAIN, "others have their turn")
        try:
            found = super().accept()
            self._taken = True
            return found
        except OSError as error:
            if not is_shortage(error):
                raise
        self._refuse()
        raise BlockingIOError(errno.EAGAIN, "no file handle is left")

    def close(self) -> None:
        spare, self._spare = self._spare, -1
        if spare >= 0:
            os.close(spare)
        super().close()

    def _refuse(self) -> None:
        problem = short_of_handles()
        spare, self._spare = self._spare, -1
        if spare >= 0:
            os.close(spare)
        try:
            connection, _ = super().accept()
        except OSError:
            time.sleep(_PAUSE)
        else:
            with connection, suppress(OSError):
                connection.settimeout(_PATIENCE)
                connection.sendall(_response(problem))
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1 << 16)
        self.reserve()


def _response(problem: Problem) -> bytes:
    request_id = uuid.uuid4().hex
    body = encode(problem_body(problem.status, problem.code, problem.detail, request_id))
    head = (
        f"HTTP/1.1 {problem.status} Service Unavailable\r\ncontent-type: {PROBLEM_JSON}\r\n"
        f"content-length: {len(body)}\r\nretry-after: {_RETRY_AFTER}\r\nx-request-id: {request_id}\r\n"
        "x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
