"""Numbers as clauses and quantities are written: 十三, 拾叁, 第３．２, XIII."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["HAN_NUMERALS", "NARROW", "ascii_number", "chinese_number"]

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
        ValueError: it is none.
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
