"""What is kept of the library as a whole, by key."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema
from wenyuan.catalog.audit.tables import AuditFiles, AuditPlace
from wenyuan.catalog.database import MADE_LATER, NAMES, Database, StoragePlace
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
from wenyuan.core.model import EncoderFingerprint
from wenyuan.runtime.presence import exists, is_file
from wenyuan.settings import CatalogSettings


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
        """Measured collection traits for a retrieval mode, by script (see `core.scoring.formula.Traits`); empty before the
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
        self._erasing = WriterLock(folder / "erasure.lock")
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
