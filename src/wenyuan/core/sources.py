"""Source definitions, their state, and refresh cycles."""

from __future__ import annotations

import calendar
import json
import os.path
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from cronsim import CronSim, CronSimError

from wenyuan.core.access import secret_faults, shown_settings
from wenyuan.core.connectors import checked_address, is_remote
from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg, said_by
from wenyuan.core.model import Source
from wenyuan.core.terms_of_use import Validity, effective_ends, parse_copyright, parse_date, parse_status
from wenyuan.core.text import fold

# State of a source: when it was last read, the result, and which worker reads it.


LONGEST_CLAIM = 600.0
"""Seconds: a worker claims for less, and clocks may differ by the rest. A claim beyond was made by a wrong clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """Refresh state of a source. Times in seconds since the epoch, None for never.

    Attributes:
        failure: Why the last refresh failed; ``""`` when it did not.
        failures: How many failed in a row.
        claimed_by: The worker that holds its claim, until ``claimed_until``.
    """

    source_id: str
    last_success: float | None = None
    last_failure: float | None = None
    failure: str = ""
    failures: int = 0
    next_refresh: float | None = None
    claimed_by: str = ""
    claimed_until: float | None = None

    def held_by(self, now: float) -> str:
        """The worker that holds the source's claim at a moment; ``""`` for none."""
        return self.claimed_by if now < (self.claimed_until or 0.0) <= now + LONGEST_CLAIM else ""


# How often a source is read again: a word, an ISO 8601 duration or a cron expression.
#
# ``never`` · ``hourly`` ``daily`` ``weekly`` ``monthly`` (Chinese: ``从不`` ``每小时`` ``每天`` ``每周`` ``每月``) ·
# ``P1D``, ``PT6H``, ``P1DT12H`` · ``30 2 * * 1-5``. Words and durations count from the last time; a cron
# expression names moments of the calendar, in the time zone of the moment it is asked about.


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


# Parsing and writing of source entries: all fields are validated, whatever their origin.


_SENSITIVITIES = {
    "public": "public", "internal": "internal", "confidential": "confidential", "restricted": "restricted",
    "公开": "public", "内部": "internal", "机密": "confidential", "受限": "restricted",
}  # fmt: skip


_ORDER = ("public", "internal", "confidential", "restricted")
MODEL = "llm"
"""The setting of a source that says whether a language model may be shown its texts: ``allow`` or ``deny``; or what it is to
do with them: ``{context: true}`` for context sentences, which it may be shown them for."""
_MODEL_CHOICES = ("allow", "deny")
_CONTEXT = "context"


def kept_from_model(source: Source, most: str) -> str:
    """Why a language model may not see a source's texts: ``denied`` or ``sensitivity``; ``""`` where it may.

    Args:
        most: The highest sensitivity that it may be shown.
    """
    told = source.settings.get(MODEL, "allow")
    if told != "allow" and not isinstance(told, Mapping):
        return "denied"
    return "sensitivity" if _ORDER.index(source.sensitivity) > _ORDER.index(most) else ""


def wants_context(source: Source) -> bool:
    """Whether a language model is to say of a source's passages where they stand; see `core.answering`."""
    told = source.settings.get(MODEL)
    return isinstance(told, Mapping) and told.get(_CONTEXT) is True


def with_context_wanted(source: Source, wanted: bool) -> dict[str, Any]:
    """A source's settings with context sentences switched on or off.

    Raises:
        InvalidRequest: they are wanted of a source that no model may be shown.
    """
    kept = source.settings.get(MODEL)
    if wanted and kept == "deny":
        said = msg(
            "the source {source} may not be shown to a language model: it says llm: deny",
            source=repr(source.source_id),
        )
        raise InvalidRequest(said, faults=(Fault(f"settings.{MODEL}", said),))
    rest = {name: value for name, value in source.settings.items() if name != MODEL}
    if wanted:
        return {**rest, MODEL: {_CONTEXT: True}}
    return rest if isinstance(kept, Mapping) or kept is None else {**rest, MODEL: kept}


def described_anew(known: Source, given: Source) -> Source:
    """A registered source updated with the non-default fields of another description."""
    plain = Source(source_id=given.source_id)
    names = (field.name for field in fields(Source))
    said = {name: getattr(given, name) for name in names if getattr(given, name) != getattr(plain, name)}
    return replace(known, **said)


def source_to_wire(source: Source) -> dict[str, Any]:
    """A source's fields as in a file; the inverse of `parse_source`."""
    return {
        "source_id": source.source_id,
        "title": source.title,
        "type": source.type,
        "path": source.path,
        "trust_level": source.trust,
        "domain": source.domain,
        "collection": source.collection,
        "language": source.language,
        "refresh_cycle": source.refresh_cycle,
        "copyright": source.copyright,
        "owner": source.owner,
        "sensitivity": source.sensitivity,
        "tags": list(source.tags),
        "status": source.status,
        "effective_from": _iso(source.effective_from),
        "effective_until": _iso(source.effective_until),
        "supersedes": list(source.supersedes),
        "settings": dict(source.settings),
    }


