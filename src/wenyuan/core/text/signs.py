"""Signs of numbers in text: minus, plus or minus, powers, bounds, codes with a number, times and dates, each in one form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RANGE = re.compile("(?<=[0-9０-９])[–‐‑−－](?=[0-9０-９])")
_FRACTION = re.compile("(?<=[0-9０-９])[¼½¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]")
_POWER = re.compile("(?<=[0-9０-９)])[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_MINUS = "-−﹣－‐‑–"
_NEGATIVE = re.compile(
    rf"(?:(?<![\w)\]%°{_MINUS}.,/])|(?<=[\u3400-\u9fff])|(?<=[\u3400-\u9fff] ))(?:[{_MINUS}]|负|零下|(?<![a-z])minus |(?<![a-z])negative ) ?\Z"
)
_EITHER = re.compile(r"(?:±|\+/-|\+-|正负) ?\Z")
BOUND = r"(?:>=|<=|[<>≥≤≧≦⩾⩽])(?= ?[-+±−]? ?[\d¥$€£]| ?\Z)"
"""A bound before a number, as a regular expression of folded text; it may end what is searched before a quantity."""
_BOUNDS = {">=": "≥", "≧": "≥", "⩾": "≥", "<=": "≤", "≦": "≤", "⩽": "≤"}
CODE = r"(?<![a-z\d])[a-z]{1,3}(?:-\d{1,6}|\d{1,3})(?:\.\d+)*(?:-?[a-z]{1,3})?(?![a-z\d]|[.\-]\d)"
"""A code of letters and digits (``A-12``, ``H7``), as a regular expression of folded text; the number of a standard is none."""
NUMBER = r"\d+(?:[.,:/\-]\d+)*(?:\^[-+]?\d+)?[%‰]?"
"""A number with its power and share, as a regular expression of folded text."""


def powers(text: str) -> str:
    """A text with raised digits behind a digit as powers (10⁶ → 10^6: they are no digits of the number), and one dash for ranges."""
    text = _FRACTION.sub(" \\g<0>", _RANGE.sub("-", text))
    return _POWER.sub(lambda raised: "^" + raised[0].translate(_POWERS), text) if _POWER.search(text) else text


def power_at(text: str, at: int) -> str:
    """What the character at a place reads as in `powers`."""
    one = text[at]
    if _RANGE.match(text, at):
        return "-"
    if _FRACTION.match(text, at):
        return " " + one
    if one not in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺":
        return one
    first = at
    while first and text[first - 1] in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺":
        first -= 1
    if not first or not (text[first - 1].isdecimal() or text[first - 1] == ")"):
        return one
    return ("^" if first == at else "") + one.translate(_POWERS)


def sign_before(folded: str, start: int) -> tuple[str, int]:
    """The sign of a number that begins at `start`: ``-``, ``±`` or ``""``, and where it begins.

    A hyphen between words, numbers or in a range is none.
    """
    low = max(0, start - 12)
    if match := _EITHER.search(folded[low:start]):
        return "±", low + match.start()
    before = folded[low:start]
    match = _NEGATIVE.search(before)
    if match is None or (low == 0 and not before):
        return "", start
    written = match[0]
    if written[0] in _MINUS and written.endswith(" "):
        return "", start  # a dash, or a mark of a list
    return "-", low + match.start()


def bound(written: str) -> str:
    """A bound in one form: ``>=`` → ``≥``."""
    return _BOUNDS.get(written, written)


CURRENCIES = frozenset(
    "aud brl cad chf cny czk dkk eur gbp hkd huf idr ils inr jpy krw mxn myr nok nzd php pln rmb rub sek sgd thb try twd usd vnd zar"
    " £ € $ ¥ 英镑 港元 港币 卢布 韩元 法郎".split()
)
"""Codes and signs of money."""


# Dates and times of day, each in one form.

_MONTHS = {name: number for number, name in enumerate(
    "january february march april may june july august september october november december".split(), 1)}  # fmt: skip
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_ANY_MONTH = "|".join(
    f"{name}\\.?" if len(name) < 5 and name not in ("may", "june", "july") else name
    for name in sorted(_MONTHS, key=len, reverse=True)
)
_DATE = re.compile(
    r"(?<![\d./\-])(?<!\d,)(?P<y>(?:19|20)\d\d)(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?![\d/\-]|\.\d)"
    rf"|(?<![a-z])(?P<mn>{_ANY_MONTH}) (?P<dn>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<yn>(?:19|20)\d\d)(?!\d)"
    r"|(?<![\d./\-])(?<!\d,)(?P<dn2>\d{1,2})[/.](?P<dn3>\d{1,2})[/.](?P<yx>(?:19|20)\d\d)(?![\d/\-]|\.\d)"
    rf"|(?<![a-z])(?P<m1>{_ANY_MONTH}) (?P<d1>[0-3]?\d)(?:st|nd|rd|th)?(?![\d:%,]|\.\d|,? (?:19|20)\d\d)"
    rf"|(?<![\d./\-,])(?<!\d )(?P<d2>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? (?P<m2>{_ANY_MONTH})(?![a-z]|,? (?:19|20)\d\d)"
    rf"|(?<![\d./\-])(?<!\d,)(?P<dm>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<mm>{_ANY_MONTH}),? (?P<ym>(?:19|20)\d\d)(?!\d)"
)
_TIME = re.compile(
    r"(?<![\d:.])(?:(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里) ?)?(?<![\d:.])(?P<h>[01]?\d|2[0-4]):(?P<min>[0-5]\d)(?![\d:])(?P<half> ?[ap]\.?m\.?(?![a-z]))?"
    r"|(?<![\d:.])(?P<h12>1[0-2]|[1-9]) ?(?P<half12>[ap]\.?m\.?)(?![a-z])"
    r"|(?:(?P<partz>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里) ?)?(?<![\d:.个小])(?P<hz>[01]?\d|2[0-4])[时時点點](?:(?P<minz>[0-5]?\d)分?|(?P<halfz>半)|整)?(?![间間候期数\d钟鐘])"
)


_SURELY_MAY = re.compile(r"\Z|[^\w ]| (?:at|and|or|to|until|till|in|of|from|by|on|each|every)(?![a-z])")
"""What stands behind a day of May, and behind no *may*."""
_LATER = ("下午", "傍晚", "晚上", "夜里")


class Moment(NamedTuple):
    """A date or a time of day of a text: its values in one form, and where it begins and ends."""

    values: tuple[str, ...]
    start: int
    end: int


def _date(match: re.Match[str]) -> Moment | None:
    """The date of a match of `_DATE`; None of none, and of 01/02/2025, whose day may be either."""
    year, named = match["y"] or match["yn"] or match["ym"] or match["yx"], match["mn"] or match["mm"]
    alone = match["m1"] or match["m2"]
    if match["yx"]:
        month, day = sorted((int(match["dn2"]), int(match["dn3"])))
        if month != day and day <= 12:
            return None
    else:
        name = named or alone
        month = _MONTHS[name.rstrip(".")] if name else int(match["m"])
        day = int(match["d"] or match["dn"] or match["dm"] or match["d1"] or match["d2"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    if alone == "may" and not _SURELY_MAY.match(match.string, match.end()):
        return None
    values = (f"={month}月", f"={day}号")
    return Moment(values if alone else (f"={year}year", *values), *match.span())


def moments(folded: str) -> Iterator[Moment]:
    """Dates with year, month and day that are written in figures or in English, and times of day.

    A date has the values of 2025年3月1日 as `numbers.measured` reads them; a time of day is ``6:00``.
    """
    found = [date for match in _DATE.finditer(folded) if (date := _date(match)) is not None]
    for match in _TIME.finditer(folded):
        hour = int(match["h"] or match["h12"] or match["hz"])
        minute = 30 if match["halfz"] else int(match["min"] or match["minz"] or 0)
        half = match["half"] or match["half12"] or ""
        if ("p" in half or (match["part"] or match["partz"]) in _LATER) and 0 < hour < 12:
            hour += 12
        elif "a" in half and hour == 12:
            hour = 0
        found.append(Moment((f"{hour}:{minute:02d}",), *match.span()))
    end = 0
    for moment in sorted(found, key=lambda one: one.start):
        if moment.start >= end:
            end = moment.end
            yield moment


_SPANS = {"year": (12, "month"), "week": (7, "day"), "hour": (3_600, "second"), "minute": (60, "second")}
"""Spans of time that are the same number of another unit. A day is not: 24 hours may end elsewhere than a day."""


def in_one_unit(value: float, unit: str) -> tuple[float, str]:
    """A quantity, in months, days or seconds where it is a span of time: 1年 and 十二个月 are one."""
    times, smaller = _SPANS.get(unit, (1, unit))
    return value * times, smaller
