"""AsciiDoc to a `Document`: sections, lists, terms, tables and blocks, as Asciidoctor shows them.

No file that one includes is opened: it is named. Parts under a condition are read as for a page of HTML.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.adoc_inline import attributes_in, inline
from wenyuan.readers.adoc_lines import (
    BULLET,
    CALLOUT,
    CHECKED,
    FENCE,
    INCLUDE,
    NUMBER,
    SECTION,
    STYLE,
    TERM,
    AdocBlock,
    AdocLine,
    closing,
    continued,
    deep,
    ids,
    joined,
    line_kind,
    styled,
)
from wenyuan.readers.adoc_source import own_text
from wenyuan.readers.assemble import Original, unread
from wenyuan.readers.markup import Spanning, covered
from wenyuan.readers.markup_document import markup_document
from wenyuan.readers.outline import MAX_DEPTH, Outline, is_chinese
from wenyuan.readers.tex_math import plain_formula
from wenyuan.readers.text import readable

_UNDERLINE = re.compile(r"([=\-~^+])\1+\Z")
_ENTRY = re.compile(r":(?P<off>!?)(?P<name>\w[\w-]*)(?P<off2>!?):(?:[ \t]+(?P<value>.*)|\Z)")
_CONDITION = re.compile(r"(?P<how>ifdef|ifndef|ifeval|endif)::(?P<of>[^\s\[]*)\[(?P<said>.*)\]\s*\Z")
_TITLE = re.compile(r"\.(?P<title>[^\s.].*)")
_BOX = re.compile(r"(?P<kind>NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+(?P<said>.*)")
_BOXES = frozenset("NOTE TIP IMPORTANT WARNING CAUTION".split())
_MACRO = re.compile(r"(?P<name>\w[\w-]{0,40})::(?P<to>\S*)\[(?P<said>.*)\]\s*\Z")
_RULES = frozenset(("'''", "---", "- - -", "***", "* * *", "<<<"))
_CELL = re.compile(
    r"(?:(?<=\s)|^)(?P<spec>(?:[0-9]{0,4}(?:\.[0-9]{1,4})?[+*])?[<^>]?(?:\.[<^>])?[adehlmsv]?)\||(?<!\\)\|",
    re.MULTILINE,
)
_COLUMN = re.compile(r"(?P<times>[0-9]{1,3})\*")
_SOURCE = frozenset(("source", "listing", "literal"))
_BACKEND = frozenset(("backend-html5", "basebackend-html", "backend-html", "asciidoctor"))
_MOST_VALUES = 5_000


def read_adoc(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read AsciiDoc.

    Raises:
        DocumentRejected: it is no text, or holds nothing besides comments and attributes.
    """
    text, notes = readable(content, name)
    page = _Page(text)
    document = markup_document(
        page, Original(content, uri, name), own_text=own_text(text), media_type="text/asciidoc", notes=notes,
        title=page.outline.first_heading(), empty="it holds no text besides comments and attributes",
    )  # fmt: skip
    return (document,)


