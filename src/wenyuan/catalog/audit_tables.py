"""The tables of the audit, apart from the catalog, so that whoever only reads can be audited too: in ``audit.db``, or
(`catalog.server`) beside the catalog's in a schema of a PostgreSQL.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import event

from wenyuan.catalog.audit_chain import GENESIS, Head, HeadFile
from wenyuan.catalog.columns import ID, TEXT
from wenyuan.catalog.connect import connect_reader, connect_writer, empty_log, let_go, reading, translated
from wenyuan.catalog.present import Present
from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable, CatalogVersion
from wenyuan.installed import upgrade_command

__all__ = ["FORMAT", "AuditFiles", "AuditPlace", "audit", "chain_start", "check_format", "cuts", "last_head", "ours",
           "queries", "tables"]  # fmt: skip

FORMAT = 1
_SETTLE = 15.0  # seconds: several processes may make the database at once

tables = sa.MetaData()

audit = sa.Table(
    "audit",
    tables,
    sa.Column("seq", ID, primary_key=True, autoincrement=False),
    sa.Column("audit_id", TEXT, nullable=False, unique=True),
    sa.Column("at", sa.Float, nullable=False, index=True),  # seconds since the epoch
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("principal", TEXT, nullable=False),
    sa.Column("record", TEXT, nullable=False),  # canonical JSON, hashed as it stands
    sa.Column("prev_hash", TEXT, nullable=False),
    sa.Column("hash", TEXT, nullable=False),
    sa.Index("audit_kind", "kind", "seq"),
    sa.Index("audit_principal", "principal", "seq"),
)

# Queries are apart: they may be about a person, who may want them gone; the chain holds but a commitment to each.
queries = sa.Table(
    "audit_queries",
    tables,
    sa.Column("audit_id", TEXT, primary_key=True),
    sa.Column("at", sa.Float, nullable=False, index=True),
    sa.Column("salt", TEXT, nullable=False),
    sa.Column("query", TEXT),  # canonical JSON; null when queries are not kept
    sqlite_with_rowid=False,
)

# Where retention has cut the chain; the newest one counts.
cuts = sa.Table(
    "audit_cuts",
    tables,
    sa.Column("seq", ID, primary_key=True, autoincrement=False),
    sa.Column("hash", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)

# In a file of its own, the audit says whose it is; beside the catalog's tables there is nothing to be told.
whose = sa.Table("audit_library", sa.MetaData(), sa.Column("library_id", TEXT, primary_key=True))

_GUARDS = (
    ("not_edited BEFORE UPDATE ON audit", "", "audit records are not edited"),
    (
        "not_removed BEFORE DELETE ON audit",
        "WHEN OLD.seq > (SELECT COALESCE(MAX(seq), 0) FROM audit_cuts)",
        "audit records are not removed",
    ),
    # Also against INSERT OR REPLACE, which removes without asking the guard above.
    (
        "at_the_end BEFORE INSERT ON audit",
        "WHEN NEW.seq <= (SELECT MAX(seq) FROM audit)",
        "audit records are added at the end",
    ),
    ("queries_not_edited BEFORE UPDATE ON audit_queries", "", "kept queries are erased, not edited"),
    ("cuts_not_edited BEFORE UPDATE ON audit_cuts", "", "cuts are not edited"),
    ("cuts_not_removed BEFORE DELETE ON audit_cuts", "", "cuts are not removed"),
)


@contextmanager
def ours(doing: str) -> Iterator[None]:
    """As `connect.translated`, with the audit named as what failed."""
    try:
        with translated(doing):
            yield
    except CatalogError as error:
        hint = error.hint.replace("catalog.db", "audit.db")
        raise type(error)(error.message, component="audit", hint=hint) from error


class AuditPlace(Protocol):
    """What the audit asks of where it lies.

    Attributes:
        writer: Its transactions follow one another, those of all processes.
    """

    reader: sa.Engine
    writer: sa.Engine

    def begin(self, head: HeadFile) -> None:
        """Make the tables, unless they are there.

        Raises:
            CatalogVersion: they were made by a newer program.
            CatalogUnavailable: they cannot be made or read.
        """
        ...

    def touch(self, connection: sa.Connection) -> None:
        """Write what is there once more: where that fails, a record could not be written either."""
        ...

    def check(self, *, now: bool = False) -> None:
        """CatalogUnavailable where the audit is not the one any more that was opened."""
        ...

    def belong(self, names: Sequence[str]) -> None:
        """CatalogUnavailable where the audit is not that of the library with these ids, of which the first is its own."""
        ...

    def forget(self) -> None:
        """Overwrite what was deleted, as far as it can be reached."""
        ...

    def close(self) -> None: ...


class AuditFiles:
    """``audit.db`` in the library's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "audit.db"
        self.writer = connect_writer(self.path)
        event.listen(self.writer, "connect", _widen, insert=True)  # before the database is made
        self.reader = connect_reader(self.path, pool_size=4)
        self._present = Present(self.path, "SELECT library_id FROM audit_library", "audit")

    def begin(self, head: HeadFile) -> None:
        if not self.path.parent.is_dir():
            raise CatalogUnavailable(f"there is no folder {self.path.parent}", component="audit")
        until = time.monotonic() + _SETTLE
        while True:
            try:
                with ours("opening the audit"), reading(self.reader, "opening the audit") as connection:
                    found = _format(connection)
                if found == 0:
                    self._make(head)
                return check_format(found)
            except CatalogBusy:
                # Two that turn on the write-ahead log of one new database at once are not made to wait by SQLite.
                if time.monotonic() >= until:
                    raise
                time.sleep(0.02)

    def _make(self, head: HeadFile) -> None:
        with ours("opening the audit"), self.writer.begin() as connection:
            if _format(connection) == 0:
                head.create()  # first: a database with records always has a head file, or it was removed
                tables.create_all(connection)
                for name, when, message in _GUARDS:
                    connection.exec_driver_sql(
                        f"CREATE TRIGGER audit_{name} {when} BEGIN SELECT RAISE(ABORT, '{message}'); END"
                    )
                connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")

    def touch(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")  # a page of the log, also of the same number

    def check(self, *, now: bool = False) -> None:
        self._present.check(now=now)

    def belong(self, names: Sequence[str]) -> None:
        if not names:
            return
        with ours("opening the audit"), reading(self.reader, "opening the audit") as connection:
            known = sa.inspect(connection).has_table(whose.name)
            found = connection.scalar(sa.select(whose.c.library_id)) if known else None
        if found is None:
            with ours("opening the audit"), self.writer.begin() as connection:
                whose.create(connection, checkfirst=True)
                if connection.scalar(sa.select(whose.c.library_id)) is None:
                    connection.execute(whose.insert(), {"library_id": names[0]})
        elif found not in names:
            raise CatalogUnavailable(
                f"{self.path.name} is that of library {found}, and the catalog that of {names[0]}: one of them is "
                "another library's",
                component="audit",
                hint="restore both from one backup",
            )

    def forget(self) -> None:
        empty_log(self.writer)

    def close(self) -> None:
        let_go(self.reader, self.writer)


def _widen(connection: Any, _record: Any) -> None:
    # A record takes 2-4 kB: pages of 4 kB would hold one each, and be empty to a third.
    connection.execute("PRAGMA page_size=16384")


def _format(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def check_format(found: int) -> None:
    """CatalogVersion when the audit's tables were made by a newer program."""
    if found > FORMAT:
        raise CatalogVersion(
            f"the audit has format {found}, this program knows up to {FORMAT}",
            component="audit",
            hint=f"upgrade the program: {upgrade_command()}",
        )


def chain_start(connection: sa.Connection) -> Head:
    """Where the chain begins."""
    return _newest(connection, cuts) or GENESIS


def last_head(connection: sa.Connection) -> Head:
    """The record that the next one follows."""
    return _newest(connection, audit) or chain_start(connection)


def _newest(connection: sa.Connection, table: sa.Table) -> Head | None:
    found = connection.execute(sa.select(table.c.seq, table.c.hash).order_by(table.c.seq.desc()).limit(1)).first()
    return None if found is None else Head(found.seq, found.hash)
