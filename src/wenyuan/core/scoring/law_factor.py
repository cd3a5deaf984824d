"""The factor of statutes: of which law a passage is an article, and what that adds."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from wenyuan.core.text.structure import clause_keys, without_clauses

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


def shares(laws: Mapping[int, str], weight: float) -> Mapping[int, float]:
    """The factors by which candidates of other statutes are reduced, above 1 − `weight`; candidates with factor 1 are
    left out.

    Args:
        laws: Of each candidate (see `law_of`).
        weight: `LAW`, or 0: no score is reduced.
    """
    counts = Counter(law for law in laws.values() if law)
    if len(counts) < 2:
        return {}
    spoken = {law: ((count - 1) / len(laws)) ** 0.5 for law, count in counts.items()}
    most = max(spoken.values())
    kept = {law: 1.0 - weight * (most - own) for law, own in spoken.items()}
    return {candidate: kept[law] for candidate, law in laws.items() if law and kept[law] < 1.0}
