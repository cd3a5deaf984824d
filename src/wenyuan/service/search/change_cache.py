"""Values that hold as long as the library does not change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from wenyuan.core.conflicts.record import ConflictDecision, StoredConflict
from wenyuan.core.errors import EngineTimeout
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Label, LabelVector, Passage, Source
from wenyuan.core.ports import ChangeFeed, Deadline
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.stated_addresses import Holder
from wenyuan.core.task_profiles import TaskProfile
from wenyuan.core.text.synonyms import Synonym


class Record(ChangeFeed, Protocol):
    """The reads that a search needs, from the current catalog (`catalog.catalog.Catalog`) or from a past state of it
    (`audit.past_library.RecordAt`).
    """

    def sources(self, deadline: Deadline | None = None) -> tuple[Source, ...]: ...

    def hidden(self, deadline: Deadline | None = None) -> HiddenDocuments | None:
        """What those with whose eyes this thread reads may not see, now; None: nothing."""
        ...

    def passages(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Passage]: ...

    def labels(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Label]:
        """Title and headings of each passage, live or removed."""
        ...

    def conflicts_by_passage(self) -> Mapping[int, Sequence[StoredConflict]]:
        """Statements that contradict one another, by the passages in which they stand."""
        ...

    def conflict_decisions(self) -> Mapping[str, ConflictDecision]:
        """What was decided about them, by their ids."""
        ...

    def label_vectors(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Sequence[LabelVector]:
        """Label vectors of the passages, live or removed, that have one."""
        ...

    def document_by_uri(
        self, uri: str, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None: ...

    def holders(self, uris: Sequence[str], but: str = "") -> Mapping[str, Sequence[Holder]]:
        """Documents that have these addresses, in any source except `but`."""
        ...

    def floor(self, mode: str) -> Mapping[str, Mapping[str, float]]:
        """Measured collection traits by script (see `core.scoring.formula.Traits`); empty until they are measured."""
        ...

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that was in effect at a change; None without one."""
        ...

    def profiles_at(self, seq: int, deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        """The task profiles that were registered at a change."""
        ...

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        """The number of the last synonym change up to a change of the catalog; 0 for none."""
        ...

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        """The synonym table at a change."""
        ...


T = TypeVar("T")


class PerChange(Generic[T]):
    """A value that depends on the state of the catalog: read once, and kept until the catalog is at another change.
    Thread-safe.

    Args:
        read: Reads it, given the change.
    """

    def __init__(self, read: Callable[[int, Deadline | None], T]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._at: tuple[int, T] | None = None

    def at(self, change: int, deadline: Deadline | None = None) -> T:
        """The value at `change`.

        Raises:
            EngineTimeout: another caller was still reading it at the deadline.
        """
        free = self._lock.acquire(blocking=False)
        if not free and not self._lock.acquire(timeout=-1 if deadline is None else deadline.remaining()):
            raise EngineTimeout("the deadline passed", component="catalog")
        try:
            if self._at is None or self._at[0] != change:
                self._at = (change, self._read(change, deadline))
            return self._at[1]
        finally:
            self._lock.release()
