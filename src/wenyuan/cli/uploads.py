"""``document upload``, ``replace`` and ``delete``: the documents that a library keeps itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.options import YesOption, interactive, opened
from wenyuan.cli.progress import Bar
from wenyuan.cli.reader_options import DenyOption, ReadersOption, given_access
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import OK, PARTLY, Terminal, printable
from wenyuan.core.errors import msg
from wenyuan.runtime.full_disk import is_full
from wenyuan.runtime.regular import open_regular

if TYPE_CHECKING:
    from wenyuan.service.uploads import Given, UploadReport


_Number = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="Of document list.")]


def upload(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Its id.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", exists=True, help="Files or folders.")],
    allow: ReadersOption = None,
    deny: DenyOption = None,
) -> None:
    """Copy files into the library and read them. A source that is not there yet is made.

    One of the name of another is its new version; what cannot be read is not kept. A source with a path takes no files.

    Example:
      wenyuan document upload manuals pump.pdf 制度/
      wenyuan document upload hr salaries.xlsx --readers group:hr --deny user:wu
    """
    from wenyuan.core.model import Source

    terminal: Terminal = ctx.obj
    access = given_access(allow, deny)
    with opened(terminal) as found:
        named = [one for file in files for one in _named_files(file)]
        if source not in {one.source_id for one in found.sources()}:
            found.catalog.put_source(Source(source_id=source))
        with found.uploads.incoming() as folder:
            given = [replace_fields(one, access=access) for one in _copied(named, folder)]
            with Bar(terminal, embeds=found.encoder is not None) as bar:
                told = found.upload(source, given, bar)
    _show(terminal, told)


def replace(
    ctx: typer.Context,
    document: _Number,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="The new file.")],
    allow: ReadersOption = None,
    deny: DenyOption = None,
) -> None:
    """Put a new version in the place of an uploaded document; one that cannot be read changes nothing.

    Who might read the one before it may read this one, unless other readers are given.

    Example:
      wenyuan document replace 12 pump-2026.pdf
    """
    terminal: Terminal = ctx.obj
    access = given_access(allow, deny)
    with opened(terminal) as found, found.uploads.incoming() as folder:
        [given] = [replace_fields(one, access=access) for one in _copied([(file.name, file)], folder)]
        with Bar(terminal, embeds=found.encoder is not None) as bar:
            told = found.replace_document(document, given, bar)
    _show(terminal, told)


def delete(
    ctx: typer.Context,
    document: _Number,
    yes: YesOption = False,
) -> None:
    """Delete an uploaded file, with all documents that were read from it.

    Example:
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


def move(
    ctx: typer.Context,
    documents: Annotated[list[int], typer.Argument(metavar="NUMBER…", min=1, help="Of document list.")],
    to: Annotated[str, typer.Option("--to", metavar="SOURCE", help="A source of uploads.", show_default=False)],
) -> None:
    """Move uploaded documents to another source of uploads, with their versions and what was said of them.

    What is read from a folder or elsewhere would come back from there: its file is moved there. One with corrections, or that
    rules cite, stays, and says why.

    Example:
      wenyuan document move 12 13 --to manuals
    """
    from wenyuan.core.errors import KnowledgeError

    terminal: Terminal = ctx.obj
    moved, refused = [], []
    with opened(terminal) as found:
        for number in dict.fromkeys(documents):
            try:
                moved.append(asdict(found.document_move.move(number, to)))
            except KnowledgeError as error:
                if len(documents) == 1:
                    raise
                refused.append((number, error))
    told = [{"document_id": number, "reason": str(why)} for number, why in refused]
    terminal.document({"status": "SUCCESS", "moved": moved, "refused": told})
    for one in moved:
        numbers = terminal.text("comma").join(map(str, one["documents"]))
        terminal.show(terminal.text("document_moved", source=one["moved_from"], to=to, numbers=numbers))
    for number, why in refused:
        terminal.show(terminal.text("document_not_moved", number=number, reason=terminal.own(why.message)))
    if refused:
        raise typer.Exit(PARTLY)


def restore(ctx: typer.Context, document: _Number) -> None:
    """Put an earlier version of an uploaded document back; the present one is kept as a version.

    Example:
      wenyuan document history 12
      wenyuan document restore 9
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found, Bar(terminal, embeds=found.encoder is not None) as bar:
        told = found.version_restore.restore(document, bar)
    _show(terminal, told)


def history(ctx: typer.Context, document: _Number) -> None:
    """The versions of a document, the newest first: from which day to which each counted, and what changed.

    Example:
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
    by = f"  {printable(one['by'])}" if one["by"] else ""
    terminal.show(f"{begins} – {ends}  {state}{number}{by}", wrap=False)
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


def _named_files(path: Path) -> list[tuple[str, Path]]:
    """A file with its name, or the files of a folder with theirs; SourceError where there are none, or not all of them
    can be seen. As of any source, hidden ones and links that lead out of the folder are left out.
    """
    from wenyuan.service.ingest.local_files import find_files

    path = path.absolute()
    return [(file.relative_to(path.parent).as_posix(), file) for file in find_files(path, lambda _name: True).files]


def _copied(files: Sequence[tuple[str, Path]], folder: Path) -> list[Given]:
    from wenyuan.service.uploads import Given, not_kept

    given = []
    for number, (name, file) in enumerate(files):
        copy, reason = folder / f"file-{number}", ""
        try:
            with os.fdopen(open_regular(file), "rb") as stream, copy.open("xb") as made:
                shutil.copyfileobj(stream, made)
        except OSError as error:
            if is_full(error):  # of the disk that it is copied to: the file can be read
                raise not_kept(Path(name), error) from error
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
