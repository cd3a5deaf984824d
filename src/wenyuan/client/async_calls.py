"""Calls on rules and documents for programs that await.

Made of `client.rules` by ``scripts/make_async_client.py``; what is written here by hand is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

from wenyuan.client.rules import (
    Rules,
    T,
    United,
    _changed,
    _listed,
    _names,
    _of_a_source,
    _whole,
    form_of,
    read_rules,
    read_united,
    with_query,
)
from wenyuan.core.contract import named_twice


class AsyncCalls:
    """The methods of `Client` that its mixin classes use.

    Every call raises `InvalidRequest`, `NotPermitted` or `RetrievalFailed` as `Client.retrieve_fragments` does.
    """

    async def _call(
        self,
        method: str,
        path: str,
        read: Callable[[Mapping[str, Any]], T],
        members: Mapping[str, Any] | None = None,
        secrets: Sequence[str] = (),
        timeout: float | None = None,
    ) -> T:
        raise NotImplementedError

    async def _send(
        self, method: str, path: str, body: bytes, kind: str, read: Callable[[Mapping[str, Any]], T]
    ) -> T:
        raise NotImplementedError

    async def _fetch(self, path: str) -> bytes:
        raise NotImplementedError


class AsyncRulesCalls(AsyncCalls):
    """Rules calls, mixed into `Client`."""

    async def retrieve(
        self,
        query: str,
        *,
        chapter: str | None = None,
        engineering_type: str | None = None,
        processes: str | Sequence[str] | None = None,
        parameters: Mapping[str, str | int | float | bool] | None = None,
        limit: int | None = None,
        threshold: float | None = None,
    ) -> United:
        """Rules where the chapter requires them, then similar cases, then templates, from ``/v1/retrieve``.

        Args:
            processes: Names, or one name; None to have them recognised in the query. None given asks for no rules.
            parameters: What the conditions of rules are checked with, such as ``{"depth_m": 6}``.
            limit: How many cases; templates have places of their own. `threshold` (0..1): the least score of one.
        """
        asked = {
            "query": query,
            "chapter": chapter,
            "engineering_type": engineering_type,
            "processes": _names(processes),
            "parameters": dict(parameters or {}),
            "limit": limit,
            "threshold": threshold,
        }
        return await self._call("POST", "/v1/retrieve", read_united, asked, (query,))

    async def infer_rules(
        self,
        processes: str | Sequence[str] | None = None,
        *,
        context: str | None = None,
        query: str | None = None,
        engineering_type: str | None = None,
        parameters: Mapping[str, str | int | float | bool] | None = None,
        link: Literal["words", "llm"] = "words",
    ) -> Rules:
        """The rules that apply to processes, given or recognised in `context`, from ``/v1/infer_rules``.

        Args:
            query: The same as `context`.
            link: How they are recognised: by words, or the service's language model chooses among the graph's names.
        """
        names, text = (_names(processes), named_twice("context", context, query))
        asked = {
            "context": text,
            "processes": names,
            "engineering_type": engineering_type,
            "parameters": dict(parameters or {}),
            "link": None if link == "words" else link,
        }
        return await self._call("POST", "/v1/infer_rules", read_rules, asked, (text or "", *(names or ())))

    async def rules(
        self, text: str | None = None, *, kind: str | None = None, limit: int | None = None, after: int | None = None
    ) -> Mapping[str, Any]:
        """Counts, packs and schema of the graph; with any argument, its nodes (and ``next``, the value for `after`)."""
        given = {"q": text, "kind": kind, "limit": limit, "after": after}
        return await self._call("GET", with_query("/v1/rules", given), _whole)

    async def proposed_rules(self, *, limit: int | None = None, after: int | None = None) -> Mapping[str, Any]:
        """Statements waiting for review (and ``next``, the value for `after`)."""
        return await self._call("GET", with_query("/v1/rules/review", {"limit": limit, "after": after}), _whole)

    async def propose_rules(
        self,
        source: str,
        *,
        limit: int | None = None,
        tokens: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Mapping[str, Any]:
        """Have the service's language model read a part of a source for rules; what passes the checks waits for review.

        Returns:
            The report: ``proposed`` and ``refused`` with their quotes, ``left``: clauses for further calls.

        Args:
            limit: Clauses to read at most, 1-50; 20 by default. `tokens`: to use at most. `dry_run`: keeps nothing.
            timeout: Seconds for this call: a model takes longer than a search. By default those of the client.
        """
        asked = {"source": source, "limit": limit, "tokens": tokens, "dry_run": dry_run}
        return await self._call("POST", "/v1/rules/propose", _whole, asked, timeout=timeout)

    async def review_rules(
        self, statement_ids: Sequence[int] | str, action: Literal["approve", "reject", "retire"], *, reason: str = ""
    ) -> int:
        """Review statements, all or none; returns how many changed status.

        Args:
            statement_ids: Numbers; or a text such as ``1-50`` or ``all`` for what waits, a thousand at a time.
        """
        numbers = statement_ids if isinstance(statement_ids, str) else list(statement_ids)
        asked = {"statement_ids": numbers, "action": action, "reason": reason}
        return await self._call("POST", "/v1/rules/review", _changed, asked)

    async def import_rules(
        self,
        *,
        path: str | None = None,
        pack: str | None = None,
        dry_run: bool = False,
        default_source: str | None = None,
        status: Literal["approved", "proposed"] | None = None,
    ) -> Mapping[str, Any]:
        """Import a file or folder on the server, or a pack shipped with it; returns the report.

        ``complete`` there is False when anything was refused; ``faults`` says what and where.
        """
        asked = {"path": path, "pack": pack, "dry_run": dry_run, "default_source": default_source, "status": status}
        return await self._call("POST", "/v1/rules/import", _whole, asked)


class AsyncDocumentCalls(AsyncCalls):
    """Document calls, mixed into `Client`."""

    async def upload(self, source_id: str, files: Mapping[str, bytes]) -> Mapping[str, Any]:
        """Upload files (name → content) to a source without a path; ``files`` has the result of each, ``report`` the
        totals.

        When all is read this returns: give the client a `timeout` that is long enough.
        """
        body, kind = form_of(files)
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


__all__ = ["AsyncDocumentCalls", "AsyncRulesCalls"]
