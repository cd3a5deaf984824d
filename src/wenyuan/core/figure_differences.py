"""Differences between a claim and a sentence in numbers, quantities and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from wenyuan.core.difference_kind import DifferenceKind
from wenyuan.core.places import AlignedPair, TokenSpan, words_of
from wenyuan.core.text.amounts import Frequency, frequencies
from wenyuan.core.text.content import GLUE, content_of, share_of
from wenyuan.core.text.folding import fold
from wenyuan.core.text.numbers import HAN_NUMERALS, unit_of
from wenyuan.core.text.signs import CURRENCIES
from wenyuan.core.tokens import BETWEEN, Token, Tokens, folded_places

_FIGURES = re.compile(rf"[\d.,:/-]+|[{HAN_NUMERALS}]+|[a-z]+")


_SHARE = re.compile("[百千]分之")


_EACH = frozenset("每 per every each a an".split())


_PERIODS = {
    word: name
    for name, words in {
        "year": "年 year years annually yearly", "month": "月 month months monthly", "week": "周 week weeks weekly",
        "day": "天 日 day days daily", "hour": "时 hour hours hourly",
    }.items()
    for word in words.split()
}  # fmt: skip
"""After how long something is done again."""


_OTHER = 0.25  # share of a claim's words that may stand for other words where a number differs


_ANY_SCALE = frozenset("度 degree degrees c f".split())


_EITHER_ORDER = re.compile(r"(?:0?[1-9]|1[0-2])[/.](?:0?[1-9]|1[0-2])[/.](?:19|20)\d\d\Z")


_NAME = re.compile(r"[A-Za-z]\w*(?:[_.]\w+)+")


_SECONDS = {"=day": 86_400.0, "=second": 1.0}


_AMOUNT = re.compile(r"=(-?[\d.e+]+)(day|second)")


def figure_changed(pair: AlignedPair, place: TokenSpan) -> DifferenceKind | Literal["elsewhere", ""]:
    """The kind of a number, quantity or date of the claim that is missing at this place of the text; ``elsewhere``: the
    sentence has it, in another unit or at another place, or has no number to compare it with.
    """
    claim, text = pair.claim, pair.text
    said = [t for t in claim.tokens[place.a : place.b] if t.kind != "word"]
    was = [t for t in text.tokens[place.c : place.d] if t.kind != "word"]
    if not {t.value for t in said} - {t.value for t in was}:
        return ""
    if (
        not was
        or _may_be_pounds(said, was)
        or _durations(said) == _durations(was) != []
        or same_frequency(pair, place)
        or _same_digits(said, was)
    ):
        return "elsewhere"
    if (not pair.alone and _stands(pair, place)) or ({t.kind for t in said} & {"date"}) - {t.kind for t in was}:
        return "elsewhere"
    if any(t.kind == "date" for t in (*said, *was)):
        return "date_changed"
    clock = any(":" in t.value for t in (*said, *was))
    same = not clock and _figures(claim, said) == _figures(text, was) and _signs(said) == _signs(was)
    if {t.kind for t in said}.isdisjoint(t.kind for t in was):  # *40 total hours* has its unit further on
        strange = same and (_counts_something(claim, place.a, place.b) or _counts_something(text, place.c, place.d))
        return "unit_changed" if strange else "elsewhere"
    return "unit_changed" if same else "number_changed"


_POUNDS = re.compile(r"=(-?[\d.e+]+)(?:lb|gbp)\Z")


def _may_be_pounds(said: Sequence[Token], was: Sequence[Token]) -> bool:
    """Whether one side has as many *pounds*, a weight or money, as the other has of either."""
    sides = [{match[1] for t in side if (match := _POUNDS.match(t.value))} for side in (said, was)]
    return len(said) == len(was) == 1 and sides[0] == sides[1] != set()


def _same_digits(said: Sequence[Token], was: Sequence[Token]) -> bool:
    """Whether a time of day may be written as a number, or a date with its day and month in another order."""
    if any(_EITHER_ORDER.match(t.value) for t in (*said, *was)):
        return True
    if not any(":" in t.value for t in (*said, *was)):
        return False
    return [t.value.replace(".", ":") for t in said] == [t.value.replace(".", ":") for t in was]


def same_frequency(pair: AlignedPair, place: TokenSpan) -> bool:
    """Whether all figures of the claim here say how often something is done, and the sentence says so in other words."""
    said = [one for one in _frequencies(pair.claim.text) if _touches(pair.claim, one, place.a, place.b)]
    if not said:
        return False
    was = {one.every for one in _frequencies(pair.text.text) if _touches(pair.text, one, pair.low, pair.high)}
    figures = [t for t in pair.claim.tokens[place.a : place.b] if t.kind != "word"]
    return {one.every for one in said} <= was and all(
        any(one.start <= t.start and t.end <= one.end for one in said) for t in figures
    )


@lru_cache(maxsize=1_024)
def _frequencies(text: str) -> tuple[Frequency, ...]:
    """How often things are done in a text, with places of the text itself."""
    folded, places = folded_places(text)
    return tuple(Frequency(every, places[a], places[b - 1] + 1) for every, a, b in frequencies(folded))


def _touches(text: Tokens, one: Frequency, first: int, end: int) -> bool:
    """Whether a frequency has a token of this range, or stands right beside it."""
    near = text.tokens[max(0, first - 1) : end + 1] if first == end else text.tokens[first:end]
    return any(one.start < t.end and t.start < one.end for t in near)


def another_thing(pair: AlignedPair, numbers: int) -> bool:
    """Whether a claim speaks of another thing, which has other numbers: too many of its words stand in the place of other words, or
    a name does, or a plain number that names it (severity 2).

    Args:
        numbers: How many numbers, units and dates differ.
    """
    named = numbers > 1 and any(
        b - a == d - c == 1
        and pair.claim.tokens[a].kind == pair.text.tokens[c].kind == "number"
        and a > 0 and pair.claim.tokens[a - 1].kind == "word"
        for a, b, c, d in pair.places
    )  # fmt: skip
    said, there = pair.claim.text, words_of(pair.text, pair.low, pair.high)
    own, was = tuple(dict.fromkeys(content_of(said))), tuple(dict.fromkeys(content_of(there)))
    other = [
        stem
        for a, b, c, d in pair.places
        if share_of(list(content_of(words_of(pair.text, c, d))), own) < 1
        for stem in content_of(" ".join(t.value for t in pair.claim.tokens[a:b] if t.kind == "word"))
        if share_of([stem], was) < 1
    ]
    names, known = set(_NAME.findall(said)), set(_NAME.findall(there))
    return named or len(other) > _OTHER * len(own) or bool(names - known and known - names)


def _counts_something(text: Tokens, first: int, end: int) -> bool:
    """Whether a plain number is followed by a word here: by a unit that is not known, but no degrees of a scale that is not named."""
    tokens = text.tokens[first:end]
    return any(
        one.kind == "number" and other.kind == "word" and other.value not in GLUE and other.value not in _ANY_SCALE
        for one, other in pairwise(tokens)
    )


def _durations(tokens: Sequence[Token]) -> list[float]:
    """The spans of time in days, hours and less, in seconds: 48 hours may be meant by two days."""
    found = [_AMOUNT.fullmatch(token.value) for token in tokens]
    return [float(match[1]) * _SECONDS[f"={match[2]}"] for match in found if match is not None]


def _stands(pair: AlignedPair, place: TokenSpan) -> bool:
    """Whether the claim's words here, with those beside them, stand elsewhere in the sentence."""
    a, b = max(0, place.a - 1), min(len(pair.claim.tokens), place.b + 1)
    while b - a < 3 and b < len(pair.claim.tokens):
        b += 1
    wanted = BETWEEN + BETWEEN.join(pair.claim.values[a:b]) + BETWEEN
    return b - a >= 3 and wanted in BETWEEN + BETWEEN.join(pair.text.values[pair.low : pair.high]) + BETWEEN


