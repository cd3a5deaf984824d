"""What became of each question, beside its audit record, so that questions are counted without reading records.

The rows follow from the records alone, and are no part of the chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog.audit.definitions import asked, audit
from wenyuan.core.question_outcomes import SLOT, Outcome, QuestionOutcome, outcome_of

_AT_ONCE = 1_000
_SLOTS = 96  # of a day
_ASKED = "retrieval"  # the kind of record of questions


class AskedRecord(NamedTuple):
    """What is needed of a record: its number, time, kind and content."""

    seq: int
    audit_id: str
    at: float
    kind: str
    record: str


def keep_outcomes(connection: sa.Connection, records: Iterable[AskedRecord]) -> None:
    """Store the outcomes of new records. That of a part is united with that of its question's first record."""
    new: dict[str, dict[str, Any]] = {}
    for one in records:
        said = _said(one)
        outcome = outcome_of(said)
        if outcome is None:
            continue
        first = said.get("part_of")
        if first in new:
            new[first] |= _values(_outcome_of_row(new[first]).with_part(outcome))
        elif first is None or not _united(connection, first, outcome):
            new[one.audit_id] = {"seq": one.seq, "slot": int(one.at // SLOT), **_values(outcome)}
    if new:
        connection.execute(asked.insert(), list(new.values()))


def _said(one: AskedRecord) -> Mapping[str, Any]:
    """What the record of a question says; nothing for another kind, and for a record that was damaged: verifying names it."""
    try:
        said = json.loads(one.record) if one.kind == _ASKED else {}
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _united(connection: sa.Connection, audit_id: str, part: QuestionOutcome) -> bool:
    """Unite the outcome of a part with that of its question; False where that is not there any more."""
    row = connection.execute(
        sa.select(asked).join(audit, audit.c.seq == asked.c.seq).where(audit.c.audit_id == audit_id)
    ).first()
    if row is None:
        return False
    united = _outcome_of_row(row._asdict()).with_part(part)
    connection.execute(asked.update().where(asked.c.seq == row.seq).values(_values(united)))
    return True


def _values(one: QuestionOutcome) -> dict[str, Any]:
    return {
        "agent": one.agent, "source_id": one.source_id, "outcome": one.outcome, "score": one.score, "ms": one.ms,
    }  # fmt: skip


def _outcome_of_row(row: Mapping[str, Any]) -> QuestionOutcome:
    return QuestionOutcome(**{name: row[name] for name in ("agent", "source_id", "outcome", "score", "ms")})


def blank_outcomes(connection: sa.Connection, rows: Sequence[AskedRecord]) -> None:
    """Take from the outcomes of records that are erased, and of the questions of which they are parts, what these say."""
    first = {said["part_of"] for one in rows if "part_of" in (said := _said(one))}
    numbers = {one.seq for one in rows}
    if first:
        numbers.update(connection.scalars(sa.select(audit.c.seq).where(audit.c.audit_id.in_(sorted(first)))))
    if numbers:
        connection.execute(
            asked.update().where(asked.c.seq.in_(sorted(numbers))).values(agent="", source_id="", score=0.0)
        )


def keep_all_outcomes(connection: sa.Connection) -> None:
    """Store the outcomes of all records, of a log that was made before they were kept."""
    connection.execute(asked.delete())
    last = 0
    while True:
        a = audit.c
        query = sa.select(a.seq, a.audit_id, a.at, a.kind, a.record).where(a.seq > last).order_by(a.seq)
        rows = [AskedRecord._make(row) for row in connection.execute(query.limit(_AT_ONCE))]
        if not rows:
            return
        keep_outcomes(connection, rows)
        last = rows[-1].seq


class AskedCount(NamedTuple):
    """How many questions of one day, counted from 0, had one outcome, for one agent, and one source at the top."""

    day: int
    outcome: Outcome
    agent: str
    source_id: str
    questions: int


def asked_counts(connection: sa.Connection, days: Sequence[float]) -> list[AskedCount]:
    """How many questions were asked on days: `days` says when each begins, and last when the last one ends."""
    found: list[AskedCount] = []
    for first, last in _even(days):
        begin, end = int(days[first] // SLOT), int(days[last] // SLOT)
        day = ((asked.c.slot - begin) // _SLOTS).label("day")
        groups = (day, asked.c.outcome, asked.c.agent, asked.c.source_id)
        query = sa.select(*groups, sa.func.count()).where(asked.c.slot >= begin, asked.c.slot < end).group_by(*groups)
        found += [AskedCount(min(first + row[0], last - 1), *row[1:]) for row in connection.execute(query)]
    return found


def _even(days: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Runs of days of 24 hours each, as first and last (exclusive); a day on which clocks are changed is a run of its own."""
    start = 0
    for at in range(len(days) - 1):
        if days[at + 1] - days[at] != _SLOTS * SLOT:
            if at > start:
                yield start, at
            yield at, at + 1
            start = at + 1
    if len(days) - 1 > start:
        yield start, len(days) - 1


def slowest_asked(connection: sa.Connection, since: float, until: float, limit: int) -> dict[int, float]:
    """By number of record, the milliseconds of the questions that took longest, the slowest first."""
    a = asked.c
    query = sa.select(a.seq, a.ms).where(a.slot >= int(since // SLOT), a.slot < int(until // SLOT), a.ms > 0)
    rows = connection.execute(query.order_by(a.ms.desc(), a.seq.desc()).limit(limit))
    return {row.seq: row.ms for row in rows}
