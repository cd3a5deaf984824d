"""What follows a change of the library: which answers it touches, what contradicts now, and which gaps it closes.

It is looked at beside the refresh that made the change, never within it, for a bounded time; what there was no time for is
looked at after the next change, or by the commands for each.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.gaps import KnowledgeGap
from wenyuan.core.impact import ImpactReport
from wenyuan.runtime.periodic import Periodic
from wenyuan.runtime.processes import own_name
from wenyuan.service.impact.task import PAGE

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.audit.recorder import AuditRecorder
    from wenyuan.service.conflicts.finder import Conflicts
    from wenyuan.service.gaps.finder import Gaps
    from wenyuan.service.impact.finder import Impact

log = logging.getLogger(__name__)

REVIEWED, REPORTS, CLAIM = "review/changes", "review/reports", "review/claim"
"""Keys of the catalog's values: up to which change was looked, what that found, and who looks just now."""
EVERY = 2.0
"""Seconds between two looks for changes; a change is looked at when there was no other for as long."""
SECONDS = 60.0
"""For each of the three at most."""
MOST_REPORTS = 20
_LEASE = 4 * SECONDS


class _Stopped(Exception):
    """The process ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOutcome:
    """What a look found.

    Attributes:
        impact: What rested on what was removed; None where nothing was known of that.
        conflicts: How many contradictions there are now, and how many more than before; None where they were not compared.
        closed: The gaps that are closed.
        failures: By what was looked for, why it was not found out.
    """

    impact: ImpactReport | None = None
    conflicts: tuple[int, int] | None = None
    closed: tuple[KnowledgeGap, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangeReview:
    """Looks at what changed since it looked last; of several processes, one does."""

    catalog: Catalog
    recorder: AuditRecorder
    gaps: Gaps
    conflicts: Conflicts
    impact: Impact
    clock: Callable[[], float] = time.time
    name: str = field(default_factory=lambda: own_name(0))

    def begin(self) -> None:
        """Count changes from now on, unless they are counted already."""
        if self.catalog.value(REVIEWED) is None:
            self.catalog.set_value(REVIEWED, self.catalog.seq())

    def behind(self) -> bool:
        """Whether something has changed since it was looked last."""
        return bool(self.catalog.value(REVIEWED) != self.catalog.seq())

    def review(
        self, seconds: float = SECONDS, progress: Callable[[str, int, int], None] = lambda _stage, _done, _all: None
    ) -> ChangeOutcome | None:
        """Look at what changed; None where nothing did, or another process looks just now.

        Args:
            seconds: For each of the three things at most.
            progress: Told which of them it is at, how many are done, and of how many; what it raises ends the look.
        """
        upto, after = self.catalog.seq(), self.catalog.value(REVIEWED)
        if after == upto or not self._claimed():
            return None
        try:
            found = self._look(upto if after is None else int(after), upto, seconds, progress)
            self.catalog.set_value(REVIEWED, upto)
        finally:
            self.catalog.set_value(CLAIM, None)
        return found

    def reports(self) -> list[dict[str, Any]]:
        """What the last changes touched, newest first."""
        return list(self.catalog.value(REPORTS) or ())

    def _claimed(self) -> bool:
        with self.catalog.writing():
            held = self.catalog.value(CLAIM)
            if held and held["by"] != self.name and 0 <= held["until"] - self.clock() <= _LEASE:
                return False
            self.catalog.set_value(CLAIM, {"by": self.name, "until": self.clock() + _LEASE})
        return True

    def _look(
        self, after: int, upto: int, seconds: float, progress: Callable[[str, int, int], None]
    ) -> ChangeOutcome:
        failures: dict[str, str] = {}

        def tried(stage: str, look: Callable[[Callable[[int, int], None]], Any]) -> Any:
            try:
                return look(lambda done, whole: progress(stage, done, whole))
            except KnowledgeError as error:
                log.warning("after a change: %s: %s", stage, error)
                failures[stage] = str(error)
                return None

        impact = closed = None
        if self.recorder.log is not None:
            impact = tried("impact", lambda step: self.impact.of_changes(after, upto, seconds=seconds, progress=step))
        before = len(self.catalog.conflicts())
        compared = tried("conflicts", lambda step: self.conflicts.find(seconds=seconds, progress=step))
        if self.recorder.log is not None:
            closed = tried("gaps", lambda step: self.gaps.ask_again(seconds=seconds, progress=step))
        if impact is not None and impact.answers:
            self._keep(impact)
        return ChangeOutcome(
            impact=impact, conflicts=None if compared is None else (compared.conflicts, compared.conflicts - before),
            closed=closed or (), failures=failures,
        )  # fmt: skip

    def _keep(self, impact: ImpactReport) -> None:
        at = datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")
        self.catalog.set_value(
            REPORTS, [{"reviewed_at": at, **impact.described(PAGE)}, *self.reports()][:MOST_REPORTS]
        )


class ReviewThread:
    """A thread that looks at changes when they have come to rest, until it is stopped."""

    def __init__(self, review: ChangeReview, *, every: float = EVERY) -> None:
        self._review = review
        self._rounds = Periodic(self._round, name="wenyuan-review", every=every)
        self._seen, self._trouble = -1, ""
        self.stop = self._rounds.stop

    def start(self) -> None:
        self._rounds.start()

    def _round(self) -> None:
        try:
            self._review.begin()
            seq = self._review.catalog.seq()
            if seq == self._seen and self._review.behind():
                self._review.review(progress=self._step)
            self._seen, self._trouble = seq, ""
        except _Stopped:
            pass
        except Exception as error:  # a thread that ended here would look at nothing any more
            if repr(error) != self._trouble:
                log.warning("changes are not looked at: %s", error, exc_info=not isinstance(error, KnowledgeError))
            self._trouble = repr(error)

    def _step(self, _stage: str, _done: int, _all: int) -> None:
        if self._rounds.stopping.is_set():
            raise _Stopped
