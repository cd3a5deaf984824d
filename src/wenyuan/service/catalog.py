"""The catalog as the service needs it: protocols of reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from wenyuan.core.access import Agent, Key, TaskProfile
from wenyuan.core.addresses import Holder
from wenyuan.core.model import Label, LabelVector, Passage, Source
from wenyuan.core.ports import ChangeFeed, Deadline
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.sources import SourceState
from wenyuan.core.text.synonyms import Synonym, SynonymsPut

if TYPE_CHECKING:
    from wenyuan.service.library import Library


# What the service asks of the catalog, and no more.


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
        """What the library is like, by script: see `core.scoring.Traits`; empty while that was not looked at."""
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


# What governing a library asks of the catalog: sources and how they are doing, agents, keys, tasks.


class Governed(Protocol):
    """The governing side of the system of record; `catalog.Catalog` is one."""

    def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def where(self) -> str: ...

    def sources(self) -> Sequence[Source]: ...

    def source(self, source_id: str) -> Source: ...

    def put_source(self, source: Source) -> None: ...

    def counts(self, source_id: str | None = None) -> Mapping[str, int]: ...

    def counts_by_source(self) -> Mapping[str, Mapping[str, int]]: ...

    def same_contents(self, source_id: str | None = None) -> Sequence[tuple[str, str, int]]: ...

    def registered_at(self) -> Mapping[str, float]: ...

    def agents(self) -> Sequence[Agent]: ...

    def agent(self, agent_id: str) -> Agent: ...

    def put_agent(self, agent: Agent) -> None: ...

    def remove_agent(self, agent_id: str) -> int: ...

    def profiles(self) -> Sequence[TaskProfile]: ...

    def put_profile(self, profile: TaskProfile) -> None: ...

    def remove_profile(self, profile_id: str) -> None: ...

    def synonyms(self) -> Sequence[Synonym]: ...

    def put_synonyms(self, entries: Iterable[Synonym], actor: str) -> SynonymsPut: ...

    def remove_synonyms(self, numbers: Sequence[int]) -> Sequence[Synonym]: ...

    def create_key(
        self, agent_id: str | None, rights: frozenset[str], expires_at: float | None
    ) -> tuple[Key, str]: ...

    def keys(self) -> Sequence[Key]: ...

    def key_of_token(self, token: str) -> Key | None: ...

    def revoke_key(self, key_id: str) -> None: ...

    def source_states(self) -> Mapping[str, SourceState]: ...

    def put_source_state(self, state: SourceState) -> None: ...

    def claim_source(
        self, source_id: str, worker: str, until: float, *, due_by: float | None = None, wait: float = 10.0
    ) -> bool: ...

    def let_go(self, source_id: str, worker: str, *, wait: float = 10.0, **values: Any) -> bool: ...


def governed(library: Library) -> Governed:
    """The governing side of an open library's catalog."""
    return library.catalog
