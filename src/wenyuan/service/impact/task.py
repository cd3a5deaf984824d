"""Reports of what rests on something, each made in a thread of its own: who asks need not wait, sees how far it is, and reads its answers
in pages.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import CatalogBusy, KnowledgeError, NotFound, msg

if TYPE_CHECKING:
    from wenyuan.core.impact import ImpactReport
    from wenyuan.service.impact.finder import Impact

MOST_RUNNING, MOST_KEPT = 2, 20
PAGE = 50
"""Answers of a report that are shown at once."""


class _Stopped(Exception):
    """The library is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportState:
    """How far a report is.

    Attributes:
        asked, total: How many questions were asked again so far, and of how many; 0 before that is known.
        failure: Why there is no report; "" where there is one, or will be.
        report: None while it is made, and where it failed.
    """

    report_id: str
    running: bool = True
    asked: int = 0
    total: int = 0
    failure: str = ""
    report: ImpactReport | None = None

    def described(self, after: int = 0, limit: int = PAGE) -> dict[str, Any]:
        """As JSON has it, with the answers behind the first `after`; ``next`` is where they go on."""
        told: dict[str, Any] = {
            "report_id": self.report_id, "running": self.running, "asked": self.asked, "total": self.total,
            "failure": self.failure, "report": None, "next": None,
        }  # fmt: skip
        if self.report is not None:
            shown = self.report.examples[after : after + limit]
            told["report"] = replace(self.report, examples=shown).described()
            told["next"] = after + limit if after + limit < len(self.report.examples) else None
        return told


@dataclass(eq=False)
class _Run:
    state: ReportState
    ended: threading.Event = field(default_factory=threading.Event)
    error: KnowledgeError | None = None


class ImpactReports:
    """The reports of this process, the last of them kept. Safe to share between threads."""

    def __init__(self, impact: Impact) -> None:
        self._impact = impact
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    def begin(self, target: str, *, days: float, seconds: float, wait: float) -> ReportState:
        """Begin a report, and wait for its end.

        Args:
            days, seconds: See `Impact.of`.
            wait: Seconds; then it goes on by itself.

        Raises:
            CatalogBusy: others are being made.
            KnowledgeError: as `Impact.of`, within that time.
        """
        run = _Run(ReportState(report_id=uuid.uuid4().hex[:16]))
        with self._lock:
            if sum(one.state.running for one in self._runs.values()) >= MOST_RUNNING:
                raise CatalogBusy("other reports are being made", component="impact", hint="try again in a while")
            self._runs[run.state.report_id] = run
            while len(self._runs) > MOST_KEPT:
                self._runs.pop(next(name for name, one in self._runs.items() if not one.state.running))
            make = (run, target, days, seconds)
            threading.Thread(target=self._make, args=make, name="wenyuan-impact", daemon=True).start()
        if run.ended.wait(wait) and run.error is not None:
            raise run.error
        return run.state

    def state(self, report_id: str, wait: float = 0.0) -> ReportState:
        """How far a report is; NotFound where there is none, or none any more.

        Args:
            wait: Seconds for its end.
        """
        with self._lock:
            run = self._runs.get(report_id)
        if run is None:
            raise NotFound(
                msg("there is no report {name}", name=repr(report_id[:40])), hint="ask again: wenyuan impact"
            )
        run.ended.wait(wait)
        return run.state

    def stop(self) -> None:
        """End what is being made after the question that it is at, and wait for that."""
        self._stopping.set()
        for run in list(self._runs.values()):
            run.ended.wait()

    def _make(self, run: _Run, target: str, days: float, seconds: float) -> None:
        def step(asked: int, total: int) -> None:
            run.state = replace(run.state, asked=asked, total=total)
            if self._stopping.is_set():
                raise _Stopped

        failure = ""
        try:
            report = self._impact.of(target, days=days, seconds=seconds, progress=step)
            run.state = replace(run.state, report=report)
        except _Stopped:
            failure = "the library was closed"
        except KnowledgeError as error:
            run.error, failure = error, str(error)
        except Exception as error:
            failure = msg("internal error: {kind}", kind=type(error).__name__)
            run.error = KnowledgeError(failure, component="impact")
            raise
        finally:
            run.state = replace(run.state, running=False, failure=failure)
            run.ended.set()
