"""How often a source is read again: a word, an ISO 8601 duration or a cron expression.

``never`` · ``hourly`` ``daily`` ``weekly`` ``monthly`` (Chinese: ``从不`` ``每小时`` ``每天`` ``每周`` ``每月``) ·
``P1D``, ``PT6H``, ``P1DT12H`` · ``30 2 * * 1-5``. Words and durations count from the last time; a cron
expression names moments of the calendar, in the time zone of the moment it is asked about.
"""

from __future__ import annotations

import calendar
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, msg

_SHORTEST, _LONGEST = timedelta(minutes=1), timedelta(days=366)
_WORDS = {"hourly": "PT1H", "daily": "P1D", "weekly": "P1W", "monthly": "P1M"}
_SAME = {
    "从不": "never", "從不": "never", "永不": "never", "每小时": "hourly", "每小時": "hourly", "每天": "daily",
    "每日": "daily", "每周": "weekly", "每週": "weekly", "每月": "monthly",
}  # fmt: skip
_DURATION = re.compile(
    r"P(?=.)(?:(?P<years>\d{1,4})Y)?(?:(?P<months>\d{1,4})M)?(?:(?P<weeks>\d{1,4})W)?(?:(?P<days>\d{1,4})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,5})H)?(?:(?P<minutes>\d{1,6})M)?(?:(?P<seconds>\d{1,8})S)?)?",
    re.ASCII,
)
_MAX_TEXT = 200
_REFERENCE = datetime(2000, 1, 1, tzinfo=UTC)  # of a leap year: a year from here is 366 days
_WEEKDAY_CYCLE = range(2001, 2029)  # weekdays and leap years repeat after 28 years


@dataclass(frozen=True, slots=True)
class Cycle:
    """A refresh cycle. Made by `parse_cycle`.

    Attributes:
        text: As given, trimmed; words in English.
        cron: The five fields, or ``""``.
        months: Calendar months of a duration, counted first, then `days` (both on the wall clock).
        rest: Hours, minutes and seconds of a duration, as time that passes.
    """

    text: str
    cron: str = ""
    months: int = 0
    days: int = 0
    rest: timedelta = timedelta()

    def next_after(self, last: datetime) -> datetime | None:
        """The first moment after `last` at which the source is due; None: never.

        Raises:
            ValueError: `last` has no time zone.
            InvalidRequest: the moment lies beyond what a calendar can hold.
        """
        if last.tzinfo is None or last.utcoffset() is None:
            raise ValueError("the moment of the last refresh needs a time zone")
        if self == Cycle("never"):
            return None
        try:
            return next(CronSim(self.cron, last)) if self.cron else self._later(last)
        except (OverflowError, StopIteration) as error:
            raise _wrong(self.text, f"has no moment after {last.isoformat()}") from error

    def _later(self, last: datetime) -> datetime:
        year, month = divmod(last.year * 12 + last.month - 1 + self.months, 12)
        if year > datetime.max.year:
            raise OverflowError
        day = min(last.day, calendar.monthrange(year, month + 1)[1])
        wall = last.replace(year=year, month=month + 1, day=day) + timedelta(days=self.days)
        wall = wall.replace(fold=last.fold)  # the sum forgets which of two equal hours it was
        return (wall.astimezone(UTC) + self.rest).astimezone(last.tzinfo)


@lru_cache(maxsize=1_024)
def parse_cycle(text: str) -> Cycle:
    """Parse a refresh cycle.

    Raises:
        InvalidRequest: it names none, or one shorter than a minute or longer than 366 days.
    """
    plain = unicodedata.normalize("NFKC", text).strip()
    if not plain or len(plain) > _MAX_TEXT:
        raise _wrong(plain[:_MAX_TEXT], "is no refresh cycle")
    word = _SAME.get(plain, plain.lower())
    if word == "never":
        return Cycle("never")
    if word in _WORDS:
        return _duration(word, _WORDS[word])
    if len(plain.split()) > 1:
        return _cron(plain)
    if plain[0] in "Pp" and any(c.isdigit() for c in plain):
        return _duration(plain.upper(), plain.upper())
    known = (*_WORDS, "never")
    raise _wrong(plain, msg("is no refresh cycle{near}", near=did_you_mean(plain, known)))


def _wrong(text: str, message: str) -> InvalidRequest:
    hint = "write never, hourly, daily, weekly, monthly, a duration such as P1D or PT6H, or five cron fields"
    return InvalidRequest(
        msg("refresh_cycle: {text} {message}", text=repr(text), message=message),
        faults=(Fault("refresh_cycle", msg("{place} {fault}", place=repr(text), fault=message)),),
        hint=hint,
    )


def _duration(text: str, duration: str) -> Cycle:
    match = _DURATION.fullmatch(duration)
    if not match:
        raise _wrong(text, "is no ISO 8601 duration of whole numbers, such as P1D, PT6H or P1DT12H")
    n = {name: int(value or 0) for name, value in match.groupdict().items()}
    rest = timedelta(hours=n["hours"], minutes=n["minutes"], seconds=n["seconds"])
    cycle = Cycle(text, months=12 * n["years"] + n["months"], days=7 * n["weeks"] + n["days"], rest=rest)
    try:
        length = cycle._later(_REFERENCE) - _REFERENCE
    except OverflowError as error:
        raise _wrong(text, "is longer than 366 days") from error
    if length < _SHORTEST:
        raise _wrong(text, "is shorter than a minute")
    if length > _LONGEST:
        raise _wrong(text, "is longer than 366 days")
    return cycle


def _cron(text: str) -> Cycle:
    fields = text.split()
    if len(fields) != 5:
        raise _wrong(text, f"has {len(fields)} fields; cron has five: minute, hour, day, month, weekday")
    expression = " ".join(fields)
    try:
        for year in _WEEKDAY_CYCLE:
            before = datetime(year, 1, 1, tzinfo=UTC) - timedelta(seconds=1)
            if next(CronSim(expression, before)).year != year:
                raise _wrong(text, f"has no moment in {year}; it must come up every year")
    except CronSimError as error:
        raise _wrong(text, f"is no cron expression: {str(error).lower()}") from error
    except StopIteration as error:
        raise _wrong(text, "never comes up") from error
    return Cycle(expression, cron=expression)
