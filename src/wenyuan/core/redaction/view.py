"""A folded view of a text, with the way back: where rules look, and where the original is changed.

People write one number in many ways: full-width, with spaces or dashes, with invisible characters in it.
The view undoes that, character by character, and remembers for each of its characters where it came from.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from wenyuan.core import text as analyser
from wenyuan.core.redaction.policy import LABELS

__all__ = ["HAN", "MARK", "OPAQUE", "View", "view_of"]

HAN = "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
"""Han characters, as the inside of a character class."""

MARK = re.compile(rf"⟦(?:{'|'.join(LABELS.values())})(?::[A-Z2-7]{{10}})?⟧")
"""What an earlier redaction wrote. It is told strictly, so that nobody hides a number between the brackets."""

OPAQUE = "\ufffc"
"""Stands for a whole mark in the view; no rule matches it."""

_SAME = {**dict.fromkeys("‐‑‒–—―−⁃﹘", "-"), **dict.fromkeys("·•‧∙⋅・", "·"), **{c: c for c in "\t\n\r\f\v"}}
_BY_CATEGORY = {"Cf": "", "Mn": "", "Me": "", "Cc": "", "Zs": " ", "Zl": "\n", "Zp": "\n"}
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0")  # Hangul fillers: letters without a shape
# Single characters with one and the same separator between them: 1 3 8 0 0 1 3 8 0 0 0.
_SPELLED = re.compile(r"[0-9A-Za-z](?<![0-9A-Za-z].)([ .\-·_])[0-9A-Za-z](?:\1[0-9A-Za-z]){6,}(?![0-9A-Za-z])")

_SPELLED_DIGITS = 5  # else it is an alphabet


@lru_cache(maxsize=16_384)
def _fold(c: str) -> str:
    """One character as rules see it: ``""`` when it is invisible."""
    category = unicodedata.category(c)
    if c in _SAME:
        return _SAME[c]
    if category in _BY_CATEGORY or c in _INVISIBLE_LETTERS:
        return _BY_CATEGORY.get(category, "")
    if category == "Nd":
        return str(unicodedata.decimal(c))
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
    """

    text: str
    lower: str
    offsets: tuple[int, ...] | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original that ``text[start:end]`` stands for."""
        if self.offsets is None:
            return start, end
        return self.offsets[start], self.offsets[end - 1] + 1


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
    """The view of a text; linear in its length."""
    folded, offsets = analyser.narrowed(text), None
    if _FOLDING.search(folded) or analyser.has_traditional(folded):  # to translate takes ten times as long
        folded = text.translate(_FOLDS)
    if _MOVES in folded or "⟦" in text:
        folded, offsets = _moved(text)
    folded, offsets = _unspelled(folded, offsets)
    return View(folded, folded.lower(), None if offsets is None else tuple(offsets))


def _moved(text: str) -> tuple[str, list[int]]:
    """The folded text and its offsets, where characters vanish, grow, or belong to a mark."""
    folds = {c: _fold(c) for c in set(text)}
    moving = "".join(c for c, folded in folds.items() if len(folded) != 1)
    pieces: list[str] = []
    offsets: list[int] = []
    at = 0
    odd = re.compile(f"{MARK.pattern}|[{re.escape(moving)}]" if moving else MARK.pattern)
    for match in odd.finditer(text):
        start, token = match.start(), match[0]
        new = folds[token] if len(token) == 1 else OPAQUE
        pieces += (text[at:start].translate(_FOLDS), new)
        offsets.extend(range(at, start))
        offsets.extend([start] * len(new))
        at = match.end()
    pieces.append(text[at:].translate(_FOLDS))
    offsets.extend(range(at, len(text)))
    return "".join(pieces), offsets


def _unspelled(folded: str, offsets: list[int] | None) -> tuple[str, list[int] | None]:
    """Without the separators of numbers that are spelled character by character."""
    pieces: list[str] = []
    kept: list[int] = []
    at = 0
    for match in _SPELLED.finditer(folded):
        start, end = match.span()
        if sum(map(str.isdigit, match[0])) < _SPELLED_DIGITS:
            continue
        pieces += (folded[at:start], folded[start:end:2])
        kept.extend(range(at, start))
        kept.extend(range(start, end, 2))
        at = end
    if not pieces:
        return folded, offsets
    pieces.append(folded[at:])
    kept.extend(range(at, len(folded)))
    return "".join(pieces), kept if offsets is None else [offsets[i] for i in kept]
