"""What an owner looks at first: what was asked, what became of it, what took longest, what contradicts, what changed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.question_outcomes import OUTCOMES
from wenyuan.core.records import KINDS, AuditRecord
from wenyuan.runtime.local_time import day_begins, local_day
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.conflicts.finder import Conflicts
from wenyuan.service.governance import checked_log

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog

DAYS, MOST_DAYS = 30, 366
"""Days that are counted unless said otherwise, and at most."""
_MOST = 8  # slowest questions, and latest changes
_GIVEN = ("retrieval", "fetch", "verification", "answer")  # kinds of records that change nothing
_CHANGES = tuple(kind for kind in KINDS if kind not in _GIVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCount:
    """How many questions were asked on a day, by an agent, or with a source at the top, and what became of them.

    Attributes:
        name: The day, or the id of agent or source; ``""`` for none.
        outcomes: By outcome, of which each has its number.
    """

    name: str
    questions: int
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowQuestion:
    """A question that took long: `ms` milliseconds in its longest leg."""

    audit_id: str
    at: float
    ms: float
    preview: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryChange:
    """A change of the library, by its audit record."""

    audit_id: str
    at: float
    kind: str
    action: str
    object: str
    principal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryOverview:
    """What was asked in the last days, and what is open.

    Attributes:
        days: Each day, the oldest first; also those on which nothing was asked.
        agents, sources: Those that were asked for or gave something, the most frequent first.
        open_conflicts: How many contradictions between what is in force nobody has decided.
    """

    total: QuestionCount
    days: Sequence[QuestionCount]
    agents: Sequence[QuestionCount]
    sources: Sequence[QuestionCount]
    slowest: Sequence[SlowQuestion]
    changes: Sequence[LibraryChange]
    open_conflicts: int

    def described(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Overviews:
    """Counts what was asked, from what the audit keeps of each question."""

    recorder: AuditRecorder
    conflicts: Conflicts
    clock: Callable[[], float] = time.time

    def overview(self, *, days: int = DAYS, zone: tzinfo | None = None) -> LibraryOverview:
        """What was asked on the last days, today included.

        Args:
            zone: Whose days are counted; None: this machine's.

        Raises:
            InvalidRequest: `days` is out of bounds.
            KnowledgeError: the audit is switched off: nothing can be known.
            CatalogUnavailable: the audit cannot be read.
        """
        if not 1 <= days <= MOST_DAYS:
            raise InvalidRequest(msg("days is {days}; it must be from 1 to {most}", days=days, most=MOST_DAYS))
        log = checked_log(self.recorder.log)
        today = date.fromisoformat(local_day(self.clock(), zone))
        names = [today - timedelta(days=ago) for ago in range(days - 1, -1, -1)]
        begins = [day_begins(day, zone) for day in (*names, today + timedelta(days=1))]
        counts = log.asked(begins)
        by_day = _counted((names[one.day].isoformat(), one.outcome, one.questions) for one in counts)
        return LibraryOverview(
            total=_count("", sum(by_day.values(), Counter())),
            days=[_count(day.isoformat(), by_day.get(day.isoformat(), Counter())) for day in names],
            agents=_ranked(_counted((one.agent, one.outcome, one.questions) for one in counts)),
            sources=_ranked(_counted((one.source_id, one.outcome, one.questions) for one in counts if one.source_id)),
            slowest=[_slow(record, ms) for record, ms in log.slowest(begins[0], begins[-1], _MOST)],
            changes=_latest(log),
            open_conflicts=self.conflicts.open_count(),
        )


def _counted(rows: Iterable[tuple[str, str, int]]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for name, outcome, questions in rows:
        found.setdefault(name, Counter())[outcome] += questions
    return found


def _count(name: str, outcomes: Counter[str]) -> QuestionCount:
    return QuestionCount(
        name=name, questions=outcomes.total(), outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES}
    )


def _ranked(counted: Mapping[str, Counter[str]]) -> list[QuestionCount]:
    found = [_count(name, outcomes) for name, outcomes in counted.items()]
    return sorted(found, key=lambda one: (-one.questions, one.name))


def _slow(record: AuditRecord, ms: float) -> SlowQuestion:
    said = record.record
    return SlowQuestion(
        audit_id=record.audit_id, at=record.at, ms=ms, preview=said.get("preview", ""), agent=said.get("agent") or ""
    )


def _latest(log: AuditLog) -> list[LibraryChange]:
    """The latest changes of the library, the newest first."""
    records = [record for kind in _CHANGES for record in log.list(kind=kind, limit=_MOST)]
    newest = sorted(records, key=lambda record: record.seq, reverse=True)[:_MOST]
    return [
        LibraryChange(
            audit_id=one.audit_id, at=one.at, kind=one.kind, action=str(one.record.get("action", "")),
            object=str(one.record.get("object", "")), principal=one.principal,
        )
        for one in newest
    ]  # fmt: skip
