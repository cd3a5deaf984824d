"""What people type into the registry, after somebody was erased: the name does not come back by it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from wenyuan.core.errors import Fault, InvalidRequest, listed

if TYPE_CHECKING:
    from wenyuan.catalog.database import Database


def refuse_erased(database: Database, **typed: str | Iterable[str]) -> None:
    """Refuse texts in which somebody stands who was erased; they are not repeated.

    Args:
        typed: Texts by the name of the field that they are for.

    Raises:
        InvalidRequest: naming each such field.
        KnowledgeError: what was erased is not known.
    """
    found = database.erased()
    if not found:
        return
    faults = [
        Fault(name, "names somebody who was erased, and is not stored: say it another way")
        for name, texts in typed.items()
        if any(map(found.holds, [texts] if isinstance(texts, str) else texts))
    ]
    if faults:
        raise InvalidRequest(listed(faults), faults=tuple(faults))


def without_erased(database: Database, text: str) -> str:
    """A text that nobody here has typed, with a mark in the place of whoever was erased."""
    return database.erased().masked(text)[0]
