"""Terms of use and validity: how much may be quoted, and which documents are in force on a day."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, get_args

from wenyuan.core.errors import Fault, InvalidRequest, did_you_mean, listed, msg
from wenyuan.core.model import Facet
from wenyuan.core.text import fold

# What a source's owner lets us quote, in a form that a machine can keep to.
#
# Written short, parts separated by ``;``: a verdict (``allow``, ``deny``), limits (``excerpt<=200`` characters,
# ``share<=0.1`` or ``share<=10%`` of a document), a licence (``CC-BY-4.0``) and ``holder=…``, ``licence=…``,
# ``attribution=…``. Chinese words (``摘录<=200；占比<=10%``, ``禁止``) and full-width forms mean the same.
# A licence or ``© holder`` alone allows excerpts; "all rights reserved" does not say, and is refused.


Excerpt = Literal["allow", "limit", "deny"]
_VERDICTS: tuple[str, ...] = get_args(Excerpt)
_TEXTS = ("holder", "licence", "attribution")
_FIELDS = ("holder", "licence", "excerpt", "max_chars_per_excerpt", "max_share_of_document", "attribution")
_LIMITS = {"excerpt": "max_chars_per_excerpt", "share": "max_share_of_document"}
_SAME = {
    "允许": "allow", "允许摘录": "allow", "可摘录": "allow", "禁止": "deny", "禁止摘录": "deny", "不可摘录": "deny",
    "不得摘录": "deny", "限制": "limit", "摘录": "excerpt", "占比": "share", "比例": "share", "版权人": "holder",
    "著作权人": "holder", "许可": "licence", "许可证": "licence", "license": "licence", "署名": "attribution",
}  # fmt: skip
_WORDS = ("allow", "deny", "limit", "excerpt<=200", "share<=0.1", *_TEXTS)
_PART = re.compile(r'(?:"(?:\\.|[^"\\])*"|[^;；])+')
_ASSIGNED = re.compile(r"\s*([^<>=≤:：＜＞＝]+?)\s*([<＜][=＝]?|[>＞][=＝]?|≤|[=＝]|[:：])\s*(.+?)\s*", re.DOTALL)
_LICENCE = re.compile(
    r"CC0(?:-1\.0)?|CC[ -]BY(?:[ -](?:NC|ND|SA))*(?:[ -][1-4]\.[0-9](?:[ -][A-Z]{2,3})?)?|MIT|ISC|Unlicense|Zlib"
    r"|WTFPL|public domain|公有领域|公共领域"
    r"|(?!excerpt|share)[A-Z][A-Z+]*(?:-[A-Z0-9.+]+)*-[0-9][A-Z0-9.+\-]*",
    re.IGNORECASE | re.ASCII,
)
_OWNER = re.compile(r"(?:©|\(c\)|copyright)[\s:：©]*(?:\(c\))?\s*(.+)", re.IGNORECASE | re.DOTALL)
_RESERVED = re.compile(r"all rights reserved|版权所有|保留所有权利|保留一切权利")


@dataclass(frozen=True, slots=True, kw_only=True)
class Copyright:
    """The copyright terms of a source.

    Attributes:
        excerpt: ``allow``; ``limit``, with at least one of the two bounds; ``deny``: title and address only.
        max_chars_per_excerpt: Characters of one document that one excerpt, in sum, may hold (at least 1).
        max_share_of_document: Share of one document that one excerpt, in sum, may hold (above 0, at most 1).
        attribution: Text required beside an excerpt.

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    holder: str = ""
    licence: str = ""
    excerpt: Excerpt = "allow"
    max_chars_per_excerpt: int | None = None
    max_share_of_document: float | None = None
    attribution: str = ""

    def __post_init__(self) -> None:
        _refuse(_contradictions({name: getattr(self, name) for name in _FIELDS}))

    @property
    def credit(self) -> str:
        """The attribution, or what stands for it: ``© holder, licence``."""
        owner = f"© {self.holder}" if self.holder else ""
        return self.attribution or ", ".join(part for part in (owner, self.licence) if part)

    def room(self, document_chars: int) -> int | None:
        """How many characters of a document of that length may be quoted in total; None: no limit."""
        if self.excerpt == "deny":
            return 0
        rooms = [self.max_chars_per_excerpt] if self.max_chars_per_excerpt is not None else []
        if self.max_share_of_document is not None:
            rooms.append(math.floor(self.max_share_of_document * document_chars))
        return min(rooms, default=None)

    def to_mapping(self) -> dict[str, Any]:
        """Its non-default fields by name; the inverse of `parse_copyright`."""
        told = {name: getattr(self, name) for name in _FIELDS}
        return {name: value for name, value in told.items() if value not in ("", None)}

    def short(self) -> str:
        """Its canonical short form; `parse_copyright` reads it back."""
        parts: list[str] = [self.excerpt] if self.excerpt != "limit" else []
        if self.max_chars_per_excerpt is not None:
            parts.append(f"excerpt<={self.max_chars_per_excerpt}")
        if self.max_share_of_document is not None:
            parts.append(f"share<={self.max_share_of_document!r}")
        if self.licence and self.excerpt == "allow" and _speaks_for_itself(self.licence):
            parts = [self.licence]
        elif self.licence:
            parts.append(f"licence={_quoted(self.licence)}")
        parts += [f"{name}={_quoted(value)}" for name in ("holder", "attribution") if (value := getattr(self, name))]
        return "; ".join(parts)


