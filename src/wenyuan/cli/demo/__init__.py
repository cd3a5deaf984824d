"""``demo``: a small bilingual library that ships with the program, in five acts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wenyuan.cli.options import without
from wenyuan.cli.terminal import FAILED, OK, Terminal

# ``demo``: the whole service in one minute, on documents that ship with it.


@without("library")
def demo(
    ctx: typer.Context,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep documents and library there. 保留到目录")
    ] = None,
) -> None:
    """Take a small bilingual set of documents in, search it, and see what an empty answer and a failure look like.

    用随附的中英文文档演示：成功、空答案与故障。

    Example 示例:
      wenyuan demo
      wenyuan demo --lang zh --keep ./demo
    """
    from wenyuan.cli.demo.run import run

    terminal: Terminal = ctx.obj
    raise typer.Exit(OK if run(terminal, keep) else FAILED)
