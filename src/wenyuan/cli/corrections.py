"""``correct``, ``corrections`` and ``undo``: corrections of passages and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.options import OfSourceOption, PageOption, ReasonOption, opened
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import Terminal, printable
from wenyuan.runtime.local_time import local_time

if TYPE_CHECKING:
    from wenyuan.core.corrections import CorrectionAction


_SHOWN = 60  # characters of the words that were corrected


def correct(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="[REF]", help="The passage: policies#12.")] = "",
    document: Annotated[
        int | None, typer.Option("--document", metavar="NUMBER", min=1, help="A whole document.")
    ] = None,
    exclude: Annotated[bool, typer.Option("--exclude", help="Leave it out of answers.")] = False,
    text: Annotated[str | None, typer.Option("--text", help="What it reads.")] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", help="What else it answers; again for more.")
    ] = None,
    split_at: Annotated[
        int | None, typer.Option("--split-at", metavar="OFFSET", min=1, help="Two of it, at a character.")
    ] = None,
    join: Annotated[str | None, typer.Option("--join", metavar="REF", help="One with the next.")] = None,
    heading: Annotated[
        str | None, typer.Option("--heading", help="How the heading above it reads; '' where it is none.")
    ] = None,
    of_heading: Annotated[
        str,
        typer.Option("--of-heading", metavar="HEADING", help="Which of its headings.  [default: nearest]"),
    ] = "",
    reason: ReasonOption = "",
) -> None:
    """Correct a passage, or exclude a document; the next answer has it, and it can be undone.

    It counts until it is undone, also when the document is read again, as long as its words are there.

    Example:
      wenyuan correct policies#12 --question "几天内要回复投诉" --question "投诉时限"
      wenyuan correct policies#12 --text "客户投诉应当在 24 小时内首次响应。" --reason "扫描识别有误"
      wenyuan correct --document 3 --exclude
    """
    from wenyuan.service.ingest.corrections import CorrectionRequest

    terminal: Terminal = ctx.obj
    asked: dict[CorrectionAction, bool] = {
        "exclude": exclude, "text": text is not None, "questions": bool(question), "split": split_at is not None,
        "join": join is not None, "heading": heading is not None,
    }  # fmt: skip
    actions = [action for action, wanted in asked.items() if wanted]
    if len(actions) != 1:
        raise typer.BadParameter(terminal.text("correct_what"))
    wanted = CorrectionRequest(
        action=actions[0], ref=ref, document_id=document, text=text or heading or "", questions=tuple(question or ()),
        at=split_at, joined_with=join or "", heading=of_heading, reason=reason,
    )  # fmt: skip
    with opened(terminal) as found:
        made = found.correct(wanted)
    terminal.document({"status": "SUCCESS", "correction": made})
    said = {"number": made["correction_id"], "action": _action(terminal, made["action"])}
    terminal.show(terminal.text("correction_made", **said))


def corrections(
    ctx: typer.Context,
    document: Annotated[
        int | None, typer.Option("--document", metavar="NUMBER", min=1, help="Only of this one.@document")
    ] = None,
    source: OfSourceOption = None,
    before: Annotated[int | None, typer.Option("--before", metavar="NUMBER", min=1, help="Older ones.")] = None,
    limit: PageOption = 50,
) -> None:
    """List corrections, also those that were undone or whose words are gone, the newest first.

    Example:
      wenyuan corrections --source policies
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        listed = found.corrections(document_id=document, source=source, before=before, limit=limit)
    terminal.document({"status": "SUCCESS", "corrections": listed})
    if terminal.as_json:
        return
    if not listed:
        terminal.say("no_corrections")
        return
    rows = (
        (one["correction_id"], local_time(one["made_at"]), one["actor"], _action(terminal, one["action"]),
         terminal.text("correction_undone_state" if one["state"] == "undone" else f"correction_{one['state']}"))
        for one in listed
    )  # fmt: skip
    terminal.table(rows, "col_number", "col_when", "col_by", "col_action", "col_state", right=(0,), whole=(1,))
    for one in listed:
        words = one["original"] or terminal.text("correction_document")
        short = words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"
        indented(terminal, printable(f"{one['correction_id']}: {one['source_id']} {short}".replace("\n", " ")))


def undo(
    ctx: typer.Context,
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of the correction.")],
) -> None:
    """Undo a correction; what was served before it is served again.

    Example:
      wenyuan undo 3
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        undone = found.undo_correction(number)
    terminal.document({"status": "SUCCESS", "correction": undone})
    terminal.show(terminal.text("correction_undone", number=number))


def _action(terminal: Terminal, action: str) -> str:
    return terminal.text(f"correction_{action}")
