"""``document set``: title, days and tags of a document in place of what its file says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import DocumentNumber, ReasonOption, opened
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.core.document_details import DETAIL_FIELDS, DetailField
from wenyuan.core.model import Facet

if TYPE_CHECKING:
    from collections.abc import Mapping


def set_details(
    ctx: typer.Context,
    document: DocumentNumber,
    title: Annotated[str | None, typer.Option("--title", help="What it is called.")] = None,
    begins: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="First day on which it counts; open: from ever.")
    ] = None,
    ends: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="Last day on which it counts; open: without end.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="NAME=VALUE", help="A facet; NAME= takes it away; again for more."),
    ] = None,
    as_read: Annotated[
        list[str] | None,
        typer.Option("--as-read", metavar="DETAIL", help="As the file says again: title, effective_from …"),
    ] = None,
    reason: ReasonOption = "",
) -> None:
    """Set title, days or tags of a document in place; what is not given stays as it is.

    They count from the next question on, and when the document is read again; its number changes. A tag's value that is a
    number, true or false is one.

    Example:
      wenyuan document set 12 --title "Complaints, 2026" --until 2026-12-31
      wenyuan document set 12 --tag department=service --tag year=2026
      wenyuan document set 12 --as-read title --as-read tags
    """
    from wenyuan.service.document_details import DetailsRequest

    terminal: Terminal = ctx.obj
    wanted = DetailsRequest(
        title=title, effective_from=begins, effective_until=ends,
        tags=dict(_tag(terminal, one) for one in tag or ()), as_read=tuple(_field(terminal, one) for one in as_read or ()),
        reason=reason,
    )  # fmt: skip
    with opened(terminal) as found:
        number = found.details_desk.set_details(document, wanted)
        told = found.document(number)
    terminal.document({"status": "SUCCESS", "document": told})
    terminal.show(terminal.text("document_set", number=number, title=printable(told["title"] or told["uri"])))
    show_details(terminal, told)


def show_details(terminal: Terminal, told: Mapping[str, Any]) -> None:
    """Show the days and tags of a document, and what people said of it."""
    for name in ("effective_from", "effective_until"):
        if told[name]:
            terminal.show(f"{terminal.label(name)}: {told[name]}")
    if told["tags"]:
        tags = terminal.text("comma").join(f"{name}={value}" for name, value in told["tags"].items())
        terminal.show(terminal.text("document_tags", tags=printable(tags)))
    if told.get("details"):
        names = terminal.text("comma").join(terminal.text(f"detail_{name}") for name in told["details"]["said"])
        terminal.show(terminal.text("document_said", names=names, actor=printable(told["details"]["actor"])))


def _tag(terminal: Terminal, said: str) -> tuple[str, Facet | None]:
    name, mark, value = said.partition("=")
    if not mark or not name.strip():
        raise typer.BadParameter(terminal.text("tag_form", tag=printable(said)))
    if not value:
        return name.strip(), None
    if value.lower() in ("true", "false"):
        return name.strip(), value.lower() == "true"
    for kind in (int, float):
        try:
            return name.strip(), kind(value)
        except ValueError:
            continue
    return name.strip(), value


def _field(terminal: Terminal, said: str) -> DetailField:
    found = next((name for name in DETAIL_FIELDS if name == said.strip().replace("-", "_")), None)
    if found is None:
        raise typer.BadParameter(terminal.text("detail_form", name=printable(said), names=", ".join(DETAIL_FIELDS)))
    return found
