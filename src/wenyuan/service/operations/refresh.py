"""Refreshes sources when they are due, on request or in a background thread."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from wenyuan.core.errors import CatalogBusy, InvalidRequest, KnowledgeError, NotFound, SourceError, msg
from wenyuan.core.model import Source
from wenyuan.core.sources import LONGEST_CLAIM, SourceState
from wenyuan.runtime.processes import own_name
from wenyuan.service.operations.freshness import cycle_of, describe_state, due_at, next_due, stale_since

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.progress import IngestReport, Progress
    from wenyuan.service.query import SearchAnswer


# Reading sources again when they are due: by as many workers as there are, each source by one at a time.
#
# A source with a refresh cycle is due at once when it is new, then by its cycle; after a failure it is tried again
# with growing patience. Only what changed is read and embedded: that is what `Library.ingest` does. Sources that are
# searched elsewhere (``api``, ``vector_index``) are not taken in: a question shows whether they answer.
#
# A worker claims a source before it begins and lets go of it at the end; while it is at it, it renews the claim.
# The claim of a worker that died ends with it on the same machine; seen from another one, it runs out.


log = logging.getLogger(__name__)

LEASE = 300.0
"""Seconds for which a source is claimed; longer than any one document takes to read."""
POLL = 30.0
_FIRST_RETRY, _LONGEST_RETRY = 60.0, 6 * 3600.0
_JITTER = 0.25
_PATIENCE = 0.5  # seconds to wait for the library's writer lock before a source is left for the next round
_AT_LAST = 60.0  # and when what was done is to be written down


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshOutcome:
    """The result of one refresh.

    Attributes:
        failure: Why it failed; ``""`` when it did not.
        report: What was taken in; None when it failed or is a source that is searched elsewhere.
        next_refresh: When it is due again, in seconds since the epoch; None for never.
    """

    source_id: str
    failure: str = ""
    report: IngestReport | None = None
    next_refresh: float | None = None
    seconds: float = 0.0


# --- when -----------------------------------------------------------------------------------------------
def retry_delay(source_id: str, failures: int) -> float:
    """Seconds until the next attempt: doubled with each consecutive failure, from a minute up to 6 hours.

    Up to a quarter less, by a hash of the source's id: sources that failed together are not tried together.
    """
    delay = min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(failures - 1, 30))
    digest = hashlib.sha256(f"{source_id}\x00{failures}".encode()).digest()
    return delay * (1 - _JITTER * int.from_bytes(digest[:4]) / 2**32)


# --- who ------------------------------------------------------------------------------------------------
class _Stopped(BaseException):
    """The worker was asked to stop. It is no failure, so error handlers do not catch it."""


class RefreshedLibrary(Protocol):
    """What a refresh uses of a library."""

    @property
    def catalog(self) -> Catalog: ...
    @property
    def ingest(self) -> Callable[..., IngestReport]: ...
    @property
    def search(self) -> Callable[..., SearchAnswer]: ...


class Worker:
    """Refreshes the sources of a library.

    Args:
        library: Open; others may be at work on it at the same time, in this process or another.
        name: What claims are made in; two workers never share one. By default host, process and a number.
        clock: Seconds since the epoch.
        lease: Seconds after which the claim of a worker that gave no sign counts no more; at most `LONGEST_CLAIM`.
        ask: Whether a source that is searched elsewhere answers; raises a `KnowledgeError` when not.
    """

    def __init__(
        self,
        library: RefreshedLibrary,
        *,
        name: str = "",
        clock: Callable[[], float] = time.time,
        lease: float = LEASE,
        ask: Callable[[Source], None] | None = None,
    ) -> None:
        self.name = name or own_name(id(self))
        self._library = library
        self._catalog = library.catalog
        self._clock = clock
        self._lease = min(lease, LONGEST_CLAIM)
        self._ask = ask or self._test_query

    def due(self) -> tuple[Source, ...]:
        """Due sources that no worker holds, the longest overdue first."""
        now = self._clock()
        states = self._catalog.source_states()
        found = []
        for source in self._catalog.sources():
            state = states.get(source.source_id)
            busy = state is not None and state.held_by(now) not in ("", self.name)
            at = self._due_at(source, state)
            if at is not None and at <= now and not busy:
                found.append((at, source.source_id, source))
        return tuple(source for _, _, source in sorted(found, key=lambda entry: entry[:2]))

    def _due_at(self, source: Source, state: SourceState | None) -> float | None:
        try:
            return due_at(state, cycle_of(source), self._clock())
        except InvalidRequest:  # the refresh will fail by it, and that is recorded
            return state.next_refresh or 0.0 if state is not None else 0.0

    def refresh(self, source_id: str, progress: Callable[[Progress], None] | None = None) -> RefreshOutcome:
        """Refresh one source now, due or not.

        Raises:
            NotFound: there is no such source.
            CatalogBusy: another worker holds it, or another process is writing to the library.
        """
        source = self._catalog.source(source_id)
        try:
            if self._claim(source_id, wait=10.0):
                return self._audited(self._work(source, None, progress), asked=True)
        except (KeyboardInterrupt, SystemExit):  # wherever it came, perhaps before the work had begun
            self._let_go(source_id)
            raise
        by = self._catalog.source_states()[source_id].claimed_by
        raise CatalogBusy(
            msg("the source {source_id} is being refreshed by {by}", source_id=repr(source_id), by=by),
            component="refresh",
            hint="wait until it has finished; if that worker has died on another machine, its claim runs out in minutes",
        )

    def run_once(
        self, stop: threading.Event | None = None, tell: Callable[[RefreshOutcome], None] | None = None
    ) -> list[RefreshOutcome]:
        """Refresh everything due now; a failing source does not stop the others.

        Args:
            stop: Set it to end after the current document; what was being refreshed stays due.
            tell: Is given each outcome at once.
        """
        outcomes = []
        for source in self.due():
            if stop is not None and stop.is_set():
                break
            try:
                outcome = self._if_free(source.source_id, stop)
            except _Stopped:
                break
            if outcome is not None:
                outcomes.append(outcome)
                if tell is not None:
                    tell(outcome)
        return outcomes

    def run_forever(
        self, stop: threading.Event, poll: float = POLL, tell: Callable[[RefreshOutcome], None] | None = None
    ) -> None:
        """Refresh what is due, checking every `poll` seconds until `stop` is set. Catalog errors are logged."""
        while not stop.is_set():
            try:
                self.run_once(stop, tell)
            except KnowledgeError as error:
                log.error("refresh: %s", error)
            stop.wait(poll)

    def record(self, source_id: str, begun: float, failure: str = "") -> None:
        """Record a refresh done without a worker; does nothing while a worker holds the source."""
        if self._claim(source_id, wait=_AT_LAST):
            self._settle(self._catalog.source(source_id), begun, failure)

    # -- one source -----------------------------------------------------------------------------------

    def _claim(self, source_id: str, *, wait: float) -> bool:
        return self._catalog.claim_source(source_id, self.name, self._clock() + self._lease, wait=wait)

    def _if_free(self, source_id: str, stop: threading.Event | None) -> RefreshOutcome | None:
        """Refresh a source, unless another worker holds it or has just refreshed it."""
        try:
            if not self._claim(source_id, wait=_PATIENCE):
                return None
            source = self._catalog.source(source_id)
            at = self._due_at(source, self._catalog.source_states().get(source_id))
            if at is None or at > self._clock():
                self._let_go(source_id)
                return None
            return self._audited(self._work(source, stop, None), asked=False)
        except CatalogBusy as error:
            log.info("refresh of %s is put off: %s", source_id, error)
        except NotFound:  # the source was removed since
            self._let_go(source_id)
        return None

    def _audited(self, outcome: RefreshOutcome, *, asked: bool) -> RefreshOutcome:
        """Record a refresh that failed, and one that was asked for and found nothing new; what changed is recorded."""
        report = outcome.report
        changed = report is not None and (report.added or report.changed or report.retired or report.failed)
        if outcome.failure or (asked and not changed):
            action = "failed" if outcome.failure else "ingested"
            told = {"unchanged": 0 if report is None else report.unchanged}
            self._catalog.database.on_change("refresh", action, outcome.source_id, None, told)
        return outcome

    def _work(
        self, source: Source, stop: threading.Event | None, progress: Callable[[Progress], None] | None
    ) -> RefreshOutcome:
        begun, report, failure = self._clock(), None, ""
        try:
            cycle_of(source)
            if source.type == "static_doc":
                report = self._library.ingest(source.source_id, self._heart(source.source_id, stop, progress))
                failure = _all_failed(report)
                if report.held_back:
                    log.warning("refresh of %s: %s", source.source_id, _held_back(report))
            else:
                self._ask(source)
        except CatalogBusy:  # no fault of the source: it stays due
            self._let_go(source.source_id)
            raise
        except KnowledgeError as error:
            failure = str(error)
        except Exception as error:
            log.exception("refresh of %s failed", source.source_id)
            failure = msg("internal error: {kind}", kind=type(error).__name__)
        except BaseException:  # interrupted or stopped: it stays due, too
            self._let_go(source.source_id)
            raise
        if failure:
            log.warning("refresh of %s failed: %s", source.source_id, failure)
        upcoming = self._settle(source, begun, failure)
        return RefreshOutcome(
            source_id=source.source_id,
            failure=failure,
            report=report,
            next_refresh=upcoming,
            seconds=max(0.0, self._clock() - begun),
        )

    def _heart(
        self, source_id: str, stop: threading.Event | None, progress: Callable[[Progress], None] | None
    ) -> Callable[[Progress], None]:
        """A progress callback that also renews the claim."""
        beat_at = self._clock() + self._lease / 3

        def beat(at: Progress) -> None:
            nonlocal beat_at
            if stop is not None and stop.is_set():
                raise _Stopped
            if self._clock() >= beat_at:
                if not self._claim(source_id, wait=_AT_LAST):
                    raise CatalogBusy(
                        msg("the claim on {source_id} ran out and was taken over", source_id=repr(source_id)),
                        component="refresh",
                    )
                beat_at = self._clock() + self._lease / 3
            if progress is not None:
                progress(at)

        return beat

    def _settle(self, source: Source, begun: float, failure: str) -> float | None:
        """Record the end of a refresh and release the claim; returns when the source is due again."""
        now, failures = self._clock(), 0
        values: dict[str, Any] = {"last_success": begun, "failure": "", "failures": 0}
        if failure:
            state = self._catalog.source_states().get(source.source_id)
            failures = 1 + (state.failures if state is not None else 0)
            values = {"last_failure": now, "failure": failure, "failures": failures}
        upcoming = self._next(source, begun, failures, now)
        if not self._catalog.let_go(source.source_id, self.name, wait=_AT_LAST, next_refresh=upcoming, **values):
            log.warning("%s was removed or taken over while it was refreshed", source.source_id)
            return None
        return upcoming

    def _next(self, source: Source, begun: float, failures: int, now: float) -> float | None:
        try:
            planned = next_due(cycle_of(source), begun)
        except InvalidRequest:
            planned = now
        if planned is None or not failures:
            return planned
        return now + retry_delay(source.source_id, failures)

    def _let_go(self, source_id: str) -> None:
        # Where that is not possible, the claim runs out; what happened before is what matters.
        with suppress(KnowledgeError):
            self._catalog.let_go(source_id, self.name, wait=_PATIENCE)

    def _test_query(self, source: Source) -> None:
        """A test query to this external source only."""
        leg = f"source {source.source_id}"
        answer = self._library.search(source.title, limit=1, sources=[source.source_id])
        for found in answer.legs:
            if found.name == leg:
                if found.error:
                    raise SourceError(found.error, component=leg)
                return
        raise SourceError(answer.reason or "it was not asked", component=leg)


def _held_back(report: IngestReport) -> str:
    named = ", ".join(sorted(report.failed)[:3]) + (", …" if len(report.failed) > 3 else "")
    return f"{report.held_back} documents were not met and are held back, for they may be in what failed: {named}"


def _all_failed(report: IngestReport) -> str:
    """The failure of a source none of whose documents could be read; ``""`` when one could."""
    if not report.failed or report.added or report.changed or report.unchanged:
        return ""
    uri, reason = next(iter(report.failed.items()))
    more = msg(" (and {count} more)", count=len(report.failed) - 1) if len(report.failed) > 1 else ""
    return msg("nothing could be taken in: {uri}: {reason}{more}", uri=uri, reason=reason, more=more)


# A refresh worker in a thread of another process: the server, by setting.

__all__ = ["RefreshOutcome", "Worker", "cycle_of", "describe_state", "due_at", "retry_delay", "stale_since"]
