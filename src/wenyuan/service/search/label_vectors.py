"""How near a query is to the labels of passages: their titles and headings, their questions, or their document's lead."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from wenyuan.core.ports import Deadline
from wenyuan.service.search.change_cache import Record

_MOST = 16_384
"""Vectors that are remembered, in 25 MB with 384 dimensions; and four times as many passages that have them."""


class LabelVectors:
    """The label vectors of passages, read from the record and cached: a passage never changes. Thread-safe."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[int, Any] = {}
        self._one: dict[str, Any] = {}  # passages with the same label share its vector

    def of(self, passages: Collection[int], deadline: Deadline) -> Mapping[int, Any]:
        """The vector of each passage's label, ``(dim,)`` float32; passages without one are left out.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        known, one = self._known, self._one
        missing = [number for number in passages if number not in known]
        if missing:
            read: dict[int, Any] = dict.fromkeys(missing)
            for label in self._record.label_vectors(missing, deadline):
                read[label.passage_id] = one.setdefault(label.key, label.vector)
            if len(known) > 4 * _MOST or len(one) > _MOST:
                known, self._one = {}, {}
                self._known = known
            known.update(read)
        found = {number: known.get(number) for number in passages}
        return {number: vector for number, vector in found.items() if vector is not None}
