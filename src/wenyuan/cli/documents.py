"""``document list`` and ``show``: what is held of each source, and how it was read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.document_details import set_details, show_details
from wenyuan.cli.document_readers import readers
from wenyuan.cli.help_texts import group
from wenyuan.cli.options import SCREEN, Commands, DocumentNumber, OfSourceOption, PageOption, add_commands, opened
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.cli.uploads import delete, history, move, replace, restore, upload
from wenyuan.core.document_choice import DocumentSort
from wenyuan.core.model import DocumentState
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_HELP = """Documents: what is held, how it was read, and what could not be read; upload, replace and delete them.

\b
Example:
  wenyuan document list --source policies
  wenyuan document show 12
  wenyuan document upload manuals pump.pdf
"""
app = group(_HELP, "List, show, upload, replace or delete documents.")
_MOST = 200  # passages that are shown at once
_NOISE = 1e-6  # of a share times 1000, as floats have it


def list_all(  # noqa: PLR0913, PLR0917  (options, each by name)
    ctx: typer.Context,
    source: OfSourceOption = None,
    state: Annotated[
        DocumentState | None, typer.Option("--state", metavar="STATE", help="live, failed, expired …")
    ] = None,
    containing: Annotated[str, typer.Option("--containing", metavar="TEXT", help="In title or address.")] = "",
    trust: Annotated[int, typer.Option("--trust", min=1, max=5, help="Of sources trusted so far at least.")] = 1,
    owner: Annotated[str | None, typer.Option("--owner", metavar="NAME", help="Of sources of this owner.")] = None,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="pdf, or a media type.")] = "",
    worse_than: Annotated[
        float | None, typer.Option("--worse-than", min=0, max=1, metavar="SHARE", help="Read worse than that, 0..1.")
    ] = None,
    sort: Annotated[
        DocumentSort,
        typer.Option("--sort", metavar="ORDER", help="address, title, newest, oldest, fidelity, effective."),
    ] = "address",
    after: Annotated[str, typer.Option("--after", metavar="MARK", help="The next page.")] = "",
    limit: PageOption = SCREEN,
) -> None:
    """List documents by source and address, with those that could not be taken in.

    States: live, not_yet and expired (by its dates), superseded (by a later version), failed.

    Example:
      wenyuan document list --source policies
      wenyuan document list --state failed
      wenyuan document list --kind pdf --worse-than 0.95 --sort fidelity
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        page = found.list_documents(
            source=source, state=state, q=containing, after=after, limit=limit, trust=trust, owner=owner, kind=kind,
            fidelity_below=worse_than, sort=sort,
        )  # fmt: skip
    terminal.document({"status": "SUCCESS", "documents": list(page.documents), "next": page.next or None})
    if terminal.as_json:
        return
    if not page.documents:
        terminal.say("no_documents")
        return
    rows = (
        (one["document_id"] or "", one["source_id"], _state(terminal, one["state"]), one["passages"],
         _percent((one["fidelity"] or {}).get("kept")), one["title"] or one["uri"])
        for one in page.documents
    )  # fmt: skip
    headers = ("col_number", "col_source", "col_state", "col_passages", "col_kept", "col_title")
    terminal.table(rows, *headers, right=(0, 3, 4), whole=(1,))
    for one in page.documents:
        if one["failure"] is not None:
            _show_failure(terminal, one)
    if page.next:
        terminal.show(terminal.text("documents_more", mark=page.next), wrap=False)


