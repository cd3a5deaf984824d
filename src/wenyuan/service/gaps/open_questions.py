"""Which questions were not answered well, kept from one look at them to the next, which then judges anew only those whose wording the
same caller asked again, or of which somebody said something, since.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from threading import Lock

from wenyuan.core.gaps import UnansweredQuestion
from wenyuan.service.gaps.audited_questions import AuditedQuestion, Wording, judged, wording_of
from wenyuan.service.gaps.remembered_questions import QuestionsRead

_AT = attrgetter("at")


class OpenQuestions:
    """The questions since some days before now; safe to share between threads.

    A question is judged with the others of its wording, by the same caller for the same agent, and with no other. So each of these
    is kept with what came of it, and looked at again where it has changed.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._epoch = -1
        self._begin = self._end = 0
        self._held: Sequence[AuditedQuestion] = ()
        self._of: dict[Wording, list[AuditedQuestion]] = {}
        self._wording_of: dict[str, Wording] = {}
        self._open: dict[Wording, list[UnansweredQuestion]] = {}
        self._closed: dict[Wording, UnansweredQuestion] = {}
        self._late: frozenset[Wording] = frozenset()
        self._bad: Mapping[str, bool] = {}
        self._repeated: frozenset[str] = frozenset()

    def found(
        self, read: QuestionsRead, bad: Mapping[str, bool]
    ) -> tuple[list[UnansweredQuestion], list[UnansweredQuestion]]:
        """As `audited_questions.unanswered` of all that was read, both lists oldest first.

        Args:
            bad: By audit id, whether what was judged of an answer was judged wrong only.
        """
        with self._lock:
            settled, late = read.questions[: read.settled], read.questions[read.settled :]
            if read.epoch != self._epoch or not self._begin <= read.begin <= self._end:
                self._forget()
                self._epoch, self._begin, self._end = read.epoch, read.begin, read.begin
            touched = self._moved(read.begin, settled)
            touched |= self._said_of(bad, read.repeated)
            beside: dict[Wording, list[AuditedQuestion]] = defaultdict(list)
            for one in late:
                beside[wording_of(one)].append(one)
            touched |= self._late | beside.keys()
            self._late = frozenset(beside)
            for wording in touched:
                self._judge(wording, beside.get(wording, ()))
            found = sorted((one for of in self._open.values() for one in of), key=_AT)
            return found, sorted(self._closed.values(), key=_AT)

    def _moved(self, begin: int, settled: Sequence[AuditedQuestion]) -> set[Wording]:
        """Let go of questions that are too old now and take in new ones; returns the wordings concerned."""
        gone = self._held[: begin - self._begin]
        new = settled[self._end - begin :]
        touched = {wording_of(one) for one in gone}
        for wording, count in _counts(gone).items():
            left = self._of[wording][count:]
            if left:
                self._of[wording] = left
            else:
                del self._of[wording]
        for one in gone:
            self._wording_of.pop(one.audit_id, None)
        for one in new:
            wording = wording_of(one)
            touched.add(wording)
            self._of.setdefault(wording, []).append(one)
            self._wording_of[one.audit_id] = wording
        self._held, self._begin, self._end = settled, begin, begin + len(settled)
        return touched

    def _said_of(self, bad: Mapping[str, bool], repeated: frozenset[str]) -> set[Wording]:
        """The wordings of questions whose answers were judged since, or that were asked again in other words."""
        named = {name for name in bad.keys() | self._bad.keys() if bad.get(name) != self._bad.get(name)}
        named |= repeated ^ self._repeated
        self._bad, self._repeated = bad, repeated
        return {self._wording_of[name] for name in named if name in self._wording_of}

    def _judge(self, wording: Wording, late: Sequence[AuditedQuestion]) -> None:
        found, closed = judged([*self._of.get(wording, ()), *late], self._bad, self._repeated)
        self._open.pop(wording, None)
        self._closed.pop(wording, None)
        if found:
            self._open[wording] = found
        if closed is not None:
            self._closed[wording] = closed


def _counts(questions: Iterable[AuditedQuestion]) -> Mapping[Wording, int]:
    counts: dict[Wording, int] = {}
    for one in questions:
        wording = wording_of(one)
        counts[wording] = counts.get(wording, 0) + 1
    return counts
