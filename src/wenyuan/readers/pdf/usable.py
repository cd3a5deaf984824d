"""Decides whether a page's text layer is usable, or the page needs OCR."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_LEAST_TEXT = 30  # characters: a picture over most of the page beside fewer than that is a scan with a stamp on it
_COVERED = 0.5  # of the page
_SHARE = 0.1
_LEAST_BAD = 8
_SAMPLED = 500  # characters of a page that are asked for their glyphs
_HAN = re.compile("[\u3400-\u9fff]")
_LEAST_HAN = 100
_ORDINARY = frozenset(
    "的一是不在有人了中大为以和上个国我到他时要就出会可也你对年月日号第条元及或与其等應為於與個國會時對條號，。、；："
)
_LEAST_ORDINARY = 0.02  # of the Chinese characters of a page; about .2 in any real text
# What Chinese text looks like that was decoded as Latin-1 or Windows-1252: letters with accents side by side, which no
# language writes; and the two words that damaged UTF-8 and empty memory make of GBK.
_MOJIBAKE = re.compile("[\u00a1-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2018-\u201e\u2020\u2021\u2022\u2026\u2030\u2039\u203a\u20ac\u2122]{4,}")  # fmt: skip
_GARBLED = re.compile("(?:锟斤拷|烫烫|屯屯)+")
_NO_TEXT = frozenset({"Co", "Cn", "Cs", "Cc"})


def unreadable(text: str, unmapped: float = 0.0) -> float:
    """The share (0..1) of a page's visible characters that are garbage.

    These are characters of private use, U+FFFD, controls and code points that nothing is assigned to; runs of four and more
    letters with accents (Chinese in a wrong encoding); all Chinese characters of a page that has a hundred of them and none
    of those that every text has (a font's table that names wrong ones).

    Args:
        unmapped: The share of glyphs of which the file does not say which character they are.
    """
    visible = [c for c in text if not c.isspace()]
    if not visible:
        return 0.0
    bad = sum(c == "\ufffd" or (unicodedata.category(c) in _NO_TEXT and c != "\ufffe") for c in visible)
    bad += sum(len(run) for run in _MOJIBAKE.findall(text) if len(set(run)) > 2 and sum("\u00a1" <= c <= "\u00ff" for c in run) >= len(run) / 2)  # fmt: skip
    bad += sum(len(run) for run in _GARBLED.findall(text))
    han = _HAN.findall(text)
    if len(han) >= _LEAST_HAN and sum(c in _ORDINARY for c in visible) < _LEAST_ORDINARY * len(han):
        bad += len(han)
    return min(1.0, max(bad / len(visible) if bad >= _LEAST_BAD else 0.0, unmapped))


def unmapped_share(text_page: Any) -> float:
    """The share (0..1) of a page's glyphs, sampled, without a Unicode mapping.

    Args:
        text_page: Of pypdfium2.
    """
    from pypdfium2 import raw

    count = text_page.count_chars()
    if not count:
        return 0.0
    sampled = range(0, count, max(1, count // _SAMPLED))
    unmapped: int = sum(raw.FPDFText_HasUnicodeMapError(text_page, at) == 1 for at in sampled)
    return unmapped / len(sampled)


def needs_picture(page: Any, own: str, unmapped: float) -> bool:
    """Whether a page needs OCR: it is not blank, and its text layer is empty or broken.

    Args:
        page: Of pypdfium2.
        own: The text of its layer.
        unmapped: As `unmapped_share` says.
    """
    visible = sum(not c.isspace() for c in own)
    if not visible:
        return next(iter(page.get_objects(max_depth=1)), None) is not None
    if visible < _LEAST_TEXT and _covered(page) >= _COVERED:
        return True
    return unreadable(own, unmapped) >= _SHARE


def _covered(page: Any) -> float:
    """The share (0..1) of the page area covered by its largest image."""
    from pypdfium2 import raw

    width, height = page.get_width(), page.get_height()
    most = 0.0
    for image in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = image.get_bounds()
        most = max(most, (right - left) * (top - bottom))
    return most / (width * height) if width and height else 0.0
