"""How a record of the audit is told to a person: in two lines, or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.core.audited import AuditRecord

__all__ = ["show_line", "show_record"]

_DID = ("added", "changed", "removed", "created", "revoked", "expire", "erase queries", "renew head", "imported", "approve",
        "reject", "retire", "evidence withdrawn", "read")  # fmt: skip
_TOLD = frozenset(("action", "object", "changes"))


def show_line(terminal: Terminal, record: AuditRecord, parts: int = 0) -> None:
    """Id, time, who and what kind; below, cut to the width of the terminal, what it was, and how many `parts` more it has."""
    from rich.text import Text

    who = printable(record.principal)
    kind = terminal.text(f"audit_{record.kind}")
    terminal.show(f"{record.audit_id}  {_time(record.at)}  {who:<8}  {kind}", wrap=False)
    said = [*(_answered if record.kind == "retrieval" else _changed)(terminal, record.record)]
    said[1:1] = [terminal.text("audit_parts", count=parts)] if parts else []
    line = Text("    " + " · ".join(printable(part) for part in said if part))
    line.truncate(terminal.out.width, overflow="ellipsis")
    terminal.show(line, wrap=False)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _answered(terminal: Terminal, said: Mapping[str, Any]) -> Iterator[str]:
    yield _outcome(terminal, said)
    yield said.get("agent") or ""
    yield said.get("preview", "")


def _outcome(terminal: Terminal, said: Mapping[str, Any]) -> str:
    if said.get("status") != "SUCCESS":
        return terminal.text("case_failed")
    return terminal.text("audit_given", count=len(said.get("fragments", ())))


def _changed(terminal: Terminal, said: Mapping[str, Any]) -> Iterator[str]:
    action = said.get("action", "")
    done = terminal.text(f"did_{action}") if action in _DID else action
    yield f"{done} {said.get('object', '')}".strip()
    if action == "changed":  # of what is new or gone, every field differs
        yield ", ".join(map(terminal.label, said.get("changes", ())))
    for name, value in said.items():
        if name in ("records", "queries"):  # what retention did to the audit itself
            yield terminal.text("audit_gone", count=value)


def show_record(terminal: Terminal, record: AuditRecord) -> None:
    """All that is recorded, but for digests that only programs compare."""
    lines = _of_retrieval(terminal, record) if record.kind == "retrieval" else _of_change(terminal, record.record)
    _tell(terminal, "audit_id", record.audit_id)
    _tell(terminal, "audit_at", f"{_time(record.at)} ({terminal.text('audit_number', seq=record.seq)})")
    _tell(terminal, "audit_kind", terminal.text(f"audit_{record.kind}"))
    _tell(terminal, "audit_by", record.principal)
    for key, value in lines:
        _tell(terminal, key, value)
    _tell(terminal, "audit_hash", record.hash)


def _tell(terminal: Terminal, key: str, value: object) -> None:
    """One line; what is indented already is shown as it is."""
    if value not in ("", None):
        terminal.show(f"{terminal.text(key)}: {printable(str(value))}" if key else printable(str(value)), wrap=False)


def _of_retrieval(terminal: Terminal, record: AuditRecord) -> Iterator[tuple[str, object]]:
    said = record.record
    scope, fragments = said.get("scope", {}), said.get("fragments", ())
    asked = record.query["query"] if record.query is not None else said.get("preview", "")
    yield "audit_door", said.get("door")
    yield "audit_part_of", said.get("part_of")
    yield "agent_id", said.get("agent")
    yield "audit_asked", asked
    if record.query is None:
        yield "", f"  ({terminal.text('query_' + record.query_state)})"
    for wording in (record.query or {}).get("wordings", ()):
        yield "audit_wording", ", ".join(wording)
    sources = ", ".join(scope.get("sources", ())) or scope.get("count", "")
    yield "audit_scope", f"{sources} ({terminal.text('audit_as_of', day=scope.get('as_of', ''))})"
    yield "audit_state", said.get("generation")
    cached = f" ({terminal.text('audit_cached')})" if said.get("cache_hit") else ""
    yield "audit_outcome", _outcome(terminal, said) + cached
    code = said.get("error_code", "")
    yield "audit_error", terminal.own(said.get("error", "")) + (f" ({code})" if code else "")
    yield "audit_degraded", ", ".join(said.get("degraded", ()))
    yield "audit_bounds", ", ".join(_bounds(terminal, said.get("request", {})))
    withheld: Mapping[str, Mapping[str, int]] = said.get("withheld", {})
    counts = [terminal.text(f"withheld_{reason}", count=len(refs)) for reason, refs in withheld.items()]
    yield "audit_withheld", ", ".join(counts)
    for rank, entry in enumerate(fragments, 1):
        trust = terminal.text("trust")
        yield "", f"{rank:>4}  {entry['ref']}  {entry['score']:.3f}  {trust} {entry['trust']}"
        yield "", f"      {entry['uri']}"
        for reason in (reason for reason, refs in withheld.items() if entry["ref"] in refs):
            why = terminal.text(f"audit_why_{reason}")
            yield "", f"      {terminal.text('audit_lost', why=why, count=withheld[reason][entry['ref']])}"


def _bounds(terminal: Terminal, request: Mapping[str, Any]) -> Iterator[str]:
    """What bounded an answer besides its scope."""
    if request.get("min_trust", 1) > 1:
        yield f"{terminal.text('trust')} ≥ {request['min_trust']}"
    if request.get("allow_low_trust"):
        yield terminal.text("audit_low_trust")
    if budget := request.get("token_budget"):
        yield terminal.text("audit_budget", count=budget)


def _of_change(terminal: Terminal, said: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "audit_did", next(_changed(terminal, said))
    for name, (old, new) in said.get("changes", {}).items():
        yield "", f"    {terminal.label(name)}: {_plain(old)} → {_plain(new)}"
    for name, value in said.items():
        if name not in _TOLD:
            yield "", f"    {terminal.label(name)}: {_plain(value)}"


def _plain(value: Any) -> str:
    if value in (None, "", []):
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
