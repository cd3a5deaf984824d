"""``quarantine``: the files that a scanner had set aside."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from wenyuan.cli.doctor_checks import human
from wenyuan.cli.options import Commands, add_commands, opened
from wenyuan.cli.terminal import Terminal

_HELP = """See what a scanner had set aside, and decide: let it in, or delete it.

查看被扫描程序隔离的文件，决定放行或删除。

\b
Example 示例:
  wenyuan quarantine list
  wenyuan quarantine release 3fa94c12
"""
app = typer.Typer(help=_HELP, short_help="Files that were set aside. 隔离的文件", no_args_is_help=True)

_Name = Annotated[
    str, typer.Argument(metavar="SHA256", help="Its first characters, as list shows them. 文件标识的开头几位")
]
_SHOWN = 12  # characters of a SHA-256


def list_all(ctx: typer.Context) -> None:
    """List the files that were set aside, and why.

    列出被隔离的文件及原因。

    Example 示例:
      wenyuan quarantine list
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        files = list(found.quarantine)
    terminal.document({"status": "SUCCESS", "files": [asdict(one) for one in files]})
    if not files:
        terminal.say("quarantine_empty")
        return
    rows = ((one.sha256[:_SHOWN], one.suffix or "–", human(one.size), one.scanner, one.reason) for one in files)
    terminal.table(rows, "col_file", "col_kind", "col_size", "col_scanner", "col_reason", right=(2,), whole=(0,))


def release(ctx: typer.Context, name: _Name) -> None:
    """Let a file in: at the next refresh, or when it is uploaded again, it is read whatever the scanner says.

    放行文件：下次刷新或重新上传时不再受扫描结论限制。

    Example 示例:
      wenyuan quarantine release 3fa94c12
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        one = found.quarantine.release(name)
    terminal.document({"status": "SUCCESS", "released": one.sha256})
    terminal.say("quarantine_released", name=one.sha256[:_SHOWN])


def discard(ctx: typer.Context, name: _Name) -> None:
    """Delete the copy of a file. The file itself, where it came from, is not touched.

    删除隔离的副本；来源处的原文件不受影响。

    Example 示例:
      wenyuan quarantine discard 3fa94c12
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        one = found.quarantine.discard(name)
    terminal.document({"status": "SUCCESS", "discarded": one.sha256})
    terminal.say("quarantine_discarded", name=one.sha256[:_SHOWN])


_COMMANDS: Commands = {
    "list": (list_all, "List what was set aside. 列出"),
    "release": (release, "Let a file in. 放行"),
    "discard": (discard, "Delete the copy of a file. 删除"),
}
add_commands(app, _COMMANDS)
