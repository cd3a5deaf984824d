"""The length of texts in tokens, estimated."""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections import OrderedDict
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

# In hundredths of a token: integers, so that sums are exact.
_SPACE, _CJK, _MARK, _WIDE, _LETTER, _DIGIT = range(6)
_RUN = {_LETTER: (140, 5, 25), _DIGIT: (200, 4, 40)}  # the first of a run, how many it covers, each beyond them
_EACH = ((0, 0, 0), (75, 0, 75), (70, 0, 70), (100, 0, 100))  # of the other kinds: every one as the first
_CJK_RANGES = (
    (0x2E80, 0x2FE0), (0x3005, 0x3008), (0x3040, 0x3400), (0x3400, 0x4DC0), (0x4E00, 0xA4D0),
    (0xAC00, 0xD7B0), (0xF900, 0xFB00), (0xFF66, 0xFFDD),
)  # fmt: skip


_WINDOW = 1 << 16  # characters
_HELD = 4  # windows


@lru_cache(maxsize=1)
def _classes() -> tuple[Any, Any]:
    """Character class of each character of the basic plane, (65537,) uint8, the last entry being for all others; and
    what each class costs, (3, 6): the first of a run, how many it covers, each beyond them.
    """
    import numpy as np

    table = np.full(0x10001, _MARK, dtype=np.uint8)
    for code in range(0x10000):
        c = chr(code)
        if c.isspace():
            table[code] = _SPACE
        elif c.isdecimal():
            table[code] = _DIGIT
        elif c.isalnum() or c == "_" or unicodedata.category(c)[0] == "M":
            table[code] = _LETTER
    for low, high in _CJK_RANGES:
        table[low:high] = _CJK
    table[0x10000] = _WIDE
    return table, np.array([*_EACH, *_RUN.values()], dtype=np.int64).T


class _Window(NamedTuple):
    """A part of a text: the class of each character, whether it opens a run, and what those before it cost."""

    kinds: Any
    opens: Any
    sums: list[int]


class Meter:
    """Token estimates for any part of one text, in hundredths, in constant time after one pass.

    What is known of each character takes fifty times its space, so of a long text only some windows are held at a time.
    """

    MOST = 200
    """No character costs more."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._windows: OrderedDict[int, _Window] = OrderedDict()

    @cached_property
    def _edges(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Of each window, what the text before it costs, and the class of its last character with its place in its run."""
        before, ends = [0], []
        kind, place = -1, -1
        for number in range(max(1, -(-len(self._text) // _WINDOW))):
            kinds, places, weights = self._weighed(number, kind, place)
            before.append(before[-1] + int(weights.sum()))
            kind, place = (int(kinds[-1]), int(places[-1])) if len(kinds) else (-1, -1)
            ends.append((kind, place))
        return before, ends

    def _weighed(self, number: int, kind: int, place: int) -> tuple[Any, Any, Any]:
        """Class, place in its run and cost of each character of a window, after a character of this class and place."""
        import numpy as np

        classes, (first, covered, beyond) = _classes()
        part = self._text[number * _WINDOW : (number + 1) * _WINDOW]
        codes = np.frombuffer(part.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        kinds = classes[np.minimum(codes, 0x10000)]
        index = np.arange(len(kinds))
        fresh = np.ones(len(kinds), dtype=bool)
        fresh[1:] = kinds[1:] != kinds[:-1]
        places = index - np.maximum.accumulate(np.where(fresh, index, 0))
        if len(kinds) and kinds[0] == kind:  # the run goes on from the window before
            going_on = np.argmax(fresh[1:]) + 1 if fresh[1:].any() else len(kinds)
            places[:going_on] += place + 1
        weights = np.where(places == 0, first[kinds], np.where(places >= covered[kinds], beyond[kinds], 0))
        return kinds, places, weights

    def _window(self, at: int) -> _Window:
        """The window of a character; or of the end of the text, which is that of its last one."""
        import numpy as np

        number = min(at, max(0, len(self._text) - 1)) // _WINDOW
        if (found := self._windows.get(number)) is not None:
            self._windows.move_to_end(number)
            return found
        before, ends = self._edges
        kind, place = ends[number - 1] if number else (-1, -1)
        kinds, places, weights = self._weighed(number, kind, place)
        sums = (np.concatenate(([0], np.cumsum(weights))) + before[number]).tolist()
        found = self._windows[number] = _Window(kinds, places == 0, sums)
        if len(self._windows) > _HELD:
            self._windows.popitem(last=False)
        return found

    def _sum(self, at: int) -> int:
        """What the characters before one cost."""
        return self._window(at).sums[at - min(at, max(0, len(self._text) - 1)) // _WINDOW * _WINDOW]

    def __call__(self, start: int, end: int) -> int:
        """Estimate of ``text[start:end]`` in hundredths of a token, as if it stood alone."""
        if end <= start:
            return 0
        total = self._sum(end) - self._sum(start)
        window, at = self._window(start), start % _WINDOW
        kind = int(window.kinds[at])
        if kind not in _RUN or window.opens[at]:
            return total
        stop = start  # the part begins inside a word: that rest counts as a word of its own
        while stop < end and window.kinds[at] == kind and not window.opens[at]:
            stop += 1
            at += 1
            if at == len(window.kinds) and stop < end:
                window, at = self._window(stop), 0
        first, free, more = _RUN[kind]
        alone = first + more * max(0, stop - start - free)
        return total - (self._sum(stop) - self._sum(start)) + alone

    def reach(self, start: int, room: int) -> int:
        """The largest end, at least ``start + 1``, such that the part costs at most `room`."""
        most = self._sum(start) + room
        number = start // _WINDOW
        before = self._edges[0]
        while number + 1 < len(before) - 1 and before[number + 1] <= most:
            number += 1
        sums = self._window(number * _WINDOW).sums
        end = number * _WINDOW + bisect.bisect_right(sums, most) - 1
        while end > start + 1 and self(start, end) > room:
            end -= 1
        return max(end, start + 1)


def estimate_tokens(text: str) -> int:
    """Estimated number of multilingual-e5 tokens of a text; errs on the high side."""
    return -(-Meter(text)(0, len(text)) // 100)


MAX_TOKENS = 400
TARGET_TOKENS = 256
PAGE = re.compile(r"page=([0-9]+)")
KEYED = re.compile(r"(?:page|row)=[0-9]+")
FRAMES = re.compile(r"\{%-?\s*(?:include|import|extends|assign|raw|end\w*)[^%]*%\}|</?[a-zA-Z][^<>]*>")
