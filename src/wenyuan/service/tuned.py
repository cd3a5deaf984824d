"""Which tuning counts for a request: the one of the change that is searched, if it fits the encoder."""

from __future__ import annotations

import threading

from wenyuan.core.adapt import Tuning
from wenyuan.core.learned import KeptTuning
from wenyuan.core.ports import Deadline, Encoder
from wenyuan.service.record import Record

__all__ = ["Tuned", "fits"]


def fits(tuning: Tuning | KeptTuning, encoder: Encoder | None) -> bool:
    """Whether a tuning was learned with this encoder; another's vectors lie elsewhere."""
    return encoder is not None and tuning.encoder in ("", encoder.fingerprint.key)


class Tuned:
    """The tunings of a record, read anew after every change of the catalog."""

    def __init__(self, record: Record, encoder: Encoder | None) -> None:
        self._record = record
        self._encoder = encoder
        self._lock = threading.Lock()
        self._at: tuple[int, Tuning | None] | None = None

    def at(self, change: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that counts at a change; None without one, or when it is of another encoder.

        Raises:
            IndexCorrupt: its map is damaged: an answer without it would be another answer.
        """
        if self._encoder is None:
            return None
        with self._lock:
            if self._at is None or self._at[0] != change:
                found = self._record.tuning_at(change, deadline)
                usable = found is not None and fits(found, self._encoder)
                self._at = (change, found if usable else None)
            return self._at[1]
