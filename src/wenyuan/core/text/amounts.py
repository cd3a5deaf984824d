"""Amounts that are written in several words or as a part of something, each in one form: 1小时30分 = 90 minutes, 3½ hours,
three quarters = 75 %, 1.2万 = 12,000, half past three in the afternoon = 15:30; and how often something is done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

from wenyuan.core.text.numbers import HAN_NUMERALS, NUMBER_WORDS, Quantity, chinese_number, unit_of
from wenyuan.core.text.signs import in_one_unit


class Amount(NamedTuple):
    """An amount of a text in one form, and where it begins and ends."""

    value: str
    kind: Literal["number", "quantity"]
    start: int
    end: int


class Frequency(NamedTuple):
    """How often something is done: the time from one to the next, as ``3month``, and where it begins and ends."""

    every: str
    start: int
    end: int


_FIGURES = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,12}(?:\.\d+)?"
RANGE_BEGINS = re.compile(r"(?<![\d.,/:\-])(?P<n>\d{1,9}(?:\.\d{1,6})?) ?(?:[~至到]|to|-) ?\Z")
"""A number that a quantity is the other end of: both are in its unit (−25 to −15 °C)."""
_WORDS = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_NO_DIGIT = r"(?<![a-z\d.,/:])"
_HAN = f"[{HAN_NUMERALS}]"
_PARTS = {
    "half": 2, "halve": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10,
}  # fmt: skip
_SHARE = re.compile(
    rf"(?<![a-z])(?P<many>an?|one|two|three|four|five|six|seven|eight|nine)[ -](?P<part>{'|'.join(_PARTS)})s?(?![a-z])(?! of an? |[ -](?:an? )?(?:hour|day|year|past|minute|second|month|century)|[ -](?:to|past) )(?:(?<=s)|(?= of| the|[,.;:)]|\Z))"
    r"|(?<![a-z])(?P<half>half)(?= (?:of|the|their|its|his|her|your|our|my) )"
    rf"|(?<!\d[.,])(?P<of>{_HAN}{{1,4}}|\d{{1,5}})分之(?P<zh>{_HAN}{{1,4}}|\d{{1,3}}(?:\.\d+)?)"
    rf"|(?<![a-z\d.,/:\-])(?P<n>\d)[/⁄](?P<d>\d|10)(?![\w/⁄:.\-]\d|\d|[a-z月])"
    rf"|(?P<whole>一半)|(?<![{HAN_NUMERALS}\da-z.])(?P<tenths>[一二三四五六七八九]|\d)成(?![年立为本功果分绩员品长熟就都套型])"
    rf"|(?<![{HAN_NUMERALS}\da-z.])(?P<price>[一二三四五六七八九]{{1,2}}|\d(?:\.\d)?|\d\d) ?折(?![旧叠合算断弯返])"
)
_MIXED = re.compile(
    rf"{_NO_DIGIT}(?:(?P<n>\d{{1,4}}) )?(?P<a>\d)⁄(?P<b>\d) ?-?(?P<unit>[a-z]+|[\u4e00-\u9fff]{{1,3}})"
)
_HOURS = re.compile(
    rf"(?<![a-z\d.,/:第{HAN_NUMERALS}])(?P<h>\d{{1,3}}|{_HAN}{{1,4}})[个個]?(?:小时|钟头)[零又]?(?P<m>\d{{1,2}}|{_HAN}{{1,3}})分(?![钟之])"
)
_METRES = re.compile(
    rf"(?<![a-z\d.,{HAN_NUMERALS}])(?P<m>\d{{1,3}}|{_HAN}{{1,3}})米(?P<tenth>[一二三四五六七八九])(?!{_HAN}|[厘分毫米个])"
)
_SCALES = {"hundred": 100, "thousand": 1_000, "k": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12}
_SCALED = re.compile(
    rf"{_NO_DIGIT}(?P<n>{_FIGURES}|an?|(?:{_WORDS})(?P<half> and a half)?)[ -]?(?P<scale>{'|'.join(_SCALES)})(?![a-z])"
    rf"(?:(?P<and>(?:,? and)? (?P<tens>{_WORDS})(?:[ -](?P<ones>{_WORDS}))?(?![a-z\-])))?"
)
_GROUPED = re.compile(r"(?<![a-z\d.,/:\-])(?<!\d )(?P<n>\d{1,3}(?: \d{3})+)(?![\d/:\-]|[.,]\d| \d)")
_MYRIADS = re.compile(r"(?<![a-z\d.,/:第])(?P<n>\d{1,4}(?:\.\d{1,4})?)(?P<scale>[万亿])(?![\d亿分])")
_AND_HALF = re.compile(rf"(?<![a-z\d])(?P<n>an?|{_WORDS}|\d{{1,3}}) (?P<unit>[a-z]+) and a half(?![a-z])")
_TWO_WORDS = re.compile(
    r"(?<![a-z\-])(?P<tens>twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[ -](?P<ones>one|two|three|four|five|six|seven|eight|nine)(?![a-z\-])"
)
_FORTNIGHT = re.compile(r"(?<![a-z])(?:a |one )?fortnight(?![a-z])")
_SIZES = ("b", "kb", "mb", "gb", "tb", "pb")
_NAMES = {"byte": 0, "kilobyte": 1, "megabyte": 2, "gigabyte": 3, "terabyte": 4, "petabyte": 5}
_SIZE = re.compile(
    rf"{_NO_DIGIT}(?P<n>{_FIGURES}|(?:{_WORDS})(?= )) ?(?P<unit>[kmgtp]i?b|(?:kilo|mega|giga|tera|peta)?bytes?)(?![a-z0-9/])"
)
_SMALL = re.compile(rf"{_NO_DIGIT}(?P<n>{_FIGURES}) ?(?:ms|milliseconds?|毫秒)(?![a-z])")
_DEGREES = re.compile(
    rf"{_NO_DIGIT}(?P<n>{_FIGURES})[ -]?(?:°|degrees?|deg\.?) ?(?P<scale>celsius|centigrade|fahrenheit|[cf])(?![a-z])"
    r"|(?P<zh>摄氏|华氏)(?P<of>-?\d{1,4}(?:\.\d+)?)度"
)
_SPEED = re.compile(
    rf"(?:每(?P<each>小时|秒|分钟)|(?P<per>[时秒])速(?P<bound>(?:不得|不能|不)?(?:超过|低于|高于|少于)|最[高低]|约|为)?)(?P<n>\d{{1,6}}(?:\.\d+)?|{_HAN}{{1,4}})(?P<unit>公里|千米|米|升|毫升|立方米)(?![每/])"
    r"(?:(?P<to> ?[至到~-] ?)(?P<end>\d{1,6}(?:\.\d+)?)(?P=unit))?"
)
_SPEED_BEHIND = re.compile(
    r"(?P<n>\d{1,6}(?:\.\d+)?) ?(?P<unit>km|公里|千米|m|米)(?: ?/ ?|每)(?P<per>h|小时|s|秒)(?![a-z])"
)
_PERS = {"小时": "hour", "时": "hour", "h": "hour", "秒": "second", "s": "second", "分钟": "minute"}
_PART_OF_DAY = {"morning": 0, "afternoon": 12, "evening": 12}
_CLOCK = re.compile(
    rf"(?<![a-z\d.:])(?P<h>\d\d?|{_WORDS})(?:[:.](?P<min>[0-5]\d))?(?P<clock> ?o['’]clock)?(?: in the (?P<part>morning|afternoon|evening)|(?(clock)|(?!)))(?: in the (?P<part2>morning|afternoon|evening))?"
    rf"|(?<![a-z])half past (?P<past>\d\d?|{_WORDS})(?: in the (?P<part3>morning|afternoon|evening)| ?(?P<half>[ap])\.?m\.?(?![a-z]))?"
    r"|(?<![a-z\d.:])(?P<hd>[01]?\d)\.(?P<md>[0-5]\d) ?(?P<halfd>[ap])\.?m\.?(?![a-z])"
    r"|(?<![a-z\d.:])(?:(?:12 )?(?P<noon>noon|midday)|(?P<night>(?:12 )?midnight|24:00|24[时点](?!间)))(?![a-z\d])"
    rf"|(?P<zh>凌晨|清晨|早上|早晨|上午|中午|正午|下午|傍晚|晚上|夜里|半夜|午夜|[早晚午夜](?=[\d一二三四五六七八九十])) ?(?P<hz>\d\d?|[一二三四五六七八九十两]{{1,2}})[点时](?:(?P<mz>[0-5]?\d|[二三四五]?十[一二三四五六七八九]?)分?|(?P<halfz>半)|整|钟)?(?![间间候期数\d])"
    rf"|(?<![a-z\d第个.{HAN_NUMERALS}])(?P<hn>[一二三四五六七八九十零]{{1,3}})[点时](?:(?P<mn>[二三四五]?十[一二三四五六七八九]?)分|(?P<halfn>半)|整|钟)"
    r"|(?P<zero>零点|零时)(?![间候\d一二三四五六七八九])|(?P<noonz>正午)"
)
_NIGHT, _LATE = (
    ("晚上", "夜里", "半夜", "午夜", "夜", "晚"),
    ("下午", "傍晚", "晚上", "夜里", "晚", "夜", "午夜", "半夜"),
)


def amounts(folded: str, read: list[Quantity]) -> Iterator[Amount]:
    """The amounts of a text that several words say.

    Args:
        folded: As texts are compared (`text.folding.fold`); a fraction behind a number is written ``3 1⁄2``.
        read: What `numbers.measured` finds in it.
    """
    yield from _spans(folded, read)
    if any(c.isdigit() for c in folded) or _ANY_WORD.search(folded):
        for find in (_shares, _scaled, _sizes, _speeds, _times):
            yield from find(folded)


_ANY_WORD = re.compile(
    rf"{_HAN}|半|正午|(?<![a-z])(?:{_WORDS}|half|third|quarter|dozen|hundred|fortnight|noon|midday|midnight)"
)


def _spans(folded: str, read: list[Quantity]) -> Iterator[Amount]:
    """Quantities in two units, side by side: 1 h 30 min, 3 hours and 30 minutes, 1年6个月, 1米50厘米."""
    past = 0
    for one, other in pairwise(read):
        first, unit = in_one_unit(one.value, one.unit)
        second, same = in_one_unit(other.value, other.unit)
        between = folded[one.end : other.end][: other.start - one.end]
        together = not between.strip(" 零又") or (between.strip() in ("and", ",", ", and") and one.unit != other.unit)
        if unit == same and one.start >= past and second < first and together and other.start - one.end < 6:
            past = other.end
            yield Amount(f"={first + second:.10g}{unit}", "quantity", one.start, other.end)
    for match in _HOURS.finditer(folded):
        seconds = 3_600 * chinese_number(match["h"]) + 60 * chinese_number(match["m"])
        yield Amount(f"={seconds}second", "quantity", *match.span())
    for match in _METRES.finditer(folded):
        yield Amount(f"={chinese_number(match['m'])}.{chinese_number(match['tenth'])}m", "quantity", *match.span())
    for match in _MIXED.finditer(folded):
        known = unit_of(match["unit"])
        if known is not None and match["b"] != "0":
            value, unit = in_one_unit((int(match["n"] or 0) + int(match["a"]) / int(match["b"])) * known[1], known[0])
            yield Amount(f"={value:.10g}{unit}", "quantity", *match.span())

    for match in _AND_HALF.finditer(folded):
        known = unit_of(match["unit"])
        if known is not None:
            count = NUMBER_WORDS.get(match["n"]) or (int(match["n"]) if match["n"].isdigit() else 1)
            value, unit = in_one_unit((count + 0.5) * known[1], known[0])
            yield Amount(f"={value:.10g}{unit}", "quantity", *match.span())


def _shares(folded: str) -> Iterator[Amount]:
    for match in _SHARE.finditer(folded):
        if (share := _share(match)) is not None:
            yield Amount(f"={100 * share:.6g}%", "quantity", *match.span())


def _share(match: re.Match[str]) -> float | None:
    """The part of a whole that a match of `_SHARE` says; None of none."""
    if match["part"]:
        return NUMBER_WORDS.get(match["many"], 1) / _PARTS[match["part"]]
    if match["half"] or match["whole"]:
        return 0.5
    if match["of"]:
        of, said = chinese_number(match["of"]), match["zh"]
        return (float(said) if said[0].isdecimal() else chinese_number(said)) / of if of else None
    if match["n"]:
        return int(match["n"]) / int(match["d"]) if 0 < int(match["n"]) < int(match["d"]) else None
    if match["tenths"]:
        return chinese_number(match["tenths"]) / 10
    price = match["price"]
    value = float(price) if price[0].isdecimal() else chinese_number(price)
    return value / (10 if value < 10 else 100)


def _scaled(folded: str) -> Iterator[Amount]:
    """Numbers with a word for thousands or more behind them, and hundreds in words."""
    for match in _SCALED.finditer(folded):
        written, scale = match["n"], float(_SCALES[match["scale"]])
        if written[0].isdigit():
            if match["scale"] == "hundred":
                continue
            value = float(written.replace(",", "")) * scale
        else:
            word = written.removesuffix(" and a half")
            value = (NUMBER_WORDS.get(word, 1) + (0.5 if match["half"] else 0)) * scale
        end = match.start("and") if match["and"] else match.end()
        if match["and"] and scale == 100:
            value += NUMBER_WORDS[match["tens"]] + NUMBER_WORDS.get(match["ones"] or "", 0)
            end = match.end()
        yield Amount(f"{value:.12g}", "number", match.start(), end)
    for match in _TWO_WORDS.finditer(folded):
        yield Amount(str(NUMBER_WORDS[match["tens"]] + NUMBER_WORDS[match["ones"]]), "number", *match.span())
    for match in _GROUPED.finditer(folded):
        yield Amount(match["n"].replace(" ", ""), "number", *match.span())
    for match in _MYRIADS.finditer(folded):
        yield Amount(
            f"{float(match['n']) * (10_000 if match['scale'] == '万' else 100_000_000):.12g}", "number", *match.span()
        )


def _sizes(folded: str) -> Iterator[Amount]:
    """Amounts of data, spans below a second, fortnights, and temperatures with the name of their scale."""
    for match in _SIZE.finditer(folded):
        name, written = match["unit"].rstrip("s"), match["n"]
        step = _NAMES.get(name, _SIZES.index(name.replace("i", "")) if name.replace("i", "") in _SIZES else 0)
        yield from _ranged(folded, match.span(), written, partial(_sized, step=step))
    for match in _SMALL.finditer(folded):
        yield from _ranged(folded, match.span(), match["n"], partial(_in_unit, times=0.001, unit="second"))
    for match in _FORTNIGHT.finditer(folded):
        yield Amount("=14day", "quantity", *match.span())
    for match in _DEGREES.finditer(folded):
        scale = "°f" if match["zh"] == "华氏" or (match["scale"] or "").startswith("f") else "°c"
        yield from _ranged(folded, match.span(), match["n"] or match["of"], partial(_in_unit, times=1, unit=scale))


def _ranged(folded: str, span: tuple[int, int], written: str, form: Callable[[float], str]) -> Iterator[Amount]:
    """A quantity, and before it a number that it is the other end of, which is in the same unit: 0.4-0.6 m/s."""
    begins = RANGE_BEGINS.search(folded, max(0, span[0] - 24), span[0])
    if begins is not None:
        yield Amount(form(float(begins["n"])), "quantity", *begins.span("n"))
    yield Amount(form(_number(written)), "quantity", *span)


def _number(written: str) -> float:
    if written in NUMBER_WORDS:
        return float(NUMBER_WORDS[written])
    return (
        float(written.replace(",", ""))
        if written[0].isdigit() or written[0] == "-"
        else float(chinese_number(written))
    )


def _sized(value: float, step: int) -> str:
    """An amount of data in the unit in which it is the least number of 1 or more: 2,048 GB and 2,000 GB are 2 TB."""
    while step + 1 < len(_SIZES) and (value >= 1_000 and (value % 1_000 == 0 or value % 1_024 == 0)):
        value, step = value / (1_024 if value % 1_024 == 0 else 1_000), step + 1
    while 0 < value < 1 and step:
        value, step = value * 1_000, step - 1
    return f"={value:.10g}{_SIZES[step]}"


def _in_unit(value: float, times: float, unit: str) -> str:
    return f"={value * times:.10g}{unit}"


def _speeds(folded: str) -> Iterator[Amount]:
    """Speeds and flows with their unit of time before or behind: 每小时15公里, 时速15公里, 15 km/h.

    Where a bound stands between (时速不得超过15公里), the number alone is read, so that the bound stays a word.
    """
    for match in _SPEED.finditer(folded):
        known = unit_of({"千米": "公里"}.get(match["unit"], match["unit"]))
        if known is not None:
            of, per = match["n"], _PERS[match["each"] or match["per"]]
            value = (float(of) if of[0].isdigit() else chinese_number(of)) * known[1]
            start = match.start("n") if match["bound"] else match.start()
            yield Amount(
                f"={value:.10g}{known[0]}/{per}", "quantity", start, match.start("to") if match["to"] else match.end()
            )
            if match["to"]:
                value = float(match["end"]) * known[1]
                yield Amount(f"={value:.10g}{known[0]}/{per}", "quantity", match.start("end"), match.end())
    for match in _SPEED_BEHIND.finditer(folded):
        known = unit_of({"千米": "公里"}.get(match["unit"], match["unit"]))
        if known is not None:
            unit = f"{known[0]}/{_PERS[match['per']]}"
            yield from _ranged(folded, match.span(), match["n"], partial(_in_unit, times=known[1], unit=unit))


def _times(folded: str) -> Iterator[Amount]:
    for match in _CLOCK.finditer(folded):
        moment = _chinese_moment(match) or _moment(match)
        if moment is not None and moment[0] <= 24:
            yield Amount(f"{moment[0] % 24}:{moment[1]:02d}", "number", *match.span())


def _chinese_moment(match: re.Match[str]) -> tuple[int, int] | None:
    """Hour and minute of a time of day in Chinese; None of none."""
    if match["zero"] or match["noonz"] or match["zh"] == "正午":
        return (0, 0) if match["zero"] else (12, 0)
    part, written = match["zh"] or "", match["hz"] or match["hn"]
    if not written:
        return None
    hour, said = chinese_number(written), match["mz"] or match["mn"]
    minute = 30 if match["halfz"] or match["halfn"] else chinese_number(said) if said else 0
    if part in _LATE and 0 < hour < 12:
        hour += 12
    elif part in (*_NIGHT, "凌晨") and hour == 12:
        hour = 0
    return hour, minute


def _moment(match: re.Match[str]) -> tuple[int, int] | None:
    """Hour and minute of a time of day in English; None of none."""
    if match["noon"] or match["night"]:
        return (12 if match["noon"] else 0), 0
    written = match["h"] or match["past"] or match["hd"]
    if not written:
        return None
    hour = int(NUMBER_WORDS.get(written, written))
    minute = 30 if match["past"] else int(match["min"] or match["md"] or 0)
    half = match["half"] or match["halfd"] or ""
    part = match["part"] or match["part2"] or match["part3"] or ""
    later = half == "p" or _PART_OF_DAY.get(part, 0) == 12
    if later and 0 < hour < 12:
        hour += 12
    elif (half == "a" or part == "morning") and hour == 12:
        hour = 0
    return hour, minute


# How often something is done.

_TIMES_OF = {"once": 1, "twice": 2, "一": 1, "两": 2}
_LY = {
    "daily": (1, "day"), "weekly": (7, "day"), "monthly": (1, "month"), "yearly": (12, "month"), "annually": (12, "month"), "annual": (12, "month"),
    "quarterly": (3, "month"), "hourly": (3_600, "second"), "fortnightly": (14, "day"), "biweekly": (14, "day"), "half-yearly": (6, "month"),
    "semi-annually": (6, "month"), "semiannually": (6, "month"), "biannually": (6, "month"),
}  # fmt: skip
_UNITS = "year|month|week|day|hour|quarter|minute|second|fortnight"
_OFTEN = re.compile(
    rf"(?:(?P<times>once|twice|(?:{_WORDS}|\d{{1,3}}) times) )?(?P<each>a|an|per|every|each)(?P<other> other)?(?: (?P<n>{_WORDS}|\d{{1,4}}|half))?(?: |-)(?P<unit>{_UNITS})s?(?![a-z])"
    rf"|(?<![a-z])(?:(?P<timesly>once|twice|(?:{_WORDS}|\d{{1,3}}) times) )?(?P<ly>{'|'.join(sorted(_LY, key=len, reverse=True))})(?![a-z])"
    rf"|(?P<zh>每|一(?=[年月周天日]))(?P<gap>隔)?(?P<nz>\d{{1,4}}|{_HAN}{{1,3}}|半)?[个個]?(?P<unitz>年|季度?|月|星期|礼拜|周|天|日|小时|分钟|秒)(?![度内中末初底后前历报])(?:[^，。；,;\d{HAN_NUMERALS}]{{0,6}}(?P<timesz>\d{{1,2}}|[一两二三四五六七八九十])次)?"
)
_BASE = {
    "year": (12, "month"), "quarter": (3, "month"), "month": (1, "month"), "week": (7, "day"), "fortnight": (14, "day"), "day": (1, "day"),
    "hour": (3_600, "second"), "minute": (60, "second"), "second": (1, "second"), "年": (12, "month"), "季": (3, "month"), "季度": (3, "month"),
    "月": (1, "month"), "星期": (7, "day"), "礼拜": (7, "day"), "周": (7, "day"), "天": (1, "day"), "日": (1, "day"), "小时": (3_600, "second"),
    "分钟": (60, "second"), "秒": (1, "second"),
}  # fmt: skip


def frequencies(folded: str) -> Iterator[Frequency]:
    """How often things are done in a text: *twice a year* is *every six months*, 每季度 is 每3个月."""
    for match in _OFTEN.finditer(folded):
        if (found := _often(match)) is None:
            continue
        between, unit = found
        every, name = (between * 24 * 3_600, "second") if unit == "day" else (between, unit)
        yield Frequency(f"{every:.6g}{name}", *match.span())


def _often(match: re.Match[str]) -> tuple[float, str] | None:
    """The time from one to the next by a match of `_OFTEN`, and its unit; None where it says how much, or for how long."""
    if match["ly"]:
        value, unit = _LY[match["ly"]]
        times = _times_of(match["timesly"])
        return (value / times, unit) if times else None
    if match["unit"]:
        if match["each"] in ("a", "an", "per") and not match["times"]:
            return None
        value, unit = _BASE[match["unit"]]
        count, times = match["n"], _times_of(match["times"])
        number = 0.5 if count == "half" else float(NUMBER_WORDS.get(count, count)) if count else 1.0
        number *= 2 if match["other"] else 1
    else:
        value, unit = _BASE[match["unitz"]]
        count, times = match["nz"], chinese_number(match["timesz"]) if match["timesz"] else 1
        number = 0.5 if count == "半" else float(chinese_number(count)) if count else 1.0
        number += 1 if match["gap"] else 0
    return (value * number / times, unit) if times and number else None


def _times_of(written: str | None) -> int:
    word = (written or "once").removesuffix(" times")
    return _TIMES_OF.get(word) or int(NUMBER_WORDS.get(word, word))
