"""``document``, ``correct``, ``corrections`` and ``undo``: what is held, how it was read, uploads and corrections."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import SCREEN, Commands, add_commands, interactive, opened
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import OK, PARTLY, Bar, Terminal, printable
from wenyuan.core.errors import msg
from wenyuan.core.model import DocumentState
from wenyuan.runtime.local_time import local_time
from wenyuan.runtime.regular import open_regular

if TYPE_CHECKING:
    from wenyuan.core.corrections import CorrectionAction
    from wenyuan.service.library import Library
    from wenyuan.service.uploads import Given, UploadReport


# ``document upload``, ``replace`` and ``delete``: the documents that a library keeps itself.

_Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of document list. 文档编号")]


def upload(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Its id. 来源 id")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", exists=True, help="Files or folders. 文件或目录")],
) -> None:
    """Copy files into the library and read them. A source that is not there yet is made.

    One of the name of another is its new version; what cannot be read is not kept. A source with a path takes no files.

    把文件复制到知识库中并读取；来源不存在时自动建立。同名文件是新版本；读不了的文件不保存。有路径的来源不接受上传。

    Example 示例:
      wenyuan document upload manuals pump.pdf 制度/
    """
    from wenyuan.core.model import Source

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        named = [one for file in files for one in _named(file)]
        if source not in {one.source_id for one in found.sources()}:
            found.catalog.put_source(Source(source_id=source))
        with found.uploads.incoming() as folder:
            given = _copied(named, folder)
            with Bar(terminal, embeds=found.encoder is not None) as bar:
                told = found.upload(source, given, bar)
    _show(terminal, told)


def replace(
    ctx: typer.Context,
    document: _Number,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="新文件")],
) -> None:
    """Put a new version in the place of an uploaded document; one that cannot be read changes nothing.

    用新版本替换已上传的文档；新文件读不了时，一切保持原样。

    Example 示例:
      wenyuan document replace 12 pump-2026.pdf
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found, found.uploads.incoming() as folder:
        [given] = _copied([(file.name, file)], folder)
        with Bar(terminal, embeds=found.encoder is not None) as bar:
            told = found.replace_document(document, given, bar)
    _show(terminal, told)


def delete(
    ctx: typer.Context,
    document: _Number,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. 不再确认")] = False,
) -> None:
    """Delete an uploaded file, with all documents that were read from it.

    删除已上传的文件，以及由它读出的全部文档。

    Example 示例:
      wenyuan document delete 12 --yes
    """
    from wenyuan.core.errors import InvalidRequest

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        told = found.document(document)
        found.uploads.check_takes_uploads(told["source_id"])
        question = terminal.text("document_delete_sure", title=printable(told["title"] or told["uri"]))
        if not yes and not interactive():
            raise InvalidRequest(
                "nothing was deleted: nobody can be asked here",
                hint=msg("wenyuan document delete {document} --yes", document=document),
            )
        if not yes and not typer.confirm(question, err=True):
            raise typer.Exit(OK)
        source_id, documents = found.delete_document(document)
    terminal.document({"status": "SUCCESS", "source_id": source_id, "documents": documents})
    terminal.show(terminal.text("document_deleted", source=source_id, documents=documents))


