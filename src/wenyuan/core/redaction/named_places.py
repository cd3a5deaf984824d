"""Where an address names a value that only its document shows to be one."""

from __future__ import annotations

from typing import NamedTuple


class NamedPlace(NamedTuple):
    """Where a value stands in an address. It tells nothing of the value, and may be stored.

    Attributes:
        piece: The number of the part of the address, from 1; 0: what is listed beside the address names it.
        start, end: The span in that part without percent-escapes.
        pseudonym: What is written instead; ``""`` without a key.
    """

    piece: int
    start: int
    end: int
    kind: str
    pseudonym: str
