"""The normal form in which texts are compared, and which of two languages a text is in. Needs no other table or grammar."""

from __future__ import annotations

import re
import unicodedata
from importlib import resources

_TRADITIONAL, _SIMPLIFIED = resources.files("wenyuan.core").joinpath("t2s.txt").read_text("utf-8").split()
_T2S = str.maketrans(_TRADITIONAL, _SIMPLIFIED)
_ANY_TRADITIONAL = re.compile(f"[{re.escape(_TRADITIONAL)}]")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")


CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff々〇"
"""Characters that are terms, alone and by two, as the inside of a character class."""
HAN = "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
"""Chinese characters, as the inside of a character class."""
_CJK_RUN = re.compile(rf"[{CJK}]+")
_WIDE_MARKS = tuple(zip("，：；？！（）\u3000", ",:;?!() ", strict=True))  # as NFKC does


def fold(text: str) -> str:
    """The normal form in which texts are compared: NFKC, lower case, Simplified characters."""
    return unified(text).lower()


def narrowed(text: str) -> str:
    """Full-width punctuation as half-width, character for character: most of what NFKC changes in Chinese text."""
    if not text.isascii():
        for wide, narrow in _WIDE_MARKS:
            text = text.replace(wide, narrow)
    return text


def has_traditional(text: str) -> bool:
    """Whether a text has a Traditional character with a Simplified form."""
    return _ANY_TRADITIONAL.search(text) is not None


def simplified(text: str) -> str:
    """Chinese text in Simplified characters; text with kana is Japanese, and is left unchanged."""
    # To translate text in which there is nothing to translate takes longest: every miss is an exception.
    return text.translate(_T2S) if _ANY_TRADITIONAL.search(text) and not _KANA.search(text) else text


def unified(text: str) -> str:
    """As `fold`, but keeps the case, by which Roman numerals and letters of appendices are recognised."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", narrowed(text))
    # To translate text in which there is nothing to translate takes longest: every miss is an exception.
    return composed.translate(_T2S) if _ANY_TRADITIONAL.search(composed) else composed


def has_han(text: str) -> bool:
    """Whether a text contains a CJK character."""
    return _CJK_RUN.search(text) is not None


def language_of(text: str) -> str:
    """``zh`` or ``en`` by the share of CJK characters among letters; ``""`` for a text without letters."""
    sample = text[:4_000]
    others = _CJK_RUN.sub("", sample)
    cjk, letters = len(sample) - len(others), sum(map(str.isalpha, others))
    if cjk + letters == 0:
        return ""
    return "zh" if cjk * 4 >= letters else "en"  # one Chinese character says about as much as four letters
