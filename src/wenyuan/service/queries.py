"""Requests of the contract as queries, and the arguments of `Library.search` that narrow them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, NotFound, listed, msg
from wenyuan.core.filters import And, Filter, parse_filter
from wenyuan.core.model import MAX_RESULTS, RetrievalRequest
from wenyuan.core.query_rewriting import conversation
from wenyuan.core.restrictions import faults_of, restrictions_of
from wenyuan.core.scoring.answerable import ABSTAIN
from wenyuan.service.query import Query
from wenyuan.service.rules.unified import MAX_PROCESSES
from wenyuan.settings import RulesSettings

_TEXTS = ("source_document_uri", "task_id", "chapter", "engineering_type")


def query_of(request: RetrievalRequest, settings: RulesSettings | None = None) -> Query:
    """The query for a request; InvalidRequest lists the faults in its context.

    Args:
        settings: Which chapters need rules.
    """
    if not request.context:
        return Query(text=request.query.strip(), limit=request.max_results)
    context = request.context
    told = {name: context.get(name) for name in _TEXTS}
    faults = [
        Fault(f"context.{name}", "must be a string")
        for name, value in told.items()
        if not (value is None or isinstance(value, str))
    ]
    faults += _rule_faults(context) + faults_of(context)
    min_trust = 1 if context.get("min_trust") is None else context["min_trust"]
    if type(min_trust) is not int or not 1 <= min_trust <= 5:
        faults.append(Fault("context.min_trust", "must be an integer from 1 to 5"))
    as_of = None
    if (day := context.get("as_of")) is not None:
        try:
            as_of = date.fromisoformat(day)
        except (TypeError, ValueError):
            faults.append(Fault("context.as_of", msg("is {value}, not a date like 2026-11-21", value=repr(day))))
    faults += _way_faults(context)
    turns = None
    if (
        context.get("rewrite") is True
    ):  # else a key named history is one of those that callers may add, and is not looked at
        try:
            turns = conversation(context.get("history"), wanted=True, place="context.history")
        except InvalidRequest as error:
            faults += error.faults
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    processes = context.get("processes")
    return Query(
        text=request.query.strip(),
        limit=request.max_results,
        min_trust=min_trust,
        filter=restrictions_of(context).filter,
        as_of=as_of,
        source_document_uri=told["source_document_uri"] or "",
        task_id=told["task_id"] or "",
        rules="within" if told["chapter"] in (None, *(settings or RulesSettings()).chapters_need_rules) else "none",
        engineering_type=told["engineering_type"] or "",
        processes=None if processes is None else tuple(processes),
        parameters=context.get("parameters") or {},
        conversation=turns,
        nearest=bool(context.get("nearest")),
        abstain=context.get("abstain") or "",
    )


def _way_faults(context: Mapping[str, Any]) -> list[Fault]:
    """Faults in ``rewrite``, ``nearest`` and ``abstain``, which say how a question is answered."""
    faults = []
    if not isinstance(context.get("rewrite", False), bool):
        faults.append(Fault("context.rewrite", "must be true or false"))
    if not isinstance(context.get("nearest"), bool | None):
        faults.append(Fault("context.nearest", "must be true or false"))
    strictness = context.get("abstain")
    if strictness is not None and not (isinstance(strictness, str) and strictness in ABSTAIN):
        faults.append(Fault("context.abstain", msg("must be one of {expected}", expected=", ".join(ABSTAIN))))
    return faults


def _rule_faults(context: Mapping[str, Any]) -> list[Fault]:
    """Faults in ``processes`` and ``parameters``."""
    faults = []
    processes, parameters = context.get("processes"), context.get("parameters")
    if processes is not None and not (
        isinstance(processes, (list, tuple)) and all(isinstance(name, str) for name in processes)
    ):
        faults.append(Fault("context.processes", "must be an array of strings"))
    elif processes is not None and len(processes) > MAX_PROCESSES:
        faults.append(
            Fault(
                "context.processes",
                msg(
                    "has {count} names; at most {max_processes}",
                    count=f"{len(processes):,}",
                    max_processes=MAX_PROCESSES,
                ),
            )
        )
    if parameters is not None and not (
        isinstance(parameters, Mapping)
        and all(isinstance(value, (str, int, float, bool)) for value in parameters.values())
    ):
        faults.append(Fault("context.parameters", "must be an object of strings, numbers and booleans"))
    return faults


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Sources, filter and day of a search, checked."""

    sources: tuple[str, ...] | None = None
    filter: Filter | None = None
    as_of: date | None = None

    def of(self, query: Query, known: Container[str]) -> Query:
        """A query within them and within what it was narrowed to before.

        Args:
            known: The ids of all sources.

        Raises:
            NotFound: a source does not exist.
            InvalidRequest: none of the sources lies within what the query was narrowed to.
        """
        sources = self.sources
        for name in sources or ():
            if name not in known:
                raise NotFound(msg("there is no source {name}", name=repr(name)), hint="wenyuan source list")
        if sources is not None and query.sources is not None:
            sources = tuple(name for name in sources if name in query.sources)
            if not sources:
                raise InvalidRequest("none of these sources lies within the domain and the agent that are asked for")
        narrowed = query if self.filter is None else replace(query, filter=both(query.filter, self.filter))
        narrowed = narrowed if sources is None else replace(narrowed, sources=sources)
        return narrowed if self.as_of is None else replace(narrowed, as_of=self.as_of)


def narrowing(
    *, limit: int, sources: Sequence[str] | None, filter: Filter | Mapping[str, Any] | None, as_of: date | str | None
) -> Narrowing:
    """The arguments that narrow a search.

    Raises:
        InvalidRequest: listing every fault, by the names of the arguments.
    """
    faults, chosen, day = [], None, None
    if not 1 <= limit <= MAX_RESULTS:
        faults.append(Fault("limit", msg("must be from 1 to {max_results}", max_results=MAX_RESULTS)))
    try:
        chosen = parse_filter(filter, "filter") if isinstance(filter, Mapping) else filter
    except InvalidRequest as error:
        faults += error.faults or (Fault("filter", error.message),)
    try:
        day = date.fromisoformat(as_of) if isinstance(as_of, str) else as_of
    except ValueError:
        faults.append(Fault("as_of", msg("is {value}, not a date like 2026-11-21", value=repr(as_of))))
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))
    return Narrowing(sources=None if sources is None else tuple(sources), filter=chosen, as_of=day)


def both(one: Filter | None, other: Filter) -> Filter:
    """A filter that meets another, too."""
    return other if one is None else And((one, other))
