"""Letters of a page that are drawn as others: what the file says they are is not what a reader of the page sees."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from dataclasses import dataclass, field
from time import process_time
from typing import Any, NamedTuple

from wenyuan.readers.pdf.letter_shapes import LETTERS, likeness, shape
from wenyuan.readers.pdf.paint_order import INVISIBLE

# A font tells a program which character each of its glyphs is, and nothing holds it to the truth. Each letter of each font
# is looked at once where it is drawn: one that looks as another letter does in a common font, and not at all as itself, is
# no text of the page. Fonts of other shapes, other scripts and letters that look alike are not judged.

_MOST_SECONDS = 2.5  # of the processor, for one document
_MOST_PICTURES = 12  # of whole pages
_MOST_LETTERS = 4_000  # of a page, that are looked at
_MOST_KEYS = 5_000
_SCALE = 4.0  # pixels a point
_MOST_PIXELS = 6_000_000
_LEAST_HEIGHT = 3.0  # points
_NARROW = 0.35  # of its height: narrow letters look alike
_CONTRAST = 60  # of 255
_OTHER, _APART = 0.85, 0.2  # how alike to another letter, and how much less to its own
_SURE, _FAR = 0.9, 0.3  # the same for a letter that is the only one of its font
_LEAST = 2  # letters that make all of a font doubtful
_SHARE = 0.2  # of the letters of a font that were looked at
_STANDARD = frozenset((b"Helvetica", b"Times", b"Courier"))
_UPRIGHT = 2.0  # degrees
_CODES = frozenset(map(ord, LETTERS))
_SPACE = frozenset((0, 9, 10, 13, 32, 160))


class _Font(NamedTuple):
    name: bytes
    size: int
    embedded: int


class _Key(NamedTuple):
    font: _Font
    letter: str
    width: float


@dataclass(slots=True)
class LetterCheck:
    """What was found out of a document's letters, page by page."""

    pictures: int = _MOST_PICTURES
    seconds: float = _MOST_SECONDS
    _seen: dict[_Key, bool] = field(default_factory=dict)  # whether one is drawn as another
    _sure: set[_Key] = field(default_factory=set)
    _counts: Counter[_Font] = field(default_factory=Counter)
    _false: Counter[_Font] = field(default_factory=Counter)

    def of(self, page: Any, text_page: Any) -> frozenset[int]:
        """The letters of a page that are drawn as others, with the words in which they stand, by their index in its text.

        Args:
            page: Of pypdfium2, as `text_page`.
        """
        if self.seconds <= 0:
            return frozenset()
        begun = process_time()
        try:
            letters = self._letters(text_page)
            fresh: dict[_Key, int] = {}
            for index, key in letters.items():
                if key not in self._seen:
                    fresh.setdefault(key, index)
            if fresh and self.pictures > 0 and len(self._seen) < _MOST_KEYS:
                self._look(page, text_page, fresh)
            return self._judged(text_page, letters)
        finally:
            self.seconds -= process_time() - begun

    def _letters(self, text_page: Any) -> dict[int, _Key]:
        from pypdfium2 import raw

        found: dict[int, _Key] = {}
        fonts: dict[int, _Font | None] = {}
        left, bottom, right, top = (ctypes.c_double() for _ in range(4))
        for index in range(text_page.count_chars()):
            code = raw.FPDFText_GetUnicode(text_page.raw, index)
            if code not in _CODES:
                continue
            thing = raw.FPDFText_GetTextObject(text_page.raw, index)
            address = ctypes.cast(thing, ctypes.c_void_p).value or 0
            if not address or not raw.FPDFText_GetCharBox(text_page.raw, index, left, right, bottom, top):
                continue
            high, wide = top.value - bottom.value, right.value - left.value
            if high < _LEAST_HEIGHT or wide < _NARROW * high:
                continue
            if address not in fonts:
                fonts[address] = _font(thing)
            font = fonts[address]
            if font is not None:
                found[index] = _Key(font, chr(code), round(wide / high, 1))
            if len(found) >= _MOST_LETTERS:
                break
        return found

    def _look(self, page: Any, text_page: Any, fresh: dict[_Key, int]) -> None:
        self.pictures -= 1
        width, height = page.get_size()
        scale = min(_SCALE, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
        bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False, draw_annots=False)
        try:
            picture = bitmap.to_numpy()
            for key, index in fresh.items():
                drawn = _drawn(page, text_page, picture, index)
                if drawn is None:
                    continue
                own, other = likeness(drawn, key.letter)
                self._seen[key] = other >= _OTHER and other - own >= _APART
                if other >= _SURE and other - own >= _FAR:
                    self._sure.add(key)
                self._counts[key.font] += 1
                self._false[key.font] += self._seen[key]
        finally:
            bitmap.close()

    def _judged(self, text_page: Any, letters: dict[int, _Key]) -> frozenset[int]:
        from pypdfium2 import raw

        fonts = {
            font for font, count in self._false.items() if count >= _LEAST and count >= _SHARE * self._counts[font]
        }
        if not (fonts or self._sure):
            return frozenset()
        found = {index for index, key in letters.items() if key.font in fonts or key in self._sure}
        if not found:
            return frozenset()
        count = text_page.count_chars()
        spaces = [raw.FPDFText_GetUnicode(text_page.raw, index) in _SPACE for index in range(count)]
        for index in sorted(found):
            for step in (1, -1):
                at = index + step
                while 0 <= at < count and not spaces[at] and at not in found:
                    found.add(at)
                    at += step
        return frozenset(found)


