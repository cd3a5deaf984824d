"""``preview``: how a file would be read, redacted and cut, before it is taken in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import opened
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import OK, PARTLY, Terminal, printable
from wenyuan.core.errors import NotFound, msg

if TYPE_CHECKING:
    from wenyuan.core.model import Source
    from wenyuan.service.library import Library


def preview(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="That may be taken in.")],
    source: Annotated[
        str | None, typer.Option("--source", metavar="ID", help="As this source would read it.")
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option("--passage-size", metavar="COUNT", help="About how long passages become, 64 to 400."),
    ] = None,
) -> None:
    """Show how a file would be read, redacted and cut into passages. Nothing of it is stored.

    What suits is kept with the source: settings.passage_size in its registry entry.

    Example:
      wenyuan preview handbook.docx
      wenyuan preview handbook.docx --source policies --passage-size 120
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        told = found.previews.preview(file, source=None if source is None else _source(found, source), tokens=tokens)
    shown = told.described()
    terminal.document({"status": "SUCCESS", **shown})
    for document in shown["documents"]:
        _show_document(terminal, document)
    terminal.show(terminal.text("preview_sum", count=told.passages, tokens=told.tokens))
    for reason in told.failed:
        terminal.show(terminal.text("preview_failed", reason=terminal.own(reason)))
    raise typer.Exit(PARTLY if told.failed else OK)


def _source(library: Library, name: str) -> Source:
    found = next((one for one in library.sources() if one.source_id == name), None)
    if found is None:
        raise NotFound(msg("there is no source {name}", name=repr(name[:64])), hint="wenyuan source list")
    return found


def _show_document(terminal: Terminal, one: Mapping[str, Any]) -> None:
    terminal.show(printable(" ".join(filter(None, (one["title"], one["part"])))), wrap=False)
    for name in ("language", "effective_from", "effective_until"):
        if one[name]:
            terminal.show(f"{terminal.label(name)}: {one[name]}")
    if one["tags"]:
        tags = terminal.text("comma").join(f"{name}={value}" for name, value in one["tags"].items())
        terminal.show(terminal.text("document_tags", tags=printable(tags)))
    if one["redacted"]:
        kinds = terminal.text("comma").join(f"{kind} {count}" for kind, count in one["redacted"].items())
        terminal.show(terminal.text("preview_redacted", kinds=kinds))
    for note in (*one["notes"], *(one["fidelity"] or {"warnings": ()})["warnings"]):
        indented(terminal, terminal.own(note))
    for number, passage in enumerate(one["passages"], 1):
        where = " > ".join(passage["headings"])
        size = terminal.text("preview_size", characters=passage["characters"], tokens=passage["tokens"])
        terminal.show(printable(f"{number}. {where} ({size})"), wrap=False)
        indented(terminal, printable(passage["text"]))
    if one["passages_in_all"] > len(one["passages"]):
        terminal.show(terminal.text("preview_more", count=one["passages_in_all"] - len(one["passages"])))
