"""Times as people read them: of a place's clock, with its distance from UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

_MINUTE = timedelta(minutes=1)


def zone_named(name: str) -> tzinfo | None:
    """A time zone by its name (``Asia/Shanghai``); None where this machine knows none of that name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, no name of a zone, or the name of a folder of zones
        return None


def local_time(at: float | str | None, zone: tzinfo | None = None, *, seconds: bool = False) -> str:
    """A time as ``2026-11-22 14:21 UTC+8``; ``""`` for none.

    Args:
        at: Seconds since the epoch, or a time in ISO form.
        zone: None for this machine's.
    """
    if not at:
        return ""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else datetime.fromtimestamp(at, UTC)
    here = moment.astimezone(zone)
    return f"{here:%Y-%m-%d %H:%M:%S} {_from_utc(here)}" if seconds else f"{here:%Y-%m-%d %H:%M} {_from_utc(here)}"


def local_day(at: float, zone: tzinfo | None = None) -> str:
    """The day on which seconds since the epoch fall, as ``2026-11-22``."""
    return datetime.fromtimestamp(at, UTC).astimezone(zone).date().isoformat()


def day_begins(day: date, zone: tzinfo | None = None) -> float:
    """When a day begins, in seconds since the epoch.

    Raises:
        OverflowError: it begins before any clock does.
    """
    midnight = datetime(day.year, day.month, day.day)
    return (midnight.astimezone() if zone is None else midnight.replace(tzinfo=zone)).timestamp()


def _from_utc(moment: datetime) -> str:
    """The distance of a time's clock from UTC: ``UTC``, ``UTC+8``, ``UTC-3:30``."""
    minutes = (moment.utcoffset() or timedelta()) // _MINUTE
    hours, rest = divmod(abs(minutes), 60)
    if not minutes:
        return "UTC"
    return f"UTC{'-' if minutes < 0 else '+'}{hours}" + (f":{rest:02}" if rest else "")