class _Page:
    """Reads the lines of a file into an outline."""

    def __init__(self, text: str) -> None:
        self.outline = Outline(chinese=is_chinese(text))
        self.left_out: Counter[str] = Counter()
        self.pictures = 0
        self._unknown: Counter[str] = Counter()
        self._includes: list[str] = []
        self._known: dict[str, str] = {}
        lines = [AdocLine(number, line.rstrip()) for number, line in enumerate(text.split("\n"), 1)]
        self._titles = ids(lines)
        self._said: list[str] = []  # the marks of the lists that are open, outermost first
        self._blocks(list(self._met(lines)), 0)
        self.outline.end()

    def warnings(self) -> tuple[str, ...]:
        """What a reader of the document should know."""
        told = unread(self._unknown)
        if self._includes:
            named = ", ".join(dict.fromkeys(self._includes[:20]))
            told += (msg("files that it includes are read on their own, or not at all: {files}", files=named),)
        return told

    def _met(self, lines: Sequence[AdocLine]) -> Iterator[AdocLine]:
        """The lines under conditions that are met."""
        closed: list[bool] = []
        defined = {match["name"].lower() for line in lines if (match := _ENTRY.match(line.text)) and not match["off"]}
        for line in lines:
            match = _CONDITION.match(line.text) if line.text.startswith(("if", "endif")) else None
            if match is None:
                if any(closed):
                    self.left_out["lines under a condition"] += 1
                else:
                    yield line
            elif match["how"] == "endif":
                closed = closed[:-1]
            else:
                met = match["how"] == "ifeval" or any(
                    name in defined or name in _BACKEND for name in re.split("[,+]", match["of"].lower())
                ) == (match["how"] == "ifdef")
                if match["said"] and match["how"] != "ifeval":
                    if met and not any(closed):
                        yield line._replace(text=match["said"])
                else:
                    closed.append(not met)

    def _inline(self, text: str) -> str:
        return inline(attributes_in(text, self._known), self._titles)

    # Blocks.

    def _blocks(self, lines: Sequence[AdocLine], depth: int) -> None:
        at = 0
        above = AdocBlock()
        apart = True  # a blank line stands above
        while at < len(lines):
            line = lines[at]
            if not line.text.strip():
                at, apart = at + 1, True
            elif line.text == "+":
                at, apart = at + 1, False  # what comes next belongs to the item above
            elif (found := self._said_above(lines, at, above)) is not None:
                at, above = found
            else:
                at = self._block(lines, at, above, depth, apart)
                above, apart = AdocBlock(), False

    def _said_above(self, lines: Sequence[AdocLine], at: int, above: AdocBlock) -> tuple[int, AdocBlock] | None:
        """Read a line that says something of the block below it, or is nothing that is seen; None for another one."""
        text = lines[at].text
        if text.startswith("//") and not text.startswith("///"):
            self.left_out["comments"] += 1
            return at + 1, above
        if text.startswith("////"):
            self.left_out["comments"] += 1
            return closing(lines, at) + 1, above
        if match := _ENTRY.match(text):
            return self._set(lines, at, match), above
        if match := INCLUDE.match(text):
            self._includes.append(attributes_in(match["file"], self._known))
            return at + 1, above
        if (match := STYLE.match(text)) and not CHECKED.match(text):
            return at + 1, styled(above, attributes_in(match["said"] or "", self._known))
        if (match := _TITLE.match(text)) and not NUMBER.match(text):
            return at + 1, above._replace(title=match["title"])
        return None

    def _set(self, lines: Sequence[AdocLine], at: int, match: re.Match[str]) -> int:
        value = match["value"] or ""
        while value.endswith((" \\", " +")) and at + 1 < len(lines) and lines[at + 1].text.strip():
            at += 1
            value = value[:-1].rstrip() + " " + lines[at].text.strip()
        name = match["name"].lower()
        if match["off"] or match["off2"]:
            self._known.pop(name, None)
        elif len(self._known) < _MOST_VALUES:
            self._known[name] = attributes_in(value, self._known)[:2_000]
        return at + 1

    def _block(self, lines: Sequence[AdocLine], at: int, above: AdocBlock, depth: int, apart: bool) -> int:
        """Read the block that begins at a line; returns the line after it."""
        line = lines[at]
        if after := self._section(lines, at, above):
            return after
        if line.text in _RULES:
            self._leave()
            return at + 1
        if (match := FENCE.match(line.text)) and (line.text == match["kind"] or line.text[0] == "`"):
            if apart:
                self._leave()
            return self._fenced(lines, at, above, depth)
        if after := self._item(lines, at, above):
            return after
        if match := _MACRO.match(line.text):
            self._macro(match, above, line.number)
            return at + 1
        if apart and line.text[0] != " ":
            self._leave()
        return self._paragraph(lines, at, above)

    def _leave(self) -> None:
        """The lists that are open end."""
        self._said.clear()
        self.outline.leave()

    def _section(self, lines: Sequence[AdocLine], at: int, above: AdocBlock) -> int:
        line = lines[at]
        match = SECTION.match(line.text)
        if match:
            title, level, after = match["title"], len(match["level"]), at + 1
        else:
            below = lines[at + 1].text if at + 1 < len(lines) else ""
            under = _UNDERLINE.match(below)
            if not under or abs(len(below) - len(line.text)) > 1 or len(below) < 2 or not line.text[0].isalnum():
                return 0
            title, level, after = line.text, "=-~^+".index(under[1]) + 1, at + 2
        self._leave()
        self.outline.heading(
            self._inline(title.removesuffix(" " + match["level"]) if match else title), level, line.number
        )
        if level == 1 and after < len(lines) and not above.style and len(self.outline.pieces) == 1:
            return self._header(lines, after)
        return after

    def _header(self, lines: Sequence[AdocLine], at: int) -> int:
        """The lines below the title that say by whom and from when the document is."""
        while at < len(lines) and lines[at].text.strip():
            found = self._said_above(lines, at, AdocBlock())
            if found is not None:
                at = found[0]
            elif FENCE.match(lines[at].text) or SECTION.match(lines[at].text):
                break
            else:
                self.outline.text(self._inline(lines[at].text), lines[at].number)
                at += 1
        return at

    def _fenced(self, lines: Sequence[AdocLine], at: int, above: AdocBlock, depth: int) -> int:
        """Read a block between two lines of signs."""
        number, fence = lines[at]
        after = closing(lines, at)
        inner = lines[at + 1 : after]
        kind = fence[0]
        masked = above.style in _SOURCE or (above.style in ("stem", "latexmath") and kind == "+")
        if fence[1:4] == "===" and kind in "|,:!":
            self._table(inner, kind, above, number)
        elif above.style in ("stem", "latexmath", "asciimath"):
            self._titled(above, number)
            self.outline.text(plain_formula("\n".join(each.text for each in inner)), number)
        elif kind == "+":
            self.left_out["text passed on to the page"] += 1
        elif (kind in "-.`" and fence != "--") or masked:
            self._titled(above, number)
            self.outline.code("\n".join(each.text for each in inner), number + 1)
        else:
            self._around(above, inner, number, depth)
        return min(after + 1, len(lines))

    def _around(self, above: AdocBlock, inner: Sequence[AdocLine], number: int, depth: int) -> None:
        """A block that holds others: an example, a sidebar, a quotation, a box."""
        if above.style.upper() in _BOXES:
            self.outline.box(above.style.lower(), self._inline(above.title), number)
        else:
            self._titled(above, number)
        if depth >= MAX_DEPTH:
            self.outline.text("\n".join(each.text for each in inner), number)
        else:
            said, self._said = self._said, []
            self._blocks(inner, depth + 1)
            self._said = said
            self.outline.leave(deep(self._said))
        self.outline.end_term()
        self.outline.text(self._inline(above.named.get("by", "")), number)

    def _titled(self, above: AdocBlock, number: int) -> None:
        self.outline.text(self._inline(above.title), number)

    def _macro(self, match: re.Match[str], above: AdocBlock, number: int) -> None:
        name, said = match["name"], match["said"]
        self._titled(above, number)
        if name in ("image", "video", "audio"):
            self.pictures += name == "image"
            alt = said.partition(",")[0].strip('" ')
            self.outline.text(self._inline("" if "=" in alt else alt), number)
        elif name not in ("toc", "endif", "ifdef", "ifndef"):
            self._unknown[name] += 1
            self.outline.text(self._inline(" ".join(filter(None, (match["to"], said)))), number)

    # Lists.

    def _item(self, lines: Sequence[AdocLine], at: int, above: AdocBlock) -> int:
        """Read an item of a list, or a term with its meaning; 0 where the line is none."""
        text = lines[at].text
        for pattern in (BULLET, NUMBER, CALLOUT, TERM):
            if match := pattern.match(text):
                break
        else:
            return 0
        self._titled(above, lines[at].number)
        mark = match["mark"]
        kind = line_kind(pattern, mark)
        if kind in self._said:
            del self._said[self._said.index(kind) + 1 :]
        elif len(self._said) < MAX_DEPTH:
            self._said.append(kind)
        after, said = continued(lines, at + 1)
        whole = "\n".join([match["said"] or "", *said]).strip()
        if pattern is TERM:
            self.outline.leave(deep(self._said))
            self.outline.term(self._inline(match["term"]), lines[at].number)
            self.outline.text(self._inline(joined(whole)), lines[at].number)
            return after
        checked = CHECKED.match(whole)
        if checked:
            whole = ("☐ " if checked["of"] == " " else "☑ ") + whole[checked.end() :]
        callout = pattern is CALLOUT and mark != "."
        shown = f"<{mark}>" if callout else mark if mark[0].isalnum() else "-"
        self.outline.begin_item(shown, max(1, deep(self._said)))
        self.outline.text(self._inline(joined(whole)), lines[at].number)
        return after

    def _paragraph(self, lines: Sequence[AdocLine], at: int, above: AdocBlock) -> int:
        after, more = continued(lines, at + 1, items=False)
        said = [lines[at].text, *more]
        number = lines[at].number
        box = _BOX.match(said[0])
        if box or above.style.upper() in _BOXES:
            self.outline.box((box["kind"] if box else above.style).lower(), self._inline(above.title), number)
            said[0] = box["said"] if box else said[0]
        else:
            self._titled(above, number)
        if above.style in _SOURCE or (lines[at].text[0] == " " and not box):
            self.outline.code("\n".join(said), number)
        elif above.style in ("stem", "latexmath", "asciimath"):
            self.outline.text(plain_formula(" ".join(said)), number)
        elif above.style == "verse" or "hardbreaks" in above.named.get("options", ""):
            self.outline.text("\n".join(self._inline(line) for line in said), number)
        else:
            self.outline.text(self._inline(joined("\n".join(said))), number)
        self.outline.text(self._inline(above.named.get("by", "")), number)
        return after

    # Tables.

    def _table(self, lines: Sequence[AdocLine], kind: str, above: AdocBlock, number: int) -> None:
        self._titled(above, number)
        text = "\n".join(each.text for each in lines)
        form = above.named.get("format", {",": "csv", ":": "dsv"}.get(kind, ""))
        if form in ("csv", "dsv", "tsv"):
            delimiter = above.named.get("separator") or {"csv": ",", "dsv": ":", "tsv": "\t"}[form]
            rows = [[_Cell(cell) for cell in row] for row in _values(text, delimiter[:1])]
        else:
            separator = "!" if kind == "!" else above.named.get("separator", "|")[:1]
            if separator != "|":
                text = text.replace("|", "\\|").replace(separator, "|")
            rows = list(_rows(list(_cells(text)), _columns(above.named.get("cols", ""), text)))
        self.outline.table(
            [[Spanning(self._inline(_plain(cell.text)), cell.down, cell.across) for cell in row] for row in rows],
            number,
        )


