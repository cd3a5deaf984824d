"""Calls on rules for programs that await.

Made of `client.rules` by ``scripts/make_async_client.py``; what is written here by hand is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from wenyuan.client.async_calls import AsyncCalls
from wenyuan.client.calls import with_query
from wenyuan.client.rules import (
    Rules,
    United,
    _changed,
    _names,
    _whole,
    read_proposed,
    read_rules,
    read_united,
)
from wenyuan.core.contract import named_twice


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
        return await self._call("POST", "/v1/rules/propose", read_proposed, asked, timeout=timeout)

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


__all__ = ["AsyncRulesCalls"]
