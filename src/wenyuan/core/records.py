"""Value types of audit records, evaluations and tunings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:  # what counts with arrays is not loaded for a record
    from wenyuan.core.scoring.evaluation import Bin
    from wenyuan.core.scoring.reliability import Reliability
    from wenyuan.core.scoring.risk import Calibration

# What the audit tells: its records, whether they are whole, and how the writing of them is going.


KINDS = (
    "retrieval", "fetch", "registry", "agent", "key", "rule", "task", "refresh", "tuning", "feedback", "evaluation",
    "synonym", "correction", "document", "verification", "answer", "audit",
)  # fmt: skip
"""What a record is about; ``fetch``: a document that was given to read; ``verification``: verdicts on an answer;
``answer``: what a language model's claims became; ``audit``: what was expired or erased in the
audit itself."""

QueryState = Literal["kept", "erased", "not kept", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """A record of the audit chain.

    Attributes:
        at: Seconds since the epoch.
        query: The query text, if it is stored.
        query_state: ``kept``; ``erased``; ``not kept`` (by setting); ``none`` for records without a query.
    """

    seq: int
    audit_id: str
    at: float
    kind: str
    principal: str
    record: Mapping[str, Any]
    hash: str
    query: Mapping[str, Any] | None
    query_state: QueryState


def folded(records: Iterable[AuditRecord]) -> list[tuple[AuditRecord, int]]:
    """Records with those of one question's parts folded into one entry, each with the number of folded records.

    A question that was asked in parts (of rules, cases and templates; of several domains) appears at the place of its
    newest record, represented by its first one, if that is among the records.
    """
    groups: dict[str, list[AuditRecord]] = {}
    for record in records:
        groups.setdefault(record.record.get("part_of") or record.audit_id, []).append(record)
    first = ((next((r for r in of if r.audit_id == name), of[-1]), len(of) - 1) for name, of in groups.items())
    return list(first)


@dataclass(frozen=True, slots=True)
class AuditFault:
    """The first fault in a chain: record number and description."""

    seq: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of verifying an audit log.

    Attributes:
        records: How many there are.
        head: ``seq:hash`` of the last sound record: what to keep elsewhere.
    """

    ok: bool
    records: int
    head: str
    first_fault: AuditFault | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProgress:
    """State of the audit writer.

    Attributes:
        records: The number of the last durable record: how many were ever written.
        waiting: Records that are not durable yet.
        lag: Seconds for which the oldest of them has waited.
        failing: Whether the last attempt to write failed.
    """

    records: int
    waiting: int
    lag: float
    failing: bool


# What is told about learning: questions with their answers, judgements of answers, and tunings that are kept.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
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


# What is kept of an evaluation: how well a library answered questions whose answers are known, on some day.


CUT = 10
"""Of the measures: what lies beyond is seldom read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """Evaluation result of one question.

    Attributes:
        ndcg: At `CUT`, 0..1.
        rank: Of the first right answer, from 1; 0 where none was found.
        score: Of what came first; None where nothing was answered.
        known: Whether the library has an answer: an address leads to a passage in force.
        vain: Whether the library must not answer it.
    """

    question: str
    ndcg: float
    rank: int
    score: float | None
    known: bool
    vain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """An evaluation without its questions.

    Attributes:
        at: Seconds since the epoch.
        name: Of the golden file.
        set_id: Of its questions and answers: evaluations of the same set can be compared.
        unknown: How many questions have no answer in the library; they count as not found.
        examples: Some of the addresses that lead nowhere, with where they stand.
        figures: ``ndcg@10``, ``recall@10``, ``mrr@10``, ``hit@1``, ``hit@3`` (0..1); ``answered``: the share of the
            questions that got any answer; ``refused``: the share of nonsense that got none; ``ece`` (None when nothing
            was found); ``p50_ms``, ``p95_ms``. Where questions must not be answered: ``no_answer``, how many;
            ``no_answer_refused``, the share of them that got none; ``no_answer_first``, the mean score of what came first, 0 for none.
            ``answer_refused``: the share of the questions with an answer in the library that got none.
        bins: Of the reliability diagram of the first ten.
        places: The reliability of the fragment in first place and of the two behind it, by the names of
            `core.scoring.reliability.PLACES`; empty in an evaluation of a former version.
        made_of: What answered: ``change``, ``documents``, ``passages``, ``encoder``, ``mode``, ``weight``, ``tuning``,
            ``program``.
    """

    evaluation_id: int
    at: float
    name: str
    set_id: str
    questions: int
    unknown: int
    examples: tuple[tuple[str, str], ...]
    figures: Mapping[str, float | None]
    bins: tuple[Bin, ...]
    made_of: Mapping[str, Any]
    seconds: float
    places: Mapping[str, Reliability] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeEvaluation:
    """An evaluation with the result of each question, in the order of the set.

    Attributes:
        in_vain: Those that must not be answered.
    """

    evaluation: Evaluation
    asked: Sequence[AskedQuestion]
    in_vain: Sequence[AskedQuestion] = ()

    @property
    def refused(self) -> list[AskedQuestion]:
        """The questions that have an answer in the library and got none."""
        return [one for one in self.asked if one.known and one.score is None]

    @property
    def answered_in_vain(self) -> list[AskedQuestion]:
        """The questions that should have been refused and were answered, the surest first."""
        return sorted((one for one in self.in_vain if one.score is not None), key=lambda one: -(one.score or 0.0))


def set_id_of(pairs: Iterable[Pair]) -> str:
    """An id of a question set that depends only on its questions and answers, not on order or location."""
    rows = sorted([p.question.strip(), p.answer, *p.otherwise, f"{p.grade:g}"] for p in pairs)
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]
