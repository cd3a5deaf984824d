"""Backing up a library in use, and copying a library between a folder and PostgreSQL."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import SecretStr

from wenyuan.catalog import MOVING, Catalog, make_tables
from wenyuan.catalog import schema as t
from wenyuan.catalog.anchor import anchored, put_back
from wenyuan.catalog.audit import Head, HeadFile
from wenyuan.catalog.audit import tables as audit_tables
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.audit.tables import (
    JOINED,
    AuditFiles,
    audit_gone,
    check_continues,
    continues,
    last_head,
    ours,
)
from wenyuan.catalog.governance import KEY_MARK, mark_of
from wenyuan.catalog.sql import connect_writer, copy_database, create_missing, reading, translated
from wenyuan.catalog.storage import Files, Place, place_of
from wenyuan.catalog.task_anchor import TASK_ANCHOR, check_file, put_task_anchor, state_of, task_anchor
from wenyuan.catalog.tasks import ledger_file, task_tables
from wenyuan.core.errors import CatalogError, CatalogUnavailable, InvalidRequest, msg
from wenyuan.runtime import exists, is_dir, is_file
from wenyuan.runtime.regular import open_regular, read_regular
from wenyuan.settings import load_settings

# A copy of a library in a folder, made while it is in use.


# The head before the audit: a head that is behind is right, one that is ahead says that records are missing. The catalog
# last: no record is of a change that the copy does not have.
_FILES = ("wenyuan.toml", "pseudonym.key", "audit.head")
_FOLDERS = ("uploads", "quarantine")
_DATABASES = ("audit.db", "tasks.db", "catalog.db")


def back_up(folder: Path, to: Path) -> int:
    """Copy the library in a folder, each database as a consistent snapshot; returns the size in bytes.

    The index is left out, since it can be rebuilt. An interrupted backup leaves ``<to>.partial``, which the next
    attempt overwrites.

    Raises:
        InvalidRequest: the library is on PostgreSQL, or `to` exists.
        CatalogError: it cannot be read or written, its catalog was emptied, or its audit ends too early.
    """
    settings = load_settings(folder)
    with closing(place_of(folder, settings.catalog)) as place:
        if not isinstance(place, Files):
            raise InvalidRequest(
                msg("the library lies in {place}", place=place),
                hint="pg_dump --schema=…, see docs/postgres.md#backup-and-restore",
            )
        if not place.found():
            raise CatalogUnavailable(msg("there is no library in {folder}", folder=folder), component="catalog")
        Catalog(place).check_not_emptied()
    partial = to.with_name(f"{to.name}.partial")
    try:
        if exists(to) and not (is_dir(to) and not any(to.iterdir())):
            raise InvalidRequest(msg("{to} is there already", to=to), hint="name a folder that is new")
        if exists(partial):
            shutil.rmtree(partial)
        partial.mkdir(parents=True, mode=0o700)
        _copy(folder, partial, audited=settings.audit.enabled)
        size = sum(file.stat().st_size for file in partial.rglob("*") if file.is_file())
        partial.replace(to)
    except OSError as error:
        raise CatalogError(
            msg(
                "cannot copy the library to {to}: {filename}: {strerror}",
                to=to,
                filename=error.filename or partial,
                strerror=error.strerror,
            ),
            component="catalog",
            hint=msg("what was begun can be removed: {partial}", partial=partial),
        ) from error
    return size


def _copy(folder: Path, to: Path, *, audited: bool) -> None:
    for name in _FILES:
        if is_file(folder / name):
            shutil.copy2(folder / name, to / name)
    for name in _DATABASES:
        if is_file(folder / name):
            copy_database(folder / name, to / name)
    _check_audit(to)
    _settle_anchor(folder, to, audited=audited)
    _settle_counts(folder, to)
    for name in _FOLDERS:
        _copy_folder(folder / name, to / name)


def _copy_folder(folder: Path, to: Path) -> None:
    """Copy uploads, or what was set aside, after the catalog; a file added meanwhile is ingested at the next refresh.
    Hidden files and folders are incomplete, and are left out.
    """
    if is_dir(folder):
        hidden = shutil.ignore_patterns(".*")
        shutil.copytree(folder, to, ignore=hidden, copy_function=_copied)


def _copied(file: str, to: str) -> None:
    with suppress(FileNotFoundError):  # deleted since it was listed
        os.close(open_regular(file))
        shutil.copy2(file, to)


def _check_audit(folder: Path) -> None:
    """Check that the copied audit log would be accepted when the copy is opened."""
    if HeadFile(folder / "audit.head").text():
        with closing(AuditLog(folder)) as audit:
            audit.head()


def _settle_anchor(folder: Path, copy: Path, *, audited: bool) -> None:
    """Set the head of the audit that the copied catalog knows to the end of the copied audit, which was copied earlier.

    Raises:
        CatalogUnavailable: the library's own audit is gone, or does not continue that head.
    """
    if not audited:
        return
    writer = connect_writer(copy / "catalog.db")
    try:
        with translated("copying the head of the audit"), writer.begin() as connection:
            known = anchored(connection)
            if known is None:
                return
            end = _continued(folder, known), _continued(copy, known, whole=False)
            put_back(connection, end[1] or known)
    finally:
        writer.dispose()


def _settle_counts(folder: Path, copy: Path) -> None:
    """Set the state of the counts that the copied catalog knows to that of the copied counts, which were copied earlier.

    Raises:
        CatalogUnavailable: the library's own counts are gone, or are others than it knows.
    """
    writer = connect_writer(copy / "catalog.db")
    try:
        with translated("copying the state of the counts"), writer.begin() as connection:
            known = task_anchor(connection)
            if known is None:
                return
            check_file(folder / "tasks.db", known)
            if not is_file(copy / "tasks.db"):  # made since
                put_task_anchor(connection, None)
                return
            counts = connect_writer(copy / "tasks.db")
            try:
                with reading(counts, "copying the state of the counts") as copied:
                    put_task_anchor(connection, state_of(copied))
            finally:
                counts.dispose()
    finally:
        writer.dispose()


def _continued(folder: Path, known: Head, *, whole: bool = True) -> Head | None:
    """The last record of the audit in a folder where it comes before a known one, else None; with `whole`,
    CatalogUnavailable instead.
    """
    place = AuditFiles(folder)
    try:
        if place.gone():
            raise audit_gone(known)
        with ours("reading the audit"), reading(place.reader, "reading the audit") as connection:
            if not whole and not continues(connection, known):
                return last_head(connection)
            check_continues(connection, known, "the catalog")
    finally:
        place.close()
    return None


# Moving a library from one place to another: from a folder to a PostgreSQL, and back.
#
# Rows are copied table by table in the order of their keys, so an interrupted move goes on behind the last key that is
# there. Then every table is compared, by count and by a hash over all its rows; one that differs (the library was written
# to between two attempts) is copied again. Until all are equal, the new place says that it is none yet. The old one is
# only read, and held for writing meanwhile.


_BATCH = 1_000
_OWN = ("schema", "library_file", "tick", "audit", MOVING, t.PSEUDONYMS, TASK_ANCHOR)
"""Keys of `library` that belong to a place, not to what it holds."""
_CATALOG = [table for kept in t.ALL for table in kept.sorted_tables if table is not t.library]
_AUDIT = [audit_tables.cuts, audit_tables.audit, audit_tables.queries]
_GROWING = (audit_tables.cuts, audit_tables.audit)  # rows are only added, and guarded


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Progress of a move: rows of one table copied or compared so far."""

    table: str
    doing: str
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The result of a move.

    Attributes:
        tables: Rows by table.
        seq: The last change.
        head: Of the audit, as its verification gave it.
    """

    tables: dict[str, int]
    seq: int
    head: str
    seconds: float


Tell = Callable[[Step], None]


def names_server(to: str) -> bool:
    """Whether a text is a connection string (a URL or ``host=… dbname=…``) rather than a folder.

    A connection string taken for a folder would create one with the password in its name.
    """
    return to.startswith(("postgresql://", "postgres://")) or "=" in to.partition("/")[0]


def move_library(folder: str | Path, to: str, tell: Callable[[Step], None] = lambda _: None) -> Moved:
    """Copy a library to PostgreSQL, or from there to a folder, and compare every row; an interrupted copy is resumed.

    Args:
        folder: The library's folder; its settings may name a PostgreSQL.
        to: A connection string, or a folder.
        tell: Called with the progress.

    Raises:
        InvalidRequest: both origin and target are folders.
        CatalogError, ConfigError: as `move`; or the settings or the connection string are wrong.
    """
    path = Path(folder)
    settings = load_settings(path)
    origin = place_of(path, settings.catalog)
    if not names_server(to):
        if isinstance(origin, Files):
            raise InvalidRequest("the library lies in a folder already", hint="copy the folder while nobody writes")
        target: Place = Files(Path(to))
    else:
        target = place_of(path, settings.catalog.model_copy(update={"dsn": SecretStr(to)}))
    try:
        return move(origin, target, tell)
    finally:
        origin.close()
        target.close()


def move(origin: Place, target: Place, tell: Tell = lambda _: None) -> Moved:
    """Copy the library at `origin` to `target`, resuming an interrupted copy, and compare every row.

    Raises:
        CatalogUnavailable: there is another library at `target`, or rows there differ and cannot be corrected.
        CatalogBusy: another process is writing to the library.
    """
    begun = time.monotonic()
    with ExitStack() as stack:
        old = Catalog.open(origin)
        stack.callback(old.close)
        stack.enter_context(old.indexing())
        stack.enter_context(old.writing())
        _check_keys(origin, target)
        _prepare(target, old.library_id())
        pairs = _pairs(origin, target, stack)
        counts = {pair.table.name: _moved(pair, tell) for pair in pairs}
        head = _finish(origin, target, pairs)
        seq = old.seq()
    return Moved(tables=counts, seq=seq, head=head, seconds=time.monotonic() - begun)


def _prepare(target: Place, library_id: str) -> None:
    """Create the tables, marked as incomplete; or check that existing ones are an incomplete copy of the same
    library.
    """
    target.make()
    with target.held(), translated(msg("making {target}", target=target)), target.claims.begin() as connection:
        names = sa.inspect(connection).get_table_names()
        found = None
        if "library" in names:
            found = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == MOVING))
        if names and found != library_id:
            raise CatalogUnavailable(
                msg("there is a database in {target} already", target=target),
                component="catalog",
                hint="choose another folder, or another catalog.schema_name",
            )
        if not names:
            make_tables(connection, 0, target)
            connection.execute(t.library.insert(), {"key": MOVING, "value": library_id})


def _check_keys(origin: Place, target: Place) -> None:
    """Raise CatalogError where the target cannot index a text of the library; before anything is made there."""
    if target.longest_key is None:
        return
    with reading(origin.reader, "looking for long addresses") as connection:
        for table in _CATALOG:
            for column in _indexed_texts(table):
                length = (
                    sa.func.octet_length(column)
                    if origin.longest_key
                    else sa.func.length(sa.cast(column, sa.LargeBinary))
                )
                too_long = sa.select(sa.func.count()).select_from(table).where(length > target.longest_key)
                if count := connection.scalar(too_long):
                    raise CatalogError(
                        msg(
                            "{count} rows of table {table} have more than {limit} bytes in {column}, which PostgreSQL cannot "
                            "index",
                            count=count, table=table.name, limit=f"{target.longest_key:,}", column=column.name,
                        ),
                        component="catalog",
                        hint="give these files shorter names, or remove them, and refresh the source; what was removed of it "
                        "goes with the source",
                    )  # fmt: skip


def _indexed_texts(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns of a table that an index of PostgreSQL holds as they are."""
    columns = set(table.primary_key.columns)
    for index in table.indexes:
        columns.update(index.columns)
    for constraint in table.constraints:
        if isinstance(constraint, sa.UniqueConstraint):
            columns.update(constraint.columns)
    return [c for c in table.columns if c in columns and isinstance(c.type, sa.String)]


