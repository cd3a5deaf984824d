"""Moving a library to a PostgreSQL, and back."""

from __future__ import annotations

import time
from dataclasses import asdict
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.terminal import Terminal

if TYPE_CHECKING:
    from wenyuan.catalog.migration import MoveProgress


_EVERY = 10.0  # seconds between two lines where there is no terminal
_QUIET = 1.0  # seconds before anything is shown


def migrate(
    ctx: typer.Context,
    to: Annotated[
        str,
        typer.Option("--to", metavar="DSN|DIR", help="postgresql://…, or a folder.", show_default=False),
    ],
) -> None:
    """Copy the library to a PostgreSQL, or from there to a folder, and compare all of it.

    An interrupted copy is continued; the old library stays as it is. A password is better given as PGPASSWORD.

    Example:
      wenyuan migrate --to postgresql://wenyuan@db.example/knowledge
      wenyuan migrate --to ./library-copy
    """
    from wenyuan.catalog.migration import move_library, names_server

    terminal: Terminal = ctx.obj
    with _Shown(terminal) as shown:
        moved = move_library(terminal.folder, to, shown)
    terminal.document({"status": "SUCCESS", **asdict(moved)})
    rows = sum(moved.tables.values())
    terminal.show(terminal.text("moved", rows=rows, tables=len(moved.tables), seconds=f"{moved.seconds:.1f}"))
    terminal.show(terminal.text("moved_head", head=moved.head), wrap=False)
    server = names_server(to)
    terminal.show(
        terminal.text("moved_next_server" if server else "moved_next_folder", to="" if server else quote(str(to)))
    )


class _Shown:
    """Progress of a move: one line rewritten on a terminal, a new line now and then elsewhere."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._at = time.monotonic() + _QUIET
        self._status: Any = None

    def __enter__(self) -> _Shown:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, step: MoveProgress) -> None:
        if time.monotonic() < self._at:
            return
        said = {"table": step.table, "done": step.done, "total": step.total}
        key = f"move_{step.doing}"
        if not self._terminal.err.is_terminal:
            self._at = time.monotonic() + _EVERY
            self._terminal.say(key, **said)
            return
        if self._status is None:
            self._status = self._terminal.err.status("")
            self._status.start()
        self._status.update(self._terminal.text(key, **said))
