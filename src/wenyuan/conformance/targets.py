"""Targets of the kit: services by URL, and Python objects."""

from __future__ import annotations

import dataclasses
import enum
import http.client
import json
import re
import select
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol
from urllib.parse import quote, urlsplit

from wenyuan.core.errors import ConfigError, InvalidRequest, msg
from wenyuan.core.model import RetrievalRequest

__all__ = ["NOT_JSON", "Answer", "HttpTarget", "NotJson", "PythonTarget", "Target", "clip", "parse_json"]


# What is tested (`Target`) and what it says (`Answer`), the same for HTTP and for Python objects.


SHOWN_CHARS = 160


class NotJson(enum.Enum):
    """The type of `NOT_JSON`: a body that is no JSON value (``None`` is one)."""

    NOT_JSON = "not JSON"


NOT_JSON: Final = NotJson.NOT_JSON


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one request.

    Attributes:
        status: HTTP status, or None when there was no answer at all. A Python object's outcome is put in the
            same terms: 200 returned, 400 refused (``TypeError``, ``ValueError``, ``InvalidRequest``), 500 raised
            anything else.
        body: The JSON value, or `NOT_JSON`.
        text: The body as it came, or the exception, or why there is no answer.
        by_http: Whether it came over HTTP.
    """

    status: int | None
    body: Any
    text: str
    by_http: bool = True

    @property
    def refused(self) -> bool:
        """Whether the request was refused as the caller's fault (any 4xx)."""
        return self.status is not None and 400 <= self.status < 500

    @property
    def returned(self) -> bool:
        """Whether the method returned (2xx)."""
        return self.status is not None and 200 <= self.status < 300

    def __str__(self) -> str:
        if self.status is None:
            return clip(self.text)
        if not self.by_http:
            if self.status == 200:
                return msg("returned {text}", text=clip(self.text))
            if self.status == 400:
                return msg("refused with {text}", text=clip(self.text))
            return msg("raised {text}", text=clip(self.text))
        if self.body is NOT_JSON:
            return msg("HTTP {status} (not JSON) {text}", status=self.status, text=clip(self.text))
        return f"HTTP {self.status} {clip(self.text)}"


