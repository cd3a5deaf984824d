"""The length of texts in tokens, estimated."""

from __future__ import annotations

import bisect
import re
import unicodedata
from functools import cached_property, lru_cache
from typing import Any

# In hundredths of a token: integers, so that sums are exact.
_SPACE, _CJK, _MARK, _WIDE, _LETTER, _DIGIT = range(6)
_RUN = {_LETTER: (140, 5, 25), _DIGIT: (200, 4, 40)}  # the first of a run, how many it covers, each beyond them
_EACH = ((0, 0, 0), (75, 0, 75), (70, 0, 70), (100, 0, 100))  # of the other kinds: every one as the first
_CJK_RANGES = (
    (0x2E80, 0x2FE0), (0x3005, 0x3008), (0x3040, 0x3400), (0x3400, 0x4DC0), (0x4E00, 0xA4D0),
    (0xAC00, 0xD7B0), (0xF900, 0xFB00), (0xFF66, 0xFFDD),
)  # fmt: skip


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


class Meter:
    """Token estimates for any part of one text, in hundredths, in constant time after one pass."""

    MOST = 200
    """No character costs more."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _measured(self) -> tuple[Any, Any, list[int]]:
        """Class and place in its run of each character, and what those before it cost. Short texts seldom need it."""
        import numpy as np

        classes, (first, covered, beyond) = _classes()
        codes = np.frombuffer(self._text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        kinds = classes[np.minimum(codes, 0x10000)]
        index = np.arange(len(kinds))
        fresh = np.ones(len(kinds), dtype=bool)
        fresh[1:] = kinds[1:] != kinds[:-1]
        place = index - np.maximum.accumulate(np.where(fresh, index, 0))
        weights = np.where(place == 0, first[kinds], np.where(place >= covered[kinds], beyond[kinds], 0))
        return kinds, place, np.concatenate(([0], np.cumsum(weights))).tolist()

    def __call__(self, start: int, end: int) -> int:
        """Estimate of ``text[start:end]`` in hundredths of a token, as if it stood alone."""
        if end <= start:
            return 0
        kinds, place, sums = self._measured
        total = sums[end] - sums[start]
        kind = int(kinds[start])
        if kind not in _RUN or place[start] == 0:
            return total
        stop = start  # the part begins inside a word: that rest counts as a word of its own
        while stop < end and kinds[stop] == kind and place[stop] > 0:
            stop += 1
        first, free, more = _RUN[kind]
        alone = first + more * max(0, stop - start - free)
        return total - (sums[stop] - sums[start]) + alone

    def reach(self, start: int, room: int) -> int:
        """The largest end, at least ``start + 1``, such that the part costs at most `room`."""
        sums = self._measured[2]
        end = bisect.bisect_right(sums, sums[start] + room) - 1
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
