"""What tasks were given of documents: ``tasks.db``, or a table of a PostgreSQL beside the catalog's."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog.dialects import alone, create_missing
from wenyuan.catalog.sql import connect_writer, let_go
from wenyuan.catalog.task_anchor import CountMark, TaskAnchor, counts_of, state, state_of
from wenyuan.core.errors import CatalogBusy, CatalogUnavailable, InvalidRequest

KEPT = 30 * 86_400.0
"""Seconds after its last context that a task is remembered for."""
MOST = 200_000
"""Documents of tasks that are remembered; of more, those used longest ago are forgotten."""
_PRUNE_EVERY = 500  # contexts
_SETTLE = 15.0  # seconds: several processes may make the database at once

tables = sa.MetaData()

_given = sa.Table(
    "given",
    tables,
    sa.Column("task", sa.LargeBinary, primary_key=True),  # hash of agent and task
    sa.Column("document", sa.LargeBinary, primary_key=True),  # hash of the document's key
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False, index=True),  # of the last context, seconds since the epoch
    sqlite_with_rowid=False,
)


class TaskLedger:
    """Counts the characters of each document given to each task; safe to share between threads and processes.

    Args:
        folder: Of the library; the file is made there when the first task asks.
        place: The table is there already, in this database; else it is made in a file.
        clock: Seconds since the epoch.
        kept: Seconds that a task is remembered after its last context.
        most: Rows that are kept.
        anchor: What the catalog knows of the file. Nothing is counted in one that it does not know, before `renew`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        place: sa.Engine | None = None,
        clock: Callable[[], float] = time.time,
        kept: float = KEPT,
        most: int = MOST,
        anchor: TaskAnchor | None = None,
    ) -> None:
        self._clock = clock
        self._kept = kept
        self._most = most
        self._made = place is not None
        self._contexts = 0
        self._anchor = anchor if place is None else None
        self._writer = place if place is not None else ledger_file(folder)

    @contextmanager
    def reserved(self, agent_id: str | None, task_id: str, documents: set[str]) -> Iterator[dict[str, int]]:
        """Yields the characters given to a task so far, by document; the mapping's values at the end are stored.

        No other process decides on that task meanwhile (in a file: on any task). When the block raises, nothing is
        written.

        Args:
            documents: Keys of the documents that are counted; others in the mapping are not written.

        Raises:
            CatalogUnavailable, CatalogBusy: it cannot be read or written; then nothing may be given.
        """
        with counts_of("counting what the task was given"):
            task = _hash(repr((agent_id, task_id)))
            names = {_hash(name): name for name in documents}
            with self._change() as connection:
                alone(connection, int.from_bytes(task[:8], signed=True))
                self._contexts += 1
                if self._contexts % _PRUNE_EVERY == 1:
                    self._prune(connection)
                rows = connection.execute(
                    sa.select(_given.c.document, _given.c.characters).where(_given.c.task == task)
                )
                counts = {names[row.document]: row.characters for row in rows if row.document in names}
                yield counts
                now = self._clock()
                for name in counts.keys() & documents:
                    _put(connection, task, _hash(name), counts[name], now)

    @contextmanager
    def counting(self, doing: str) -> Iterator[sa.Connection]:
        """A transaction on the ledger's database, for other counters that all processes share."""
        with counts_of(doing), self._change() as connection:
            yield connection

    @contextmanager
    def _change(self) -> Iterator[sa.Connection]:
        self._make()
        counted: CountMark | None = None
        if self._anchor is not None:
            self._anchor.still_there()
        with self._writer.begin() as connection:
            if self._anchor is not None:
                counted = self._anchor.advance(connection)
            yield connection
        if self._anchor is not None and counted is not None:
            self._anchor.note(counted)

    def check(self) -> None:
        """Compare the counts with what the catalog knows of them; nothing is made or written.

        Raises:
            CatalogUnavailable: they are gone, emptied, older or another library's.
        """
        if self._anchor is not None:
            self._anchor.check()

    def renew(self) -> None:
        """Go on with the counts that are there, or with none, though the catalog knows of others.

        Those of an older copy go on; of another library's none do.

        Raises:
            InvalidRequest: they are those that the catalog knows.
            CatalogUnavailable: the file cannot be read or written.
        """
        known = None
        if self._anchor is not None:
            try:
                self._anchor.check()
            except CatalogUnavailable:
                known = self._anchor.known()
        if self._anchor is None or known is None:
            raise InvalidRequest("the counts of tasks are those that the catalog knows: nothing is to be renewed")
        with counts_of("renewing the counts"), self._writer.begin() as connection:
            create_missing(connection, tables)
            create_missing(connection, state.metadata)
            found = state_of(connection)
            if found is None or found.ledger_id != known.ledger_id:
                for table in tables.sorted_tables:
                    connection.execute(table.delete())
            self._anchor.renew(connection)

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._anchor is not None:
            self._anchor.settle()
        let_go(self._writer)

    def _make(self) -> None:
        if self._made:
            return
        if self._anchor is not None:
            self._anchor.check()
        until = time.monotonic() + _SETTLE
        while True:
            try:
                with counts_of("opening the count of tasks"), self._writer.begin() as connection:
                    create_missing(connection, tables)
                self._made = True
                return
            except CatalogBusy:
                # Two that turn on the write-ahead log of one new database at once are not made to wait by SQLite.
                if time.monotonic() >= until:
                    raise
                time.sleep(0.02)

    def _prune(self, connection: sa.Connection) -> None:
        """Delete rows unused for `kept` seconds, and the oldest beyond `most`."""
        connection.execute(_given.delete().where(_given.c.at < self._clock() - self._kept))
        newest = sa.select(_given.c.at).order_by(_given.c.at.desc()).offset(self._most).limit(1)
        if (edge := connection.execute(newest).scalar()) is not None:
            connection.execute(_given.delete().where(_given.c.at <= edge))


def ledger_file(folder: Path) -> sa.Engine:
    """An engine for the ledger's file in a library's folder, which is created on first use."""
    writer = connect_writer(folder / "tasks.db")
    sa.event.listen(writer, "connect", _quicken)
    return writer


def _quicken(connection: Any, _record: Any) -> None:
    # A count is safe when this process dies; a power loss may lose the last ones, and no context waits for the disk.
    connection.execute("PRAGMA synchronous=NORMAL")


def _put(connection: sa.Connection, task: bytes, document: bytes, characters: int, now: float) -> None:
    connection.execute(_given.delete().where(_given.c.task == task, _given.c.document == document))
    values = {"task": task, "document": document, "characters": characters, "at": now}
    connection.execute(_given.insert(), values)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
