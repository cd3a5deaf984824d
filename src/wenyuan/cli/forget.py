"""``forget``: erase a person, a document or a source for good, with a certificate; and hold what must not be erased."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, YesOption, add_commands, interactive, opened
from wenyuan.cli.terminal import FAILED, OK, Terminal, printable
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.erasure import Erasure, ErasurePlan, ErasureTarget
    from wenyuan.service.library import Library

_HELP = """Erase a person, a document or a source from all of the library, for good, and prove it.

First comes a plan: where it stands, how often, and what stays since it does not lie in the library. Nothing is removed before
that is confirmed.

\b
Example:
  wenyuan forget person "Li Ming" --also 13800138000 --plan
  wenyuan forget person "Li Ming" --reference "request 12" --yes
  wenyuan forget verify e-0123456789abcdef
"""
app = group(_HELP, "Erase for good, with proof.")
_Values = Annotated[list[str], typer.Argument(metavar="VALUE...", help="Names, numbers, mail addresses.@erasure")]
_Also = Annotated[list[str], typer.Option("--also", metavar="VALUE", help="Another form; several times.@erasure")]
_Except = Annotated[
    list[str], typer.Option("--except", metavar="VALUE", help="Stays, though a value is a part of it.@erasure")
]
_Documents = Annotated[
    bool, typer.Option("--documents", help="Whole documents, not only the values in them.@erasure")
]
_Reference = Annotated[str, typer.Option("--reference", metavar="TEXT", help="What you call the request.@erasure")]
_Common = Annotated[bool, typer.Option("--common", help="Also what stands in very many passages.@erasure")]
_Plan = Annotated[bool, typer.Option("--plan", help="Show where it stands, and erase nothing.@erasure")]
_Document = Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its number or its address.@erasure")]
_From = Annotated[str, typer.Option("--source", metavar="ID", help="The source of an address.@erasure")]
_Source = Annotated[str, typer.Argument(metavar="SOURCE", help="Its id.@erasure")]
_Id = Annotated[str, typer.Argument(metavar="ERASURE", help="Its id, as list shows it.@erasure")]
_Hold = Annotated[str, typer.Argument(metavar="HOLD", help="Its id, as holds shows it.@erasure")]


def person(  # noqa: PLR0913, PLR0917  (what is typed)
    ctx: typer.Context, values: _Values, also: _Also = [], stays: _Except = [], documents: _Documents = False,  # noqa: B006
    reference: _Reference = "", common: _Common = False, plan: _Plan = False, yes: YesOption = False,
) -> None:  # fmt: skip
    """Erase a person, given by names and values: they are masked in documents, and gone everywhere else.

    Example:
      wenyuan forget person "Li Ming" 13800138000 --also liming@example.com --plan
      wenyuan forget person "Will Price" --except "Will Price Ltd" --yes
    """
    _erase(
        ctx.obj, lambda found: found.erasures.person([*values, *also], stays=stays, whole=documents),
        reference=reference, common=common, plan=plan, yes=yes,
    )  # fmt: skip


def document(
    ctx: typer.Context, document: _Document, source: _From = "", reference: _Reference = "", plan: _Plan = False,
    yes: YesOption = False,
) -> None:  # fmt: skip
    """Erase a document with all its versions; it is not taken in again.

    Example:
      wenyuan forget document 12 --plan
      wenyuan forget document file:///srv/hr/letter.md --source hr --yes
    """
    _erase(
        ctx.obj,
        lambda found: _document(found, document, source),
        reference=reference,
        common=True,
        plan=plan,
        yes=yes,
    )


def source(
    ctx: typer.Context, source: _Source, reference: _Reference = "", plan: _Plan = False, yes: YesOption = False
) -> None:
    """Erase a source with all that was ever taken in from it.

    Example:
      wenyuan forget source hr --plan
    """
    _erase(ctx.obj, lambda found: found.erasures.source(source), reference=reference, common=True, plan=plan, yes=yes)


def list_all(ctx: typer.Context) -> None:
    """List the erasures, the newest first; those that are not done say what comes next, or why not.

    Example:
      wenyuan forget list
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        erasures = found.erasures.list_all()
        names = found.catalog.person_names(one.actor for one in erasures)
    terminal.document({"status": "SUCCESS", "erasures": [one.described() for one in erasures]})
    if not erasures:
        terminal.say("erasures_none")
    for one in erasures:
        _line(terminal, one, names)


