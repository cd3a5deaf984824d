"""The tables of the audit log in an SQLite file of its own, and the check that a chain continues."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import event

from wenyuan.catalog.audit.chain import GENESIS, Head
from wenyuan.catalog.audit.definitions import audit, cuts, tables, whose
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.question_outcomes import keep_all_outcomes
from wenyuan.catalog.database_file import Present
from wenyuan.catalog.dialects import create_missing
from wenyuan.catalog.sql import compact, connect_reader, connect_writer, empty_log, let_go, reading, translated
from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable, CatalogVersion, msg
from wenyuan.runtime.installation import upgrade_command
from wenyuan.runtime.presence import exists, is_file

# The tables of the audit, apart from the catalog, so that whoever only reads can be audited too: in ``audit.db``, or
# (`catalog.postgres`) beside the catalog's in a schema of a PostgreSQL.


FORMAT = 3
_SETTLE = 15.0  # seconds: several processes may make the database at once

ERASABLE = (
    "EXISTS (SELECT 1 FROM audit_erased e WHERE e.seq = OLD.seq AND e.hash = OLD.hash AND NEW.seq = OLD.seq "
    "AND NEW.hash = OLD.hash AND NEW.prev_hash = OLD.prev_hash AND NEW.audit_id = OLD.audit_id AND NEW.at = OLD.at "
    "AND NEW.kind = OLD.kind AND NEW.record = '{\"erased\":\"' || e.erasure_id || '\"}')"
)
"""The only change of a record: its content is erased, and the table of erased ones says so."""

_EDITS = ("not_edited BEFORE UPDATE ON audit", f"WHEN NOT {ERASABLE}", "audit records are not edited")
_ERASED = (
    ("erased_not_edited BEFORE UPDATE ON audit_erased", "", "erased records are not edited"),
    (
        "erased_not_removed BEFORE DELETE ON audit_erased",
        "WHEN OLD.seq > (SELECT COALESCE(MAX(seq), 0) FROM audit_cuts)",
        "erased records are not removed",
    ),
)
_GUARDS = (
    _EDITS,
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
    *_ERASED,
)


@contextmanager
def ours(doing: str) -> Iterator[None]:
    """As `sql.translated`, with the audit log named as the failed component."""
    try:
        with translated(doing):
            yield
    except CatalogError as error:
        hint = error.hint.replace("catalog.db", "audit.db")
        raise type(error)(error.message, component="audit", hint=hint) from error


class AuditPlace(Protocol):
    """Where the audit log is stored: the interface of `AuditFiles` and `AuditOnServer`.

    Attributes:
        writer: Its transactions follow one another, those of all processes.
    """

    reader: sa.Engine
    writer: sa.Engine

    def gone(self) -> bool:
        """Whether there is no file of the log, or one without its tables; it is not created by asking."""
        ...

    def begin(self, head: HeadFile) -> None:
        """Create the tables unless they exist.

        Raises:
            CatalogVersion: they were made by a newer program.
            CatalogUnavailable: they cannot be made or read.
        """
        ...

    def touch(self, connection: sa.Connection) -> None:
        """Write without changing anything, to test whether the database can be written to."""
        ...

    def check(self, *, now: bool = False) -> None:
        """CatalogUnavailable where the database is no longer the one that was opened."""
        ...

    def belong(self, names: Sequence[str], *, named: bool) -> CatalogUnavailable | None:
        """CatalogUnavailable where the log belongs to another library. The first of `names` is the library's own id.

        Args:
            named: Whether it must say of which library it is; if not, one that does not is given the id.

        Returns:
            Why it must not be gone on with, where it does not say that.
        """
        ...

    def forget(self) -> None:
        """Overwrite deleted rows in the storage, as far as it can be reached."""
        ...

    def compact(self) -> None:
        """As `forget`, and write the tables anew, without what was deleted before.

        Raises:
            CatalogBusy: somebody reads; it can be done later.
        """
        ...

    def close(self) -> None: ...


class AuditFiles:
    """The audit log in ``audit.db`` in the library's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "audit.db"
        self.writer = connect_writer(self.path)
        event.listen(self.writer, "connect", _widen, insert=True)  # before the database is made
        self.reader = connect_reader(self.path, pool_size=4)
        self.check = Present(self.path, "SELECT library_id FROM audit_library", "audit").check

    def gone(self) -> bool:
        try:
            if not is_file(self.path):
                return not exists(self.path)  # what is no file is refused when it is opened
        except OSError as error:
            raise CatalogUnavailable(
                msg("{path} cannot be read: {why}", path=self.path, why=error.strerror), component="audit"
            ) from error
        with ours("opening the audit"), reading(self.reader, "opening the audit") as connection:
            return _format(connection) == 0

    def begin(self, head: HeadFile) -> None:
        if not self.path.parent.is_dir():
            raise CatalogUnavailable(msg("there is no folder {parent}", parent=self.path.parent), component="audit")
        if exists(self.path) and not is_file(self.path):
            raise CatalogUnavailable(
                msg("{path} is not a regular file", path=self.path),
                component="audit",
                hint="restore it from a backup",
            )
        until = time.monotonic() + _SETTLE
        while True:
            try:
                with ours("opening the audit"), reading(self.reader, "opening the audit") as connection:
                    found = _format(connection)
                if found == 0:
                    self._make(head)
                check_format(found)
                if 0 < found < FORMAT:
                    self._migrate()
                return
            except CatalogBusy:
                # Two that turn on the write-ahead log of one new database at once are not made to wait by SQLite.
                if time.monotonic() >= until:
                    raise
                time.sleep(0.02)

    def _make(self, head: HeadFile) -> None:
        with ours("opening the audit"), self.writer.begin() as connection:
            if _format(connection) == 0:
                head.create()  # first: a database with records always has a head file, or it was removed
                create_missing(connection, tables)
                _make_guards(connection, _GUARDS)
                connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")

    def _migrate(self) -> None:
        """Bring a log to the present format: the second one knows of erased records, the third what became of questions."""
        with ours("opening the audit"), self.writer.begin() as connection:
            found = _format(connection)
            if found < FORMAT:  # else another process was first
                create_missing(connection, tables)
                if found < 2:
                    connection.exec_driver_sql("DROP TRIGGER IF EXISTS audit_not_edited")
                    _make_guards(connection, (_EDITS, *_ERASED))
                keep_all_outcomes(connection)
                connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")

    def touch(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")  # a page of the log, also of the same number

    def belong(self, names: Sequence[str], *, named: bool) -> CatalogUnavailable | None:
        if not names:
            return None
        with ours("opening the audit"), reading(self.reader, "opening the audit") as connection:
            known = sa.inspect(connection).has_table(whose.name)
            found = connection.scalar(sa.select(whose.c.library_id)) if known else None
        if found is None and named:
            return CatalogUnavailable(
                msg("{name} no longer says of which library it is", name=self.path.name),
                component="audit",
                hint="restore the audit; or go on with what there is: wenyuan audit verify --renew-head",
            )
        if found is None:
            with ours("opening the audit"), self.writer.begin() as connection:
                whose.create(connection, checkfirst=True)
                if connection.scalar(sa.select(whose.c.library_id)) is None:
                    connection.execute(whose.insert(), {"library_id": names[0]})
        elif found not in names:
            raise CatalogUnavailable(
                msg(
                    "{name} is that of library {found}, and the catalog that of {names}: one of them is another "
                    "library's",
                    name=self.path.name,
                    found=found,
                    names=names[0],
                ),
                component="audit",
                hint="restore both from one backup",
            )
        return None

    def forget(self) -> None:
        empty_log(self.writer)

    def compact(self) -> None:
        compact(self.writer)

    def close(self) -> None:
        let_go(self.reader, self.writer)


def _make_guards(connection: sa.Connection, guards: Sequence[tuple[str, str, str]]) -> None:
    for name, when, message in guards:
        connection.exec_driver_sql(f"CREATE TRIGGER audit_{name} {when} BEGIN SELECT RAISE(ABORT, '{message}'); END")


def _widen(connection: Any, _record: Any) -> None:
    # A record takes 2-4 kB: pages of 4 kB would hold one each, and be empty to a third.
    connection.execute("PRAGMA page_size=16384")


def _format(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def check_format(found: int) -> None:
    """CatalogVersion when the audit's tables were created by a newer program."""
    if found > FORMAT:
        raise CatalogVersion(
            msg("the audit has format {found}, this program knows up to {format}", found=found, format=FORMAT),
            component="audit",
            hint=msg("upgrade the program: {upgrade_command}", upgrade_command=upgrade_command()),
        )


def chain_start(connection: sa.Connection) -> Head:
    """The head before the first record that is still stored."""
    return _newest(connection, cuts) or GENESIS


def last_head(connection: sa.Connection) -> Head:
    """The head of the last record, which the next one continues."""
    return _newest(connection, audit) or chain_start(connection)


def continues(connection: sa.Connection, known: Head) -> bool:
    """Whether the chain contains a known head, or starts after it."""
    start = chain_start(connection)
    if known.seq <= start.seq:
        return known.seq < start.seq or known == start
    found = connection.scalar(sa.select(audit.c.hash).where(audit.c.seq == known.seq))
    return bool(found == known.hash)


def check_continues(connection: sa.Connection, known: Head, name: str) -> None:
    """CatalogUnavailable where the chain does not continue a known head: going on would hide what happened.

    Args:
        name: Where the head is kept.
    """
    if continues(connection, known):
        return
    hint = "restore the audit; or go on with what there is: wenyuan audit verify --renew-head"
    end = last_head(connection)
    if known.seq > end.seq:
        raise CatalogUnavailable(
            msg(
                "the audit ends at record {seq}, but {name} says {seq2}: records were removed or replaced",
                seq=end.seq,
                name=name,
                seq2=known.seq,
            ),
            component="audit",
            hint=hint,
        )
    raise CatalogUnavailable(
        msg(
            "record {seq} of the audit is not the one that {name} knows: one of them is another library's, or records "
            "were replaced",
            seq=known.seq,
            name=name,
        ),
        component="audit",
        hint=hint,
    )


def audit_gone(known: Head) -> CatalogUnavailable:
    """The error for a log that is missing or empty, though the catalog knows one of its records."""
    return CatalogUnavailable(
        msg(
            "the audit is gone: {name} is missing or empty, and the catalog knows records up to {seq}",
            name="audit.db",
            seq=known.seq,
        ),
        component="audit",
        hint="restore audit.db and audit.head from a backup; or begin a new audit: wenyuan audit verify --renew-head",
    )


def _newest(connection: sa.Connection, table: sa.Table) -> Head | None:
    found = connection.execute(sa.select(table.c.seq, table.c.hash).order_by(table.c.seq.desc()).limit(1)).first()
    return None if found is None else Head(found.seq, found.hash)
