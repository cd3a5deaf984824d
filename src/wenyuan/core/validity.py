"""Which sources and documents are in force on a day: status, dates, and what supersedes what.

What is superseded ends the day before its successor begins. A draft supersedes nothing yet; what is retired
did, while it was in force. Only the named predecessor ends, not the predecessor's own predecessors.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, Literal

from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.model import Facet
from wenyuan.core.suggest import did_you_mean
from wenyuan.core.text import fold

__all__ = [
    "FRONT_MATTER_KEYS",
    "LiveVersion",
    "Status",
    "Validity",
    "date_from_name",
    "day_of",
    "effective_ends",
    "parse_date",
    "parse_status",
    "validity_field",
    "validity_from",
]

Status = Literal["in_force", "draft", "retired"]
_STATUS_WORDS: Mapping[Status, str] = {
    "in_force": "in_force current active valid effective published final 现行 现行有效 有效 生效 已生效 施行 已发布",
    "draft": "draft proposed pending 草案 草稿 征求意见稿 送审稿 尚未生效 未生效 待生效",
    "retired": "retired repealed withdrawn obsolete superseded expired archived 废止 已废止 失效 已失效 作废 已作废"
    " 已被取代 停用",
}
_STATUSES: Mapping[str, Status] = {word: status for status, words in _STATUS_WORDS.items() for word in words.split()}
_KEYS: Mapping[str, tuple[str, ...]] = {
    "effective_from": ("effective from", "effective date", "valid from", "in force from", "生效日期", "施行日期",
                       "实施日期", "生效时间"),
    "effective_until": ("effective until", "effective to", "valid until", "valid to", "expires", "expiry date",
                        "失效日期", "废止日期", "有效期至", "失效时间"),
    "status": ("validity", "状态", "效力", "时效性", "有效性"),
    "supersedes": ("replaces", "取代", "代替", "替代"),
}  # fmt: skip
FRONT_MATTER_KEYS: Mapping[str, str] = {
    word: name for name, words in _KEYS.items() for word in (name.replace("_", " "), *words)
}
"""Field of `Validity` by its key in front matter, folded, with spaces for ``_`` and ``-``."""
_SQUEEZED: Mapping[str, str] = {word.replace(" ", ""): name for word, name in FRONT_MATTER_KEYS.items()}
_TIME = re.compile(
    r"(?<=[0-9日])(?:T|\s+)[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?\s*(?:Z|[+-][0-9]{2}:?[0-9]{2})?$"
)

_WRITTEN = re.compile(
    r"(?<![0-9])((?:19|20)[0-9]{2})(?:年([0-9]{1,2})月([0-9]{1,2})日?|([-./_])([0-9]{1,2})\4([0-9]{1,2})(?![0-9]))"
)
_COMPACT = re.compile(
    r"(?:(?<![A-Za-z0-9.])|(?<=v))((?:19|20)[0-9]{2})(1[0-2]|0[1-9])(3[01]|[12][0-9]|0[1-9])(?![0-9])", re.IGNORECASE
)
# A day that stands alone may be of any year: 9999-12-31 means for ever.
_WHOLE = re.compile(_WRITTEN.pattern.replace("(?:19|20)[0-9]{2}", "[0-9]{4}"))
_BRACKETS = re.compile(r"[(\[【〔《]([^()\[\]【】〔〕《》]*)[)\]】〕》]")
_LIST = re.compile(r"[,;，；、\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """When something is in force, and what it takes the place of.

    Attributes:
        effective_until: The last day, inclusive.
        supersedes: Ids of what it takes the place of.
    """

    id: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    status: Status = "in_force"
    supersedes: tuple[str, ...] = ()

    def in_force_on(self, day: date, *, ends: date | None = None) -> bool:
        """Whether it is in force on a day.

        A draft never is; what is retired was, as long as its last day is known.

        Args:
            ends: Its last day by `effective_ends`; the earlier one counts.
        """
        last = min((d for d in (self.effective_until, ends) if d is not None), default=None)
        if self.status == "draft" or (self.status == "retired" and last is None):
            return False
        return (self.effective_from or date.min) <= day <= (last or date.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveVersion:
    """A live document, as far as versions go. ``own_until`` is its own end, whatever supersedes it."""

    document_id: int
    uri: str
    title: str
    effective_from: date | None
    effective_until: date | None
    own_until: date | None
    facets: Mapping[str, Facet]


# --- what people write ----------------------------------------------------------------------------------
def parse_status(text: str) -> Status:
    """The status that a word names, in English or Chinese.

    Raises:
        ValueError: it names none; the message says what may have been meant.
    """
    word = fold(text).strip(" \t\r\n。.;；")
    status = _STATUSES.get(re.sub(r"[-\s]+", "_", word))
    if status is None:
        hint = did_you_mean(word, _STATUSES) or "; write in_force, draft or retired"
        raise ValueError(f"{text!r} is no status{hint}")
    return status


def parse_date(value: object) -> date:
    """A day as front matter or a registry gives it: a date, ``2024-03-01``, ``20240301`` or ``2024年3月1日``.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    text = unicodedata.normalize("NFKC", str(value)).strip() if type(value) in (str, int) else ""
    for pattern in (_WHOLE, _COMPACT):
        match = pattern.fullmatch(text)
        if match and (day := _real(match)):
            return day
    raise ValueError(f"{value!r} is no day; write YYYY-MM-DD")


