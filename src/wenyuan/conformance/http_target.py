"""An implementation behind a URL. Plain ``http.client``: malformed requests must leave as they are."""

from __future__ import annotations

import http.client
import json
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote, urlsplit

from wenyuan.conformance.targets import ENDS, NOT_JSON, Answer, parse_json
from wenyuan.core.errors import ConfigError, msg

PATHS = ("/v1/retrieve_fragments", "/retrieve_fragments")
MAX_ANSWER_BYTES = 32 * 1024 * 1024
_CHUNK = 64 * 1024
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\x80-\xff]*")


class HttpTarget:
    """A service that takes ``POST`` of a RetrievalRequest.

    Args:
        url: Of the endpoint. Without a path, ``/v1/retrieve_fragments`` is asked and, should that be 404,
            ``/retrieve_fragments``.
        headers: Sent with every request, e.g. ``Authorization``.
        timeout: Seconds for each step of an exchange. All of its steps together end at the moment `ENDS`.

    Raises:
        ConfigError: no http or https URL, or a header that HTTP cannot carry.
    """

    takes_bytes = True

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, timeout: float = 30.0) -> None:
        try:
            parts = urlsplit(url)
            self._port = parts.port
        except ValueError as error:
            raise ConfigError(msg("not a URL: {error}", error=error)) from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError("the URL must begin with http:// or https:// and name a host")
        if "@" in parts.netloc:
            raise ConfigError("the URL must not hold credentials", hint="send them as a header")
        self.name = url
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._timeout = timeout
        self._headers = check_headers(headers or {})
        given = quote(parts.path, safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
        self._paths = PATHS if parts.path in ("", "/") else (given,)

    def ask(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """POST a request as JSON in UTF-8."""
        body = json.dumps(dict(request), ensure_ascii=False).encode("utf-8")
        return self.send(body, {"Content-Type": "application/json", **(headers or {})})

    def send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """POST bytes as they are; no header but the target's own, these and ``Content-Length``."""
        answer = self._exchange(self._paths[0], body, headers)
        if len(self._paths) == 1:
            return answer
        if answer.status == 404:
            other = self._exchange(self._paths[1], body, headers)
            if other.status == 404:
                return answer
            answer, self._paths = other, self._paths[1:]
        elif answer.status is not None:
            self._paths = self._paths[:1]
        return answer

    def close(self) -> None:
        """Nothing is kept open between requests."""

    def _exchange(self, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        left = ENDS.get() - time.monotonic()
        if left <= 0.0:
            return Answer(None, NOT_JSON, msg("no answer: {kind}", kind="TimeoutError"))
        connection = self._connection(min(self._timeout, left))
        try:
            with _ending(connection, left):
                return self._answer(connection, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            return Answer(None, NOT_JSON, msg("no answer: {kind}: {error}", kind=type(error).__name__, error=error))
        finally:
            connection.close()

    def _answer(
        self, connection: http.client.HTTPConnection, path: str, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        """The answer of a service on a fresh connection.

        Raises:
            OSError, http.client.HTTPException: there is none.
        """
        connection.putrequest("POST", path, skip_accept_encoding=True)
        for name, value in {**self._headers, **headers}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Connection", "close")
        connection.endheaders()
        _send_body(connection, body)
        response = connection.getresponse()
        return _read(response.status, response.read(MAX_ANSWER_BYTES + 1))

    def _connection(self, timeout: float) -> _Connection | _SecureConnection:
        kind = _SecureConnection if self._secure else _Connection
        return kind(self._host, self._port, timeout=timeout)


class _Connection(http.client.HTTPConnection):
    """HTTP.

    Attributes:
        whole: The socket, from when it is connected to the end of the answer; `sock` is gone before.
    """

    whole: socket.socket | None = None

    def connect(self) -> None:
        """Connect."""
        super().connect()
        self.whole = self.sock


class _SecureConnection(http.client.HTTPSConnection):
    """HTTPS, whose socket is there before the handshake, so that this can be ended, too."""

    sock: socket.socket
    whole: socket.socket | None = None

    def connect(self) -> None:
        """Connect and shake hands."""
        http.client.HTTPConnection.connect(self)
        secured = ssl.create_default_context().wrap_socket(
            self.sock, server_hostname=self.host, do_handshake_on_connect=False
        )
        self.sock = self.whole = secured
        secured.do_handshake()


@contextmanager
def _ending(connection: _Connection | _SecureConnection, seconds: float) -> Iterator[None]:
    """A context in which a connection, once it is there, lasts at most this long: a step's timeout begins anew with each byte."""

    def end() -> None:
        with suppress(OSError):  # it has ended by itself
            if connection.whole is not None:  # TLS ends without a word to the other side
                socket.socket.shutdown(connection.whole, socket.SHUT_RDWR)

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, when HTTP can carry them.

    Raises:
        ConfigError: names the header, never its value.
    """
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ConfigError(msg("HTTP cannot carry the header {name}", name=repr(name)))
    return dict(headers)


def _send_body(connection: http.client.HTTPConnection, body: bytes) -> None:
    """Send a body, but stop when the service answers early (413).

    What is sent after such an answer resets the connection, and the answer is lost with it. Over TLS it is not looked for:
    what comes early there may be of TLS itself.
    """
    looks = not isinstance(connection.sock, ssl.SSLSocket)
    patience = 0.2 if len(body) > _CHUNK else 0.0
    for start in range(0, len(body), _CHUNK):
        if looks and select.select([connection.sock], [], [], patience)[0]:
            return
        patience = 0.0
        try:
            connection.send(body[start : start + _CHUNK])
        except (BrokenPipeError, ConnectionResetError):
            return


def _read(status: int, content: bytes) -> Answer:
    if len(content) > MAX_ANSWER_BYTES:
        return Answer(status, NOT_JSON, msg("more than {max_answer_bytes} bytes", max_answer_bytes=MAX_ANSWER_BYTES))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Answer(status, NOT_JSON, content[:1000].decode("latin-1"))
    return Answer(status, parse_json(text), text)
