"""The questions of the audit, kept from one look at them to the next, which then reads only what was asked since."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from wenyuan.core.records import AuditRecord
from wenyuan.service.gaps.audited_questions import AskedAgain, AuditedQuestion, asked_questions, records_since

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog

_FIRST, _PAGE = 50, 1_000
_OPEN = 100
"""The newest records, whose questions may have parts that are still to come."""
_REMOVING = ("audit", "erasure")
"""Kinds of records after which what was read is read anew: something was erased or expired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsRead:
    """Questions since a time, oldest first.

    Attributes:
        repeated: Ids of those that the same caller asked again in other words.
        version: Another one where the questions are others.
        epoch: Another one where those read before are not the beginning of these, or of what came before them.
        begin: How many questions there were before these since the epoch began.
        settled: How many of these, the oldest, will not change any more.
        since: Seconds since the epoch: where reading stopped.
        complete: Whether everything since the time asked for is there.
    """

    questions: Sequence[AuditedQuestion]
    repeated: frozenset[str]
    version: tuple[int, int]
    epoch: int
    begin: int
    settled: int
    since: float
    complete: bool


class RememberedQuestions:
    """Reads questions; safe to share between threads.

    Args:
        most: Records that are held, the newest.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._changes = self._epoch = 0
        self._forget()

    def _forget(self) -> None:
        self._changes += 1
        self._epoch += 1
        self._let_go = 0
        self._since = float("inf")
        self._all = True  # nothing was left out for want of room
        self._mark = -1
        self._last = -1
        self._settled: list[AuditedQuestion] = []
        self._newest: list[AuditRecord] = []
        self._repeats = AskedAgain()

    def read(self, log: AuditLog, since: float) -> QuestionsRead:
        """The questions since a time.

        Raises:
            CatalogUnavailable: the audit cannot be read.
        """
        with self._lock:
            mark = max((one.seq for kind in _REMOVING for one in log.list(kind=kind, limit=1)), default=0)
            if mark != self._mark or (since < self._since and self._all):
                self._forget()
                self._mark = mark
            if new := self._new(log, since):
                self._changes += 1
                self._newest += new
                self._settle()
            last = asked_questions(self._newest)
            at = bisect_left(self._settled, since, key=lambda one: one.at)
            later = [one for one in last if one.at >= since]
            return QuestionsRead(
                questions=[*self._settled[at:], *later],
                repeated=self._repeats.with_more(last),
                version=(self._changes, len(self._settled) - at + len(later)),
                epoch=self._epoch,
                begin=self._let_go + at,
                settled=len(self._settled) - at,
                since=since if self._all or since >= self._since else self._since,
                complete=self._all or since >= self._since,
            )

    def _new(self, log: AuditLog, since: float) -> list[AuditRecord]:
        """The records that were added, oldest first."""
        if self._last < 0:
            found, complete = records_since(log, since, None, self._most)
            self._since, self._all = since, complete
            if not complete and found:
                self._since = found[0].at
        else:
            found = self._added(log)
        if found:
            self._last = found[-1].seq
        return found

    def _added(self, log: AuditLog) -> list[AuditRecord]:
        found: list[AuditRecord] = []
        limit = _FIRST
        while True:
            page = log.list(kind="retrieval", limit=limit, before=found[-1].audit_id if found else None)
            new = [one for one in page if one.seq > self._last]
            found += new
            if len(new) < limit:
                return found[::-1]
            limit = _PAGE

    def _settle(self) -> None:
        """Unite the records whose questions have all their parts, and let go of the oldest where there are too many."""
        if len(self._newest) > 2 * _OPEN:
            late = {_question(one) for one in self._newest[-_OPEN:]}
            done = [one for one in self._newest if _question(one) not in late]
            self._newest = [one for one in self._newest if _question(one) in late]
            questions = asked_questions(done)
            self._repeats.take(questions)
            self._settled += questions
        if len(self._settled) > self._most + self._most // 10:
            self._let_go += len(self._settled) - self._most
            self._settled = self._settled[-self._most :]
            self._since, self._all = self._settled[0].at, False


def _question(record: AuditRecord) -> str:
    """The id of the first record of a question."""
    said: Mapping[str, object] = record.record
    return str(said.get("part_of") or record.audit_id)
