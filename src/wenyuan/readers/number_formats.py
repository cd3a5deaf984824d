"""Numbers as a sheet shows them: the format codes of Excel and OpenDocument (``0.0%``, ``000000``, ``[h]:mm``, ``0.00" kg"``).

The codes are those of ECMA-376, part 1, 18.8.30 and 18.8.31. A code has up to four sections, for positive numbers, negative
ones, zero and text; each may name a condition of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

BUILT_IN: Mapping[int, str] = MappingProxyType({
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm",
    21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0 ;(#,##0)", 38: "#,##0 ;(#,##0)", 39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)", 41: "#,##0", 42: "$#,##0", 43: "#,##0.00", 44: "$#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss",
    47: "mm:ss.0", 48: "##0.0E+0", 49: "@", 27: 'yyyy"年"m"月"', 28: 'm"月"d"日"', 29: 'm"月"d"日"', 30: "m-d-yy",
    31: 'yyyy"年"m"月"d"日"', 32: 'h"时"mm"分"', 33: 'h"时"mm"分"ss"秒"', 36: 'yyyy"年"m"月"', 50: 'yyyy"年"m"月"',
    51: 'm"月"d"日"', 57: 'yyyy"年"m"月"', 58: 'm"月"d"日"',
})  # fmt: skip
"""Codes by number that files do not spell out; dates that depend on the reader's country are given as ISO 8601."""

_PART = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]|(?P<general>General|G/通用格式)'
    r"|(?P<noon>AM/PM|A/P|上午/下午)|(?P<date>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+(?:\.0+)?|[aA]{3,4}|[eE](?![+\-0])|[bB]{2,4})"
    r"|(?P<digits>[0#?][0#?,.]*(?:[eE][+\-][0#?]+)?|\.[0#?]+)|(?P<percent>%)|(?P<text>@)|(?P<other>.)",
    re.DOTALL,
)
_ELAPSED = re.compile(r"(h+|m+|s+)\Z", re.IGNORECASE)
_CURRENCY = re.compile(r"\$([^\-\]]*)(?:-[0-9A-Fa-f]*)?\Z")
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[0-9.]+)\Z")
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_CHINESE_DAYS = "一二三四五六日"
_MAX_CODE = 255
_MAX_DATE = 2_958_466  # the day after 9999-12-31


class _Section(NamedTuple):
    parts: tuple[tuple[str, str], ...]
    condition: tuple[str, float] | None

    def has(self, *kinds: str) -> bool:
        return any(kind in kinds for kind, _ in self.parts)


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[_Section, ...]:
    sections: list[_Section] = []
    parts: list[tuple[str, str]] = []
    condition: tuple[str, float] | None = None
    for match in _PART.finditer(code[:_MAX_CODE]):
        kind, text = match.lastgroup or "", match[0]
        if kind == "other" and text == ";":
            sections.append(_Section(tuple(parts), condition))
            parts, condition = [], None
        elif kind in ("quoted", "escaped", "other"):
            parts.append(("said", match[kind]))
        elif kind == "bracket":
            if _ELAPSED.match(match[kind]):
                parts.append(("elapsed", match[kind].lower()))
            elif found := _CURRENCY.match(match[kind]):
                parts.append(("said", found[1]))
            elif found := _CONDITION.match(match[kind]):
                condition = (found[1], float(found[2]))
        elif kind == "":
            parts += [("said", " ")] if text.startswith("_") else []
        else:
            parts.append((kind, text))
    sections.append(_Section(tuple(parts), condition))
    return tuple(sections)


