"""Automatic paragraph numbers of a DOCX, as Word shows them: 第十三条, 3.2.1, (a), bullets.

Word stores ``numId`` and level with a paragraph and the pattern elsewhere; the number itself is in no text.
Regulations are commonly written so, and without the number their clauses have no address.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

__all__ = ["Numbering", "chinese_numeral"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DIGITS = "零一二三四五六七八九"
_FORMAL_DIGITS = "零壹贰叁肆伍陆柒捌玖"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
          (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
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


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        while number >= value:
            text, number = text + letters, number - value
    return text


def _letter(number: int) -> str:
    """A, B … Z, AA, BB …: Word repeats the letter."""
    return chr(ord("A") + (number - 1) % 26) * ((number - 1) // 26 + 1)


def _written(number: int, form: str) -> str:
    if form.startswith(("chineseCounting", "japaneseCounting", "taiwaneseCounting", "ideographDigital")):
        return chinese_numeral(number)
    if form in ("chineseLegalSimplified", "ideographLegalTraditional", "japaneseLegal"):
        return chinese_numeral(number, _FORMAL_DIGITS, "拾佰仟")
    if form == "ideographTraditional":
        return _STEMS[(number - 1) % 10]
    if form in ("upperRoman", "lowerRoman"):
        return _roman(number) if form == "upperRoman" else _roman(number).lower()
    if form in ("upperLetter", "lowerLetter"):
        return _letter(number) if form == "upperLetter" else _letter(number).lower()
    if form == "decimalZero":
        return f"{number:02d}"
    if form.startswith("decimalEnclosedCircle") and number <= 20:
        return chr(0x2460 + number - 1)
    return str(number)


class _Level(NamedTuple):
    start: int
    form: str
    pattern: str
    restart: int  # it begins anew below levels that are less than this; 0: it runs on
    legal: bool  # the levels above are written in Arabic digits: 1.1, not 一.1


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
                levels[at] = levels[at]._replace(start=int(start))

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
            return _written(counts.get(at, other.start), "decimal" if here.legal else other.form)

        return _SLOT.sub(fill, here.pattern).strip()


def _value(parent: Any, tag: str, default: str) -> str:
    child = parent.find(f"{_W}{tag}")
    return default if child is None else child.get(f"{_W}val") or default


def _level(lvl: Any) -> _Level:
    return _Level(
        start=int(_value(lvl, "start", "1")),
        form=_value(lvl, "numFmt", "decimal"),
        pattern=_value(lvl, "lvlText", ""),
        restart=int(_value(lvl, "lvlRestart", lvl.get(f"{_W}ilvl"))),
        legal=lvl.find(f"{_W}isLgl") is not None,
    )