def history(ctx: typer.Context, document: _Number) -> None:
    """The versions of a document, the newest first: from which day to which each counted, and what changed.

    文档的历次版本，最新的在前：各自的有效期，以及与前一版相比的变化。

    Example 示例:
      wenyuan document history 12
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        told = found.document_history(document)
    terminal.document({"status": "SUCCESS", **told})
    terminal.show(printable(told["title"] or told["uri"]), wrap=False)
    for one in told["versions"]:
        _show_version(terminal, one)
    if told["more"]:
        terminal.say("history_more", count=told["more"])


def _show_version(terminal: Terminal, one: Mapping[str, Any]) -> None:
    begins, ends = one["effective_from"] or "…", one["effective_until"] or "…"
    state = terminal.text(f"history_{one['state']}")
    number = "" if one["document_id"] is None else f" #{one['document_id']}"
    terminal.show(f"{begins} – {ends}  {state}{number}", wrap=False)
    if one["first"]:
        terminal.show("  " + terminal.text("history_first"), wrap=False)
        return
    terminal.show("  " + terminal.text("history_counts", **one["counts"]), wrap=False)
    for change in one["changes"]:
        terminal.show(
            f"  {terminal.text('history_' + change['kind'])} {printable(change['place'])}".rstrip(), wrap=False
        )
        marks = {"same": ("", ""), "out": ("[-", "-]"), "in": ("{+", "+}")}
        said = "".join(marks[kind][0] + text + marks[kind][1] for kind, text in change["pieces"])
        indented(terminal, said)


def _named(path: Path) -> list[tuple[str, Path]]:
    """A file with its name, or the files of a folder with theirs; SourceError where there are none, or not all of them
    can be seen. As of any source, hidden ones and links that lead out of the folder are left out.
    """
    from wenyuan.service.ingest.holdings import find_files

    path = path.absolute()
    return [(file.relative_to(path.parent).as_posix(), file) for file in find_files(path, lambda _name: True).files]


def _copied(files: Sequence[tuple[str, Path]], folder: Path) -> list[Given]:
    from wenyuan.service.uploads import Given

    given = []
    for number, (name, file) in enumerate(files):
        copy, reason = folder / f"file-{number}", ""
        try:
            with os.fdopen(open_regular(file), "rb") as stream, copy.open("xb") as made:
                shutil.copyfileobj(stream, made)
        except OSError as error:
            reason = msg("cannot be read: {error}", error=error.strerror)
        given.append(Given(name=name, path=copy, reason=reason))
    return given


def _show(terminal: Terminal, told: UploadReport) -> None:
    """Print the result for each file; exit code 3 where one failed."""
    report = None if told.report is None else asdict(told.report)
    files = [asdict(one) for one in told.files]
    terminal.document({"status": "SUCCESS", "source_id": told.source_id, "files": files, "report": report})
    for one in told.files:
        numbers = ", ".join(map(str, one.documents))
        terminal.show(
            printable(f"{terminal.text('uploaded_' + one.state)}  {one.name}  {numbers}".rstrip()), wrap=False
        )
        if one.reason:
            indented(terminal, terminal.own(one.reason))
    raise typer.Exit(PARTLY if any(one.state == "failed" for one in told.files) else OK)


# ``document list`` and ``show``: what is held of each source, and how it was read.

_HELP = """Documents: what is held, how it was read, and what could not be read; upload, replace and delete them.

文档：收录了什么、读得是否完整、哪些未能读取；上传、替换与删除文档。

\b
Example 示例:
  wenyuan document list --source policies
  wenyuan document show 12
  wenyuan document upload manuals pump.pdf