def general(value: float) -> str:
    """A number without a format, as a cell shows it: at most eleven digits after those before the point."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = f"{value:.15g}"
    return text if "e" in text else text.rstrip("0").rstrip(".") if "." in text else text


def is_date(code: str) -> bool:
    """Whether a code shows a day or a time."""
    return any(section.has("date", "elapsed") for section in _sections(code))


def format_number(value: float, code: str, *, since_1904: bool = False) -> str:
    """A number as a cell with this format code shows it; ``""`` where the code hides it.

    Args:
        since_1904: Days are counted from 1904-01-01, as in some workbooks of old Macintoshes.
    """
    if not code:
        return general(value)
    section, value, signed = _chosen(value, _sections(code))
    if not section.parts:
        return ""
    if section.has("date", "elapsed"):
        return _of_time(value, section, since_1904)
    sign = "-" if value < 0 and signed else ""
    number = abs(value)
    body = _of_number(number, section)
    return sign + body if sign and any(char in "123456789" for char in body) else body


def shown_text(text: str, code: str) -> str:
    """A text as a cell with this format code shows it, e.g. with the words that the code adds."""
    sections = _sections(code)
    section = sections[3] if len(sections) > 3 else sections[0] if sections[0].has("text") else None
    if section is None:
        return text
    return "".join(text if kind == "text" else said if kind == "said" else "" for kind, said in section.parts).strip()


def _chosen(value: float, sections: tuple[_Section, ...]) -> tuple[_Section, float, bool]:
    """The section of a number, the number, and whether its sign is to be written."""
    first = sections[:3] if len(sections) > 3 else sections
    if any(section.condition for section in first):
        for at, section in enumerate(first):
            if section.condition is None or _meets(value, section.condition):
                return section, value, at == 0 or section.condition is None
        return first[-1], value, True
    if len(first) > 1 and value < 0:
        return first[1], -value, False
    if len(first) > 2 and value == 0:
        return first[2], value, False
    return first[0], value, True


def _meets(value: float, condition: tuple[str, float]) -> bool:
    sign, limit = condition
    return {
        "<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit, "=": value == limit,
        "<>": value != limit,
    }[sign]  # fmt: skip


def _of_number(number: float, section: _Section) -> str:
    percents = sum(kind == "percent" for kind, _ in section.parts)
    exact = Decimal(repr(number)) * 100**percents
    slashed = _fraction_of(section)
    patterns = [text for kind, text in section.parts if kind == "digits"]
    if slashed is not None:
        return _of_fraction(exact, section, slashed)
    if len(patterns) > 1:
        return _spread(exact, section, patterns)
    out = []
    for kind, text in section.parts:
        if kind == "digits":
            out.append(_digits(exact, text))
        elif kind == "percent":
            out.append("%")
        elif kind in ("general", "text"):
            out.append(general(float(exact)))
        elif kind == "said":
            out.append(text)
    return "".join(out).strip()


def _spread(exact: Decimal, section: _Section, patterns: list[str]) -> str:
    """A number over several groups of digits, as of a telephone number: ``000-0000``."""
    decimals = len(patterns[-1].partition(".")[2])
    whole = "".join(pattern.replace(",", "").partition(".")[0] for pattern in patterns)
    text = _digits(exact, whole + ("." + "0" * decimals if decimals else ""))
    before, _, after = text.partition(".")
    sizes = [len(pattern.replace(",", "").partition(".")[0]) for pattern in patterns]
    cut = [before[: len(before) - sum(sizes[1:])] if len(before) > sum(sizes[1:]) else ""]
    rest = before[len(cut[0]) :].rjust(sum(sizes[1:]))
    for size in sizes[1:]:
        cut.append(rest[:size].strip())
        rest = rest[size:]
    groups = iter(cut)
    out = "".join(
        next(groups) if kind == "digits" else text for kind, text in section.parts if kind in ("digits", "said")
    )
    return (out + ("." + after if after else "")).strip()


def _digits(number: Decimal, pattern: str) -> str:
    mantissa, exponent = [*re.split(r"[eE]", pattern, maxsplit=1), ""][:2]
    if exponent:
        return _in_powers(number, mantissa, exponent)
    whole, _, part = mantissa.partition(".")
    scale = len(mantissa) - len(mantissa.rstrip(","))  # commas at the end: in thousands, millions
    number = number / (Decimal(1000) ** scale)
    whole, part = whole.rstrip(","), part.rstrip(",")
    rounded = number.quantize(Decimal(1).scaleb(-len(part)), ROUND_HALF_UP) if number.adjusted() < 25 else number
    before, _, after = f"{rounded:f}".partition(".")
    least = sum(char == "0" for char in whole.replace(",", ""))
    before = before.lstrip("0").rjust(least, "0")
    if "," in whole and before:
        before = _thousands(before)
    while after and len(part) >= len(after) and part[len(after) - 1] in "#?" and after.endswith("0"):
        after = after[:-1]
    point = "." if "." in mantissa and (after or "0" in part or part == "") else ""
    return f"{before}{point if after or (point and part == '') else ''}{after}"


def _thousands(digits: str) -> str:
    head = len(digits) % 3
    groups = [digits[:head]] if head else []
    return ",".join(groups + [digits[at : at + 3] for at in range(head, len(digits), 3)])


def _in_powers(number: Decimal, mantissa: str, exponent: str) -> str:
    places = max(1, len(mantissa.partition(".")[0].replace(",", "")))
    power = number.adjusted() if number else 0
    power -= power % places if places > 1 else 0
    scaled = number.scaleb(-power)
    sign = "-" if power < 0 else "+" if exponent.startswith("+") else ""
    return f"{_digits(scaled, mantissa)}E{sign}{abs(power):0{len(exponent) - 1}d}"


def _fraction_of(section: _Section) -> int | None:
    """Where the sign of a fraction stands among the parts of a section; None for other numbers."""
    for at, (kind, text) in enumerate(section.parts):
        if (kind, text) == ("said", "/") and at and section.parts[at - 1][0] == "digits":
            return at
    return None


def _of_fraction(number: Decimal, section: _Section, slash: int) -> str:
    below = "".join(text for kind, text in section.parts[slash + 1 :] if kind == "digits" or text.isdigit())
    fixed = int(below) if below.isdigit() and below.strip("0") else 0
    most = fixed or 10 ** max(1, min(len(below), 7)) - 1
    whole = int(number) if any(kind == "digits" for kind, _ in section.parts[: slash - 1]) else 0
    rest = Fraction(number) - whole
    if fixed:
        above, under = round(rest * fixed), fixed
    else:
        near = rest.limit_denominator(most)
        above, under = near.numerator, near.denominator
    if above == under and whole is not None:
        whole, above = whole + 1, 0
    if not above:
        return str(whole)
    return f"{whole} {above}/{under}" if whole else f"{above}/{under}"


def _of_time(value: float, section: _Section, since_1904: bool) -> str:
    elapsed = next((text for kind, text in section.parts if kind == "elapsed"), "")
    fine = any(kind == "date" and "." in text for kind, text in section.parts)
    seconds = round(abs(value) * 86_400, 3 if fine else 0)
    if not elapsed and not 0 <= value < _MAX_DATE:
        return general(value)
    when = None if elapsed else moment(value, since_1904=since_1904)
    half = any(kind == "noon" for kind, _ in section.parts)
    out = ["-" if elapsed and value < 0 else ""]
    for at, (kind, text) in enumerate(section.parts):
        if kind == "elapsed":
            out.append(f"{int(seconds // {'h': 3_600, 'm': 60, 's': 1}[text[0]]):0{len(text)}d}")
        elif kind == "date":
            out.append(_unit(text, when, seconds, half, _minutes(section.parts, at)))
        elif kind == "noon":
            late = seconds % 86_400 >= 43_200
            out.append(text.split("/")[late])
        elif kind in ("said", "digits"):
            out.append(text)
    return "".join(out).strip()


def _minutes(parts: tuple[tuple[str, str], ...], at: int) -> bool:
    """Whether an m is of minutes: after hours, or before seconds."""
    units = [(index, text[0].lower()) for index, (kind, text) in enumerate(parts) if kind in ("date", "elapsed")]
    here = next(number for number, (index, _) in enumerate(units) if index == at)
    before = units[here - 1][1] if here else ""
    after = units[here + 1][1] if here + 1 < len(units) else ""
    return before == "h" or after == "s"


def _unit(text: str, when: datetime | None, seconds: float, half: bool, minutes: bool) -> str:
    unit, size = text[0].lower(), len(text)
    if unit == "s":
        whole, _, part = text.partition(".")
        return (
            f"{seconds % 60:0{len(whole) + 1 + len(part)}.{len(part)}f}" if part else f"{int(seconds % 60):0{size}d}"
        )
    if unit == "h":
        hours = int(seconds // 3_600 % 24)
        return f"{(hours + 11) % 12 + 1 if half else hours:0{size}d}"
    if unit == "m" and minutes:
        return f"{int(seconds // 60 % 60):0{size}d}"
    return _of_day(unit, size, when) if when is not None else ""


def _of_day(unit: str, size: int, when: datetime) -> str:
    if unit in ("y", "e", "b"):
        return f"{when.year % 100:02d}" if unit == "y" and size <= 2 else str(when.year)
    if unit == "a":
        return ("星期" if size == 4 else "周") + _CHINESE_DAYS[when.weekday()]
    if unit == "m":
        names = _MONTHS[when.month - 1]
        return {3: names[:3], 4: names, 5: names[0]}.get(size, f"{when.month:0{min(size, 2)}d}")
    names = _DAYS[when.weekday()]
    return {3: names[:3], 4: names}.get(size, f"{when.day:0{min(size, 2)}d}")


def moment(value: float, *, since_1904: bool = False) -> datetime:
    """The day and time that a number of days stands for; 1900 has a day too many in such files, as everywhere."""
    start = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30) if value >= 60 else datetime(1899, 12, 31)
    return start + timedelta(seconds=round(value * 86_400))


def plain(value: float, code: str, *, since_1904: bool = False) -> str:
    """A number in the form that people search for: a day in ISO 8601, else its digits without a format."""
    if not is_date(code) or any(section.has("elapsed") for section in _sections(code)):
        return general(value)
    if not 1 <= value < _MAX_DATE:
        return ""
    when = moment(value, since_1904=since_1904)
    return (
        date.isoformat(when.date())
        if any(
            kind == "date" and text[0] in "yYdDeEaA" for section in _sections(code) for kind, text in section.parts
        )
        else ""
    )
