"""Printing audit records: in two lines, or in full."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wenyuan.cli.progress import confidence_text, follow_up_text
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.records import AuditRecord


_DID = ("added", "changed", "removed", "created", "revoked", "expire", "erase queries", "renew head", "imported", "approve", "renewed",
        "reject", "retire", "evidence withdrawn", "read", "uploaded", "replaced", "deleted", "ingested", "failed", "begun", "erased", "held", "lifted", "expired",
        "signed in", "signed out", "refused",
        "erase records")  # fmt: skip
_TOLD = frozenset(("action", "object", "changes"))


def show_line(terminal: Terminal, record: AuditRecord, parts: int = 0, name: str = "") -> None:
    """A record in two lines: id, time, principal and kind; below, cut to the terminal's width, a summary and the
    number of further `parts`.

    Args:
        name: Of the person who asked or changed something, where it is known.
    """
    from rich.text import Text

    who = printable(name or record.principal)
    kind = terminal.text(f"audit_{record.kind}")
    terminal.show(f"{record.audit_id}  {local_time(record.at, seconds=True)}  {who:<8}  {kind}", wrap=False)
    said = [*_TOLD_BY.get(record.kind, _changed)(terminal, record.record)] if not record.erasure else []
    said += [terminal.text("record_erased", erasure=record.erasure)] if record.erasure else []
    said[1:1] = [terminal.text("audit_parts", count=parts)] if parts else []
    line = Text("    " + " · ".join(printable(part) for part in said if part))
    line.truncate(terminal.out.width, overflow="ellipsis")
    terminal.show(line, wrap=False)


def _show_answer(terminal: Terminal, said: Mapping[str, Any]) -> Iterator[str]:
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


def _verified(terminal: Terminal, said: Mapping[str, Any]) -> Iterator[str]:
    counts = Counter(claim["verdict"] for claim in said["claims"])
    verdicts = (f"{count} {terminal.text(f'verdict_{verdict}')}" for verdict, count in counts.most_common())
    yield terminal.text("verified", count=len(said["claims"]), verdicts=terminal.text("comma").join(verdicts))


def _show_writing(terminal: Terminal, said: Mapping[str, Any]) -> Iterator[str]:
    yield terminal.text(
        "answer_outcome", claims=len(said["claims"]), dropped=len(said["dropped"]), model=said["model"]
    )


_TOLD_BY = {"retrieval": _show_answer, "verification": _verified, "answer": _show_writing}


def show_record(terminal: Terminal, record: AuditRecord, name: str = "") -> None:
    """Everything in a record, except digests."""
    if record.erasure:
        lines = _of_erased(terminal, record)
    elif record.kind == "retrieval":
        lines = _of_retrieval(terminal, record)
    elif record.kind == "verification":
        lines = _of_verification(terminal, record)
    elif record.kind == "answer":
        lines = _of_answer(terminal, record)
    else:
        lines = _of_change(terminal, record.record)
    _print_line(terminal, "audit_id", record.audit_id)
    _print_line(
        terminal,
        "audit_at",
        f"{local_time(record.at, seconds=True)} ({terminal.text('audit_number', seq=record.seq)})",
    )
    _print_line(terminal, "audit_kind", terminal.text(f"audit_{record.kind}"))
    _print_line(terminal, "audit_by", f"{name} ({record.principal})" if name else record.principal)
    for key, value in lines:
        _print_line(terminal, key, value)
    _print_line(terminal, "audit_hash", record.hash)


def _print_line(terminal: Terminal, key: str, value: object) -> None:
    """Print one line; indented values are printed unchanged."""
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
    for text in (record.query or {}).get("rewritten", ()):
        yield "audit_rewritten", text
    sources = ", ".join(scope.get("sources", ())) or scope.get("count", "")
    yield "audit_scope", f"{sources} ({terminal.text('audit_as_of', day=scope.get('as_of', ''))})"
    yield "audit_state", said.get("generation")
    cached = f" ({terminal.text('audit_cached')})" if said.get("cache_hit") else ""
    yield "audit_outcome", _outcome(terminal, said) + cached
    code = said.get("error_code", "")
    yield "audit_error", terminal.own(said.get("error", "")) + (f" ({code})" if code else "")
    yield "audit_degraded", ", ".join(said.get("degraded", ()))
    yield from _show_judge(terminal, said, (record.query or {}).get("follow_up", "…"))
    yield "audit_bounds", ", ".join(_bounds(terminal, said.get("request", {})))
    withheld: Mapping[str, Mapping[str, int]] = said.get("withheld", {})
    counts = [terminal.text(f"withheld_{reason}", count=len(refs)) for reason, refs in withheld.items()]
    yield "audit_withheld", ", ".join(counts)
    for entry in said.get("nearest", ()):
        yield "audit_nearest", f"{entry['ref']}  {entry['score']:.3f}  {entry['uri']}"
    for rank, entry in enumerate(fragments, 1):
        trust = terminal.text("trust")
        yield "", f"{rank:>4}  {entry['ref']}  {entry['score']:.3f}  {trust} {entry['trust']}"
        yield "", f"      {entry['uri']}"
        for reason in (reason for reason, refs in withheld.items() if entry["ref"] in refs):
            why = terminal.text(f"audit_why_{reason}")
            yield "", f"      {terminal.text('audit_lost', why=why, count=withheld[reason][entry['ref']])}"


def _show_judge(terminal: Terminal, said: Mapping[str, Any], follow_up: str) -> Iterator[tuple[str, object]]:
    """The lines of the judge: how many passages suffice, then its numbers, raw and calibrated, by number of passages, and what
    came of asking it what is missing.
    """
    if "judge" in said:
        yield "audit_judge", confidence_text(terminal, said["judge"])
        for k, raw, p in said["judge"].get("asked", ()):
            yield "", f"  {k:>4}  {raw:.3f} → {p:.3f}"
        yield "", follow_up_text(terminal, said["judge"], follow_up)


def _of_erased(terminal: Terminal, record: AuditRecord) -> Iterator[tuple[str, object]]:
    yield "audit_did", terminal.text("record_erased", erasure=record.erasure)


def _of_verification(terminal: Terminal, record: AuditRecord) -> Iterator[tuple[str, object]]:
    said = record.record
    yield "audit_door", said.get("door")
    yield "agent_id", said.get("agent")
    yield "audit_did", next(_verified(terminal, said))
    texts = record.query["claims"] if record.query is not None else [""] * len(said["claims"])
    for number, (claim, text) in enumerate(zip(said["claims"], texts, strict=True), 1):
        findings = terminal.text("comma").join(terminal.text(f"verdict_{name}") for name in claim["findings"])
        yield "", f"{number:>4}. [{findings}] {text}".rstrip()
        yield "", f"      {', '.join(filter(None, (*claim['passages'], claim['rule'])))}".rstrip()
    if record.query is None:
        yield "", f"  ({terminal.text('query_' + record.query_state)})"


def _of_answer(terminal: Terminal, record: AuditRecord) -> Iterator[tuple[str, object]]:
    said = record.record
    yield "audit_door", said.get("door")
    yield "agent_id", said.get("agent")
    if record.query is not None:
        yield "audit_asked", record.query["query"]
    else:
        yield "", f"  ({terminal.text('query_' + record.query_state)})"
    yield "audit_outcome", next(_show_writing(terminal, said))
    yield "audit_error", terminal.own(said["error"])
    for one in said["claims"]:
        yield "", f"    {one['passage']}  {terminal.text('words_' + one['origin'])}"
    for one in said["dropped"]:
        yield "", f"    {one['passage']}  {terminal.text('verdict_' + one['reason'])}"
    for why, refs in said["withheld"].items():
        yield "", f"    {terminal.text('kept_from_' + why)}: {', '.join(refs)}"


def _bounds(terminal: Terminal, request: Mapping[str, Any]) -> Iterator[str]:
    """The limits on an answer other than its scope."""
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