def day_of(value: object) -> date:
    """As `parse_date`, and of a moment the day that it is written with.

    Raises:
        ValueError: it is none.
    """
    return parse_date(_TIME.sub("", value.strip()) if isinstance(value, str) else value)


def _day(match: re.Match[str]) -> date:
    year, month, day = (group for group in match.groups() if group and group.isdigit())
    return date(int(year), int(month), int(day))


def date_from_name(name: str) -> date | None:
    """The day in a file's name: ``…(2021-08-20).md``, ``…_2024-03-01``, ``…20240301版``, ``…2024年3月1日…``.

    A day in brackets counts before others, a later one before an earlier one; a number that is no day of the
    calendar does not count. None where there is no day.
    """
    plain = unicodedata.normalize("NFKC", name)
    for text in (" ".join(_BRACKETS.findall(plain)), plain):
        found = sorted((m.start(), day) for p in (_WRITTEN, _COMPACT) for m in p.finditer(text) if (day := _real(m)))
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
    """The field of `Validity` that a key of front matter gives, however it is spelled; ``""`` when it gives none.

    Case, width, Traditional characters, spaces, ``_`` and ``-`` make no difference: ``Effective Until``,
    ``effectiveUntil``, ``失效 日期``.
    """
    return _SQUEEZED.get(re.sub(r"[_\-\s]+", "", fold(key)), "")


def validity_from(*front_matter: Mapping[str, Any]) -> tuple[Validity, tuple[Fault, ...]]:
    """Validity from the keys of front matter, in English or Chinese, and what is wrong with them; others are passed over.

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
            faults.append(Fault(str(key), f"{error}; passed over"))
            continue
        before = said.setdefault(name, read)
        if before != read:
            said[name] = narrower(before, read)
            if name != "supersedes":
                faults.append(Fault(str(key), f"says {name} again, and otherwise; the narrower counts"))
    return Validity(**said), tuple(faults)


def _ids(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, (list, tuple)) else _LIST.split(str(value))
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


def _refuse(faults: Sequence[Fault]) -> None:
    if faults:
        raise InvalidRequest("; ".join(f"{f.path}: {f.message}" for f in faults), faults=tuple(faults))


# --- what follows from it -------------------------------------------------------------------------------
def effective_ends(items: Sequence[Validity], *, undated: date | None = None) -> dict[str, date | None]:
    """The last day on which each item is in force, by id; None: open.

    It is the earlier of its own end and the day before its first successor begins. An end before the item's
    own beginning means that it is never in force.

    Args:
        undated: The day from which a successor without ``effective_from`` counts; without it, that is a fault.

    Raises:
        InvalidRequest: listing every fault: an id twice, unknown ids, successors without a beginning, loops.
    """
    known = {item.id: item for item in items}
    _refuse([*_unclear(items, known, undated), *_loops(known)])
    ends = {item.id: item.effective_until for item in items}
    for item in items:
        begin = item.effective_from or undated
        if item.status == "draft" or begin is None:
            continue
        eve = begin - timedelta(days=1) if begin > date.min else begin
        for old in item.supersedes:
            ends[old] = min(eve, ends[old] or eve)
    return ends


def _unclear(items: Sequence[Validity], known: Mapping[str, Validity], undated: date | None) -> Iterator[Fault]:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            yield Fault(item.id, "stands twice in the list")
        seen.add(item.id)
        if item.effective_from and item.effective_until and item.effective_until < item.effective_from:
            yield Fault(item.id, "effective_until lies before effective_from")
        for old in item.supersedes:
            if old not in known:
                yield Fault(
                    item.id, f"supersedes {old!r}, which is unknown{did_you_mean(old, known.keys() - {item.id})}"
                )
        if item.supersedes and item.status != "draft" and not (item.effective_from or undated):
            yield Fault(item.id, f"supersedes {', '.join(item.supersedes)}, but has no effective_from")


def _loops(known: Mapping[str, Validity]) -> Iterator[Fault]:
    """One fault for each loop, with the way around it. Depth first, without recursion: chains can be long."""
    done: set[str] = set()
    for root in known:
        path: list[str] = []
        place: dict[str, int] = {}
        todo = [(root, False)]
        while todo:
            at, leave = todo.pop()
            if leave:
                done.add(at)
                del place[path.pop()]
            elif at in place:
                loop = [*path[place[at] :], at]
                yield Fault(at, f"supersedes itself: {' → '.join(loop)}")
            elif at in known and at not in done:
                place[at] = len(path)
                path.append(at)
                todo.append((at, True))
                todo += [(old, False) for old in reversed(known[at].supersedes)]
