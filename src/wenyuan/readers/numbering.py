"""Automatic paragraph numbers of DOCX as Word displays them: 第十三条, 3.2.1, (a), bullets; and numerals of other scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

# Automatic paragraph numbers as Word displays them: 第十三条, 3.2.1, (a), bullets. Word stores ``numId`` and level with a
# paragraph and the pattern elsewhere; the number itself is in no text, and without it a clause has no address.

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DIGITS = "零一二三四五六七八九"
_FORMAL_DIGITS = "零壹贰叁肆伍陆柒捌玖"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
          (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
_MOST = 32_767
_SLOT = re.compile(r"%([1-9])")


def chinese_numeral(number: int, digits: str = _DIGITS, units: str = "十百千") -> str:
    """1 … 9999 as 一 … 九千九百九十九 (十三, 一百零五, 一百一十); others as Arabic digits."""
    if not 0 < number < 10_000:
        return str(number)
    text, zero = "", False
    for power in (3, 2, 1, 0):
        digit = number // 10**power % 10
        if digit:
            text += (digits[0] if zero else "") + digits[digit] + (units[power - 1] if power else "")
        zero = not digit and bool(text)
    ten = digits[1] + units[0]
    return text[1:] if text.startswith(ten) and digits is _DIGITS else text


def roman(number: int) -> str:
    """Roman numerals I, II, III, IV …; their length grows with the number, so bound it first."""
    text = ""
    for value, letters in _ROMAN:
        while number >= value:
            text, number = text + letters, number - value
    return text


def _letter(number: int) -> str:
    """A, B … Z, AA, BB …: Word repeats the letter."""
    return chr(ord("A") + (number - 1) % 26) * ((number - 1) // 26 + 1)


def _in_digits(number: int) -> str:
    """A Chinese digit for each decimal digit: 一, 二 … 九, 一〇, 一一."""
    return "".join("〇一二三四五六七八九"[int(digit)] for digit in str(number))


def _ordinal(number: int) -> str:
    last = 0 if number // 10 % 10 == 1 else number % 10
    return f"{number}{('th', 'st', 'nd', 'rd')[last] if last < 4 else 'th'}"


def enclosed(first: str, last: str) -> Callable[[int], str]:
    """A format that uses characters `first` … `last` for 1, 2 …, and Arabic digits beyond."""
    most = ord(last) - ord(first) + 1
    return lambda number: chr(ord(first) + number - 1) if 0 < number <= most else str(number)


def _of(signs: str) -> Callable[[int], str]:
    """A format that cycles through the given characters."""
    return lambda number: signs[(number - 1) % len(signs)]


def formal_numeral(number: int) -> str:
    """1 … 9999 as 壹 … 玖仟玖佰玖拾玖, as amounts are written."""
    return chinese_numeral(number, _FORMAL_DIGITS, "拾佰仟")


# The formats of ISO/IEC 29500-1, 17.18.59, that are written otherwise than in Arabic digits.
_FORMS: dict[str, Callable[[int], str]] = {
    **dict.fromkeys(
        ("chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting",
         "taiwaneseCountingThousand", "koreanCounting"),
        chinese_numeral,
    ),
    **dict.fromkeys(("ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital", "koreanDigital2"), _in_digits),
    **dict.fromkeys(("chineseLegalSimplified", "ideographLegalTraditional", "japaneseLegal"), formal_numeral),
    "ideographTraditional": _of(_STEMS),
    "ideographZodiac": _of("子丑寅卯辰巳午未申酉戌亥"),
    "ideographEnclosedCircle": enclosed("㊀", "㊉"),
    "upperRoman": roman,
    "lowerRoman": lambda number: roman(number).lower(),
    "upperLetter": _letter,
    "lowerLetter": lambda number: _letter(number).lower(),
    "decimalZero": lambda number: f"{number:02d}",
    **dict.fromkeys(("decimalFullWidth", "decimalFullWidth2"), lambda number: str(number).translate(_FULL_WIDTH)),
    **dict.fromkeys(("decimalEnclosedCircle", "decimalEnclosedCircleChinese"), enclosed("①", "⑳")),
    "decimalEnclosedFullstop": enclosed("⒈", "⒛"),
    "decimalEnclosedParen": enclosed("⑴", "⒇"),
    "numberInDash": lambda number: f"- {number} -",
    "ordinal": _ordinal,
    "none": lambda number: "",
}  # fmt: skip


def _format_number(number: int, form: str) -> str:
    write = _FORMS.get(form, str)
    return write(number)


class _Level(NamedTuple):
    start: int
    form: str
    pattern: str
    restart: int  # restarts below levels less than this; 0: never restarts
    legal: bool  # the levels above are written in Arabic digits: 1.1, not 一.1
    style: str  # whose paragraphs are on this level


class Numbering:
    """Counts numbered paragraphs in document order.

    Args:
        part: The root element of ``word/numbering.xml``, or None.
    """

    def __init__(self, part: Any | None) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}  # by numId
        self._counter: dict[str, str] = {}  # numId → what it counts with: several may share one
        self._counts: dict[str, dict[int, int]] = {}
        if part is None:
            return
        patterns = {
            abstract.get(f"{_W}abstractNumId"): {
                int(lvl.get(f"{_W}ilvl")): _level(lvl) for lvl in abstract.iter(f"{_W}lvl")
            }
            for abstract in part.iter(f"{_W}abstractNum")
        }
        # A pattern may only name a style of lists: the levels are with the pattern that the style stands for.
        styled = {
            _value(abstract, "styleLink", ""): abstract.get(f"{_W}abstractNumId")
            for abstract in part.iter(f"{_W}abstractNum")
        }
        linked = {
            abstract.get(f"{_W}abstractNumId"): styled.get(_value(abstract, "numStyleLink", ""))
            for abstract in part.iter(f"{_W}abstractNum")
            if abstract.find(f"{_W}numStyleLink") is not None
        }
        for num in part.iter(f"{_W}num"):
            pattern = _value(num, "abstractNumId", "")
            pattern = linked.get(pattern) or pattern
            if pattern in patterns:
                self._add(num, pattern, dict(patterns[pattern]))

    def _add(self, num: Any, pattern: str, levels: dict[int, _Level]) -> None:
        key = num.get(f"{_W}numId")
        self._levels[key], self._counter[key] = levels, pattern
        for override in num.iter(f"{_W}lvlOverride"):
            self._counter[key] = f"num {key}"  # it counts for itself
            at, lvl = int(override.get(f"{_W}ilvl")), override.find(f"{_W}lvl")
            if lvl is not None:
                levels[at] = _level(lvl)
            if at in levels and (start := _value(override, "startOverride", "")):
                levels[at] = levels[at]._replace(start=_start(start))

    def level_of(self, num_id: str, style: str) -> int | None:
        """The list level linked to a paragraph style; None without one."""
        return next((at for at, level in self._levels.get(num_id, {}).items() if level.style == style), None)

    def next(self, num_id: str, level: int) -> str:
        """The mark of the next paragraph with this numbering: ``第十三条``, ``3.2.1``, ``-``; ``""`` for none."""
        levels = self._levels.get(num_id, {})
        if level not in levels:
            return ""
        counts = self._counts.setdefault(self._counter[num_id], {})
        here = levels[level]
        counts[level] = counts.get(level, here.start - 1) + 1
        for deeper in [k for k in counts if k > level and level < (levels[k].restart if k in levels else k)]:
            del counts[deeper]
        if here.form == "bullet":
            return "-"

        def fill(slot: re.Match[str]) -> str:
            at = int(slot[1]) - 1
            other = levels.get(at, here)
            return _format_number(counts.get(at, other.start), "decimal" if here.legal else other.form)

        return _SLOT.sub(fill, here.pattern).strip()


def _value(parent: Any, tag: str, default: str) -> str:
    child = parent.find(f"{_W}{tag}")
    return default if child is None else child.get(f"{_W}val") or default


def _start(value: str) -> int:
    """The start value, limited to Word's maximum, since letters and Roman numerals grow with the number."""
    return min(max(int(value), 0), _MOST)


def _level(lvl: Any) -> _Level:
    return _Level(
        start=_start(_value(lvl, "start", "1")),
        form=_value(lvl, "numFmt", "decimal"),
        pattern=_value(lvl, "lvlText", ""),
        restart=int(_value(lvl, "lvlRestart", lvl.get(f"{_W}ilvl"))),
        legal=lvl.find(f"{_W}isLgl") is not None,
        style=_value(lvl, "pStyle", ""),
    )