def _figures(text: Tokens, tokens: Sequence[Token]) -> list[str]:
    """The digits or numerals in tokens, without what makes them a share."""
    said = (_SHARE.sub("", fold(text.text[t.start : t.end])) for t in tokens)
    return [match[0] for one in said if (match := _FIGURES.search(one))]


def _signs(tokens: Sequence[Token]) -> list[str]:
    """What of numbers is no digit: their sign and power, and all of a code."""
    return [t.value if t.value[:1].isalpha() else "".join(c for c in t.value if c in "-±^") for t in tokens]


def unit(text: Tokens, first: int, end: int) -> object:
    """The unit that these tokens are after a number that does not form a quantity: 4x100 米."""
    if not (0 < first < end and text.tokens[first - 1].kind == "number"):
        return None
    return unit_of("".join(text.values[first:end]))


def of_money(text: Tokens, first: int, end: int) -> object:
    return text.tokens[first].value if end - first == 1 and text.tokens[first].value in CURRENCIES else None


def period(text: Tokens, first: int, end: int) -> str:
    """The period that these tokens say after *every*, *a* or 每; ``""`` for none."""
    if end - first != 1 or (name := _PERIODS.get(text.values[first])) is None:
        return ""
    before = text.values[first - 1] if first else ""
    return name if before in _EACH or text.values[first].endswith("ly") else ""
