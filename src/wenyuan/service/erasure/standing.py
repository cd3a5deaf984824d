"""The standing rules of erasures: what was erased, by the library's key."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from wenyuan.core.redaction.erased_values import ErasedValues

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


class StandingRules:
    """What finds everybody who was erased, or is being erased. Thread-safe; asked of the catalog each time, which remembers it.

    Args:
        key: The library's; called where something was erased.
    """

    def __init__(self, catalog: Catalog, key: Callable[[], bytes]) -> None:
        self._catalog = catalog
        self._key = key
        self._lock = threading.Lock()
        self._known = ErasedValues(b"")

    def __call__(self) -> ErasedValues:
        """As they are now; KnowledgeError where that is not known."""
        values = self._catalog.erased_values()
        with self._lock:
            if values != self._known.values:
                self._known = ErasedValues(self._key(), values)
            return self._known