def _font(thing: Any) -> _Font | None:
    """The font of a text; None for one whose letters are not judged.

    They are not where they were recognised in a picture and laid over it, and not where the font is not in the file and is no
    standard one: what is drawn then is a guess of the program that draws.
    """
    from pypdfium2 import raw

    if raw.FPDFTextObj_GetTextRenderMode(thing) in INVISIBLE:
        return None
    font = raw.FPDFTextObj_GetFont(thing)
    name = ctypes.create_string_buffer(200)
    raw.FPDFFont_GetBaseFontName(font, name, 200)
    embedded = raw.FPDFFont_GetIsEmbedded(font)
    if not embedded and name.value.partition(b"-")[0] not in _STANDARD:
        return None
    size = ctypes.c_size_t()
    raw.FPDFFont_GetFontData(font, None, 0, size)
    return _Font(name.value, size.value, embedded)


def _drawn(page: Any, text_page: Any, picture: Any, index: int) -> tuple[Any, float] | None:
    """The shape of a letter on the picture of its page; None where it is not clearly seen."""
    import numpy as np
    from pypdfium2 import raw

    left, bottom, right, top = (ctypes.c_double() for _ in range(4))
    raw.FPDFText_GetCharBox(text_page.raw, index, left, right, bottom, top)
    height, width = picture.shape
    x, y = ctypes.c_int(), ctypes.c_int()
    across, down = [], []
    for right_or_left, top_or_bottom in ((left.value, bottom.value), (right.value, top.value)):
        raw.FPDF_PageToDevice(page.raw, 0, 0, width * 100, height * 100, 0, right_or_left, top_or_bottom, x, y)
        across.append(x.value / 100)
        down.append(y.value / 100)
    edges = int(min(across)), int(np.ceil(max(across))) + 1, int(min(down)), int(np.ceil(max(down))) + 1
    if edges[0] < 0 or edges[2] < 0 or edges[1] > width or edges[3] > height:
        return None
    part = picture[edges[2] : edges[3], edges[0] : edges[1]].astype(float)
    if part.size == 0 or part.max() - part.min() < _CONTRAST:
        return None
    turned = math.degrees(raw.FPDFText_GetCharAngle(text_page.raw, index)) + page.get_rotation()
    if abs(turned - round(turned / 90) * 90) > _UPRIGHT:
        return None
    part = np.rot90(part, round(turned / 90))
    paper = float(np.median(np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])))
    ink = np.abs(part - paper) / max(part.max() - paper, paper - part.min(), 1.0)
    return shape(ink)
