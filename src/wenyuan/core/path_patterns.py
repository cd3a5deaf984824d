"""Patterns of paths: ``*`` stands for any characters but ``/``, ``**`` for any number of folders."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg

LONGEST = 1_000
"""Characters of a pattern."""


def parse_pattern(value: object, path: str = "path") -> str:
    """A pattern in one form; InvalidRequest where it is none."""
    if not isinstance(value, str) or not value.strip("/ ") or len(value) > LONGEST or not value.isprintable():
        why = msg(
            "must be a path of 1 to {longest} characters, with * and ** for what may stand there", longest=LONGEST
        )
        raise InvalidRequest(listed([Fault(path, why)]), faults=(Fault(path, why),))
    return unicodedata.normalize("NFC", value.strip().strip("/"))


def fits(pattern: str, path: str) -> bool:
    """Whether a path is one of those that a pattern means; in time proportional to the product of their lengths."""
    wanted = _segments(pattern)
    reached = [True] + [False] * len(wanted)  # after so many segments of the pattern
    for number, segment in enumerate(wanted):
        if segment != "**" or not reached[number]:
            break
        reached[number + 1] = True
    for part in unicodedata.normalize("NFC", path).strip("/").split("/"):
        after = [False] * len(reached)
        for number, segment in enumerate(wanted):
            if segment == "**":
                after[number + 1] = after[number + 1] or reached[number] or reached[number + 1] or after[number]
                after[number] = after[number] or reached[number]
            elif reached[number] and _fits_segment(segment, part):
                after[number + 1] = True
        for number, segment in enumerate(wanted):  # ``**`` may stand for no folder
            if segment == "**" and after[number]:
                after[number + 1] = True
        reached = after
        if not any(reached):
            return False
    return reached[-1]


@lru_cache(1_024)
def _segments(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.split("/"))


def _fits_segment(pattern: str, text: str) -> bool:
    """Whether a text fits a pattern with ``*``: each piece is taken where it first stands."""
    pieces = pattern.split("*")
    if len(pieces) == 1:
        return pattern == text
    first, *middle, last = pieces
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
