"""A server process that has no file handle left refuses with 503, says so once a minute, and recovers."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import patience
import wenyuan
from wenyuan.runtime.shortage import Rarely, is_shortage

HANDLES = 64
CONNECTIONS = 400
REQUEST = b'{"query": "\xe7\xad\x94\xe5\xa4\x8d", "max_results": 3}'
HEAD = b"POST /retrieve_fragments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[tuple[str, int], Path]]:
    """A served library in a process with few handles: its address, and the file of what it logs."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# 制度\n\n答复时限为五天。\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="s", path=str(docs)))
    log = tmp_path / "log"
    limited = ["sh", "-c", f'ulimit -n {HANDLES}; exec "$@"', "sh"]
    command = [
        *limited,
        sys.executable,
        "-m",
        "wenyuan.cli",
        "--library",
        str(tmp_path / "library"),
        "serve",
        "--port",
        "0",
    ]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdout=errors,
            stderr=errors,
            env={**os.environ, "WENYUAN_ENCODER__KIND": "none"},
        )
    try:
        until = time.monotonic() + patience.HANGS
        while not (found := re.search(rb"http://127\.0\.0\.1:([0-9]+)", log.read_bytes())):
            assert process.poll() is None and time.monotonic() < until, log.read_text("utf-8")
            time.sleep(0.05)
        yield ("127.0.0.1", int(found[1])), log
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(patience.HANGS)


def exchanged(connection: socket.socket) -> bytes:
    """All that the server says; empty where it reset the connection."""
    said = b""
    with suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            said += part
    return said


def asked(address: tuple[str, int]) -> dict[str, object]:
    """What the server answers to one question."""
    with socket.create_connection(address, timeout=patience.HANGS) as connection:
        connection.sendall(HEAD % len(REQUEST) + REQUEST)
        said = exchanged(connection)
    body: dict[str, object] = json.loads(said.partition(b"\r\n\r\n")[2])
    return body


def test_more_connections_than_handles(server: tuple[tuple[str, int], Path]) -> None:
    """Of 400 requests at once each is answered, or refused with a problem document; then it answers as before."""
    address, log = server
    statuses: dict[int, int] = {}
    with ExitStack() as stack:
        open_ones = []
        for _ in range(CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(address, timeout=patience.HANGS))
            with suppress(ConnectionError):
                connection.sendall(HEAD % len(REQUEST))
            open_ones.append(connection)
        for connection in open_ones:
            with suppress(ConnectionError):
                connection.sendall(REQUEST)
        for connection in open_ones:
            head, _, body = exchanged(connection).partition(b"\r\n\r\n")
            status = int(head.split(b" ")[1])
            statuses[status] = statuses.get(status, 0) + 1
            said = json.loads(body)
            if status != 200:
                assert b"application/problem+json" in head
                assert (status, said["status"]) == (503, 503), said
    assert sum(statuses.values()) == CONNECTIONS
    assert set(statuses) <= {200, 503}
    assert statuses.get(503)
    until = time.monotonic() + patience.HANGS
    while (again := asked(address))["status"] != "SUCCESS":  # the audit tries again after a fraction of a second
        assert time.monotonic() < until, again
        time.sleep(0.05)
    told = log.read_text("utf-8")
    assert told.count("no file handle is left") == 1
    assert "Traceback" not in told, told


def test_one_line_a_while() -> None:
    """The first of equal lines is due, those after it are counted, and are told with the next that is due."""
    rarely = Rarely(every=60.0)
    assert [rarely.count() for _ in range(4)] == [1, 0, 0, 0]
    often = Rarely(every=0.0)
    assert [often.count() for _ in range(2)] == [1, 1]


def test_a_shortage_behind_another_error() -> None:
    """An error that was caused by a lack of handles is known as one, another is not."""
    error = RuntimeError("x")
    assert not is_shortage(error)
    error.__cause__ = OSError(24, "Too many open files")
    assert is_shortage(error)