"""
app = typer.Typer(
    help=_HELP, short_help="List, show, upload, replace or delete documents. 查看与上传文档", no_args_is_help=True
)
_MOST = 200  # passages that are shown at once
_NOISE = 1e-6  # of a share times 1000, as floats have it


def list_all(
    ctx: typer.Context,
    source: Annotated[str | None, typer.Option("--source", metavar="ID", help="Only of this one. 来源")] = None,
    state: Annotated[
        DocumentState | None, typer.Option("--state", metavar="STATE", help="live, failed, expired … 状态")
    ] = None,
    containing: Annotated[
        str, typer.Option("--containing", metavar="TEXT", help="In title or address. 标题或地址包含")
    ] = "",
    after: Annotated[str, typer.Option("--after", metavar="MARK", help="The next page. 下一页的标记")] = "",
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=200, help="At most. 最多")] = SCREEN,
) -> None:
    """List documents by source and address, with those that could not be taken in.

    States: live, not_yet and expired (by its dates), superseded (by a later version), failed.

    按来源与地址列出文档，包括未能收录的。状态：live 有效、not_yet 未生效、expired 已到期、superseded 已被新版取代、failed 未能收录。

    Example 示例:
      wenyuan document list --source policies
      wenyuan document list --state failed
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        page = found.list_documents(source=source, state=state, q=containing, after=after, limit=limit)
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
    document: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of the list. 文档编号")],
    passages: Annotated[bool, typer.Option("--passages", help="Its passages, too. 同时列出段落")] = False,
) -> None:
    """Show a document: how it was read, against what its file holds, and with --passages its passages in order.

    查看一份文档：与原文件相比读得如何；加 --passages 按顺序列出段落。

    Example 示例:
      wenyuan document show 12
      wenyuan document show 12 --passages
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        told = found.document(document)
        listed = _passages(found, document) if passages else []
    terminal.document({"status": "SUCCESS", "document": told} | ({"passages": listed} if passages else {}))
    terminal.show(printable(f"{told['title'] or told['uri']} ({_state(terminal, told['state'])})"))
    for field in ("source_id", "uri", "media_type", "language", "ingested_at", "effective_from", "effective_until"):
        if told[field]:
            value = local_time(told[field]) if field == "ingested_at" else printable(str(told[field]))
            terminal.show(f"{terminal.label(field)}: {value}", wrap=False)
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
    "list": (list_all, "List documents. 列出文档"),
    "show": (show, "Show one. 查看文档"),
    "history": (history, "Versions of one, and what changed. 历次版本"),
    "upload": (upload, "Upload files. 上传文件"),
    "replace": (replace, "Replace one by its new version. 替换为新版本"),
    "delete": (delete, "Delete one. 删除文档"),
}
add_commands(app, _COMMANDS)


# ``correct``, ``corrections`` and ``undo``: corrections of passages and documents.

_SHOWN = 60  # characters of the words that were corrected


def correct(  # noqa: PLR0913, PLR0917  (an argument here is an option there)
    ctx: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="[REF]", help="The passage: policies#12. 段落")] = "",
    document: Annotated[
        int | None, typer.Option("--document", metavar="NUMBER", min=1, help="A whole document. 整份文档")
    ] = None,
    exclude: Annotated[bool, typer.Option("--exclude", help="Leave it out of answers. 不用于回答")] = False,
    text: Annotated[str | None, typer.Option("--text", help="What it reads. 改正后的文字")] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", help="What else it answers; again for more. 还能回答的问题")
    ] = None,
    split_at: Annotated[
        int | None, typer.Option("--split-at", metavar="OFFSET", min=1, help="Two of it, at a character. 拆分位置")
    ] = None,
    join: Annotated[str | None, typer.Option("--join", metavar="REF", help="One with the next. 与后一段合并")] = None,
    heading: Annotated[
        str | None, typer.Option("--heading", help="How the heading above it reads; '' where it is none. 上方的标题")
    ] = None,
    of_heading: Annotated[
        str,
        typer.Option("--of-heading", metavar="HEADING", help="Which of its headings. 哪一个标题  [default: nearest]"),
    ] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why. 原因")] = "",
) -> None:
    """Correct a passage, or exclude a document; the next answer has it, and it can be undone.

    It counts until it is undone, also when the document is read again, as long as its words are there.

    更正一个段落，或排除一份文档；下一次回答即生效，并可撤销。重新读取文档后，只要原文还在，更正依然有效。

    Example 示例:
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
        int | None, typer.Option("--document", metavar="NUMBER", min=1, help="Only of this one. 文档")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="ID", help="Only of this one. 来源")] = None,
    before: Annotated[
        int | None, typer.Option("--before", metavar="NUMBER", min=1, help="Older ones. 更早的更正")
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, max=200, help="At most. 最多")] = 50,
) -> None:
    """List corrections, also those that were undone or whose words are gone, the newest first.

    列出更正，包括已撤销的与原文已不在的，最新的在前。

    Example 示例:
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
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of the correction. 更正编号")],
) -> None:
    """Undo a correction; what was served before it is served again.

    撤销一条更正，恢复原来的内容。

    Example 示例:
      wenyuan undo 3
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        undone = found.undo_correction(number)
    terminal.document({"status": "SUCCESS", "correction": undone})
    terminal.show(terminal.text("correction_undone", number=number))


def _action(terminal: Terminal, action: str) -> str:
    return terminal.text(f"correction_{action}")
