"""Which rules are meant, as people write it: ``3,7``, ``1-50``, ``all``."""

from __future__ import annotations

import re
import unicodedata

from wenyuan.core.errors import msg

NumberSpan = tuple[int, int | None]
"""First and last number of what waits for a review; None: to the end."""
_SEPARATORS = re.compile(r"\s*[,，、;；]\s*")
_RANGE = re.compile(r"([0-9]{1,18})(?:\s*[-–—~～]\s*([0-9]{1,18}))?")
_EVERY = frozenset(("all", "全部"))


def written_numbers(text: str) -> list[int | NumberSpan]:
    """Rule numbers, and spans of rules that wait for review, in the order given.

    Raises:
        ValueError: it is none of these.
    """
    parts = [part for part in _SEPARATORS.split(unicodedata.normalize("NFKC", text).strip()) if part]
    if [part.casefold() for part in parts] in [[word] for word in _EVERY]:
        return [(1, None)]
    found = [_RANGE.fullmatch(part) for part in parts]
    if not parts or None in found:
        raise ValueError(msg("{text} is no list of rule numbers: 3,7 or 1-50, or all", text=repr(text)))
    return [int(one[1]) if one[2] is None else (int(one[1]), int(one[2])) for one in found if one]
