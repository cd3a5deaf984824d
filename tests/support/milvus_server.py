"""A Milvus for tests: the one that WENYUAN_TEST_MILVUS names, or the gRPC server of the wheel milvus-lite."""

from __future__ import annotations

import importlib.util
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from listening import free_port

GIVEN = os.environ.get("WENYUAN_TEST_MILVUS", "")  # read before the tests clear the environment
PREFIX = f"wenyuan_test_{secrets.token_hex(4)}"
"""Of the collections that tests make; they are dropped at the end, for the server may be somebody's."""


class Server:
    """A milvus-lite that can be broken off and started again on the same data."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        code = "from milvus_lite.cmdline import main; import sys; sys.exit(main())"
        command = [sys.executable, "-c", code, "server", "--data-dir", str(self._folder / "data.db")]
        self._process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        client(self.address).close()

    def crash(self) -> None:
        """End it at once, as if the machine had lost its power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None


class Proxy:
    """Passes bytes between a client and a server, until it stalls or breaks off."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._to, self._listening = (host, port), socket.create_server(("127.0.0.1", 0))
        self.uri = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.flowing = threading.Event()
        self.flowing.set()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._to)
            except OSError:  # nobody is there: whoever asks is told so
                near.close()
                continue
            self._open += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(a, b), daemon=True).start()

    def _pass(self, a: socket.socket, b: socket.socket) -> None:
        with suppress(OSError):
            while data := a.recv(65_536):
                self.flowing.wait()
                b.sendall(data)
        _shut(a, b)

    def end(self) -> None:
        self.flowing.set()
        _shut(self._listening, *self._open)


def _shut(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


def client(address: str) -> Any:
    """A client of the driver, once the server answers."""
    from pymilvus import MilvusClient

    for _ in range(200):
        try:
            return MilvusClient(uri=address, timeout=5, dedicated=True)
        except Exception:
            time.sleep(0.2)
    raise RuntimeError("milvus-lite did not start")


@contextmanager
def running() -> Iterator[str]:
    """The address of a server, for as long as it runs."""
    if GIVEN:
        yield GIVEN
        leaving = client(GIVEN)
        for name in leaving.list_collections():
            if name.startswith(PREFIX):
                leaving.drop_collection(name)
        leaving.close()
        return
    with own() as server:
        yield server.address


@contextmanager
def own() -> Iterator[Server]:
    """A server of this test's own; without the wheels the test is not run."""
    if importlib.util.find_spec("pymilvus") is None or importlib.util.find_spec("milvus_lite") is None:
        pytest.skip("not run: the wheels pymilvus and milvus-lite are missing")
    with tempfile.TemporaryDirectory(prefix="wenyuan-milvus-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.crash()
