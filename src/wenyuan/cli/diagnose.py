"""``doctor``: is everything in order, and if not, what helps?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from wenyuan.cli.options import JsonOption, LangOption, LibraryOption, opened
from wenyuan.cli.terminal import FAILED, OK, Terminal

__all__ = ["doctor"]

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    ctx: typer.Context,
    new_id: Annotated[
        bool, typer.Option("--new-id", help="First give a copied library an id of its own. 为复制的知识库换新标识")
    ] = False,
    library: LibraryOption = None,
    lang: LangOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and the library; every fault comes with the command that helps.

    检查安装与知识库，并给出处理命令。

    Example 示例:
      wenyuan doctor
      wenyuan doctor --json
    """
    from rich.text import Text

    from wenyuan.cli.checks import checks

    terminal: Terminal = ctx.obj
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
