"""Texts that a PDF gives in place of what it draws (``/ActualText``): another text than the one on the page is none of it."""

from __future__ import annotations

import ctypes
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

# A program writes there what a ligature, a hyphen or a drawn initial stands for; pdfium reads this, and not the letters. Both are
# compared, letters and digits alone, on another copy of the page without its marks: where they share little, and what is
# drawn is known, the mark is taken off the page, and its own letters are read.

_MOST_OBJECTS = 20_000
_DEPTH = 5  # of drawings within drawings
_LONGEST = 20_000  # bytes of UTF-16
_LEAST = 3  # letters that are drawn
_MOST_SHARED = 0.5  # of the letters of either


class _Marked(NamedTuple):
    """A text that is drawn under a mark which gives another for it."""

    place: int
    thing: Any
    mark: Any
    text: str


def without_false_replacements(page: Any, index: int) -> int:
    """Take replacements that say something else than the page shows off its marks.

    Args:
        page: Of pypdfium2, which is changed.
        index: Its place in the document, from 0.

    Returns:
        How many characters they held.
    """
    marked = list(_marked(page))
    if not marked:
        return 0
    drawn = _drawn(page.pdf[index])
    removed = 0
    for text, group in groupby(marked, lambda each: each.text):
        parts = list(group)
        if _false(text, "".join(drawn.get(each.place, "") for each in parts)):
            removed += sum(not sign.isspace() for sign in text)
            _take_off(parts)
    return removed


def _texts(page: Any) -> Iterator[tuple[int, Any]]:
    """The texts that a page draws, with their places among all that it draws."""
    from pypdfium2 import raw

    pending: list[tuple[Any, int]] = [(page.raw, 0)]
    place = 0
    while pending:
        holder, depth = pending.pop()
        count, nth = (
            (raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject)
            if depth
            else (raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject)
        )
        for at in range(count(holder)):
            thing = nth(holder, at)
            kind = raw.FPDFPageObj_GetType(thing)
            place += 1
            if place > _MOST_OBJECTS:
                return
            if kind == raw.FPDF_PAGEOBJ_TEXT:
                yield place, thing
            elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _DEPTH:
                pending.append((thing, depth + 1))


def _marked(page: Any) -> Iterator[_Marked]:
    from pypdfium2 import raw

    for place, thing in _texts(page):
        for at in range(raw.FPDFPageObj_CountMarks(thing)):
            mark = raw.FPDFPageObj_GetMark(thing, at)
            if text := _replacement(mark):
                yield _Marked(place, thing, mark, text)
                break


def _replacement(mark: Any) -> str:
    """The text that a mark gives in place of what is drawn; ``""`` for none."""
    from pypdfium2 import raw

    size = ctypes.c_ulong()
    if (
        not raw.FPDFPageObjMark_GetParamStringValue(mark, b"ActualText", None, 0, size)
        or not 2 < size.value <= _LONGEST
    ):
        return ""
    text = (ctypes.c_ushort * (size.value // 2))()
    raw.FPDFPageObjMark_GetParamStringValue(mark, b"ActualText", text, size.value, size)
    return bytes(text).decode("utf-16-le", "replace").rstrip("\0")


def _drawn(page: Any) -> dict[int, str]:
    """What the texts of a page say themselves, by their places; the page is closed."""
    from pypdfium2 import raw

    places: dict[int, int] = {}
    for place, thing in _texts(page):
        places[ctypes.cast(thing, ctypes.c_void_p).value or 0] = place
        for at in reversed(range(raw.FPDFPageObj_CountMarks(thing))):
            raw.FPDFPageObj_RemoveMark(thing, raw.FPDFPageObj_GetMark(thing, at))
    found: dict[int, list[str]] = {}
    text_page = page.get_textpage()
    try:
        for index in range(text_page.count_chars()):
            thing = raw.FPDFText_GetTextObject(text_page.raw, index)
            place = places.get(ctypes.cast(thing, ctypes.c_void_p).value or 0, 0)
            known = not raw.FPDFText_HasUnicodeMapError(text_page.raw, index)
            found.setdefault(place, []).append(chr(raw.FPDFText_GetUnicode(text_page.raw, index)) if known else "")
    finally:
        text_page.close()
        page.close()
    return {place: "".join(signs) for place, signs in found.items()}


def _false(text: str, drawn: str) -> bool:
    """Whether a replacement says something else than what is drawn."""
    one, other = _letters(text), _letters(drawn)
    if len(other) < _LEAST or one in other or other in one:
        return False
    shared = sum((Counter(one) & Counter(other)).values())
    return shared < _MOST_SHARED * max(len(one), len(other)) or (
        len(one) == len(other) and _numbers_differ(text, drawn)
    )


def _letters(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKC", text).casefold() if sign.isalnum())


def _numbers_differ(text: str, drawn: str) -> bool:
    """Whether both are numbers, and not the same one."""
    one, other = _letters(text), _letters(drawn)
    return one.isdigit() and other.isdigit() and one != other


def _take_off(parts: Sequence[_Marked]) -> None:
    from pypdfium2 import raw

    for part in parts:
        raw.FPDFPageObj_RemoveMark(part.thing, part.mark)
