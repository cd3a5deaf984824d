"""``quarantine``: the files that a scanner had set aside."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from wenyuan.cli.doctor_checks import human
from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, add_commands, opened
from wenyuan.cli.terminal import Terminal

_HELP = """See what a scanner had set aside, and decide: let it in, or delete it.

\b
Example:
  wenyuan quarantine list
  wenyuan quarantine release 3fa94c12
"""
app = group(_HELP, "Files that were set aside.")

_Name = Annotated[str, typer.Argument(metavar="SHA256", help="Its first characters, as list shows them.")]
_SHOWN = 12  # characters of a SHA-256


def list_all(ctx: typer.Context) -> None:
    """List the files that were set aside, and why.

    Example:
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

    Example:
      wenyuan quarantine release 3fa94c12
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        one = found.quarantine.release(name)
    terminal.document({"status": "SUCCESS", "released": one.sha256})
    terminal.say("quarantine_released", name=one.sha256[:_SHOWN])


def discard(ctx: typer.Context, name: _Name) -> None:
    """Delete the copy of a file. The file itself, where it came from, is not touched.

    Example:
      wenyuan quarantine discard 3fa94c12
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        one = found.quarantine.discard(name)
    terminal.document({"status": "SUCCESS", "discarded": one.sha256})
    terminal.say("quarantine_discarded", name=one.sha256[:_SHOWN])


_COMMANDS: Commands = {
    "list": (list_all, "List what was set aside."),
    "release": (release, "Let a file in."),
    "discard": (discard, "Delete the copy of a file."),
}
add_commands(app, _COMMANDS)
