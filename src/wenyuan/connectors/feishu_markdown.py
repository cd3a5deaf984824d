"""Blocks of Feishu documents to Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

from wenyuan.connectors.feishu import COVERED, MOST_DEPTH, MOST_LABEL

_HEADINGS = {number: number - 2 for number in range(3, 12)}  # heading1 … heading9
_LISTS = {12: "-", 13: "1.", 17: "-"}  # bullet, ordered, todo
_TEXTS = {
    1: "page", 2: "text", **{n: f"heading{n - 2}" for n in range(3, 12)}, 12: "bullet", 13: "ordered", 14: "code",
    15: "quote", 17: "todo",
}  # fmt: skip
_CODE, _QUOTE, _DIVIDER, _IMAGE, _FILE, _TABLE, _SHEET, _BITABLE = 14, 15, 22, 27, 23, 31, 30, 18
_NOT_READ = {
    _IMAGE: "image",
    _SHEET: "sheet",
    _BITABLE: "table",
    21: "diagram",
    26: "page",
    29: "mind map",
    43: "board",
}


def markdown_of_answer(content: bytes) -> str:
    """The Markdown of blocks in JSON; merged cells can repeat without end, so it runs in the reading process."""
    return markdown_of(json.loads(content))


def markdown_of(blocks: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown of a document's blocks in tree order; blocks without text are named in brackets."""
    known = {str(block.get("block_id")): block for block in blocks}
    root = next((block for block in blocks if block.get("block_type") == 1), None)
    if root is None:
        return ""
    lines: list[str] = []
    if title := _words(root, "page"):
        lines += [f"# {title}", ""]
    seen = {str(root.get("block_id"))}
    _write(_children(root), known, lines, seen, "", 0)
    return "\n".join(lines).strip() + "\n"


def _children(block: Mapping[str, Any]) -> Sequence[str]:
    children = block.get("children") or ()
    return [str(child) for child in children] if isinstance(children, list) else ()


def _write(
    names: Sequence[str],
    known: Mapping[str, Mapping[str, Any]],
    lines: list[str],
    seen: set[str],
    indent: str,
    depth: int,
) -> None:
    for name in names:
        block = known.get(name)
        if block is None or name in seen or depth > MOST_DEPTH:
            continue
        seen.add(name)
        kind = block.get("block_type")
        if kind == _TABLE:
            lines += [*_table(block, known, seen, depth), ""]
            continue
        lines += _lines(block, kind if isinstance(kind, int) else 0, indent)
        deeper = indent + "  " if kind in _LISTS else indent
        _write(_children(block), known, lines, seen, deeper, depth + 1)


def _lines(block: Mapping[str, Any], kind: int, indent: str) -> list[str]:
    words = _words(block, _TEXTS.get(kind, ""))
    if kind in _HEADINGS:
        return [f"{'#' * min(6, _HEADINGS[kind] + 1)} {words}", ""] if words else []
    if kind in _LISTS:
        done = (block.get("todo") or {}).get("style", {}).get("done") if kind == 17 else None
        box = "" if done is None else ("[x] " if done else "[ ] ")
        return [f"{indent}{_LISTS[kind]} {box}{words}"]
    if kind == _CODE:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", words)), 3)
        return [fence, words, fence, ""]
    if kind == _QUOTE:
        return [f"> {words}", ""]
    if kind in _NOT_READ:
        return [f"[{_NOT_READ[kind]}]", ""]
    return [f"{indent}{words}", ""] if words else []


def _words(block: Mapping[str, Any], member: str) -> str:
    """Text of a block: text runs, links, formulas and mentions."""
    held = block.get(member)
    elements = held.get("elements") if isinstance(held, dict) else None
    plain = member == "code"
    return "".join(_run(element, plain=plain) for element in elements or () if isinstance(element, dict)).strip()


def _run(element: Mapping[str, Any], *, plain: bool) -> str:
    if isinstance(run := element.get("text_run"), dict):
        text = str(run.get("content", ""))
        link = ((run.get("text_element_style") or {}).get("link") or {}).get("url")
        text = text if plain else _escaped(text)
        return f"[{text}]({unquote(link)})" if link and text.strip() and not plain else text
    if isinstance(document := element.get("mention_doc"), dict):
        title, url = _escaped(str(document.get("title", ""))), unquote(str(document.get("url", "")))
        return f"[{title}]({url})" if url else title
    if isinstance(formula := element.get("equation"), dict):
        return f"${str(formula.get('content', '')).strip()}$"
    return ""


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", text)


def _table(block: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], seen: set[str], depth: int) -> list[str]:
    """A table; the text of a merged cell is repeated in each cell it covers, unless it is longer than a label is."""
    held = block.get("table") or {}
    cells = [str(cell) for cell in held.get("cells") or _children(block)]
    settings = held.get("property") or {}
    width = max(1, min(int(settings.get("column_size") or 1), len(cells)))
    texts = []
    for name in cells:
        inner: list[str] = []
        if name in seen:
            texts.append("")
            continue
        seen.add(name)
        _write(_children(known.get(name, {})), known, inner, seen, "", depth + 1)
        texts.append("<br>".join(line.strip() for line in inner if line.strip()))
    for at, target in islice(_covered(settings.get("merge_info") or [], width, len(texts)), COVERED * len(texts)):
        if len(texts[at]) <= MOST_LABEL:
            texts[target] = texts[at]
    rows = [texts[at : at + width] for at in range(0, len(texts), width)]
    if not rows:
        return []
    told = [f"| {' | '.join(row)} |" for row in rows]
    return [told[0], f"|{' --- |' * width}", *told[1:]]


def _covered(merges: Sequence[Mapping[str, Any]], width: int, cells: int) -> Iterator[tuple[int, int]]:
    """Of each cell, the cells of a table that it covers, itself among them."""
    for at, merge in enumerate(merges[:cells]):
        columns = min(int(merge.get("col_span") or 1), width - at % width)
        for row in range(min(int(merge.get("row_span") or 1), (cells - 1 - at) // width + 1)):
            for target in range(at + row * width, min(at + row * width + columns, cells)):
                yield at, target
