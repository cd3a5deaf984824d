"""Erasing the content of audit records, see `catalog.audit.tombstones`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import sqlalchemy as sa

from wenyuan.catalog.audit.chain import AuditRow
from wenyuan.catalog.audit.definitions import audit, erased, queries
from wenyuan.catalog.audit.question_outcomes import AskedRecord, blank_outcomes
from wenyuan.catalog.audit.tombstones import is_tombstone, remains_hash, tombstone

NAMED_AT_ONCE = 500
"""Erased records that one record names."""


def erase_rows(
    connection: sa.Connection, erasure_id: str, wanted: Callable[[AuditRow], bool], clean: Callable[[str], str]
) -> list[tuple[int, str]]:
    """Erase the content of rows and their queries, within a transaction; returns number and `remains_hash` of each.

    Args:
        wanted: Whether a row is to be erased; it is asked with the row's query.
        clean: What a principal is shown as.
    """
    named: list[tuple[int, str]] = []
    for part in _parts(connection):
        rows = [row for row in part if not is_tombstone(row) and wanted(row)]
        blank_outcomes(connection, [AskedRecord(*row[:4], row.record) for row in rows])
        for row in rows:
            left = row._replace(record=tombstone(erasure_id), principal=clean(row.principal))
            connection.execute(erased.insert(), {"seq": row.seq, "hash": row.hash, "erasure_id": erasure_id})
            changed = audit.update().where(audit.c.seq == row.seq)
            connection.execute(changed.values(record=left.record, principal=left.principal))
            named.append((row.seq, remains_hash(left)))
            connection.execute(queries.delete().where(queries.c.audit_id == row.audit_id))
    return named


def wanted_rows(connection: sa.Connection, wanted: Callable[[AuditRow], bool]) -> Iterator[AuditRow]:
    """The rows that `erase_rows` would erase."""
    for part in _parts(connection):
        yield from (row for row in part if not is_tombstone(row) and wanted(row))


_READ_AT_ONCE = 1_000


def _parts(connection: sa.Connection) -> Iterator[Sequence[AuditRow]]:
    """All rows with their queries, some at a time: rows that were read are changed before the next ones are."""
    last = 0
    every = sa.select(*audit.c, queries.c.salt, queries.c.query).outerjoin(
        queries, queries.c.audit_id == audit.c.audit_id
    )
    while True:
        query = every.where(audit.c.seq > last).order_by(audit.c.seq).limit(_READ_AT_ONCE)
        rows = [AuditRow._make(row) for row in connection.execute(query)]
        if not rows:
            return
        yield rows
        last = rows[-1].seq
