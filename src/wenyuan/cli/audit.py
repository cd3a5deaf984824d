"""``audit list``, ``show``, ``verify``, ``export`` and ``replay``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.audit_records import show_line, show_record
from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, add_commands, opened, opened_record
from wenyuan.cli.terminal import FAILED, OK, Terminal
from wenyuan.core.errors import KnowledgeError, msg
from wenyuan.runtime.local_time import day_begins

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.core.records import AuditRecord
    from wenyuan.service.audit.rerun import Replay
    from wenyuan.service.governance import GovernanceDesk


_HELP = """See who asked what, was given what and changed what; prove that nothing of it was altered.

\b
Example:
  wenyuan audit list --since 24h
  wenyuan audit verify
"""
app = group(_HELP, "See and verify the audit.")
_Id = Annotated[str, typer.Argument(metavar="ID", help="The record.")]
_SPAN = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


@contextmanager
def _log(terminal: Terminal) -> Iterator[AuditLog]:
    with opened_record(terminal) as found:
        yield found.audit


def list_all(
    ctx: typer.Context,
    kind: Annotated[
        str | None,
        typer.Option(
            help="retrieval, fetch, registry, agent, key, rule, task, refresh, tuning, feedback, evaluation, synonym, correction, document, gap, conflict, group, erasure, sign_in, verification, answer, audit."
        ),
    ] = None,
    principal: Annotated[str | None, typer.Option(metavar="KEY", help="Who: a key's id, or local.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="What this agent was given.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="24h, 7d, or a day.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="The same; that day included.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
    parts: Annotated[bool, typer.Option("--parts", help="Each part of a question, too.")] = False,
) -> None:
    """List the newest records, newest first; a question that was asked in parts stands once.

    Example:
      wenyuan audit list --kind retrieval --since 24h
      wenyuan audit list --principal local --until 2026-11-21
    """
    from wenyuan.core.records import folded

    terminal: Terminal = ctx.obj
    start, end = _moment(since), _moment(until, end=True)
    with opened_record(terminal) as found:
        records = found.audit.list(kind=kind, principal=principal, agent=agent, limit=limit, since=start, until=end)
        names = _names(found, records)
    told = [_document(r, with_query=False, name=names.get(r.principal, "")) for r in records]
    terminal.document({"status": "SUCCESS", "records": told})
    if not records:
        terminal.say("no_records")
    shown = [(record, 0) for record in records] if parts else folded(records)
    for record, more in shown if not terminal.as_json else ():
        show_line(terminal, record, more, names.get(record.principal, ""))


def _moment(text: str | None, *, end: bool = False) -> float | None:
    """Seconds since the epoch of a duration ago, a local time, or a local day (its start or, with `end`, its end)."""
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.validity_dates import parse_date

    if text is None:
        return None
    plain = unicodedata.normalize("NFKC", text).strip()
    span = _SPAN.fullmatch(plain.lower())
    try:
        if span:
            at = datetime.now().astimezone() - timedelta(hours=int(span[1]) * _HOURS[span[2]])
        elif ":" in plain:
            at = datetime.fromisoformat(plain).astimezone()
        else:
            return day_begins(parse_date(plain) + timedelta(days=end))
        return at.timestamp()
    except (ValueError, OverflowError) as error:
        hint = "write 24h, 7d, 4w, 2026-11-21 or '2026-11-21 14:30'"
        raise InvalidRequest(msg("{text} says no time", text=repr(text)), hint=hint) from error


def _names(library: GovernanceDesk, records: Iterable[AuditRecord]) -> dict[str, str]:
    """What the people in some records are called, by their ids."""
    return library.catalog.person_names(record.principal for record in records)


def _document(record: AuditRecord, *, with_query: bool, name: str = "") -> dict[str, Any]:
    described = asdict(record) | {"at": datetime.fromtimestamp(record.at, UTC).isoformat()}
    if name:
        described["principal_name"] = name
    if not with_query:
        described.pop("query")
    return described


def show(
    ctx: typer.Context,
    record: _Id,
) -> None:
    """Show a record: what was asked and given, by which state of the library; or what was changed.

    Example:
      wenyuan audit show a-01kav2q7c5m9zr4t8w3x6y0pdn
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as library:
        found = library.audit.show(record)
        name = _names(library, [found]).get(found.principal, "")
    terminal.document({"status": "SUCCESS", "record": _document(found, with_query=True, name=name)})
    if not terminal.as_json:
        show_record(terminal, found, name)


