"""The head of the audit that the catalog keeps: by it an audit that is gone, cut off or older is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.audit.chain import Head
from wenyuan.catalog.sql import translated
from wenyuan.core.errors import CatalogError, CatalogUnavailable, InvalidRequest, msg

if TYPE_CHECKING:
    from wenyuan.catalog.database import Database

_KEY = "audit_anchor"


class Anchor:
    """The last record of the audit that the catalog knows of, among the values of `library`.

    It is written in the transaction of each change of the catalog, where it costs no commit of its own, and by itself
    when many records, or some time, have passed since (`catalog.audit.known_ends`). It names a record that is on the
    disk already: it may be behind the audit, and is never ahead of it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> Head | None:
        """The head that the catalog knows; None in a library that had no change since it began to keep one.

        Raises:
            CatalogUnavailable: it cannot be read.
        """
        with self._database.reading("reading the head of the audit") as connection:
            return anchored(connection)

    def follow(self, durable: Callable[[], Head]) -> None:
        """From now on write the head with each change of the catalog.

        Args:
            durable: The last record that is known to be on the disk; raises where the audit must not be gone on with,
                and so nothing may be changed.
        """

        def write(connection: sa.Connection) -> None:
            _advance(connection, durable())

        self._database.before_commit.append(write)

    def settle(self, head: Head) -> bool:
        """Write a head without any other change, and say whether it is written. Where somebody is writing it is not: who
        does writes it, too.
        """
        with (
            suppress(CatalogError),  # the next change writes it, or says why it cannot be written
            self._database.writing(wait=0),
            translated("writing the head of the audit"),
            self._database.writer.begin() as connection,
        ):
            _advance(connection, head)
            return True
        return False

    @contextmanager
    def replacing(self) -> Iterator[Callable[[Head], None]]:
        """A change of the catalog within which a head is put in the place of the one that is known, whatever that is."""
        with (
            self._database.writing(),
            translated("writing the head of the audit"),
            self._database.writer.begin() as connection,
        ):
            yield lambda head: _put(connection, head)


def anchored(connection: sa.Connection) -> Head | None:
    """The head that the catalog knows, see `Anchor.read`."""
    text = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == _KEY))
    try:
        return None if text is None else Head.parse(text)
    except InvalidRequest as error:
        raise CatalogUnavailable(
            msg("the stored value {key} is no head of an audit", key=repr(_KEY)), component="catalog"
        ) from error


def put_back(connection: sa.Connection, head: Head) -> None:
    """Write a head whatever is known, into a copy whose audit ends before that of the original."""
    _put(connection, head)


def _advance(connection: sa.Connection, head: Head) -> None:
    known = anchored(connection)
    if known is None or known.seq < head.seq:
        _put(connection, head)


def _put(connection: sa.Connection, head: Head) -> None:
    connection.execute(t.library.delete().where(t.library.c.key == _KEY))
    connection.execute(t.library.insert(), {"key": _KEY, "value": str(head)})
