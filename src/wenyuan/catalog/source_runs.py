"""Which process may write what is read of a source: the one whose run began last."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import sqlalchemy as sa

from wenyuan.catalog.batch_tables import source_runs
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import clock
from wenyuan.core.errors import CatalogBusy, msg
from wenyuan.runtime.processes import own_name

_CURRENT: ContextVar[tuple[str, int] | None] = ContextVar("run over a source", default=None)
"""The run that this thread makes: source and token."""
_R = source_runs.c


@dataclass(frozen=True, slots=True, eq=False)
class SourceRuns:
    """Numbers the runs over sources, and refuses what a former one writes.

    The lock of a source ends with the connection that took it, which its holder may not notice: another process then
    begins, and two would write. Each run has a token, and every transaction of its thread that changes the library
    ends by looking whether it is still the present one.
    """

    database: Database

    def __post_init__(self) -> None:
        self.database.before_commit.append(self._check)

    @contextmanager
    def run(self, source_id: str, *, wait: float = 10.0) -> Iterator[None]:
        """Take a source in: alone, as far as its lock can tell, and with the newest token.

        Raises:
            CatalogBusy: another process takes it in; or, from what is written within, has begun to.
        """
        with self.database.place.held_source(source_id, wait=wait):
            token = secrets.randbits(62) + 1
            fresh = {
                "token": token,
                "holder": own_name(token),
                "files": 0,
                "files_total": 0,
                "passages": 0,
                "embedded": 0,
                "shared": False,
            }
            with self.database.claiming("beginning a run", wait) as connection:
                at = clock(connection)
                connection.execute(source_runs.delete().where(_R.source_id == source_id))
                connection.execute(source_runs.insert(), {**fresh, "source_id": source_id, "begun": at, "seen": at})
            before = _CURRENT.set((source_id, token))
            try:
                yield
            finally:
                _CURRENT.reset(before)
            self._end(source_id, token)

    def _end(self, source_id: str, token: int) -> None:
        """Forget a run that has ended well, so that those that are listed go on or broke off."""
        mine = (_R.source_id == source_id, _R.token == token, _R.shared.is_(True))
        with self.database.reading("looking at a run") as connection:
            shared = connection.execute(sa.select(_R.token).where(*mine)).first() is not None
        if shared:
            with self.database.claiming("ending a run") as connection:
                connection.execute(source_runs.delete().where(*mine))

    def note_progress(self, files: int, files_total: int, passages: int, embedded: int) -> None:
        """Store how far this thread's run is."""
        if (current := _CURRENT.get()) is None:
            return
        values = {
            "files": files,
            "files_total": files_total,
            "passages": passages,
            "embedded": embedded,
            "shared": True,
        }
        mine = source_runs.update().where(_R.source_id == current[0], _R.token == current[1])
        with self.database.claiming("noting the progress of a run") as connection:
            connection.execute(mine.values(**values, seen=clock(connection)))

    def _check(self, connection: sa.Connection) -> None:
        if (current := _CURRENT.get()) is None:
            return
        source_id, token = current
        query = sa.select(_R.token, _R.holder).where(_R.source_id == source_id).with_for_update(read=True)
        row = connection.execute(query).first()
        if row is None or row.token != token:
            told = msg("the source {source_id} was removed while it was taken in", source_id=repr(source_id))
            if row is not None:
                told = msg(
                    "the source {source_id} is taken in by {holder} now, which began later",
                    source_id=repr(source_id),
                    holder=row.holder,
                )
            raise CatalogBusy(told, component="catalog", hint="wait until it has finished")