class _Pair(NamedTuple):
    """A table with the engine that reads the origin, and those that write and read the target."""

    table: sa.Table
    old: sa.Engine
    sink: sa.Engine
    new: sa.Engine


def _pairs(origin: Place, target: Place, stack: ExitStack) -> list[_Pair]:
    audits = [place.audit() for place in (origin, target)]
    tasks = [place.tasks() or ledger_file(place.folder) for place in (origin, target)]
    for audit, place in zip(audits, (origin, target), strict=True):
        stack.callback(audit.close)
        audit.begin(HeadFile(place.folder / "audit.head"))
    if isinstance(origin, Files):
        with reading(origin.reader, "reading the state of the counts") as connection:
            known = task_anchor(connection)
        check_file(origin.folder / "tasks.db", known)
    for engine in tasks:
        stack.callback(engine.dispose)
        if engine.dialect.name == "sqlite":
            with translated("opening the count of tasks"), engine.begin() as connection:
                create_missing(connection, task_tables)
    found = [_Pair(table, origin.reader, target.claims, target.reader) for table in _CATALOG]
    found += [_Pair(table, audits[0].reader, audits[1].writer, audits[1].reader) for table in _AUDIT]
    return found + [_Pair(table, tasks[0], tasks[1], tasks[1]) for table in task_tables.sorted_tables]


