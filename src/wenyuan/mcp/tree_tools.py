"""The MCP tools of the knowledge as files: list, read and grep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal
from wenyuan.core.text.injection import visible
from wenyuan.mcp.door import DOOR
from wenyuan.mcp.paging import ReplyBlock, Result, as_json
from wenyuan.wire.search_requests import checked
from wenyuan.wire.tree import GrepArguments, ListArguments, ReadArguments

if TYPE_CHECKING:
    from wenyuan.service.library import Library


def list_entries(library: Library, arguments: Mapping[str, Any], principal: Principal, _tokens: int) -> Result:
    """What stands at a path, an entry a line."""
    asked = checked(ListArguments, arguments)
    page = library.tree.list(asked.path, principal, name=asked.name, after=asked.after, limit=asked.limit)
    lines = [
        f"{'  ' * ((one.level or 1) - 1)}line {one.line}: {visible(one.title)}"
        if one.kind == "section"
        else f"{visible(one.path)}  {visible(one.title)}".rstrip()
        for one in page.entries
    ]
    heading = f"{page.path}: {len(lines)} entries" + (f"; more with after {page.next}" if page.next else "")
    return Result(page.described(), (ReplyBlock(heading), *map(ReplyBlock, lines)), rows="entries")


def read_lines(library: Library, arguments: Mapping[str, Any], principal: Principal, _tokens: int) -> Result:
    """Lines of a document."""
    asked = checked(ReadArguments, arguments)
    part = library.tree.read(
        asked.path, principal, line=asked.line, lines=asked.lines, section=asked.section, door=DOOR
    )
    value = part.described()
    return Result(value, (ReplyBlock(as_json(value)),), text="text")


def grep_lines(library: Library, arguments: Mapping[str, Any], principal: Principal, _tokens: int) -> Result:
    """Lines that hold a pattern, a match a line."""
    asked = checked(GrepArguments, arguments)
    page = library.tree.grep(asked.lines, asked.path, principal, after=asked.after, limit=asked.limit, door=DOOR)
    lines = []
    for one in page.matches:
        first = one.line - len(one.before)
        around = enumerate((*one.before, one.text, *one.after), first)
        lines.append("\n".join(f"{visible(one.path)}:{place}: {visible(text)}" for place, text in around))
    heading = f"{len(lines)} matches in {page.documents} documents" + (
        f"; NOT all were looked through: go on with after {page.next}" if page.next else ""
    )
    return Result(page.described(), (ReplyBlock(heading), *map(ReplyBlock, lines)), rows="matches")
