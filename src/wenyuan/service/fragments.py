"""Answers as the contract's fragments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.address import part_of
from wenyuan.core.copies import also_in
from wenyuan.core.model import ORIGIN_PRIORITY, Fragment, Passage
from wenyuan.core.ranking import Hit
from wenyuan.core.structure import clause_label
from wenyuan.service.answer import Answer

__all__ = ["fragments_of"]


def fragments_of(answer: Answer) -> tuple[Fragment, ...]:
    """The fragments of an answer, best first, each with all that is known of it."""
    about: dict[str, Any] = {"audit_id": answer.audit_id} if answer.audit_id else {}
    if answer.stale_by:
        about["stale_by"] = round(answer.stale_by, 1)
    if answer.degraded:
        about["degraded"] = ", ".join(answer.degraded)
    return tuple(
        Fragment(
            source=passage.uri,
            content=passage.text,
            retrieval_score=hit.score,
            metadata={
                **_metadata(hit, passage, answer.mode),
                **_staleness(passage, answer),
                **_copies(hit, answer),
                **_calibrated(hit, answer),
                **_derivation(hit, answer),
                **about,
            },
        )
        for hit, passage in ((hit, answer.passages[hit.passage_id]) for hit in answer.hits)
    )


def _staleness(passage: Passage, answer: Answer) -> dict[str, str]:
    since = answer.stale.get(passage.source_id)
    return {} if since is None else {"stale_since": since}


def _calibrated(hit: Hit, answer: Answer) -> dict[str, bool]:
    """That probabilities were not measured with the library's encoder."""
    return {} if "raw" not in hit.parts or answer.calibrated else {"calibrated": False}


def _copies(hit: Hit, answer: Answer) -> dict[str, Any]:
    """Where else the same stands."""
    return {"also_in": also_in(answer.copies[hit.passage_id])} if hit.passage_id in answer.copies else {}


def _derivation(hit: Hit, answer: Answer) -> Mapping[str, Any]:
    """Path, evidence and condition of a rule."""
    return {} if answer.derived is None else answer.derived.details.get(hit.passage_id, {})


def _metadata(hit: Hit, passage: Passage, mode: str) -> dict[str, Any]:
    place: dict[str, Any] = {"page": passage.page, "line": passage.line, "cell": passage.cell,
             "clause": clause_label(passage.headings) or None, "part": part_of(passage.uri)}  # fmt: skip
    if passage.passage_id > 0 and passage.start < passage.end:  # of what lies elsewhere, nobody knows
        place |= {"char_start": passage.start, "char_end": passage.end}
    force = {"effective_from": passage.effective_from, "effective_until": passage.effective_until}
    return {
        "source_id": passage.source_id,
        "passage_id": passage.ref,
        "title": passage.title,
        "heading": " > ".join(passage.headings),
        "trust": passage.trust,
        "origin": hit.origin,
        "priority": ORIGIN_PRIORITY[hit.origin],
        "sha256": passage.sha256,
        "copyright": passage.copyright,
        "language": passage.language,
        "mode": mode,
        "scores": {name: round(value, 6) for name, value in hit.parts.items()},
        **{name: value for name, value in place.items() if value is not None},
        **{name: day.isoformat() for name, day in force.items() if day is not None},
    }
