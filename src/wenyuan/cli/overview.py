"""``overview``: what was asked in the last days, and what is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.options import opened
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wenyuan.service.overview import QuestionCount

_MOST = 10  # rows of a table


def overview(
    ctx: typer.Context,
    days: Annotated[int, typer.Option("--days", metavar="N", help="How many, today included.")] = 30,
) -> None:
    """Show what was asked in the last days, what became of it, what took longest, and what is open.

    Example:
      wenyuan overview
      wenyuan overview --days 7 --json
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        shown = found.overviews.overview(days=days)
    terminal.document({"status": "SUCCESS", **shown.described()})
    if terminal.as_json:
        return
    terminal.show(terminal.text("overview_total", days=days, count=shown.total.questions))
    for name, number in shown.total.outcomes.items():
        if number:
            terminal.show(f"    {number:>7,}  {terminal.text(f'outcome_{name}')}")
    _table(terminal, "overview_days", [day for day in reversed(shown.days) if day.questions])
    _table(terminal, "overview_agents", shown.agents)
    _table(terminal, "overview_sources", shown.sources)
    if shown.slowest:
        terminal.show(terminal.text("overview_slowest"))
    for one in shown.slowest:
        terminal.show(f"    {one.ms:>7,.0f} ms  {printable(one.preview)}  {one.audit_id}", wrap=False)
    terminal.show(terminal.text("overview_conflicts", count=shown.open_conflicts))
    for change in shown.changes:
        terminal.show(
            f"    {local_time(change.at)}  {change.kind}  {change.action}  {printable(change.object)}", wrap=False
        )


def _table(terminal: Terminal, heading: str, rows: Sequence[QuestionCount]) -> None:
    if not rows:
        return
    terminal.show(terminal.text(heading))
    for one in rows[:_MOST]:
        told = terminal.text("comma").join(
            f"{terminal.text(f'outcome_{name}')} {number:,}" for name, number in one.outcomes.items() if number
        )
        terminal.show(
            f"    {one.questions:>7,}  {printable(one.name or terminal.text('gap_no_agent'))}  ({told})", wrap=False
        )
    if len(rows) > _MOST:
        terminal.show(terminal.text("overview_more", count=len(rows) - _MOST))
