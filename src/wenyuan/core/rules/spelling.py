"""How a name may be written: one folded form for all its spellings, with the way back to the text.

Folding undoes full-width forms, Traditional characters, upper case, accents and invisible characters. White space,
hyphens and quotation marks vanish; between two Latin words, two numbers, or a word and a number one space stands,
whether there was one or not (``GB 50300-2013`` = ``GB50300—2013``). Commas, full stops and brackets stay, so that
no name is found across them. Texts that are equal under NFKC have the same form.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from wenyuan.core.text.folding import fold, has_han

_SOFT = frozenset("-‐‑‒–—―−⁃_·•‧∙⋅'\"‘’“”„«»‹›《》〈〉「」『』`´~~")
_BRACKETS = {**dict.fromkeys("[{【〔〖⦅", "("), **dict.fromkeys("]}】〕〗⦆", ")")}
_STOPS = {"。": ".", "、": ","}
_MERGED = {**_BRACKETS, **_STOPS}
_SCRIPTS_WITHOUT_SPACES = re.compile("[\u1100-\u11ff\u3040-\u30ff]")
_LETTER, _DIGIT, _OTHER, _SPACE = 1, 2, 3, 4
_PLURAL_FROM = 4  # letters: GPS is not the plural of GP
_COMMON = re.compile("[\u4e00-\u9fffA-Za-z0-9 -]+")
_GAPS = re.compile("(?<=[\u4e00-\u9fff])[ -]+|[ -]+(?=[\u4e00-\u9fff])")
_BORDERS = re.compile("[ -]+|(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])")
_NUMERIC = re.compile(r"[^\w]*[0-9][^a-z]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Spelling:
    """A normalised text with offsets into the original.

    Attributes:
        text: The form.
        offsets: For each of its characters, the index of the original's character it comes from.
    """

    text: str
    offsets: list[int]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text that ``text[start:end]`` (not empty) stands for."""
        return self.offsets[start], self.offsets[end - 1] + 1

    def is_word(self, start: int, end: int) -> int:
        """The end of the name at ``text[start:end]``, extended by an English plural; 0 if it is part of a longer
        word.

        Only Latin words have borders: a Chinese name may stand anywhere.
        """
        text = self.text
        if start > 0 and _inside(text[start - 1], text[start]):
            return 0
        if end >= len(text) or not _inside(text[end - 1], text[end]):
            return end
        for plural in ("s", "es") if end - start >= _PLURAL_FROM else ():
            after = end + len(plural)
            if text.startswith(plural, end) and (after == len(text) or not _inside("s", text[after])):
                return after
        return 0


def spell(text: str) -> Spelling:
    """Normalise a text, with offsets; linear in its length."""
    folded: list[str] = []
    offsets: list[int] = []
    before = _OTHER
    gap = False
    for at, c in enumerate(text):
        for form, kind in _forms(c):
            if kind == _SPACE:
                gap = True
                continue
            words = _OTHER not in (kind, before)
            if words and (gap or kind != before):
                folded.append(" ")
                offsets.append(at)
            folded.append(form)
            offsets.append(at)
            before, gap = kind, False
    return Spelling("".join(folded), offsets)


def form_of(text: str) -> str:
    """`spell(text).text`, twice as fast for names of common characters; a graph may have 100,000 names."""
    if not _COMMON.fullmatch(text):
        return spell(text).text
    folded = fold(text).strip(" -")
    if not folded.isascii() and (" " in folded or "-" in folded):
        folded = _GAPS.sub("", folded)
    return _BORDERS.sub(" ", folded)


def whole_words(form: str, start: int, end: int) -> tuple[int, int]:
    """A span extended so that it splits no Latin word or number."""
    while start > 0 and _inside(form[start - 1], form[start]):
        start -= 1
    while end < len(form) and _inside(form[end - 1], form[end]):
        end += 1
    return start, end


def only_as_whole(form: str) -> bool:
    """Whether a form is too short to be searched for inside a text: one character, or a bare number."""
    return len(form) < 2 or _NUMERIC.fullmatch(form) is not None


@lru_cache(maxsize=16_384)
def _forms(c: str) -> tuple[tuple[str, int], ...]:
    """The normal form of one character, with character classes; empty for invisible characters."""
    if c.isspace():
        return (("", _SPACE),)
    parts = unicodedata.normalize("NFKD", fold(unicodedata.normalize("NFKD", c))).casefold()
    return tuple(_kind(part) for part in parts if not _invisible(part))


def _kind(c: str) -> tuple[str, int]:
    if c.isspace() or c in _SOFT:
        return "", _SPACE
    if c.isdecimal():
        return str(unicodedata.decimal(c)), _DIGIT
    if c.isalnum() and not has_han(c) and not _SCRIPTS_WITHOUT_SPACES.match(c):
        return c, _LETTER
    return _MERGED.get(c, c), _OTHER


def _invisible(c: str) -> bool:
    hidden = unicodedata.combining(c) != 0 or unicodedata.category(c) in ("Cf", "Cc")
    return (hidden and not c.isspace()) or "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"


def _inside(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one Latin word or number."""
    return _kind(left)[1] == _kind(right)[1] in (_LETTER, _DIGIT)
