"""Quantities that a text names, each in one form: 三十日 = 30天 = ３０ 天 = 30 days = thirty days, 五万元 = 50,000元 = ¥5万.

A number and the unit behind it, or 百分之 and a number. What is measured in units that differ by a factor is one (2公里 =
2,000米, 五千克 = 5公斤), but days are not hours. Calendar months and days (三月三日) are not three months or days.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from wenyuan.core.structure import chinese_number

__all__ = ["QUANTITY", "located", "quantities"]

QUANTITY = "="
"""Begins the term of a quantity, and no other term."""

# Unit, what of it one is, and how that is written behind a number, in Chinese and in English.
_UNITS: tuple[tuple[str, float, str, str], ...] = (
    ("day", 1, "天|日", "day|days"),
    ("workday", 1, "工作日|个工作日", "workday|workdays|working day|working days|business day|business days"),
    ("week", 1, "周|星期|个星期|礼拜|个礼拜", "week|weeks"),
    ("month", 1, "个月", "month|months"),
    ("year", 1, "年|周年", "year|years|yr|yrs"),
    ("hour", 1, "小时|个小时|钟头|个钟头", "hour|hours|hr|hrs"),
    ("minute", 1, "分钟", "minute|minutes|min|mins"),
    ("second", 1, "秒|秒钟", "second|seconds|sec|secs"),
    ("月", 1, "月|月份", ""),
    ("号", 1, "号", ""),
    ("岁", 1, "岁|周岁", "year old|years old|years of age"),
    ("元", 1, "元|块|块钱|圆", "yuan|rmb|cny"),
    ("$", 1, "美元", "dollar|dollars|usd"),
    ("€", 1, "欧元", "euro|euros|eur"),
    ("人", 1, "人|名", "people|persons"),
    ("次", 1, "次", "times"),
    ("倍", 1, "倍", ""),
    ("%", 1, "%", "percent|per cent"),
    ("m", 1, "米", "m|metre|metres|meter|meters"),
    ("m", 1_000, "公里", "km|kilometre|kilometres|kilometer|kilometers"),
    ("m", 0.01, "厘米|公分", "cm|centimetre|centimetres|centimeter|centimeters"),
    ("m", 0.001, "毫米", "mm|millimetre|millimetres|millimeter|millimeters"),
    ("m2", 1, "平方米|平米", "m2|square metre|square metres|square meter|square meters"),
    ("m3", 1, "立方米", "m3|cubic metre|cubic metres|cubic meter|cubic meters"),
    ("g", 1, "克", "gram|grams"),
    ("g", 0.001, "毫克", "mg|milligram|milligrams"),
    ("g", 1_000, "公斤", "kg|kilogram|kilograms"),
    ("g", 1_000_000, "吨", "t|ton|tons|tonne|tonnes"),
    ("l", 1, "升", "litre|litres|liter|liters"),
    ("l", 0.001, "毫升", "ml|millilitre|millilitres|milliliter|milliliters"),
    ("ft", 1, "英尺", "ft|foot|feet"),
    ("inch", 1, "英寸", "inch|inches"),
    ("mile", 1, "英里", "mile|miles"),
    ("lb", 1, "磅", "lb|lbs|pound|pounds"),
    ("°c", 1, "摄氏度|°c", ""),
    ("°f", 1, "华氏度|°f", ""),
    ("w", 1, "瓦", "watt|watts"),
    ("w", 1_000, "", "kw|kilowatt|kilowatts"),
    ("v", 1, "伏", "v|volt|volts"),
    ("v", 1_000, "", "kv|kilovolt|kilovolts"),
    ("n", 1, "牛", "newton|newtons"),
    ("n", 1_000, "", "kn|kilonewton|kilonewtons"),
    ("pa", 1, "帕", "pascal|pascals"),
    ("pa", 1_000, "", "kpa"),
    ("pa", 1_000_000, "兆帕", "mpa"),
)
_NAMED = {name: (unit, of) for unit, of, zh, en in _UNITS for name in (*zh.split("|"), *en.split("|")) if name}
_SIGNS = {"¥": "元", "$": "$", "€": "€"}
_TIMES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
} | {word: 10 * n for n, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), start=3)}


def _any(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)


_HAN = "零〇○一二三四五六七八九十百千万亿两壹贰叁肆伍陆柒捌玖拾佰仟"
_FIGURES = r"\d{1,3}(?:,\d{3}){1,4}(?![\d,])(?:\.\d{1,6})?|\d{1,12}(?!\d)(?:\.\d{1,6})?"
_ZH = _any("|".join(zh for _, _, zh, _ in _UNITS).split("|"))
_EN = _any("|".join(en for _, _, _, en in _UNITS).split("|"))
_BEGINS, _PASSED = re.compile(rf"[\d{_HAN}半¥$€]"), re.compile(rf"\d+|[{_HAN}半]+|.")
_QUANTITY = re.compile(
    rf"百分之(?P<share>[{_HAN}]{{1,8}}(?:点[{_HAN}]{{1,4}})?|{_FIGURES})"
    rf"|(?P<sign>[¥$€]) ?(?P<money>{_FIGURES})(?P<thousands>[十百千万亿]{{0,3}})"
    rf"|(?<![第几数\da-z{_HAN}])(?<!\d[.,])(?:(?P<figures>{_FIGURES})(?P<times>[十百千万亿]{{0,3}})|(?P<han>[{_HAN}]{{1,12}}|半))"
    rf"(?:[余多]? ?(?P<zh>{_ZH})|[ \-]?(?P<en>{_EN})(?![a-z0-9]))"
)
_WORD = re.compile(
    "(?:"
    + "|".join(
        f"{first}(?:{_any(word[1:] for word in words)})"
        for first, words in groupby(sorted(_WORDS), key=lambda w: w[0])
    )
    + ")(?=[ \\-])"
)  # by their first letters: most words of a text begin with another one
_AFTER_WORD = re.compile(rf"[ \-](?P<en>{_EN})(?![a-z0-9])")


def quantities(folded: str) -> list[str]:
    """The quantities of a text as terms, repeated as often as they occur.

    Args:
        folded: As texts are compared (`text.fold`).
    """
    return [_term(value, unit) for value, unit, _ in (*_in_figures(folded), *_in_words(folded))]


def located(folded: str) -> list[tuple[str, int, int]]:
    """`quantities` with where each begins and ends, in the order of the text."""
    found = ((_term(value, unit), *span) for value, unit, span in (*_in_figures(folded), *_in_words(folded)))
    return sorted(found, key=lambda each: each[1])


def _term(value: float, unit: str) -> str:
    return f"{QUANTITY}{value:.10g}{unit}"


def _in_figures(folded: str) -> Iterator[tuple[float, str, tuple[int, int]]]:
    """Value, unit and place of what is written in figures, or with Chinese numerals."""
    at, month_ends = 0, -1
    while begins := _BEGINS.search(folded, at):  # in two steps, as few characters begin a number
        match = _QUANTITY.match(folded, begins.start())
        if match is None:
            passed = _PASSED.match(folded, begins.start())
            at = passed.end() if passed else begins.end()
            continue
        value, unit = _read(match)
        if match["zh"] == "日" and match.start() == month_ends:
            unit = "号"
        at = match.end()
        month_ends = at if unit == "月" else -1
        yield value, unit, match.span()


def _in_words(folded: str) -> Iterator[tuple[float, str, tuple[int, int]]]:
    """Value, unit and place of what is written in English words."""
    for word in _WORD.finditer(folded):
        before, unit = folded[word.start() - 1 : word.start()], _AFTER_WORD.match(folded, word.end())
        if unit and not ((before.isascii() and before.isalnum()) or before == "-"):
            name, factor = _NAMED[unit["en"]]
            yield factor * _WORDS[word[0]], name, (word.start(), unit.end())


def _read(match: re.Match[str]) -> tuple[float, str]:
    """Value and unit of a match of `_QUANTITY`."""
    if match["share"]:
        whole, _, decimals = match["share"].partition("点")
        return _figures(whole) if whole[0].isdecimal() else _spelt(whole, decimals), "%"
    if match["sign"]:
        return _figures(match["money"], match["thousands"]), _SIGNS[match["sign"]]
    unit, factor = _NAMED[match["zh"] or match["en"]]
    if match["figures"]:
        return factor * _figures(match["figures"], match["times"]), unit
    return factor * (0.5 if match["han"] == "半" else chinese_number(match["han"])), unit


def _figures(written: str, times: str = "") -> float:
    value = float(written.replace(",", ""))
    for each in times:
        value *= _TIMES[each]
    return value


def _spelt(whole: str, decimals: str) -> float:
    digits = "".join(str(chinese_number(digit)) for digit in decimals)
    return float(f"{chinese_number(whole)}.{digits or 0}")
