"""``document readers``: who may read a document, and what is not read by anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import opened
from wenyuan.cli.reader_options import DenyOption, ReadersOption, said_list
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.service.library import Library


def readers(
    ctx: typer.Context,
    document: Annotated[
        int | None,
        typer.Argument(metavar="NUMBER", min=1, help="Of the list; without one, how many have readers."),
    ] = None,
    allow: ReadersOption = None,
    deny: DenyOption = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take the list back that was given here.")] = False,
) -> None:
    """Who may read a document: show its lists, or give it one of its own, which counts for the next question.

    All lists that stand for a document count, those of patterns, folders and the document itself too; denying beats allowing.

    Example:
      wenyuan document readers 12 --readers group:hr,user:li --deny group:works
      wenyuan document readers 12
      wenyuan document readers
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        if document is None:
            _counts(terminal, found)
            return
        if clear or allow is not None or deny is not None:
            given = None if clear else said_list(allow, deny)
            found.set_readers(document, given)
        told = found.readers(document)
    terminal.document({"status": "SUCCESS", **told})
    terminal.show(printable(told["uri"]), wrap=False)
    for one in told["lists"]:
        terminal.say(
            "readers_list",
            origin=terminal.text(f"readers_of_{one['origin'].partition('/')[0]}"),
            names=_names(terminal, one),
        )
        if one["note"]:
            indented(terminal, terminal.own(one["note"]))
    if not told["lists"]:
        terminal.say("readers_closed" if told["enforced"] else "readers_none")


def _names(terminal: Terminal, one: Mapping[str, Any]) -> str:
    parts = []
    if one["readers"] is not None:
        parts.append(
            terminal.text("readers_allowed", names=", ".join(one["readers"]) or terminal.text("readers_nobody"))
        )
    if one["deny"]:
        parts.append(terminal.text("readers_denied", names=", ".join(one["deny"])))
    return terminal.text("comma").join(parts)


def _counts(terminal: Terminal, found: Library) -> None:
    told = found.reader_counts()
    terminal.document({"status": "SUCCESS", "sources": told})
    if not told:
        terminal.say("readers_nowhere")
        return
    rows = ((one["source_id"], one["readers"], one["unread"], one["unreadable"]) for one in told)
    terminal.table(
        rows, "col_source", "col_with_readers", "col_unread", "col_unreadable", right=(1, 2, 3), whole=(0,)
    )
    for one in told:
        for pattern in one["unmatched"]:
            terminal.say("readers_unmatched", source=one["source_id"], pattern=pattern)
