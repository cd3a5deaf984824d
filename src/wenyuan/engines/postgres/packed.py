"""PostgreSQL's binary forms of arrays and vectors, to and from numpy: no number goes through text."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["packed_vector", "term_ids", "unpacked_vector"]

_ARRAY_HEAD = 20  # of int4[] with one dimension; an empty array has less, and nothing after it
_VECTOR_HEAD = 4


def term_ids(arrays: Sequence[bytes]) -> tuple[Any, Any]:
    """Arrays of int4 as ``array_send`` gives them: all their elements, (n,), and each array's length, (len(arrays),)."""
    bodies = [array[_ARRAY_HEAD:] for array in arrays]
    lengths = np.array([len(body) // 8 for body in bodies], dtype=np.int64)
    pairs = np.frombuffer(b"".join(bodies), dtype=">i4").reshape(-1, 2)  # the size of each element, and the element
    return pairs[:, 1].astype(np.int32), lengths


def packed_vector(vector: Any) -> bytes:
    """(dim,) float32 as ``vector_recv`` takes it: the dimension, two bytes for later use, big-endian numbers."""
    return struct.pack(">HH", len(vector), 0) + np.asarray(vector, dtype=">f4").tobytes()


def unpacked_vector(raw: bytes) -> Any:
    """What ``vector_send`` gives, as (dim,) float64."""
    return np.frombuffer(raw, dtype=">f4", offset=_VECTOR_HEAD).astype(np.float64)
