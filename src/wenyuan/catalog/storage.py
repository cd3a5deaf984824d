"""Where a library's tables are stored: in files of its folder, or (`catalog.postgres`) in a schema of a PostgreSQL; the
writer lock, and the migrations of older tables.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any, Literal, Protocol

import sqlalchemy as sa

from wenyuan.catalog import schema
from wenyuan.catalog.audit.tables import AuditFiles, AuditPlace
from wenyuan.catalog.rows import ReadCache
from wenyuan.catalog.sql import (
    Present,
    closed,
    connect_reader,
    connect_writer,
    create_missing,
    empty_log,
    let_go,
    reading,
    translated,
    watching,
)
from wenyuan.core.errors import CatalogBusy, CatalogUnavailable, msg
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline
from wenyuan.runtime import exists, is_file
from wenyuan.runtime.regular import open_regular
from wenyuan.settings import CatalogSettings

# Numbered migrations that bring an older library's tables to the current version.


def _with_column(connection: sa.Connection, column: sa.Column[Any], filled: str = "") -> bool:
    """Add a column unless its table has it, of the type that it has in a new one; returns whether it was added.

    Args:
        filled: What the rows that are there have in it, in SQL; needed where it may not be null.
    """
    table = column.table.name
    if column.name in {held["name"] for held in sa.inspect(connection).get_columns(table)}:
        return False
    kind = column.type.compile(dialect=connection.dialect)
    kind += "" if column.nullable else f" NOT NULL DEFAULT {filled}"
    connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind}"))
    return True


def _governance(connection: sa.Connection) -> None:
    """Add the tables and columns for governed sources, agents, keys and source states."""
    texts = {"status": "in_force", "refresh_cycle": "never", "owner": "", "sensitivity": "public"}
    for name, default in {**texts, "supersedes": "[]", "tags": "[]"}.items():
        _with_column(connection, schema.sources.c[name], f"'{default}'")
    if _with_column(connection, schema.documents.c.own_until):
        connection.execute(sa.text("UPDATE documents SET own_until = effective_until"))
    create_missing(connection, schema.tables)


def _verified(connection: sa.Connection) -> None:
    """Add the flag for quotes that were found in a held document."""
    _with_column(connection, schema.evidences.c.verified, "0")
    schema.unplaced.create(connection, checkfirst=True)


def _leads(connection: sa.Connection) -> None:
    """Add the first words of untitled documents; held documents get them when they are read again."""
    _with_column(connection, schema.documents.c.lead, "''")


def _labels(connection: sa.Connection) -> None:
    """Add label vectors; held passages get them by `wenyuan reembed`, or when they are read again."""
    if _with_column(connection, schema.passages.c.label_key):
        schema.unlabelled.create(connection)


def _readings(connection: sa.Connection) -> None:
    """Add fidelity and printed lines of documents, which held ones get when read again; and an index for last days."""
    schema.ending.create(connection, checkfirst=True)
    _with_column(connection, schema.passages.c.recognised)
    schema.readings.create(connection, checkfirst=True)


def _corrections(connection: sa.Connection) -> None:
    """Add the tables of corrections."""
    _with_column(connection, schema.passages.c.corrected)
    schema.corrections.create(connection, checkfirst=True)


def _context_sentences(connection: sa.Connection) -> None:
    """Adds what a language model says of where passages stand."""
    if _with_column(connection, schema.passages.c.context):
        schema.with_context.create(connection)
    schema.context_sentences.create(connection, checkfirst=True)


def _clauses_read(connection: sa.Connection) -> None:
    """Adds which clauses a language model has read for rules."""
    schema.clauses_read.create(connection, checkfirst=True)


def _looked_up(connection: sa.Connection) -> None:
    """Adds what titles are searched in, and addresses of listed entries, which held ones get when read again."""
    if connection.dialect.name == "sqlite":
        schema.named.create(connection, checkfirst=True)
    _with_column(connection, schema.entries.c.uri, "''")
    schema.entries_uri.create(connection, checkfirst=True)


ADOPTED = "addresses/adopted"
"""Value of a library that a former version made: up to which document id addresses have no row, though redaction changed
them.
"""


def _addresses(connection: sa.Connection) -> None:
    """Adds the addresses that redaction changed; a document that was read before takes the one that it has."""
    schema.addresses.create(connection, checkfirst=True)
    newest = connection.scalar(sa.select(sa.func.max(schema.documents.c.document_id))) or 0
    connection.execute(schema.library.insert(), {"key": f"value/{ADOPTED}", "value": str(newest)})


def _key_names(connection: sa.Connection) -> None:
    """Adds what people call keys; those that are there have no name."""
    _with_column(connection, schema.keys.c.name, "''")


MIGRATIONS: tuple[sa.MetaData | Callable[[sa.Connection], None], ...] = (
    schema.tables, _governance, schema.rules_tables, schema.tuning_tables,
    partial(schema.cited.create, checkfirst=True), schema.profile_tables, schema.evaluation_tables,
    _verified, schema.synonym_tables, _leads, _labels, _readings, schema.listing_tables, _corrections,
    _context_sentences, _clauses_read, schema.judge_tables, _looked_up, _addresses,
    _key_names,
)  # fmt: skip
"""Step n makes version n of version n − 1: tables that are added, or a change of those that are there, which the tables
of a new library have. Steps are only ever added.
"""

SCHEMA_VERSION = len(MIGRATIONS)


# Locks of a library. In a folder they are lock files, which name their owner and which the system releases when the
# owner dies: ``commit.lock`` is held for one transaction, ``writer.lock`` by who takes a source in or writes the index,
# for as long as that lasts. `catalog.postgres` has those of a library on PostgreSQL.


class Lock(ABC):
    """Mutual exclusion between processes (`_take`, by subclass) and between this process's threads (an RLock)."""

    def __init__(self) -> None:
        self._threads = threading.RLock()
        self._depth = 0

    @contextmanager
    def held(self, *, wait: float = 10.0) -> Iterator[None]:
        """Hold the lock; waits up to `wait` seconds.

        Raises:
            CatalogBusy: another process or thread holds it; the message names the process.
        """
        until = time.monotonic() + wait
        if not self._threads.acquire(timeout=wait):
            raise CatalogBusy("another thread of this process is writing", component="catalog")
        try:
            if self._depth == 0:
                self._take(until)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
        finally:
            if self._depth == 0:  # also when a signal interrupted the acquisition
                self._let_go()
            self._threads.release()

    @abstractmethod
    def _take(self, until: float) -> None:
        """Acquire the lock against other processes; CatalogBusy when it is not free by `until` (`time.monotonic`)."""

    @abstractmethod
    def _let_go(self) -> None:
        """Release the lock, whether it was fully acquired or not."""


