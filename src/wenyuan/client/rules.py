"""Client calls on rules: unified retrieval, inference, and maintenance.

>>> from wenyuan.client import Client
>>> with Client("http://127.0.0.1:8765") as client:
...     for item in client.retrieve("深基坑开挖的安全措施", parameters={"depth_m": 6}).regulations:
...         print(item.score, item.content)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from wenyuan.client.calls import Calls, with_query
from wenyuan.core.contract import check_success, named_twice
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.retrieval_item import RetrievalItem

Item = RetrievalItem
"""One result, see `core.rules.retrieval_item.RetrievalItem`."""
_MEMBERS = tuple(one.name for one in fields(Item))


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
    check_success(body)
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
    check_success(body)
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


def read_proposed(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Parse what was proposed by a run that ended well; ValueError when it did not."""
    check_success(body)
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
    if absent := [name for name in _MEMBERS if name not in entry]:
        raise ValueError(f"{where}.{absent[0]} is missing")
    try:
        item = Item(**{name: entry[name] for name in _MEMBERS})
    except InvalidRequest as error:
        raise ValueError("; ".join(f"{where}.{fault.path} {fault.message}" for fault in error.faults)) from error
    item.score = float(item.score)
    return item


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
        return self._call("POST", "/v1/rules/propose", read_proposed, asked, timeout=timeout)

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


__all__ = ["Item", "Rules", "RulesCalls", "United", "read_rules", "read_united"]
