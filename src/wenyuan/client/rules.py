"""Client calls on rules (unified retrieval, inference, maintenance) and on documents (lists, passages, uploads,
corrections).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

from wenyuan.core.contract import named_twice

__all__ = ["Item", "Rules", "RulesCalls", "United", "read_rules", "read_united"]


# The base of the classes that add calls to `Client`.

T = TypeVar("T")


class Calls:
    """The methods of `Client` that its mixin classes use.

    Every call raises `InvalidRequest`, `NotPermitted` or `RetrievalFailed` as `Client.retrieve_fragments` does.
    """

    def _call(
        self,
        method: str,
        path: str,
        read: Callable[[Mapping[str, Any]], T],
        members: Mapping[str, Any] | None = None,
        secrets: Sequence[str] = (),
        timeout: float | None = None,
    ) -> T:
        raise NotImplementedError

    def _send(self, method: str, path: str, body: bytes, kind: str, read: Callable[[Mapping[str, Any]], T]) -> T:
        raise NotImplementedError

    def _fetch(self, path: str) -> bytes:
        raise NotImplementedError


def with_query(path: str, parameters: Mapping[str, Any]) -> str:
    """A path with the non-None query parameters."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


# Client calls on rules: unified retrieval, inference, and maintenance.
#
# >>> from wenyuan.client import Client
# >>> with Client("http://127.0.0.1:8765") as client:
# ...     for item in client.retrieve("深基坑开挖的安全措施", parameters={"depth_m": 6}).regulations:
# ...         print(item.score, item.content)

