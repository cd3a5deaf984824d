"""Which documents share their access lists: read once, then followed by the changes of the catalog."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.groups import groups_above, groups_changed
from wenyuan.catalog.reader_tables import access_lists, document_readers
from wenyuan.catalog.rows import source_of
from wenyuan.core.errors import EngineTimeout
from wenyuan.core.hidden_documents import AccessClasses, HiddenDocuments
from wenyuan.core.ports import Deadline
from wenyuan.core.principals import AccessList, Sight, parse_access_list
from wenyuan.core.source_readers import readers_of

_SNAPSHOTS = itertools.count(1)
_MOST_KEPT = 256
"""Principals of whom it is remembered which classes they may not read."""
Address = tuple[str, str]


@dataclass(slots=True)
class _Lists:
    """The access lists by the names on them, so that of somebody's thousands of groups each is looked up once."""

    open: set[int] = field(default_factory=set)
    naming: set[int] = field(default_factory=set)  # those that say readers
    granting: dict[str, set[int]] = field(default_factory=dict)
    denying: dict[str, set[int]] = field(default_factory=dict)
    last: int = 0

    def add(self, number: int, access: AccessList) -> None:
        if access.readers is None:
            self.open.add(number)
        else:
            self.naming.add(number)
            for name in access.readers:
                self.granting.setdefault(name, set()).add(number)
        for name in access.deny:
            self.denying.setdefault(name, set()).add(number)
        self.last = max(self.last, number)

    def admitting(self, names: Iterable[str]) -> set[int]:
        """The lists that let somebody with these names read."""
        granted, denied = set(self.open), set[int]()
        for name in names:
            granted |= self.granting.get(name, set())
            denied |= self.denying.get(name, set())
        return granted - denied


