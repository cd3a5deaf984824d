"""Times as people read them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date
from zoneinfo import ZoneInfo

import pytest

from wenyuan.runtime.local_time import day_begins, local_day, local_time, zone_named

AT = 1_798_710_300.0  # 2026-12-31T09:45:00Z


@pytest.fixture
def shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock is China's."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("Asia/Shanghai", "2026-12-31 17:45 UTC+8"),
        ("UTC", "2026-12-31 09:45 UTC"),
        ("America/New_York", "2026-12-31 04:45 UTC-5"),
        ("Asia/Kolkata", "2026-12-31 15:15 UTC+5:30"),
        ("America/St_Johns", "2026-12-31 06:15 UTC-3:30"),
    ],
)
def test_a_time_is_of_a_place_and_says_how_far_it_is_from_utc(zone: str, said: str) -> None:
    """The clock is that of the zone, from seconds and from ISO form alike."""
    assert local_time(AT, ZoneInfo(zone)) == said
    assert local_time("2026-12-31T09:45:00+00:00", ZoneInfo(zone)) == said


def test_without_a_zone_the_clock_of_this_machine_counts(shanghai: None) -> None:
    """Times, days and the beginning of a day are of this machine's zone where none is given."""
    assert local_time(AT, seconds=True) == "2026-12-31 17:45:00 UTC+8"
    assert local_day(AT + 8 * 3600) == "2027-01-01"
    assert day_begins(date(2026, 12, 31)) == AT - 17.75 * 3600
    assert local_time(None) == ""


def test_a_day_begins_with_its_zone() -> None:
    """The same day begins hours earlier in China than in UTC, and one of summer time has another distance."""
    assert (
        day_begins(date(2026, 7, 1), ZoneInfo("UTC")) - day_begins(date(2026, 7, 1), ZoneInfo("Asia/Shanghai"))
        == 28_800
    )
    berlin = ZoneInfo("Europe/Berlin")
    assert local_time(day_begins(date(2026, 7, 1), berlin), berlin) == "2026-07-01 00:00 UTC+2"


@pytest.mark.parametrize(
    "name", ["", "Nowhere/None", "../../etc/passwd", "/etc/passwd", "Asia", "a" * 5_000, "a\0b", "日本"]
)
def test_a_zone_that_is_none_is_not_taken(name: str) -> None:
    """What a cookie says is a zone's name or nothing: no path, no folder, no other text."""
    assert zone_named(name) is None
