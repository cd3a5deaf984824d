"""Reading the audit log: lists, single records, verification and export."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa

from wenyuan.catalog.audit.chain import AuditRow, Head, canonical
from wenyuan.catalog.audit.chain_check import check
from wenyuan.catalog.audit.definitions import asked, audit, erased, queries
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.known_ends import KnownEnds
from wenyuan.catalog.audit.question_outcomes import AskedCount, asked_counts, slowest_asked
from wenyuan.catalog.audit.tables import chain_start, ours
from wenyuan.catalog.dialects import agent_of
from wenyuan.catalog.sql import reading
from wenyuan.core.errors import CatalogUnavailable, Fault, InvalidRequest, NotFound, listed, msg
from wenyuan.core.question_outcomes import ANY, OUTCOMES
from wenyuan.core.records import KINDS, AuditFault, AuditRecord, AuditVerification, QueryState, erasure_of
from wenyuan.runtime.presence import exists
from wenyuan.runtime.regular import open_regular

_MOST_LISTED = 1_000
_HASHED = AuditRow._fields[:8]
_WITH_QUERY = sa.select(*audit.c, queries.c.salt, queries.c.query).outerjoin(
    queries, queries.c.audit_id == audit.c.audit_id
)


class AuditReads:
    """The reading half of `AuditLog`. A process always sees the records that it has appended itself.

    Args:
        ends: Who else knows the end.
        settle: Waits until what was appended is written; called before anything is read.
    """

    def __init__(self, reader: sa.Engine, head: HeadFile, ends: KnownEnds, settle: Callable[[], None]) -> None:
        self._reader, self._head, self._ends, self._settle = reader, head, ends, settle

    def show(self, audit_id: str, *, agent: str | None = None) -> AuditRecord:
        """One record by its id; NotFound when there is none.

        Args:
            agent: Only of an answer that was given to this agent; None: of any.
        """
        self._settle()
        wanted = _WITH_QUERY.where(audit.c.audit_id == audit_id)
        if agent is not None:
            wanted = wanted.where(agent_of(audit.c.record) == agent)
        with ours("reading the audit"), reading(self._reader, "reading the audit") as connection:
            row = connection.execute(wanted).first()
        if row is None:
            raise NotFound(
                msg("there is no audit record {audit_id}", audit_id=repr(audit_id)), hint="wenyuan audit list"
            )
        return _record_of(AuditRow._make(row))

    def list(  # noqa: PLR0913  (what is wanted, each by name)
        self,
        *,
        kind: str | None = None,
        principal: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int = 50,
        before: str | None = None,
        outcome: str | None = None,
        source: str | None = None,
    ) -> tuple[AuditRecord, ...]:
        """The newest records first, filtered by kind, principal, agent and time.

        Args:
            agent: Only answers that were given to this agent.
            outcome: Only questions of which this became, one of `core.question_outcomes.OUTCOMES`, or `ANY`; of a question
                that was asked in parts the first record.
            source: Likewise only questions of whose answer the most probable fragment is of this source.
            since, until: Seconds since the epoch; `until` is exclusive.
            limit: At most 1,000.
            before: The id of a record: go on with those that are older.

        Raises:
            InvalidRequest: an unknown kind, a limit out of bounds, or a time that ends before it begins.
            NotFound: no record has the id `before`.
        """
        if kind is not None and kind not in KINDS:
            raise InvalidRequest(
                msg("{kind} is no kind of audit record", kind=repr(kind)),
                hint=msg("one of {kinds}", kinds=", ".join(KINDS)),
            )
        if outcome not in (None, ANY, *OUTCOMES):
            raise InvalidRequest(
                msg("{outcome} is nothing that becomes of a question", outcome=repr(outcome)),
                hint=msg("one of {outcomes}", outcomes=", ".join((ANY, *OUTCOMES))),
            )
        if not 1 <= limit <= _MOST_LISTED:
            raise InvalidRequest(
                msg("limit is {limit}; it must be from 1 to {most_listed}", limit=limit, most_listed=_MOST_LISTED)
            )
        if since is not None and until is not None and since >= until:
            faults = (Fault("since", "must be earlier than the end of the time that is asked for"),)
            raise InvalidRequest(listed(faults), faults=faults)
        a, whole = audit.c, outcome is source is None
        tests = (
            kind is None or a.kind == kind,
            principal is None or a.principal == principal,
            agent is None or (agent_of(a.record) if whole else asked.c.agent) == agent,
            since is None or a.at >= since,
            until is None or a.at < until,
            before is None or a.seq < self.show(before).seq,
            outcome in (None, ANY) or asked.c.outcome == outcome,
            source is None or asked.c.source_id == source,
        )
        wanted = _WITH_QUERY if whole else _WITH_QUERY.join(asked, asked.c.seq == a.seq)
        query = wanted.where(*(test for test in tests if test is not True)).order_by(a.seq.desc()).limit(limit)
        self._settle()
        with ours("listing audit records"), reading(self._reader, "listing audit records") as connection:
            rows = connection.execute(query).all()
        return tuple(_record_of(AuditRow._make(row)) for row in rows)

    def asked(self, days: Sequence[float]) -> Sequence[AskedCount]:
        """How many questions were asked on each day, by outcome, agent and source.

        Args:
            days: When each day begins, in seconds since the epoch, and last when the last one ends.
        """
        self._settle()
        with ours("counting questions"), reading(self._reader, "counting questions") as connection:
            return asked_counts(connection, days)

    def slowest(self, since: float, until: float, limit: int) -> Sequence[tuple[AuditRecord, float]]:
        """The questions that took longest, each with the milliseconds of its longest leg."""
        self._settle()
        with ours("counting questions"), reading(self._reader, "counting questions") as connection:
            took = slowest_asked(connection, since, until, limit)
            rows = connection.execute(_WITH_QUERY.where(audit.c.seq.in_(list(took)))).all()
        found = {row.seq: _record_of(AuditRow._make(row)) for row in rows}
        return [(found[seq], ms) for seq, ms in took.items() if seq in found]

    def verify(self, expected_head: str | None = None) -> AuditVerification:
        """Verify the chain: that no record was edited, removed, inserted or moved, and none is missing at the end.

        Args:
            expected_head: A head that was kept elsewhere; without it, only ``audit.head``, the catalog and the file
                that is set elsewhere show a cut-off end.

        Raises:
            InvalidRequest: `expected_head` has not the form ``seq:hash``.
        """
        self._settle()
        heads = {} if expected_head is None else {"the expected head": Head.parse(expected_head)}
        known = self._head.read()  # before the records: it is never ahead of them
        if known is not None:
            heads[self._head.path.name] = known
        anchor = self._ends.catalog()
        unread = ""
        try:
            if (kept := self._ends.elsewhere()) is not None:
                heads[kept[0]] = kept[1]
        except CatalogUnavailable as error:
            unread = error.message
        with ours("verifying the audit"), reading(self._reader, "verifying the audit") as connection:
            start = chain_start(connection)
            if anchor is not None and anchor.seq >= start.seq:  # what retention has removed since is no fault
                heads["the catalog"] = anchor
            known_erased = {row.seq: row.hash for row in connection.execute(sa.select(erased.c.seq, erased.c.hash))}
            head, fault = check(_rows(connection), start, heads, known_erased)
            count = connection.scalar(sa.select(sa.func.count()).select_from(audit)) or 0
        if fault is None and known is None:
            fault = AuditFault(
                head.seq, msg("{name} is missing or empty: the end may have been cut off", name=self._head.path.name)
            )
        if fault is None and unread:
            fault = AuditFault(head.seq, unread)
        return AuditVerification(ok=fault is None, records=count, head=str(head), first_fault=fault)

    def export(self, path: Path, *, with_queries: bool = False) -> str:
        """Write all records as JSON Lines to a new file, and return the head.

        A record's line holds all that is hashed; the last line is ``{"head": …, "records": n, "start": …}``.

        Raises:
            InvalidRequest: there is a file of that name.
            CatalogUnavailable: it cannot be written.
        """
        self._settle()
        part = path.with_name(path.name + ".part")
        doing = "exporting the audit"
        try:
            if exists(path):
                raise InvalidRequest(msg("there is a file {path} already", path=path), hint="choose another name")
            with part.open("w", encoding="utf-8") as file:
                with ours(doing), reading(self._reader, doing) as connection:
                    head = _export(connection, file.write, with_queries)
                file.flush()
                os.fsync(file.fileno())
            part.rename(path)
        except OSError as error:
            raise CatalogUnavailable(
                msg("cannot write {path}: {strerror}", path=path, strerror=error.strerror), component="audit"
            ) from error
        return str(head)


def verify_export(path: Path, expected_head: str | None = None) -> AuditVerification:
    """Verify an exported file as `AuditReads.verify` does the log.

    Raises:
        InvalidRequest: it is no export, or cannot be read.
    """
    heads = {} if expected_head is None else {"the expected head": Head.parse(expected_head)}
    try:
        with os.fdopen(open_regular(path), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        last = lines.pop()
        start, heads["the last line"] = Head.parse(last["start"]), Head.parse(last["head"])
        rows = [AuditRow(**line) for line in lines]
    except OSError as error:
        raise InvalidRequest(msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror)) from error
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(msg("{path} is no whole export of an audit", path=path)) from error
    head, fault = check(rows, start, heads)
    return AuditVerification(ok=fault is None, records=len(rows), head=str(head), first_fault=fault)


def _rows(connection: sa.Connection) -> Iterator[AuditRow]:
    # Closed by us: a fault ends the walk, and a server keeps a cursor open until then.
    with connection.execution_options(yield_per=1_000).execute(_WITH_QUERY.order_by(audit.c.seq)) as found:
        yield from map(AuditRow._make, found)


def _record_of(row: AuditRow) -> AuditRecord:
    try:
        record = json.loads(row.record)
        query = None if row.query is None else json.loads(row.query)
    except ValueError as error:
        raise CatalogUnavailable(
            msg("record {seq} cannot be read", seq=row.seq), component="audit", hint="wenyuan audit verify"
        ) from error
    state: QueryState = "erased" if erasure_of(record) else "none"
    if "query_sha256" in record:
        state = "kept" if query is not None else "erased" if row.salt is None else "not kept"
    return AuditRecord(
        seq=row.seq,
        audit_id=row.audit_id,
        at=row.at,
        kind=row.kind,
        principal=row.principal,
        record=record,
        hash=row.hash,
        query=query,
        query_state=state,
    )


def _export(connection: sa.Connection, write: Callable[[str], object], with_queries: bool) -> Head:
    start = head = chain_start(connection)
    count = 0
    for row in _rows(connection):
        line = dict(zip(_HASHED, row, strict=False))
        if with_queries and row.query is not None:
            line |= {"salt": row.salt, "query": row.query}
        write(canonical(line) + "\n")
        head, count = Head(row.seq, row.hash), count + 1
    write(canonical({"head": str(head), "start": str(start), "records": count}) + "\n")
    return head
