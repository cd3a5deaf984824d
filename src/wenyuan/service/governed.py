"""What governing a library asks of the catalog: sources and how they are doing, agents, keys, tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from wenyuan.core.agents import Agent, Key
from wenyuan.core.model import Source
from wenyuan.core.profiles import TaskProfile
from wenyuan.core.source_state import SourceState

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["Governed", "governed"]


class Governed(Protocol):
    """The governing side of the system of record; `catalog.Catalog` is one."""

    def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def where(self) -> str: ...

    def sources(self) -> Sequence[Source]: ...

    def source(self, source_id: str) -> Source: ...

    def put_source(self, source: Source) -> None: ...

    def counts(self, source_id: str | None = None) -> Mapping[str, int]: ...

    def counts_by_source(self) -> Mapping[str, Mapping[str, int]]: ...

    def agents(self) -> Sequence[Agent]: ...

    def agent(self, agent_id: str) -> Agent: ...

    def put_agent(self, agent: Agent) -> None: ...

    def remove_agent(self, agent_id: str) -> int: ...

    def profiles(self) -> Sequence[TaskProfile]: ...

    def put_profile(self, profile: TaskProfile) -> None: ...

    def remove_profile(self, profile_id: str) -> None: ...

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