def parse_copyright(value: str | Mapping[str, Any] | None) -> Copyright:
    """Parse terms in short form or as fields; None and ``""`` allow excerpts.

    Raises:
        InvalidRequest: listing every fault, with what may have been meant.
    """
    if isinstance(value, Copyright):
        return value
    if value is None or isinstance(value, str):
        fields, faults = _from_text(value or "")
    elif isinstance(value, Mapping):
        fields, faults = _from_mapping(value)
    else:
        fields, faults = {}, [Fault("copyright", "must be a string or an object")]
    limited = any(fields.get(name) is not None for name in _LIMITS.values())
    if limited and "excerpt" not in fields:
        fields["excerpt"] = "limit"
    named = {fault.path for fault in faults}
    _refuse(faults + [fault for fault in _contradictions(fields) if fault.path not in named])
    return Copyright(**fields)


def _refuse(faults: list[Fault]) -> None:
    if faults:
        message = listed(faults)
        raise InvalidRequest(message, faults=tuple(faults))


def _contradictions(fields: Mapping[str, Any]) -> list[Fault]:
    """Faults of single fields and between fields."""
    faults = []
    for name in _TEXTS:
        if not isinstance(fields.get(name, ""), str):
            faults.append(Fault(f"copyright.{name}", "must be text"))
    chars, share = (fields.get(name) for name in _LIMITS.values())
    if chars is not None and (type(chars) is not int or chars < 1):
        faults.append(Fault("copyright.max_chars_per_excerpt", "must be an integer, at least 1; to give none: deny"))
    if share is not None and (type(share) not in (int, float) or not 0 < share <= 1):
        faults.append(Fault("copyright.max_share_of_document", "must be a number above 0, at most 1"))
    excerpt = fields.get("excerpt", "allow")
    if excerpt not in _VERDICTS:
        hint = did_you_mean(str(excerpt), _VERDICTS)
        faults.append(
            Fault(
                "copyright.excerpt",
                msg("must be allow, limit or deny, not {excerpt}{near}", excerpt=repr(excerpt), near=hint),
            )
        )
    elif excerpt == "limit" and chars is None and share is None:
        faults.append(Fault("copyright.excerpt", "is limit, but no limit is given: excerpt<=200, share<=0.1 or both"))
    elif excerpt != "limit" and (chars is not None or share is not None):
        faults.append(Fault("copyright.excerpt", msg("is {excerpt}, but a limit is given too", excerpt=excerpt)))
    return faults


def _from_mapping(value: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    fields: dict[str, Any] = {}
    faults = []
    for key, given in value.items():
        name = _word(str(key))
        if name not in _FIELDS:
            faults.append(Fault(f"copyright.{key}", msg("is no field{near}", near=did_you_mean(str(key), _FIELDS))))
        elif given is not None:
            fields[name] = _word(given) if name == "excerpt" and isinstance(given, str) else given
    return fields, faults


def _from_text(text: str) -> tuple[dict[str, Any], list[Fault]]:
    fields: dict[str, Any] = {}
    faults: list[Fault] = []
    for part in (match[0].strip() for match in _PART.finditer(text)):
        if not part:
            continue
        try:
            name, value = _part(part)
        except ValueError as error:
            faults.append(Fault("copyright", msg("{place} {fault}", place=repr(part), fault=error)))
            continue
        if name in fields and fields[name] != value:
            faults.append(
                Fault(
                    "copyright",
                    msg("{part} contradicts {name} {fields}", part=repr(part), name=name, fields=repr(fields[name])),
                )
            )
        fields[name] = value
    return fields, faults


def _part(part: str) -> tuple[str, Any]:
    """Field and value of one part of the short form; ValueError says what is wrong."""
    word = _word(part)
    if word in _VERDICTS:
        return "excerpt", word
    assigned = _ASSIGNED.fullmatch(part)
    name = _word(assigned[1]) if assigned else ""
    if assigned and name in _TEXTS and _narrow(assigned[2]) in "=:":
        return name, _unquoted(assigned[3])
    if assigned and name in _LIMITS:
        return _limit(name, _narrow(assigned[2]), _narrow(assigned[3]))
    if _RESERVED.search(word):
        raise ValueError("does not say whether excerpts may be given: write deny, excerpt<=200 or allow")
    owner = _OWNER.fullmatch(part)
    if owner:
        return "holder", owner[1].strip()
    if _LICENCE.fullmatch(_narrow(part)):
        return "licence", _narrow(part)
    hint = did_you_mean(name, (*_LIMITS, *_TEXTS)) if name else did_you_mean(word, _WORDS)
    raise ValueError(msg("is no copyright rule{hint}", hint=hint or "; write licence=… or holder=… for a name"))


def _word(text: str) -> str:
    plain = fold(text).strip()
    return _SAME.get(plain, plain)


def _narrow(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _limit(name: str, sign: str, value: str) -> tuple[str, Any]:
    if name == "excerpt" and sign in "=:" and _word(value) in _VERDICTS:
        return name, _word(value)
    if sign not in ("<=", "≤"):
        raise ValueError(f"is no limit; did you mean '{name}<={value}'?")
    return _LIMITS[name], _number(name, value)


def _speaks_for_itself(licence: str) -> bool:
    try:
        return _part(licence) == ("licence", licence)
    except ValueError:
        return False


def _number(name: str, value: str) -> int | float:
    if name == "excerpt" and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    if name == "share" and re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]+)?[ ]?%", value):
        return float(value[:-1]) / 100
    if name == "share" and re.fullmatch(r"[0-9]*\.?[0-9]+(?:[eE]-?[0-9]{1,3})?", value):
        return float(value)
    kind = "a whole number of characters" if name == "excerpt" else "a number from 0 to 1, or a percentage"
    raise ValueError(f"needs {kind}, not {value!r}")