def _moved(pair: _Pair, tell: Tell) -> int:
    """Copy the missing rows of a table and compare; returns the number of rows."""
    table = pair.table
    _copy_rows(pair, tell)
    before, after = _digest(table, pair.old, tell), _digest(table, pair.new, tell)
    if before != after and table not in _GROWING:
        with translated(f"copying {table.name} again"), pair.sink.begin() as connection:
            for other in _CATALOG:  # these are copied next
                if any(key.column.table is table for key in other.foreign_keys):
                    connection.execute(other.delete())
            connection.execute(table.delete())
        _copy_rows(pair, tell)
        before, after = _digest(table, pair.old, tell), _digest(table, pair.new, tell)
    if before != after:
        raise CatalogUnavailable(
            msg(
                "table {name} differs: {before} rows here, {after} there",
                name=table.name,
                before=before[0],
                after=after[0],
            ),
            component="catalog",
            hint="nobody may write to the library while it is moved: stop its servers; remove what was begun, try again",
        )
    return before[0]


def _copy_rows(pair: _Pair, tell: Tell) -> None:
    table = pair.table
    key = list(table.primary_key.columns)
    doing = msg("copying {name}", name=table.name)
    with reading(pair.new, doing) as there:
        newest = sa.select(*key).order_by(*(column.desc() for column in key)).limit(1)
        last: Sequence[Any] | None = there.execute(newest).first()
        done = _count(there, table)
    with reading(pair.old, doing) as here:
        total = _count(here, table)
        while True:
            tell(Step(table=table.name, doing="copying", done=done, total=total))
            query = sa.select(table).order_by(*key).limit(_BATCH)
            if last is not None:
                query = query.where(_after(key, last))
            rows = [dict(row) for row in here.execute(query).mappings()]
            if not rows:
                return
            with translated(doing), pair.sink.begin() as there:
                there.execute(table.insert(), rows)
            last = [rows[-1][column.name] for column in key]
            done += len(rows)


