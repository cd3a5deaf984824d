"""What the contract says of a RetrievalResponse and its fragments, each rule a function that lists complaints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeGuard

from wenyuan.conformance.answer import clip
from wenyuan.conformance.uri import uri_fault

__all__ = [
    "blank_faults",
    "envelope_faults",
    "fragment_faults",
    "looks_like_response",
    "order_faults",
    "repeat_faults",
    "score_faults",
    "source_faults",
]


def envelope_faults(body: Any) -> list[str]:
    """Complaints about ``status``, ``fragments`` and ``error_message`` (§3.3); fragments are not looked into."""
    if not isinstance(body, Mapping):
        return [f"the body is no JSON object but {clip(body)}"]
    faults = []
    if body.get("status") not in ("SUCCESS", "FAILED"):
        faults.append(f"status is {clip(body.get('status'))}, not SUCCESS or FAILED")
    if not isinstance(body.get("fragments"), list):
        faults.append(f"fragments is {clip(body.get('fragments'))}, not an array")
    if not isinstance(body.get("error_message"), (str, type(None))):
        faults.append("error_message is no string")
    return faults


def fragment_faults(fragments: Sequence[Any]) -> list[str]:
    """Complaints about the structure of KnowledgeFragments (§3.1).

    ``metadata`` may be null: the contract's own example writes an absent optional member so.
    """
    faults = []
    for at, fragment in enumerate(fragments):
        if not isinstance(fragment, Mapping):
            faults.append(f"fragments[{at}] is no object but {clip(fragment)}")
            continue
        if not (isinstance(fragment.get("source"), str) and fragment["source"]):
            faults.append(f"fragments[{at}].source is {clip(fragment.get('source'))}, not a string")
        if not isinstance(fragment.get("content"), str):
            faults.append(f"fragments[{at}].content is {clip(fragment.get('content'))}, not a string")
        if not is_number(fragment.get("retrieval_score")):
            faults.append(f"fragments[{at}].retrieval_score is {clip(fragment.get('retrieval_score'))}, no number")
        if not isinstance(fragment.get("metadata"), (Mapping, type(None))):
            faults.append(f"fragments[{at}].metadata is {clip(fragment.get('metadata'))}, not an object")
    return faults


def score_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Complaints about scores that are no numbers or outside 0..1 (§3.1)."""
    scores = [fragment.get("retrieval_score") for fragment in fragments]
    return [
        f"fragments[{at}].retrieval_score is {clip(score)}"
        for at, score in enumerate(scores)
        if not (is_number(score) and 0.0 <= score <= 1.0)
    ]


def order_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Complaints about scores that rise, or that cannot be compared (§3.3)."""
    scores = [fragment.get("retrieval_score") for fragment in fragments]
    return [
        f"fragments[{at}] has {clip(later)} after {clip(earlier)}"
        for at, (earlier, later) in enumerate(pairwise(scores), start=1)
        if not (is_number(earlier) and is_number(later) and later <= earlier)
    ]


def source_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Complaints about sources that are no URI (§3.1)."""
    faults = []
    for at, fragment in enumerate(fragments):
        source = fragment.get("source")
        fault = uri_fault(source) if isinstance(source, str) else "is no string"
        if fault:
            faults.append(f"fragments[{at}].source {clip(source)} {fault}")
    return faults


def repeat_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Complaints about sources that an answer names twice: a source is unique (§3.1)."""
    first: dict[str, int] = {}
    return [
        f"fragments[{at}].source {clip(fragment['source'])} is that of fragments[{first[fragment['source']]}]"
        for at, fragment in enumerate(fragments)
        if first.setdefault(fragment["source"], at) != at
    ]


def blank_faults(fragments: Sequence[Mapping[str, Any]]) -> list[str]:
    """Complaints about contents that are not "the text itself" that was found (§3.1) but nothing."""
    return [
        f"fragments[{at}].content is {clip(fragment['content'])}"
        for at, fragment in enumerate(fragments)
        if not fragment["content"].strip()
    ]


def looks_like_response(body: Any) -> bool:
    """Whether a body could be taken for a RetrievalResponse."""
    return isinstance(body, Mapping) and (body.get("status") in ("SUCCESS", "FAILED") or "fragments" in body)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a JSON number: not a boolean, not NaN, not infinite."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