def show(
    ctx: typer.Context,
    document: DocumentNumber,
    passages: Annotated[bool, typer.Option("--passages", help="Its passages, too.")] = False,
) -> None:
    """Show a document: how it was read, against what its file holds, and with --passages its passages in order.

    Example:
      wenyuan document show 12
      wenyuan document show 12 --passages
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        told = found.document(document)
        listed = _passages(found, document) if passages else []
    terminal.document({"status": "SUCCESS", "document": told} | ({"passages": listed} if passages else {}))
    terminal.show(printable(f"{told['title'] or told['uri']} ({_state(terminal, told['state'])})"))
    for field in ("source_id", "uri", "media_type", "language", "ingested_at"):
        if told[field]:
            value = local_time(told[field]) if field == "ingested_at" else printable(str(told[field]))
            terminal.show(f"{terminal.label(field)}: {value}", wrap=False)
    show_details(terminal, told)
    terminal.show(terminal.text("document_passages", count=told["passages"]))
    if told["corrections"]:
        numbers = {"count": told["corrections"], "lost": told["corrections_lost"]}
        terminal.show(terminal.text("document_corrections", **numbers))
    _show_fidelity(terminal, told["fidelity"])
    for note in told["notes"]:
        indented(terminal, terminal.own(note))
    if told["failure"] is not None:
        _show_failure(terminal, told)
    for one in listed:
        _show_passage(terminal, one)


def _show_passage(terminal: Terminal, one: Mapping[str, Any]) -> None:
    terminal.show("")
    where = " ".join(str(part) for part in (one["ref"], " > ".join(one["headings"])) if part)
    terminal.show(printable(where), wrap=False)
    indented(terminal, printable(one["text"]) or terminal.text("passage_withheld"))
    if "questions" in one:
        indented(
            terminal, terminal.text("passage_questions", questions=terminal.text("comma").join(one["questions"]))
        )
    if "context" in one:
        indented(terminal, terminal.text("passage_context", **one["context"]))
    if "corrected_by" in one:
        by = {"actor": one["corrected_by"], "numbers": ", ".join(map(str, one["corrections"]))}
        indented(terminal, terminal.text("passage_corrected", **by))
    for doubt in one.get("uncertain", ()):
        said = terminal.text("passage_uncertain", text=doubt["text"], confidence=f"{doubt['confidence']:.2f}")
        indented(terminal, said)


def _passages(library: Library, document: int) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = library.document_passages(document, after=after, limit=_MOST)
        found += page.passages
        after = page.next
    return found


def _show_fidelity(terminal: Terminal, told: Mapping[str, Any] | None) -> None:
    if told is None:
        terminal.show(terminal.text("fidelity_unknown"))
        return
    kept, sure = _percent(told["kept"]), _percent(told["confidence"])
    if kept:
        terminal.show(terminal.text("fidelity_kept", kept=kept, lost=told["lost"], invented=told["invented"]))
    if told["pages"]:
        terminal.show(terminal.text("fidelity_pages", pages=told["pages"], ocr=told["ocr_pages"]))
    if told["unread_pages"]:
        terminal.show(terminal.text("fidelity_unread", count=told["unread_pages"]))
    if told["dropped_lines"]:
        terminal.show(terminal.text("fidelity_dropped", count=told["dropped_lines"]))
    if sure:
        terminal.show(terminal.text("fidelity_confidence", confidence=sure))
    terminal.show(terminal.text("fidelity_found", tables=told["tables"], pictures=told["pictures"]))
    for warning in told["warnings"]:
        indented(terminal, terminal.own(warning))


def _show_failure(terminal: Terminal, told: Mapping[str, Any]) -> None:
    failure = told["failure"]
    terminal.show(printable(f"{told['uri']}: ") + terminal.own(failure["reason"]), wrap=False)
    indented(terminal, terminal.own(failure["remedy"]))


def _state(terminal: Terminal, state: DocumentState) -> str:
    return terminal.text(f"document_{state}")


def _percent(share: float | None) -> str:
    """A percentage truncated, not rounded: 100 % means nothing is missing."""
    return "" if share is None else f"{math.floor(1000 * share + _NOISE) / 10:.1f}%"


_COMMANDS: Commands = {
    "list": (list_all, "List documents."),
    "show": (show, "Show one.@document"),
    "history": (history, "Versions of one, and what changed."),
    "restore": (restore, "Put an earlier version back."),
    "upload": (upload, "Upload files."),
    "replace": (replace, "Replace one by its new version."),
    "delete": (delete, "Delete one."),
    "move": (move, "Move some to another source."),
    "set": (set_details, "Title, days, tags of one."),
    "readers": (readers, "Who may read one."),
}
add_commands(app, _COMMANDS)
