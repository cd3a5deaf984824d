"""What the catalog knows of ``tasks.db``: by it counts of tasks that are gone, older or another library's are found."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database_file import Present
from wenyuan.catalog.sql import connect_reader, reading, translated
from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable, msg
from wenyuan.runtime.presence import exists, is_file
from wenyuan.runtime.regular import open_regular

if TYPE_CHECKING:
    from wenyuan.catalog.database import Database

TASK_ANCHOR = "task_anchor"
"""Key in `library` of the state of ``tasks.db`` that the catalog knows."""
_HINT = "restore tasks.db from a backup; or go on with what there is: wenyuan doctor --new-counts"

state = sa.Table(
    "ledger",
    sa.MetaData(),  # apart from the counts: those on a PostgreSQL lie beside the catalog and need none
    sa.Column("ledger_id", sa.String(32), primary_key=True),
    sa.Column("changes", sa.BigInteger, nullable=False),
)


class CountMark(NamedTuple):
    """Which counts, and after how many changes of theirs."""

    ledger_id: str
    changes: int

    def __str__(self) -> str:
        return f"{self.ledger_id}:{self.changes}"

    @classmethod
    def parse(cls, text: str) -> CountMark:
        """Inverse of ``str``; CatalogUnavailable for any other text."""
        ledger_id, _, changes = text.partition(":")
        if not ledger_id or not changes.isascii() or not changes.isdecimal():
            raise CatalogUnavailable(
                msg("the stored value {key} is no state of the counts", key=repr(TASK_ANCHOR)), component="catalog"
            )
        return cls(ledger_id, int(changes))


class TaskAnchor:
    """The state of ``tasks.db`` that the catalog knows, among the values of `library`.

    As `anchor.Anchor` it is written with each change of the catalog, and when the library is closed; so it may be behind
    the counts, and is never ahead of them: they are on the disk before it is.
    """

    def __init__(self, database: Database, path: Path) -> None:
        self._database = database
        self._path = path
        self._lock = threading.Lock()
        self._last: CountMark | None = None  # committed by this process
        self._written: CountMark | None = None
        self._present = Present(path, "SELECT ledger_id FROM ledger", "tasks")
        database.before_commit.append(self._write)

    def known(self) -> CountMark | None:
        """What the catalog knows; None in a library whose tasks were given nothing that is counted.

        Raises:
            CatalogUnavailable: it cannot be read.
        """
        with self._database.reading("reading the state of the counts") as connection:
            return task_anchor(connection)

    def check(self) -> None:
        """Compare the file with what the catalog knows. Nothing is made or written.

        Raises:
            CatalogUnavailable: it is gone, emptied, older or another library's.
        """
        check_file(self._path, self.known())

    def still_there(self) -> None:
        """CatalogUnavailable where the file was removed or replaced since it was opened."""
        self._present.check()

    @staticmethod
    def advance(connection: sa.Connection) -> CountMark:
        """Count one change more, in its transaction; a file that has no state is given one. To be given to `note`."""
        found = state_of(connection)
        if found is None:
            state.create(connection, checkfirst=True)
            found = _begin(connection)
        found = found._replace(changes=found.changes + 1)
        connection.execute(state.update().values(changes=found.changes))
        return found

    def note(self, found: CountMark) -> None:
        """Remember a state that is committed."""
        with self._lock:
            if self._last is None or self._last.ledger_id != found.ledger_id or self._last.changes < found.changes:
                self._last = found

    def settle(self) -> None:
        """Write the state after the last change of this process, unless somebody is writing."""
        if self._last is None or self._last == self._written:
            return
        with (
            suppress(CatalogBusy, CatalogUnavailable),  # the next change writes it
            self._database.writing(wait=0),
            translated("writing the state of the counts"),
            self._database.writer.begin() as connection,
        ):
            self._write(connection)

    def renew(self, connection: sa.Connection) -> CountMark:
        """Give the counts a new state, in their own transaction and in the catalog."""
        found = _begin(connection)
        with (
            self._database.writing(),
            translated("writing the state of the counts"),
            self._database.writer.begin() as catalog,
        ):
            put_task_anchor(catalog, found)
        self._last = self._written = found
        return found

    def _write(self, connection: sa.Connection) -> None:
        last = self._last
        if last is None or last == self._written:
            return
        known = task_anchor(connection)
        if known is None or (known.ledger_id == last.ledger_id and known.changes < last.changes):
            _make_durable(self._path)
            put_task_anchor(connection, last)
        self._written = last


def task_anchor(connection: sa.Connection) -> CountMark | None:
    """What a catalog knows of the counts, see `TaskAnchor.known`."""
    text = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == TASK_ANCHOR))
    return None if text is None else CountMark.parse(text)


def put_task_anchor(connection: sa.Connection, counted: CountMark | None) -> None:
    """Write what a catalog knows of the counts, whatever it knew."""
    connection.execute(t.library.delete().where(t.library.c.key == TASK_ANCHOR))
    if counted is not None:
        connection.execute(t.library.insert(), {"key": TASK_ANCHOR, "value": str(counted)})


def state_of(connection: sa.Connection) -> CountMark | None:
    """The state of the counts in a file; None of an empty one, or one of before it was kept."""
    if not sa.inspect(connection).has_table(state.name):
        return None
    found = connection.execute(sa.select(state)).first()
    return None if found is None else CountMark(*found)


def check_file(path: Path, known: CountMark | None) -> None:
    """`check_counts` of a file.

    Raises:
        CatalogUnavailable: also where something else has its name, or it cannot be read.
    """
    there = _there(path)
    if known is None:
        return
    if not there:
        raise counts_gone(known)
    counts = connect_reader(path, pool_size=1)
    try:
        with (
            counts_of("reading the state of the counts"),
            reading(counts, "reading the state of the counts") as connection,
        ):
            found = state_of(connection)
    finally:
        counts.dispose()
    check_counts(found, known)


@contextmanager
def counts_of(doing: str) -> Iterator[None]:
    """As `sql.translated`, with the file of the counts named as the failed component."""
    try:
        with translated(doing):
            yield
    except CatalogError as error:
        hint = error.hint.replace("catalog.db from a backup", "tasks.db from a backup, or move it away")
        raise type(error)(error.message, component="tasks", hint=hint) from error


def check_counts(found: CountMark | None, known: CountMark) -> None:
    """CatalogUnavailable where counts are not those that a catalog knows, or are behind them."""
    if found is None:
        raise counts_gone(known)
    if found.ledger_id != known.ledger_id:
        said = "the counts in tasks.db are not those that the catalog knows: one of them is another library's"
    elif found.changes < known.changes:
        said = msg(
            "the counts in tasks.db end at change {changes}, and the catalog knows of {known}: they are an older copy",
            changes=found.changes,
            known=known.changes,
        )
    else:
        return
    raise CatalogUnavailable(said, component="tasks", hint=_HINT)


def counts_gone(known: CountMark) -> CatalogUnavailable:
    """The error for counts that are missing or empty, though the catalog knows of them."""
    return CatalogUnavailable(
        msg(
            "the counts of what tasks were given are gone: {name} is missing or empty, and the catalog knows {changes} "
            "changes of it",
            name="tasks.db",
            changes=known.changes,
        ),
        component="tasks",
        hint=_HINT,
    )


def _begin(connection: sa.Connection) -> CountMark:
    connection.execute(state.delete())
    found = CountMark(uuid.uuid4().hex, 0)
    connection.execute(state.insert(), found._asdict())
    return found


def _there(path: Path) -> bool:
    """Whether there is a file of counts; CatalogUnavailable where something else has its name."""
    try:
        if is_file(path):
            return True
        if not exists(path):
            return False
        if is_file(path):  # it was made in between
            return True
    except OSError as error:
        raise CatalogUnavailable(
            msg("{path} cannot be read: {why}", path=path, why=error.strerror), component="tasks"
        ) from error
    raise CatalogUnavailable(
        msg("{path} is not a regular file", path=path),
        component="tasks",
        hint="restore tasks.db from a backup, or move it away",
    )


def _make_durable(path: Path) -> None:
    """Have the disk hold what was counted, which no context waits for."""
    for name in (f"{path.name}-wal", path.name):
        try:
            handle = open_regular(path.with_name(name))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise CatalogUnavailable(
                msg("{path} cannot be read: {why}", path=path, why=error.strerror), component="tasks"
            ) from error
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