def certificate(
    ctx: typer.Context,
    erasure: _Id,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write it there.@erasure")] = None,
) -> None:
    """Show the certificate of an erasure, or write it to a file.

    Example:
      wenyuan forget certificate e-0123456789abcdef --to certificate.json
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        told = found.erasures.certificate(erasure)
    written = json.dumps(told, ensure_ascii=False, indent=2)
    if to is not None:
        try:
            with to.open("x", encoding="utf-8") as file:
                file.write(written + "\n")
        except OSError as error:
            raise InvalidRequest(msg("cannot write {path}: {strerror}", path=to, strerror=error.strerror)) from error
    terminal.document({"status": "SUCCESS", "certificate": told})
    if not terminal.as_json:
        terminal.show(written if to is None else terminal.text("certificate_written", path=to), wrap=False)


def verify(
    ctx: typer.Context,
    erasure: _Id,
    values: Annotated[
        list[str], typer.Option("--value", metavar="VALUE", help="Was this erased? Several times.@erasure")
    ] = [],  # noqa: B006
) -> None:
    """Check a certificate: its seal, the audit, and that nothing of it is found now.

    Example:
      wenyuan forget verify e-0123456789abcdef --value "Li Ming"
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        checks = found.erasures.verify(erasure, values)
    ok = all(check.ok for check in checks)
    terminal.document(
        {
            "status": "SUCCESS" if ok else "FAILED", "ok": ok,
            "checks": [{"name": one.name, "ok": one.ok, "detail": one.detail} for one in checks],
        }
    )  # fmt: skip
    for check in checks:
        state = terminal.text("check_ok" if check.ok else "check_fail")
        terminal.show(
            f"{state}  {terminal.text(f'erasure_check_{check.name}')}  {printable(terminal.own(check.detail))}",
            wrap=False,
        )
    raise typer.Exit(OK if ok else FAILED)


def resume(ctx: typer.Context) -> None:
    """Go on with erasures that did not come to their end. A server, and a refresh, do so by themselves.

    Example:
      wenyuan forget resume
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        done = found.erasures.resume(_progress(terminal))
        names = found.catalog.person_names(one.actor for one in done)
    terminal.document({"status": "SUCCESS", "erasures": [one.described() for one in done]})
    terminal.show(terminal.text("erasures_resumed", count=len(done)))
    for one in done:
        _line(terminal, one, names)


def expired(
    ctx: typer.Context,
    source: Annotated[str | None, typer.Argument(metavar="SOURCE", help="Its id; all without.@erasure")] = None,
    plan: _Plan = False,
    yes: YesOption = False,
) -> None:
    """Erase the former versions that sources do not keep, as their setting retention says. A refresh does so by itself.

    Example:
      wenyuan forget expired --plan
      wenyuan forget expired hr --yes
    """
    from wenyuan.service.ingest.version_retention import VersionExpiry

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        sources = [found.catalog.source(source)] if source is not None else list(found.sources())
        expiry = VersionExpiry(ingester=found.ingestion.ingester)
        planned = {one.source_id: expiry.expired(one) for one in sources}
        total = sum(len(one.documents) for one in planned.values())
        for name, one in planned.items():
            if one.documents or one.held:
                terminal.show(
                    terminal.text("expired_in_source", source=name, count=len(one.documents), held=one.held)
                )
            for held in one.holds:
                terminal.show(
                    terminal.text(
                        "erasure_held", hold_id=held.hold_id, actor=held.actor, reason=printable(held.reason)
                    )
                )
        if total and not plan:
            _check_meant(terminal, yes=yes)
            for each in sources:
                expiry.erase(each)
    counts = {name: {"expired": len(one.documents), "held": one.held} for name, one in planned.items()}
    terminal.document({"status": "SUCCESS", "sources": counts})
    terminal.show(terminal.text("expired_planned" if plan else "expired_erased", count=total))


def _check_meant(terminal: Terminal, *, yes: bool) -> None:
    """Ask whether it is to be erased; ends the command where it is not."""
    if not yes and not interactive():
        raise InvalidRequest(
            "nothing was erased: nobody can be asked here", hint="--plan shows where it stands; then --yes"
        )
    if not yes and not typer.confirm(terminal.text("really_forget"), err=True):
        raise typer.Exit(OK)


def hold(
    ctx: typer.Context,
    kind: Annotated[Literal["person", "document", "source"], typer.Argument(help="What.@erasure")],
    values: Annotated[list[str], typer.Argument(metavar="WHAT...", help="As for forget.@erasure")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.@erasure")],
    source: _From = "",
) -> None:
    """Hold a person, a document or a source: it is neither erased nor removed by retention until that is lifted.

    Example:
      wenyuan forget hold source hr --reason "case 7/2026"
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        if kind == "person":
            target = found.erasures.person(values)
        elif len(values) != 1:
            raise InvalidRequest("name one document, or one source")
        else:
            target = _document(found, values[0], source) if kind == "document" else found.erasures.source(values[0])
        made = found.erasures.hold(target, reason)
    terminal.document({"status": "SUCCESS", "hold": made.described()})
    terminal.say("hold_set", hold_id=made.hold_id)