class ClassKeeper:
    """Keeps the classes of documents up to the catalog's last change. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._seq, self._newest = 0, 0
        self._lists = _Lists()
        self._sources: dict[str, tuple[float, bool]] = {}  # when it was registered, and whether it is closed
        self._rows: dict[Address, dict[str, int]] = {}
        self._documents: dict[Address, list[int]] = {}
        self._numbers: dict[tuple[bool, frozenset[int]], int] = {(False, frozenset()): 0}
        self._of_address: dict[Address, int] = {}
        self._of_document: dict[int, int] = {}
        self._members: dict[int, set[int]] = {}
        self._within: dict[int, dict[str, int]] = {}  # by class and source, how many addresses
        self._changed: set[int] = set()
        self._shared: AccessClasses | None = None
        self._unread: OrderedDict[str, tuple[frozenset[int], str]] = OrderedDict()

    def hidden(self, sight: Sight, deadline: Deadline | None = None) -> HiddenDocuments | None:
        """What somebody may not see, as of the last change or a later one; None: nothing."""
        if not self._lock.acquire(timeout=-1 if deadline is None else deadline.remaining()):
            raise EngineTimeout("the deadline passed", component="catalog")
        try:
            self._follow(deadline)
            if sight.digest not in self._unread:
                self._unread[sight.digest] = self._unread_by(sight, deadline)
                if len(self._unread) > _MOST_KEPT:
                    self._unread.popitem(last=False)
            self._unread.move_to_end(sight.digest)
            shared = self._snapshot()
            unread, digest = self._unread[sight.digest]
            unread = unread.intersection(shared.sources)
            return HiddenDocuments(shared, unread, digest) if unread else None
        finally:
            self._lock.release()

    def _unread_by(self, sight: Sight, deadline: Deadline | None) -> tuple[frozenset[int], str]:
        """The classes that somebody may not read, and the digest of their names and of the groups that these are in."""
        with self._database.reading("reading who belongs to which group", deadline) as connection:
            whole = Sight.of(*(groups_above(connection, names) for names in sight.all_of))
        admitting = reduce(set.intersection, (self._lists.admitting(names) for names in whole.all_of))
        unread = frozenset(
            number
            for (closed, lists), number in self._numbers.items()
            if not lists <= admitting or (closed and self._lists.naming.isdisjoint(lists))
        )
        return unread, whole.digest

    # -- following ------------------------------------------------------------------------------------

    def _follow(self, deadline: Deadline | None) -> None:
        latest = self._database.remembered.get("seq of readers", self._latest)
        if latest == self._seq and self._shared is not None:
            return
        try:
            with self._database.reading("reading who may read which document", deadline) as connection:
                self._read(connection)
        except BaseException:
            self._forget()
            raise

    def _latest(self) -> int:
        with self._database.reading("reading the change number") as connection:
            return int(connection.scalar(sa.select(sa.func.max(t.commits.c.seq))) or 0)

    def _read(self, connection: sa.Connection) -> None:
        seq = int(connection.scalar(sa.select(sa.func.max(t.commits.c.seq))) or 0)
        if seq < self._seq:  # an older copy stands there now
            self._forget()
        a, r, d = access_lists.c, document_readers.c, t.documents.c
        lists = self._lists.last
        for number, told in connection.execute(sa.select(a.list_id, a.definition).where(a.list_id > lists)):
            self._lists.add(number, parse_access_list(told))
        touched = self._registered(connection)
        query = sa.select(r.source_id, r.uri, r.origin, r.list_id)
        for source_id, uri, origin, number in connection.execute(query.where(r.seq > self._seq)):
            self._row(source_id, uri, origin, number)
            touched.add((source_id, uri))
        for source_id, uri, number in connection.execute(
            sa.select(d.source_id, d.uri, d.document_id).where(d.document_id > self._newest)
        ):
            self._documents.setdefault((source_id, uri), []).append(number)
            self._newest = max(self._newest, number)
            touched.add((source_id, uri))
        known = len(self._numbers)
        self._numbers.setdefault((True, frozenset()), known)
        for address in touched:
            self._classify(address)
        if lists != self._lists.last or known != len(self._numbers) or groups_changed(connection, self._seq):
            self._unread.clear()
        self._seq = seq
        if self._changed or self._shared is None:
            self._share()

    def _registered(self, connection: sa.Connection) -> set[Address]:
        """Learn which sources there are, and which are closed; returns the addresses that this may concern."""
        rows = connection.execute(sa.select(t.sources)).mappings().all()
        now = {row["source_id"]: (float(row["created_at"]), readers_of(source_of(row)).enforce) for row in rows}
        other = {name for name in now.keys() | self._sources.keys() if now.get(name) != self._sources.get(name)}
        if not other:
            return set()
        again = {name for name in other if now.get(name, (0.0,))[0] != self._sources.get(name, (0.0,))[0]}
        self._sources = now
        self._changed.add(0)  # which class stands for addresses without a document is another one
        touched = {address for address in (*self._rows, *self._documents) if address[0] in other}
        if again:  # registered anew, or removed: its rows are not those of before
            for address in [address for address in self._rows if address[0] in again]:
                del self._rows[address]
            r = document_readers.c
            query = sa.select(r.source_id, r.uri, r.origin, r.list_id)
            for part in batches(sorted(again)):
                for source_id, uri, origin, number in connection.execute(query.where(r.source_id.in_(part))):
                    self._row(source_id, uri, origin, number)
                    touched.add((source_id, uri))
        return touched

    def _row(self, source_id: str, uri: str, origin: str, number: int | None) -> None:
        lists = self._rows.setdefault((source_id, uri), {})
        if number is None:
            lists.pop(origin, None)
        else:
            lists[origin] = number

    def _classify(self, address: Address) -> None:
        """Put an address and its documents, of now and before, into their class."""
        closed = self._sources.get(address[0], (0.0, False))[1]
        key = closed, frozenset(self._rows.get(address, {}).values())
        number = self._numbers.setdefault(key, len(self._numbers))
        former = self._of_address.get(address, 0)
        if former != number:
            self._changed |= {former, number}
            self._count(former, address[0], -1)
            self._count(number, address[0], 1)
            if number:
                self._of_address[address] = number
            else:
                del self._of_address[address]
        for document in self._documents.get(address, ()):
            if self._of_document.get(document, 0) != number:
                self._members.get(self._of_document.pop(document, 0), set()).discard(document)
                self._changed.add(number)
                if number:
                    self._of_document[document] = number
                    self._members.setdefault(number, set()).add(document)

    def _count(self, number: int, source_id: str, more: int) -> None:
        if number:
            sources = self._within.setdefault(number, {})
            sources[source_id] = sources.get(source_id, 0) + more

    def _share(self) -> None:
        before: Mapping[int, frozenset[int]] = {} if self._shared is None else self._shared.documents
        documents = {
            number: before[number] if number in before and number not in self._changed else frozenset(members)
            for number, members in self._members.items()
        }
        closed = {name for name, (_, closed) in self._sources.items() if closed}
        bare = self._numbers[True, frozenset()] if closed else 0
        sources = {
            number: within
            for number, of in self._within.items()
            if (within := frozenset(name for name, count in of.items() if count))
        }
        if closed:
            sources[bare] = sources.get(bare, frozenset()) | closed
        self._shared = AccessClasses(
            number=next(_SNAPSHOTS),
            of_document=dict(self._of_document),
            of_address=dict(self._of_address),
            held=self._documents,
            closed=dict.fromkeys(closed, bare),
            documents=documents,
            sources=sources,
        )
        self._changed = set()

    def _snapshot(self) -> AccessClasses:
        assert self._shared is not None
        return self._shared
