"""Hand over what a library has besides rows: keys, pseudonyms, counts."""

from __future__ import annotations

import os
from collections.abc import Sequence

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.anchor import anchored
from wenyuan.catalog.audit import definitions as audit_tables
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.audit.server_audit import JOINED
from wenyuan.catalog.audit.tables import check_continues, last_head
from wenyuan.catalog.catalog import MOVING
from wenyuan.catalog.database import StoragePlace
from wenyuan.catalog.database_pair import CATALOG, OWN, DatabasePair
from wenyuan.catalog.identity import KEY_MARK, mark_of
from wenyuan.catalog.library_folder import Files
from wenyuan.catalog.sql import reading, translated
from wenyuan.core.errors import CatalogError, CatalogUnavailable, msg
from wenyuan.runtime.regular import open_regular, read_regular


def finish(origin: StoragePlace, target: StoragePlace, pairs: Sequence[DatabasePair]) -> str:
    """Verify the audit log, then mark the target as a complete library; returns the audit's head."""
    audit = next(pair.new for pair in pairs if pair.table is audit_tables.audit)
    with reading(audit, "reading the audit") as connection:
        with reading(origin.reader, "reading the head of the audit") as catalog:
            name = str(catalog.scalar(sa.select(t.library.c.value).where(t.library.c.key == "library_id")))
            if (known := anchored(catalog)) is not None:
                check_continues(connection, known, "the catalog")
        HeadFile(target.folder / "audit.head").advance(last_head(connection))
    log = AuditLog(target.folder, place=target.audit(), names=(name,))
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


def _hand_over(origin: StoragePlace, target: StoragePlace) -> None:
    key, value = t.library.c.key, t.library.c.value
    with reading(origin.reader, "reading the library's values") as connection:
        held = dict(connection.execute(sa.select(key, value)).all())
    said = {name: text for name, text in held.items() if name not in OWN and not name.startswith(JOINED)}
    pseudonyms = _pseudonyms(origin, held)
    with target.held(), translated(f"finishing {target}"), target.claims.begin() as connection:
        connection.execute(t.library.delete().where(key.not_in(OWN), key.not_like(JOINED + "%")))
        connection.execute(t.library.insert(), [{"key": name, "value": text} for name, text in said.items()])
        if pseudonyms and not isinstance(target, Files):
            connection.execute(t.library.update().where(key == t.PSEUDONYMS).values(value=pseudonyms.hex()))
        _count_on(connection)
        if pseudonyms and isinstance(target, Files):
            _keep(target, pseudonyms)
        connection.execute(t.library.delete().where(key == MOVING))


def _pseudonyms(place: StoragePlace, held: dict[str, str]) -> bytes:
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
    for table in CATALOG:
        column = table.autoincrement_column
        if column is not None:
            connection.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column.name}'), max({column.name})) "  # noqa: S608
                f"FROM {table.name} HAVING max({column.name}) IS NOT NULL"
            )
