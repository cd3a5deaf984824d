"""What the contract says of a RetrievalResponse and its fragments, each rule a function that lists complaints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeGuard

from wenyuan.conformance.targets import clip
from wenyuan.conformance.uris import uri_fault
from wenyuan.core.errors import msg


def envelope_faults(body: Any) -> list[str]:
    """Faults of ``status``, ``fragments`` and ``error_message`` (§3.3); fragments are not inspected."""
    if not isinstance(body, Mapping):
        return [msg("the body is no JSON object but {body}", body=clip(body))]
    faults = []
    if body.get("status") not in ("SUCCESS", "FAILED"):
        faults.append(msg("status is {status}, not SUCCESS or FAILED", status=clip(body.get("status"))))
    if not isinstance(body.get("fragments"), list):
        faults.append(msg("{place} is {value}, not an array", place="fragments", value=clip(body.get("fragments"))))
    if not isinstance(body.get("error_message"), (str, type(None))):
        faults.append("error_message is no string")
    return faults


def fragment_faults(fragments: Sequence[Any]) -> list[str]:
    """Faults in the structure of KnowledgeFragments (§3.1).

    ``metadata`` may be null: the contract's own example writes an absent optional member so.
    """
    faults = []
    for at, fragment in enumerate(fragments):
        if not isinstance(fragment, Mapping):
            faults.append(
                msg("{place} is no object but {fragment}", place=f"fragments[{at}]", fragment=clip(fragment))
            )
            continue
        if not (isinstance(fragment.get("source"), str) and fragment["source"]):
            faults.append(
                msg(
                    "{place} is {value}, not a string",
                    place=f"fragments[{at}].source",
                    value=clip(fragment.get("source")),
                )
            )
        if not isinstance(fragment.get("content"), str):
            faults.append(
                msg(
                    "{place} is {value}, not a string",
                    place=f"fragments[{at}].content",
                    value=clip(fragment.get("content")),
                )
            )
        if not is_number(fragment.get("retrieval_score")):
            faults.append(
                msg(
                    "{place} is {value}, no number",
                    place=f"fragments[{at}].retrieval_score",
                    value=clip(fragment.get("retrieval_score")),
                )
            )
        if not isinstance(fragment.get("metadata"), (Mapping, type(None))):
            faults.append(
                msg(
                    "{place} is {value}, not an object",
                    place=f"fragments[{at}].metadata",
                    value=clip(fragment.get("metadata")),
                )
            )
    return faults


def score_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Scores that are no numbers or outside 0..1 (§3.1)."""
    scores = [fragment.get("retrieval_score") for fragment in fragments]
    return [
        msg("{place} is {value}", place=f"fragments[{at}].retrieval_score", value=clip(score))
        for at, score in enumerate(scores)
        if not (is_number(score) and 0.0 <= score <= 1.0)
    ]


def order_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Scores that increase, or cannot be compared (§3.3)."""
    scores = [fragment.get("retrieval_score") for fragment in fragments]
    return [
        msg("{place} has {later} after {earlier}", place=f"fragments[{at}]", later=clip(later), earlier=clip(earlier))
        for at, (earlier, later) in enumerate(pairwise(scores), start=1)
        if not (is_number(earlier) and is_number(later) and later <= earlier)
    ]


def source_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sources that are no URI (§3.1)."""
    faults = []
    for at, fragment in enumerate(fragments):
        source = fragment.get("source")
        fault = uri_fault(source) if isinstance(source, str) else "is no string"
        if fault:
            faults.append(
                msg("{place} {source} {fault}", place=f"fragments[{at}].source", source=clip(source), fault=fault)
            )
    return faults


def repeat_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sources that occur twice in an answer: a source must be unique (§3.1)."""
    first: dict[str, int] = {}
    return [
        msg(
            "{place} {source} is that of {other}",
            place=f"fragments[{at}].source",
            source=clip(fragment["source"]),
            other=f"fragments[{first[fragment['source']]}]",
        )
        for at, fragment in enumerate(fragments)
        if first.setdefault(fragment["source"], at) != at
    ]


def blank_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Blank contents, where the contract requires "the text itself" (§3.1)."""
    return [
        msg("{place} is {value}", place=f"fragments[{at}].content", value=clip(fragment["content"]))
        for at, fragment in enumerate(fragments)
        if not fragment["content"].strip()
    ]


def looks_like_response(body: Any) -> bool:
    """Whether a body could be taken for a RetrievalResponse."""
    return isinstance(body, Mapping) and (body.get("status") in ("SUCCESS", "FAILED") or "fragments" in body)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a JSON number: not a boolean, not NaN, not infinite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
