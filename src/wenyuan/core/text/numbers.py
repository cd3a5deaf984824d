"""Numbers and quantities in text, in Chinese and English, each in one form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

# Numbers as clauses and quantities are written: 十三, 拾叁, 第３．２, XIII.


_DIGITS = {c: i for i, row in enumerate(("零〇○", "一壹", "二贰貳两兩", "三叁參", "四肆", "五伍", "六陆陸",
                                         "七柒", "八捌", "九玖")) for c in row}  # fmt: skip
_TENS = {"十": 10, "拾": 10, "廿": 20, "卅": 30, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}

HAN_NUMERALS = "零〇○一二三四五六七八九十廿卅百千万两兩壹贰貳叁參肆伍陆陸柒捌玖拾佰仟萬亿億"
"""The characters that Chinese numbers are written with."""
NARROW = {ord("．"): ".", **{ord("０") + i: str(i) for i in range(10)}}
"""Full-width digits and points to ASCII, for `str.translate`."""


def chinese_number(text: str) -> int:
    """Value of a number in Chinese, full-width or ASCII digits: ``一百二十``, ``二〇二四``, ``１３``.

    Raises:
        ValueError: it is no Chinese number.
    """
    if text.isdecimal():
        return int(text)
    if not text or any(c not in _DIGITS and c not in _TENS and c not in _MYRIADS for c in text):
        raise ValueError(f"{text!r} is no number")
    if all(c in _DIGITS for c in text):  # positional, as in years
        return int("".join(str(_DIGITS[c]) for c in text))
    total = group = digit = 0
    for c in text:
        if c in _DIGITS:
            digit = _DIGITS[c]
        elif c in _TENS:
            group += (digit or 1) * _TENS[c]
            digit = 0
        else:
            total += ((group + digit) or 1) * _MYRIADS[c]
            group = digit = 0
    return total + group + digit


@lru_cache(maxsize=4_096)
def ascii_number(text: str) -> str:
    """In ASCII: ``十三`` and ``XIII`` → ``13``, ``３．２`` → ``3.2``; ``120-1``, ``13a`` and ``A`` stay."""
    text = text.translate(NARROW)
    if re.fullmatch(r"[IVXLC]+", text):
        return str(_roman(text))
    return "".join(part if part in (".", "-") else _whole(part) for part in re.split(r"([.\-])", text))


def _whole(text: str) -> str:
    return text if text[-1].isascii() and text[-1].isalpha() else str(chinese_number(text))


def _roman(text: str) -> int:
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[c] for c in text]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


# Quantities that a text names, each in one form: 三十日 = 30天 = ３０ 天 = 30 days = thirty days, 五万元 = 50,000元 = ¥5万.
#
# A number and the unit behind it, or 百分之 and a number. What is measured in units that differ by a factor is one (2公里 =
# 2,000米, 五千克 = 5公斤), but days are not hours. Calendar months and days (三月三日) are not three months or days, and
# what is vague (几十天, 三五天, 上半年) is none.


QUANTITY = "="
"""Begins the term of a quantity, and no other term."""

# Unit, what of it one is, and how that is written behind a number, in Chinese and in English.
_UNITS: tuple[tuple[str, float, str, str], ...] = (
    ("day", 1, "天|日", "day|days|calendar day|calendar days"),
    ("workday", 1, "工作日|个工作日", "workday|workdays|working day|working days|business day|business days"),
    ("week", 1, "周|星期|个星期|礼拜|个礼拜", "week|weeks"),
    ("month", 1, "个月", "month|months"),
    ("year", 1, "年|周年", "year|years|yr|yrs"),
    ("hour", 1, "小时|个小时|钟头|个钟头", "hour|hours|hr|hrs|h"),
    ("minute", 1, "分钟", "minute|minutes|min|mins"),
    ("second", 1, "秒|秒钟", "second|seconds|sec|secs"),
    ("月", 1, "月|月份", ""),
    ("号", 1, "号", ""),
    ("岁", 1, "岁|周岁", "year old|years old|year-old|years-old|years of age"),
    ("元", 1, "元|块|块钱|圆|人民币", "yuan|rmb|cny"),
    ("日元", 1, "日元", "yen|jpy"),
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
# As units are written where they are declared (UCUM), beside the ways of texts.
_DECLARED = {"d": ("day", 1.0), "wk": ("week", 1.0), "mo": ("month", 1.0), "a": ("year", 1.0)}
# What begins with a unit and is none: 三年级, 一次性, 一周围; behind one numeral alone, 三元组.
_GOES_ON = {"年": "级代份", "次": "性", "日元": "旦", "周": "围边期转", "升": "级高降至到为"}
_OF_WORDS = "旦素件月宵首组论法函二次"
_SIGNS = {"¥": "元", "$": "$", "€": "€"}
_CODES = {"rmb": "元", "cny": "元", "usd": "$", "eur": "€"}
_TIMES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_SCALES = {"k": 1_000, "thousand": 1_000, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9}
NUMBER_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen twenty".split()
    )
} | {word: 10 * n for n, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), start=3)}


def _any(names: Iterable[str]) -> str:
    return "|".join(
        re.escape(name) + (f"(?![{_GOES_ON[name]}])" if name in _GOES_ON else "")
        for name in sorted(names, key=len, reverse=True)
        if name
    )


_DIGIT = "零〇○一二三四五六七八九"
_TIMES_ALONE = "百千万亿佰仟"
_HAN = f"{_DIGIT}十廿卅{_TIMES_ALONE}两壹贰叁肆伍陆柒捌玖拾"
_FIGURES = r"\d{1,3}(?:,\d{3}){1,4}(?![\d,])(?:\.\d{1,6})?|\d{1,12}(?!\d)(?:\.\d{1,6})?"
_SPELT = f"[{_HAN}]{{1,12}}(?:点[{_DIGIT}]{{1,4}})?"
_MANY = r" ?[十百千万亿]{1,3}"
_MUCH = " ?(?:[十百千]?[万亿]|(?:k|m|bn|thousand|million|billion)(?![a-z]))"
_TWICE = rf" ?\((?:\d{{1,12}}|[{_HAN}]{{1,12}}|[a-z][a-z \-]{{2,40}})\)"  # 三十（30）日, 30 (thirty) days
_ZH = _any("|".join(zh for _, _, zh, _ in _UNITS).split("|"))
_EN = _any("|".join(en for _, _, _, en in _UNITS).split("|"))
_ENDS = "(?![a-z0-9]|带宽|宽带)"
_AFTER_CODE = "|".join(f"(?<={code}{space})" for code in _CODES for space in ("", " "))
_BEGINS, _PASSED = re.compile(rf"[\d{_HAN}半¥$€]"), re.compile(rf"\d+|[{_HAN}半]+|.")
_QUANTITY = re.compile(
    rf"百分之(?P<share>{_SPELT}|{_FIGURES})"
    rf"|(?P<sign>[¥$€]) ?(?P<money>{_FIGURES})(?P<thousands>{_MUCH})?"
    # Not within a number (1/2, 1 000, 三点五), a name (v3), an ordinal (第三) or what is vague (几十).
    rf"|(?<![第几数\da-z{_HAN}])(?<!\d[.,/ ])(?<![\d{_HAN}]点)"
    rf"(?:(?P<figures>{_FIGURES})(?P<times>{_MANY}| ?(?:thousand|million|billion))?|(?P<han>{_SPELT})|(?<![上下前后大多小个])半)"
    rf"(?:{_TWICE})?"
    rf"(?:(?P<and_half>[个個]半)(?P<of>小时|月|钟头|星期|礼拜)"
    rf"|[余多]? ?(?P<zh>{_ZH})(?P<half_more>半(?=\Z|\W|[的内后前以之多左时]))?|[ \-]?(?P<en>{_EN}){_ENDS})"
    rf"|(?:{_AFTER_CODE})(?P<amount>{_FIGURES})(?P<amounts>{_MUCH})?"
)
_PER = re.compile(rf" ?(?:/|每| per ) ?(?:(?P<zh>{_ZH})|(?P<en>{_EN}){_ENDS})")
_MONTH = re.compile(r"(?<!个)月 ?\Z")
_WORD = (
    "(?:"
    + "|".join(
        f"{first}(?:{_any(word[1:] for word in words)})"
        for first, words in groupby(sorted(NUMBER_WORDS), key=lambda w: w[0])
    )
    + ")(?=[ \\-])"
)  # by their first letters: most words of a text begin with another one
_IN_WORDS = re.compile(rf"{_WORD}(?:[ \-](?:{_WORD}|hundred(?: and)?(?=[ \-])))*")
_UNIT_OF_WORDS = re.compile(rf"(?: ?\(\d{{1,12}}\))?[ \-](?P<en>{_EN}){_ENDS}")
_GREATER = ("hundred ", "hundred and ", "thousand ", "thousand and ", "million ", "point ")


def quantities(folded: str) -> list[str]:
    """The quantities of a text as terms, repeated as often as they occur.

    Args:
        folded: As texts are compared (`text.folding.fold`).
    """
    return [_term(value, unit) for value, unit, _ in (*_in_figures(folded), *_in_words(folded))]


def located(folded: str) -> list[tuple[str, int, int]]:
    """`quantities` with where each begins and ends, in the order of the text."""
    found = ((_term(value, unit), *span) for value, unit, span in (*_in_figures(folded), *_in_words(folded)))
    return sorted(found, key=lambda each: each[1])


class Quantity(NamedTuple):
    """A quantity of a text: its value in its unit (see `unit_of`), and where it begins and ends."""

    value: float
    unit: str
    start: int
    end: int


def measured(folded: str) -> list[Quantity]:
    """The quantities of a text in its order, those of compound units too (``10kN/m2``).

    Args:
        folded: As texts are compared (`text.folding.fold`).
    """
    found = (Quantity(value, unit, *span) for value, unit, span in (*_in_figures(folded), *_in_words(folded)))
    return sorted((_compound(folded, each) for each in found), key=lambda each: each.start)


def _compound(folded: str, quantity: Quantity) -> Quantity:
    below = _PER.match(folded, quantity.end)
    if below is None:
        return quantity
    unit, factor = _NAMED[below["zh"] or below["en"]]
    return Quantity(quantity.value / factor, f"{quantity.unit}/{unit}", quantity.start, below.end())


def unit_of(folded: str) -> tuple[str, float] | None:
    """The unit that is written so (``kn/m2``), as `measured` names it, and how many of those it is; None: unknown."""
    parts = [_DECLARED.get(part) or _NAMED.get(part) for part in folded.replace(" ", "").split("/")]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len(parts) > 2:
        return None
    factor = known[0][1] / (known[1][1] if len(known) > 1 else 1.0)
    return "/".join(unit for unit, _ in known), factor


def _term(value: float, unit: str) -> str:
    return f"{QUANTITY}{value:.10g}{unit}"


def _in_figures(folded: str) -> Iterator[tuple[float, str, tuple[int, int]]]:
    """Value, unit and place of what is written in figures, or with Chinese numerals."""
    at = 0
    while begins := _BEGINS.search(folded, at):  # in two steps, as few characters begin a number
        match = _QUANTITY.match(folded, begins.start())
        if match is None or _not_meant(match):
            passed = _PASSED.match(folded, begins.start())
            at = passed.end() if passed else begins.end()
            continue
        value, unit = _read(match)
        if match["zh"] in ("日", "日元") and _MONTH.search(folded, max(0, match.start() - 3), match.start()):
            unit = "号"
        at = match.end()
        yield value, unit, match.span()


def _in_words(folded: str) -> Iterator[tuple[float, str, tuple[int, int]]]:
    """Value, unit and place of what is written in English words."""
    for words in _IN_WORDS.finditer(folded):
        before, unit = folded[max(0, words.start() - 13) : words.start()], _UNIT_OF_WORDS.match(folded, words.end())
        inside = before[-1:].isascii() and (before[-1:].isalnum() or before[-1:] == "-")
        if unit is None or inside or before.endswith(_GREATER):
            continue
        value = _counted(re.split("[ -]", words[0]))
        if value is not None:
            name, factor = _NAMED[unit["en"]]
            yield factor * value, name, (words.start(), unit.end())


def _counted(words: list[str]) -> float | None:
    """The number that English words say; None of several numbers (two three)."""
    hundreds = 0
    if "hundred" in words:
        if words[1:2] != ["hundred"] or not 0 < NUMBER_WORDS[words[0]] < 10:
            return None
        hundreds, words = 100 * NUMBER_WORDS[words[0]], [w for w in words[2:] if w != "and"]
    values = [NUMBER_WORDS.get(word, 100) for word in words]
    if len(values) > 2 or (len(values) == 2 and not (values[0] >= 20 and 0 < values[1] < 10)):
        return None
    return hundreds + sum(values)


def _not_meant(match: re.Match[str]) -> bool:
    """三五天, 十七八天: two digits side by side are a guess, but in years (二五年) and where all are digits (一二〇米).

    万元 in 单位：万元 is no ten thousand, 一块 mostly says *together*, 三元组 is a triple, and amateur 5 no euros.
    """
    han, zh, end = match["han"] or "", match["zh"] or "", match.end()
    if match["amount"]:
        return match.string[: match.start()].rstrip()[-4:-3].isalnum()
    if zh == "元" and len(han) == 1 and match.string[end : end + 1] in (*_OF_WORDS,):
        return True
    if not han or "点" in han:
        return False
    if not han.strip(_TIMES_ALONE) or (han, zh) == ("一", "块"):
        return True
    sided = re.search("[一二三四五六七八九两]{2}", han) is not None
    return sided and zh != "年" and (len(han) == 2 or han.strip(_DIGIT) != "")


def _read(match: re.Match[str]) -> tuple[float, str]:
    """Value and unit of a match of `_QUANTITY`."""
    if match["share"]:
        return (_figures if match["share"][0].isdecimal() else _spelt)(match["share"]), "%"
    if match["sign"]:
        return _figures(match["money"], match["thousands"]), _SIGNS[match["sign"]]
    if match["amount"]:
        code = match.string[: match.start()].rstrip()[-3:]
        return _figures(match["amount"], match["amounts"]), _CODES[code]
    unit, factor = _NAMED["个" + match["of"] if match["of"] else match["zh"] or match["en"]]
    half = 0.5 if match["and_half"] or match["half_more"] else 0
    if match["figures"]:
        return factor * (_figures(match["figures"], match["times"]) + half), unit
    return factor * ((_spelt(match["han"]) if match["han"] else 0.5) + half), unit


def _figures(written: str, times: str | None = None) -> float:
    value = float(written.replace(",", ""))
    scale = (times or "").strip()
    if scale in _SCALES:
        return value * _SCALES[scale]
    for each in scale:
        value *= _TIMES[each]
    return value


def _spelt(written: str) -> float:
    whole, _, decimals = written.partition("点")
    return float(f"{chinese_number(whole)}.{''.join(str(chinese_number(digit)) for digit in decimals) or 0}")
