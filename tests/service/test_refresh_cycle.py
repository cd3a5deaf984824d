"""When a source is due again."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.cycles import parse_cycle
from wenyuan.core.errors import InvalidRequest

_CYCLES = ["hourly", "daily", "weekly", "monthly", "P1D", "PT6H", "P1M", "P1Y", "PT1M", "P1DT12H", "P2W",
           "* * * * *", "30 2 * * 1-5", "0 0 1 1 *", "*/7 3 * * *"]  # fmt: skip
_ZONES = st.sampled_from([UTC, ZoneInfo("Asia/Shanghai"), ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=-3.5))])
_MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=_ZONES)


@given(st.sampled_from(_CYCLES), _MOMENTS)
def test_the_next_moment_lies_ahead_and_not_beyond_two_years(text, last):
    """Whatever the cycle and the zone, the next moment is later than the last, by less than two years."""
    due = parse_cycle(text).next_after(last)
    assert timedelta(0) < due.astimezone(UTC) - last.astimezone(UTC) < timedelta(days=2 * 366)
    assert due.utcoffset() is not None


@given(st.text(max_size=30))
def test_any_text_is_a_cycle_or_an_invalid_request(text):
    """No text makes the parser fail in another way than by saying what is wrong."""
    try:
        assert parse_cycle(text).text
    except InvalidRequest as error:
        assert error.faults[0].path == "refresh_cycle"
        assert error.hint


def test_never_is_never_due():
    """A source that is never refreshed has no next moment, in either language."""
    last = datetime(2026, 1, 1, tzinfo=UTC)
    assert parse_cycle("never").next_after(last) is None
    assert parse_cycle("从不").next_after(last) is None


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("hourly", "2026-01-31T13:30:00+08:00"),
        ("Daily", "2026-02-01T12:30:00+08:00"),
        ("每日", "2026-02-01T12:30:00+08:00"),
        ("每週", "2026-02-07T12:30:00+08:00"),
        ("monthly", "2026-02-28T12:30:00+08:00"),
        ("pt6h", "2026-01-31T18:30:00+08:00"),
        ("Ｐ１Ｄ", "2026-02-01T12:30:00+08:00"),
        ("P1MT1H", "2026-02-28T13:30:00+08:00"),
        ("P1Y", "2027-01-31T12:30:00+08:00"),
        ("15 3 * * *", "2026-02-01T03:15:00+08:00"),
        ("0 0 * * MON", "2026-02-02T00:00:00+08:00"),
    ],
)
def test_known_moments(text, due):
    """Each way of writing a cycle leads to the moment a person would name."""
    last = datetime(2026, 1, 31, 12, 30, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert parse_cycle(text).next_after(last) == datetime.fromisoformat(due)


def test_an_hour_passes_where_the_clock_is_set_back():
    """In the hour that comes twice, an hour later is the same time on the wall, the second time."""
    last = datetime(2026, 10, 25, 2, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    due = parse_cycle("hourly").next_after(last)
    assert due.isoformat() == "2026-10-25T02:00:00+01:00"
    assert parse_cycle("hourly").next_after(due).isoformat() == "2026-10-25T03:00:00+01:00"


def test_days_follow_the_wall_clock_and_hours_pass():
    """Over a change to summer time a day keeps the hour on the wall, while 24 hours do not."""
    last = datetime(2026, 3, 28, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    assert parse_cycle("P1D").next_after(last).isoformat() == "2026-03-29T12:00:00+02:00"
    assert parse_cycle("PT24H").next_after(last).isoformat() == "2026-03-29T13:00:00+02:00"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dayly", "did you mean 'daily'"),
        ("", "is no refresh cycle"),
        ("P", "is no refresh cycle"),
        ("P1DT", "no ISO 8601 duration"),
        ("P1.5D", "no ISO 8601 duration"),
        ("PT59S", "shorter than a minute"),
        ("PT0S", "shorter than a minute"),
        ("P367D", "longer than 366 days"),
        ("P13M", "longer than 366 days"),
        ("P9999Y", "longer than 366 days"),
        ("* * * *", "has 4 fields"),
        ("* * * * * *", "has 6 fields"),
        ("61 * * * *", "bad minute"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("0 0 29 2 *", "no moment in 2001"),
        ("9" * 300, "is no refresh cycle"),
    ],
)
def test_what_is_no_cycle_is_refused_with_a_reason(text, said):
    """A cycle that cannot be read, too short or too long is refused and the message says why."""
    with pytest.raises(InvalidRequest, match=said):
        parse_cycle(text)


def test_a_moment_without_a_zone_is_refused():
    """A moment of the last refresh without time zone is a programming error."""
    with pytest.raises(ValueError, match="time zone"):
        parse_cycle("daily").next_after(datetime(2026, 1, 1))


@pytest.mark.parametrize("text", ["P1Y", "P1D", "0 0 1 1 *"])
def test_the_end_of_the_calendar_is_an_error_not_a_wrong_moment(text):
    """Beyond the year 9999 there is no next moment, and that is said."""
    with pytest.raises(InvalidRequest, match="no moment after"):
        parse_cycle(text).next_after(datetime(9999, 12, 31, 23, 59, tzinfo=UTC))
