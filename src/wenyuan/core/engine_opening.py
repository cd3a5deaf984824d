"""What an engine of another package is opened with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from wenyuan.core.ports import IndexSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOpening:
    """What the factory of an engine receives.

    Attributes:
        folder: Where an index in the library's folder may lie; it need not exist.
        spec: The analyser and encoder of the rows. An index that was built with others is not used.
        library_id: Tells the rows of this library from another's, where an index holds several.
        indexing: Context that holds the lock for writing to an index in the library's folder; CatalogBusy when it is not
            free within ``wait`` seconds. Only its holder writes there.
        writing: The same for an index on a server, where processes on several machines may write.
        max_lag: Seconds that answers may be behind the catalog while others write (``search.max_lag``).
    """

    folder: Path
    spec: IndexSpec
    library_id: str
    indexing: Callable[..., AbstractContextManager[None]]
    writing: Callable[..., AbstractContextManager[None]]
    max_lag: float
