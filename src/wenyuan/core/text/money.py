"""Sums of money that `core.text.numbers` does not read: other currencies, written before or behind the amount."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from wenyuan.core.text.numbers import NUMBER_WORDS
from wenyuan.core.text.signs import CURRENCIES

_SAME = {
    "£": "gbp", "英镑": "gbp", "pounds": "gbp", "pounds sterling": "gbp", "港元": "hkd", "港币": "hkd", "韩元": "krw", "卢布": "rub",
    "法郎": "chf",
}  # fmt: skip
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "万": 1e4, "亿": 1e8}
_CODES = "|".join(
    re.escape(name)
    for name in sorted(CURRENCIES - {"cny", "rmb", "usd", "eur", "€", "$", "¥"}, key=len, reverse=True)
)
_AMOUNT = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,6})?|\d{1,12}(?:\.\d{1,6})?"
_SCALE = r"k|m|bn|thousand|million|billion"
_MONEY = re.compile(
    rf"(?<![a-z\d])(?P<code>{_CODES}) ?(?P<n>{_AMOUNT})(?![\d,]\d)(?: ?(?P<scale>(?:{_SCALE})(?![a-z])|[万亿]))?"
    rf"|(?<![\w.,/])(?P<m>{_AMOUNT}|(?:{'|'.join(NUMBER_WORDS)})(?= ))(?: ?(?P<times>(?:{_SCALE})(?![a-z])|[万亿]))? ?"
    rf"(?P<name>(?:{_CODES})(?![a-z])|(?P<pounds>pounds(?: sterling)?)(?![a-z]))"
)


class Sum(NamedTuple):
    """An amount of a currency, by its code, and where it stands."""

    value: float
    currency: str
    start: int
    end: int


def sums(folded: str) -> Iterator[Sum]:
    """The sums of money of a folded text; *pounds* are money behind thousands and millions, and as *pounds sterling*."""
    for match in _MONEY.finditer(folded):
        written, scale = match["n"] or match["m"], match["scale"] or match["times"]
        word = not written[0].isdigit()
        if (match["pounds"] == "pounds" and not scale) or (word and not scale and not match["pounds"]):
            continue
        value = float(NUMBER_WORDS[written]) if word else float(written.replace(",", ""))
        name = match["code"] or match["name"]
        yield Sum(value * _SCALES.get(scale or "", 1.0), _SAME.get(name, name), *match.span())
