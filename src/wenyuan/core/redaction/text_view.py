"""A folded view of a text, with the way back: where rules look, and where the original is changed.

People write one number in many ways: full-width, as character references, with invisible characters in it. The view
undoes that, character by character, and remembers for each of its characters where it came from. How digits are spelled
and parted is undone by `spellings` and `parted`.
"""

from __future__ import annotations

import html
import re
import unicodedata
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat

from wenyuan.core.redaction.digit_spellings import OFFSET, Spelled, parted, spellings
from wenyuan.core.redaction.policy import ERASED_MARK, LABELS
from wenyuan.core.text import folding

MARK = re.compile(rf"⟦(?:{'|'.join(LABELS.values())})(?::[A-Z2-7]{{10}})?⟧|{ERASED_MARK}")
"""What an earlier redaction wrote. It is told strictly, so that nobody hides a number between the brackets."""

OPAQUE = "\ufffc"
"""Stands for a whole mark in the view; no rule matches it."""

_SAME = {**dict.fromkeys("‐‑‒–—―−⁃﹘", "-"), **dict.fromkeys("·•‧∙⋅・", "·"), **{c: c for c in "\t\n\r\f\v"}}
_BY_CATEGORY = {"Cf": "", "Mn": "", "Me": "", "Cc": "", "Zs": " ", "Zl": "\n", "Zp": "\n"}
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")  # Hangul fillers: letters without a shape
# A character by its number or name, as HTML writes it: &#64; &#x31; &commat; &nbsp;
_REFERENCE = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|commat|period|num|nbsp|shy|hyphen|dash|ensp|emsp|zwnj|zwj);"
# Escapes as programs write them, and what makes a part of a number bold: \\u0031, %31, \\@, 138**0013**8000, 138<b>0013</b>8000.
_ESCAPE = r"\\u00[2-7][0-9a-fA-F]|\\x[2-7][0-9a-fA-F]|%(?:3[0-9]|40|2[bBeE]|[46][1-9a-fA-F]|[57][0-9aA])|\\(?=[@.])"
_BOLD = r"(?<=[0-9\uff10-\uff19])(?:(?:\*\*|__)(?:[ ](?:\*\*|__))?(?![*_])|</?[a-z]{1,8}>){1,2}(?=[0-9\uff10-\uff19])"
_LONG = re.compile(f"{MARK.pattern}|{_REFERENCE}|{_ESCAPE}|{_BOLD}")
_HIDES = re.compile(f"{_ESCAPE}|{_BOLD}")
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
        return folding.fold(c)  # Traditional Chinese as Simplified
    plain = "".join(d for d in unicodedata.normalize("NFKD", c) if not unicodedata.combining(d))
    return unicodedata.normalize("NFKC", plain) or c


@dataclass(frozen=True, slots=True)
class TextView:
    """A text as rules see it.

    Attributes:
        text: The folded text.
        lower: The same in lower case, character for character.
        offsets: For each character of `text`, the index of its character in the original; None when they are equal.
        long: Where in the original something begins of which one character was made: its end.
    """

    text: str
    lower: str
    offsets: Sequence[int] | None
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


def view_of(text: str) -> TextView:
    """The view of a text in which numerals are left as they are."""
    return views_of(text)[0]


def views_of(text: str) -> tuple[TextView, ...]:
    """The view of a text, and where numbers are written in words others with these in digits; linear in its length.

    All count: in ``13800138000一直`` the numeral is no digit, in ``一三八〇〇一三八〇〇〇`` it is.
    """
    folded, offsets = folding.narrowed(text), None
    long: dict[int, int] = {}
    if _FOLDING.search(folded) or folding.has_traditional(folded):  # to translate takes ten times as long
        folded = text.translate(_FOLDS)
    hides = ("\\" in text or "%" in text or "**" in text or "__" in text or "<" in text) and _HIDES.search(text)
    if hides or _MOVES in folded or "⟦" in text or "&" in text:
        folded, offsets, long = _moved(text)
    return tuple(map(_view, spellings(Spelled(folded, offsets, long))))


def _view(read: Spelled) -> TextView:
    read = parted(read)
    return TextView(read.text, read.text.lower(), read.offsets, read.long)


def _moved(text: str) -> tuple[str, array[int], dict[int, int]]:
    """The folded text, its offsets and what is long, where characters vanish, grow, or belong to a mark or a reference."""
    folds = {c: _fold(c) for c in set(text)}
    moving = "".join(c for c, folded in folds.items() if len(folded) != 1)
    pieces: list[str] = []
    offsets = array(OFFSET)
    long: dict[int, int] = {}
    at = 0
    odd = re.compile(f"{_LONG.pattern}|[{re.escape(moving)}]" if moving else _LONG.pattern)
    for match in odd.finditer(text):
        start, written = match.start(), match[0]
        new = folds[written] if len(written) == 1 and written != "\\" else _reference_text(written)
        if len(written) > 1:
            long[start] = match.end()
        pieces += (text[at:start].translate(_FOLDS), new)
        offsets.extend(range(at, start))
        offsets.extend(repeat(start, len(new)))
        at = match.end()
    pieces.append(text[at:].translate(_FOLDS))
    offsets.extend(range(at, len(text)))
    return "".join(pieces), offsets, long


def _reference_text(token: str) -> str:
    """What stands for a mark or a character reference."""
    if token.startswith("⟦"):
        return OPAQUE
    if token[0] in "\\%":
        return chr(int(token.lstrip("\\ux%"), 16)) if len(token) > 1 else ""
    if token[0] != "&":
        return ""
    return "".join(map(_fold, _NAMED.get(token) or html.unescape(token)))
