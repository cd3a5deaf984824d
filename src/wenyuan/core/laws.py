"""Articles of one law: what many candidates of a question are articles of is what it is about.

An article seldom says what its law is about, and laypeople do not name it. With n candidates, of which c are articles
of one law, the others of it speak for each with s = √((c − 1) / n). An article then keeps of its score

    1 − `LAW` · (s of the law with most − s)

so that those of the law with most candidates, and all that is no article, keep theirs. "Law" is any text with numbered
articles: a code, a regulation, a company's rules. Documents of other kinds gain nothing by it
(docs/explanation/scoring.md), and keep their scores.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from wenyuan.core.structure import clause_keys, without_clauses

__all__ = ["LAW", "law_of", "shares"]

LAW = 0.1
"""What an article loses at most, relative to its score."""
_MAY_NAME = re.compile("[条條]|art", re.IGNORECASE)  # most passages are no articles, and are told by this


def law_of(title: str, headings: Sequence[str]) -> str:
    """The law of which a passage is an article; ``""`` for a passage that is none.

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
    """What share of their scores candidates keep, above 1 − `weight`; those that keep all of theirs are left out.

    Args:
        laws: Of each candidate (see `law_of`).
        weight: `LAW`, or 0: nobody loses anything.
    """
    counts = Counter(law for law in laws.values() if law)
    if len(counts) < 2:
        return {}
    spoken = {law: ((count - 1) / len(laws)) ** 0.5 for law, count in counts.items()}
    most = max(spoken.values())
    kept = {law: 1.0 - weight * (most - own) for law, own in spoken.items()}
    return {candidate: kept[law] for candidate, law in laws.items() if law and kept[law] < 1.0}
