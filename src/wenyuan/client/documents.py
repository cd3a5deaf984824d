"""Documents from the caller's side: lists of them, how each was read, and its passages.

>>> from wenyuan.client import Client
>>> with Client("http://127.0.0.1:8765", key="…") as client:  # doctest: +SKIP
...     for document in client.documents(source="policies")["documents"]:
...         print(document["title"], document["state"], document["fidelity"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

T = TypeVar("T")


class DocumentCalls:
    """Mixed into `Client`. Every call raises `InvalidRequest`, `NotPermitted` or `RetrievalFailed` as it says there."""

    def _call(
        self,
        method: str,
        path: str,
        read: Callable[[Mapping[str, Any]], T],
        members: Mapping[str, Any] | None = None,
        secrets: Sequence[str] = (),
    ) -> T:
        raise NotImplementedError

    def documents(
        self,
        *,
        source: str | None = None,
        state: str | None = None,
        q: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Mapping[str, Any]:
        """``documents`` by source and address, failures among them, and ``next``, for `after`; None on the last page.

        Args:
            state: ``live``, ``not_yet``, ``expired``, ``superseded`` or ``failed``.
            q: What title or address must hold.
        """
        given = {"source": source, "state": state, "q": q, "after": after, "limit": limit}
        return self._call("GET", with_query("/v1/documents", given), _listed("documents"))

    def document(self, document_id: int) -> Mapping[str, Any]:
        """One document, with its notes, and in ``fidelity`` how it was read."""
        return self._call("GET", f"/v1/documents/{int(document_id)}", _whole)

    def document_passages(
        self, document_id: int, *, after: int | None = None, limit: int | None = None
    ) -> Mapping[str, Any]:
        """``passages`` of a document in its order, with where they stand on its pages, and ``next``, for `after`."""
        path = f"/v1/documents/{int(document_id)}/passages"
        return self._call("GET", with_query(path, {"after": after, "limit": limit}), _listed("passages"))


def with_query(path: str, parameters: Mapping[str, Any]) -> str:
    """A path with those parameters that are given."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _whole(body: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(body.get("source_id"), str):
        raise ValueError("source_id is no string")
    return body


def _listed(name: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    def read(body: Mapping[str, Any]) -> Mapping[str, Any]:
        entries = body.get(name)
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise ValueError(f"{name} is no array of objects")
        return body

    return read
