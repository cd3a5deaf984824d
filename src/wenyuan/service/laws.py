"""Which candidates are articles of which law, and what share of their scores they keep for it (see `core.laws`)."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping

from wenyuan.core.laws import law_of, shares
from wenyuan.core.ports import Deadline
from wenyuan.service.record import Record

__all__ = ["Laws"]

_MOST = 200_000
"""Passages whose law is remembered, in some 20 MB. A passage never changes, so what is remembered stays true."""


class Laws:
    """Looks passages up in the record, and remembers them. Safe to share between threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[int, str] = {}

    def shares(self, candidates: Collection[int], weight: float, deadline: Deadline) -> Mapping[int, float]:
        """As `core.laws.shares`, of all candidates of a question.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        known = self._known
        laws = {number: known.get(number) for number in candidates}
        missing = [number for number, law in laws.items() if law is None]
        if missing:
            told = self._record.titles(missing, deadline)
            read = {number: sys.intern(law_of(*told[number])) if number in told else "" for number in missing}
            if len(known) + len(read) > _MOST:
                known = self._known = {}
            known.update(read)
            laws |= read
        return shares({number: law or "" for number, law in laws.items()}, weight)