class Target(Protocol):
    """An implementation under test.

    Attributes:
        name: As it stands in the report.
        takes_bytes: Whether `send` works: only what is reached over HTTP can be sent malformed JSON.
    """

    name: str
    takes_bytes: bool

    def ask(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """Call ``retrieve_fragments`` with these members, well-formed or not."""
        ...

    def send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """POST these bytes; `headers` decides alone on ``Content-Type``."""
        ...

    def close(self) -> None: ...


def parse_json(text: str) -> Any:
    """The JSON value of `text`, or `NOT_JSON`. ``NaN`` is read, so that a case can name it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON


def clip(value: object) -> str:
    """A value in one line of at most 160 characters, without control characters."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


# An implementation behind a URL. Plain ``http.client``: malformed requests must leave as they are.


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
        timeout: Seconds for each step of an exchange.

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
        connection = self._connection()
        try:
            connection.putrequest("POST", path, skip_accept_encoding=True)
            for name, value in {**self._headers, **headers}.items():
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.putheader("Connection", "close")
            connection.endheaders()
            _send_body(connection, body)
            response = connection.getresponse()
            return _read(response.status, response.read(MAX_ANSWER_BYTES + 1))
        except (OSError, http.client.HTTPException) as error:
            return Answer(None, NOT_JSON, msg("no answer: {kind}: {error}", kind=type(error).__name__, error=error))
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


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

    What is sent after such an answer resets the connection, and the answer is lost with it.
    """
    patience = 0.2 if len(body) > _CHUNK else 0.0
    for start in range(0, len(body), _CHUNK):
        if select.select([connection.sock], [], [], patience)[0]:
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


# An implementation that is a Python object with a ``retrieve_fragments`` method.


WAYS = ("request", "dict", "keywords")


class PythonTarget:
    """An object whose ``retrieve_fragments`` is called in the way its attribute ``accepts`` names.

    ========== ==================================================================================
    accepts    call
    ========== ==================================================================================
    "request"  ``retrieve_fragments(RetrievalRequest(...))``; the default. A malformed request is refused by
               `wenyuan.core.model.RetrievalRequest`, which then is part of what is tested
    "dict"     ``retrieve_fragments({"query": ..., "max_results": ...})``, malformed ones too
    "keywords" ``retrieve_fragments(query=..., max_results=..., context=...)``, as many as the request has
    ========== ==================================================================================

    It returns a `wenyuan.core.model.RetrievalResponse`, a mapping, a dataclass or a pydantic model. It refuses a
    malformed request by raising ``TypeError``, ``ValueError`` or `InvalidRequest`; any other exception is a crash.

    Raises:
        ConfigError: no such method, or ``accepts`` is something else.
    """

    takes_bytes = False

    def __init__(self, subject: object, name: str = "") -> None:
        self._accepts = getattr(subject, "accepts", "request")
        if not callable(getattr(subject, "retrieve_fragments", None)):
            raise ConfigError(msg("{kind} has no method retrieve_fragments", kind=type(subject).__name__))
        if self._accepts not in WAYS:
            raise ConfigError(
                msg(
                    "accepts is {accepts}; it must be one of {ways}",
                    accepts=repr(self._accepts),
                    ways=", ".join(WAYS),
                )
            )
        self._subject: Any = subject
        self.name = name or type(subject).__name__

    @classmethod
    def load(cls, spec: str) -> PythonTarget:
        """The object that ``module:factory`` makes (or is, when it has the method and is no class); see `made`."""
        return cls(cls.made(spec, "retrieve_fragments"), spec)

    @staticmethod
    def made(spec: str, method: str = "") -> Any:
        """What ``module:factory`` makes, or is, when it is no class and has the method (or cannot be called).

        The current directory is searched too, as ``python -m`` does.

        Raises:
            ConfigError: nothing there, or the factory failed.
        """
        module_name, colon, attribute = spec.partition(":")
        if not (module_name and colon and attribute):
            raise ConfigError(msg("{spec} is not of the form module:factory", spec=repr(spec)))
        sys.path.insert(0, "")
        try:
            made: Any = import_module(module_name)
            for part in attribute.split("."):
                made = getattr(made, part)
            finished = hasattr(made, method) if method else not callable(made)
            if isinstance(made, type) or not finished:
                made = made()
        except Exception as error:  # whatever a stranger's module does, the caller must learn which one it was
            raise ConfigError(
                msg("{spec} cannot be loaded: {kind}: {error}", spec=spec, kind=type(error).__name__, error=error)
            ) from error
        finally:
            sys.path.remove("")
        return made

    def ask(self, request: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """Call the object; an exception becomes an answer (see `Answer.status`)."""
        try:
            result = self._call(dict(request))
        except (TypeError, ValueError, InvalidRequest) as error:
            return Answer(400, None, msg("{kind}: {error}", kind=type(error).__name__, error=error), by_http=False)
        except Exception as error:  # a crash is a finding, not the end of the run
            return Answer(500, None, msg("{kind}: {error}", kind=type(error).__name__, error=error), by_http=False)
        body = _plain(result)
        if not isinstance(body, dict):
            return Answer(200, NOT_JSON, repr(result), by_http=False)
        return Answer(200, body, repr(body), by_http=False)

    def send(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Bytes cannot be sent to a Python object.

        Raises:
            TypeError: always.
        """
        raise TypeError("a Python object takes values, not bytes")

    def close(self) -> None:
        """Close the object, when it can be closed."""
        close = getattr(self._subject, "close", None)
        if callable(close):
            close()

    def _call(self, request: dict[str, Any]) -> Any:
        if self._accepts == "dict":
            return self._subject.retrieve_fragments(request)
        if self._accepts == "keywords":
            return self._subject.retrieve_fragments(**request)
        return self._subject.retrieve_fragments(RetrievalRequest(**request))


def _plain(value: Any) -> Any:
    """Dataclasses, pydantic models, mappings and tuples as JSON's own types."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    elif hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
