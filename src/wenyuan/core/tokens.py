"""The tokens of a text as claims are compared by: words, Chinese characters, numbers and quantities, each in one form.

``24 小时`` = ``二十四小时`` = ``24 hours``; marks are no tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from wenyuan.core.text.amounts import RANGE_BEGINS, amounts
from wenyuan.core.text.boundaries import sentences
from wenyuan.core.text.content import GLUE
from wenyuan.core.text.folding import CJK, fold
from wenyuan.core.text.modality import EXTENT, Duty, duties
from wenyuan.core.text.money import sums
from wenyuan.core.text.numbers import HAN_NUMERALS, NUMBER_WORDS, Quantity, chinese_number, measured, unit_of
from wenyuan.core.text.signs import (
    BOUND,
    CODE,
    NUMBER,
    bound,
    in_one_unit,
    moments,
    power_at,
    powers,
    sign_before,
)

TokenKind = Literal["word", "number", "quantity", "date"]
Parted = Literal["", "clause", "sentence"]


class Token(NamedTuple):
    """A token of a text.

    Attributes:
        value: In one form; equal tokens say the same.
        kind: What it is.
        start, end: Where it stands.
        after: What separates it from the token before: nothing, the end of a clause, or the end of a sentence.
    """

    value: str
    kind: TokenKind
    start: int
    end: int
    after: Parted


_Raw = tuple[str, TokenKind, int, int]
"""Value, kind, and where it stands in the folded text."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenised text.

    Attributes:
        duties: Its modal expressions, in order.
        joined: The values of all tokens, each between two `_BETWEEN`.
    """

    text: str
    tokens: tuple[Token, ...]
    duties: tuple[Duty, ...]
    joined: str

    @property
    def values(self) -> list[str]:
        return [token.value for token in self.tokens]


BETWEEN = "\0"
"""Stands before and behind each value in `Tokens.joined`."""
_MEASURES = "个個名种種项項条條款章节節级級类類件份批户戶家台套处處层層部篇页頁期届屆位所站座辆輛成元年月日天周岁人次"
_LONGEST = 20  # of a Chinese number: a run of them is looked at once, and not from each of its places to its end
_TOKEN = re.compile(
    rf"{EXTENT}|(?<=第)[{HAN_NUMERALS}]{{1,{_LONGEST}}}|[{HAN_NUMERALS}]{{1,{_LONGEST}}}(?=[{_MEASURES}])|[{CJK}]|{CODE}|{NUMBER}|{BOUND}|[^\W\d_{CJK}]+(?:['’][^\W\d_{CJK}]+)*"
)
_CLAUSE = re.compile(r"[，、：,:—()（）]")
_MONTHS = frozenset("january february march april may june july august september october november december".split())
_NOT = re.compile("([a-z]+)n't")
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
_DAY, _YEAR = re.compile(r"\d"), re.compile(r"(?:19|20)\d\d(?:[/.-]\d{1,2}){0,2}|(?:\d{1,2}[/.-]){1,2}(?:19|20)\d\d")
_ORDINALS = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 1
    )
}
_OF_ORDINALS = ("st", "nd", "rd", "th")
_PLACE, _BEHIND_PLACE = re.compile(r"(?<![a-z])(?:the|on|his|her|their|its|your|of) \Z"), re.compile(r" ([a-z]+)")
"""What stands before *second* where it is no unit of time; behind *a second*, a word that says something."""
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")
_BEFORE_MAY, _BEHIND_MAY = re.compile(r"(?<!\d)\d{1,2}(?:st|nd|rd|th)? (?:of )?\Z"), re.compile(r",? \d")
_NO_VERB = re.compile(r"\Z|[^\w ]| (?:\d|(?:at|and|or|to|until|till|in|of|the|from|by|on)(?![a-z]))")
"""What stands behind a month, and behind no *may*."""
_PER_MILLE = re.compile(rf"千分之(?P<zh>[{HAN_NUMERALS}]+|\d+(?:\.\d+)?)|(?P<n>\d+(?:\.\d+)?) ?‰")
_JIN = re.compile(r"(?<![\d.,/])(\d{1,6}(?:\.\d+)?) ?市?斤")
_TWICE = re.compile(r"(?<![a-z])(?:twice|two times)(?![a-z])")
_PERIOD_BEGINS, _PERIODS = (
    re.compile(r" ?(?:每| per )"),
    frozenset(("day", "week", "month", "year", "hour", "minute")),
)
_HALVES = re.compile(
    rf"(?<![\w.])(?:(?P<n>{'|'.join(NUMBER_WORDS)}|\d{{1,6}}) and a half(?= (?P<unit>[a-z]+))|(?P<half>half an?) (?P<of>[a-z]+)"
    r"|(?P<quarters>(?:a|one|three) quarters?) of an? (?P<part>[a-z]+)|(?P<zh>[一三])刻钟)"
)
"""Halves and quarters in words: four and a half hours, half a minute, a quarter of an hour, 一刻钟."""
_GRAMS = re.compile(r"(?<![\w.,/])(?P<n>\d{1,9}(?:\.\d{1,6})?) ?g(?![a-z0-9/])")


@lru_cache(maxsize=4_096)
def tokens_of(text: str) -> Tokens:
    """Tokenise a text."""
    folded, places = folded_places(text)
    found: list[_Raw] = []
    at = 0
    several = [(start, end, [(value, kind)]) for value, kind, start, end in _amounts(folded)]
    one = [*_quantities(folded), *_moments(folded), *_shares(folded)]
    for start, end, read in sorted([*several, *one], key=lambda each: (each[0], -each[1])):
        if start < at:
            continue
        found += _words(folded, at, start)
        found += [(value, kind, start, end) for value, kind in read]
        at = end
    found += _words(folded, at, len(folded))
    clauses = [match.start() for match in _CLAUSE.finditer(folded)]
    begins = [start for start, _ in sentences(text)]
    tokens, clause, sentence = [], 0, 0
    for value, kind, start, end in found:
        known = clause, sentence
        while clause < len(clauses) and clauses[clause] < start:
            clause += 1
        place = places[start]
        while sentence < len(begins) and begins[sentence] <= place:
            sentence += 1
        after: Parted = "sentence" if sentence > known[1] else "clause" if clause > known[0] else ""
        tokens.append(Token(value, kind, place, places[end - 1] + 1, after))
        while clause < len(clauses) and clauses[clause] < end:  # within the token
            clause += 1
    joined = BETWEEN + "".join([token.value + BETWEEN for token in tokens])
    return Tokens(text, tuple(tokens), tuple(duties(folded, [(start, end) for _, _, start, end in found])), joined)


def _quantities(folded: str) -> Iterator[tuple[int, int, list[tuple[str, TokenKind]]]]:
    for quantity in (_once(folded, each) for each in measured(folded)):
        date = quantity.unit in ("月", "号") or (quantity.unit == "year" and 1_000 <= quantity.value < 3_000)
        value, unit = (quantity.value, quantity.unit) if date else in_one_unit(quantity.value, quantity.unit)
        sign, start = ("", quantity.start) if date else sign_before(folded, quantity.start)
        if not date and (begins := RANGE_BEGINS.search(folded, max(0, start - 24), start)) is not None:
            yield _amount(folded, float(begins["n"]), quantity.unit, *begins.span("n"))
        yield start, quantity.end, [(f"={sign}{value:.10g}{unit}", "date" if date else "quantity")]


def _amounts(folded: str) -> Iterator[_Raw]:
    """What several words say, with its sign."""
    for value, kind, start, end in amounts(folded, measured(folded)):
        sign, begun = sign_before(folded, start) if value.startswith("=") else ("", start)
        yield (f"={sign}{value[1:]}" if sign else value), kind, begun, end


def _once(folded: str, quantity: Quantity) -> Quantity:
    """A quantity without the period of *per day* and 每天, which are words of their own as *a day* is."""
    unit, _, period = quantity.unit.partition("/")
    per = _PERIOD_BEGINS.search(folded, quantity.start, quantity.end)
    return quantity._replace(unit=unit, end=per.start()) if per is not None and period in _PERIODS else quantity


def _amount(
    folded: str, value: float, unit: str, start: int, end: int
) -> tuple[int, int, list[tuple[str, TokenKind]]]:
    value, unit = in_one_unit(value, unit)
    sign, begun = sign_before(folded, start)
    return min(start, begun), end, [(f"={sign}{value:.10g}{unit}", "quantity")]


def _shares(folded: str) -> Iterator[tuple[int, int, list[tuple[str, TokenKind]]]]:
    """Thousandths, as shares of a hundred, halves and quarters in words, and grams written with a letter."""
    for match in _PER_MILLE.finditer(folded):
        said = match["n"] or match["zh"]
        value = float(said) if said[0].isdecimal() else float(chinese_number(said))
        yield match.start(), match.end(), [(f"={value / 10:.10g}%", "quantity")]
    for value, currency, start, end in sums(folded):
        yield start, end, [(f"={value:.10g}{currency}", "quantity")]
    for match in _JIN.finditer(folded):
        yield _amount(folded, float(match[1]) * 500, "g", *match.span())
    for match in _TWICE.finditer(folded):
        yield *match.span(), [("=2次", "quantity")]
    for match in _HALVES.finditer(folded):
        value, name, end = _halved(match)
        if (unit := unit_of(name)) is not None:
            yield _amount(folded, value * unit[1], unit[0], match.start(), end)
    for match in _GRAMS.finditer(folded):
        yield _amount(folded, float(match["n"]), "g", *match.span())


def _halved(match: re.Match[str]) -> tuple[float, str, int]:
    """Value and unit of a match of `_HALVES`, and where it ends."""
    if match["n"]:
        return float(NUMBER_WORDS.get(match["n"]) or match["n"]) + 0.5, match["unit"], match.end("unit")
    if match["half"]:
        return 0.5, match["of"], match.end()
    if match["quarters"]:
        return (0.75 if match["quarters"].startswith("three") else 0.25), match["part"], match.end()
    return (0.25 if match["zh"] == "一" else 0.75), "hour", match.end()


def _moments(folded: str) -> Iterator[tuple[int, int, list[tuple[str, TokenKind]]]]:
    for moment in moments(folded):
        kind: TokenKind = "date" if len(moment.values) > 1 else "number"
        yield moment.start, moment.end, [(value, kind) for value in moment.values]


def folded_places(text: str) -> tuple[str, Sequence[int]]:
    """The folded text, and the original position of each of its characters."""
    folded = fold(powers(text))
    if len(folded) == len(text):
        return folded, range(len(text))
    each = [
        (at, fold(power_at(text, at))) for at in range(len(text))
    ]  # a ligature becomes two, a half-width pair one
    return "".join(of for _, of in each), [at for at, of in each for _ in of]


def _words(folded: str, start: int, end: int) -> Iterator[_Raw]:
    for match in _TOKEN.finditer(folded, start, end):
        first, last = match.span()
        word = match[0].replace("’", "'")
        if (stem := _NOT.fullmatch(word)) is not None:
            yield _STEMS.get(stem[1], stem[1]), "word", first, last
            yield "not", "word", first, last
        elif word == "cannot":
            yield "can", "word", first, last
            yield "not", "word", first, last
        elif word[0].isdigit():
            sign, begun = sign_before(folded, first)
            value, kind = _read_word(match)
            value = value.replace(",", "") if _THOUSANDS.match(value) else value
            yield sign + value, ("number" if sign else kind), max(start, begun), last
        elif word not in _OF_ORDINALS or not folded[first - 1 : first].isdigit():
            yield *_read_word(match), first, last


def _read_word(match: re.Match[str]) -> tuple[str, TokenKind]:
    """Normal form and kind of a word or number."""
    value = match[0].replace("’", "'")
    if value[0] in "<>≥≤≧≦⩾⩽":
        return bound(value), "word"
    if value[0].isascii() and value[0].isalpha() and value[-1:].isalnum() and any(map(str.isdigit, value)):
        return value, "number"
    if value in NUMBER_WORDS or (value in _ORDINALS and (value != "second" or _in_order(match))):
        return str(NUMBER_WORDS.get(value) or _ORDINALS.get(value, 0)), "number"
    if value[0] in HAN_NUMERALS:
        return (str(chinese_number(value)), "number") if _counts(match) else (value, "word")
    if not value[0].isdigit() and value not in _MONTHS:
        return value, "word"
    if (value in _MONTHS and _of_date(match)) or _YEAR.fullmatch(value):
        return value, "date"
    return value, "number" if value[0].isdigit() else "word"


def _in_order(match: re.Match[str]) -> bool:
    """Whether *second* says a place in order here: the second floor, a second person."""
    before = match.string[max(0, match.start() - 6) : match.start()]
    behind = _BEHIND_PLACE.match(match.string, match.end())
    if _PLACE.search(before) is not None:
        return True
    return before.endswith(" a ") or before == "a " if behind is not None and behind[1] not in GLUE else False


def _of_date(match: re.Match[str]) -> bool:
    """Whether the name of a month stands by a number; what may be done at 5 °C is no month."""
    if match[0] == "may":
        before, after = match.string[max(0, match.start() - 9) : match.start()], match.string[match.end() :]
        return _BEHIND_MAY.match(after) is not None or (
            _BEFORE_MAY.search(before) is not None and _NO_VERB.match(after) is not None
        )
    return _DAY.search(match.string[max(0, match.start() - 9) : match.end() + 6]) is not None


def _counts(match: re.Match[str]) -> bool:
    """Whether Chinese numerals are a number (第十三条, 三种) and not part of a word (一般, 统一)."""
    before, after = match.string[match.start() - 1 : match.start()], match.string[match.end() : match.end() + 1]
    return before == "第" or (after in _MEASURES and (len(match[0]) > 1 or match[0] not in "一万千百"))
