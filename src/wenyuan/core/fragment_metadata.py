"""The metadata of a fragment: its names and types, once, and which of them the narrower doors show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class FragmentMetadata(TypedDict, total=False):
    """What is known of a fragment beside its address, text and score; what does not apply is left out.

    `service.fragments` writes it. Those of a derived rule have its path, evidence and condition besides.
    """

    source_id: str
    passage_id: str  # policies#12
    title: str
    heading: str  # the path of headings, joined by " > "
    clause: str  # the number of the innermost clause, as written
    part: int  # of the fragments at one place, which
    page: int
    line: int
    cell: str
    char_start: int  # in the document's text, as it was read
    char_end: int
    trust: int
    origin: str
    priority: int
    domain: str
    language: str
    copyright: str
    sha256: str
    effective_from: str  # a day
    effective_until: str
    stale_since: str  # since when the refresh of its source is overdue, or its own stale_after has passed
    also_in: Sequence[Mapping[str, Any]]  # passages that say the same, which are not given themselves
    ocr: Literal[True]
    confidence: float  # of what was recognised, its mean
    least_confidence: float
    uncertain: Sequence[Mapping[str, Any]]
    corrected_by: str
    corrections: Sequence[int]
    conflicts: Sequence[Mapping[str, Any]]  # statements elsewhere that contradict one of it
    scores: Mapping[str, float]
    calibrated: Literal[False]  # probabilities were not measured with the library's encoder
    mode: str
    restrictions: Sequence[str]  # of the request, that were applied
    audit_id: str
    stale_by: float  # seconds
    degraded: str  # what failed though the answer stands without it
    rule_notes: Sequence[str]


NAMES = frozenset(FragmentMetadata.__annotations__)
"""All names of `FragmentMetadata`."""

OF_STORES = (
    "source_id", "passage_id", "heading", "trust", "origin", "priority", "copyright", "language", "effective_from",
    "effective_until", "stale_since", "stale_by", "degraded", "audit_id", "page", "line",
)  # fmt: skip
"""Those that vector stores give as attributes, the first of which are kept where there are too many."""

OF_TOOLS = ("origin", "effective_from", "stale_since", "stale_by", "copyright")
"""Those that the tools of agents tell in the line above a text."""

NO_FACETS = frozenset((
    "title", "heading", "source_id", "passage_id", "trust", "origin", "priority", "sha256", "copyright", "domain", "audit_id",
    "scores", "effective_from", "effective_until",
))  # fmt: skip
"""Those that are no facets of a fragment of another service: they have a place of their own, or are not its to say."""
