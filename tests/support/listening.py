"""Small HTTP servers of tests, each in a thread of its own, and ports for the servers that are processes."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import Any


@contextmanager
def listening(server: HTTPServer) -> Iterator[str]:
    """The URL of a server, for as long as it answers."""
    tell = server.handle_error

    def handle_error(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that leaves early is no fault
            tell(request, client_address)

    server.handle_error = handle_error  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def free_port() -> int:
    """A port of loopback for a server that is started soon, and perhaps again after a crash.

    It is not one that the system gives to whoever connects: between two lives of a server somebody would get it.
    It is drawn by the system's chance: `random` is seeded alike in all processes of a test run.
    """
    for _ in range(200):
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port of loopback between 10,000 and 30,000 is free")
