"""Encoders and rerankers behind HTTP, over one JSON endpoint with retries and a deadline.

A reranker behind HTTP: ``POST /rerank`` as Jina, Cohere and Text Embeddings Inference (TEI) speak it.

=========  ==============================================  ===================================================
dialect    request                                         answer
=========  ==============================================  ===================================================
jina       ``model query documents top_n                   ``{"results": [{"index", "relevance_score"}, …]}``
           return_documents``
cohere     ``model query documents top_n``                 the same
tei        ``query texts raw_scores truncate``             ``[{"index", "score"}, …]``
=========  ==============================================  ===================================================

vLLM, Infinity, Xinference, llama.cpp and others speak the first. The server is not trusted (see `posting`), and every
text must have come back once: an answer with one left out, named twice or unknown is a failure, not an order.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx2
import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import (
    ConfigError,
    EncoderError,
    EncoderTimeout,
    EncoderUnavailable,
    KnowledgeError,
    RerankerTimeout,
    RerankerUnavailable,
    ScoresRejected,
    VectorRejected,
)
from wenyuan.core.messages import msg
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.rerank import checked_scores
from wenyuan.core.scoring.vectors import checked_vectors
from wenyuan.runtime import CallTimedOut, deadline_after
from wenyuan.runtime.http import TooLarge, no_answer, punctual, read_whole, until

# One endpoint that takes JSON by POST and answers JSON: how every model behind HTTP is asked.
#
# The server is not trusted: its answer is read up to a size and up to a moment. Redirects are refused, because they
# would carry the texts to somebody else. The key stands in no message, and neither does anything that the server says.


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
class Kind:
    """What stands behind an endpoint, and which errors say that it failed."""

    name: str
    unavailable: type[KnowledgeError]
    timeout: type[KnowledgeError]


ENCODER = Kind("encoder", EncoderUnavailable, EncoderTimeout)


class _Retry(Exception):
    """This attempt failed in a way that may pass; `failure` says how, `wait` how long the server asked for."""

    def __init__(self, failure: KnowledgeError, wait: float = 0.0) -> None:
        super().__init__()
        self.failure, self.wait = failure, wait


class JsonEndpoint:
    """Asks one URL. Safe to use from several threads.

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
        kind: Kind,
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
            )
        )

    def ask(self, body: Mapping[str, Any], deadline: Deadline | None) -> Any:
        """The parsed answer; asked again while it may help and the deadline allows.

        Raises:
            KnowledgeError: of the endpoint's kind: not reached, refused, too late, too large, or not JSON.
        """
        for attempt in range(_RETRIES + 1):
            if deadline is not None and deadline.remaining() <= 0:
                raise self._kind.timeout("the deadline passed", component=self.component)
            try:
                return self._attempt(body, deadline)
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

    def _attempt(self, body: Mapping[str, Any], deadline: Deadline | None) -> Any:
        seconds = self._timeout if deadline is None else min(self._timeout, deadline.remaining())
        try:
            with (
                until(deadline_after(seconds)),
                self._client.stream("POST", self._endpoint, json=body, timeout=max(seconds, 1e-3)) as answer,
            ):
                self._check_status(answer)
                content = read_whole(answer.iter_bytes(), _MOST_BYTES)
        except TooLarge as error:
            raise self._kind.unavailable("the answer is too large", component=self.component) from error
        except CallTimedOut as error:
            raise self._kind.timeout("the answer took too long", component=self.component) from error
        except _FAILURES as error:
            failure = no_answer(error, self.component, self._kind.unavailable, self._kind.timeout, "server")
            if isinstance(error, httpx2.TransportError):
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
            asked = answer.headers.get("retry-after", "")
            raise _Retry(failure, float(asked) if re.fullmatch(r"[0-9]{1,6}", asked) else 0.0)
        raise failure


def address(url: str, path: str, kind: Kind, *, default: str = "") -> httpx2.URL:
    """The endpoint that a URL of a server, of its API, or of the endpoint itself leads to.

    Args:
        path: The last part of the endpoint's path, e.g. ``/embeddings``.
        default: What stands before `path` when the URL names only a server.

    Raises:
        ConfigError: it is no address of a server, or holds a password.
    """
    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL as error:
        raise ConfigError(msg("the {name}'s URL is not valid", name=kind.name)) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError(msg("the {name}'s URL must begin with http:// or https:// and name a host", name=kind.name))
    if parsed.userinfo:
        raise ConfigError(msg("the {name}'s URL holds a password; use the key instead", name=kind.name))
    before = parsed.path.rstrip("/")
    return parsed.copy_with(path=before if before.endswith(path) else f"{before or default}{path}")


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _headers(key: str, kind: Kind) -> dict[str, str]:
    if not key:
        return {}
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError(msg("the {name}'s key must be printable ASCII without white space", name=kind.name))
    return {"Authorization": f"Bearer {key}"}


# An encoder behind HTTP: any server that speaks OpenAI's ``POST /v1/embeddings``.
#
# The server is not trusted (see `posting`): its answer is checked in form and put in order, and its vectors are checked
# like everybody's.


