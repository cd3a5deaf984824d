"""An adapter says what a retriever says, in the words of the contract, and repairs nothing.

What has no score gets none, too many results stay too many, an empty list stays an empty success. Raising is a
framework's only word for failure, so whatever it raises is FAILED, but for ``TypeError`` and ``ValueError``, with
which it refuses a request.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wenyuan.conformance.http_target import HttpTarget
from wenyuan.conformance.python_target import PythonTarget
from wenyuan.conformance.targets import Answer
from wenyuan.core.errors import ConfigError, InvalidRequest, msg

Headers = Mapping[str, str]
Way = Callable[[Mapping[str, Any], Headers], Iterable[Mapping[str, Any]]]
"""Asks a retriever: members of a request, further headers → fragments."""

KEY = "WENYUAN_ADAPTER_KEY"
"""Environment variable with the bearer token for an adapter that is given a URL."""


class AdapterTarget:
    """A retriever of another protocol as a `Target`.

    Args:
        kind: One of `ADAPTERS`.
        spec: ``module:factory`` for frameworks, a URL for services.

    Raises:
        ConfigError: nothing there.
    """

    takes_bytes = False

    def __init__(self, kind: str, spec: str) -> None:
        if kind not in ADAPTERS:
            raise ConfigError(
                msg("there is no adapter {kind}: {adapters}", kind=repr(kind), adapters=", ".join(ADAPTERS))
            )
        self._way = ADAPTERS[kind](spec)
        self.takes_headers = kind in SERVICES  # so that a fault header reaches them
        self.name = f"{kind} {spec}"

    def ask(self, request: Mapping[str, Any], headers: Headers | None = None) -> Answer:
        """The retriever's response to a request, valid or not."""
        try:
            fragments = list(self._way(request, headers or {}))
        except (TypeError, ValueError, InvalidRequest) as error:
            return Answer(400, None, msg("{kind}: {error}", kind=type(error).__name__, error=error), by_http=False)
        except Exception as error:  # whatever it is: the framework has no other word for failure
            body: dict[str, Any] = {"status": "FAILED", "fragments": [], "error_message": _error_text(error)}
        else:
            body = {"status": "SUCCESS", "fragments": fragments}
        return Answer(200, body, repr(body), by_http=False)

    def send(self, body: bytes, headers: Headers) -> Answer:
        """Bytes cannot be sent through an adapter.

        Raises:
            TypeError: always.
        """
        raise TypeError("an adapter takes values, not bytes")

    def close(self) -> None:
        """Does nothing: no connection is kept open."""


def _error_text(error: Exception) -> str:
    return msg("{kind}: {error}", kind=type(error).__name__, error=error)


def _fragment(content: object, metadata: Mapping[str, Any], score: object, source: object) -> dict[str, Any]:
    """A fragment from the available values; missing members are left out, for the cases to find."""
    told = {"source": source, "content": content, "retrieval_score": score}
    return {name: value for name, value in told.items() if value is not None} | {"metadata": dict(metadata)}


def _langchain(spec: str) -> Way:
    retriever = PythonTarget.made(spec)

    def ask(request: Mapping[str, Any], _headers: Headers) -> Iterable[Mapping[str, Any]]:
        for document in retriever.invoke(request.get("query"), k=request.get("max_results")):
            told = document.metadata
            score = told.get("retrieval_score", told.get("score", told.get("relevance_score")))
            yield _fragment(document.page_content, told, score, told.get("source"))

    return ask


def _llamaindex(spec: str) -> Way:
    retriever = PythonTarget.made(spec)

    def ask(request: Mapping[str, Any], _headers: Headers) -> Iterable[Mapping[str, Any]]:
        for found in retriever.retrieve(request.get("query")):
            told = found.node.metadata
            yield _fragment(found.node.get_content(), told, found.score, told.get("source", told.get("file_path")))

    return ask


def _haystack(spec: str) -> Way:
    component = PythonTarget.made(spec)
    warm_up = getattr(component, "warm_up", None)
    if callable(warm_up):
        warm_up()

    def ask(request: Mapping[str, Any], _headers: Headers) -> Iterable[Mapping[str, Any]]:
        for document in component.run(query=request.get("query"), top_k=request.get("max_results"))["documents"]:
            told = document.meta
            yield _fragment(document.content, told, document.score, told.get("source", told.get("file_path")))

    return ask


def _dify(url: str) -> Way:
    def ask(request: Mapping[str, Any], headers: Headers) -> Iterable[Mapping[str, Any]]:
        setting = {"top_k": request.get("max_results"), "score_threshold": 0.0}
        body = {"knowledge_id": os.environ.get("WENYUAN_ADAPTER_KNOWLEDGE", "all"), "retrieval_setting": setting}
        answer = _posted(f"{url.rstrip('/')}/retrieval", {**body, **_query(request)}, headers)
        for record in _list(answer, "records"):
            told = record.get("metadata") or {}
            yield _fragment(record.get("content"), told, record.get("score"), told.get("source"))

    return ask


def _lightrag(url: str) -> Way:
    def ask(request: Mapping[str, Any], headers: Headers) -> Iterable[Mapping[str, Any]]:
        body = {"mode": "mix", "top_k": request.get("max_results"), "chunk_top_k": request.get("max_results")}
        answer = _posted(f"{url.rstrip('/')}/query/data", {**body, **_query(request)}, headers)
        if answer.get("status") != "success":
            raise RuntimeError(str(answer.get("message") or answer))
        for chunk in _list(answer.get("data"), "chunks"):
            yield _fragment(chunk.get("content"), chunk, chunk.get("score"), chunk.get("file_path"))

    return ask


def _query(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"query": request["query"]} if "query" in request else {}


def _posted(url: str, body: Mapping[str, Any], headers: Headers) -> Mapping[str, Any]:
    """The JSON object a service responds with.

    Raises:
        ValueError: it refuses the request (4xx).
        RuntimeError: it has no answer.
    """
    token = os.environ.get(KEY)
    sent = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {}), **headers}
    answer = HttpTarget(url).send(json.dumps(body).encode(), sent)
    if answer.refused:
        raise ValueError(str(answer))
    if not answer.returned or not isinstance(answer.body, dict):
        raise RuntimeError(str(answer))
    return answer.body


def _list(holder: object, name: str) -> list[Mapping[str, Any]]:
    found = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise RuntimeError(f"the answer has no array {name!r}")
    return found


SERVICES = frozenset(("dify", "lightrag"))
"""The adapters that are given a URL."""

ADAPTERS: Mapping[str, Callable[[str], Way]] = {
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "haystack": _haystack,
    "dify": _dify,
    "lightrag": _lightrag,
}

__all__ = ["ADAPTERS", "AdapterTarget"]
