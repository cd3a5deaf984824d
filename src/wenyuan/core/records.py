"""Value types of audit records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

# What the audit tells: its records, whether they are whole, and how the writing of them is going.


KINDS = (
    "retrieval", "fetch", "registry", "agent", "key", "rule", "task", "refresh", "tuning", "feedback", "evaluation",
    "synonym", "correction", "document", "gap", "conflict", "group", "erasure", "sign_in", "verification", "answer", "audit",
)  # fmt: skip
"""What a record is about; ``fetch``: a document that was given to read; ``verification``: verdicts on an answer;
``answer``: what a language model's claims became; ``erasure``: what was erased at somebody's
request, and what is held; ``sign_in``: who signed in at the console or out, or was refused; ``audit``: what was expired or erased in the audit itself."""

QueryState = Literal["kept", "erased", "not kept", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """A record of the audit chain.

    Attributes:
        at: Seconds since the epoch.
        query: The query text, if it is stored.
        query_state: ``kept``; ``erased``; ``not kept`` (by setting); ``none`` for records without a query.
    """

    seq: int
    audit_id: str
    at: float
    kind: str
    principal: str
    record: Mapping[str, Any]
    hash: str
    query: Mapping[str, Any] | None
    query_state: QueryState

    @property
    def erasure(self) -> str:
        """The erasure that took its content away; ``""`` where it has its content."""
        return erasure_of(self.record)


def erasure_of(record: Mapping[str, Any]) -> str:
    """The erasure that took away the content of what a record says; ``""`` where it has its content."""
    erasure = record.get("erased")
    return erasure if len(record) == 1 and isinstance(erasure, str) else ""


def folded(records: Iterable[AuditRecord]) -> list[tuple[AuditRecord, int]]:
    """Records with those of one question's parts folded into one entry, each with the number of folded records.

    A question that was asked in parts (of rules, cases and templates; of several domains) appears at the place of its
    newest record, represented by its first one, if that is among the records.
    """
    groups: dict[str, list[AuditRecord]] = {}
    for record in records:
        groups.setdefault(record.record.get("part_of") or record.audit_id, []).append(record)
    first = ((next((r for r in of if r.audit_id == name), of[-1]), len(of) - 1) for name, of in groups.items())
    return list(first)


@dataclass(frozen=True, slots=True)
class AuditFault:
    """The first fault in a chain: record number and description."""

    seq: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerification:
    """The result of verifying an audit log.

    Attributes:
        records: How many there are.
        head: ``seq:hash`` of the last sound record: what to keep elsewhere.
    """

    ok: bool
    records: int
    head: str
    first_fault: AuditFault | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditProgress:
    """State of the audit writer.

    Attributes:
        records: The number of the last durable record: how many were ever written.
        waiting: Records that are not durable yet.
        lag: Seconds for which the oldest of them has waited.
        failing: Whether the last attempt to write failed.
    """

    records: int
    waiting: int
    lag: float
    failing: bool
