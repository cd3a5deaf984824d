"""``group list``, ``show``, ``set``, ``add`` and ``remove``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, add_commands, opened_record
from wenyuan.cli.terminal import Terminal

_HELP = """Groups of people, and of other groups: who may read what names them as readers.

\b
Example:
  wenyuan group set hr user:li group:managers
  wenyuan group add hr user:wu
  wenyuan group list
"""
groups_app = group(_HELP, "Groups of people.")
_Group = Annotated[str, typer.Argument(metavar="GROUP", help="hr, or group:hr.")]
_Members = Annotated[
    list[str] | None, typer.Argument(metavar="[MEMBER]...", help="user:li, or group:managers for all in that one.")
]
_File = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="Further members, one a line.")]


def set_group(ctx: typer.Context, name: _Group, members: _Members = None, file: _File = None) -> None:
    """Let a group have these members and no others, for the next question; without any it is removed.

    Example:
      wenyuan group set hr user:li group:managers
      wenyuan group set everybody --file members.txt
    """
    terminal: Terminal = ctx.obj
    wanted = [*(members or ()), *_lines(file)]
    with opened_record(terminal) as found:
        count = found.catalog.set_group(name, wanted)
    _tell(terminal, name, count)


def add(ctx: typer.Context, name: _Group, members: _Members = None, file: _File = None) -> None:
    """Take members into a group.

    Example:
      wenyuan group add hr user:wu
    """
    terminal: Terminal = ctx.obj
    wanted = [*(members or ()), *_lines(file)]
    with opened_record(terminal) as found:
        count = found.catalog.change_group(name, add=wanted)
    _tell(terminal, name, count)


def remove(ctx: typer.Context, name: _Group, members: _Members = None, file: _File = None) -> None:
    """Take members out of a group.

    Example:
      wenyuan group remove hr user:wu
    """
    terminal: Terminal = ctx.obj
    wanted = [*(members or ()), *_lines(file)]
    with opened_record(terminal) as found:
        count = found.catalog.change_group(name, remove=wanted)
    _tell(terminal, name, count)


def show(ctx: typer.Context, name: _Group) -> None:
    """List the members of a group.

    Example:
      wenyuan group show hr
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        members = found.catalog.members(name)
    terminal.document({"status": "SUCCESS", "group": name, "members": list(members)})
    for member in members:
        terminal.show(member, wrap=False)


def list_groups(ctx: typer.Context) -> None:
    """List all groups, and how many members each has.

    Example:
      wenyuan group list
    """
    terminal: Terminal = ctx.obj
    with opened_record(terminal) as found:
        groups = found.catalog.groups()
    rows = [{"group": name, "count": count} for name, count in groups.items()]
    terminal.document({"status": "SUCCESS", "groups": rows})
    if not groups:
        terminal.say("no_groups")
        return
    terminal.table(groups.items(), "col_group", "col_members", right=(1,), whole=(0,))


def _tell(terminal: Terminal, name: str, count: int) -> None:
    terminal.document({"status": "SUCCESS", "group": name, "count": count})
    terminal.say("group_has" if count else "group_gone", group=name, n=count)


def _lines(file: Path | None) -> list[str]:
    """The names in a file, one a line; empty lines are passed over."""
    from wenyuan.core.errors import InvalidRequest, msg
    from wenyuan.runtime.regular import read_regular

    if file is None:
        return []
    try:
        text = read_regular(file).decode("utf-8-sig")
    except OSError as error:
        raise InvalidRequest(msg("cannot read {file}: {strerror}", file=file, strerror=error.strerror)) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(msg("{file} is not UTF-8 (byte {start})", file=file, start=error.start)) from error
    return [line.strip() for line in text.splitlines() if line.strip()]


_COMMANDS: Commands = {
    "list": (list_groups, "List all groups."),
    "show": (show, "List one's members."),
    "set": (set_group, "Say who is in one."),
    "add": (add, "Take somebody in."),
    "remove": (remove, "Take somebody out."),
}
add_commands(groups_app, _COMMANDS)
