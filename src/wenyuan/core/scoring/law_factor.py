"""The factor of statutes: of which law a passage is an article, and what that adds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

from wenyuan.core.text.structure import clause_keys, without_clauses

Array = np.ndarray[Any, Any]

LAW = 0.1
"""What an article loses at most, relative to its score."""
_MAY_NAME = re.compile("[条條]|art", re.IGNORECASE)  # most passages are no articles, and are told by this


def law_of(title: str, headings: Sequence[str]) -> str:
    """The statute that a passage is an article of; ``""`` for other passages.

    Args:
        title: Of the document; where each article is a document of its own, it names both.
        headings: Over the passage.
    """
    named = "\n".join((title, *headings))
    if not _MAY_NAME.search(named):
        return ""
    keys = clause_keys(unicodedata.normalize("NFKC", named))
    if not any(key.startswith("article:") for key in keys):
        return ""
    return " ".join(without_clauses(unicodedata.normalize("NFKC", title)).split()).casefold()


def shares(laws: Array, weight: float) -> Array:
    """The factors by which candidates of other statutes are reduced, (n,) float64 in 1 − `weight` … 1.

    Args:
        laws: Of each candidate, (n,) int: the number of its statute, 0 for none.
        weight: `LAW`, or 0: no score is reduced.
    """
    counts = np.bincount(laws, minlength=1)
    counts[0] = 0
    spoken = {law: ((counts.item(law) - 1) / len(laws)) ** 0.5 for law in np.flatnonzero(counts).tolist()}
    factors = np.ones(len(counts))
    most = max(spoken.values(), default=0.0)
    for law, own in spoken.items():
        factors[law] = 1.0 - weight * (most - own)
    return factors[laws]
