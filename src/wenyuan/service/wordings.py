"""In which wordings a question is asked: its own, and those that the library's synonyms give it."""

from __future__ import annotations

import threading

from wenyuan.core.ports import Deadline
from wenyuan.core.synonyms import SynonymTable, Wordings
from wenyuan.service.record import Record

__all__ = ["Worder"]


class Worder:
    """The synonyms of a record. They are asked for at every change of the catalog, and read anew only when they are others."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._lock = threading.Lock()
        self._change = -1
        self._version = 0
        self._table = SynonymTable()

    def wordings(self, text: str, change: int, deadline: Deadline | None = None) -> Wordings:
        """The wordings of a question, by the synonyms that count at a change."""
        return self._at(change, deadline).wordings(text)

    def _at(self, change: int, deadline: Deadline | None) -> SynonymTable:
        with self._lock:
            if self._change != change:
                version = self._record.synonyms_version(change, deadline)
                if version != self._version:
                    self._table = SynonymTable(self._record.synonyms_at(change, deadline))
                    self._version = version
                self._change = change
            return self._table
