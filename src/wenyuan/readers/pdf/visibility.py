"""Which letters of a page of a PDF are seen on it: the page is drawn with and without those that may be hidden, and compared."""

from __future__ import annotations

import ctypes
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from time import process_time
from typing import Any

from wenyuan.readers.pdf.paint_order import Painted, painted
from wenyuan.readers.pdf.strokes import Box

# Text may be drawn in the colour of the paper, under a picture, outside its clip, in a layer that is off, or not at all.
# What may be so is found by its properties, which costs little; whether it is so says a drawing of the page alone. Text
# that is drawn in no colour over a picture is what was recognised in a scan: it stays where the picture shows something.

_LIGHT = 195  # of 255, the least of red, green and blue: such text on white paper may be hidden
_NEAR = 60  # of 255, between colours that may be hard to tell apart
_FAINT = 250  # of 255: what is less opaque may be hidden
_UNDER = 0.25  # of its box: text that is covered to such a share may be hidden
_OUTSIDE = 0.9  # of its box: text that is shown to less than this may be hidden
_SCALE = 2.0  # pixels a point
_MOST_PIXELS = 4_000_000
_LEAST_PIXELS = 2.0  # height of a letter, below which nothing is decided
_SEEN = 8  # of 255: a difference that an eye can see
_INK = 12  # of 255, between neighbouring pixels
_LEAST_RUN = 2  # letters: a single one may have no shape of its own
_UNMAPPED = 0.1  # of a page's letters: what is laid over these stands for them
_MOST_PAGES = 300
_MOST_SECONDS = 6.0  # of the processor, for one document
_NO_SHAPE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs"})
_MOST_PICTURES = 20  # of the whole page, that are looked at
_MOST = 0.5  # of a page: a picture of less is no picture of the page


@dataclass(frozen=True, slots=True)
class Visibility:
    """What is seen of the text of a page.

    Attributes:
        unseen: The letters that nobody sees, by their index in the page's text.
        laid: How many letters are drawn in no colour over something that the page shows.
        open: Whether some may be hidden, which was not found out.
        replaced: How many characters the file gave in place of others that the page shows.
    """

    unseen: frozenset[int] = frozenset()
    laid: int = 0
    open: bool = False
    replaced: int = 0


@dataclass(slots=True)
class VisibilityBudget:
    """How much may be drawn to find out what is seen, for one document."""

    pages: int = _MOST_PAGES
    until: float = field(default_factory=lambda: process_time() + _MOST_SECONDS)

    def takes(self) -> bool:
        """Take a page from it; False where nothing is left."""
        self.pages -= 1
        return self.pages >= 0 and process_time() < self.until


def visibility(page: Any, text_page: Any, unmapped: float, budget: VisibilityBudget) -> Visibility:
    """What is seen of the text of a page.

    Args:
        page: Of pypdfium2, as `text_page`.
        unmapped: The share of its letters of which the file does not say what they are.
    """
    items = painted(page)
    if items is None:
        return Visibility(open=True)
    doubtful = _doubtful(items)
    if not doubtful:
        return Visibility()
    if not budget.takes():
        return Visibility(open=True)
    return _Comparison(page, text_page, items, doubtful, unmapped >= _UNMAPPED).found()


def _doubtful(items: Sequence[Painted]) -> list[Painted]:
    """The texts that may be hidden, by their properties."""
    areas = [(at, item) for at, item in enumerate(items) if not item.text]
    over = _Areas(areas)
    return [item for at, item in enumerate(items) if item.text and (_by_itself(item) or over.hide(at, item))]


def _by_itself(item: Painted) -> bool:
    if item.invisible or item.within or not item.plain or item.colour is None:
        return True
    if min(item.colour[:3]) >= _LIGHT or item.colour[3] < _FAINT:
        return True
    return item.clip is not None and _shared(item.box, item.clip) < _OUTSIDE


