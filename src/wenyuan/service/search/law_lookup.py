"""Of which law a candidate is an article: see `core.scoring`."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.law_factor import law_of
from wenyuan.service.search.change_cache import Record

Array = np.ndarray[Any, Any]

_MOST = 16_000_000
"""Passages with a number below are remembered, in four bytes each. A passage never changes, so what is remembered stays true."""
_UNREAD = -1


class LawLookup:
    """The statute of each passage, read from the record and cached. Thread-safe."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lock = threading.Lock()
        self._numbers = {"": 0}  # of the statutes, in the order in which they were read
        self._known = np.empty(0, np.int32)

    def of(self, passages: Array, deadline: Deadline) -> Array:
        """The number of each passage's statute, (n,) int32; 0 for none, and for passages that the record does not have.

        Args:
            passages: Ids, (n,) int64.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        known = self._room_for(int(passages.max(initial=0)))
        if known is None:
            return self._read(passages, deadline)
        found = known[passages]
        unread = found == _UNREAD
        if unread.any():
            found[unread] = known[passages[unread]] = self._read(passages[unread], deadline)
        return found

    def _room_for(self, most: int) -> Array | None:
        """What is known, with a place for each passage up to `most`; None for more than are remembered."""
        if most >= _MOST:
            return None
        with self._lock:
            if most >= len(self._known):
                grown = np.full(min(_MOST, max(most + 1, 2 * len(self._known))), _UNREAD, np.int32)
                grown[: len(self._known)] = self._known  # what another thread reads meanwhile is read once more
                self._known = grown
            return self._known

    def _read(self, passages: Array, deadline: Deadline) -> Array:
        numbers = passages.tolist()
        labels = self._record.labels(numbers, deadline)
        laws = [law_of(labels[n].title, labels[n].headings) if n in labels else "" for n in numbers]
        with self._lock:
            return np.array([self._numbers.setdefault(law, len(self._numbers)) for law in laws], np.int32)
