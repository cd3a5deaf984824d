"""Documents by their addresses, as files stand in folders: what is in one, and what lies below it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.core.ports import Deadline

_LAST = "\U0010ffff"  # behind every address that begins alike
_ROWS = 100  # that are read at once


class AddressedDocument(NamedTuple):
    """A document in force, with its address."""

    document_id: int
    source_id: str
    uri: str
    title: str
    media_type: str
    language: str
    effective_from: int | None
    effective_until: int | None


class AddressChild(NamedTuple):
    """What stands in a folder: a document, or a folder of documents (`document` is None).

    Attributes:
        name: Its part of the address; ``""`` for the document that has the folder's own address.
        address: Whole; a folder's ends in a slash.
    """

    name: str
    address: str
    document: AddressedDocument | None

    @property
    def behind(self) -> str:
        """Behind which the following children's addresses lie."""
        return self.address if self.document is not None else self.address + _LAST


@dataclass(frozen=True, slots=True, eq=False)
class AddressTree:
    """Reads of documents in force by address; hidden ones, and those that were disabled, are not there. A folder is read by an index, child by child, however
    many documents lie below each.
    """

    database: Database

    def children(
        self,
        source_id: str,
        below: str,
        *,
        today: date,
        after: str = "",
        limit: int = 100,
        deadline: Deadline | None = None,
    ) -> list[AddressChild]:
        """What stands in a folder, by address.

        Args:
            below: The folder's address, which ends in a slash; ``""`` for what comes before ``://``.
            after: `AddressChild.behind` of the last child of the page before.

        Raises:
            EngineTimeout: the deadline passed.
        """
        hidden, found = self.database.hidden(deadline), list[AddressChild]()
        behind = after
        with self.database.reading("listing a folder", deadline) as connection:
            while len(found) < limit:
                rows = connection.execute(_below(source_id, below, behind, today).limit(_ROWS)).all()
                for row in rows:
                    if found and found[-1].document is None and row.uri.startswith(found[-1].address):
                        continue
                    behind = row.uri
                    if hidden is None or not hidden.hides(row.document_id):
                        found.append(_child(AddressedDocument(*row), below))
                if len(rows) < _ROWS:
                    break
                behind = max(behind, found[-1].behind) if found else behind
                if deadline is not None:
                    deadline.check("catalog")
        return found[:limit]

    def documents_below(
        self,
        source_id: str,
        below: str,
        *,
        today: date,
        after: str = "",
        limit: int = 100,
        deadline: Deadline | None = None,
    ) -> list[AddressedDocument]:
        """The documents whose addresses begin alike, by address, those behind `after`.

        Raises:
            EngineTimeout: the deadline passed.
        """
        hidden, found = self.database.hidden(deadline), list[AddressedDocument]()
        with self.database.reading("listing documents", deadline) as connection:
            while len(found) < limit:
                room = limit - len(found)
                rows = connection.execute(_below(source_id, below, after, today).limit(room)).all()
                found += (
                    AddressedDocument(*row) for row in rows if hidden is None or not hidden.hides(row.document_id)
                )
                if len(rows) < room:
                    break
                after = rows[-1].uri
                if deadline is not None:
                    deadline.check("catalog")
        return found

    def document_at(self, source_id: str, uri: str, *, today: date) -> AddressedDocument | None:
        """The document in force with an address of its own; None without one."""
        query = _in_force(source_id, today).where(t.documents.c.uri == uri)
        with self.database.reading("looking up an address") as connection:
            row = connection.execute(query.limit(1)).first()
        hidden = self.database.hidden()
        if row is None or (hidden is not None and hidden.hides(row.document_id)):
            return None
        return AddressedDocument(*row)

    def numbered(self, document_id: int, *, today: date) -> AddressedDocument | None:
        """The document in force of a number; None without one."""
        d = t.documents.c
        query = sa.select(d.source_id).where(d.document_id == document_id, d.removed_seq.is_(None))
        with self.database.reading("looking up a document") as connection:
            source_id = connection.scalar(query) or ""
            row = connection.execute(_in_force(source_id, today).where(d.document_id == document_id)).first()
        hidden = self.database.hidden()
        if row is None or (hidden is not None and hidden.hides(document_id)):
            return None
        return AddressedDocument(*row)


def _in_force(source_id: str, today: date) -> sa.Select[Any]:
    d, day = t.documents.c, today.toordinal()
    columns = (
        d.document_id, d.source_id, d.uri, d.title, d.media_type, d.language, d.effective_from, d.effective_until,
    )  # fmt: skip
    p = t.passages.c
    answers = sa.exists().where(p.document_id == d.document_id, p.removed_seq.is_(None))
    return (
        sa.select(*columns)
        .where(d.source_id == source_id, d.removed_seq.is_(None), answers)
        .where(sa.or_(d.effective_from.is_(None), d.effective_from <= day))
        .where(sa.or_(d.effective_until.is_(None), d.effective_until >= day))
        .order_by(d.uri)
    )


def _below(source_id: str, below: str, after: str, today: date) -> sa.Select[Any]:
    uri = t.documents.c.uri
    query = _in_force(source_id, today).where(uri >= below, uri < below + _LAST)
    return query.where(uri > after) if after else query


def _child(document: AddressedDocument, below: str) -> AddressChild:
    name, slash, _ = document.uri[len(below) :].partition("/")
    if not slash:
        return AddressChild(name, document.uri, document)
    slashes = "//" if not below and document.uri.startswith(f"{name}//") else "/"
    return AddressChild(name, below + name + slashes, None)