def _shared(box: Box, other: Box) -> float:
    """The share of a box that lies in another one."""
    across = min(box[2], other[2]) - max(box[0], other[0])
    up = min(box[3], other[3]) - max(box[1], other[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return across * up / area if area > 0 and across > 0 and up > 0 else 0.0


class _Areas:
    """The areas of a page.

    Args:
        areas: Each with its place in the order of drawing.
    """

    def __init__(self, areas: Sequence[tuple[int, Painted]]) -> None:
        import numpy as np

        self._boxes = np.array([item.box for _, item in areas], dtype=float).reshape(-1, 4)
        self._places = np.array([at for at, _ in areas], dtype=int)
        unknown = (-1, -1, -1, 0)  # a picture or a shading may have any colour
        self._colours = np.array([item.colour or unknown for _, item in areas], dtype=int).reshape(-1, 4)

    def _share(self, item: Painted, least: float) -> Any:
        """Which of them hold more than a share of a text's box."""
        import numpy as np

        left, bottom, right, top = item.box
        across = np.minimum(self._boxes[:, 2], right) - np.maximum(self._boxes[:, 0], left)
        up = np.minimum(self._boxes[:, 3], top) - np.maximum(self._boxes[:, 1], bottom)
        return (across > 0) & (up > 0) & (across * up > least * (right - left) * (top - bottom))

    def cover(self, place: int, item: Painted) -> bool:
        """Whether a text lies wholly under one of them."""
        return bool(len(self._places)) and bool((self._share(item, _OUTSIDE) & (self._places > place)).any())

    def hide(self, place: int, item: Painted) -> bool:
        """Whether a text may lie under one of them, or on one of its own colour."""
        import numpy as np

        if not len(self._places):
            return False
        shared = self._share(item, _UNDER)
        if (shared & (self._places > place)).any():
            return True
        apart = np.abs(self._colours[:, :3] - np.array((item.colour or (0, 0, 0, 0))[:3])).max(axis=1)
        same = (self._colours[:, 0] < 0) | (apart <= _NEAR)
        return bool((shared & same).any())


class _Comparison:
    """A page as it is drawn with and without some of its text.

    Args:
        over_text: Whether what is drawn in no colour may stand for text, too, and not only for pictures.
    """

    def __init__(
        self, page: Any, text_page: Any, items: Sequence[Painted], doubtful: Sequence[Painted], over_text: bool
    ) -> None:
        self._page, self._text_page = page, text_page
        self._items, self._doubtful, self._over_text = items, doubtful, over_text
        width, height = page.get_size()
        self._scale = min(_SCALE, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
        self._by_handle = {_address(item.handle): item for item in doubtful}

    def found(self) -> Visibility:
        letters = self._letters()
        seen = self._seen
        unseen: set[int] = set()
        laid = 0
        undecided = False
        for address, found in letters.items():
            item = self._by_handle[address]
            over = item.invisible or self._behind_a_page(item)
            shown = [] if item.invisible else [seen.holds(box) for _, box in found]
            if over and not any(shown):
                shown = [self._over_ink(box) for _, box in found]
                laid += sum(_settled(shown))
            elif not any(shown) and not self._draws(item):
                hidden = self._covered(item)
                shown = [not (hidden or self._on_its_colour(item, box)) for _, box in found]
                undecided |= any(shown)
            unseen.update(index for (index, _), ok in zip(found, _settled(shown), strict=True) if not ok)
        return Visibility(frozenset(unseen), laid, undecided)

    def _letters(self) -> dict[int, list[tuple[int, Box]]]:
        """The letters of each text that may be hidden, with their places in the picture of the page."""
        from pypdfium2 import raw

        found: dict[int, list[tuple[int, Box]]] = {}
        left, bottom, right, top = (ctypes.c_double() for _ in range(4))
        placed = self._placed
        for index in range(self._text_page.count_chars()):
            address = _address(raw.FPDFText_GetTextObject(self._text_page.raw, index))
            if address not in self._by_handle or _shapeless(raw.FPDFText_GetUnicode(self._text_page.raw, index)):
                continue
            if not raw.FPDFText_GetCharBox(self._text_page.raw, index, left, right, bottom, top):
                continue
            box = placed((left.value, bottom.value, right.value, top.value))
            if box[3] - box[1] >= _LEAST_PIXELS or box[2] - box[0] >= _LEAST_PIXELS:
                found.setdefault(address, []).append((index, box))
        return found

    @cached_property
    def _placed(self) -> Callable[[Box], Box]:
        """From the page's coordinates to those of its picture."""
        from pypdfium2 import raw

        height, width = self._whole.shape[:2]
        x, y = ctypes.c_int(), ctypes.c_int()
        fine = 1000  # parts of a pixel: places are told as whole numbers

        def at(across: float, up: float) -> tuple[float, float]:
            raw.FPDF_PageToDevice(self._page.raw, 0, 0, width * fine, height * fine, 0, across, up, x, y)
            return x.value / fine, y.value / fine

        (e, f), (a, b), (c, d) = at(0, 0), at(100, 0), at(0, 100)
        a, b, c, d = (a - e) / 100, (b - f) / 100, (c - e) / 100, (d - f) / 100

        def placed(box: Box) -> Box:
            corners = [(a * x + c * y + e, b * x + d * y + f) for x in (box[0], box[2]) for y in (box[1], box[3])]
            xs, ys = [x for x, _ in corners], [y for _, y in corners]
            return min(xs), min(ys), max(xs), max(ys)

        return placed

    @cached_property
    def _whole(self) -> Any:
        return self._drawing()

    @cached_property
    def _without(self) -> Any:
        with _off(self._doubtful):
            return self._drawing()

    @cached_property
    def _seen(self) -> _Pixels:
        """The pixels in which text that may be hidden is seen."""
        import numpy as np

        if all(item.invisible for item in self._doubtful):
            return _Pixels(np.zeros(self._whole.shape[:2], dtype=bool))
        return _Pixels(np.abs(self._whole - self._without).max(axis=2) > _SEEN)

    @cached_property
    def _ink(self) -> _Pixels | None:
        """The pixels in which something but text is seen; None where the page shows nothing but text."""
        import numpy as np

        if self._over_text or all(item.invisible for item in self._items if item.text):
            shown = self._whole
        else:
            with _off([item for item in self._items if item.text]):
                shown = self._drawing()
        ink = np.zeros(shown.shape[:2], dtype=bool)
        ink[:, 1:] |= np.abs(np.diff(shown, axis=1)).max(axis=2) > _INK
        ink[1:, :] |= np.abs(np.diff(shown, axis=0)).max(axis=2) > _INK
        if not ink.any():
            return None
        return _Pixels(ink)

    def _over_ink(self, box: Box) -> bool:
        if self._ink is None:  # a picture that cannot be drawn may show anything
            return any(not item.text and item.colour is None for item in self._items)
        around = max(box[3] - box[1], box[2] - box[0]) / 2  # what was recognised is not laid to the pixel
        return self._ink.holds((box[0] - around, box[1] - around, box[2] + around, box[3] + around))

    def _draws(self, item: Painted) -> bool:
        """Whether the letters of a text have shapes here: a font that is not in the file, or damaged, may have none."""
        from pypdfium2 import raw

        bitmap = raw.FPDFTextObj_GetRenderedBitmap(self._page.pdf.raw, self._page.raw, item.handle, 1.0)
        if not bitmap:
            return False
        try:
            size = raw.FPDFBitmap_GetStride(bitmap) * raw.FPDFBitmap_GetHeight(bitmap)
            return any(ctypes.string_at(raw.FPDFBitmap_GetBuffer(bitmap), size)[3::4])
        finally:
            raw.FPDFBitmap_Destroy(bitmap)

    def _behind_a_page(self, item: Painted) -> bool:
        """Whether a picture of most of the page lies over a text: some programs put what they recognised under it."""
        place = self._places[_address(item.handle)]
        return any(at > place and _shared(item.box, box) >= _OUTSIDE for at, box in self._page_pictures)

    @cached_property
    def _places(self) -> dict[int, int]:
        """The places of the page's objects in the order of drawing."""
        return {_address(item.handle): at for at, item in enumerate(self._items)}

    @cached_property
    def _page_pictures(self) -> list[tuple[int, Box]]:
        """The last pictures of most of the page, with their places."""
        width, height = self._page.get_size()
        found = [
            (at, item.box)
            for at, item in enumerate(self._items)
            if not item.text and item.colour is None and _shared((0.0, 0.0, width, height), item.box) >= _MOST
        ]
        return found[-_MOST_PICTURES:]

    def _covered(self, item: Painted) -> bool:
        """Whether a text would be hidden whatever its letters look like: it is cut off, or under a filled rectangle."""
        return _outside(item) or self._rectangles.cover(self._places[_address(item.handle)], item)

    @cached_property
    def _rectangles(self) -> _Areas:
        """The rectangles that let nothing through."""
        return _Areas(
            [
                (at, item)
                for at, item in enumerate(self._items)
                if not item.text and item.plain and item.colour is not None and item.colour[3] >= _FAINT
            ]
        )

    def _on_its_colour(self, item: Painted, box: Box) -> bool:
        """Whether what lies under a letter has its colour."""
        import numpy as np

        left, top, right, bottom = (max(0, round(edge)) for edge in box)
        paper = self._without[top : bottom + 1, left : right + 1]
        if item.colour is None or not paper.size:
            return False
        red, green, blue = item.colour[:3]
        return bool((np.abs(paper - np.array((blue, green, red))).max(axis=2) <= _SEEN).mean() >= _OUTSIDE)

    def _drawing(self) -> Any:
        """The page as numbers of rows, columns, and blue, green, red."""
        import numpy as np

        bitmap = self._page.render(scale=self._scale, may_draw_forms=False, draw_annots=False)
        try:
            return bitmap.to_numpy()[:, :, :3].astype(np.int16)
        finally:
            bitmap.close()


class _Pixels:
    """Which pixels of a picture have a property, to be asked for boxes of them."""

    def __init__(self, marked: Any) -> None:
        import numpy as np

        self._sums = np.zeros((marked.shape[0] + 1, marked.shape[1] + 1), dtype=np.int32)
        self._sums[1:, 1:] = marked.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32)

    def holds(self, box: Box) -> bool:
        """Whether one of those within a box has it."""
        height, width = self._sums.shape[0] - 1, self._sums.shape[1] - 1
        left, right = (min(max(int(edge), 0), width) for edge in (box[0], box[2] + 1))
        top, bottom = (min(max(int(edge), 0), height) for edge in (box[1], box[3] + 1))
        sums = self._sums
        return bool(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left] > 0)


def _settled(shown: Sequence[bool]) -> Iterator[bool]:
    """The same, with single letters among visible ones as visible."""
    runs = [(ok, len(list(run))) for ok, run in groupby(shown)]
    for ok, length in runs:
        yield from [ok or (length < _LEAST_RUN and len(runs) > 1)] * length


def _shapeless(code: int) -> bool:
    """Whether a character is a space or a control, which nobody sees in any case."""
    return unicodedata.category(chr(code)) in _NO_SHAPE


def _outside(item: Painted) -> bool:
    return item.clip is not None and _shared(item.box, item.clip) <= 0.0


@contextmanager
def _off(items: Sequence[Painted]) -> Iterator[None]:
    """Within it, these are not drawn."""
    from pypdfium2 import raw

    for item in items:
        raw.FPDFPageObj_SetIsActive(item.handle, 0)
    try:
        yield
    finally:
        for item in items:
            raw.FPDFPageObj_SetIsActive(item.handle, 1)


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
