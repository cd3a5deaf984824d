"""The audit on a PostgreSQL, beside the catalog's tables.

Any number of servers add to one chain: a transaction that does holds the row ``audit`` of ``library`` until it ends,
so it follows the one before, and its record that one's.

Each server keeps the head of the chain in its own folder, so whoever changes the database must change those, too. One
that joins accepts the head that it finds; so does one whose own head was removed by retention. That a folder has
joined is kept in the database: a head that is missing there afterwards was taken away.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import event

from wenyuan.catalog import schema as t
from wenyuan.catalog.audit.definitions import tables
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.question_outcomes import keep_all_outcomes
from wenyuan.catalog.audit.tables import ERASABLE, FORMAT, check_format, continues, last_head, ours
from wenyuan.catalog.dialects import create_missing, insert_new
from wenyuan.catalog.sql import let_go, reading
from wenyuan.core.errors import CatalogUnavailable

_KEY = "audit"
JOINED = "audit_head/"
"""What the keys in `library` begin with that name the folders in which a head was written."""
_LOCKED = sa.select(t.library.c.value).where(t.library.c.key == _KEY).with_for_update()
_SERVER_GUARDS = """
CREATE FUNCTION audit_refused() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = TG_ARGV[0]; END $$;
CREATE FUNCTION audit_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.seq > (SELECT COALESCE(MAX(seq), 0) FROM audit_cuts) THEN
        RAISE EXCEPTION 'audit records are not removed';
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION audit_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.seq <= (SELECT MAX(seq) FROM audit) THEN
        RAISE EXCEPTION 'audit records are added at the end';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT
    EXECUTE FUNCTION audit_refused('audit records are not removed');
CREATE TRIGGER audit_not_removed BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_kept();
CREATE TRIGGER audit_at_the_end BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_follows();
CREATE TRIGGER audit_queries_not_edited BEFORE UPDATE ON audit_queries FOR EACH ROW
    EXECUTE FUNCTION audit_refused('kept queries are erased, not edited');
CREATE TRIGGER audit_cuts_not_edited BEFORE UPDATE ON audit_cuts FOR EACH ROW
    EXECUTE FUNCTION audit_refused('cuts are not edited');
CREATE TRIGGER audit_cuts_not_removed BEFORE DELETE ON audit_cuts FOR EACH ROW
    EXECUTE FUNCTION audit_refused('cuts are not removed');
"""
"""The triggers above, in the words of PostgreSQL."""
_ERASED_GUARDS = f"""
CREATE FUNCTION audit_erases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT {ERASABLE} THEN
        RAISE EXCEPTION 'audit records are not edited';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER audit_not_edited BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION audit_erases();
CREATE TRIGGER audit_erased_not_edited BEFORE UPDATE ON audit_erased FOR EACH ROW
    EXECUTE FUNCTION audit_refused('erased records are not edited');
CREATE TRIGGER audit_erased_not_removed BEFORE DELETE ON audit_erased FOR EACH ROW EXECUTE FUNCTION audit_kept();
"""
"""Those that know of erased records, which the first format of the audit has not."""


def make_audit(connection: sa.Connection) -> None:
    """Create the audit tables in the transaction that creates the catalog's."""
    create_missing(connection, tables)
    connection.exec_driver_sql(_SERVER_GUARDS + _ERASED_GUARDS)
    connection.execute(t.library.insert(), {"key": _KEY, "value": str(FORMAT)})


class AuditOnServer:
    """The audit log on PostgreSQL, see `AuditPlace`. It owns its engines and closes them."""

    def __init__(self, reader: sa.Engine, writer: sa.Engine) -> None:
        self.reader = reader
        self.writer = writer
        event.listen(writer, "begin", _follow)

    def gone(self) -> bool:
        """False: the log is made with the catalog's tables, and `begin` misses them."""
        return False

    def begin(self, head: HeadFile) -> None:
        doing = "opening the audit"
        known, key = head.read(), _folder_key(head.path.parent)
        with ours(doing), reading(self.reader, doing) as connection:
            found = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == _KEY))
            if found is None:
                raise CatalogUnavailable("the library has no audit", component="audit", hint="restore a backup")
            check_format(int(found))
            if int(found) < FORMAT:
                self._migrate()
            last = last_head(connection)
            joined = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == key)) is not None
            joining = not joined if known is None else continues(connection, known)
        if joining:  # else a head that is missing was taken away, and verifying says so
            head.create(last)
        if not joined:
            with ours(doing), self.writer.begin() as connection:
                connection.execute(insert_new(connection, t.library), {"key": key, "value": "joined"})

    def _migrate(self) -> None:
        """Bring a log to the present format: the second one knows of erased records, the third what became of questions."""
        with ours("opening the audit"), self.writer.begin() as connection:  # which holds the row of the format
            found = int(connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == _KEY)) or 0)
            if found < FORMAT:
                create_missing(connection, tables)
                if found < 2:
                    connection.exec_driver_sql("DROP TRIGGER IF EXISTS audit_not_edited ON audit")
                    connection.exec_driver_sql(_ERASED_GUARDS)
                keep_all_outcomes(connection)
                self.touch(connection)

    def touch(self, connection: sa.Connection) -> None:
        connection.execute(t.library.update().where(t.library.c.key == _KEY).values(value=str(FORMAT)))

    def check(self, *, now: bool = False) -> None:
        """Does nothing: a lost database raises on the next statement."""

    def belong(self, names: Sequence[str], *, named: bool) -> None:
        """Does nothing: the tables are in the same schema as the catalog's."""

    def forget(self) -> None:
        """Vacuum the tables, as `Server.forget`."""
        self._vacuum("VACUUM audit, audit_queries, audit_asked")

    def compact(self) -> None:
        self._vacuum("VACUUM (FULL) audit, audit_queries, audit_asked")

    def _vacuum(self, statement: str) -> None:
        with ours("vacuuming what was removed"), self.writer.connect() as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
            raw.autocommit = True
            try:
                raw.execute(statement)
            finally:
                raw.autocommit = False

    def close(self) -> None:
        let_go(self.reader, self.writer)


def _follow(connection: sa.Connection) -> None:
    connection.execute(_LOCKED)


def _folder_key(folder: Path) -> str:
    """Identifies this folder as a writer of the chain; a new container's folder gets another key."""
    known = folder.stat()
    said = f"{socket.gethostname()}:{known.st_dev}:{known.st_ino}"
    return JOINED + hashlib.sha256(said.encode()).hexdigest()
