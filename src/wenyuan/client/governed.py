"""What the knowledge service and the context service answer, from the caller's side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Knowledge", "Passages", "read_context", "read_kept", "read_passages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """What a search found, best first.

    Attributes:
        passages: As the service gives them: ``source``, ``content``, ``summary``, ``trust``, ``score`` …
        degraded: Names of the parts that failed though the answer stands without them.
        stale_by: Seconds since the oldest change that was not searched, while somebody writes; 0 for none.
    """

    passages: tuple[Mapping[str, Any], ...]
    degraded: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stale_by: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What may enter a prompt.

    Attributes:
        snippets: As the service gives them: ``source``, ``content``, ``trust`` …
        withheld: How many passages were kept back, by reason.
        degraded, stale_by: See `Passages`.
    """

    snippets: tuple[Mapping[str, Any], ...]
    withheld: Mapping[str, int] = field(default_factory=dict)
    tokens: int = 0
    degraded: tuple[str, ...] = ()
    stale_by: float = 0.0

    @property
    def context_data(self) -> dict[str, Any]:
        """The member ``CONTEXT_DATA`` of a prompt."""
        return {"knowledge_snippets": [dict(snippet) for snippet in self.snippets]}


def read_passages(body: Mapping[str, Any]) -> Passages:
    """A search's answer that says SUCCESS; ValueError when it breaks the contract."""
    return Passages(
        passages=_entries(body, "passages"),
        degraded=_degraded(body),
        reasons=_object(body, "reasons"),
        metadata=_object(body, "metadata"),
        stale_by=_stale_by(body),
    )


def read_context(body: Mapping[str, Any]) -> Knowledge:
    """A context that says SUCCESS; ValueError when it breaks the contract."""
    tokens = body.get("tokens")
    if type(tokens) is not int:
        raise ValueError("tokens is no integer")
    return Knowledge(
        snippets=_entries(_object(body, "CONTEXT_DATA"), "knowledge_snippets"),
        withheld=_object(body, "withheld"),
        tokens=tokens,
        degraded=_degraded(body),
        stale_by=_stale_by(body),
    )


def read_kept(body: Mapping[str, Any]) -> Mapping[str, bool]:
    """What was kept of feedback; ValueError when it breaks the contract."""
    kept = _object(body, "kept")
    if not all(isinstance(right, bool) for right in kept.values()):
        raise ValueError("kept says something else than true or false")
    return kept


def _object(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return value


def _degraded(body: Mapping[str, Any]) -> tuple[str, ...]:
    names = _object(body, "coverage").get("degraded")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("coverage.degraded is no array of strings")
    return tuple(names)


def _stale_by(body: Mapping[str, Any]) -> float:
    seconds = _object(body, "coverage").get("stale_by", 0.0)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds < 0:
        raise ValueError("coverage.stale_by is no number of seconds")
    return float(seconds)


def _entries(body: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    if body.get("status", "SUCCESS") != "SUCCESS" or not isinstance(entries := body.get(name), list):
        raise ValueError(f"{name} is no array")
    for at, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise ValueError(f"{name}[{at}] is no object")
        if not all(isinstance(entry.get(key), str) for key in ("source", "content")) or not entry["source"]:
            raise ValueError(f"{name}[{at}] has no source or no content")
        if type(entry.get("trust")) is not int or not 1 <= entry["trust"] <= 5:
            raise ValueError(f"{name}[{at}].trust is no integer from 1 to 5")
    return tuple(entries)
