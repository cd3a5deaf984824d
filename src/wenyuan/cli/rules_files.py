"""``rules import``, ``export`` and ``template``: rule files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wenyuan.cli.options import SCREEN, DryRunOption, opened
from wenyuan.cli.retrieve import indented
from wenyuan.cli.terminal import FAILED, OK, PARTLY, Terminal
from wenyuan.core.errors import msg
from wenyuan.packs.shipped import titled

if TYPE_CHECKING:
    from wenyuan.core.rules.book import Book, BookFault
    from wenyuan.service.library import Library
    from wenyuan.service.rules.rulebook import ImportReport


Format = Literal["yaml", "jsonl", "xlsx"]
_MOST_NOTES = 5  # shown one by one, as a screen of errors is; more are grouped
_MOST_NAMES = 5_000  # of more, a thread embeds what is needed when it is needed
_LISTED = 100_000


def take(
    ctx: typer.Context,
    book: Annotated[str, typer.Argument(metavar="FILE|DIR|PACK", help="Or a pack that is shipped.")],
    dry_run: DryRunOption = False,
    source: Annotated[
        str | None, typer.Option("--source", metavar="ID", help="Of rules that name no evidence.")
    ] = None,
    status: Annotated[Literal["approved", "proposed"] | None, typer.Option(help="Of rules that say none.")] = None,
    pack: Annotated[str, typer.Option("--pack", metavar="NAME", help="Import under this name.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Show every change and fault.")] = False,
) -> None:
    """Import rules from YAML, Excel, CSV, JSON Lines, and graphs (GraphML, JSON); a folder is one pack.

    What the pack no longer says is retired. Faulty entries are refused and shown, with exit code 3; the rest is
    imported. Where nothing is right, nothing is, with exit code 1.

    Example:
      wenyuan rules import construction
      wenyuan rules import ./rules --dry-run
      wenyuan rules import graph.graphml --source wiki --status proposed
    """
    from wenyuan.readers.rulebooks.selection import read_book
    from wenyuan.wire.rules import report_to_wire

    terminal: Terminal = ctx.obj
    with _located(book) as path:
        read = read_book(path, pack=pack)
    with opened(terminal) as found:
        report = found.rules.take(read, dry_run=dry_run, default_source=source, default_status=status)
        names = 0 if dry_run else found.embed_names(_embedding(terminal), most=_MOST_NAMES)
    code = code_of(bool(report.errors), report.checked.imported.nodes + report.checked.imported.statements)
    document = report_to_wire(report, dry_run=dry_run, most=_LISTED)
    terminal.document({"status": "FAILED" if code == FAILED else "SUCCESS", **document})
    if not terminal.as_json:
        _show_report(terminal, report, dry_run=dry_run, everything=everything)
        _say_next(terminal, report, read)
    if names:
        terminal.say("rules_names", count=names)
    raise typer.Exit(code)


def code_of(faulty: bool, taken: int) -> int:
    """The exit code of an import: of one with faults, whether anything was right."""
    if not faulty:
        return OK
    return PARTLY if taken else FAILED


def _say_next(terminal: Terminal, report: ImportReport, read: Book) -> None:
    """Print the next commands for refused entries and for those waiting for review."""
    codes = Counter(fault.code for fault in report.errors)
    if codes["no_schema"] or codes["unknown_kind"]:
        knowing = _pack_that_knows({node.kind for node in read.nodes})
        if knowing and knowing != read.pack:
            terminal.say("rules_schema_first", pack=knowing)
    if codes["no_evidence"]:
        terminal.say("rules_need_source", count=codes["no_evidence"])
    if report.waiting:
        terminal.say("rules_waiting", count=report.waiting)


def _pack_that_knows(kinds: Collection[str]) -> str:
    """The shipped pack that declares most of these kinds; ``""`` when none declares half of them."""
    from wenyuan.core.rules.names import IdsByName
    from wenyuan.core.rules.schema_parser import parse_schema
    from wenyuan.packs.shipped import PACK_FILE, located, shipped
    from wenyuan.readers.rulebooks.selection import read_book

    known = {}
    for pack in shipped():
        with located(pack) as folder:
            words = IdsByName(parse_schema(read_book(folder / PACK_FILE).schema_tree).kinds.values())
        known[pack] = sum(bool(words.find(kind)) for kind in kinds)
    best = max(known, key=lambda pack: known[pack])
    return best if kinds and 2 * known[best] >= len(kinds) else ""


def _embedding(terminal: Terminal) -> Callable[[int, int], None]:
    """A progress callback that prints one message when embedding takes longer than a moment."""
    told = False

    def tell(done: int, total: int) -> None:
        nonlocal told
        if not told and done < total:
            told = True
            terminal.say("rules_embedding", count=total)

    return tell


@contextmanager
def _located(book: str) -> Iterator[Path]:
    """The file or folder with this name, else the shipped pack.

    Raises:
        InvalidRequest: there is neither.
    """
    from wenyuan.core.addresses import local_path
    from wenyuan.core.errors import InvalidRequest, did_you_mean
    from wenyuan.packs.shipped import located, shipped

    if local_path(Path(book)).exists():
        yield Path(book)
    elif book in shipped():
        with located(book) as folder:
            yield folder
    else:
        raise InvalidRequest(
            msg(
                "no such file, folder or shipped pack: {book}{near}",
                book=repr(book),
                near=did_you_mean(book, shipped()),
            ),
            hint="wenyuan rules packs",
        )


def _show_report(terminal: Terminal, report: ImportReport, *, dry_run: bool, everything: bool) -> None:
    lines = report.diff.lines(terminal.language)
    for line in lines if everything else lines[:SCREEN]:
        indented(terminal, line, first="")
    if len(lines) > SCREEN and not everything:
        terminal.show(terminal.text("rules_show_all", count=len(lines) - SCREEN))
    notes = [fault for fault in report.faults if fault.severity != "error"]
    for key, faults, most in (("rules_errors", report.errors, SCREEN), ("rules_notes", notes, _MOST_NOTES)):
        if faults:
            terminal.show(terminal.text(key, count=len(faults)))
            _show_faults(terminal, faults, grouped=len(faults) > most and not everything)
    if report.sources:
        ids = ", ".join(report.sources)
        indented(terminal, terminal.text("rules_would_register" if dry_run else "rules_sources", ids=ids), first="")
    imported, refused = report.checked.imported, report.checked.refused
    counts = {
        "nodes": imported.nodes, "statements": imported.statements,
        "lost_nodes": refused.nodes, "lost": refused.statements,
    }  # fmt: skip
    terminal.show(
        terminal.text(
            "rules_would" if dry_run else "rules_imported", pack=titled(report.pack, terminal.language), **counts
        )
    )
    if report.errors:
        terminal.show(terminal.text("rules_not_pruned"))


def _show_faults(terminal: Terminal, faults: Sequence[BookFault], *, grouped: bool) -> None:
    if not grouped:
        for fault in faults:
            _show_fault(terminal, fault, "  ")
        return
    by_code: dict[str, list[BookFault]] = {}
    for fault in faults:
        by_code.setdefault(fault.code, []).append(fault)
    for code, group in by_code.items():
        terminal.show(terminal.text("rules_of_code", count=len(group), code=code))
        _show_fault(terminal, group[0], "    ")
    terminal.show(terminal.text("rules_all_faults"))


def _show_fault(terminal: Terminal, fault: BookFault, indent: str) -> None:
    where = f"{fault.place}: " if str(fault.place) else ""
    indented(terminal, f"{where}{terminal.own(fault.message)}", hanging=f"{indent}    ", first=indent)


def export(
    ctx: typer.Context,
    pack: Annotated[str | None, typer.Option("--pack", metavar="NAME", help="Only this pack.")] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="By default as the file's name says, else yaml.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A new file; else standard output.")
    ] = None,
) -> None:
    """Write rules as files that import reads back. Workbooks hold no attributes and no sources.

    Example:
      wenyuan rules export --pack construction -o construction.yaml
      wenyuan rules export --format xlsx -o rules.xlsx
    """
    from wenyuan.readers.rulebooks.excel_template import can_write_workbooks

    terminal: Terminal = ctx.obj
    form = format_ or _form_of(file)
    if form == "xlsx" and file is None:
        raise typer.BadParameter(terminal.text("rules_to_file"))
    if form == "xlsx":
        can_write_workbooks()
    with opened(terminal) as found:
        content, counts = _exported(found, pack, form, terminal.language)
    if file is not None:
        _write(file, content)
        terminal.show(terminal.text("rules_exported", file=file, **counts), wrap=False)
    elif not terminal.as_json:
        typer.echo(content.decode(), nl=False)
    shown = {"file": str(file)} if file is not None else {"rules": content.decode()}
    terminal.document({"status": "SUCCESS", "format": form, **counts, **shown})


def _form_of(file: Path | None) -> Format:
    forms: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".xlsx": "xlsx"}
    return forms.get(file.suffix.lower(), "yaml") if file is not None else "yaml"


def _exported(library: Library, pack: str | None, form: Format, language: str) -> tuple[bytes, dict[str, int]]:
    from wenyuan.core.errors import InvalidRequest, did_you_mean
    from wenyuan.core.rules.book import DeclaredSource
    from wenyuan.readers.rulebooks.excel_template import excel_template
    from wenyuan.readers.rulebooks.export import book_to_jsonl, book_to_yaml

    known = library.rules.packs()
    if pack is not None and pack not in known:
        raise InvalidRequest(
            msg("there is no pack {pack}{near}", pack=repr(pack), near=did_you_mean(pack, known)),
            hint="wenyuan rules packs",
        )
    nodes, statements, sources = library.rules.export(pack)
    counts = {"nodes": len(nodes), "statements": len(statements)}
    if form == "xlsx":
        schema = library.rules.schema()
        return excel_template(schema, nodes=nodes, statements=statements, language=language), counts
    name = pack or (known[0] if len(known) == 1 else "library")
    parts: dict[str, Any] = {
        "schema_tree": library.rules.schema_tree(pack),
        "sources": [DeclaredSource(source=source) for source in sources],
        "nodes": nodes,
        "statements": statements,
    }
    text = book_to_yaml(name, **parts) if form == "yaml" else "".join(book_to_jsonl(name, **parts))
    return text.encode(), counts


def _write(file: Path, content: bytes) -> None:
    """Write a new file; existing files are not overwritten."""
    from wenyuan.core.errors import InvalidRequest

    try:
        with file.open("xb") as stream:
            stream.write(content)
    except FileExistsError as error:
        raise InvalidRequest(msg("there is a file {file} already", file=file), hint="choose another name") from error


def template(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.xlsx", help="A new workbook.")],
    pack: Annotated[
        str | None, typer.Option("--pack", metavar="NAME", help="For the kinds of a shipped pack.")
    ] = None,
) -> None:
    """Write an empty workbook to fill in: a sheet for each kind, one for rules, with drop-downs.

    Example:
      wenyuan rules template rules.xlsx
      wenyuan rules template rules.xlsx --pack construction
    """
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.rules.schema_parser import parse_schema
    from wenyuan.packs.shipped import located
    from wenyuan.readers.rulebooks.excel_template import can_write_workbooks, excel_template
    from wenyuan.readers.rulebooks.selection import read_book

    terminal: Terminal = ctx.obj
    can_write_workbooks()
    if pack is not None:
        with located(pack) as folder:
            schema = parse_schema(read_book(folder).schema_tree)
    else:
        with opened(terminal) as found:
            schema = found.rules.schema()
    if not schema.kinds:
        raise InvalidRequest("the library has no kinds of rules yet", hint="wenyuan rules import construction")
    _write(file, excel_template(schema, language=terminal.language))
    terminal.document({"status": "SUCCESS", "file": str(file), "kinds": list(schema.kinds)})
    terminal.show(terminal.text("rules_template", file=file), wrap=False)
