"""Parts of a sequence, for what takes only so much at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """A sequence in parts of `size`, the last of which may be shorter."""
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