def _quoted(value: str) -> str:
    plain = value == value.strip() and not re.search(r'[;；"\x00-\x1f\x85\u2028\u2029]', value)
    return value if plain else json.dumps(value, ensure_ascii=False)


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError as error:
            raise ValueError("is not properly quoted") from error
    return value


# Which sources and documents are in force on a day: status, dates, and what supersedes what.
#
# What is superseded ends the day before its successor begins. A draft supersedes nothing yet; what is retired
# did, while it was in force. Only the named predecessor ends, not the predecessor's own predecessors.


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
    r"(?<=[0-9日])(?:T|\s+)[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?\s*(?:Z|[+-][0-9]{2}:?[0-9]{2})?\Z"
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
    """Period of validity, status, and what is superseded.

    Attributes:
        effective_until: The last day, inclusive.
        supersedes: Ids of what it takes the place of.
    """

    id: str = ""
    effective_from: date | None = None
    effective_until: date | None = None
    status: Status = "in_force"
    supersedes: tuple[str, ...] = ()

    def days(self, *, ends: date | None = None) -> tuple[date, date]:
        """The first and the last day on which it is in force; the last is before the first where it never is.

        A draft never is; what is retired was, as long as its last day is known.

        Args:
            ends: Its last day by `effective_ends`; the earlier one counts.
        """
        last = min((d for d in (self.effective_until, ends) if d is not None), default=None)
        if self.status == "draft" or (self.status == "retired" and last is None):
            return date.max, date.min
        return self.effective_from or date.min, last or date.max


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveVersion:
    """A live document with the fields for comparing versions. ``own_until`` is its own end, before supersession."""

    document_id: int
    uri: str
    title: str
    effective_from: date | None
    effective_until: date | None
    own_until: date | None
    facets: Mapping[str, Facet]


# --- what people write ----------------------------------------------------------------------------------
def parse_status(text: str) -> Status:
    """Parse a status in English or Chinese.

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
    """Parse a day: a date, ``2024-03-01``, ``20240301`` or ``2024年3月1日``.

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
    """As `parse_date`; also accepts a date with a time, of which the day is taken as written.

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
    """The field of `Validity` for a front matter key in any spelling; ``""`` for other keys.

    Case, width, Traditional characters, spaces, ``_`` and ``-`` make no difference: ``Effective Until``,
    ``effectiveUntil``, ``失效 日期``.
    """
    return _SQUEEZED.get(re.sub(r"[_\-\s]+", "", fold(key)), "")


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


def _validity_refuse(faults: Sequence[Fault]) -> None:
    if faults:
        raise InvalidRequest(listed(faults, "{place}: {fault}"), faults=tuple(faults))


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
    _validity_refuse([*_unclear(items, known, undated), *_loops(known)])
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
                    item.id,
                    msg(
                        "supersedes {old}, which is unknown{near}",
                        old=repr(old),
                        near=did_you_mean(old, known.keys() - {item.id}),
                    ),
                )
        if item.supersedes and item.status != "draft" and not (item.effective_from or undated):
            yield Fault(
                item.id,
                msg("supersedes {supersedes}, but has no effective_from", supersedes=", ".join(item.supersedes)),
            )


def _loops(known: Mapping[str, Validity]) -> Iterator[Fault]:
    """One fault per loop, naming its members. Iterative depth-first search, since chains can be long."""
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
                yield Fault(at, msg("supersedes itself: {loop}", loop=" → ".join(loop)))
            elif at in known and at not in done:
                place[at] = len(path)
                path.append(at)
                todo.append((at, True))
                todo += [(old, False) for old in reversed(known[at].supersedes)]
