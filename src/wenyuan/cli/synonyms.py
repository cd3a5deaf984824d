"""``synonyms list``, ``add``, ``import``, ``export`` and ``remove``: what people say for what documents say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import SCREEN, AllOption, Commands, YesOption, add_commands, interactive, opened
from wenyuan.cli.retrieve import indented
from wenyuan.cli.rules_files import code_of
from wenyuan.cli.terminal import FAILED, Terminal, printable
from wenyuan.core.errors import msg

if TYPE_CHECKING:
    from wenyuan.core.registry import LineFault
    from wenyuan.core.text.synonyms import Synonym
    from wenyuan.readers.synonyms import SynonymFile


_LOCAL = "local"
_HELP = """Say what people say for what documents say: questions are asked with both, by the keyword leg.

\b
Example:
  wenyuan synonyms add 晚交楼 逾期交付
  wenyuan synonyms add WFH "work from home"
  wenyuan synonyms import synonyms.csv
"""
app = group(_HELP, "Say what people say for it.")
_Term = Annotated[str, typer.Argument(metavar="TERM", help="What people say.")]


def list_all(
    ctx: typer.Context,
    containing: Annotated[str, typer.Option("--containing", metavar="TEXT", help="Only with this in it.")] = "",
    everything: AllOption = False,
) -> None:
    """List the synonyms of the library.

    Example:
      wenyuan synonyms list
      wenyuan synonyms list --containing 交付
    """
    from wenyuan.core.text.synonyms import containing as kept
    from wenyuan.core.text.synonyms import described

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        entries = kept(found.catalog.synonyms(), containing)
    terminal.document({"status": "SUCCESS", "synonyms": [described(entry) for entry in entries]})
    if terminal.as_json:
        return
    if not entries:
        terminal.say("no_synonyms" if not containing else "no_such_synonyms")
        return
    shown = entries if everything else entries[:SCREEN]
    rows = ((entry.term, "↔" if entry.both else "→", entry.synonym, entry.actor) for entry in shown)
    terminal.table(rows, "col_term", "", "col_synonym", "col_by")
    if len(entries) > SCREEN and not everything:
        terminal.show(terminal.text("synonyms_more", count=len(entries) - SCREEN))


def add(
    ctx: typer.Context,
    term: _Term,
    synonym: Annotated[str, typer.Argument(metavar="SYNONYM", help="What documents say.")],
    one_way: Annotated[bool, typer.Option("--one-way", help="SYNONYM is not asked as TERM.")] = False,
) -> None:
    """Enter a synonym; of the same two words the last entry counts.

    Example:
      wenyuan synonyms add 晚交楼 逾期交付
      wenyuan synonyms add "sick day" "paid medical leave" --one-way
    """
    from wenyuan.core.text.synonyms import described, parse_synonym

    terminal: Terminal = ctx.obj
    entry = parse_synonym({"term": term, "synonym": synonym, "direction": "one_way" if one_way else "both"})
    with opened(terminal) as found:
        put = found.catalog.put_synonyms([entry], _LOCAL)
    counts = {"added": put.added, "changed": put.changed, "unchanged": put.unchanged}
    terminal.document({"status": "SUCCESS", **counts, "synonyms": [described(one) for one in put.entries]})
    key = "synonym_added" if put.added else "synonym_changed" if put.changed else "synonym_known"
    terminal.show(terminal.text(key, synonym=printable(entry.label)))


def import_synonyms(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, TSV, XLSX or JSONL.")],
    prune: Annotated[bool, typer.Option("--prune", help="Remove what the file does not hold.")] = False,
    yes: YesOption = False,
) -> None:
    """Enter the synonyms of a file with the columns term, synonym and direction (both, one_way).

    Faulty entries are refused and shown, with exit code 3 (1 where all are); the rest is entered. The same file again changes nothing.
    With --prune, what the file does not hold is shown and removed; of a file with faults nothing is.

    Example:
      wenyuan synonyms import synonyms.csv
      wenyuan synonyms import synonyms.csv --prune
    """
    from wenyuan.readers.synonyms import read_synonyms

    terminal: Terminal = ctx.obj
    read = read_synonyms(file)
    removed: Sequence[Synonym] = ()
    with opened(terminal) as found:
        catalog = found.catalog
        absent = _absent(catalog.synonyms(), read) if prune else []
        _ask_to_remove(terminal, absent, yes=yes)
        put = catalog.put_synonyms(read.entries, _LOCAL)
        if absent:
            removed = catalog.remove_synonyms([entry.number for entry in absent])
    refused = len({fault.line for fault in read.faults})
    counts = {"added": put.added, "changed": put.changed, "unchanged": put.unchanged, "refused": refused}
    counts |= {"removed": len(removed)} if prune else {}
    faults = [{"line": fault.line, "field": fault.path, "message": fault.message} for fault in read.faults]
    code = code_of(bool(refused), put.added + put.changed + put.unchanged)
    terminal.document({"status": "FAILED" if code == FAILED else "SUCCESS", **counts, "faults": faults})
    _show_line_faults(terminal, read.faults)
    terminal.show(terminal.text("synonyms_imported", **counts))
    if prune:
        terminal.show(terminal.text("synonyms_not_pruned" if refused else "synonyms_pruned", count=len(removed)))
    raise typer.Exit(code)


def _absent(entries: Iterable[Synonym], read: SynonymFile) -> list[Synonym]:
    """Stored synonyms that a file lacks, in either direction; none for a file with faults, since a faulty row may
    have meant one.
    """
    from wenyuan.core.text.synonyms import stems

    held = {frozenset((stems(entry.term), stems(entry.synonym))) for entry in read.entries}
    pairs = [(entry, frozenset((stems(entry.term), stems(entry.synonym)))) for entry in entries]
    return [] if read.faults else [entry for entry, pair in pairs if pair not in held]


def _ask_to_remove(terminal: Terminal, absent: Sequence[Synonym], *, yes: bool) -> None:
    """List what will be removed, and ask for confirmation."""
    for entry in absent:
        terminal.show(terminal.text("synonym_absent", synonym=printable(entry.label)))
    if absent and not yes and interactive():
        typer.confirm(terminal.text("really_prune_synonyms", count=len(absent)), abort=True, err=True)


def _show_line_faults(terminal: Terminal, faults: Sequence[LineFault]) -> None:
    for fault in faults[:SCREEN]:
        told = terminal.own(f"{fault.path} {fault.message}".strip())
        indented(terminal, terminal.text("at_line", line=fault.line, path=told), first="")
    if len(faults) > SCREEN:
        terminal.show(terminal.text("synonyms_faults", count=len(faults) - SCREEN))


def export_synonyms(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="A new CSV, TSV or JSONL file; else standard output."),
    ] = None,
) -> None:
    """Write the synonyms as a file that import reads back.

    Example:
      wenyuan synonyms export -o synonyms.csv
    """
    from wenyuan.core.errors import InvalidRequest
    from wenyuan.core.text.synonyms import described
    from wenyuan.readers.synonyms import synonyms_file

    terminal: Terminal = ctx.obj
    form = file.suffix.lower() if file is not None else ".csv"
    if form not in (".csv", ".tsv", ".jsonl"):
        raise InvalidRequest(
            msg("synonyms are not written as {form}", form=form or "a file without an ending"),
            hint=".csv, .tsv, .jsonl",
        )
    with opened(terminal) as found:
        entries = found.catalog.synonyms()
    content = synonyms_file(entries, form)
    if file is not None:
        _write_text(file, content)
        terminal.show(terminal.text("synonyms_exported", count=len(entries), file=file), wrap=False)
    elif not terminal.as_json:
        typer.echo(content, nl=False)
    shown = {"file": str(file)} if file is not None else {"synonyms": [described(entry) for entry in entries]}
    terminal.document({"status": "SUCCESS", "count": len(entries), **shown})


def _write_text(file: Path, content: str) -> None:
    """Write a new file as UTF-8 with a mark for spreadsheets; existing files are not overwritten."""
    from wenyuan.core.errors import InvalidRequest

    try:
        with file.open("xb") as stream:
            stream.write(content.encode("utf-8-sig" if file.suffix.lower() != ".jsonl" else "utf-8"))
    except FileExistsError as error:
        raise InvalidRequest(msg("there is a file {file} already", file=file), hint="choose another name") from error
    except OSError as error:
        raise InvalidRequest(msg("cannot write {file}: {strerror}", file=file, strerror=error.strerror)) from error


def remove(
    ctx: typer.Context,
    term: _Term,
    synonym: Annotated[
        str | None, typer.Argument(metavar="[SYNONYM]", help="Only this one; else all of TERM.")
    ] = None,
) -> None:
    """Remove a synonym, or all of a term.

    Example:
      wenyuan synonyms remove 晚交楼 逾期交付
      wenyuan synonyms remove WFH
    """
    from wenyuan.core.errors import NotFound
    from wenyuan.core.text.synonyms import described

    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        catalog = found.catalog
        meant = _matching_entries(catalog.synonyms(), term, synonym)
        if not meant:
            named = f"{term!r}" if synonym is None else f"{term!r} and {synonym!r}"
            raise NotFound(msg("there is no synonym of {named}", named=named), hint="wenyuan synonyms list")
        removed = catalog.remove_synonyms([entry.number for entry in meant])
    terminal.document({"status": "SUCCESS", "removed": [described(entry) for entry in removed]})
    for entry in removed:
        terminal.show(terminal.text("synonym_removed", synonym=printable(entry.label)))


def _matching_entries(entries: Iterable[Synonym], term: str, synonym: str | None) -> list[Synonym]:
    """The entries with these two words in either direction, or with one word."""
    from wenyuan.core.text.synonyms import stems

    named = {stems(word) for word in (term, synonym) if word is not None}
    return [entry for entry in entries if named <= {stems(entry.term), stems(entry.synonym)}]


_COMMANDS: Commands = {
    "list": (list_all, "List them."),
    "add": (add, "Enter one."),
    "import": (import_synonyms, "Enter those of a file."),
    "export": (export_synonyms, "Write them to a file."),
    "remove": (remove, "Remove one.@synonym"),
}
add_commands(app, _COMMANDS)
