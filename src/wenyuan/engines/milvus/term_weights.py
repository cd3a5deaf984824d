"""What terms are worth: their numbers, and how many passages hold them."""

from __future__ import annotations

from collections.abc import Sequence

from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.milvus.collections import CollectionNames
from wenyuan.engines.milvus.sessions import Session
from wenyuan.engines.term_statistics import QueryTerms, digest

FIELDS = ("term", "number", "held", "at", "before")


def query_terms(
    session: Session, names: CollectionNames, terms: Sequence[str], mark: Mark, tally: HiddenTally | None = None
) -> QueryTerms:
    """Read them as of a mark; `tally` is of passages that are not counted."""
    keys = {digest(term): term for term in terms}
    known = dict.fromkeys(terms, (0, 0))
    for row in session.named(names.words, "term", list(keys), FIELDS):
        held = row["held"] if row["at"] <= mark.watermark else row["before"]
        known[keys[row["term"]]] = int(row["number"]), int(held)
    return QueryTerms.of(known, mark, tally)
