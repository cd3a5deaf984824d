"""``fs ls``, ``tree``, ``cat``, ``grep`` and ``find``: the knowledge that answers as folders and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wenyuan.cli.help_texts import group
from wenyuan.cli.options import Commands, add_commands, opened
from wenyuan.cli.terminal import Terminal, printable

if TYPE_CHECKING:
    from wenyuan.service.library import Library
    from wenyuan.service.tree.entries import TreeEntry

_HELP = """See the knowledge in force as folders and files: sources, documents below them, and their texts by lines.

A path is /SOURCE/folder/document; an id of an answer (SOURCE#42, document-12) stands for its document.

\b
Example:
  wenyuan fs ls /policies
  wenyuan fs cat /policies/leave.md --section "Annual leave"
  wenyuan fs grep "24 hours" /policies
"""
app = group(_HELP, "The knowledge as folders and files.")
_ALL = 1_000  # entries that are read at once
_Path = Annotated[str, typer.Argument(metavar="PATH", help="Of a source, folder or document.")]
_MostOption = Annotated[int, typer.Option("--limit", min=1, max=500, help="How many at most.@fs")]
_NameOption = Annotated[
    str | None, typer.Option("--name", metavar="FORM", help="Only in documents of this name: *.md")
]


def ls(ctx: typer.Context, path: _Path = "/") -> None:
    """List what stands at a path: sources, folders and documents; of a document, its sections with their lines.

    Example:
      wenyuan fs ls
      wenyuan fs ls /policies/leave.md
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        entries = list(_entries(found, path))
    terminal.document({"status": "SUCCESS", "path": path, "entries": [one.described() for one in entries]})
    _show(terminal, entries)


def find(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="FORM", help="Of a path or title: *.md, leave, 2025/**.")],
    path: _Path = "/",
) -> None:
    """Find documents by path or title, at any depth.

    Example:
      wenyuan fs find "*.md"
      wenyuan fs find 休假 /policies
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        entries = list(_entries(found, path, name=name))
    terminal.document({"status": "SUCCESS", "path": path, "entries": [one.described() for one in entries]})
    _show(terminal, entries)


def tree(
    ctx: typer.Context,
    path: _Path = "/",
    depth: Annotated[int, typer.Option("--depth", min=1, max=20, help="How deep.")] = 3,
    limit: _MostOption = 200,
) -> None:
    """Draw what stands below a path.

    Example:
      wenyuan fs tree --depth 2
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        lines = list(_below(found, path, depth, limit))
    entries = [{**entry.described(), "depth": level} for level, entry in lines[:limit]]
    terminal.document({"status": "SUCCESS", "path": path, "entries": entries, "more": len(lines) > limit})
    for level, entry in lines[:limit]:
        name = entry.path.rstrip("/").rpartition("/")[2] + "/" * entry.path.endswith("/")
        terminal.show("  " * level + printable(name), wrap=False)
    if len(lines) > limit:
        terminal.show(terminal.text("fs_tree_more", count=limit))


def cat(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Of a document.@fs")],
    line: Annotated[int | None, typer.Option("--line", min=1, metavar="N", help="Begin there.")] = None,
    lines: Annotated[int | None, typer.Option("--lines", min=1, max=5000, metavar="N", help="So many.")] = None,
    section: Annotated[str | None, typer.Option("--section", metavar="HEADING", help="Only this section.")] = None,
    number: Annotated[bool, typer.Option("--number", "-n", help="With the numbers of lines.")] = False,
) -> None:
    """Print the text of a document, as it answers: what was redacted stays so.

    Example:
      wenyuan fs cat /policies/leave.md --number
      wenyuan fs cat policies#42 --lines 20
    """
    terminal: Terminal = ctx.obj
    with opened(terminal) as found:
        part = found.tree.read(path, line=line, lines=lines, section=section, door="fs")
    terminal.document({"status": "SUCCESS", **part.described()})
    for place, text in enumerate(part.lines, part.line):
        terminal.show((f"{place:6}  " if number else "") + printable(text), wrap=False)
    if part.next_line is not None:
        terminal.show(terminal.text("fs_more_lines", line=part.next_line))


def grep(
    ctx: typer.Context,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A text.@fs")],
    path: _Path = "/",
    regex: Annotated[bool, typer.Option("--regex", "-E", help="A regular expression (RE2).")] = False,
    case: Annotated[bool, typer.Option("--case", help="Capitals differ from small letters.")] = False,
    context: Annotated[int, typer.Option("--context", "-C", min=0, max=10, metavar="N", help="Lines around.")] = 0,
    name: _NameOption = None,
    limit: _MostOption = 50,
) -> None:
    """Print the lines that hold a text, in all documents below a path.

    Example:
      wenyuan fs grep "24 小时" /policies
      wenyuan fs grep -E "within [0-9]+ days" --context 1
    """
    from wenyuan.service.tree.entries import LineQuery

    terminal: Terminal = ctx.obj
    wanted = LineQuery(pattern=pattern, regex=regex, case=case, context=context, name=name)
    matches: list[Any] = []
    documents, mark, more = 0, "", True
    with opened(terminal) as found:
        while more and len(matches) < limit:
            page = found.tree.grep(wanted, path, after=mark, limit=limit - len(matches), door="fs")
            matches += page.matches
            documents, mark, more = documents + page.documents, page.next, bool(page.next)
    told: Mapping[str, Any] = {
        "matches": [one.described() for one in matches],
        "documents": documents,
        "more": more,
    }
    terminal.document({"status": "SUCCESS", **told})
    for one in matches:
        first = one.line - len(one.before)
        for place, text in enumerate((*one.before, one.text, *one.after), first):
            mark = ":" if place == one.line else "-"
            terminal.show(printable(f"{one.path}{mark}{place}{mark} {text}"), wrap=False)
        if context:
            terminal.show("--")
    if more:
        terminal.show(terminal.text("fs_more_matches", count=len(matches)))
    if not matches:
        terminal.say("fs_no_match", count=documents)


def _entries(found: Library, path: str, *, name: str | None = None) -> Iterator[TreeEntry]:
    mark, more = "", True
    while more:
        page = found.tree.list(path, name=name, after=mark, limit=_ALL)
        yield from page.entries
        mark, more = page.next, bool(page.next)


def _below(found: Library, path: str, depth: int, limit: int, level: int = 0) -> Iterator[tuple[int, TreeEntry]]:
    """What stands below a path with its depth; one more than `limit` where there is more."""
    room = limit + 1
    for entry in _entries(found, path):
        if room <= 0 or entry.kind == "section":
            return
        yield level, entry
        room -= 1
        if entry.kind in {"source", "folder"} and level + 1 < depth:
            for one in _below(found, entry.path, depth, room, level + 1):
                yield one
                room -= 1


def _show(terminal: Terminal, entries: list[TreeEntry]) -> None:
    if not entries:
        terminal.say("fs_nothing")
    for one in entries:
        if one.kind == "section":
            indent = "  " * ((one.level or 1) - 1)
            terminal.show(f"{one.line:6}  {indent}{printable(one.title)}", wrap=False)
        else:
            title = f"  {one.title}" if one.title and one.title not in one.path else ""
            terminal.show(printable(f"{one.path}{title}"), wrap=False)


_COMMANDS: Commands = {
    "ls": (ls, "List a folder, or the sections of a document."),
    "tree": (tree, "Draw folders and documents."),
    "cat": (cat, "Print a document."),
    "grep": (grep, "Lines that hold a text."),
    "find": (find, "Documents by path or title."),
}
add_commands(app, _COMMANDS)
