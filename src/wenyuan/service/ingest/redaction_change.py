"""When a source's redaction has changed: what was stored under the former one is read again, and then forgotten.

The catalog remembers by source how its stored texts were redacted. A change to less needs nothing but reading
again. After any other one, replaced texts leave catalog and index files for good; and when more is to be taken
out than before, whatever could not be read again leaves the library too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from wenyuan.core.redaction.policy import PART_OF, Action
from wenyuan.service.ingest.redaction import Redactor

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


_TAKEN = get_args(Action)
"""The actions, the one that takes out least first."""

Change = Literal["none", "less", "other", "more"]


def change_of(catalog: Catalog, source_id: str, redactor: Redactor) -> Change:
    """How a source's redaction policy differs from that of its stored texts.

    Returns:
        ``none``, also for a source that was never read; ``less`` is taken out; ``more`` (also while a change is
        unfinished and the state is unknown); ``other``: with other rules, or another key.
    """
    held = catalog.value(_key(source_id))
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
    before = {kind: before.get(kind, before.get(PART_OF.get(kind, ""), "keep")) for kind in after}
    if any(_TAKEN.index(after[kind]) > _TAKEN.index(before[kind]) for kind in after):
        return "more"
    return "less" if before != after else "other"


class RedactionChange:
    """Handles a change of redaction policy during one run over a source.

    Args:
        as_now: Whether the document of a fingerprint would be read in the same way now.
    """

    def __init__(self, catalog: Catalog, source_id: str, redactor: Redactor, as_now: Callable[[str], bool]) -> None:
        self._catalog = catalog
        self._source_id = source_id
        self._as_now = as_now
        self._wanted = _described(redactor)
        held = catalog.value(_key(source_id))
        if held is None:
            self._change: Change = "other" if catalog.live_documents(source_id) else "less"
        else:
            self._change = _change(held, self._wanted)
        self._was_pending = bool(held and held.get("pending"))
        if self._change in ("other", "more"):  # before they are applied to what is read
            catalog.reword_corrections(source_id, redactor.text)
            catalog.reword_details(source_id, redactor.text)
            catalog.forget_sentences(source_id, catalog.kept_sentences(source_id).keys())
        if self._change == "less":
            catalog.set_value(_key(source_id), self._wanted)
        elif self._change != "none":
            catalog.set_value(_key(source_id), {"pending": True})

    @property
    def to_more(self) -> bool:
        """Whether the new policy redacts more."""
        return self._change == "more"

    def withdraw(self) -> int:
        """Retire documents that were not read again and may not stay under the new policy; returns how many."""
        if not self.to_more:
            return 0
        live = self._catalog.live_documents(self._source_id).values()
        old = [number for number, fingerprint in live if not self._as_now(fingerprint)]
        return self._catalog.retire_documents(self._source_id, old)

    def forget(self, purge: Callable[[], None]) -> None:
        """Erase replaced texts; `purge` removes them from the index too."""
        if self._change in ("none", "less"):
            return
        if self._catalog.forget_removed(self._source_id) or self._was_pending:
            purge()
        self._catalog.set_value(_key(self._source_id), self._wanted)
