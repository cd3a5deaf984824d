"""The database of the audit: ``audit.db``, apart from the catalog, so that whoever only reads can be audited too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from wenyuan.catalog.audit_chain import GENESIS, Head, HeadFile
from wenyuan.catalog.connect import connect_writer, reading, translated
from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable, CatalogVersion

__all__ = ["audit", "chain_start", "connect_audit", "cuts", "last_head", "make_current", "ours", "queries"]

_FORMAT = 1
_SETTLE = 15.0  # seconds: several processes may make the database at once

tables = sa.MetaData()

audit = sa.Table(
    "audit",
    tables,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("audit_id", sa.Text, nullable=False, unique=True),
    sa.Column("at", sa.Float, nullable=False, index=True),  # seconds since the epoch
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("principal", sa.Text, nullable=False),
    sa.Column("record", sa.Text, nullable=False),  # canonical JSON, hashed as it stands
    sa.Column("prev_hash", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Index("audit_kind", "kind", "seq"),
    sa.Index("audit_principal", "principal", "seq"),
)

# Queries are apart: they may be about a person, who may want them gone; the chain holds but a commitment to each.
queries = sa.Table(
    "audit_queries",
    tables,
    sa.Column("audit_id", sa.Text, primary_key=True),
    sa.Column("at", sa.Float, nullable=False, index=True),
    sa.Column("salt", sa.Text, nullable=False),
    sa.Column("query", sa.Text),  # canonical JSON; null when queries are not kept
    sqlite_with_rowid=False,
)

# Where retention has cut the chain; the newest one counts.
cuts = sa.Table(
    "audit_cuts",
    tables,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)

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


def connect_audit(path: Path) -> sa.Engine:
    """As `connect.connect_writer`, for a database with wide pages."""
    writer = connect_writer(path)

    def widen(connection: Any, _record: Any) -> None:
        # A record takes 2-4 kB: pages of 4 kB would hold one each, and be empty to a third.
        connection.execute("PRAGMA page_size=16384")

    event.listen(writer, "connect", widen, insert=True)  # before the database is made
    return writer


def make_current(reader: sa.Engine, writer: sa.Engine, head: HeadFile) -> None:
    """Make the tables, unless they are there.

    Raises:
        CatalogVersion: they were made by a newer program.
        CatalogUnavailable: they cannot be made or read.
    """
    if not head.path.parent.is_dir():
        raise CatalogUnavailable(f"there is no folder {head.path.parent}", component="audit")
    until = time.monotonic() + _SETTLE
    while True:
        try:
            with ours("opening the audit"):
                return _make(writer, head) if _format(reader) == 0 else None
        except CatalogBusy:
            # Two that turn on the write-ahead log of one new database at once are not made to wait by SQLite.
            if time.monotonic() >= until:
                raise
            time.sleep(0.02)


def _format(engine: sa.Engine) -> int:
    with reading(engine, "opening the audit") as connection:
        found = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    if found > _FORMAT:
        raise CatalogVersion(
            f"the audit has format {found}, this program knows up to {_FORMAT}",
            component="audit",
            hint="upgrade the program: pip install --upgrade wenyuan",
        )
    return found


def _make(writer: sa.Engine, head: HeadFile) -> None:
    with writer.begin() as connection:
        if connection.exec_driver_sql("PRAGMA user_version").scalar_one() == 0:
            head.advance(GENESIS)  # first: a database with records always has a head file, or it was removed
            tables.create_all(connection)
            for name, when, message in _GUARDS:
                connection.exec_driver_sql(
                    f"CREATE TRIGGER audit_{name} {when} BEGIN SELECT RAISE(ABORT, '{message}'); END"
                )
            connection.exec_driver_sql(f"PRAGMA user_version = {_FORMAT}")


def chain_start(connection: sa.Connection) -> Head:
    """Where the chain begins."""
    return _newest(connection, cuts) or GENESIS


def last_head(connection: sa.Connection) -> Head:
    """The record that the next one follows."""
    return _newest(connection, audit) or chain_start(connection)


def _newest(connection: sa.Connection, table: sa.Table) -> Head | None:
    found = connection.execute(sa.select(table.c.seq, table.c.hash).order_by(table.c.seq.desc()).limit(1)).first()
    return None if found is None else Head(found.seq, found.hash)
