"""What the knowledge service and the context service answer, from the caller's side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wenyuan.client.rules import object_in
from wenyuan.core.contract import check_success


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """Search results, best first.

    Attributes:
        passages: As the service gives them: ``source``, ``content``, ``summary``, ``trust``, ``score`` …
        degraded: Names of the parts that failed though the answer stands without them.
        stale_by: Seconds since the oldest change not yet in the index; 0 for none.
        confidence: By domain whose ``top_k`` is ``confidence``: ``state``, ``k``, ``risk``, ``questions`` …
        nearest: Of each domain in which an answer is too unlikely its nearest passage, where ``nearest`` was asked for: no answer
            and no evidence.
    """

    passages: tuple[Mapping[str, Any], ...]
    degraded: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stale_by: float = 0.0
    confidence: Mapping[str, Any] = field(default_factory=dict)
    nearest: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Snippets allowed in a prompt.

    Attributes:
        snippets: As the service gives them: ``source``, ``content``, ``trust`` …
        withheld: How many passages were kept back, by reason.
        degraded, stale_by, confidence: See `Passages`.
    """

    snippets: tuple[Mapping[str, Any], ...]
    withheld: Mapping[str, int] = field(default_factory=dict)
    tokens: int = 0
    degraded: tuple[str, ...] = ()
    stale_by: float = 0.0
    confidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def context_data(self) -> dict[str, Any]:
        """The member ``CONTEXT_DATA`` of a prompt."""
        return {"knowledge_snippets": [dict(snippet) for snippet in self.snippets]}


def read_passages(body: Mapping[str, Any]) -> Passages:
    """Parse a successful search answer; ValueError when it breaks the contract."""
    check_success(body)
    return Passages(
        passages=_entries(body, "passages"),
        degraded=_degraded(body),
        reasons=object_in(body, "reasons"),
        nearest=_entries(body, "nearest") if "nearest" in body else (),
        metadata=object_in(body, "metadata"),
        stale_by=_stale_by(body),
        confidence=_confidence(body),
    )


def read_context(body: Mapping[str, Any]) -> Knowledge:
    """Parse a successful context; ValueError when it breaks the contract."""
    check_success(body)
    tokens = body.get("tokens")
    if type(tokens) is not int:
        raise ValueError("tokens is no integer")
    return Knowledge(
        snippets=_entries(object_in(body, "CONTEXT_DATA"), "knowledge_snippets"),
        withheld=object_in(body, "withheld"),
        tokens=tokens,
        degraded=_degraded(body),
        stale_by=_stale_by(body),
        confidence=_confidence(body),
    )


def read_verdicts(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Parse a verification; ValueError when it breaks the contract."""
    check_success(body)
    claims = body.get("claims")
    if not isinstance(claims, list) or not all(isinstance(claim, dict) for claim in claims):
        raise ValueError("claims is no array of objects")
    if any(not isinstance(claim.get("verdict"), str) for claim in claims):
        raise ValueError("a claim has no verdict")
    return body


def read_answered(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Parse a successful answer; ValueError when it breaks the contract."""
    check_success(body)
    claims = body.get("claims")
    if not isinstance(claims, list) or not all(isinstance(claim, dict) for claim in claims):
        raise ValueError("claims is no array of objects")
    if not isinstance(body.get("answer"), str | None) or (body.get("answer") is None) != (not claims):
        raise ValueError("answer is no text of its claims")
    if any(not isinstance(claim.get("citations"), list) or not claim["citations"] for claim in claims):
        raise ValueError("a claim has no citation")
    return body


def read_kept(body: Mapping[str, Any]) -> Mapping[str, bool]:
    """Parse the stored feedback; ValueError when it breaks the contract."""
    kept = object_in(body, "kept")
    if not all(isinstance(right, bool) for right in kept.values()):
        raise ValueError("kept says something else than true or false")
    return kept


def _degraded(body: Mapping[str, Any]) -> tuple[str, ...]:
    names = object_in(body, "coverage").get("degraded")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("coverage.degraded is no array of strings")
    return tuple(names)


def _confidence(body: Mapping[str, Any]) -> Mapping[str, Any]:
    coverage = object_in(body, "coverage")
    return object_in(coverage, "confidence") if "confidence" in coverage else {}


def _stale_by(body: Mapping[str, Any]) -> float:
    seconds = object_in(body, "coverage").get("stale_by", 0.0)
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
