"""Client calls on documents: lists, reading quality, passages, uploads and corrections.

>>> from wenyuan.client import Client
>>> with Client("http://127.0.0.1:8765", key="…") as client:
...     for document in client.documents(source="policies")["documents"]:
...         print(document["title"], document["state"], document["fidelity"])
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from wenyuan.client.calls import Calls, with_query
from wenyuan.core.errors import InvalidRequest, msg

_ESCAPED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # as browsers do


class DocumentCalls(Calls):
    """Document calls, mixed into `Client`."""

    def upload(
        self,
        source_id: str,
        files: Mapping[str, bytes],
        *,
        readers: Sequence[str] = (),
        deny: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """Upload files (name → content) to a source without a path; ``files`` has the result of each, ``report`` the
        totals.

        Args:
            readers, deny: Who may read them, ``user:li`` or ``group:hr``, and who may not; of a file that was there before,
                none given leaves what was said.

        When all is read this returns: give the client a `timeout` that is long enough.
        """
        body, kind = form_of(files, readers=readers, deny=deny)
        return self._send("POST", f"/v1/sources/{quote(source_id, safe='')}/documents", body, kind, _of_a_source)

    def replace_document(self, document_id: int, name: str, content: bytes) -> Mapping[str, Any]:
        """Upload a new version of an uploaded document; returns as `upload`."""
        body, kind = form_of({name: content})
        return self._send("PUT", f"/v1/documents/{int(document_id)}", body, kind, _of_a_source)

    def delete_document(self, document_id: int) -> Mapping[str, Any]:
        """Delete an uploaded file and all documents read from it; ``documents`` is their number."""
        path = f"/v1/documents/{int(document_id)}"
        return self._send("DELETE", path, b"", "application/octet-stream", _of_a_source)

    def move_document(self, document_id: int, to: str) -> Mapping[str, Any]:
        """Move an uploaded document to another source of uploads; ``documents`` are its numbers there."""
        return self._call("POST", f"/v1/documents/{int(document_id)}/move", _of_a_source, {"to": to}, (to,))

    def original(self, document_id: int) -> bytes:
        """The file that a document was read from, if access is allowed and it is unchanged."""
        return self._fetch(f"/v1/documents/{int(document_id)}/original")

    def page_picture(self, document_id: int, page: int, *, width: int | None = None) -> bytes:
        """A page of the original as PNG, about `width` pixels wide."""
        return self._fetch(with_query(f"/v1/documents/{int(document_id)}/pages/{int(page)}", {"width": width}))

    def documents(
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
        return self._call("GET", with_query("/v1/documents", given), _listed("documents"))

    def document(self, document_id: int) -> Mapping[str, Any]:
        """One document with its notes; ``fidelity`` tells how completely it was read."""
        return self._call("GET", f"/v1/documents/{int(document_id)}", _of_a_source)

    def document_passages(
        self, document_id: int, *, after: int | None = None, limit: int | None = None
    ) -> Mapping[str, Any]:
        """``passages`` of a document in order with their place on the page, and ``next``, the value for `after`."""
        path = f"/v1/documents/{int(document_id)}/passages"
        return self._call("GET", with_query(path, {"after": after, "limit": limit}), _listed("passages"))

    def correct(  # noqa: PLR0913  (each is a member of the request)
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
            "action": action, "ref": ref, "document_id": document_id, "text": text,
            "questions": None if questions is None else list(questions), "at": at, "with": joined_with,
            "heading": heading, "reason": reason,
        }  # fmt: skip
        return self._call("POST", "/v1/corrections", _of_a_source, asked, (text or "", *(questions or ())))

    def corrections(
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
        return self._call("GET", with_query("/v1/corrections", given), _listed("corrections"))

    def undo_correction(self, correction_id: int) -> Mapping[str, Any]:
        """Undo a correction and restore what was served before."""
        return self._call("DELETE", f"/v1/corrections/{int(correction_id)}", _of_a_source)


def form_of(
    files: Mapping[str, bytes], *, readers: Sequence[str] = (), deny: Sequence[str] = ()
) -> tuple[bytes, str]:
    """A multipart form with files (name → content) and who may read them, and its Content-Type (RFC 7578)."""
    fence = secrets.token_hex(16)
    parts = []
    for field, names in (("readers", readers), ("deny", deny)):
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise InvalidRequest(msg("{name} must be a list of names", name=field))
        head = b'--%b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n' % (fence.encode(), field.encode())
        parts += [head, ",".join(names).encode(), b"\r\n"] if names else []
    for name, content in files.items():
        said = name.translate(_ESCAPED).encode("utf-8", "replace")
        head = b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n\r\n'
        parts += [head % (fence.encode(), said), content, b"\r\n"]
    return b"".join([*parts, f"--{fence}--\r\n".encode()]), f"multipart/form-data; boundary={fence}"


def _of_a_source(body: Mapping[str, Any]) -> Mapping[str, Any]:
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
