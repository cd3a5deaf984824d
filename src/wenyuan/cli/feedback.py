"""``feedback``: which parts of an answer are right or wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from wenyuan.cli.options import opened
from wenyuan.cli.terminal import Terminal


def feedback(
    ctx: typer.Context,
    answer: Annotated[str, typer.Argument(metavar="AUDIT_ID", help="Of the answer. 答案的审计编号")],
    good: Annotated[
        list[str] | None,
        typer.Option(metavar="FRAGMENT", help="Right: rank, ref or address (repeatable). 正确的片段"),
    ] = None,
    bad: Annotated[list[str] | None, typer.Option(metavar="FRAGMENT", help="Wrong, likewise. 错误的片段")] = None,
) -> None:
    """Say which parts of an answer are right or wrong; tuning learns from it.

    对一次回答的片段给出评价，供调优学习。

    Example 示例:
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
