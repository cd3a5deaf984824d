"""What is tested (`Target`) and what it says (`Answer`), the same for HTTP and for Python objects."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Protocol

from wenyuan.core.errors import msg

SHOWN_CHARS = 160


class NotJson(enum.Enum):
    """The type of `NOT_JSON`: a body that is no JSON value (``None`` is one)."""

    NOT_JSON = "not JSON"


NOT_JSON: Final = NotJson.NOT_JSON

ENDS: ContextVar[float] = ContextVar("ENDS", default=math.inf)
"""The moment of the monotonic clock, in seconds, until which a request over HTTP may take, however slowly it goes on."""


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


__all__ = ["ENDS", "NOT_JSON", "Answer", "NotJson", "Target", "clip", "parse_json"]
