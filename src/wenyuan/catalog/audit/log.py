"""The audit: who asked what and was given which passages of which state of the library; who changed what.

Records are chained by hashes (see `catalog.audit`) and written in groups by a thread of their own, so that a
request does not wait for the disk: its record is durable about `flush_after` seconds later, or after `flush`.
Several processes may write; each transaction reads the chain's head anew.
"""

from __future__ import annotations

import atexit
import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog.audit.chain import (
    EXPIRED,
    GENESIS,
    RENEWED,
    AuditRow,
    Head,
    Ids,
    canonical,
    commitment,
    row_hash,
)
from wenyuan.catalog.audit.definitions import asked, audit, cuts, erased, queries
from wenyuan.catalog.audit.erased_records import NAMED_AT_ONCE, erase_rows, wanted_rows
from wenyuan.catalog.audit.group_writer import GroupWriter
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.known_ends import KnownEnds
from wenyuan.catalog.audit.question_outcomes import AskedRecord, keep_outcomes
from wenyuan.catalog.audit.reads import AuditReads, verify_export
from wenyuan.catalog.audit.tables import AuditFiles, AuditPlace, audit_gone, check_continues, last_head, ours
from wenyuan.catalog.audit.tombstones import ERASED
from wenyuan.catalog.sql import reading
from wenyuan.core.errors import CatalogError, CatalogUnavailable, InvalidRequest, msg
from wenyuan.core.records import KINDS, AuditFault, AuditProgress, AuditRecord, AuditVerification
from wenyuan.runtime.delegation import delegate

log = logging.getLogger(__name__)


RETENTION = 180 * 86_400.0
"""Seconds for which records are kept at least."""
_DAY = 86_400.0
_LOOK = 3600.0  # seconds between two checks for records older than the retention
_AT_ONCE, _SOON = 2_000, 2.0  # records removed at once, since answers wait for it; the rest follows seconds later


class _Entry(NamedTuple):
    """A record that waits to be added to the chain."""

    audit_id: str
    at: float
    kind: str
    principal: str
    record: str
    salt: str
    query: str | None


