"""ClamAV's daemon as a scanner: the command ``INSTREAM`` of clamd(8), over TCP or a socket of this machine."""

from __future__ import annotations

import socket
import struct
import time
from typing import Literal
from urllib.parse import unquote, urlsplit

from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.scanning import ACCEPTED, ScannerFailed, ScanVerdict, plain_reason

_PORT = 3_310
_CHUNK = 1 << 20
_MOST_SAID = 4_096  # bytes of its answer


class ClamdScanner:
    """Sends each file to clamd, a connection for each.

    Args:
        address: ``clamd://host:port``, or ``clamd:///run/clamav/clamd.ctl``, a socket.
        found: What is done with a file in which something was found.
        timeout: Seconds for one file.

    Raises:
        ConfigError: the address names neither.
    """

    def __init__(self, address: str, *, found: Literal["refuse", "quarantine"], timeout: float) -> None:
        try:
            parts = urlsplit(address)
            self._host, self._port, self._socket = parts.hostname or "", parts.port or _PORT, unquote(parts.path)
        except ValueError as error:
            raise ConfigError("redaction.scanner: its address cannot be read", component="scanner") from error
        if bool(self._host) == (self._socket not in ("", "/")) or parts.query or parts.fragment or parts.username:
            raise ConfigError(
                "redaction.scanner: clamd://host:port, or clamd:///path of its socket, is wanted", component="scanner"
            )
        self.name = f"clamd at {self._host}:{self._port}" if self._host else f"clamd at {self._socket}"
        self._found, self._timeout = found, timeout

    def scan(self, content: bytes, name: str) -> ScanVerdict:
        try:
            said = self._answer(content)
        except TimeoutError as error:
            told = msg("no verdict within {seconds} s", seconds=f"{self._timeout:g}")
            raise ScannerFailed(told, component=self.name) from error
        except OSError as error:
            told = msg("cannot be reached ({kind})", kind=error.strerror or type(error).__name__)
            raise ScannerFailed(told, component=self.name) from error
        what = said.removeprefix("stream: ")
        if what == said:
            raise ScannerFailed(msg("it said: {words}", words=plain_reason(said)), component=self.name)
        if what == "OK":
            return ACCEPTED
        if what.endswith(" FOUND"):
            return ScanVerdict(self._found, plain_reason(what.removesuffix(" FOUND")))
        raise ScannerFailed(msg("it said: {words}", words=plain_reason(what)), component=self.name)

    def close(self) -> None: ...

    def _answer(self, content: bytes) -> str:
        """The daemon's answer to a file; `z` makes both sides end their words with a zero byte."""
        ends = time.monotonic() + self._timeout
        with self._connected() as connection:
            view = memoryview(content)
            frames: list[bytes | memoryview] = [b"zINSTREAM\0"]
            for at in range(0, len(view), _CHUNK):
                frames += (struct.pack(">I", len(view[at : at + _CHUNK])), view[at : at + _CHUNK])
            try:
                for frame in (*frames, struct.pack(">I", 0)):
                    self._hurry(connection, ends)
                    connection.sendall(frame)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has answered before the end, such as that the file is too large for it
            said = b""
            while b"\0" not in said and len(said) < _MOST_SAID:
                self._hurry(connection, ends)
                block = connection.recv(_MOST_SAID)
                if not block:
                    raise ConnectionResetError("it closed the connection without an answer")
                said += block
        return said.partition(b"\0")[0].decode("utf-8", "replace").strip()

    def _connected(self) -> socket.socket:
        if self._host:
            return socket.create_connection((self._host, self._port), self._timeout)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(self._timeout)
            connection.connect(self._socket)
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _hurry(connection: socket.socket, ends: float) -> None:
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