def being_written(owner: str) -> CatalogBusy:
    """The error for a lock that `owner` holds."""
    return CatalogBusy(
        msg("the library is being written by {owner}", owner=owner or "an unknown process"),
        component="catalog",
        hint="wait until it has finished, or stop that process",
    )


class WriterLock(Lock):
    """A lock of a library in a folder: a lock file (flock)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file: int | None = None

    def _take(self, until: float) -> None:
        try:
            handle = open_regular(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise self._unavailable("open", error) from error
        self._file = handle
        try:
            self._wait_for(handle, until)
            os.ftruncate(handle, 0)
            os.pwrite(handle, msg("process {pid}", pid=os.getpid()).encode(), 0)
        except OSError as error:
            raise self._unavailable("take", error) from error

    def _let_go(self) -> None:
        handle, self._file = self._file, None
        if handle is not None:
            os.close(handle)  # closing releases the lock

    def _wait_for(self, handle: int, until: float) -> None:
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise being_written(os.pread(handle, 200, 0).decode("utf-8", "replace").strip()) from error
                time.sleep(0.01)

    def _unavailable(self, doing: str, error: OSError) -> CatalogUnavailable:
        return CatalogUnavailable(
            msg(
                "cannot {doing} the lock file {path}: {error}",
                doing=doing,
                path=self._path,
                error=error.strerror,
            ),
            component="catalog",
            hint="check that this user may write to the library's folder: ls -la",
        )


# A place of tables, and what is open there.

_MADE_LATER = ("audit.db", "audit.head", "tasks.db", "index", "pseudonym.key")
"""Of a library's folder: what is made only once the catalog has its tables."""


