"""Of which law a candidate is an article: see `core.scoring`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.law_factor import law_of
from wenyuan.service.search.change_cache import Record

_BELONGING_MOST = 200_000
"""Passages that are remembered, in some 20 MB. A passage never changes, so what is remembered stays true."""


class LawLookup:
    """The statute of each passage, read from the record and cached. Thread-safe."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[int, str] = {}
        self._one: dict[str, str] = {}  # so that passages of one law share its name

    def of(self, candidates: Collection[int], deadline: Deadline) -> Mapping[int, str]:
        """The statute of each candidate; ``""`` for none, and for passages that the record does not have.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        known = self._known
        found = {number: known[number] for number in candidates if number in known}
        if len(found) < len(candidates):
            missing = [number for number in candidates if number not in found]
            told = self._record.labels(missing, deadline)
            laws = {n: law_of(told[n].title, told[n].headings) if n in told else "" for n in missing}
            read = {number: self._one.setdefault(law, law) for number, law in laws.items()}
            if len(known) + len(read) > _BELONGING_MOST:
                known, self._one = {}, {}
                self._known = known
            known.update(read)
            found |= read
        return found
