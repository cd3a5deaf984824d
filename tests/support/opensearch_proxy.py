"""What stands between an engine and a cluster in tests: it passes requests on, or answers in the cluster's stead."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from listening import listening

Reply = tuple[int, bytes]
Change = Callable[[str, str, Reply], Reply]
"""(method, path, the cluster's reply) → what is given instead."""


class OpenSearchProxy(ThreadingHTTPServer):
    """Passes requests to a node.

    Attributes:
        change: What becomes of replies.
        credentials: The ``authorization`` headers that came.
        allowed: The one that may pass; None: any.
    """

    daemon_threads = True

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.node = url.removeprefix("http://")
        self.change: Change = lambda method, path, reply: reply
        self.credentials: list[str | None] = []
        self.allowed: str | None = None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: OpenSearchProxy

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        told = self.headers.get("authorization")
        self.server.credentials.append(told)
        if self.server.allowed is not None and told != self.server.allowed:
            self._say(401, b'{"error":{"type":"security_exception"},"status":401}')
            return
        near = HTTPConnection(self.server.node, timeout=60)
        near.request(self.command, self.path, body, {"content-type": self.headers.get("content-type", "")})
        reply = near.getresponse()
        found = reply.status, reply.read()
        near.close()
        self._say(*self.server.change(self.command, self.path, found))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def passing(urls: Sequence[str], certificate: Path | None = None) -> Iterator[tuple[OpenSearchProxy, str]]:
    """A proxy before the first node, and its address; with a certificate it speaks TLS."""
    server = OpenSearchProxy(urls[0])
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with listening(server) as url:
        yield server, url.replace("http://", "https://") if certificate is not None else url


def certified(folder: Path, name: str) -> Path:
    """A file with a certificate of that name, which signs itself; its key lies beside it."""
    made = folder / "certificate.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
            "-addext", f"subjectAltName={name}", "-keyout", str(made.with_suffix(".key")), "-out", str(made),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return made