_PROBES = ("知识服务的第一条规定", "An apple a day keeps the doctor away")


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
        JsonEndpoint(
            ENCODER,
            model,
            address(url, "/embeddings", ENCODER, default="/v1"),
            key=key,
            timeout=timeout,
            transport=transport,
        ),
        EncoderFingerprint(
            id=model,
            sha256="",
            dimension=dimension or 0,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            pooling="",
            scale=scale,
        ),
        batch=batch,
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

    def __init__(self, server: JsonEndpoint, fingerprint: EncoderFingerprint, *, batch: int) -> None:
        self.fingerprint = fingerprint
        self.component = server.component
        self._server, self._batch = server, batch

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
        self._server.close()

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
        """One batch: its vectors in the order of the texts; what is in them is not yet checked."""
        body = {"model": self.fingerprint.id, "input": list(texts), "encoding_format": "float"}
        return _rows(self._server.ask(body, deadline), len(texts), self.component)


def _rows(answer: Any, count: int, component: str) -> list[Any]:
    """The vectors of an answer in the order of its indexes."""
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise EncoderUnavailable("the answer has no list of embeddings", component=component)
    if len(entries) != count:
        raise VectorRejected(
            msg("{count} texts went in, {count2} vectors came out", count=count, count2=len(entries)),
            component=component,
        )
    by_index = {entry.get("index"): entry.get("embedding") for entry in entries if _is_index(entry)}
    if set(by_index) != set(range(count)):
        raise VectorRejected(
            msg("the indexes of the answer are not 0 to {count}", count=count - 1), component=component
        )
    return [by_index[i] for i in range(count)]


def _is_index(entry: dict[str, Any]) -> bool:
    return type(entry.get("index")) is int


Dialect = Literal["jina", "cohere", "tei"]

_RERANKER = Kind("reranker", RerankerUnavailable, RerankerTimeout)
_VERSIONS: Mapping[Dialect, str] = {"jina": "/v1", "cohere": "/v2", "tei": ""}


class HttpReranker:
    """(query, text) → probability over HTTP. Safe to use from several threads.

    Args:
        url: Of the server (``http://host:8080``), its API (``…/v1``), or the endpoint (``…/rerank``).
        model: The model's name, as the server knows it; TEI serves one model and needs none.
        key: Sent as a bearer token.
        timeout: Seconds for one request.
        batch: Texts in one request; TEI takes 32 unless told otherwise.
        logits: The server's numbers are logits; else they must be 0..1.
        transport: For tests.

    Raises:
        ConfigError: the URL, the key or the model cannot be used.
    """

    def __init__(
        self,
        url: str,
        dialect: Dialect,
        model: str,
        *,
        key: str = "",
        timeout: float = 10.0,
        batch: int = 32,
        logits: bool = False,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        if not model and dialect != "tei":
            raise ConfigError(
                msg("a reranker of the dialect {dialect} needs reranker.model", dialect=dialect), component="settings"
            )
        endpoint = address(url, "/rerank", _RERANKER, default=_VERSIONS[dialect])
        self._server = JsonEndpoint(_RERANKER, model, endpoint, key=key, timeout=timeout, transport=transport)
        self.component = self._server.component
        self._dialect, self._model, self._batch, self._logits = dialect, model, batch, logits
        self.fingerprint = f"http|{dialect}|{model}|{'logit' if logits else 'probability'}"

    def rerank(self, query: str, texts: Sequence[str], *, deadline: Deadline) -> Sequence[float]:
        """How probable it is that each text answers the query.

        Raises:
            RerankerTimeout: the deadline passed, or the server took too long.
            RerankerUnavailable: it cannot be reached, refused, or answered something else than scores.
            ScoresRejected: a text has no score, two, or one that says nothing.
        """
        scores: list[float] = []
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            answer = self._server.ask(self._body(query, part), deadline)
            found = _scores(answer, self._dialect, len(part), self.component)
            scores += checked_scores(found, len(part), self.component, logits=self._logits)
        return scores

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _body(self, query: str, texts: Sequence[str]) -> Mapping[str, Any]:
        if self._dialect == "tei":
            return {"query": query, "texts": list(texts), "raw_scores": self._logits, "truncate": True}
        body = {"model": self._model, "query": query, "documents": list(texts), "top_n": len(texts)}
        return body | {"return_documents": False} if self._dialect == "jina" else body


def _scores(answer: Any, dialect: Dialect, count: int, component: str) -> list[object]:
    """The scores of an answer in the order of the texts; what they are is not yet checked."""
    if dialect != "tei":
        answer = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(answer, list) or not all(isinstance(entry, dict) for entry in answer):
        raise RerankerUnavailable(
            "the answer has no list of scores", component=component, hint="check reranker.dialect"
        )
    if len(answer) != count:
        raise ScoresRejected(
            msg("{count} texts went in, {count2} scores came out", count=count, count2=len(answer)),
            component=component,
        )
    name = "score" if dialect == "tei" else "relevance_score"
    by_index = {entry.get("index"): entry.get(name) for entry in answer if type(entry.get("index")) is int}
    if set(by_index) != set(range(count)):
        raise ScoresRejected(
            msg("the indexes of the answer are not 0 to {count}", count=count - 1), component=component
        )
    return [by_index[place] for place in range(count)]