class AuditLog:
    """The audit log of the library in `folder`; safe to share between threads, not across a fork.

    Args:
        folder: Holds the head file, and the log itself unless `place` is given.
        place: Where the log is stored; closed together with this object.
        flush_after: Seconds that a record waits for others to be written with.
        clock: Seconds since the epoch.
        keep_queries: Whether queries are kept, for replay; if not, only what proves that a given one was asked.
        names: Ids of the library that the log must belong to, see `Identity.names`. A log without an id is given the
            first.
        retention: Seconds after which records are removed automatically, at most a day later; at least `RETENTION`.
            None: only by `expire`.
        ends: The heads that others keep. A log that is gone, or does not continue them, is opened all the same: it can
            be verified, and nothing is recorded before `renew_head` accepts what there is.

    Raises:
        CatalogUnavailable, CatalogVersion: on construction.
    """

    def __init__(
        self,
        folder: Path,
        *,
        place: AuditPlace | None = None,
        flush_after: float = 0.05,
        clock: Callable[[], float] = time.time,
        keep_queries: bool = True,
        retention: float | None = None,
        names: Sequence[str] = (),
        ends: KnownEnds | None = None,
    ) -> None:
        self.clock = clock
        self._keep_queries = keep_queries
        self._retention = retention
        self._look_at = float("-inf")  # time of the next check for expired records
        self._ids = Ids()
        self._head = HeadFile(folder / "audit.head")
        self._place = place or AuditFiles(folder)
        self._writer, self._reader = self._place.writer, self._place.reader
        self._names = names
        self._ends = ends or KnownEnds()
        self.reads = AuditReads(self._reader, self._head, self._ends, self._settle)
        self._half_done: frozenset[str] = frozenset()  # committed, but the head file could not be written
        self._durable = GENESIS  # the last record that is known to be on the disk
        self._gone = False  # there are no tables, though the catalog knows of records
        self._closed = False
        self._refusal: CatalogUnavailable | None = None
        try:
            self._open()
            if self._ends.anchor is not None:
                self._ends.anchor.follow(self._followed)
                if self._refusal is None and self._ends.catalog() is None:
                    self._ends.anchor.settle(self._durable)
        except BaseException:
            self._dispose()
            raise
        self._groups = GroupWriter(
            "audit", self._write, after=flush_after, rest=self._tell_others, rest_after=self._ends.rest
        )
        atexit.register(self.close)

    show = delegate("reads", AuditReads.show)
    list = delegate("reads", AuditReads.list)
    export = delegate("reads", AuditReads.export)
    asked = delegate("reads", AuditReads.asked)
    slowest = delegate("reads", AuditReads.slowest)

    def verify(self, expected_head: str | None = None) -> AuditVerification:
        """See `AuditReads.verify`; also of a log that is gone."""
        if self._gone:
            self._open()
        if self._gone:
            assert self._refusal is not None
            fault = AuditFault(GENESIS.seq + 1, self._refusal.message)
            return AuditVerification(ok=False, records=0, head=str(GENESIS), first_fault=fault)
        found = self.reads.verify(expected_head)
        if found.ok and self._refusal is not None:
            self._open()  # it may have been put back
        if found.ok and self._refusal is not None:
            fault = AuditFault(Head.parse(found.head).seq, self._refusal.message)
            return replace(found, ok=False, first_fault=fault)
        return found

    # -- what the catalog knows -----------------------------------------------------------------------

    def _open(self) -> None:
        """Open the log, and create it unless the catalog knows of one."""
        known = self._ends.catalog()
        if known is not None and self._place.gone():
            self._gone = True
            self._refusal = audit_gone(known)
            return
        self._refusal = self._begin(known)
        self._gone = False

    def _begin(self, known: Head | None) -> CatalogUnavailable | None:
        """Open the tables, which are made unless they are there; returns why they must not be gone on with."""
        self._place.begin(self._head)
        nameless = self._place.belong(self._names, named=known is not None)
        with ours("opening the audit"), reading(self._reader, "opening the audit") as connection:
            self._durable = last_head(connection)
            self._ends.follow(known)
            try:
                if known is not None:
                    check_continues(connection, known, "the catalog")
                self._check_elsewhere(connection)
            except CatalogUnavailable as error:
                return error
        return nameless

    def _check_elsewhere(self, connection: sa.Connection) -> None:
        """CatalogUnavailable where the log does not continue the head in the file elsewhere; a file that cannot be read
        is a matter for `verify`.
        """
        kept = None
        with suppress(CatalogUnavailable):
            kept = self._ends.elsewhere()
        if kept is not None:
            check_continues(connection, kept[1], kept[0])

    def _tell_others(self) -> None:
        """Have those who keep heads know the end of the log, unless it must not be gone on with."""
        if self._refusal is not None or self._closed:
            return
        try:
            with ours("reading the audit"), reading(self._reader, "reading the audit") as connection:
                self._check_elsewhere(connection)
        except CatalogUnavailable as error:
            self._refusal = error
            log.error("audit: %s", error)
        except CatalogError as error:
            log.warning("audit: %s", error)
        else:
            self._ends.tell(self._durable)

    def _followed(self) -> Head:
        self._check_accepted()
        return self._durable

    def _check_accepted(self) -> None:
        """Raise where the log must not be gone on with; looks again, for what was restored meanwhile."""
        if self._refusal is not None:
            self._open()
        if (refusal := self._refusal) is not None:
            raise refusal

    def _settle(self) -> None:
        if self._gone:
            self._check_accepted()
        self.flush()

    # -- writing ------------------------------------------------------------------------------------

    def append(self, record: Mapping[str, Any], query: Mapping[str, Any] | None = None) -> str:
        """Queue a record for writing, and return its id at once.

        Args:
            record: ``kind`` (of `KINDS`), ``principal``, and anything that JSON can hold.
            query: What was asked. It is kept apart from the chain, so that it can be erased.

        Raises:
            CatalogUnavailable: earlier records could not be written, or the log is closed.
            TypeError, ValueError: the record is invalid.
        """
        entry = self._entry(record, query)
        self._check_accepted()
        self._place.check()
        self._groups.add(entry)
        return entry.audit_id

    def _entry(self, record: Mapping[str, Any], query: Mapping[str, Any] | None = None) -> _Entry:
        said = dict(record)
        kind, principal = said.pop("kind", None), said.pop("principal", None)
        if kind not in KINDS:
            raise ValueError(
                msg("{kind} is no kind of audit record: {kinds}", kind=repr(kind), kinds=", ".join(KINDS))
            )
        if not isinstance(principal, str) or not principal or not principal.isprintable():
            raise ValueError(f"{principal!r} is no principal")
        salt, asked = "", None
        if query is not None:
            salt, asked = secrets.token_hex(16), canonical(query)
            said["query_sha256"] = commitment(salt, asked)
        at = self.clock()
        return _Entry(self._ids(at), at, kind, principal, canonical(said), salt, asked)

    def flush(self, timeout: float = 30.0) -> None:
        """Wait until every appended record is durable; CatalogUnavailable when that fails."""
        self._groups.flush(timeout)

    def check(self) -> None:
        """Check that a record could be written now, without writing one.

        Raises:
            CatalogUnavailable, CatalogBusy: it could not, and so nothing can be answered.
        """
        self._groups.check()
        self._check_accepted()
        self._place.check()
        with ours("writing audit records"), self._writer.begin() as connection:
            self._check_not_cut(connection, self._head.read())
            self._place.touch(connection)

    def progress(self) -> AuditProgress:
        """State of the writer thread; does not wait for it."""
        if self._gone:
            self._check_accepted()
        self._place.check()
        with ours("reading the audit"), reading(self._reader, "reading the audit") as connection:
            written = last_head(connection).seq
        waiting, lag, failing = self._groups.state()
        return AuditProgress(records=written, waiting=waiting, lag=lag, failing=failing)

    def head(self) -> str:
        """The chain's head.

        Raises:
            CatalogUnavailable: the chain does not continue the head in this folder's ``audit.head``, in the catalog, or
                in the file elsewhere; or ``audit.head`` is gone.
        """
        self._check_accepted()
        known = self._head.read()  # before the records: it is never ahead of them
        with ours("reading the audit"), reading(self._reader, "reading the audit") as connection:
            head = last_head(connection)
            self._check_not_cut(connection, known)
            self._check_elsewhere(connection)
        if known is None:
            raise CatalogUnavailable(
                msg("{name} is missing or empty: the end may have been cut off", name=self._head.path.name),
                component="audit",
                hint="restore the audit; or go on with what there is: wenyuan audit verify --renew-head",
            )
        return str(head)

    def check_elsewhere(self) -> None:
        """CatalogUnavailable where the file elsewhere is set and missing, or cannot be read or written."""
        self._ends.elsewhere()

    def close(self) -> None:
        """Write what is queued and close all connections; may be called twice.

        Raises:
            CatalogUnavailable: something could not be written, and is lost.
        """
        atexit.unregister(self.close)
        try:
            self._groups.close()
            self._tell_others()
        finally:
            self._closed = True
            self._dispose()

    def _dispose(self) -> None:
        self._place.close()

    def _write(self, group: Sequence[_Entry]) -> None:
        """Write a group in one transaction, then advance the head file."""
        self._place.check(now=True)
        self._let_expire()
        with ours("writing audit records"):
            with self._writer.begin() as connection:
                head = self._chained(connection, [e for e in group if e.audit_id not in self._half_done])
            self._half_done = frozenset(e.audit_id for e in group)
            self._head.advance(head)
            self._durable = head
            self._half_done = frozenset()
        if self._ends.due(head):
            self._tell_others()

    def _chained(self, connection: sa.Connection, entries: Sequence[_Entry], *, accepted: bool = False) -> Head:
        """Add entries to the chain; returns its new head."""
        head = last_head(connection)
        if not accepted:  # going on after the end was cut off would hide it
            self._check_not_cut(connection, self._head.read())
            known = None
            with suppress(CatalogError):  # that the catalog cannot be read is recorded, too
                known = self._ends.catalog()
            if known is not None:
                check_continues(connection, known, "the catalog")
        last_seq = head.seq
        rows: list[dict[str, Any]] = []
        kept_queries = []
        for entry in entries:
            columns = entry[:5]
            seq = head.seq + 1
            digest = row_hash(head.hash, seq, *columns)
            rows.append(
                {
                    "seq": seq,
                    **dict(zip(_Entry._fields, columns, strict=False)),
                    "prev_hash": head.hash,
                    "hash": digest,
                }
            )
            head = Head(seq, digest)
            if entry.query is not None:
                kept = entry.query if self._keep_queries else None
                kept_queries.append({"audit_id": entry.audit_id, "at": entry.at, "salt": entry.salt, "query": kept})
        connection.execute(asked.delete().where(asked.c.seq > last_seq))  # of records that were cut off
        if rows:
            connection.execute(audit.insert(), rows)
            keep_outcomes(connection, [AskedRecord(*(row[name] for name in AskedRecord._fields)) for row in rows])
        if kept_queries:
            connection.execute(queries.insert(), kept_queries)
        return head

    def _check_not_cut(self, connection: sa.Connection, known: Head | None) -> None:
        if known is not None:
            check_continues(connection, known, self._head.path.name)

    # -- letting go ---------------------------------------------------------------------------------

    def expire(self, before: float, *, principal: str = "local", early: bool = False) -> int:
        """Remove the records up to a time (seconds since the epoch); returns how many. The rest stays verifiable.

        Args:
            early: Remove also what is younger than `RETENTION`.

        Raises:
            InvalidRequest: `before` is within the retention, and `early` is False.
        """
        if before > self.clock() - RETENTION and not early:
            raise InvalidRequest(
                msg("audit records are kept for {retention} days at least", retention=f"{RETENTION / 86400:g}"),
                hint="choose an earlier day, or say that they shall go early",
            )
        self._check_accepted()
        self.flush()
        return self._expired(before, principal)

    def _let_expire(self) -> None:
        """Remove records older than the retention, at most one day's records an hour: a clock that is wrong for a
        while then removes little.
        """
        if self._retention is None or time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK
        try:
            with ours("reading the audit"), reading(self._reader, "reading the audit") as connection:
                oldest = connection.execute(sa.select(audit.c.at).order_by(audit.c.seq).limit(1)).scalar()
            if oldest is None or oldest + _DAY > self.clock() - max(self._retention, RETENTION):
                return
            if self._expired(oldest + _DAY, "local", _AT_ONCE) == _AT_ONCE:
                self._look_at = time.monotonic() + _SOON
        except CatalogError as error:  # new records must be written in any case
            log.warning("audit: records past their retention could not be removed: %s", error)

    def _expired(self, before: float, principal: str, most: int | None = None) -> int:
        a = audit.c
        # Stop at the first younger record: a clock that was set back must not leave a gap in the chain.
        end = None if most is None else sa.select(sa.func.min(a.seq)).scalar_subquery() + most
        within = sa.true() if end is None else a.seq < end
        younger = sa.select(sa.func.min(a.seq)).where(a.at >= before, within).scalar_subquery()
        older = sa.or_(younger.is_(None), a.seq < younger)
        last = sa.select(a.seq, a.hash).where(older, within).order_by(a.seq.desc())
        with self._removing("expiring audit records") as connection:
            found = connection.execute(last.limit(1)).first()
            if found is None:
                return 0
            cut = Head(found.seq, found.hash)
            connection.execute(cuts.insert(), {**cut._asdict(), "at": self.clock()})
            going = sa.select(a.audit_id).where(a.seq <= cut.seq)
            connection.execute(queries.delete().where(queries.c.audit_id.in_(going)))
            count = connection.execute(audit.delete().where(a.seq <= cut.seq)).rowcount
            connection.execute(erased.delete().where(erased.c.seq <= cut.seq))
            connection.execute(asked.delete().where(asked.c.seq <= cut.seq))
            said = {"action": EXPIRED, "before": before, "records": count, "cut": str(cut)}
            self._chained(connection, [self._entry({"kind": "audit", "principal": principal, **said})])
        return int(count)

    def erase_queries(
        self, *, before: float | None = None, audit_ids: Sequence[str] = (), principal: str = "local"
    ) -> int:
        """Erase stored queries, by age or by audit id; returns how many. The chain stays valid.

        Of an erased query there remain the preview in its record, and a hash that cannot be tested without its salt.

        Raises:
            InvalidRequest: neither is given.
        """
        if before is None and not audit_ids:
            raise InvalidRequest("neither a time nor an id says which queries to erase")
        self._check_accepted()
        self.flush()
        q = queries.c
        tests = [q.audit_id == audit_id for audit_id in audit_ids] + ([] if before is None else [q.at < before])
        with self._removing("erasing queries") as connection:
            count = sum(connection.execute(queries.delete().where(test)).rowcount for test in tests)
            said = {"action": "erase queries", "before": before, "ids": list(audit_ids), "queries": count}
            self._chained(connection, [self._entry({"kind": "audit", "principal": principal, **said})])
        return count

    def wanted_records(self, wanted: Callable[[AuditRow], bool]) -> Iterator[AuditRow]:
        """The records, with their queries, of which `erase_records` would erase the content."""
        self.flush()
        with ours("reading the audit"), reading(self._reader, "reading the audit") as connection:
            yield from wanted_rows(connection, wanted)

    def erase_records(
        self, erasure_id: str, wanted: Callable[[AuditRow], bool], clean: Callable[[str], str], *, principal: str
    ) -> int:
        """Erase the content of records and their queries in one step; returns how many. The chain stays valid.

        Args:
            erasure_id: Stands in the place of the content.
            wanted: Whether a record is to be erased.
            clean: What principals are shown as: those that name who is erased, as another.
            principal: Who erases.
        """
        self._check_accepted()
        self.flush()
        with self._removing("erasing audit records") as connection:
            named = erase_rows(connection, erasure_id, wanted, clean)
            entries = [
                self._entry(
                    {
                        "kind": "audit", "principal": principal, "action": ERASED, "erasure": erasure_id,
                        "records": [list(pair) for pair in named[at : at + NAMED_AT_ONCE]],
                    }
                )
                for at in range(0, len(named), NAMED_AT_ONCE)
            ]  # fmt: skip
            self._chained(connection, entries)
        return len(named)

    def compact(self) -> None:
        """Write the tables anew, without what was erased before, see `AuditPlace.compact`."""
        self._check_accepted()
        self.flush()
        self._place.compact()

    def renew_head(self, *, principal: str = "local") -> str:
        """Accept the current end of the chain as complete, whatever ``audit.head`` and the catalog say; returns the
        head. A log that is gone is begun anew.

        The renewal is recorded in the chain, with the file's former content and the head that the catalog knew.
        """
        doing = "renewing the head of the audit"
        had, known = self._head.text(), self._ends.catalog()
        said = {"action": RENEWED, "had": had, "anchor": str(known or "")}
        with ours(doing), nullcontext(None) if self._ends.anchor is None else self._ends.anchor.replacing() as put:
            self._begin(None)
            with self._writer.begin() as connection:
                entry = self._entry({"kind": "audit", "principal": principal, **said})
                head = self._chained(connection, [entry], accepted=True)
            self._head.replace(head)
            self._ends.replace(head)
            if put is not None:
                put(head)
        self._durable, self._gone, self._refusal = head, False, None
        return str(head)

    @contextmanager
    def _removing(self, doing: str) -> Iterator[sa.Connection]:
        """A transaction that deletes; afterwards the write-ahead log is emptied of the deleted rows."""
        with ours(doing):
            with self._writer.begin() as connection:
                yield connection
                head = last_head(connection)
            self._head.advance(head)
            self._durable = head
            self._place.forget()


__all__ = ["KINDS", "RETENTION", "AuditLog", "AuditRecord", "AuditVerification", "verify_export"]