class _Cell(NamedTuple):
    text: str
    down: int = 1
    across: int = 1


def _cells(text: str) -> Iterator[_Cell]:
    """The cells of a table, in the order in which they are written."""
    marks = list(_CELL.finditer(text))
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else len(text)
        said = text[mark.end() : end].strip().replace("\\|", "|")
        spec = mark["spec"] or ""
        count, sign, _ = spec.partition("+" if "+" in spec else "*")
        across, _, down = count.partition(".")
        if sign == "*":
            yield from (_Cell(said) for _ in range(min(covered(across), 100)))
        else:
            yield _Cell(said, covered(down), covered(across)) if sign else _Cell(said)


def _columns(said: str, text: str) -> int:
    """How many columns a table has: as it says, or as many as its first line has cells."""
    if said:
        return sum(
            min(int(match["times"]), 100) if (match := _COLUMN.match(part.strip())) else 1 for part in said.split(",")
        )
    first = text.strip("\n").partition("\n")[0]
    return max(1, sum(cell.across for cell in _cells(first)))


def _rows(cells: Sequence[_Cell], columns: int) -> Iterator[list[_Cell]]:
    """Cells as rows of so many columns, less those that cells above cover."""
    row: list[_Cell] = []
    above = [0] * columns
    at = 0

    def skip() -> None:
        nonlocal at
        while at < columns and above[at]:
            above[at] -= 1
            at += 1

    skip()
    for cell in cells:
        if at >= columns:
            yield row
            row, at = [], 0
            skip()
        row.append(cell)
        for covers in range(at, min(at + cell.across, columns)):
            above[covers] = cell.down - 1
        at += cell.across
        skip()
    if row:
        yield row


def _values(text: str, delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(text.strip().split("\n"), delimiter=delimiter) if row]
    except csv.Error:
        return [line.split(delimiter) for line in text.split("\n") if line]


def _plain(text: str) -> str:
    """The text of a cell on one line; of lists in it the signs are left."""
    return " ".join(line.strip() for line in text.split("\n") if line.strip() and not FENCE.fullmatch(line.strip()))
