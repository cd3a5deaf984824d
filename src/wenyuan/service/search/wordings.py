"""Merges the results of several wordings of a question, and of a follow-up query: each passage has the score of the one that fits it best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from wenyuan.core.model import ORIGIN_PRIORITY, Passage
from wenyuan.core.ports import Hit, Ranking
from wenyuan.core.scoring.copies import Copies, distinct
from wenyuan.core.text.wordings import Wording, Wordings
from wenyuan.service.query import LegReport, Query, Rewriting, SearchAnswer
from wenyuan.service.search.candidates import Ranked


class Searched(NamedTuple):
    """Results from the library's own sources; the fields are those of `SearchAnswer`.

    Attributes:
        asked: The question, and all other wordings in which it was asked.
    """

    ranked: Ranked
    copies: Copies
    legs: list[LegReport]
    why: str
    answerable: float
    asked: Wordings
    missing: tuple[str, ...] = ()
    nearest: tuple[Hit, Passage] | None = None


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
                best[hit.passage_id] = (_number_hit(hit, place), passage)
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
    near = [
        (_number_hit(hit, place), passage)
        for part, place in zip(parts, _places(parts), strict=True) if part.nearest
        for hit, passage in (part.nearest,)
    ]  # fmt: skip
    return Searched(
        ranked, told, _legs(parts, rewriting), "" if ranked else parts[0].why, max(part.answerable for part in parts),
        replace(parts[0].asked, others=tuple(others)), parts[0].missing,
        None if ranked else max(near, key=lambda pair: pair[0].score, default=None),
    )  # fmt: skip


def followed(query: Query, first: SearchAnswer, more: SearchAnswer) -> SearchAnswer:
    """An answer united with what was found for the query's follow-up; no more passages than the query's limit.

    Args:
        first, more: Of the same change of the library.
    """
    rules = [(hit, first.passages[hit.passage_id]) for hit in first.hits if hit.origin == "kg_rule"]
    parts = (_plain_answer(query.text, first), _plain_answer(query.follow_up, more))
    both = united(parts, None, copies=not first.floors.get("distinct", 1.0))
    ranked = sorted([*both.ranked[: query.limit], *rules], key=order)
    ranked = ranked[: query.limit if query.rules == "within" else None]
    passages = {hit.passage_id: passage for hit, passage in ranked}
    return replace(
        first,
        hits=Ranking([hit for hit, _ in ranked]),
        passages=passages,
        copies={number: same for number, same in both.copies.items() if number in passages},
        legs=tuple(both.legs),
        wordings=both.asked.others,
        ms={
            "total": first.ms.get("total", 0.0) + more.ms.get("total", 0.0),
            **{leg.name: leg.ms for leg in both.legs},
        },
    )


def order(pair: tuple[Hit, Passage]) -> tuple[float, int]:
    """Sort key: score, then origin priority; ties keep the order of their leg."""
    return -pair[0].score, ORIGIN_PRIORITY[pair[0].origin]


def _plain_answer(text: str, answer: SearchAnswer) -> Searched:
    """An answer without derived rules."""
    ranked = [(hit, answer.passages[hit.passage_id]) for hit in answer.hits if hit.origin != "kg_rule"]
    return Searched(
        ranked, answer.copies, list(answer.legs), answer.reason, answer.answerable or 0.0,
        Wordings(text, [], answer.wordings), answer.missing_terms,
    )  # fmt: skip


def _places(parts: Sequence[Searched]) -> list[int]:
    """The number of each part's own wording among all wordings; 0 for the question."""
    return list(accumulate((len(part.asked.others) + 1 for part in parts[:-1]), initial=0))


def _number_hit(hit: Hit, place: int) -> Hit:
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
            next((leg for leg in of if leg.state == "failed"), of[0]), ms=sum(leg.ms for leg in of), hits=max(leg.hits for leg in of),
            remembered=all(leg.remembered for leg in of),
        )
        for of in by_name.values()
    ]  # fmt: skip
    if rewriting is not None:
        state, hits = "failed" if rewriting.error else "ok", len(rewriting.wordings)
        legs.append(LegReport(name="llm", state=state, ms=rewriting.ms, hits=hits, error=rewriting.error))
    return legs
