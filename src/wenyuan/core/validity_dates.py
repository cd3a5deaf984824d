"""Status and dates of validity as people write them, in front matter, registries and file names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from itertools import chain
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.text.folding import fold
from wenyuan.core.validity import BRACKETS, COMPACT, LIST, SQUEEZED, STATUSES, TIME, WHOLE, WRITTEN, Status, Validity


def parse_status(text: str) -> Status:
    """Parse a status in English or Chinese.

    Raises:
        ValueError: it names none; the message says what may have been meant.
    """
    word = fold(text).strip(" \t\r\n。.;；")
    status = STATUSES.get(re.sub(r"[-\s]+", "_", word))
    if status is None:
        hint = did_you_mean(word, STATUSES) or "; write in_force, draft or retired"
        raise ValueError(f"{text!r} is no status{hint}")
    return status


def parse_date(value: object) -> date:
    """Parse a day: a date, ``2024-03-01``, ``20240301`` or ``2024年3月1日``.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    text = unicodedata.normalize("NFKC", str(value)).strip() if type(value) in (str, int) else ""
    for pattern in (WHOLE, COMPACT):
        match = pattern.fullmatch(text)
        if match and (day := _real(match)):
            return day
    raise ValueError(f"{value!r} is no day; write YYYY-MM-DD")


def day_of(value: object) -> date:
    """As `parse_date`; also accepts a date with a time, of which the day is taken as written.

    Raises:
        ValueError: it is none.
    """
    return parse_date(TIME.sub("", value.strip()) if isinstance(value, str) else value)


def _day(match: re.Match[str]) -> date:
    year, month, day = (group for group in match.groups() if group and group.isdigit())
    return date(int(year), int(month), int(day))


def date_from_name(name: str) -> date | None:
    """The day in a file's name: ``…(2021-08-20).md``, ``…_2024-03-01``, ``…20240301版``, ``…2024年3月1日…``.

    A day in brackets counts before others, a later one before an earlier one; a number that is no day of the
    calendar does not count. None where there is no day.
    """
    plain = unicodedata.normalize("NFKC", name)
    for text in (" ".join(BRACKETS.findall(plain)), plain):
        found = sorted((m.start(), day) for p in (WRITTEN, COMPACT) for m in p.finditer(text) if (day := _real(m)))
        if found:
            return found[-1][1]
    return None


def _real(match: re.Match[str]) -> date | None:
    try:
        return _day(match)
    except ValueError:
        return None


@lru_cache(maxsize=1_024)
def validity_field(key: str) -> str:
    """The field of `Validity` for a front matter key in any spelling; ``""`` for other keys.

    Case, width, Traditional characters, spaces, ``_`` and ``-`` make no difference: ``Effective Until``,
    ``effectiveUntil``, ``失效 日期``.
    """
    return SQUEEZED.get(re.sub(r"[_\-\s]+", "", fold(key)), "")


def validity_from(*front_matter: Mapping[str, Any]) -> tuple[Validity, tuple[Fault, ...]]:
    """Validity from front matter keys in English or Chinese, and their faults; other keys are ignored.

    What cannot be read does not count. Of two keys that contradict one another the narrower counts: the later
    beginning, the earlier end, a status that is not in force.
    """
    said: dict[str, Any] = {}
    faults: list[Fault] = []
    for key, value in chain.from_iterable(map(Mapping.items, front_matter)):
        name = validity_field(str(key))
        if not name or value is None or not str(value).strip():
            continue
        reader, narrower = _READERS[name]
        try:
            read = reader(value)
        except ValueError as error:
            faults.append(Fault(str(key), msg("{error}; passed over", error=error)))
            continue
        before = said.setdefault(name, read)
        if before != read:
            said[name] = narrower(before, read)
            if name != "supersedes":
                faults.append(
                    Fault(str(key), msg("says {name} again, and otherwise; the narrower counts", name=name))
                )
    return Validity(**said), tuple(faults)


def _ids(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else LIST.split(str(value))
    if not all(isinstance(item, (str, int)) and not isinstance(item, bool) for item in items):
        raise ValueError("must name ids")
    return tuple(dict.fromkeys(text for item in items if (text := str(item).strip())))


_READERS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "effective_from": (day_of, max),
    "effective_until": (day_of, min),
    "status": (lambda value: parse_status(str(value)), lambda one, other: other if one == "in_force" else one),
    "supersedes": (_ids, lambda one, other: tuple(dict.fromkeys((*one, *other)))),
}
"""By field of `Validity`: how it is read, and what counts of two that differ."""


def validity_refuse(faults: Sequence[Fault]) -> None:
    if faults:
        raise InvalidRequest(listed(faults, "{place}: {fault}"), faults=tuple(faults))
