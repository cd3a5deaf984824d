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

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import httpx2
import numpy as np

from wenyuan.core.errors import (
    ConfigError,
    EncoderError,
    EncoderTimeout,
    EncoderUnavailable,
    RerankerTimeout,
    RerankerUnavailable,
    ScoresRejected,
    VectorRejected,
    msg,
)
from wenyuan.core.model import EncoderFingerprint, as_written
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.blending import checked_scores
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.encoders.request_pace import RequestPace
from wenyuan.runtime.json_endpoint import EndpointKind, JsonEndpoint, NotUnderstood, address

# An encoder behind HTTP: any server that speaks OpenAI's ``POST /v1/embeddings``.
#
# The server is not trusted (see `posting`): its answer is checked in form and put in order, and its vectors are checked
# like everybody's.


ENCODER = EndpointKind("encoder", EncoderUnavailable, EncoderTimeout)
_TOO_LARGE = 413
_TOO_MUCH = (429, 503, _TOO_LARGE)
_PATIENCE = 6  # refusals of one batch in a row that are waited for
_LONGEST_WAIT = 30.0  # seconds; who asks for a longer wait is not waited for
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
    concurrency: int = 4,
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
        batch: Texts in one request at most; fewer while the server refuses or is too slow.
        concurrency: Requests for passages at once at most.
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
        concurrency=concurrency,
    )
    if dimension is None:
        try:
            encoder.measure()
        except EncoderError:
            encoder.close()
            raise
    return encoder


class HttpEncoder:
    """Text → vectors over HTTP; made by `open_http`. Thread-safe."""

    def __init__(
        self, server: JsonEndpoint, fingerprint: EncoderFingerprint, *, batch: int, concurrency: int
    ) -> None:
        self.fingerprint = fingerprint
        self.component = server.component
        self._server, self._batch = server, batch
        self._pace = RequestPace(batch, concurrency)

    def measure(self) -> None:
        """Determine the dimension of the vectors, and check that different texts get different vectors."""
        rows = self._ask(_PROBES, None)
        dimension = len(rows[0]) if isinstance(rows[0], list) else 0
        checked_vectors(rows, len(rows), dimension, self.component, texts=_PROBES)
        self.fingerprint = replace(self.fingerprint, dimension=dimension)

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        """Unit vectors of queries.

        Raises:
            EncoderTimeout: the deadline passed, or the server took too long.
            EncoderUnavailable: it cannot be reached, refused, or answered something else than embeddings.
            VectorRejected: it answered with something that is no vector.
        """
        dimension = self.fingerprint.dimension
        parts = [np.zeros((0, dimension), np.float32)]
        for start in range(0, len(texts), self._batch):
            part = texts[start : start + self._batch]
            rows = self._ask([self.fingerprint.query_prefix + text for text in part], deadline)
            parts.append(checked_vectors(rows, len(part), dimension, self.component, texts=part))
        return np.concatenate(parts)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        """Unit vectors of passages. Where the server refuses or is late, it is asked for less, and later.

        Raises:
            EncoderError: as of queries, after `_PATIENCE` refusals of one batch in a row.
        """
        dimension, prefix = self.fingerprint.dimension, self.fingerprint.passage_prefix
        parts, start, patience = [np.zeros((0, dimension), np.float32)], 0, _PATIENCE
        written = [prefix + as_written(text) for text in texts]
        while start < len(written):
            part = written[start : start + self._pace.size]
            rows = self._passages(part, last=not patience)
            if rows is None:
                patience -= 1
                if progress:
                    progress(0)
                continue
            parts.append(checked_vectors(rows, len(part), dimension, self.component, texts=part))
            start, patience = start + len(part), _PATIENCE
            if progress:
                progress(len(part))
        return np.concatenate(parts)

    def _passages(self, part: Sequence[str], *, last: bool) -> list[Any] | None:
        """Raw vectors of one batch; None where the server refused it and is to be asked again, for less.

        Args:
            last: A refusal is raised.
        """
        with self._pace.request():
            try:
                rows = self._ask(part, None, told=() if last else _TOO_MUCH)
            except NotUnderstood as refusal:
                if refusal.wait > _LONGEST_WAIT or (refusal.status == _TOO_LARGE and len(part) == 1):
                    return self._ask(part, None)
                self._pace.refused(refusal.wait)
                return None
            except EncoderTimeout:
                if last or len(part) == 1:
                    raise
                self._pace.refused()
                return None
        self._pace.answered()
        return rows

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def _ask(self, texts: Sequence[str], deadline: Deadline | None, *, told: Collection[int] = ()) -> list[Any]:
        """One batch: raw vectors in the order of the texts; NotUnderstood for a status of `told`."""
        body = {"model": self.fingerprint.id, "input": list(texts), "encoding_format": "float"}
        return _rows(self._server.ask(body, deadline, told=told), len(texts), self.component)


def _rows(answer: Any, count: int, component: str) -> list[Any]:
    """The vectors of a response, sorted by their indexes."""
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

_RERANKER = EndpointKind("reranker", RerankerUnavailable, RerankerTimeout)
_VERSIONS: Mapping[Dialect, str] = {"jina": "/v1", "cohere": "/v2", "tei": ""}


class HttpReranker:
    """(query, text) → probability over HTTP. Thread-safe.

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
        """The probability of each text that it answers the query.

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
    """Raw scores of a response, in the order of the texts."""
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
