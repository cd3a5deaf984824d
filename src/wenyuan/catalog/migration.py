"""Moving a library from one place to another: from a folder to a PostgreSQL, and back.

Rows are copied table by table in the order of their keys, so an interrupted move goes on behind the last key that is
there. Then every table is compared, by count and by a hash over all its rows; one that differs (the library was written
to between two attempts) is copied again. Until all are equal, the new place says that it is none yet. The old one is
only read, and held for writing meanwhile.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import SecretStr

from wenyuan.catalog import schema as t
from wenyuan.catalog.audit import definitions as audit_tables
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.catalog import MOVING, Catalog, make_tables
from wenyuan.catalog.database import StoragePlace
from wenyuan.catalog.database_pair import CATALOG, DatabasePair
from wenyuan.catalog.dialects import create_missing
from wenyuan.catalog.handover import finish
from wenyuan.catalog.library_folder import Files, place_of
from wenyuan.catalog.sql import reading, translated
from wenyuan.catalog.task_anchor import check_file, task_anchor
from wenyuan.catalog.tasks import ledger_file
from wenyuan.catalog.token_ledger import task_tables
from wenyuan.core.errors import CatalogError, CatalogUnavailable, InvalidRequest, msg
from wenyuan.settings import load_settings

_BATCH = 1_000
_AUDIT = [audit_tables.cuts, audit_tables.erased, audit_tables.audit, audit_tables.queries, audit_tables.asked]
_GROWING = (audit_tables.cuts, audit_tables.erased, audit_tables.audit)  # rows are only added, and guarded


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProgress:
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


Tell = Callable[[MoveProgress], None]


def names_server(to: str) -> bool:
    """Whether a text is a connection string (a URL or ``host=… dbname=…``) rather than a folder.

    A connection string taken for a folder would create one with the password in its name.
    """
    return to.startswith(("postgresql://", "postgres://")) or "=" in to.partition("/")[0]


def move_library(folder: str | Path, to: str, tell: Callable[[MoveProgress], None] = lambda _: None) -> Moved:
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
        target: StoragePlace = Files(Path(to))
    else:
        target = place_of(path, settings.catalog.model_copy(update={"dsn": SecretStr(to)}))
    try:
        return move(origin, target, tell)
    finally:
        origin.close()
        target.close()


def move(origin: StoragePlace, target: StoragePlace, tell: Tell = lambda _: None) -> Moved:
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
        head = finish(origin, target, pairs)
        seq = old.seq()
    return Moved(tables=counts, seq=seq, head=head, seconds=time.monotonic() - begun)


def _prepare(target: StoragePlace, library_id: str) -> None:
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


def _check_keys(origin: StoragePlace, target: StoragePlace) -> None:
    """Raise CatalogError where the target cannot index a text of the library; before anything is made there."""
    if target.longest_key is None:
        return
    with reading(origin.reader, "looking for long addresses") as connection:
        for table in CATALOG:
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


def _pairs(origin: StoragePlace, target: StoragePlace, stack: ExitStack) -> list[DatabasePair]:
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
    found = [DatabasePair(table, origin.reader, target.claims, target.reader) for table in CATALOG]
    found += [DatabasePair(table, audits[0].reader, audits[1].writer, audits[1].reader) for table in _AUDIT]
    return found + [DatabasePair(table, tasks[0], tasks[1], tasks[1]) for table in task_tables.sorted_tables]


def _moved(pair: DatabasePair, tell: Tell) -> int:
    """Copy the missing rows of a table and compare; returns the number of rows."""
    table = pair.table
    _copy_rows(pair, tell)
    before, after = _digest(table, pair.old, tell), _digest(table, pair.new, tell)
    if before != after and table not in _GROWING:
        with translated(f"copying {table.name} again"), pair.sink.begin() as connection:
            for other in CATALOG:  # these are copied next
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


def _copy_rows(pair: DatabasePair, tell: Tell) -> None:
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
            tell(MoveProgress(table=table.name, doing="copying", done=done, total=total))
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
                    tell(MoveProgress(table=table.name, doing="comparing", done=count, total=total))
    return count, hashed.hexdigest()
