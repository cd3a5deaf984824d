"""A folded view of a text, with the way back: where rules look, and where the original is changed.

People write one number in many ways: full-width, as character references, with invisible characters in it. The view
undoes that, character by character, and remembers for each of its characters where it came from. How digits are spelled
and parted is undone in `spelling`.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from wenyuan.core import text as analyser
from wenyuan.core.redaction.policy import LABELS
from wenyuan.core.redaction.spelling import Spelled, parted, spellings

__all__ = ["HAN", "MARK", "OPAQUE", "View", "view_of", "views_of"]

HAN = "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
"""Han characters, as the inside of a character class."""

MARK = re.compile(rf"⟦(?:{'|'.join(LABELS.values())})(?::[A-Z2-7]{{10}})?⟧")
"""What an earlier redaction wrote. It is told strictly, so that nobody hides a number between the brackets."""

OPAQUE = "\ufffc"
"""Stands for a whole mark in the view; no rule matches it."""

_SAME = {**dict.fromkeys("‐‑‒–—―−⁃﹘", "-"), **dict.fromkeys("·•‧∙⋅・", "·"), **{c: c for c in "\t\n\r\f\v"}}
_BY_CATEGORY = {"Cf": "", "Mn": "", "Me": "", "Cc": "", "Zs": " ", "Zl": "\n", "Zp": "\n"}
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")  # Hangul fillers: letters without a shape
# A character by its number or name, as HTML writes it: &#64; &#x31; &commat; &nbsp;
_REFERENCE = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|commat|period|num|nbsp|shy|hyphen|dash|ensp|emsp|zwnj|zwj);"
_LONG = re.compile(f"{MARK.pattern}|{_REFERENCE}")
_NAMED = {"&hyphen;": "-", "&dash;": "-"}
_HANGZHOU = {chr(0x3021 + i): str(i + 1) for i in range(9)}  # 〡〢〣, the numerals of merchants


@lru_cache(maxsize=16_384)
def _fold(c: str) -> str:
    """One character as rules see it: ``""`` when it is invisible."""
    category = unicodedata.category(c)
    if c in _SAME:
        return _SAME[c]
    if category in _BY_CATEGORY or c in _INVISIBLE_LETTERS:
        return _BY_CATEGORY.get(category, "")
    if category in {"Nd", "No"} and (digit := unicodedata.digit(c, None)) is not None:
        return str(digit)  # also ❶
    if c in _HANGZHOU:
        return _HANGZHOU[c]
    if category == "Lo":
        return analyser.fold(c)  # Traditional Chinese as Simplified
    plain = "".join(d for d in unicodedata.normalize("NFKD", c) if not unicodedata.combining(d))
    return unicodedata.normalize("NFKC", plain) or c


@dataclass(frozen=True, slots=True)
class View:
    """A text as rules see it.

    Attributes:
        text: The folded text.
        lower: The same in lower case, character for character.
        offsets: For each character of `text`, the index of its character in the original; None when they are equal.
        long: Where in the original something begins of which one character was made: its end.
    """

    text: str
    lower: str
    offsets: tuple[int, ...] | None
    long: Mapping[int, int] = field(default_factory=dict)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that ``text[start:end]`` stands for."""
        if self.offsets is None:
            return start, end
        last = self.offsets[end - 1]
        return self.offsets[start], self.long.get(last, last + 1)


class _Folds(dict[int, str]):
    """`_fold` by code point, for `str.translate`; `_MOVES` for a character that vanishes or grows."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) >= _MOST_FOLDS:
            self.clear()
        self[code] = found = folded if len(folded) == 1 else _MOVES
        return found


_MOVES = "\uffff"  # no character; who writes it all the same is looked at more closely
# What may be something else when it is folded, Traditional characters aside.
_FOLDING = re.compile("[^\t\n -~、。《》〈〉【】「」“”‘’\u4e00-\u9fff]")
_MOST_FOLDS = 32_768  # more than any language has
_FOLDS = _Folds()


def view_of(text: str) -> View:
    """The view of a text in which numerals are left as they are."""
    return views_of(text)[0]


def views_of(text: str) -> tuple[View, ...]:
    """The view of a text, and where numbers are written in words others with these in digits; linear in its length.

    All count: in ``13800138000一直`` the numeral is no digit, in ``一三八〇〇一三八〇〇〇`` it is.
    """
    folded, offsets = analyser.narrowed(text), None
    long: dict[int, int] = {}
    if _FOLDING.search(folded) or analyser.has_traditional(folded):  # to translate takes ten times as long
        folded = text.translate(_FOLDS)
    if _MOVES in folded or "⟦" in text or "&" in text:
        folded, offsets, long = _moved(text)
    return tuple(map(_view, spellings(Spelled(folded, offsets, long))))


def _view(read: Spelled) -> View:
    read = parted(read)
    return View(read.text, read.text.lower(), None if read.offsets is None else tuple(read.offsets), read.long)


def _moved(text: str) -> tuple[str, list[int], dict[int, int]]:
    """The folded text, its offsets and what is long, where characters vanish, grow, or belong to a mark or a reference."""
    folds = {c: _fold(c) for c in set(text)}
    moving = "".join(c for c, folded in folds.items() if len(folded) != 1)
    pieces: list[str] = []
    offsets: list[int] = []
    long: dict[int, int] = {}
    at = 0
    odd = re.compile(f"{_LONG.pattern}|[{re.escape(moving)}]" if moving else _LONG.pattern)
    for match in odd.finditer(text):
        start, token = match.start(), match[0]
        new = folds[token] if len(token) == 1 else _told(token)
        if len(token) > 1:
            long[start] = match.end()
        pieces += (text[at:start].translate(_FOLDS), new)
        offsets.extend(range(at, start))
        offsets.extend([start] * len(new))
        at = match.end()
    pieces.append(text[at:].translate(_FOLDS))
    offsets.extend(range(at, len(text)))
    return "".join(pieces), offsets, long


def _told(token: str) -> str:
    """What stands for a mark or a character reference."""
    if token.startswith("⟦"):
        return OPAQUE
    return "".join(map(_fold, _NAMED.get(token) or html.unescape(token)))
