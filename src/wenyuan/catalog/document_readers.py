"""Who may read which document: the lists that stand for addresses, and what of them somebody may not see.

Membership is not stored here. Whoever asks has names, a list admits names, and which documents are hidden is found for
each question, so that a change of either counts for the next one. For that each process keeps which documents share
their lists (`core.hidden_documents.AccessClasses`), and follows the catalog by its changes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.access_classes import ClassKeeper
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.documents import CONTENT_AT, batches
from wenyuan.catalog.reader_tables import access_lists, document_readers
from wenyuan.catalog.rows import source_of
from wenyuan.catalog.sql import now
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.core.principals import AccessList, parse_access_list, sight_now
from wenyuan.core.source_readers import BY_PATTERN, IN_DOCUMENT, READERS, SET, WITH_UPLOAD, path_within, readers_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAccess:
    """A list that stands for an address.

    Attributes:
        origin: Where it comes from: ``set``, ``registry``, ``document``, ``sidecar/N`` or ``permissions/N``.
        note: Why nobody may, where it could not be read.
        at: Seconds since the epoch.
    """

    origin: str
    access: AccessList
    note: str = ""
    actor: str = ""
    at: float = 0.0


class DocumentReaders:
    """The access lists of documents."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keeper = ClassKeeper(database)
        database.hidden = self.hidden

    def hidden(self, deadline: Deadline | None = None) -> HiddenDocuments | None:
        """What those with whose eyes this thread reads may not see; None: nothing is hidden from them.

        It is as of the last change, or a later one.
        """
        sight = sight_now()
        return None if sight is None else self._keeper.hidden(sight, deadline)

    # -- lists ----------------------------------------------------------------------------------------

    def document_access(self, source_id: str, uri: str) -> tuple[StoredAccess, ...]:
        """The lists that stand for an address; none where nothing is said of it."""
        r, a = document_readers.c, access_lists.c
        query = (
            sa.select(r.origin, a.definition, r.note, r.actor, r.at)
            .join(access_lists, a.list_id == r.list_id)
            .where(r.source_id == source_id, r.uri == uri)
            .order_by(r.origin)
        )
        with self._database.reading("reading who may read a document") as connection:
            rows = connection.execute(query).all()
        return tuple(
            StoredAccess(origin=origin, access=parse_access_list(told), note=note, actor=actor, at=at)
            for origin, told, note, actor, at in rows
        )

    def set_document_access(self, source_id: str, uri: str, access: AccessList | None, actor: str) -> None:
        """Say who may read what lies at an address, or (None) no longer say it, nor what was said when it was uploaded; other lists
        of it count on.

        Raises:
            NotFound: no document lies there.
        """
        d = t.documents.c
        held = sa.select(d.document_id).where(d.source_id == source_id, d.uri == uri, d.removed_seq.is_(None))
        file = re.split("[?#]", uri, maxsplit=1)[0]  # of which it may be a part
        lists = {at: {one.origin: one.access for one in self.document_access(source_id, at)} for at in (uri, file)}
        before = lists[uri].get(SET)
        given = {at: WITH_UPLOAD for at, of in lists.items() if access is None and WITH_UPLOAD in of}
        with self._database.changing("writing who may read a document") as connection:
            if connection.scalar(held) is None:
                raise NotFound(
                    msg("source {source_id} has no document {uri}", source_id=repr(source_id), uri=uri),
                    hint="wenyuan document list",
                )
            if access != before or given:
                changed: dict[str, dict[str, tuple[AccessList | None, str]]] = {uri: {SET: (access, "")}}
                for at, origin in given.items():
                    changed.setdefault(at, {})[origin] = (None, "")
                put_lists(connection, next_seq(connection, source_id), source_id, changed, actor)
        if access != before or given:
            self._database.on_change(
                "document", "readers", f"{source_id} {uri}",
                None if before is None else before.written(), None if access is None else access.written(),
            )  # fmt: skip

    def has_access(self, source_id: str, origins: tuple[str, ...]) -> bool:
        """Whether a list of an origin that begins so stands for something of a source."""
        r = document_readers.c
        query = sa.select(r.origin).where(r.source_id == source_id, r.list_id.is_not(None)).distinct()
        with self._database.reading("reading who may read a document") as connection:
            return any(origin.startswith(origins) for origin in connection.scalars(query))

    def keep_access(
        self,
        source_id: str,
        found: Mapping[str, Mapping[str, tuple[AccessList, str]]],
        origins: tuple[str, ...],
    ) -> int:
        """Store what was read of who may read, by address and origin; what was stored of these addresses with an origin
        that begins with one of `origins` and was not found again is taken back. Returns how many addresses it changed.

        Args:
            found: A list each, and why nobody may, where it could not be read.
        """
        if not found:
            return 0
        r = document_readers.c
        with self._database.changing("writing who may read documents") as connection:
            changed: dict[str, dict[str, tuple[AccessList | None, str]]] = {}
            for part in batches(sorted(found)):
                rows = connection.execute(
                    sa.select(r.uri, r.origin, r.note, access_lists.c.definition)
                    .join(access_lists, access_lists.c.list_id == r.list_id)
                    .where(r.source_id == source_id, r.uri.in_(part))
                ).all()
                held: dict[str, dict[str, tuple[AccessList, str]]] = {}
                for uri, name, note, told in rows:
                    if not name.startswith(origins):
                        continue
                    held.setdefault(uri, {})[name] = parse_access_list(told), note
                for uri in part:
                    old, new = held.get(uri, {}), found[uri]
                    other: dict[str, tuple[AccessList | None, str]] = {
                        name: new.get(name, (None, ""))
                        for name in old.keys() | new.keys()
                        if old.get(name) != new.get(name)
                    }
                    if other:
                        changed[uri] = other
            if changed:
                put_lists(connection, next_seq(connection, source_id), source_id, changed, "")
        return len(changed)

    def uploaded_access(self, source_id: str) -> Mapping[str, AccessList]:
        """The lists that were given with uploaded files, by the addresses for which they stand."""
        return dict(self._of_origins(source_id, (WITH_UPLOAD,)))

    def access_of_contents(self, source_id: str) -> Mapping[str, AccessList]:
        """By the digest of what a document ever held, who may read it, where that was said by name or with an upload."""
        d = t.documents.c
        said: dict[str, AccessList] = {}
        for uri, access in self._of_origins(source_id, (SET, WITH_UPLOAD)):
            said[uri] = access if uri not in said else said[uri].narrowed(access)
        found: dict[str, AccessList] = {}
        with self._database.reading("reading who may read documents") as connection:
            for part in batches(sorted(said)):
                query = sa.select(d.uri, sa.func.substr(d.fingerprint, CONTENT_AT)).distinct()
                for uri, content in connection.execute(query.where(d.source_id == source_id, d.uri.in_(part))):
                    found[content] = said[uri] if content not in found else found[content].narrowed(said[uri])
        return found

    def _of_origins(self, source_id: str, origins: tuple[str, ...]) -> list[tuple[str, AccessList]]:
        r, a = document_readers.c, access_lists.c
        query = (
            sa.select(r.uri, a.definition)
            .join(access_lists, a.list_id == r.list_id)
            .where(r.source_id == source_id, r.origin.in_(origins))
        )
        with self._database.reading("reading who may read documents") as connection:
            return [(uri, parse_access_list(told)) for uri, told in connection.execute(query)]

    def move_access(self, source_id: str, renamed: Mapping[str, str]) -> None:
        """Let the lists of addresses stand for those that replace them, too, before anything is stored there."""
        r = document_readers.c
        query = sa.select(document_readers).where(r.source_id == source_id, r.list_id.is_not(None))
        with self._database.changing("writing who may read documents") as connection:
            rows = [
                row
                for part in batches(sorted(renamed))
                for row in connection.execute(query.where(r.uri.in_(part))).mappings()
            ]
            if rows:
                seq = next_seq(connection, source_id)
                for row in rows:
                    key = sa.and_(r.source_id == source_id, r.uri == renamed[row["uri"]], r.origin == row["origin"])
                    connection.execute(document_readers.delete().where(key))
                    connection.execute(document_readers.insert(), {**row, "uri": renamed[row["uri"]], "seq": seq})

    def access_counts(self) -> Mapping[str, Mapping[str, int]]:
        """By source, how many live documents have ``readers``, are seen by nobody (``unread``), and could not be told
        (``unreadable``); sources of which no list is known and that do not enforce readers are absent.
        """
        return self._database.remembered.get("access counts", self._access_counts)

    def _access_counts(self) -> Mapping[str, Mapping[str, int]]:
        d, r, a = t.documents.c, document_readers.c, access_lists.c
        live = sa.select(d.source_id, d.uri).where(d.removed_seq.is_(None))
        told = sa.select(r.source_id, r.uri, a.definition, r.note).join(access_lists, a.list_id == r.list_id)
        found: dict[str, dict[str, int]] = {}
        with self._database.reading("counting readers") as connection:
            named: dict[tuple[str, str], bool] = {}
            unclear: set[tuple[str, str]] = set()
            closed: set[tuple[str, str]] = set()
            for source_id, uri, definition, note in connection.execute(told):
                named[source_id, uri] = named.get((source_id, uri), False) or "readers" in definition
                if note:
                    unclear.add((source_id, uri))
                if definition.get("readers") == []:
                    closed.add((source_id, uri))
            enforcing = {
                source.source_id
                for source in map(source_of, connection.execute(sa.select(t.sources)).mappings())
                if readers_of(source).enforce
            }
            concerned = enforcing | {source_id for source_id, _ in named}
            for part in batches(sorted(concerned)):
                for source_id, uri in connection.execute(live.where(d.source_id.in_(part))):
                    counts = found.setdefault(source_id, {"readers": 0, "unread": 0, "unreadable": 0})
                    nobody = (source_id, uri) in closed or (
                        source_id in enforcing and not named.get((source_id, uri))
                    )
                    counts["unread"] += nobody
                    counts["readers"] += not nobody and named.get((source_id, uri), False)
                    counts["unreadable"] += (source_id, uri) in unclear
        return found

    def unmatched_patterns(self, source: Source) -> tuple[str, ...]:
        """The patterns of a source that fit none of its live documents, or only ones that an earlier pattern fits."""
        told = readers_of(source)
        if not told.documents:
            return ()
        d = t.documents.c
        with self._database.reading("comparing patterns") as connection:
            uris = connection.scalars(
                sa.select(d.uri).where(d.source_id == source.source_id, d.removed_seq.is_(None))
            ).all()
        met: set[int] = set()
        for path in {path_within(source, uri) for uri in uris}:
            number = told.number_of(path)
            if number is not None:
                met.add(number)
        return tuple(pattern for number, (pattern, _) in enumerate(told.documents) if number not in met)


