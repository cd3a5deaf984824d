"""Terms and vectors as bytes, to and from numpy: no number goes through text."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_VECTOR_HEAD = 4
_MOST_COUNT = 0xFFFF


def packed_terms(counts: Mapping[int, int]) -> bytes:
    """A passage's terms: their ids, four bytes each, then how often each occurs, two bytes each; little-endian."""
    often = np.minimum(list(counts.values()), _MOST_COUNT)
    return np.array(list(counts), dtype="<u4").tobytes() + often.astype("<u2").tobytes()


def unpacked_terms(passages: Sequence[bytes]) -> tuple[Any, Any, Any]:
    """All ids and all counts of some passages, (n,) each, and how many each passage has, (len(passages),)."""
    sizes = [len(packed) // 6 for packed in passages]
    ids = b"".join([packed[: 4 * size] for packed, size in zip(passages, sizes, strict=True)])
    counts = b"".join([packed[4 * size :] for packed, size in zip(passages, sizes, strict=True)])
    return np.frombuffer(ids, dtype="<u4"), np.frombuffer(counts, dtype="<u2"), np.array(sizes, dtype=np.int64)


def packed_vector(vector: Any) -> bytes:
    """(dim,) float32 as ``vector_recv`` takes it: the dimension, two bytes for later use, big-endian numbers."""
    return struct.pack(">HH", len(vector), 0) + np.asarray(vector, dtype=">f4").tobytes()


def unpacked_vector(raw: bytes) -> Any:
    """What ``vector_send`` gives, as (dim,) float64."""
    return np.frombuffer(raw, dtype=">f4", offset=_VECTOR_HEAD).astype(np.float64)
