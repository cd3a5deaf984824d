"""What is told about learning: questions with their answers, judgements of answers, and tunings that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wenyuan.core.scoring.risk import Calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAddress:
    """A question and one address of its answer.

    Attributes:
        answer: URI of a passage or document, or the ref of a passage (``source_id#passage_id``); ``""``, with grade 0, for a
            question that the library must not answer.
        otherwise: Other addresses that mean the same, tried in order.
        grade: How well it answers; at least 0; 0 means judged to be no answer.
        where: Of the file, e.g. ``line 3``.
    """

    question: str
    answer: str
    otherwise: tuple[str, ...] = ()
    grade: float = 1.0
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenQuestion:
    """A question that is kept with the address of its answer.

    Attributes:
        digest: Of the question; see `core.gaps.digest_of`.
        answer: Address of a document or passage; ``""``: the library must not answer it.
        actor: Who said so: id of the key, or ``local``.
        origin: By what it came here: ``gap`` where somebody answered a gap, ``closed`` where asking again did,
            ``said`` where somebody said so, ``liked`` where a passage was called right.
        at: Seconds since the epoch.
    """

    digest: str
    question: str
    answer: str
    actor: str
    origin: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A caller's judgement of a part of an audited answer; `actor` is a key's id, ``at`` seconds since the epoch."""

    audit_id: str
    ref: str
    actor: str
    good: bool
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTuning:
    """A stored tuning; active from change `seq` until change `undone_seq` (None: still active)."""

    tuning_id: int
    seq: int
    undone_seq: int | None
    created_at: float
    undone_at: float | None
    encoder: str
    fingerprint: str
    weight: float
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCalibration:
    """The calibration of a judge as the catalog has it; it counts from change `seq` until change `undone_seq` (None: still)."""

    calibration_id: int
    seq: int
    undone_seq: int | None
    created_at: float
    undone_at: float | None
    calibration: Calibration
    report: Mapping[str, Any]
