"""What the service asks of the catalog, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from wenyuan.core.adapt import Tuning
from wenyuan.core.label import Label, LabelVector
from wenyuan.core.model import Passage, Source
from wenyuan.core.ports import ChangeFeed, Deadline
from wenyuan.core.profiles import TaskProfile
from wenyuan.core.stated import Holder
from wenyuan.core.synonyms import Synonym

__all__ = ["Record"]


class Record(ChangeFeed, Protocol):
    """The reading side of the system of record; `catalog.Catalog` is one."""

    def sources(self, deadline: Deadline | None = None) -> tuple[Source, ...]: ...

    def passages(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Passage]: ...

    def labels(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Label]:
        """Of each passage, live or not."""
        ...

    def label_vectors(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Sequence[LabelVector]:
        """Of each passage, live or not, that has one."""
        ...

    def document_by_uri(
        self, uri: str, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None: ...

    def holders(self, uris: Sequence[str], but: str = "") -> Mapping[str, Sequence[Holder]]:
        """Which documents have these addresses, in sources but one."""
        ...

    def floor(self, mode: str) -> Mapping[str, Mapping[str, float]]:
        """What the library is like, by script: see `core.score.Traits`; empty while that was not looked at."""
        ...

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        """What was learned from judged questions and counted at a change."""
        ...

    def profiles_at(self, seq: int, deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        """What kinds of tasks were about, at a change."""
        ...

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        """The last change of the synonyms, up to a change of the catalog; 0 for none."""
        ...

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        """What people said for what documents say, at a change."""
        ...
