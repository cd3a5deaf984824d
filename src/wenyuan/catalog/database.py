"""A place of tables, and what is open there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import sqlalchemy as sa

from wenyuan.catalog.audit.tables import AuditPlace
from wenyuan.catalog.rows import ReadCache
from wenyuan.catalog.sql import reading, translated
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import Deadline
from wenyuan.core.redaction.erased_values import ErasedValues

MADE_LATER = ("audit.db", "audit.head", "tasks.db", "index", "pseudonym.key")
"""Of a library's folder: what is made only once the catalog has its tables."""


NAMES = "SELECT value FROM library WHERE key = 'library_id' OR key LIKE 'former_id/%'"
"""The library's id, and earlier ones (`schema.FORMER`)."""


class StoragePlace(Protocol):
    """Where a catalog is stored: the interface of `library_folder.Files` and `catalog.postgres.Server`.

    Attributes:
        folder: On this machine; holds derived data and the audit's head.
        reader: Each transaction sees one snapshot.
        writer: One transaction at a time, over all processes.
        claims: Writes which worker reads which source. That is no change of the library, so it does not wait for the
            writer.
        shared: Whether several folders, of several machines, may belong to it.
        longest_key: Bytes in UTF-8 that an indexed text, such as an address, may have; None: any number.
    """

    folder: Path
    shared: bool
    longest_key: int | None
    reader: sa.Engine
    writer: sa.Engine
    claims: sa.Engine

    def __str__(self) -> str:
        """The place's name in messages, without secrets."""
        ...

    def found(self) -> bool:
        """Whether a library may exist here; CatalogUnavailable when that cannot be determined."""
        ...

    def make(self) -> None:
        """Prepare the storage for the tables of a new library."""
        ...

    def emptied(self) -> bool:
        """Called when there are no tables: whether other files show that a library existed. If not, its creation was
        interrupted.
        """
        ...

    def begin(self, connection: sa.Connection) -> None:
        """Write what this place needs in addition to the tables of a new catalog."""
        ...

    def held(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock of those that write to the tables; CatalogBusy when it is not free within `wait` seconds.

        It is held as long as a transaction takes, never while something is read, embedded or asked for.
        """
        ...

    def held_source(self, source_id: str, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock for ingesting or removing one source; CatalogBusy as in `held`. Taken before `held`, never within."""
        ...

    def held_index(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock for writing to the index in the folder. Taken before `held`, never within."""
        ...

    def held_shared_index(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the lock for writing to an index on a server, which all machines share. It is another one than `held`, for a
        cluster that hangs must hold up no change of the catalog. Taken before `held`, never within.
        """
        ...

    def held_erasure(self) -> AbstractContextManager[None]:
        """Hold the lock of whoever erases; CatalogBusy when it is not free soon. Taken before all others."""
        ...

    def version(self) -> int:
        """A number that changes with every commit of any process."""
        ...

    def identity(self, connection: sa.Connection) -> str:
        """A text that identifies this storage and that no copy of it shares."""
        ...

    def forget(self) -> None:
        """Overwrite deleted rows in the storage, as far as it can be reached."""
        ...

    def compact(self) -> None:
        """As `forget`, and write the tables anew, without what was deleted before, see `AuditPlace.compact`."""
        ...

    def audit(self) -> AuditPlace: ...

    def tasks(self) -> sa.Engine | None:
        """The database for the task ledger; None: a file in the folder."""
        ...

    def close(self) -> None: ...


OnChange = Callable[
    [
        Literal[
            "registry",
            "agent",
            "key",
            "rule",
            "task",
            "synonym",
            "correction",
            "document",
            "gap",
            "conflict",
            "refresh",
            "erasure",
            "group",
            "sign_in",
        ],
        str,
        str,
        Any,
        Any,
    ],
    None,
]
"""``on_change(kind, action, id, before, after)``; values of `core`, None for what was not there or is gone."""


def _nobody(_kind: str, _action: str, _name: str, _before: object, _after: object) -> None:
    """The default for `Database.on_change`: does nothing."""


def nothing_erased() -> ErasedValues:
    """The default for `Database.erased`: of a catalog whose library's key is not known."""
    return ErasedValues(b"")


def nothing_hidden(_deadline: Deadline | None = None) -> HiddenDocuments | None:
    """The default for `Database.hidden`: for whoever has all rights."""
    return None


class Database:
    """A place with its engines and read cache, as the parts of the catalog share them.

    Attributes:
        reading: One snapshot; see `sql.reading`.
        on_change: Called after every stored change of a source, an agent, a key, a rule, a profile or a synonym.
        hidden: What those with whose eyes this thread reads may not see, see `document_readers.DocumentReaders`.
        erased: Finds whoever was erased, see `typed_names`.
        before_commit: Called at the end of every transaction that changes the library, see `anchor.Anchor` and
            `task_anchor.TaskAnchor`.
    """

    def __init__(self, place: StoragePlace) -> None:
        self.place = place
        self.reader, self.writer, self.claims = place.reader, place.writer, place.claims
        self.reading = partial(reading, place.reader)
        self.remembered = ReadCache(place.version)
        self.on_change: OnChange = _nobody
        self.hidden: Callable[..., HiddenDocuments | None] = nothing_hidden
        self.erased: Callable[[], ErasedValues] = nothing_erased
        self.before_commit: list[Callable[[sa.Connection], None]] = []

    def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the writer lock; CatalogBusy when it is not free within `wait` seconds."""
        return self.place.held(wait=wait)

    @contextmanager
    def changing(self, doing: str) -> Iterator[sa.Connection]:
        """One transaction that writes, with the writer lock held."""
        with self.writing(), translated(doing), self.writer.begin() as connection:
            yield connection
            for last in self.before_commit:
                last(connection)

    @contextmanager
    def claiming(self, doing: str, wait: float = 10.0) -> Iterator[sa.Connection]:
        """A transaction on who works at what. In a folder it waits for the writer; on PostgreSQL it does not."""
        apart = self.claims is not self.writer
        with (
            nullcontext() if apart else self.writing(wait=wait),
            translated(doing),
            self.claims.begin() as connection,
        ):
            yield connection
