"""``feedback``: which parts of an answer are right or wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from wenyuan.cli.options import opened
from wenyuan.cli.terminal import Terminal


def feedback(
    ctx: typer.Context,
    answer: Annotated[str, typer.Argument(metavar="AUDIT_ID", help="Of the answer.")],
    good: Annotated[
        list[str] | None,
        typer.Option(metavar="FRAGMENT", help="Right: rank, ref or address (repeatable)."),
    ] = None,
    bad: Annotated[list[str] | None, typer.Option(metavar="FRAGMENT", help="Wrong, likewise.")] = None,
) -> None:
    """Say which parts of an answer are right or wrong; tuning learns from it.

    Example:
      wenyuan feedback a-01m8… --good 1 --bad 3
      wenyuan feedback a-01m8… --good handbook#42
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        kept = found.give_feedback(answer, good=good or (), bad=bad or ())
    terminal.document({"status": "SUCCESS", "audit_id": answer, "kept": dict(kept)})
    for ref, right in kept.items():
        terminal.show(f"  {terminal.text('feedback_good' if right else 'feedback_bad')}  {ref}", wrap=False)
    terminal.show(terminal.text("feedback_kept", count=len(kept)))
