"""Questions counted without reading records: what is kept beside each, and what becomes of that when records go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from audit_parts import CANARY, DAY, Clock, found_in, raw
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.core.errors import InvalidRequest
from wenyuan.runtime.local_time import day_begins

SCORES = {"answered": 0.9, "weak": 0.2}


def asked(outcome: str, *, agent: str = "", source: str = "s", ms: float = 1.0, **more: Any) -> dict[str, Any]:
    """A record of a question of which that became."""
    fragments = [{"score": SCORES[outcome], "quoted_chars": 9, "source_id": source}] if outcome in SCORES else []
    return {
        "kind": "retrieval", "principal": "key1", "door": "search", "agent": agent or None, "preview": f"q {outcome}",
        "status": "FAILED" if outcome == "failed" else "SUCCESS", "fragments": fragments,
        "legs": [{"name": "keyword", "state": "ok", "ms": ms, "hits": int(outcome == "refused")}], **more,
    }  # fmt: skip


@pytest.fixture
def clock() -> Clock:
    return Clock(day_begins(date(2027, 1, 15), ZoneInfo("UTC")) + DAY / 2)


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> Iterator[AuditLog]:
    with closing(AuditLog(tmp_path, flush_after=0.005, clock=clock)) as made:
        yield made


def counted(log: AuditLog, clock: Clock, days: int = 3) -> Counter[str]:
    """The outcomes of the last days."""
    begins = [clock.at - DAY / 2 + at * DAY for at in range(1 - days, 2)]
    return Counter({name: n for name, n in _by_outcome(log, begins).items() if n})


def _by_outcome(log: AuditLog, begins: list[float]) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in log.asked(begins):
        found[one.outcome] += one.questions
    return found


def test_questions_are_counted_by_day_outcome_agent_and_source(log: AuditLog, clock: Clock) -> None:
    """Each count has its day, agent and source, and what the list gives of it is as many records."""
    log.append(asked("answered", agent="a"))
    log.append(asked("answered", agent="a"))
    log.append(asked("refused"))
    log.flush()
    clock.at += DAY
    log.append(asked("weak", agent="b", source="t"))
    begins = [clock.at - DAY / 2 + at * DAY for at in (-1, 0, 1)]
    assert {tuple(one) for one in log.asked(begins)} == {
        (0, "answered", "a", "s", 2), (0, "refused", "", "", 1), (1, "weak", "b", "t", 1),
    }  # fmt: skip
    assert len(log.list(outcome="answered", agent="a", since=begins[0], until=begins[1])) == 2
    assert len(log.list(outcome="any", until=begins[1])) == 3
    assert [one.record["agent"] for one in log.list(source="t")] == ["b"]
    with pytest.raises(InvalidRequest, match="nothing that becomes of a question"):
        log.list(outcome="good")


def test_a_question_in_parts_is_one(log: AuditLog, clock: Clock) -> None:
    """Parts that come with the first record and later ones are united with it; a part whose first is gone stands alone."""
    first = log.append(asked("empty"))
    log.append(asked("answered", part_of=first, ms=5.0))
    log.flush()
    log.append(asked("failed", part_of=first))
    log.append(asked("weak", part_of="a-gone"))
    assert counted(log, clock) == {"failed": 1, "weak": 1}
    assert [record.audit_id for record in log.list(outcome="failed")] == [first]
    assert [ms for _, ms in log.slowest(clock.at - DAY, clock.at + DAY, 5)] == [5.0, 1.0]


def test_the_slowest_come_first(log: AuditLog, clock: Clock) -> None:
    """Those that took longest, as many as are wanted; answers that were kept took no time."""
    for ms in (3.0, 50.0, 7.0):
        log.append(asked("answered", ms=ms))
    log.append(asked("answered", ms=900.0, cache_hit=True))
    assert [ms for _, ms in log.slowest(clock.at - DAY, clock.at + DAY, 2)] == [50.0, 7.0]


def test_what_is_erased_names_nobody(log: AuditLog, clock: Clock, tmp_path: Path) -> None:
    """Of an erased question there remains that it was asked, and neither agent nor source; of its parts likewise."""
    first = log.append(asked("answered", agent=CANARY, source="s"))
    log.append(asked("answered", source=CANARY, part_of=log.append(asked("empty", agent="a"))))
    log.flush()
    log.erase_records("e-1", lambda row: CANARY in row.record, lambda name: name, principal="ops")
    log.compact()
    assert found_in(tmp_path, CANARY) == []
    assert counted(log, clock) == {"answered": 2}
    assert {one.agent for one in log.asked([clock.at - DAY / 2, clock.at + DAY / 2])} == {""}
    assert log.show(first).erasure == "e-1"


def test_what_expired_is_not_counted(log: AuditLog, clock: Clock) -> None:
    """What retention removes is gone from the counts, and the rest stays."""
    log.append(asked("answered"))
    log.flush()
    clock.at += DAY
    log.append(asked("weak"))
    log.expire(clock.at - 1.0, early=True)
    assert counted(log, clock) == {"weak": 1}


def test_what_was_cut_off_is_not_counted(tmp_path: Path, clock: Clock) -> None:
    """Where the end of the audit was lost and that was accepted, new records are written and counted in its place."""
    with closing(AuditLog(tmp_path, flush_after=0.005, clock=clock)) as log:
        for outcome in ("answered", "refused", "failed"):
            log.append(asked(outcome))
    with raw(tmp_path) as connection:
        connection.execute("DELETE FROM audit WHERE seq > 1")
    with closing(AuditLog(tmp_path, flush_after=0.005, clock=clock)) as log:
        log.renew_head()
        log.append(asked("weak"))
        assert counted(log, clock) == {"answered": 1, "weak": 1}


def test_a_log_of_before_is_counted(tmp_path: Path, clock: Clock) -> None:
    """A log of the second format is brought to the third with all of its questions; a damaged record is left to verifying."""
    with closing(AuditLog(tmp_path, flush_after=0.005, clock=clock)) as log:
        first = log.append(asked("empty"))
        log.append(asked("answered", part_of=first))
        log.append(asked("refused"))
        log.append({"kind": "registry", "principal": "key1", "action": "added"})
        log.append(asked("weak"))
    with raw(tmp_path) as connection:
        connection.execute("DROP TABLE audit_asked")
        connection.execute("PRAGMA user_version = 2")
        connection.execute("UPDATE audit SET record = substr(record, 2) WHERE seq = 5")
    with closing(AuditLog(tmp_path, flush_after=0.005, clock=clock)) as log:
        assert counted(log, clock) == {"answered": 1, "refused": 1}
        found = log.verify().first_fault
        assert found is not None
        assert found.seq == 5


def test_days_on_which_clocks_change_are_whole(tmp_path: Path) -> None:
    """A day of 23 hours and one of 25 have what was asked in them, and their neighbours what is theirs."""
    zone = ZoneInfo("Europe/Berlin")
    for first in (date(2027, 3, 27), date(2027, 10, 30)):
        days = [first + timedelta(days=at) for at in range(4)]
        begins = [day_begins(day, zone) for day in days]
        folder = tmp_path / first.isoformat()
        folder.mkdir()
        clock = Clock()
        with closing(AuditLog(folder, flush_after=0.005, clock=clock)) as log:
            for begin, end in pairwise(begins):
                for clock.at in (begin, begin + DAY / 2, end - 1.0):
                    log.append(asked("answered"))
                    log.flush()
            found: Counter[int] = Counter()
            for one in log.asked(begins):
                found[one.day] += one.questions
        assert found == {0: 3, 1: 3, 2: 3}
