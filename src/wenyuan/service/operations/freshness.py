"""Freshness of sources: when each is due to be read again, and how each is doing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from wenyuan.core.cycles import Cycle, parse_cycle
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.sources import SourceState

NEVER = "never"
_AHEAD = 300.0
"""Seconds by which clocks of one library may differ; what lies further ahead was written down by a wrong one."""
FRESH = 1.0
"""Seconds for which what the catalog said counts: the state of a source is no change of the library, so no request
can be told of it, and asking anew for each would cost more than it tells."""


class _Here(tzinfo):
    """This machine's time zone with daylight saving changes; `datetime.astimezone` gives a fixed offset only."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None if dt is None else dt.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, dt: datetime | None) -> None:
        """Unknown: returns None."""

    def tzname(self, dt: datetime | None) -> str | None:
        return None if dt is None else dt.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, dt: datetime) -> datetime:
        moment = dt.replace(tzinfo=UTC).astimezone()
        wall = moment.replace(tzinfo=self)
        return (
            wall if wall.utcoffset() == moment.utcoffset() else wall.replace(fold=1)
        )  # the second of two equal hours


_HERE = _Here()


def cycle_of(source: Source) -> Cycle:
    """The refresh cycle of a source; never for one that is retired or not in force.

    Raises:
        InvalidRequest: its refresh_cycle says nothing.
    """
    asleep = source.status == "retired" or (source.status == "draft" and source.type != "static_doc")
    return parse_cycle(NEVER if asleep else source.refresh_cycle)


def due_at(state: SourceState | None, cycle: Cycle, now: float) -> float | None:
    """When a source is due, in seconds since the epoch: 0 for now, None for never."""
    if cycle.text == NEVER:
        return None
    if state is None or (state.last_success is None and not state.failures):
        return 0.0
    if _ahead(state.last_failure if state.failures else state.last_success, now):
        return 0.0
    if state.failures or state.last_success is None:
        return state.next_refresh or 0.0
    planned = next_due(cycle, state.last_success)
    return min(planned or 0.0, state.next_refresh or planned or 0.0)


def stale_since(state: SourceState | None, cycle: Cycle, now: float) -> float | None:
    """Since when a source is overdue; None while it is fresh.

    Of a source that was never read and failed to be: since it failed last. Of one whose last success lies in the future,
    when it was read is not known: since now.
    """
    if state is None or cycle.text == NEVER:
        return None
    if _ahead(state.last_success, now):
        return now
    if state.last_success is None:
        return state.last_failure
    due = next_due(cycle, state.last_success)
    return due if due is not None and due < now else None


def _ahead(at: float | None, now: float) -> bool:
    return at is not None and at > now + _AHEAD


def next_due(cycle: Cycle, at: float) -> float | None:
    """The first moment of a cycle after `at`, in this machine's time zone."""
    moment = cycle.next_after(datetime.fromtimestamp(at, _HERE))
    return None if moment is None else moment.timestamp()


def describe_state(state: SourceState | None, source: Source, now: float) -> dict[str, object]:
    """A source's refresh state as JSON values, times in ISO 8601, UTC."""
    reason = state.failure if state else ""
    try:
        cycle = cycle_of(source)
    except InvalidRequest as error:
        cycle, reason = parse_cycle(NEVER), reason or error.message
    due = due_at(state, cycle, now)
    return {
        "last_success": _iso(state.last_success if state else None),
        "last_failure": _iso(state.last_failure if state else None),
        "reason": reason,
        "failures_in_a_row": state.failures if state else 0,
        "next_refresh": _iso(now if due == 0.0 else due),
        "stale_since": _iso(stale_since(state, cycle, now)),
        "refreshing": state.held_by(now) if state is not None else "",
    }


def _iso(at: float | None) -> str | None:
    return None if at is None else iso_time(at)


def iso_time(at: float) -> str:
    """Seconds since 1970 in ISO 8601, UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
