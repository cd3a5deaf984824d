"""The tables of a library in its folder: SQLite files, their locks, and whether they are still there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog.audit.tables import AuditFiles, AuditPlace
from wenyuan.catalog.database import MADE_LATER, NAMES, StoragePlace
from wenyuan.catalog.database_file import Present
from wenyuan.catalog.locks import WriterLock
from wenyuan.catalog.sql import (
    closed,
    compact,
    connect_reader,
    connect_writer,
    empty_log,
    let_go,
    translated,
    watching,
)
from wenyuan.core.errors import CatalogUnavailable, msg
from wenyuan.runtime.presence import exists, is_file
from wenyuan.settings import CatalogSettings


class Files:
    """SQLite: ``catalog.db``, ``audit.db`` and ``tasks.db`` in the library's folder."""

    shared = False
    longest_key: int | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "catalog.db"
        self._lock = WriterLock(folder / "commit.lock")
        self._long = WriterLock(folder / "writer.lock")
        self._erasing = WriterLock(folder / "erasure.lock")
        self.held_shared_index = WriterLock(folder / "index.lock").held
        self.reader = connect_reader(self.path)
        self.writer = self.claims = connect_writer(self.path)
        self._present = Present(self.path, NAMES, "catalog")
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
        return any(exists(self.folder / name) for name in MADE_LATER)

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

    def held_erasure(self) -> AbstractContextManager[None]:
        return self._erasing.held(wait=2.0)

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

    def compact(self) -> None:
        compact(self.writer)
        tasks = self.folder / "tasks.db"
        if is_file(tasks):
            engine = connect_writer(tasks)
            try:
                compact(engine)
            finally:
                let_go(engine)

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


def place_of(folder: Path, chosen: CatalogSettings) -> StoragePlace:
    """The place of a library: its folder, or the PostgreSQL that its settings name."""
    dsn = chosen.dsn.get_secret_value().strip()
    if not dsn:
        return Files(folder)
    from wenyuan.catalog.postgres import Server

    return Server(folder, dsn, schema=chosen.schema_name, sessions=chosen.sessions)
