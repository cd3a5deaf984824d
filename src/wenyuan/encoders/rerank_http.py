"""A reranker behind HTTP: ``POST /rerank`` as Jina, Cohere and Text Embeddings Inference (TEI) speak it.

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

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2

from wenyuan.core.errors import ConfigError, RerankerTimeout, RerankerUnavailable, ScoresRejected
from wenyuan.core.ports import Deadline
from wenyuan.core.rerank import checked_scores
from wenyuan.encoders.posting import JsonEndpoint, Kind, address

__all__ = ["Dialect", "HttpReranker"]

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
            raise ConfigError(f"a reranker of the dialect {dialect} needs reranker.model", component="settings")
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
        raise ScoresRejected(f"{count} texts went in, {len(answer)} scores came out", component=component)
    name = "score" if dialect == "tei" else "relevance_score"
    by_index = {entry.get("index"): entry.get(name) for entry in answer if type(entry.get("index")) is int}
    if set(by_index) != set(range(count)):
        raise ScoresRejected(f"the indexes of the answer are not 0 to {count - 1}", component=component)
    return [by_index[place] for place in range(count)]