def put_lists(
    connection: sa.Connection,
    seq: int,
    source_id: str,
    lists: Mapping[str, Mapping[str, tuple[AccessList | None, str]]],
    actor: str,
) -> None:
    """Store lists by address and origin, each with a note, or (None) take them back; at change `seq`."""
    r, at = document_readers.c, now()
    numbers = _numbers(
        connection, {one for of_uri in lists.values() for one, _ in of_uri.values() if one is not None}
    )
    rows: list[dict[str, Any]] = []
    for uri, of_uri in lists.items():
        for origin, (access, note) in of_uri.items():
            connection.execute(
                document_readers.delete().where(r.source_id == source_id, r.uri == uri, r.origin == origin)
            )
            number = None if access is None else numbers[_digest(access)]
            rows.append(
                {"source_id": source_id, "uri": uri, "origin": origin, "list_id": number, "note": note,
                 "actor": actor, "at": at, "seq": seq}
            )  # fmt: skip
    if rows:
        connection.execute(document_readers.insert(), rows)


def apply_patterns(connection: sa.Connection, seq: int, source: Source, uris: Sequence[str] | None = None) -> None:
    """Let a source's patterns stand for its documents: for those at these addresses (None: for all of it)."""
    told, r, d = readers_of(source), document_readers.c, t.documents.c
    mine = sa.and_(r.source_id == source.source_id, r.origin == BY_PATTERN)
    rows = (
        sa.select(r.uri, access_lists.c.definition)
        .join(access_lists, access_lists.c.list_id == r.list_id)
        .where(mine)
    )
    if uris is None:
        held = {uri: parse_access_list(definition) for uri, definition in connection.execute(rows)}
        uris = [
            *held,
            *connection.scalars(sa.select(d.uri).where(d.source_id == source.source_id, d.removed_seq.is_(None))),
        ]
    elif not told.documents:
        return
    else:
        held = {
            uri: parse_access_list(definition)
            for part in batches(uris)
            for uri, definition in connection.execute(rows.where(r.uri.in_(part)))
        }
    changed = {
        uri: {BY_PATTERN: (access, "")}
        for uri in dict.fromkeys(uris)
        if (access := told.of(path_within(source, uri))) != held.get(uri)
    }
    put_lists(connection, seq, source.source_id, changed, "")


