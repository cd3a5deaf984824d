"""Answers as the contract's fragments, and the metadata that all doors give of a passage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from wenyuan.core.anchors import part_of
from wenyuan.core.fidelity import Recognition
from wenyuan.core.model import ORIGIN_PRIORITY, Corrected, Fragment, Passage
from wenyuan.core.okf import STALE_AFTER, stale_since
from wenyuan.core.ports import Hit
from wenyuan.core.restrictions import APPLIED
from wenyuan.core.scoring.copies import also_in
from wenyuan.core.text.structure import clause_label
from wenyuan.service.query import SearchAnswer


def fragments_of(answer: SearchAnswer, restrictions: Sequence[str] = ()) -> tuple[Fragment, ...]:
    """The fragments of an answer, best first, with all metadata.

    Args:
        restrictions: Names of those that the request had, and that were applied.
    """
    return tuple(_fragments(answer, [(hit, answer.passages[hit.passage_id]) for hit in answer.hits], restrictions))


def nearest_of(answer: SearchAnswer, restrictions: Sequence[str] = ()) -> Fragment | None:
    """The nearest passage of an answer that has one, as a fragment is told; see `SearchAnswer.nearest`."""
    return _fragments(answer, [answer.nearest], restrictions)[0] if answer.nearest else None


def _fragments(
    answer: SearchAnswer, shown: Sequence[tuple[Hit, Passage]], restrictions: Sequence[str]
) -> list[Fragment]:
    about = about_answer(answer, {APPLIED: list(restrictions)})
    if answer.derived is not None and answer.derived.notes:
        about["rule_notes"] = list(map(str, answer.derived.notes))
    derived = {} if answer.derived is None else answer.derived.details  # path, evidence and condition of a rule
    places = [about_passage(passage, "clause", "part", "char_start", "char_end") for _, passage in shown]
    refs = [passage.ref for _, passage in shown]
    metadata = [
        {
            **about_hit(hit, passage, answer.stale, answer.copies.get(hit.passage_id, ())),
            **place,
            "passage_id": ref,
            "mode": answer.mode,
            **({} if answer.calibrated or "raw" not in hit.parts else {"calibrated": False}),
            **derived.get(hit.passage_id, {}),
            **about,
        }
        for (hit, passage), place, ref in zip(shown, places, refs, strict=True)
    ]
    return [
        Fragment(source=passage.uri, content=passage.text, retrieval_score=hit.score, metadata=told)
        for (hit, passage), told in zip(shown, metadata, strict=True)
    ]


_READ: Mapping[str, Callable[[Passage], Any]] = {
    "passage_id": lambda passage: passage.ref,
    "heading": lambda passage: " > ".join(passage.headings),
    "clause": lambda passage: clause_label(passage.headings) or None,
    "part": lambda passage: part_of(passage.uri) if "part=" in passage.uri else None,
    # Where external passages stand is unknown.
    "char_start": lambda passage: passage.start if passage.passage_id > 0 and passage.start < passage.end else None,
    "char_end": lambda passage: passage.end if passage.passage_id > 0 and passage.start < passage.end else None,
}
"""Metadata that is made of what a passage has, by name; the others are attributes of the passage."""


def about_passage(passage: Passage, *names: str) -> dict[str, Any]:
    """Metadata of a passage, by the names of `core.fragment_metadata`; what it does not have is left out."""
    values = {name: _READ[name](passage) if name in _READ else getattr(passage, name) for name in names}
    days = {name: value.isoformat() for name, value in values.items() if isinstance(value, date)}
    return {name: value for name, value in (values | days).items() if value is not None}


def about_hit(hit: Hit, passage: Passage, stale: Mapping[str, str], copies: Sequence[Passage] = ()) -> dict[str, Any]:
    """Metadata of a hit common to all answers, beyond address, text and score.

    Args:
        stale: Since when each overdue source is, by its id.
        copies: Passages that say the same, which are not given themselves.
    """
    return {
        **about_passage(passage, "source_id", "title", "heading", "trust"),
        "origin": hit.origin,
        "priority": ORIGIN_PRIORITY[hit.origin],
        **about_passage(passage, "sha256", "copyright", "language"),
        "scores": rounded(hit.parts),
        **about_passage(passage, "page", "line", "cell", "effective_from", "effective_until"),
        **beside_hit(passage, stale, copies),
    }


def about_answer(answer: SearchAnswer, also: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata that all fragments of an answer share; what does not apply is left out.

    Args:
        also: What stands behind the number of the record.
    """
    told = {
        "audit_id": answer.audit_id, **also, "stale_by": round(answer.stale_by, 1) if answer.stale_by else None,
        "degraded": ", ".join(answer.degraded),
    }  # fmt: skip
    return {name: value for name, value in told.items() if value not in (None, "", [])}


def rounded(parts: Mapping[str, float]) -> dict[str, float]:
    """The parts of a score as they are given."""
    return {name: round(value, 6) for name, value in parts.items()}


def stale_time(passage: Passage, stale: Mapping[str, str]) -> str | None:
    """Since when what a passage says may be out of date: by its source's refresh, or by the document's ``stale_after``."""
    since = stale.get(passage.source_id)
    if since or STALE_AFTER not in passage.facets:  # few documents say it themselves
        return since or None
    return stale_since(passage.facets, datetime.now(UTC))


def beside_hit(passage: Passage, stale: Mapping[str, str], copies: Sequence[Passage]) -> dict[str, Any]:
    """Optional metadata of a hit: overdue source, copies elsewhere, recognition; absent where it does not apply."""
    also: dict[str, Any] = {}
    if since := stale_time(passage, stale):
        also["stale_since"] = since
    if copies:
        also["also_in"] = also_in(copies)
    if passage.recognition is not None:
        also |= recognised(passage.recognition, passage.text)
    if passage.corrected is not None:
        also |= reworded(passage.corrected)
    if passage.disputes:
        also["conflicts"] = list(passage.disputes)
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
