"""The fragment contract over the library: requests to queries, hits to fragments, and reading documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from wenyuan.core.anchors import part_of
from wenyuan.core.fidelity import Recognition
from wenyuan.core.model import ORIGIN_PRIORITY, Corrected, Fragment, Passage
from wenyuan.core.ports import Hit
from wenyuan.core.restrictions import APPLIED
from wenyuan.core.scoring.copies import also_in
from wenyuan.core.text.structure import clause_label
from wenyuan.service.query import SearchAnswer

# Answers as the contract's fragments.


def fragments_of(answer: SearchAnswer, restrictions: Sequence[str] = ()) -> tuple[Fragment, ...]:
    """The fragments of an answer, best first, with all metadata.

    Args:
        restrictions: Names of those that the request had, and that were applied.
    """
    return tuple(_fragments(answer, ((hit, answer.passages[hit.passage_id]) for hit in answer.hits), restrictions))


def nearest_of(answer: SearchAnswer, restrictions: Sequence[str] = ()) -> Fragment | None:
    """The nearest passage of an answer that has one, as a fragment is told; see `SearchAnswer.nearest`."""
    return next(_fragments(answer, [answer.nearest] if answer.nearest else (), restrictions), None)


def _fragments(
    answer: SearchAnswer, shown: Iterable[tuple[Hit, Passage]], restrictions: Sequence[str]
) -> Iterator[Fragment]:
    about: dict[str, Any] = {"audit_id": answer.audit_id} if answer.audit_id else {}
    if restrictions:
        about[APPLIED] = list(restrictions)
    if answer.stale_by:
        about["stale_by"] = round(answer.stale_by, 1)
    if answer.degraded:
        about["degraded"] = ", ".join(answer.degraded)
    if answer.derived is not None and answer.derived.notes:
        about["rule_notes"] = list(map(str, answer.derived.notes))
    derived = {} if answer.derived is None else answer.derived.details  # path, evidence and condition of a rule
    return (
        Fragment(
            source=passage.uri,
            content=passage.text,
            retrieval_score=hit.score,
            metadata={
                **about_hit(hit, passage, answer.stale, answer.copies.get(hit.passage_id, ())),
                **_place(passage),
                "passage_id": passage.ref,
                "mode": answer.mode,
                **({} if answer.calibrated or "raw" not in hit.parts else {"calibrated": False}),
                **derived.get(hit.passage_id, {}),
                **about,
            },
        )
        for hit, passage in shown
    )


def about_hit(hit: Hit, passage: Passage, stale: Mapping[str, str], copies: Sequence[Passage] = ()) -> dict[str, Any]:
    """Metadata of a hit common to all answers, beyond address, text and score.

    Args:
        stale: Since when each overdue source is, by its id.
        copies: Passages that say the same, which are not given themselves.
    """
    place = {"page": passage.page, "line": passage.line, "cell": passage.cell}
    force = {"effective_from": passage.effective_from, "effective_until": passage.effective_until}
    return {
        "source_id": passage.source_id,
        "title": passage.title,
        "heading": " > ".join(passage.headings),
        "trust": passage.trust,
        "origin": hit.origin,
        "priority": ORIGIN_PRIORITY[hit.origin],
        "sha256": passage.sha256,
        "copyright": passage.copyright,
        "language": passage.language,
        "scores": {name: round(value, 6) for name, value in hit.parts.items()},
        **{name: value for name, value in place.items() if value is not None},
        **{name: day.isoformat() for name, day in force.items() if day is not None},
        **beside_hit(passage, stale, copies),
    }


def beside_hit(passage: Passage, stale: Mapping[str, str], copies: Sequence[Passage]) -> dict[str, Any]:
    """Optional metadata of a hit: overdue source, copies elsewhere, recognition; absent where it does not apply."""
    also: dict[str, Any] = {}
    if passage.source_id in stale:
        also["stale_since"] = stale[passage.source_id]
    if copies:
        also["also_in"] = also_in(copies)
    if passage.recognition is not None:
        also |= recognised(passage.recognition, passage.text)
    if passage.corrected is not None:
        also |= reworded(passage.corrected)
    return also


def reworded(told: Corrected) -> dict[str, Any]:
    """The members about corrections of a text; empty without any."""
    return {"corrected_by": told.by, "corrections": list(told.ids)} if told.by else {}


def recognised(told: Recognition | None, text: str) -> dict[str, Any]:
    """The members about recognition confidence; empty where the text was not recognised."""
    if told is None:
        return {}
    doubts = [{**one._asdict(), "text": text[one.start : one.end]} for one in told.uncertain]
    sure = {"ocr": True, "confidence": told.confidence, "least_confidence": told.least}
    return {**sure, "uncertain": doubts} if doubts else sure


def _place(passage: Passage) -> dict[str, Any]:
    """Clause, part of a file, and character range in the document."""
    place: dict[str, Any] = {"clause": clause_label(passage.headings), "part": part_of(passage.uri)}
    if passage.passage_id > 0 and passage.start < passage.end:  # unknown for external sources
        place |= {"char_start": passage.start, "char_end": passage.end}
    return {name: value for name, value in place.items() if value not in ("", None)}