def shown_source(source: Source) -> dict[str, Any]:
    """As `source_to_wire`, for display and export: secrets in older settings are masked."""
    told = source_to_wire(source)
    return told | {"settings": shown_settings(source.settings)}


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def parse_source(value: Mapping[str, Any], base: Path | None = None) -> Source:
    """Parse a source; null means not given.

    Args:
        value: ``trust`` is accepted for ``trust_level``, and fields of `Copyright` for ``copyright``.
        base: The folder that a relative ``path`` is resolved against.

    Raises:
        InvalidRequest: listing every fault.
    """
    faults: list[Fault] = []
    fields: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key, given in value.items():
        name = _NAMES.get(key)
        if name is None:
            faults.append(Fault(key, msg("is no field of a source{near}", near=did_you_mean(key, _NAMES))))
        elif name in spelled:
            faults.append(Fault(key, msg("says the same as {spelled}; write one of them", spelled=spelled[name])))
        elif given is not None:
            spelled[name] = key
            try:
                fields[name] = _absolute(given, base) if name == "path" else _READERS[name](given)
            except InvalidRequest as error:
                faults += error.faults
            except ValueError as error:
                faults.append(Fault(key, said_by(error)))
    if "source_id" not in spelled:
        faults.append(Fault("source_id", "is missing"))
    try:
        source = Source(**{"source_id": "unknown", **fields})
    except InvalidRequest as error:
        faults += [Fault(spelled.get(fault.path, fault.path), fault.message) for fault in error.faults]
    faults += _without_address(fields, spelled)
    if faults:
        raise InvalidRequest(listed(faults, "{place}: {fault}"), faults=tuple(faults))
    return source


def _without_address(fields: Mapping[str, Any], spelled: Mapping[str, str]) -> list[Fault]:
    if fields.get("type") != "api" or fields.get("settings", {}).get("url"):
        return []
    if "settings" in spelled and "settings" not in fields:  # they have a fault of their own
        return []
    return [Fault("settings.url", "is missing: a source of type api needs the address of its service")]


def is_source_id(text: str) -> bool:
    """Whether a text is a valid source id."""
    try:
        return bool(Source(source_id=text))
    except InvalidRequest:
        return False


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(msg("must be text, not {value}", value=_kind(value)))
    return _storable(value)


def _storable(text: str) -> str:
    if "\0" in text or text.encode("utf-8", "replace").decode() != text:
        raise ValueError("holds what is no character")
    return text


def _kind(value: Any) -> str:
    words = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return words.get(type(value), "null")


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of texts")
    return tuple(map(_storable, value))


def _given(value: Any) -> Any:
    return value


def _day(value: Any) -> date | None:
    if value == "":
        return None
    try:
        return parse_date(value)
    except ValueError as error:
        raise ValueError(msg("{value} is no day of the calendar; write YYYY-MM-DD", value=repr(value))) from error


def _status(value: Any) -> str:
    return parse_status(_text(value))


def _sensitivity(value: Any) -> str:
    found = _SENSITIVITIES.get(fold(_text(value)).strip())
    if found is None:
        choices = ", ".join(dict.fromkeys(_SENSITIVITIES.values()))
        raise ValueError(
            msg(
                "is {value}; it must be one of {choices}{near}",
                value=repr(value),
                choices=choices,
                near=did_you_mean(value, _SENSITIVITIES),
            )
        )
    return found


def _cycle(value: Any) -> str:
    parse_cycle(_text(value))
    return str(value)


def _copyright(value: Any) -> str:
    terms = parse_copyright(value)
    return _text(value) if isinstance(value, str) else terms.short()


def _settings(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(msg("must be a mapping, not {value}", value=_kind(value)))
    try:
        _storable(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError("holds what JSON cannot say") from error
    if faults := secret_faults(value):
        raise InvalidRequest(listed(faults), faults=faults)
    told = value.get(MODEL, "allow")
    switch = isinstance(told, Mapping) and told.keys() == {_CONTEXT} and isinstance(told[_CONTEXT], bool)
    if told not in _MODEL_CHOICES and not switch:
        said = msg("must be allow, deny, or a mapping with context: true or false, not {value}", value=repr(told))
        raise InvalidRequest(listed([fault := Fault(f"settings.{MODEL}", said)]), faults=(fault,))
    return dict(value)


def _absolute(value: Any, base: Path | None) -> str:
    text = _text(value)
    if is_remote(text):
        return checked_address(text)
    if text.startswith("~"):
        raise ValueError("begins with '~', which stands for another folder with every user; write it out")
    return os.path.normpath(base / text) if base is not None and text else text


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "source_id": _text, "title": _text, "type": _text, "trust": _given, "domain": _text, "collection": _text,
    "language": _text, "owner": _text, "tags": _texts, "supersedes": _texts, "status": _status, "settings": _settings,
    "sensitivity": _sensitivity, "refresh_cycle": _cycle, "copyright": _copyright, "effective_from": _day,
    "effective_until": _day,
}  # fmt: skip
_NAMES: Mapping[str, str] = {"trust_level": "trust", "path": "path", **{name: name for name in _READERS}}


def supersession_faults(sources: Iterable[Source], others: Iterable[Source] = ()) -> tuple[Fault, ...]:
    """Faults in which sources supersede which: unknown ids and loops; the fault's path is the source's id.

    Args:
        others: Sources that may be named and may close a loop, whose own unknown ids are not our business.
    """
    first: dict[str, Source] = {}
    for source in sources:
        first.setdefault(source.source_id, source)
    rest = {source.source_id: source for source in others if source.source_id not in first}
    known = first.keys() | rest.keys()
    closed = [replace(s, supersedes=tuple(old for old in s.supersedes if old in known)) for s in rest.values()]
    try:
        effective_ends([_validity(source) for source in [*first.values(), *closed]], undated=date.min)
    except InvalidRequest as error:
        return error.faults
    return ()


def _validity(source: Source) -> Validity:
    return Validity(id=source.source_id, effective_from=source.effective_from, supersedes=source.supersedes)
