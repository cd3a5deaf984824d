"""Calls on documents for programs that await.

Made of `client.documents` by ``scripts/make_async_client.py``; what is written here by hand is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from wenyuan.client.async_calls import AsyncCalls
from wenyuan.client.calls import with_query
from wenyuan.client.documents import _listed, _of_a_source, form_of


class AsyncDocumentCalls(AsyncCalls):
    """Document calls, mixed into `Client`."""

    async def upload(
        self, source_id: str, files: Mapping[str, bytes], *, readers: Sequence[str] = (), deny: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Upload files (name → content) to a source without a path; ``files`` has the result of each, ``report`` the
        totals.

        Args:
            readers, deny: Who may read them, ``user:li`` or ``group:hr``, and who may not; of a file that was there before,
                none given leaves what was said.

        When all is read this returns: give the client a `timeout` that is long enough.
        """
        body, kind = form_of(files, readers=readers, deny=deny)
        return await self._send(
            "POST", f"/v1/sources/{quote(source_id, safe='')}/documents", body, kind, _of_a_source
        )

    async def replace_document(self, document_id: int, name: str, content: bytes) -> Mapping[str, Any]:
        """Upload a new version of an uploaded document; returns as `upload`."""
        body, kind = form_of({name: content})
        return await self._send("PUT", f"/v1/documents/{int(document_id)}", body, kind, _of_a_source)

    async def delete_document(self, document_id: int) -> Mapping[str, Any]:
        """Delete an uploaded file and all documents read from it; ``documents`` is their number."""
        path = f"/v1/documents/{int(document_id)}"
        return await self._send("DELETE", path, b"", "application/octet-stream", _of_a_source)

    async def move_document(self, document_id: int, to: str) -> Mapping[str, Any]:
        """Move an uploaded document to another source of uploads; ``documents`` are its numbers there."""
        return await self._call("POST", f"/v1/documents/{int(document_id)}/move", _of_a_source, {"to": to}, (to,))

    async def original(self, document_id: int) -> bytes:
        """The file that a document was read from, if access is allowed and it is unchanged."""
        return await self._fetch(f"/v1/documents/{int(document_id)}/original")

    async def page_picture(self, document_id: int, page: int, *, width: int | None = None) -> bytes:
        """A page of the original as PNG, about `width` pixels wide."""
        return await self._fetch(with_query(f"/v1/documents/{int(document_id)}/pages/{int(page)}", {"width": width}))

    async def documents(
        self,
        *,
        source: str | None = None,
        state: str | None = None,
        q: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> Mapping[str, Any]:
        """``documents`` by source and address, including failures, and ``next``, the value for `after`; None on the
        last page.

        Args:
            state: ``live``, ``not_yet``, ``expired``, ``superseded`` or ``failed``.
            q: What title or address must hold.
        """
        given = {"source": source, "state": state, "q": q, "after": after, "limit": limit}
        return await self._call("GET", with_query("/v1/documents", given), _listed("documents"))

    async def document(self, document_id: int) -> Mapping[str, Any]:
        """One document with its notes; ``fidelity`` tells how completely it was read."""
        return await self._call("GET", f"/v1/documents/{int(document_id)}", _of_a_source)

    async def document_passages(
        self, document_id: int, *, after: int | None = None, limit: int | None = None
    ) -> Mapping[str, Any]:
        """``passages`` of a document in order with their place on the page, and ``next``, the value for `after`."""
        path = f"/v1/documents/{int(document_id)}/passages"
        return await self._call("GET", with_query(path, {"after": after, "limit": limit}), _listed("passages"))

    async def correct(
        self,
        action: str,
        ref: str | None = None,
        *,
        document_id: int | None = None,
        text: str | None = None,
        questions: Sequence[str] | None = None,
        at: int | None = None,
        joined_with: str | None = None,
        heading: str | None = None,
        reason: str | None = None,
    ) -> Mapping[str, Any]:
        """Correct a passage (``exclude``, ``questions``, ``text``, ``split``, ``join``, ``heading``), or exclude a document; returns
        the correction.

        Args:
            text: Of ``text``, what it reads; of ``heading``, how the heading reads, ``""`` where it is none.
            heading: Of ``heading``, which of the passage's headings; without, the one right above it.
            at: Of ``split``, the offset in its text where the second part begins.
            joined_with: Of ``join``, the ref of the passage right behind it.
        """
        asked = {
            "action": action,
            "ref": ref,
            "document_id": document_id,
            "text": text,
            "questions": None if questions is None else list(questions),
            "at": at,
            "with": joined_with,
            "heading": heading,
            "reason": reason,
        }
        return await self._call("POST", "/v1/corrections", _of_a_source, asked, (text or "", *(questions or ())))

    async def corrections(
        self,
        *,
        document_id: int | None = None,
        source: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> Mapping[str, Any]:
        """``corrections``, newest first, including undone ones, and ``next``, the value for `before`; None on the
        last page.
        """
        given = {"document_id": document_id, "source": source, "before": before, "limit": limit}
        return await self._call("GET", with_query("/v1/corrections", given), _listed("corrections"))

    async def undo_correction(self, correction_id: int) -> Mapping[str, Any]:
        """Undo a correction and restore what was served before."""
        return await self._call("DELETE", f"/v1/corrections/{int(correction_id)}", _of_a_source)


__all__ = ["AsyncDocumentCalls"]