def readers_committed(
    connection: sa.Connection, seq: int, source_id: str, own: Mapping[str, AccessList | None]
) -> None:
    """What is to be stored with new documents: the lists that patterns and the documents themselves say, by address."""
    row = connection.execute(sa.select(t.sources).where(t.sources.c.source_id == source_id)).mappings().first()
    if row is not None and READERS in row["settings"]:
        apply_patterns(connection, seq, source_of(row), list(own))
    r = document_readers.c
    for part in batches(sorted(own)):
        rows = connection.execute(
            sa.select(r.uri, access_lists.c.definition)
            .join(access_lists, access_lists.c.list_id == r.list_id)
            .where(r.source_id == source_id, r.origin == IN_DOCUMENT, r.uri.in_(part))
        )
        held = {uri: parse_access_list(definition) for uri, definition in rows}
        changed = {uri: {IN_DOCUMENT: (own[uri], "")} for uri in part if own[uri] != held.get(uri)}
        put_lists(connection, seq, source_id, changed, "")


def _digest(access: AccessList) -> str:
    return hashlib.sha256(json.dumps(access.written(), sort_keys=True).encode()).hexdigest()


def _numbers(connection: sa.Connection, lists: set[AccessList]) -> Mapping[str, int]:
    """The numbers of lists by their digest; those that are not stored yet are stored."""
    a = access_lists.c
    by_digest = {_digest(one): one for one in lists}
    found: dict[str, int] = {}
    for part in batches(sorted(by_digest)):
        found.update(connection.execute(sa.select(a.digest, a.list_id).where(a.digest.in_(part))).all())
    new = sorted(by_digest.keys() - found.keys())
    first = int(connection.scalar(sa.select(sa.func.max(a.list_id))) or 0) + 1 if new else 0
    for number, digest in enumerate(new, start=first):
        row = {"list_id": number, "digest": digest, "definition": by_digest[digest].written()}
        connection.execute(access_lists.insert(), row)
        found[digest] = number
    return found