def _after(key: Sequence[sa.Column[Any]], last: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Rows after a key: ``a > x or (a = x and b > y) …``, a form that uses the key's index in both databases."""
    column, value = key[0], last[0]
    beyond: sa.ColumnElement[bool] = column > value
    if len(key) == 1:
        return beyond
    return sa.and_(column >= value, sa.or_(beyond, _after(key[1:], last[1:])))


def _count(connection: sa.Connection, table: sa.Table) -> int:
    return int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)


def _digest(table: sa.Table, engine: sa.Engine, tell: Tell) -> tuple[int, str]:
    """Number of rows, and a hash over all their values in key order."""
    count, hashed = 0, hashlib.sha256()
    with reading(engine, msg("comparing {name}", name=table.name)) as connection:
        total = _count(connection, table)
        query = sa.select(table).order_by(*table.primary_key.columns)
        with connection.execution_options(yield_per=_BATCH).execute(query) as rows:
            for row in rows:
                hashed.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
                count += 1
                if count % _BATCH == 0:
                    tell(Step(table=table.name, doing="comparing", done=count, total=total))
    return count, hashed.hexdigest()


# -- what a place has besides rows ---------------------------------------------------------------------------------


def _finish(origin: Place, target: Place, pairs: Sequence[_Pair]) -> str:
    """Verify the audit log, then mark the target as a complete library; returns the audit's head."""
    audit = next(pair.new for pair in pairs if pair.table is audit_tables.audit)
    with reading(audit, "reading the audit") as connection:
        with reading(origin.reader, "reading the head of the audit") as catalog:
            if (known := anchored(catalog)) is not None:
                check_continues(connection, known, "the catalog")
        HeadFile(target.folder / "audit.head").advance(last_head(connection))
    log = AuditLog(target.folder, place=target.audit())
    try:
        found = log.verify()
    finally:
        log.close()
    if not found.ok:
        raise CatalogUnavailable(
            msg("the audit does not verify: {first_fault}", first_fault=found.first_fault),
            component="audit",
            hint="wenyuan audit verify",
        )
    _hand_over(origin, target)
    return found.head


