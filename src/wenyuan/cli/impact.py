"""``impact``: what rests on a document, a passage or a rule, and what its last changes touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from wenyuan.cli.options import SCREEN, opened
from wenyuan.cli.progress import counted
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.core.impact import DAYS, MOST_SECONDS
from wenyuan.runtime.local_time import local_time

_LINE = 160  # characters


def impact(
    ctx: typer.Context,
    target: Annotated[
        str | None, typer.Argument(metavar="DOCUMENT|PASSAGE|RULE", help="12, policies#57, rule-12, or an address.")
    ] = None,
    days: Annotated[float, typer.Option("--days", metavar="N", help="How far back.")] = DAYS,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="Time for asking questions again.")
    ] = MOST_SECONDS,
) -> None:
    """Show which recorded answers quoted something, and what the same questions are answered now.

    Without a document it shows what the last changes of the library touched.

    Example:
      wenyuan impact 12 --days 90
      wenyuan impact policies#57
      wenyuan impact rule-12
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        if target is None:
            reports = found.change_review.reports()
        else:
            told = found.impact.of(target, days=days, seconds=seconds, progress=counted(terminal, "impact_progress"))
            reports = [told.described()]
    terminal.document({"status": "SUCCESS", **({"reports": reports} if target is None else reports[0])})
    if terminal.as_json:
        return
    if not reports:
        terminal.say("impact_none")
    for report in reports:
        show_impact(terminal, report)


def show_impact(terminal: Terminal, report: Mapping[str, Any]) -> None:
    """Print a report: in one line, then who and what rests on it, and the answers that read otherwise."""
    text = terminal.text
    terminal.show(printable(str(report["target"])[:_LINE]), wrap=False)
    terminal.show("  " + text("impact_answers", count=report["answers"], since=local_time(report["since"])))
    if not report["complete"]:
        terminal.show("  " + text("impact_incomplete", since=local_time(report["since"])))
    for name in ("agents", "tasks"):
        if told := {one: count for one, count in report[name].items() if one}:
            parts = text("comma").join(f"{printable(one)} ×{count}" for one, count in told.items())
            terminal.show("  " + text(f"impact_{name}", names=parts))
    if report["rules"]:
        terminal.show(
            "  " + text("impact_rules", numbers=text("comma").join(f"rule-{one}" for one in report["rules"]))
        )
    terminal.show("  " + text("impact_resting", **{name: report[name] for name in ("resting", "same", "differs")}))
    if unknown := report["unknown"] + report["left"]:
        terminal.show("  " + text("impact_unknown", count=unknown))
    for one in [one for one in report["examples"] if one["outcome"] != "same"][:SCREEN]:
        terminal.show(f"    ×{one['count']} {printable(one['question'])}  {one['audit_id']}", wrap=False)
        for name in ("was", "now"):
            if one[name]:
                terminal.show(
                    f"      {text(f'impact_{name}')} {printable(' '.join(one[name].split()))[:_LINE]}", wrap=False
                )
        if one["why"]:
            terminal.show(f"      {terminal.own(one['why'])}", wrap=False)
