"""A server on this machine that follows a script, byte by byte, and what a service of the contract would answer."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FRAGMENT = {
    "source": "https://kb.example/制度#第十三条",
    "content": "报销须在三十日内提交 / within 30 days",
    "retrieval_score": 0.9,
    "metadata": {"title": "财务制度", "heading": "第三章 > 第十三条", "trust": 5, "year": 2024, "tags": ["x"], "note": None},
}  # fmt: skip
SUCCESS = {"status": "SUCCESS", "fragments": [FRAGMENT]}
JSON = "Content-Type: application/json"

Script = Callable[[socket.socket], None]


def reply(status: int, body: object = None, *headers: str, raw: bytes | None = None) -> bytes:
    """An HTTP response: `body` as JSON, or `raw` as it is; headers that are given take the place of the content type's."""
    content = json.dumps(body).encode() if raw is None else raw
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(content)}", *(headers or (JSON,))]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class Scripted:
    """Answers requests in turn, the last script for all that follow, and keeps what it was sent.

    Bytes are sent and the connection is kept; a function has the connection to itself, and then it is closed.
    """

    def __init__(self, scripts: tuple[bytes | Script, ...]) -> None:
        self.scripts = scripts
        self.requests: list[bytes] = []
        self.connections = 0
        self.stopping = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            if self.stopping:
                connection.close()
                return
            self.connections += 1
            with connection:
                connection.settimeout(0.5)
                try:
                    while self.answered(connection):
                        pass
                except OSError:
                    continue

    def answered(self, connection: socket.socket) -> bool:
        received = b""
        while b"\r\n\r\n" not in received:
            part = connection.recv(65536)
            if not part:
                return False
            received += part
        head, _, body = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += connection.recv(65536)
        self.requests.append(head + b"\r\n\r\n" + body)
        script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
        if isinstance(script, bytes):
            connection.sendall(script)
            return True
        script(connection)
        return False

    def close(self) -> None:
        self.stopping = True
        socket.create_connection(self.listener.getsockname()).close()
        self.thread.join(5)
        self.listener.close()


@contextmanager
def scripted(*scripts: bytes | Script) -> Iterator[Scripted]:
    """A server with these scripts, for as long as it is needed."""
    server = Scripted(scripts)
    try:
        yield server
    finally:
        server.close()
