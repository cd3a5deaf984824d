"""Merges the results of several wordings of a question: each passage has the score of the wording that fits it best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from wenyuan.core.model import Passage
from wenyuan.core.ports import Hit
from wenyuan.core.scoring.rerank import Copies, distinct
from wenyuan.core.text.synonyms import Wording, Wordings
from wenyuan.service.query import LegReport, Rewriting
from wenyuan.service.search.candidates import Ranked


class Searched(NamedTuple):
    """Results from the library's own sources; the fields are those of `Answer`.

    Attributes:
        asked: The question, and all other wordings in which it was asked.
    """

    ranked: Ranked
    copies: Copies
    legs: list[LegReport]
    why: str
    answerable: float
    asked: Wordings


def united(parts: Sequence[Searched], rewriting: Rewriting | None, *, copies: bool) -> Searched:
    """Merge the results of a question (the first part) with those of its rewritten forms; ties go to the question.

    Args:
        copies: Give copies, too, as answers of a former version did.
    """
    best: dict[int, tuple[Hit, Passage]] = {}
    for part, place in zip(parts, _places(parts), strict=True):
        for hit, passage in part.ranked:
            known = best.get(hit.passage_id)
            if known is None or hit.score > known[0].score:
                best[hit.passage_id] = (_placed(hit, place), passage)
    ranked = sorted(best.values(), key=lambda pair: -pair[0].score)
    told = {number: same for part in reversed(parts) for number, same in part.copies.items()}
    if not copies:
        ranked, new = distinct(ranked)
        given = {passage.passage_id for _, passage in ranked}
        for original in told.keys() | new.keys():
            same = (*told.get(original, ()), *new.get(original, ()))
            told[original] = tuple({p.passage_id: p for p in same if p.passage_id not in given}.values())
    others = [*parts[0].asked.others]
    for part in parts[1:]:
        others += [Wording(part.asked.text, part.asked.words, (), ()), *part.asked.others]
    return Searched(
        ranked, told, _legs(parts, rewriting), "" if ranked else parts[0].why, max(part.answerable for part in parts),
        replace(parts[0].asked, others=tuple(others)),
    )  # fmt: skip


def _places(parts: Sequence[Searched]) -> list[int]:
    """The number of each part's own wording among all wordings; 0 for the question."""
    return list(accumulate((len(part.asked.others) + 1 for part in parts[:-1]), initial=0))


def _placed(hit: Hit, place: int) -> Hit:
    """A hit with the number of its wording among all wordings."""
    return hit._replace(parts={**hit.parts, "wording": place + hit.parts.get("wording", 0)}) if place else hit


def _legs(parts: Sequence[Searched], rewriting: Rewriting | None) -> list[LegReport]:
    """One report per leg over all wordings, and that of the leg ``llm``, which rewrote the query."""
    by_name: dict[str, list[LegReport]] = {}
    for part in parts:
        for leg in part.legs:
            by_name.setdefault(leg.name, []).append(leg)
    legs = [
        replace(
            of[0], ms=sum(leg.ms for leg in of), hits=max(leg.hits for leg in of),
            remembered=all(leg.remembered for leg in of),
        )
        for of in by_name.values()
    ]  # fmt: skip
    if rewriting is not None:
        state, hits = "failed" if rewriting.error else "ok", len(rewriting.wordings)
        legs.append(LegReport(name="llm", state=state, ms=rewriting.ms, hits=hits, error=rewriting.error))
    return legs