def _hand_over(origin: Place, target: Place) -> None:
    key, value = t.library.c.key, t.library.c.value
    with reading(origin.reader, "reading the library's values") as connection:
        held = dict(connection.execute(sa.select(key, value)).all())
    said = {name: text for name, text in held.items() if name not in _OWN and not name.startswith(JOINED)}
    pseudonyms = _pseudonyms(origin, held)
    with target.held(), translated(f"finishing {target}"), target.claims.begin() as connection:
        connection.execute(t.library.delete().where(key.not_in(_OWN), key.not_like(JOINED + "%")))
        connection.execute(t.library.insert(), [{"key": name, "value": text} for name, text in said.items()])
        if pseudonyms and not isinstance(target, Files):
            connection.execute(t.library.update().where(key == t.PSEUDONYMS).values(value=pseudonyms.hex()))
        _count_on(connection)
        if pseudonyms and isinstance(target, Files):
            _keep(target, pseudonyms)
        connection.execute(t.library.delete().where(key == MOVING))


def _pseudonyms(place: Place, held: dict[str, str]) -> bytes:
    if not isinstance(place, Files):
        return bytes.fromhex(held[t.PSEUDONYMS])
    mark = held.get(KEY_MARK)
    try:
        key = read_regular(place.folder / "pseudonym.key", 1 << 20)
    except FileNotFoundError:
        key = b""
    except OSError as error:
        raise CatalogError(
            msg("cannot read {filename}: {strerror}", filename=error.filename, strerror=error.strerror),
            component="catalog",
        ) from error
    if mark is not None and mark != mark_of(key):
        raise CatalogError(
            msg("{path} is missing, or is not the key that the catalog knows", path=place.folder / "pseudonym.key"),
            component="catalog",
            hint="restore it from a backup; or, if there is none, go on with a new key: wenyuan doctor --new-key",
        )
    return key


def _keep(target: Files, pseudonyms: bytes) -> None:
    path = target.folder / "pseudonym.key"
    try:
        handle = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        with os.fdopen(handle, "wb") as file:
            file.write(pseudonyms)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CatalogError(
            msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror), component="catalog"
        ) from error


def _count_on(connection: sa.Connection) -> None:
    """On PostgreSQL, move the sequences past the copied numbers; SQLite does this itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in _CATALOG:
        column = table.autoincrement_column
        if column is not None:
            connection.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column.name}'), max({column.name})) "  # noqa: S608
                f"FROM {table.name} HAVING max({column.name}) IS NOT NULL"
            )
