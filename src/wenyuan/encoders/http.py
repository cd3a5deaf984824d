"""An encoder behind HTTP: any server that speaks OpenAI's ``POST /v1/embeddings``.

The server is not trusted: its answer is read up to a size, checked in form, put in order, and its vectors are
checked like everybody's. Redirects are refused, because they would carry the texts to somebody else. The key stands
in no message, and neither does anything that the server says.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import ConfigError, EncoderError, EncoderTimeout, EncoderUnavailable, VectorRejected
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline
from wenyuan.core.vectors import check_deadline, checked_vectors

__all__ = ["HttpEncoder", "open_http"]

_FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.CookieConflict, httpx2.StreamError)
"""Every exception of httpx2 descends from one of these (a test enumerates them)."""
_RETRIES = 2
_BACKOFF = 0.2
_LONGEST_WAIT = 30.0
_MOST_BYTES = 256 << 20
_PROBES = ("知识服务的第一条规定", "An apple a day keeps the doctor away")
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_HINTS: Mapping[int, str] = {
    401: "check the key of this encoder",
    403: "check the key of this encoder",
    404: "check the URL and the model's name",
    413: "lower the encoder's batch size",
}


class _Retry(Exception):
    """This attempt failed in a way that may pass; `failure` says how, `wait` how long the server asked for."""

    def __init__(self, failure: EncoderError, wait: float = 0.0) -> None:
        super().__init__()
        self.failure, self.wait = failure, wait


def open_http(  # noqa: PLR0913  (settings, each by its name)
    url: str,
    model: str,
    *,
    key: str = "",
    dimension: int | None = None,
    query_prefix: str = "",
    passage_prefix: str = "",
    timeout: float = 30.0,
    batch: int = 32,
    scale: tuple[float, float] = (0.0, 1.0),
    transport: httpx2.BaseTransport | None = None,
) -> HttpEncoder:
    """An encoder behind a URL.

    Args:
        url: Of the server (``http://host:8000``), its API (``…/v1``), or the endpoint (``…/embeddings``).
        model: The model's name, as the server knows it.
        key: Sent as a bearer token.
        dimension: Of the vectors. Without it the server is asked once, now.
        query_prefix: Put before queries.
        passage_prefix: Put before passages.
        timeout: Seconds for one request from its start to the end of the answer.
        batch: Texts in one request.
        scale: Cosines of this model from unrelated to identical texts (see `EncoderFingerprint`).
        transport: For tests.

    Raises:
        ConfigError: the URL or the key cannot be used.
        EncoderError: the server was asked for the dimension and did not answer well.
    """
    encoder = HttpEncoder(
        _endpoint(url),
        EncoderFingerprint(
            id=model,
            sha256="",
            dimension=dimension or 0,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            pooling="",
            scale=scale,
        ),
        _headers(key),
        timeout=timeout,
        batch=batch,
        transport=transport,
    )
    if dimension is None:
        try:
            encoder.measure()
        except EncoderError:
            encoder.close()
            raise
    return encoder


class HttpEncoder:
    """Text → vectors over HTTP; made by `open_http`. Safe to use from several threads."""

    def __init__(
        self,
        endpoint: httpx2.URL,
        fingerprint: EncoderFingerprint,
        headers: Mapping[str, str],
        *,
        timeout: float,
        batch: int,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self.fingerprint = fingerprint
        self.component = f"encoder {fingerprint.id} at {endpoint.host}:{_port(endpoint)}"
        self._endpoint, self._timeout, self._batch = endpoint, timeout, batch
        self._client = httpx2.Client(
            headers=headers,
            follow_redirects=False,
            trust_env=endpoint.host not in _LOCAL,  # no proxy stands between this machine and itself
            transport=transport,
        )

    def measure(self) -> None:
        """Ask the server for the dimension of its vectors, and whether it tells texts apart."""
        rows = self._ask(_PROBES, None)
        dimension = len(rows[0]) if isinstance(rows[0], list) else 0
        checked_vectors(rows, len(rows), dimension, self.component, texts=_PROBES)
        self.fingerprint = replace(self.fingerprint, dimension=dimension)

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        """Vectors of queries.

        Raises:
            EncoderTimeout: the deadline passed, or the server took too long.
            EncoderUnavailable: it cannot be reached, refused, or answered something else than embeddings.
            VectorRejected: it answered with something that is no vector.
        """
        return self._encode(self.fingerprint.query_prefix, texts, deadline, None)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        return self._encode(self.fingerprint.passage_prefix, texts, None, progress)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _encode(
        self,
        prefix: str,
        texts: Sequence[str],
        deadline: Deadline | None,
        progress: Callable[[int], None] | None,
    ) -> NDArray[np.float32]:
        dimension = self.fingerprint.dimension
        parts = [np.zeros((0, dimension), np.float32)]
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            rows = self._ask([prefix + text for text in part], deadline)
            parts.append(checked_vectors(rows, len(part), dimension, self.component, texts=part))
            if progress:
                progress(len(part))
        return np.concatenate(parts)

    def _ask(self, texts: Sequence[str], deadline: Deadline | None) -> list[Any]:
        """One batch, tried again while it may help and the deadline allows."""
        for attempt in range(_RETRIES + 1):
            check_deadline(deadline, self.component)
            try:
                return self._attempt(texts, deadline)
            except _Retry as retry:
                wait = max(_BACKOFF * 2**attempt, retry.wait)
                late = deadline is not None and wait >= deadline.remaining()
                if attempt == _RETRIES or late or wait > _LONGEST_WAIT:
                    raise retry.failure from retry.__cause__
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _attempt(self, texts: Sequence[str], deadline: Deadline | None) -> list[Any]:
        seconds = self._timeout if deadline is None else min(self._timeout, deadline.remaining())
        body = {"model": self.fingerprint.id, "input": list(texts), "encoding_format": "float"}
        until = time.monotonic() + seconds
        try:
            with self._client.stream("POST", self._endpoint, json=body, timeout=max(seconds, 1e-3)) as answer:
                self._check_status(answer)
                content = self._read(answer, until)
        except _FAILURES as error:
            failure = _translated(error, self.component)
            if isinstance(error, httpx2.TransportError):
                raise _Retry(failure) from error
            raise failure from error
        return _rows(content, len(texts), self.component)

    def _check_status(self, answer: httpx2.Response) -> None:
        status = answer.status_code
        if status == 200:
            return
        if answer.is_redirect:
            raise EncoderUnavailable(
                f"answered with a redirect (HTTP {status}), which is refused",
                component=self.component,
                hint="put the final address of the server in the settings",
            )
        failure = EncoderUnavailable(f"answered HTTP {status}", component=self.component, hint=_HINTS.get(status, ""))
        if status in (429, 503):
            asked = answer.headers.get("retry-after", "")
            raise _Retry(failure, float(asked) if re.fullmatch(r"[0-9]{1,6}", asked) else 0.0)
        raise failure

    def _read(self, answer: httpx2.Response, until: float) -> bytes:
        """The body; a server that drips or never ends is cut off."""
        content = bytearray()
        for block in answer.iter_bytes():
            content += block
            if len(content) > _MOST_BYTES:
                raise EncoderUnavailable("the answer is too large", component=self.component)
            if time.monotonic() > until:
                raise EncoderTimeout("the answer took too long", component=self.component)
        return bytes(content)


def _translated(error: Exception, component: str) -> EncoderError:
    """What an exception of httpx2 means here. Its own text may quote headers, so only its kind is told."""
    if isinstance(error, httpx2.TimeoutException):
        return EncoderTimeout("no answer in time", component=component)
    if isinstance(error, httpx2.ConnectError):
        return EncoderUnavailable(
            "cannot be reached", component=component, hint="is the server running, and is its address right?"
        )
    return EncoderUnavailable(f"the connection failed ({type(error).__name__})", component=component)


def _rows(content: bytes, count: int, component: str) -> list[Any]:
    """The vectors of an answer in the order of its indexes; what is in them is not yet checked."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise EncoderUnavailable("the answer is not JSON", component=component) from error
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise EncoderUnavailable("the answer has no list of embeddings", component=component)
    if len(entries) != count:
        raise VectorRejected(f"{count} texts went in, {len(entries)} vectors came out", component=component)
    by_index = {entry.get("index"): entry.get("embedding") for entry in entries if _is_index(entry)}
    if set(by_index) != set(range(count)):
        raise VectorRejected(f"the indexes of the answer are not 0 to {count - 1}", component=component)
    return [by_index[i] for i in range(count)]


def _is_index(entry: dict[str, Any]) -> bool:
    return type(entry.get("index")) is int


def _endpoint(url: str) -> httpx2.URL:
    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL as error:
        raise ConfigError("the encoder's URL is not valid") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError("the encoder's URL must begin with http:// or https:// and name a host")
    if parsed.userinfo:
        raise ConfigError("the encoder's URL holds a password; use the key instead")
    path = parsed.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path = f"{path or '/v1'}/embeddings"
    return parsed.copy_with(path=path)


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _headers(key: str) -> dict[str, str]:
    if not key:
        return {}
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError("the encoder's key must be printable ASCII without white space")
    return {"Authorization": f"Bearer {key}"}
