"""An encoder behind HTTP: any server that speaks OpenAI's ``POST /v1/embeddings``.

The server is not trusted (see `posting`): its answer is checked in form and put in order, and its vectors are checked
like everybody's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderError, EncoderUnavailable, VectorRejected
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline
from wenyuan.core.vectors import checked_vectors
from wenyuan.encoders.posting import ENCODER, JsonEndpoint, address

__all__ = ["HttpEncoder", "open_http"]

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
        raise VectorRejected(f"{count} texts went in, {len(entries)} vectors came out", component=component)
    by_index = {entry.get("index"): entry.get("embedding") for entry in entries if _is_index(entry)}
    if set(by_index) != set(range(count)):
        raise VectorRejected(f"the indexes of the answer are not 0 to {count - 1}", component=component)
    return [by_index[i] for i in range(count)]


def _is_index(entry: dict[str, Any]) -> bool:
    return type(entry.get("index")) is int
