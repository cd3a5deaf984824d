"""The values of a row as keys of fixed length, for indexes on servers whose queries they stand in.

What is asked for by equality is stored as a digest of field, kind and value (`token`), and texts that are compared are
stored as the hexadecimal digits of their UTF-8, which sort as the texts do: so no text of anybody's stands in a query,
and no server compares across kinds as it likes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator

from wenyuan.core.model import Facet, IndexRow

COMPARED_BYTES = 100
"""Texts are compared, in ranges, by so many bytes of their beginning; equality is of the whole text."""
COLUMNS = ("source_id", "language", "collection")
_BEYOND = 1.7e308  # for infinities, which JSON does not have: above every number that a filter can name


def token(field: str, value: Facet) -> str:
    """32 hexadecimal digits that tell a field's value from any other; equal numbers have one."""
    if isinstance(value, bool):
        return _digest(field, "flag", value)
    if isinstance(value, str):
        return _digest(field, "text", value)
    return _digest(field, "number", repr(number_in_range(value)))


def tokens(row: IndexRow) -> list[str]:
    """Of all values of a row; what is no number (NaN) equals nothing."""
    return sorted(token(field, value) for field, value in _values(row))


def compared(row: IndexRow) -> dict[str, float | str]:
    """By key, the values of a row that ranges compare."""
    held: dict[str, float | str] = {}
    for field, value in _values(row):
        if isinstance(value, str):
            held[value_key(field, "text")] = sortable(value)
        elif not isinstance(value, bool):
            held[value_key(field, "number")] = number_in_range(value)
    return held


def _values(row: IndexRow) -> Iterator[tuple[str, Facet]]:
    for name in COLUMNS:
        yield name, getattr(row, name)
    for name, value in row.facets.items():
        if not (isinstance(value, float) and math.isnan(value)):
            yield f"metadata.{name}", value


def _digest(*parts: str | bool) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def value_key(field: str, kind: str) -> str:
    """The key under which the values of a field are compared; kind: ``text`` or ``number``."""
    return "k" + _digest(field, kind)


def sortable(text: str) -> str:
    """The hexadecimal digits of the beginning, which sort as the text does (by code points)."""
    return "x" + text.encode("utf-8", "surrogatepass")[:COMPARED_BYTES].hex()


def number_in_range(value: float) -> float:
    """A number as it is compared: finite, without a negative zero."""
    try:
        found = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        found = math.inf if value > 0 else -math.inf
    return max(-_BEYOND, min(_BEYOND, found)) + 0.0  # without a negative zero
