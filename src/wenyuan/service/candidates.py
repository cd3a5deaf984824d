"""Which of the candidates count: floor, limit, and the guard that asks the record again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from wenyuan.core.errors import EngineError
from wenyuan.core.filters import Filter, Scope, matches
from wenyuan.core.fuse import CONTEXT_BOUND
from wenyuan.core.model import FOREVER, IndexRow, Passage
from wenyuan.core.ranking import Hit
from wenyuan.core.score import trust_factor

__all__ = ["Floor", "above", "guard", "liftable", "meeting", "outstanding", "why_empty"]

_SPARE = 5  # rows read beyond those asked for, in case some are gone from the record


@dataclass(frozen=True, slots=True)
class Floor:
    """What nonsense reaches in this library: in score, and in lift (cosine above the query's mean cosine)."""

    score: float
    lift: float


def why_empty(hits: list[Hit], floor: float) -> str:
    if not hits or hits[0].score == 0:
        return "no passage in scope shares a word or a meaning with the query"
    return (
        f"the best passage scores {hits[0].score:.3f}, below the floor {floor:.3f} at which nonsense scores "
        "in this library"
    )


def above(hits: list[Hit], floor: Floor) -> list[Hit]:
    """The hits that score above the floor, once the best one does; then also those half as good as the best one."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0 or best < floor.score:
        return []
    line = min(floor.score, 0.5 * best)
    return [hit for hit in hits if hit.score >= line and hit.score > 0]


def outstanding(hits: list[Hit], floor: Floor) -> list[Hit]:
    """The hits that stand out from the collection as no nonsense does.

    A question in another language than its answer shares no words with it and has lower cosines than nonsense
    in the answer's own language, yet the answer stands out.
    """
    return [hit for hit in hits if hit.parts.get("lift", 0.0) > floor.lift and hit.score > 0]


def liftable(hits: list[Hit], limit: int, trusts: Collection[int], in_context: bool) -> list[Hit]:
    """The first `limit` hits, and all that trust and context could lift among them: a limit only cuts.

    Args:
        trusts: Of the sources that were searched; where all are trusted alike, trust lifts nothing.
    """
    if len(hits) <= limit:
        return hits
    reach = trust_factor(max(trusts, default=5)) / trust_factor(min(trusts, default=1))
    reach *= 1.0 + CONTEXT_BOUND if in_context else 1.0
    least = hits[limit - 1].score / reach
    return hits[: max(limit + _SPARE, sum(hit.score >= least for hit in hits))]


def guard(passage: Passage, scope: Scope) -> None:
    """The record is asked again: what an engine must not have found is an error, not something to hide."""
    if not scope.allows(_row(passage)):
        raise EngineError(
            f"passage {passage.ref} lies outside the scope of the request; nothing is answered", component="guard"
        )


def meeting(found: list[tuple[Hit, Passage]], wanted: Filter | None) -> list[tuple[Hit, Passage]]:
    """What meets the request's filter of what came from outside, where nobody applied it."""
    return found if wanted is None else [pair for pair in found if matches(wanted, _row(pair[1]))]


def _row(passage: Passage) -> IndexRow:
    return IndexRow(
        passage_id=passage.passage_id,
        source_id=passage.source_id,
        document_id=passage.document_id,
        heading_text="",
        text="",
        language=passage.language,
        collection=passage.collection,
        facets=passage.facets,
        valid_from=passage.effective_from.toordinal() if passage.effective_from else 0,
        valid_until=passage.effective_until.toordinal() if passage.effective_until else FOREVER,
    )