_NAMES = "SELECT value FROM library WHERE key = 'library_id' OR key LIKE 'former_id/%'"
"""The library's id, and earlier ones (`schema.FORMER`)."""


class Place(Protocol):
    """Where a catalog is stored: the interface of `Files` and `catalog.postgres.Server`.

    Attributes:
        folder: On this machine; holds derived data and the audit's head.
        reader: Each transaction sees one snapshot.
        writer: One transaction at a time, over all processes.
        claims: Writes which worker reads which source. That is no change of the library, so it does not wait for the
            writer.
        longest_key: Bytes in UTF-8 that an indexed text, such as an address, may have; None: any number.
    """

    folder: Path
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

    def version(self) -> int:
        """A number that changes with every commit of any process."""
        ...

    def identity(self, connection: sa.Connection) -> str:
        """A text that identifies this storage and that no copy of it shares."""
        ...

    def forget(self) -> None:
        """Overwrite deleted rows in the storage, as far as it can be reached."""
        ...

    def audit(self) -> AuditPlace: ...

    def tasks(self) -> sa.Engine | None:
        """The database for the task ledger; None: a file in the folder."""
        ...

    def close(self) -> None: ...


OnChange = Callable[
    [
        Literal["registry", "agent", "key", "rule", "task", "synonym", "correction", "document", "refresh"],
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


class Database:
    """A place with its engines and read cache, as the parts of the catalog share them.

    Attributes:
        on_change: Called after every stored change of a source, an agent, a key, a rule, a profile or a synonym.
        before_commit: Called at the end of every transaction that changes the library, see `anchor.Anchor` and
            `task_anchor.TaskAnchor`.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.reader, self.writer, self.claims = place.reader, place.writer, place.claims
        self.remembered = ReadCache(place.version)
        self.on_change: OnChange = _nobody
        self.before_commit: list[Callable[[sa.Connection], None]] = []

    def reading(self, doing: str, deadline: Deadline | None = None) -> AbstractContextManager[sa.Connection]:
        """One snapshot; see `sql.reading`."""
        return reading(self.reader, doing, deadline)

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


# What is kept of the library as a whole, by key.


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Library-wide settings and state: JSON values by key."""

    database: Database

    def value(self, key: str) -> Any:
        """The JSON value of a key, or None.

        Raises:
            CatalogUnavailable: it cannot be read, or is no JSON.
        """
        raw = self.database.remembered.get(("value", key), lambda: self._value(key))
        try:
            return None if raw is None else json.loads(raw)  # a fresh value: callers may change it
        except ValueError as error:
            raise CatalogUnavailable(
                msg("the stored value {key} is no JSON", key=repr(key)), component="catalog"
            ) from error

    def _value(self, key: str) -> str | None:
        with self.database.reading(f"reading {key!r}") as connection:
            raw: str | None = connection.scalar(
                sa.select(schema.library.c.value).where(schema.library.c.key == "value/" + key)
            )
        return raw

    def set_value(self, key: str, value: Any) -> None:
        """Store a JSON value under a key, replacing the former one."""
        with self.database.changing(f"writing {key!r}") as connection:
            connection.execute(schema.library.delete().where(schema.library.c.key == "value/" + key))
            connection.execute(
                schema.library.insert(), {"key": "value/" + key, "value": json.dumps(value, ensure_ascii=False)}
            )

    def values_below(self, beginning: str) -> Mapping[str, Any]:
        """The JSON values whose keys have a beginning in common, by the rest of the key; no `None` among them."""
        own = "value/" + beginning
        key, value = schema.library.c.key, schema.library.c.value
        with self.database.reading(f"reading {beginning!r}") as connection:
            rows = connection.execute(sa.select(key, value).where(key.startswith(own, autoescape=True))).all()
        found = {name.removeprefix(own): json.loads(raw) for name, raw in rows}
        return {name: held for name, held in found.items() if held is not None}

    def floor(self, mode: str) -> Mapping[str, Mapping[str, float]]:
        """Measured collection traits for a retrieval mode, by script (see `core.scoring.Traits`); empty before the
        first measurement.
        """
        return self.database.remembered.get(("floor", mode), lambda: (self.value("floor") or {}).get(mode, {}))

    def encoder(self) -> EncoderFingerprint | None:
        """Fingerprint of the encoder that computed the stored vectors; None while there are none."""
        value = self.value("encoder")
        return None if value is None else EncoderFingerprint(**{**value, "scale": tuple(value["scale"])})


class Files:
    """SQLite: ``catalog.db``, ``audit.db`` and ``tasks.db`` in the library's folder."""

    longest_key: int | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "catalog.db"
        self._lock = WriterLock(folder / "commit.lock")
        self._long = WriterLock(folder / "writer.lock")
        self.reader = connect_reader(self.path)
        self.writer = self.claims = connect_writer(self.path)
        self._present = Present(self.path, _NAMES, "catalog")
        self._watching = threading.Lock()
        self._watch: Any = None
        self._closed = False

    def __str__(self) -> str:
        return str(self.folder)

    def found(self) -> bool:
        try:
            if is_file(self.path):
                return True
            there = exists(self.path)
            emptied = self.emptied()
        except OSError as error:
            raise CatalogUnavailable(
                msg("cannot look into {folder}: {strerror}", folder=self.folder, strerror=error.strerror),
                component="catalog",
                hint=msg("check that this user may read it: ls -la {folder}", folder=quote(str(self.folder))),
            ) from error
        hint = "restore it from a backup, or choose another folder"
        if there:
            raise CatalogUnavailable(
                msg("{path} is not a regular file", path=self.path), component="catalog", hint=hint
            )
        if emptied:
            raise CatalogUnavailable(
                msg(
                    "{name} is missing from {folder}, and what was made with it is there",
                    name=self.path.name,
                    folder=self.folder,
                ),
                component="catalog",
                hint=hint,
            )
        return False

    def make(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise CatalogUnavailable(
                msg("cannot make the folder {folder}: {strerror}", folder=self.folder, strerror=error.strerror),
                component="catalog",
            ) from error

    def emptied(self) -> bool:
        return any(exists(self.folder / name) for name in _MADE_LATER)

    def begin(self, connection: sa.Connection) -> None:
        """Does nothing."""

    @contextmanager
    def held(self, *, wait: float = 10.0) -> Iterator[None]:
        with self._lock.held(wait=wait):
            self._present.check(now=True)  # what is written to a file that was removed is lost
            yield

    def held_source(self, source_id: str, *, wait: float = 10.0) -> AbstractContextManager[None]:
        return self.held_index(wait=wait)  # one source at a time, by whoever writes the index, too

    @contextmanager
    def held_index(self, *, wait: float = 10.0) -> Iterator[None]:
        with self._long.held(wait=wait):
            self._present.check(now=True)
            yield

    def version(self) -> int:
        """SQLite's ``data_version``, read on a connection that never writes."""
        self._present.check()
        with self._watching, translated("asking whether the library changed"):
            if self._watch is None:
                if self._closed:
                    raise closed()
                self._watch = watching(self.path)
            (version,) = self._watch.execute("PRAGMA data_version").fetchone()
        return int(version)

    def identity(self, connection: sa.Connection) -> str:
        """Device and inode of the file: unique on this machine, unchanged by a move within a disk."""
        known = self.path.stat()
        return f"{known.st_dev}:{known.st_ino}"

    def forget(self) -> None:
        empty_log(self.writer)

    def audit(self) -> AuditPlace:
        return AuditFiles(self.folder)

    def tasks(self) -> None:
        return None

    def close(self) -> None:
        with self._watching:
            if self._watch is not None:
                self._watch.close()
            self._watch = None
            self._closed = True
        let_go(self.reader, self.writer)


def place_of(folder: Path, chosen: CatalogSettings) -> Place:
    """The place of a library: its folder, or the PostgreSQL that its settings name."""
    dsn = chosen.dsn.get_secret_value().strip()
    if not dsn:
        return Files(folder)
    from wenyuan.catalog.postgres import Server

    return Server(folder, dsn, schema=chosen.schema_name, sessions=chosen.sessions)
