"""What a request of the contract asks, as a query."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.model import RetrievalRequest
from wenyuan.service.answer import Query
from wenyuan.service.unified import MAX_PROCESSES
from wenyuan.settings import RulesSettings

__all__ = ["asked"]

_TEXTS = ("source_document_uri", "task_id", "chapter", "engineering_type")


def asked(request: RetrievalRequest, settings: RulesSettings | None = None) -> Query:
    """The query of a request; InvalidRequest lists what is wrong with its context.

    Args:
        settings: Which chapters need rules.
    """
    context = request.context or {}
    told = {name: context.get(name) for name in _TEXTS}
    faults = [
        Fault(f"context.{name}", "must be a string")
        for name, value in told.items()
        if not (value is None or isinstance(value, str))
    ]
    faults += _rule_faults(context)
    min_trust = context.get("min_trust", 1)
    if type(min_trust) is not int or not 1 <= min_trust <= 5:
        faults.append(Fault("context.min_trust", "must be an integer from 1 to 5"))
    as_of = None
    try:
        as_of = _day(context.get("as_of"))
    except InvalidRequest as error:
        faults += error.faults
    if faults:
        raise InvalidRequest("; ".join(f"{f.path} {f.message}" for f in faults), faults=tuple(faults))
    processes = context.get("processes")
    return Query(
        text=request.query.strip(),
        limit=request.max_results,
        min_trust=min_trust,
        as_of=as_of,
        source_document_uri=told["source_document_uri"] or "",
        task_id=told["task_id"] or "",
        rules=_rules(told["chapter"], settings or RulesSettings()),
        engineering_type=told["engineering_type"] or "",
        processes=None if processes is None else tuple(processes),
        parameters=context.get("parameters") or {},
    )


def _rules(chapter: str | None, settings: RulesSettings) -> Literal["within", "none"]:
    return "within" if chapter is None or chapter in settings.chapters_need_rules else "none"


def _rule_faults(context: Mapping[str, Any]) -> list[Fault]:
    """What is wrong with ``processes`` and ``parameters``."""
    faults = []
    processes, parameters = context.get("processes"), context.get("parameters")
    if processes is not None and not (
        isinstance(processes, (list, tuple)) and all(isinstance(name, str) for name in processes)
    ):
        faults.append(Fault("context.processes", "must be an array of strings"))
    elif processes is not None and len(processes) > MAX_PROCESSES:
        faults.append(Fault("context.processes", f"has {len(processes):,} names; at most {MAX_PROCESSES}"))
    if parameters is not None and not (
        isinstance(parameters, Mapping)
        and all(isinstance(value, (str, int, float, bool)) for value in parameters.values())
    ):
        faults.append(Fault("context.parameters", "must be an object of strings, numbers and booleans"))
    return faults


def _day(value: object) -> date | None:
    """A day from a request's context (``as_of``), or None when it is not given."""
    if value is None:
        return None
    try:
        return date.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        fault = Fault("context.as_of", f"is {value!r}, not a date like 2026-11-21")
        raise InvalidRequest(f"{fault.path} {fault.message}", faults=(fault,)) from error
