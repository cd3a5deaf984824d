"""``doctor``: is everything in order, and if not, what helps?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from wenyuan.cli.doctor_checks import checks
from wenyuan.cli.options import opened
from wenyuan.cli.terminal import FAILED, OK, Terminal

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    ctx: typer.Context,
    new_id: Annotated[bool, typer.Option("--new-id", help="First give a copied library an id of its own.")] = False,
    new_key: Annotated[
        bool,
        typer.Option("--new-key", help="First make a new pseudonym.key in the place of a lost one."),
    ] = False,
    new_counts: Annotated[
        bool,
        typer.Option("--new-counts", help="First go on without the counts of a lost tasks.db."),
    ] = False,
) -> None:
    """Check the installation and the library; every fault comes with the command that helps.

    Example:
      wenyuan doctor
      wenyuan doctor --json
      wenyuan doctor --new-key
    """
    from rich.text import Text

    terminal: Terminal = ctx.obj
    if new_key:
        _renew_key(terminal)
    if new_counts:
        with opened(terminal) as found:
            found.renew_counts()
        terminal.say("d_new_counts")
    if new_id:
        with opened(terminal) as found:
            terminal.say("d_new_id", name=found.catalog.renew_id())
    results = []
    for check in checks(terminal):
        results.append(check)
        name = terminal.text(f"d_{check.name}")
        line = Text(f"{terminal.text(f'check_{check.state}')}  ", style=_STYLES[check.state])
        told = terminal.text("d_name", name=name, detail=check.detail)
        terminal.show(line.append(told, style="default"), wrap=False)
        if check.next:
            terminal.show(f"      {terminal.text('next')}{check.next}", wrap=False)
    states = [check.state for check in results]
    worst = next((state for state in ("fail", "warn") if state in states), "ok")
    terminal.document({"status": worst, "checks": [asdict(check) for check in results]})
    terminal.show(terminal.text(f"doctor_{worst}", count=states.count(worst)))
    raise typer.Exit(FAILED if worst == "fail" else OK)


def _renew_key(terminal: Terminal) -> None:
    from wenyuan.app import renew_key

    loss = renew_key(terminal.folder)
    terminal.say("d_new_key", addresses=loss.addresses, corrections=loss.corrections)
    if loss.sources:
        terminal.say("d_new_key_sources", sources=", ".join(loss.sources))
