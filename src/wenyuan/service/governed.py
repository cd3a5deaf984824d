"""What governing a library asks of the catalog: sources and how they are doing, agents, keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, cast

from wenyuan.core.agents import Agent, Key
from wenyuan.core.model import Source

if TYPE_CHECKING:
    from wenyuan.service.facade import Library

__all__ = ["Governed", "State", "governed"]


class State(Protocol):
    """How a source is doing, as the catalog has it. Times in seconds since the epoch, None for never."""

    @property
    def source_id(self) -> str: ...
    @property
    def last_success(self) -> float | None: ...
    @property
    def last_failure(self) -> float | None: ...
    @property
    def failure(self) -> str: ...
    @property
    def failures(self) -> int: ...
    @property
    def next_refresh(self) -> float | None: ...
    @property
    def claimed_by(self) -> str: ...
    @property
    def claimed_until(self) -> float | None: ...


class Governed(Protocol):
    """The governing side of the system of record; `catalog.Catalog` is one."""

    def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def sources(self) -> Sequence[Source]: ...

    def source(self, source_id: str) -> Source: ...

    def put_source(self, source: Source) -> None: ...

    def counts(self, source_id: str | None = None) -> Mapping[str, int]: ...

    def agents(self) -> Sequence[Agent]: ...

    def agent(self, agent_id: str) -> Agent: ...

    def put_agent(self, agent: Agent) -> None: ...

    def remove_agent(self, agent_id: str) -> int: ...

    def create_key(
        self, agent_id: str | None, rights: frozenset[str], expires_at: float | None
    ) -> tuple[Key, str]: ...

    def keys(self) -> Sequence[Key]: ...

    def revoke_key(self, key_id: str) -> None: ...

    def source_states(self) -> Mapping[str, State]: ...

    def put_source_state(self, state: Any) -> None: ...

    def claim_source(self, source_id: str, worker: str, until: float, *, due_by: float | None = None) -> bool: ...


def governed(library: Library) -> Governed:
    """The governing side of an open library's catalog."""
    return cast(Governed, library.catalog)
