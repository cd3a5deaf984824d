"""An HTTP endpoint that takes and returns JSON by POST, as all models behind HTTP are called.

The server is not trusted: its answer is read up to a size and up to a moment. Redirects are refused, because they
would send the texts to another host. No message contains the key or anything that the server sent.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from wenyuan.core.errors import ConfigError, KnowledgeError, msg
from wenyuan.core.ports import Deadline, until
from wenyuan.runtime.bounded_calls import CallTimedOut
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.responses import TooLarge, no_answer, read_whole
from wenyuan.runtime.timed_stream import punctual

_FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.CookieConflict, httpx2.StreamError)
"""Every exception of httpx2 descends from one of these (a test enumerates them)."""
_RETRIES = 2
_BACKOFF = 0.2
_LONGEST_WAIT = 30.0
_MOST_BYTES = 256 << 20
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_HINTS: Mapping[int, str] = {
    401: "check the key of this {}",
    403: "check the key of this {}",
    404: "check the URL and the model's name",
    413: "lower the {}'s batch size",
}


@dataclass(frozen=True, slots=True)
class EndpointKind:
    """The kind of an endpoint: its error classes, and its limits.

    Attributes:
        again_when_late: Whether to ask again after a time-out: not what costs as much each time.
        most_bytes: Of an answer; 0: as of any endpoint.
        step: Seconds after which a wait for data checks whether the caller still waits; None: never.
    """

    name: str
    unavailable: type[KnowledgeError]
    timeout: type[KnowledgeError]
    again_when_late: bool = True
    most_bytes: int = 0
    step: float | None = None


class NotUnderstood(Exception):
    """The endpoint refuses a request with a status that the caller handles.

    Args:
        wait: Seconds that it asks to wait for; 0 where it names none.
    """

    def __init__(self, status: int, wait: float = 0.0) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.wait = status, wait


class _Retry(Exception):
    """A failed attempt that may be retried: the `failure`, and how long the server asked to `wait`."""

    def __init__(self, failure: KnowledgeError, wait: float = 0.0) -> None:
        super().__init__()
        self.failure, self.wait = failure, wait


class JsonEndpoint:
    """Client for one URL. Safe to use from several threads.

    Args:
        model: How the model behind it is called in messages.
        endpoint: Of `address`.
        key: Sent as a bearer token.
        timeout: Seconds for one request from its start to the end of the answer.
        transport: For tests.

    Raises:
        ConfigError: the key cannot be a header.
    """

    def __init__(
        self,
        kind: EndpointKind,
        model: str,
        endpoint: httpx2.URL,
        *,
        key: str,
        timeout: float,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.component = f"{kind.name} {model} at {endpoint.host}:{_port(endpoint)}".replace("  ", " ")
        self._kind, self._endpoint, self._timeout = kind, endpoint, timeout
        self._client = punctual(
            httpx2.Client(
                headers=_headers(key, kind),
                follow_redirects=False,
                trust_env=endpoint.host not in _LOCAL,  # no proxy stands between this machine and itself
                transport=transport,
            ),
            step=kind.step,
        )

    def ask(self, body: Mapping[str, Any], deadline: Deadline | None, *, told: Collection[int] = ()) -> Any:
        """The parsed response, with retries while they may help and fit the deadline.

        Args:
            told: Statuses that raise `NotUnderstood`.

        Raises:
            KnowledgeError: of the endpoint's kind: not reached, refused, too late, too large, or not JSON.
            NotUnderstood: it answered with one of `told`.
        """
        for attempt in range(_RETRIES + 1):
            if deadline is not None and deadline.remaining() <= 0:
                raise self._kind.timeout("the deadline passed", component=self.component)
            try:
                return self._attempt(body, deadline, told)
            except _Retry as retry:
                wait = max(_BACKOFF * 2**attempt, retry.wait)
                late = deadline is not None and wait >= deadline.remaining()
                if attempt == _RETRIES or late or wait > _LONGEST_WAIT:
                    raise retry.failure from retry.__cause__
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _attempt(self, body: Mapping[str, Any], deadline: Deadline | None, told: Collection[int]) -> Any:
        seconds = self._timeout if deadline is None else min(self._timeout, deadline.remaining())
        ends = deadline_after(seconds) if deadline is None else deadline.within(seconds)
        try:
            with (
                until(ends),
                self._client.stream("POST", self._endpoint, json=body, timeout=max(seconds, 1e-3)) as answer,
            ):
                if answer.status_code in told:
                    raise NotUnderstood(answer.status_code, _asked_wait(answer))
                self._check_status(answer)
                content = read_whole(answer.iter_bytes(), self._kind.most_bytes or _MOST_BYTES)
        except TooLarge as error:
            raise self._kind.unavailable("the answer is too large", component=self.component) from error
        except CallTimedOut as error:
            raise self._kind.timeout("the answer took too long", component=self.component) from error
        except _FAILURES as error:
            failure = no_answer(error, self.component, self._kind.unavailable, self._kind.timeout, "server")
            late = isinstance(error, httpx2.TimeoutException) and not self._kind.again_when_late
            if isinstance(error, httpx2.TransportError) and not late:
                raise _Retry(failure) from error
            raise failure from error
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._kind.unavailable("the answer is not JSON", component=self.component) from error

    def _check_status(self, answer: httpx2.Response) -> None:
        status = answer.status_code
        if status == 200:
            return
        if answer.is_redirect:
            raise self._kind.unavailable(
                msg("answered with a redirect (HTTP {status}), which is refused", status=status),
                component=self.component,
                hint="put the final address of the server in the settings",
            )
        hint = _HINTS.get(status, "").format(self._kind.name)
        failure = self._kind.unavailable(
            msg("answered HTTP {status}", status=status), component=self.component, hint=hint
        )
        if status in (429, 503):
            raise _Retry(failure, _asked_wait(answer))
        raise failure


def address(url: str, path: str, kind: EndpointKind, *, default: str = "") -> httpx2.URL:
    """The endpoint's URL, from the URL of a server, of its API, or of the endpoint itself.

    Args:
        path: The last part of the endpoint's path, e.g. ``/embeddings``.
        default: What stands before `path` when the URL names only a server.

    Raises:
        ConfigError: it is no address of a server, or holds a password.
    """
    try:
        parsed = httpx2.URL(url.strip())
        host = parsed.host
    except (httpx2.InvalidURL, ValueError) as error:  # half of a surrogate pair, a name that IDNA does not have
        raise ConfigError(msg("the {name}'s URL is not valid", name=kind.name)) from error
    if parsed.scheme not in ("http", "https") or not host:
        raise ConfigError(msg("the {name}'s URL must begin with http:// or https:// and name a host", name=kind.name))
    if parsed.userinfo:
        raise ConfigError(msg("the {name}'s URL holds a password; use the key instead", name=kind.name))
    before = parsed.path.rstrip("/")
    return parsed.copy_with(path=before if before.endswith(path) else f"{before or default}{path}")


def _asked_wait(answer: httpx2.Response) -> float:
    asked = answer.headers.get("retry-after", "")
    return float(asked) if re.fullmatch(r"[0-9]{1,6}", asked) else 0.0


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _headers(key: str, kind: EndpointKind) -> dict[str, str]:
    if not key:
        return {}
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError(msg("the {name}'s key must be printable ASCII without white space", name=kind.name))
    return {"Authorization": f"Bearer {key}"}
