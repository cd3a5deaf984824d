"""When a source's redaction has changed: what was stored under the former one is read again, and then forgotten.

The catalog remembers by source how its stored texts were redacted. A change to less needs nothing but reading
again. After any other one, replaced texts leave catalog and index files for good; and when more is to be taken
out than before, whatever could not be read again leaves the library too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, get_args

from wenyuan.core.redact import Action
from wenyuan.service.redaction import Redactor

__all__ = ["Memory", "RedactionChange", "change_of"]

_TAKEN = get_args(Action)
"""The actions, the one that takes out least first."""

Change = Literal["none", "less", "other", "more"]


class Memory(Protocol):
    """The part of the catalog that remembers and forgets."""

    def live_documents(self, source_id: str) -> Mapping[str, tuple[int, str]]: ...

    def retire_documents(self, source_id: str, document_ids: Sequence[int]) -> int: ...

    def forget_removed(self, source_id: str) -> int: ...

    def value(self, key: str) -> Any: ...

    def set_value(self, key: str, value: Any) -> None: ...


class _Remembers(Protocol):
    def value(self, key: str) -> Any: ...


def change_of(memory: _Remembers, source_id: str, redactor: Redactor) -> Change:
    """What differs between the stored texts of a source and what is now demanded of them.

    Returns:
        ``none``, also for a source that was never read; ``less`` is taken out; ``more`` (also while a change was
        begun and not ended, when nobody knows); ``other``: with other rules, or another key.
    """
    held = memory.value(_key(source_id))
    return "none" if held is None else _change(held, _described(redactor))


def _key(source_id: str) -> str:
    return f"redaction/{source_id}"


def _described(redactor: Redactor) -> dict[str, Any]:
    return {"fingerprint": redactor.fingerprint, "actions": dict(redactor.policy.actions)}


def _change(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> Change:
    if held.get("pending"):
        return "more"
    if held == wanted:
        return "none"
    before, after = held["actions"], wanted["actions"]
    if any(_TAKEN.index(after[kind]) > _TAKEN.index(before.get(kind, "keep")) for kind in after):
        return "more"
    return "less" if before != after else "other"


class RedactionChange:
    """One run over a source, seen from its redaction.

    Args:
        how: Begins the fingerprint of every document that is read in this run's way.
    """

    def __init__(self, memory: Memory, source_id: str, redactor: Redactor, how: str) -> None:
        self._memory = memory
        self._source_id = source_id
        self._how = how
        self._wanted = _described(redactor)
        held = memory.value(_key(source_id))
        if held is None:
            self._change: Change = "other" if memory.live_documents(source_id) else "less"
        else:
            self._change = _change(held, self._wanted)
        self._was_pending = bool(held and held.get("pending"))
        if self._change == "less":
            memory.set_value(_key(source_id), self._wanted)
        elif self._change != "none":
            memory.set_value(_key(source_id), {"pending": True})

    @property
    def to_more(self) -> bool:
        """Whether more is to be taken out than before."""
        return self._change == "more"

    def withdraw(self) -> int:
        """Retire what was not read again, when it may not stay as it is; returns how many documents."""
        if not self.to_more:
            return 0
        live = self._memory.live_documents(self._source_id).values()
        old = [number for number, fingerprint in live if not fingerprint.startswith(f"{self._how}:")]
        return self._memory.retire_documents(self._source_id, old)

    def forget(self, purge: Callable[[], None]) -> None:
        """Forget what was replaced; `purge` makes the index forget it too."""
        if self._change in ("none", "less"):
            return
        if self._memory.forget_removed(self._source_id) or self._was_pending:
            purge()
        self._memory.set_value(_key(self._source_id), self._wanted)