def holds(ctx: typer.Context) -> None:
    """List the holds that stand.

    Example:
      wenyuan forget holds
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        standing = found.erasures.holds()
        names = found.catalog.person_names(one.actor for one in standing)
    terminal.document({"status": "SUCCESS", "holds": [one.described() for one in standing]})
    if not standing:
        terminal.say("holds_none")
    for one in standing:
        what = one.target.uri or one.target.source_id
        kind = terminal.text(f"erasure_{one.target.kind}")
        terminal.show(
            f"{one.hold_id}  {kind} {printable(what)}  {local_time(one.at)}  {_who(one.actor, names)}  {printable(one.reason)}",
            wrap=False,
        )


def lift(ctx: typer.Context, hold: _Hold) -> None:
    """Lift a hold.

    Example:
      wenyuan forget lift h-0123456789abcdef
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        lifted = found.erasures.lift(hold)
    terminal.document({"status": "SUCCESS", "hold": lifted.described()})
    terminal.say("hold_lifted", hold_id=lifted.hold_id)


def _document(found: Library, name: str, source_id: str) -> ErasureTarget:
    if name.isascii() and name.isdecimal():
        return found.erasures.document_numbered(int(name))
    if source_id:
        return found.erasures.document(source_id, name)
    raise InvalidRequest(
        "an address needs its source", hint="--source ID; or the number that wenyuan document list shows"
    )


def _erase(
    terminal: Terminal, targeted: Callable[[Library], ErasureTarget], *, reference: str, common: bool, plan: bool, yes: bool
) -> None:  # fmt: skip
    with opened(terminal) as found:
        target = targeted(found)
        planned = found.erasures.plan(target)
        names = found.catalog.person_names(one.actor for one in planned.holds)
        if plan:
            terminal.document({"status": "SUCCESS", "plan": planned.described()})
            _show_plan(terminal, planned, names)
            return
        if not terminal.as_json:
            _show_plan(terminal, planned, names)
        _check_meant(terminal, yes=yes)
        done = found.erasures.erase(target, reference=reference, common=common, progress=_progress(terminal))
    terminal.document({"status": "SUCCESS", "erasure": done.described()})
    _line(terminal, done, {})
    terminal.show(terminal.text("erasure_done", erasure=done.erasure_id))


def _show_plan(terminal: Terminal, planned: ErasurePlan, names: Mapping[str, str]) -> None:
    if not planned.places:
        terminal.say("erasure_nowhere")
    for place, count in planned.places.items():
        terminal.show(f"    {terminal.text(f'place_{place}')}: {count:,}", wrap=False)
    for source_id, count in planned.documents.items():
        terminal.show("    " + terminal.text("erasure_in_source", source=source_id, count=count))
    if planned.left:
        terminal.say("erasure_left")
    for one in planned.left:
        terminal.show("    " + terminal.own(one))
    for warning in planned.warnings:
        terminal.show(terminal.own(warning))
    for held in planned.holds:
        terminal.show(
            terminal.text(
                "erasure_held",
                hold_id=held.hold_id,
                actor=_who(held.actor, names),
                reason=printable(held.reason),
            )
        )
    if planned.common:
        terminal.say("erasure_common", count=planned.places["passages"])


def _who(actor: str, names: Mapping[str, str]) -> str:
    """A person's name, or a key's id."""
    return printable(names.get(actor, actor))


def _line(terminal: Terminal, one: Erasure, names: Mapping[str, str]) -> None:
    state = terminal.text(f"erasure_state_{one.state}")
    step = "" if one.state == "done" else f" ({terminal.text(f'erasure_step_{one.step}')})"
    what = terminal.text(f"erasure_{one.target.kind}")
    terminal.show(
        f"{one.erasure_id}  {local_time(one.begun_at)}  {what}  {state}{step}  {_who(one.actor, names)}  {printable(one.reference)}".rstrip(),
        wrap=False,
    )
    if one.problem:
        terminal.show("    " + terminal.own(one.problem))


def _progress(terminal: Terminal) -> Callable[[str], None]:
    return lambda step: terminal.err.print(terminal.text(f"erasure_step_{step}"))


_COMMANDS: Commands = {
    "person": (person, "Erase a person."),
    "document": (document, "Erase a document."),
    "source": (source, "Erase a source."),
    "list": (list_all, "List them.@erasures"),
    "certificate": (certificate, "Show a certificate."),
    "verify": (verify, "Check a certificate."),
    "expired": (expired, "Erase versions past their time."),
    "resume": (resume, "Go on with what was cut off."),
    "hold": (hold, "Hold something."),
    "holds": (holds, "List the holds."),
    "lift": (lift, "Lift a hold."),
}
add_commands(app, _COMMANDS)