Origin = Literal["kg_rule", "vector", "template"]
_ORIGINS = ("kg_rule", "vector", "template")
_LAST_PRIORITY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One result.

    Attributes:
        source: ``kg_rule`` (a rule), ``vector`` (a similar case) or ``template``.
        priority: 1 (a rule) to 4; lower goes first.
        score: 0..1.
        metadata: ``uri``, ``trust``; of a rule also ``path``, ``evidence``, ``strength``, ``condition_state`` …
    """

    content: str
    source: Origin
    priority: int
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class United:
    """The result of unified retrieval.

    Attributes:
        items: All, by priority, then falling score.
        regulations: Those of them that are rules.
        cases: Those of them that are similar cases; templates are in `items` alone.
        query_context: What was recognised, which engines answered, what was left out and why.
    """

    items: tuple[Item, ...]
    regulations: tuple[Item, ...] = ()
    cases: tuple[Item, ...] = ()
    query_context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Engines that failed though the answer stands without them."""
        return tuple(self.query_context.get("degraded", ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules that apply, best first.

    Attributes:
        recognised: What of the graph was found in the text or by the names.
        unmatched_processes: Names that the graph does not know: not the same as having no rules.
        truncated: Limits that cut the answer.
        notes: What else the caller should know, such as a parameter that no condition asks for.
        reason: Why there are none, when there are none.
    """

    items: tuple[Item, ...]
    recognised: tuple[Mapping[str, Any], ...] = ()
    unmatched_processes: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    audit_id: str = ""


def read_united(body: Mapping[str, Any]) -> United:
    """Parse a successful unified answer; ValueError when it breaks the contract."""
    items = _items(body, "items")
    order = [(item.priority, -item.score) for item in items]
    if order != sorted(order):
        raise ValueError("items do not stand by priority and falling score")
    return United(
        items=items,
        regulations=_items(body, "regulations"),
        cases=_items(body, "cases"),
        query_context=object_in(body, "query_context"),
    )


def read_rules(body: Mapping[str, Any]) -> Rules:
    """Parse successfully inferred rules; ValueError when they break the contract."""
    recognised = _list(body, "recognised")
    if not all(isinstance(one, dict) for one in recognised):
        raise ValueError("recognised is no array of objects")
    reason, audit_id = body.get("reason", ""), body.get("audit_id", "")
    if not isinstance(reason, str) or not isinstance(audit_id, str):
        raise ValueError("reason or audit_id is no string")
    return Rules(
        items=_items(body, "items"),
        recognised=tuple(recognised),
        unmatched_processes=_texts(body, "unmatched_processes"),
        truncated=_texts(body, "truncated"),
        notes=_texts(body, "notes"),
        reason=reason,
        audit_id=audit_id,
    )


def _whole(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return body


def _changed(body: Mapping[str, Any]) -> int:
    if type(changed := body.get("changed")) is not int or changed < 0:
        raise ValueError("changed is no count")
    return changed


def object_in(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under a name of a reply; ValueError when it is none."""
    value = body.get(name)
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _list(body: Mapping[str, Any], name: str) -> list[Any]:
    value = body.get(name)
    if not isinstance(value, list):
        raise ValueError(f"{name} is no array")
    return value


def _texts(body: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = _list(body, name)
    if not all(isinstance(text, str) for text in found):
        raise ValueError(f"{name} is no array of strings")
    return tuple(found)


def _items(body: Mapping[str, Any], name: str) -> tuple[Item, ...]:
    if body.get("status") != "SUCCESS":
        raise ValueError("status is not SUCCESS")
    return tuple(_item(entry, f"{name}[{at}]") for at, entry in enumerate(_list(body, name)))


def _item(entry: Any, where: str) -> Item:
    if not isinstance(entry, dict):
        raise ValueError(f"{where} is no object")
    content, source, priority = entry.get("content"), entry.get("source"), entry.get("priority")
    score, metadata = entry.get("score"), entry.get("metadata")
    if not isinstance(content, str) or not content.strip():
        raise ValueError(f"{where}.content is no text")
    if source not in _ORIGINS:
        raise ValueError(f"{where}.source is none of {', '.join(_ORIGINS)}")
    if type(priority) is not int or not 1 <= priority <= _LAST_PRIORITY:
        raise ValueError(f"{where}.priority is no integer from 1 to {_LAST_PRIORITY}")
    if not isinstance(score, (int, float)) or isinstance(score, bool) or not 0.0 <= score <= 1.0:  # NaN is not
        raise ValueError(f"{where}.score is no number from 0 to 1")
    if not isinstance(metadata, dict):
        raise ValueError(f"{where}.metadata is no object")
    return Item(content=content, source=source, priority=priority, score=float(score), metadata=metadata)


class RulesCalls(Calls):
    """Rules calls, mixed into `Client`."""

    def retrieve(
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
            "query": query, "chapter": chapter, "engineering_type": engineering_type,
            "processes": _names(processes),
            "parameters": dict(parameters or {}), "limit": limit, "threshold": threshold,
        }  # fmt: skip
        return self._call("POST", "/v1/retrieve", read_united, asked, (query,))

    def infer_rules(
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
        names, text = _names(processes), named_twice("context", context, query)
        asked = {
            "context": text, "processes": names, "engineering_type": engineering_type,
            "parameters": dict(parameters or {}), "link": None if link == "words" else link,
        }  # fmt: skip
        return self._call("POST", "/v1/infer_rules", read_rules, asked, (text or "", *(names or ())))

    def rules(
        self,
        text: str | None = None,
        *,
        kind: str | None = None,
        limit: int | None = None,
        after: int | None = None,
    ) -> Mapping[str, Any]:
        """Counts, packs and schema of the graph; with any argument, its nodes (and ``next``, the value for `after`)."""
        given = {"q": text, "kind": kind, "limit": limit, "after": after}
        return self._call("GET", with_query("/v1/rules", given), _whole)

    def proposed_rules(self, *, limit: int | None = None, after: int | None = None) -> Mapping[str, Any]:
        """Statements waiting for review (and ``next``, the value for `after`)."""
        return self._call("GET", with_query("/v1/rules/review", {"limit": limit, "after": after}), _whole)

    def propose_rules(
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
        return self._call("POST", "/v1/rules/propose", _whole, asked, timeout=timeout)

    def review_rules(
        self, statement_ids: Sequence[int] | str, action: Literal["approve", "reject", "retire"], *, reason: str = ""
    ) -> int:
        """Review statements, all or none; returns how many changed status.

        Args:
            statement_ids: Numbers; or a text such as ``1-50`` or ``all`` for what waits, a thousand at a time.
        """
        numbers = statement_ids if isinstance(statement_ids, str) else list(statement_ids)
        asked = {"statement_ids": numbers, "action": action, "reason": reason}
        return self._call("POST", "/v1/rules/review", _changed, asked)

    def import_rules(
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
        asked = {
            "path": path, "pack": pack, "dry_run": dry_run, "default_source": default_source, "status": status,
        }  # fmt: skip
        return self._call("POST", "/v1/rules/import", _whole, asked)


def _names(processes: str | Sequence[str] | None) -> list[str] | None:
    """A list of names; a plain string is one name."""
    if processes is None:
        return None
    return [processes] if isinstance(processes, str) else list(processes)


# Client calls on documents: lists, reading quality, passages, uploads and corrections.
#
# >>> from wenyuan.client import Client
# >>> with Client("http://127.0.0.1:8765", key="…") as client:
# ...     for document in client.documents(source="policies")["documents"]:
# ...         print(document["title"], document["state"], document["fidelity"])

_ESCAPED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # as browsers do


class DocumentCalls(Calls):
    """Document calls, mixed into `Client`."""

    def upload(self, source_id: str, files: Mapping[str, bytes]) -> Mapping[str, Any]:
        """Upload files (name → content) to a source without a path; ``files`` has the result of each, ``report`` the
        totals.

        When all is read this returns: give the client a `timeout` that is long enough.
        """
        body, kind = form_of(files)
        return self._send("POST", f"/v1/sources/{quote(source_id, safe='')}/documents", body, kind, _of_a_source)

    def replace_document(self, document_id: int, name: str, content: bytes) -> Mapping[str, Any]:
        """Upload a new version of an uploaded document; returns as `upload`."""
        body, kind = form_of({name: content})
        return self._send("PUT", f"/v1/documents/{int(document_id)}", body, kind, _of_a_source)

    def delete_document(self, document_id: int) -> Mapping[str, Any]:
        """Delete an uploaded file and all documents read from it; ``documents`` is their number."""
        path = f"/v1/documents/{int(document_id)}"
        return self._send("DELETE", path, b"", "application/octet-stream", _of_a_source)

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


def form_of(files: Mapping[str, bytes]) -> tuple[bytes, str]:
    """A multipart form with files (name → content), and its Content-Type (RFC 7578)."""
    fence = secrets.token_hex(16)
    parts = []
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
