"""An array that grows at its end while readers hold slices of it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Array", "Grown"]

Array = np.ndarray[Any, Any]


class Grown:
    """Rows are only ever appended, so a slice taken earlier keeps its meaning."""

    def __init__(self, values: Array) -> None:
        self._buffer = values
        self._size = len(values)

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Array) -> None:
        need = self._size + len(values)
        if need > len(self._buffer):
            shape = (max(need, 2 * len(self._buffer), 1024), *self._buffer.shape[1:])
            grown = np.empty(shape, dtype=self._buffer.dtype)
            grown[: self._size] = self._buffer[: self._size]
            self._buffer = grown
        self._buffer[self._size : need] = values
        self._size = need

    @property
    def view(self) -> Array:
        return self._buffer[: self._size]

    def frozen(self, size: int) -> Grown:
        """The first `size` rows, which no later `extend` of the original changes."""
        return Grown(self._buffer[:size])