def verify(
    ctx: typer.Context,
    head: Annotated[
        str | None, typer.Option("--head", metavar="SEQ:HASH", help="A head that was kept elsewhere.")
    ] = None,
    renew: Annotated[
        bool,
        typer.Option(
            "--renew-head",
            help="First take the last record for the last one; that is recorded.",
        ),
    ] = False,
) -> None:
    """Verify that no record was edited, removed, put in or moved, and that the counts of tasks are those that the
    catalog knows; exit code 1 where not.

    Whoever can write to the library's folder can make a whole new chain: keep the head elsewhere.

    Example:
      wenyuan audit verify
      wenyuan audit verify --head 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    terminal: Terminal = ctx.obj
    counts = ""
    with opened_record(terminal) as library:
        if renew:
            library.audit.renew_head()
        found = library.audit.verify(head)
        try:
            library.check_tasks()
        except KnowledgeError as error:
            counts = terminal.own(f"{error.message} → {error.hint}")
    ok = found.ok and not counts
    terminal.document({"status": "SUCCESS" if ok else "FAILED", **asdict(found), "ok": ok, "counts": counts})
    if found.first_fault is None:
        terminal.show(terminal.text("audit_whole", count=found.records))
    else:
        fault = found.first_fault
        terminal.show(terminal.text("audit_fault", seq=fault.seq, what=terminal.own(fault.what)))
    terminal.show(terminal.text("audit_head" if found.ok else "audit_sound", head=found.head), wrap=False)
    if counts:
        terminal.show(counts)
    raise typer.Exit(OK if ok else FAILED)


def head(ctx: typer.Context) -> None:
    """Print the head of the audit, to be kept elsewhere: by it an older copy of the whole library is found.

    Nothing else is printed. Exit code 1 where the audit does not continue the heads that are known.

    Example:
      wenyuan audit head >> /mnt/elsewhere/heads
    """
    terminal: Terminal = ctx.obj
    with _log(terminal) as log:
        found = log.head()
    terminal.document({"status": "SUCCESS", "head": found})
    terminal.show(found, wrap=False)


def export(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(dir_okay=False, help="A new file, of JSON Lines.")],
    with_queries: Annotated[
        bool, typer.Option("--with-queries", help="Also what was asked, where that is kept.")
    ] = False,
) -> None:
    """Write all records to a new file, with all that is hashed: anybody can verify them.

    Example:
      wenyuan audit export audit-2026-11.jsonl
    """
    terminal: Terminal = ctx.obj
    with _log(terminal) as log:
        head = log.export(file, with_queries=with_queries)
    terminal.document({"status": "SUCCESS", "file": str(file), "head": head})
    terminal.show(terminal.text("audit_exported", file=file), wrap=False)
    terminal.show(terminal.text("audit_head", head=head), wrap=False)


def replay(
    ctx: typer.Context,
    record: _Id,
    exact: Annotated[bool, typer.Option("--exact", help="Of the library as it was then.")] = False,
) -> None:
    """Ask a recorded question again: the same answer, or why it is another one now.

    With --exact: the library as it was. Where a source was removed or redacted anew since, its texts are gone, and
    that is the answer.

    Example:
      wenyuan audit replay a-01kav2q7c5m9zr4t8w3x6y0pdn
      wenyuan audit replay a-01kav2q7c5m9zr4t8w3x6y0pdn --exact
    """
    from wenyuan.core.errors import InvalidRequest

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        kind = found.audit.show(record).kind
        if kind not in ("retrieval", "answer", "verification"):
            raise InvalidRequest(
                "only records of retrievals, answers and verifications can be replayed",
                hint="wenyuan audit list --kind retrieval",
            )
        again = found.replay(record, exact=exact)
    terminal.document({"status": "SUCCESS", "audit_id": record, "exact": exact, **asdict(again)})
    _show_replay(terminal, again, exact=exact)


def _show_replay(terminal: Terminal, again: Replay, *, exact: bool) -> None:
    library = terminal.text("replay_then" if exact else "replay_now")
    if again.identical:
        terminal.show(terminal.text("replay_same", library=library))
        return
    terminal.show(terminal.text("replay_other" if again.asked else "replay_not", library=library))
    for difference in again.differences:
        cause = terminal.text(f"cause_{difference.what}")
        terminal.show(f"  {cause}  {difference.ref}".rstrip(), wrap=False)
        terminal.show(f"      {terminal.own(difference.detail)}", wrap=False)


_COMMANDS: Commands = {
    "list": (list_all, "List the newest records."),
    "show": (show, "Show one.@record"),
    "verify": (verify, "Verify that all are whole."),
    "head": (head, "Print what to keep elsewhere."),
    "export": (export, "Write all to a file."),
    "replay": (replay, "Ask a question again."),
}
add_commands(app, _COMMANDS)
