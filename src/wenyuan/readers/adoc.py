"""AsciiDoc to a `Document`: sections, lists, terms, tables and blocks, as Asciidoctor shows them.

No file that one includes is opened: it is named. Parts under a condition are read as for a page of HTML.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.adoc_inline import attributes_in, inline
from wenyuan.readers.assemble import Original, assemble, left_out_note, unread
from wenyuan.readers.markup import Spanning, covered
from wenyuan.readers.outline import MAX_DEPTH, Outline, is_chinese
from wenyuan.readers.tex_math import plain_formula
from wenyuan.readers.text import measured, readable

_SECTION = re.compile(r"(?P<level>={1,6}|#{1,6})[ \t]+(?P<title>\S.*)")
_UNDERLINE = re.compile(r"([=\-~^+])\1+\Z")
_ENTRY = re.compile(r":(?P<off>!?)(?P<name>\w[\w-]*)(?P<off2>!?):(?:[ \t]+(?P<value>.*)|\Z)")
_CONDITION = re.compile(r"(?P<how>ifdef|ifndef|ifeval|endif)::(?P<of>[^\s\[]*)\[(?P<said>.*)\]\s*\Z")
_INCLUDE = re.compile(r"include::(?P<file>[^\[\]]+)\[.*\]\s*\Z")
_STYLE = re.compile(r"\[(?P<said>(?:[^\[\]]|\[[^\[\]]*\])*)\]\s*\Z|\[\[(?P<id>[^\[\]]*)\]\]\s*\Z")
_TITLE = re.compile(r"\.(?P<title>[^\s.].*)")
_FENCE = re.compile(r"(?P<kind>-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|~{4,}|--|`{3,}(?=\w|\s*\Z)|[|,:!]={3,})")
_BULLET = re.compile(r"[ \t]*(?P<mark>\*{1,6}|-|•)[ \t]+(?P<said>\S.*)")
_NUMBER = re.compile(r"[ \t]*(?P<mark>\.{1,6}|[0-9]{1,6}\.|[a-zA-Z]\.|[ivxIVX]{1,6}\))[ \t]+(?P<said>\S.*)")
_CALLOUT = re.compile(r"<(?P<mark>[0-9]{1,3}|\.)>[ \t]+(?P<said>\S.*)")
_TERM = re.compile(
    r"[ \t]*(?P<term>[^\s:;/](?:[^:;\n]|:(?!:)|;(?!;)){0,400}?)(?P<mark>:{2,4}|;;)(?:[ \t]+(?P<said>\S.*)|[ \t]*\Z)"
)
_BOX = re.compile(r"(?P<kind>NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+(?P<said>.*)")
_BOXES = frozenset("NOTE TIP IMPORTANT WARNING CAUTION".split())
_MACRO = re.compile(r"(?P<name>\w[\w-]{0,40})::(?P<to>\S*)\[(?P<said>.*)\]\s*\Z")
_RULES = frozenset(("'''", "---", "- - -", "***", "* * *", "<<<"))
_CHECKED = re.compile(r"\[(?P<of>[ *xX])\][ \t]+")
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
    document = assemble(
        page.outline.pieces,
        Original(content, uri, name),
        title=page.title(),
        media_type="text/asciidoc",
        empty="it holds no text besides comments and attributes",
        notes=(*notes, *left_out_note(page.left_out)),
    )
    return (measured(document, own_text(text), added=page.outline.added, pictures=page.pictures,
                     warnings=page.warnings()),)  # fmt: skip


class _Line(NamedTuple):
    number: int
    text: str


class _Block(NamedTuple):
    """What stands above a block: its title, its style and its named attributes."""

    title: str = ""
    style: str = ""
    named: Mapping[str, str] = {}


class _Page:
    """Reads the lines of a file into an outline."""

    def __init__(self, text: str) -> None:
        self.outline = Outline(chinese=is_chinese(text))
        self.left_out: Counter[str] = Counter()
        self.pictures = 0
        self._unknown: Counter[str] = Counter()
        self._includes: list[str] = []
        self._known: dict[str, str] = {}
        lines = [_Line(number, line.rstrip()) for number, line in enumerate(text.split("\n"), 1)]
        self._titles = _ids(lines)
        self._said: list[str] = []  # the marks of the lists that are open, outermost first
        self._blocks(list(self._met(lines)), 0)
        self.outline.end()

    def title(self) -> str:
        """The title that the file states, or its first heading."""
        return next((piece.text for piece in self.outline.pieces if piece.kind == "heading"), "")

    def warnings(self) -> tuple[str, ...]:
        """What a reader of the document should know."""
        told = unread(self._unknown)
        if self._includes:
            named = ", ".join(dict.fromkeys(self._includes[:20]))
            told += (msg("files that it includes are read on their own, or not at all: {files}", files=named),)
        return told

    def _met(self, lines: Sequence[_Line]) -> Iterator[_Line]:
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

    def _blocks(self, lines: Sequence[_Line], depth: int) -> None:
        at = 0
        above = _Block()
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
                above, apart = _Block(), False

    def _said_above(self, lines: Sequence[_Line], at: int, above: _Block) -> tuple[int, _Block] | None:
        """Read a line that says something of the block below it, or is nothing that is seen; None for another one."""
        text = lines[at].text
        if text.startswith("//") and not text.startswith("///"):
            self.left_out["comments"] += 1
            return at + 1, above
        if text.startswith("////"):
            self.left_out["comments"] += 1
            return _closing(lines, at) + 1, above
        if match := _ENTRY.match(text):
            return self._set(lines, at, match), above
        if match := _INCLUDE.match(text):
            self._includes.append(attributes_in(match["file"], self._known))
            return at + 1, above
        if (match := _STYLE.match(text)) and not _CHECKED.match(text):
            return at + 1, _styled(above, attributes_in(match["said"] or "", self._known))
        if (match := _TITLE.match(text)) and not _NUMBER.match(text):
            return at + 1, above._replace(title=match["title"])
        return None

    def _set(self, lines: Sequence[_Line], at: int, match: re.Match[str]) -> int:
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

    def _block(self, lines: Sequence[_Line], at: int, above: _Block, depth: int, apart: bool) -> int:
        """Read the block that begins at a line; returns the line after it."""
        line = lines[at]
        if after := self._section(lines, at, above):
            return after
        if line.text in _RULES:
            self._leave()
            return at + 1
        if (match := _FENCE.match(line.text)) and (line.text == match["kind"] or line.text[0] == "`"):
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

    def _section(self, lines: Sequence[_Line], at: int, above: _Block) -> int:
        line = lines[at]
        match = _SECTION.match(line.text)
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

    def _header(self, lines: Sequence[_Line], at: int) -> int:
        """The lines below the title that say by whom and from when the document is."""
        while at < len(lines) and lines[at].text.strip():
            found = self._said_above(lines, at, _Block())
            if found is not None:
                at = found[0]
            elif _FENCE.match(lines[at].text) or _SECTION.match(lines[at].text):
                break
            else:
                self.outline.text(self._inline(lines[at].text), lines[at].number)
                at += 1
        return at

    def _fenced(self, lines: Sequence[_Line], at: int, above: _Block, depth: int) -> int:
        """Read a block between two lines of signs."""
        number, fence = lines[at]
        after = _closing(lines, at)
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

    def _around(self, above: _Block, inner: Sequence[_Line], number: int, depth: int) -> None:
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
            self.outline.leave(_deep(self._said))
        self.outline.end_term()
        self.outline.text(self._inline(above.named.get("by", "")), number)

    def _titled(self, above: _Block, number: int) -> None:
        self.outline.text(self._inline(above.title), number)

    def _macro(self, match: re.Match[str], above: _Block, number: int) -> None:
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

    def _item(self, lines: Sequence[_Line], at: int, above: _Block) -> int:
        """Read an item of a list, or a term with its meaning; 0 where the line is none."""
        text = lines[at].text
        for pattern in (_BULLET, _NUMBER, _CALLOUT, _TERM):
            if match := pattern.match(text):
                break
        else:
            return 0
        self._titled(above, lines[at].number)
        mark = match["mark"]
        kind = _kind(pattern, mark)
        if kind in self._said:
            del self._said[self._said.index(kind) + 1 :]
        elif len(self._said) < MAX_DEPTH:
            self._said.append(kind)
        after, said = _continued(lines, at + 1)
        whole = "\n".join([match["said"] or "", *said]).strip()
        if pattern is _TERM:
            self.outline.leave(_deep(self._said))
            self.outline.term(self._inline(match["term"]), lines[at].number)
            self.outline.text(self._inline(_joined(whole)), lines[at].number)
            return after
        checked = _CHECKED.match(whole)
        if checked:
            whole = ("☐ " if checked["of"] == " " else "☑ ") + whole[checked.end() :]
        callout = pattern is _CALLOUT and mark != "."
        shown = f"<{mark}>" if callout else mark if mark[0].isalnum() else "-"
        self.outline.begin_item(shown, max(1, _deep(self._said)))
        self.outline.text(self._inline(_joined(whole)), lines[at].number)
        return after

    def _paragraph(self, lines: Sequence[_Line], at: int, above: _Block) -> int:
        after, more = _continued(lines, at + 1, items=False)
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
            self.outline.text(self._inline(_joined("\n".join(said))), number)
        self.outline.text(self._inline(above.named.get("by", "")), number)
        return after

    # Tables.

    def _table(self, lines: Sequence[_Line], kind: str, above: _Block, number: int) -> None:
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
    return " ".join(line.strip() for line in text.split("\n") if line.strip() and not _FENCE.fullmatch(line.strip()))


# Lines.


def _closing(lines: Sequence[_Line], at: int) -> int:
    """The line that ends a block of the same signs; the end of the text where there is none."""
    fence = lines[at].text
    fence = "```" if fence.startswith("```") else fence
    return next((after for after in range(at + 1, len(lines)) if lines[after].text == fence), len(lines))


def _continued(lines: Sequence[_Line], at: int, *, items: bool = True) -> tuple[int, list[str]]:
    """The line after a paragraph, and its further lines.

    Args:
        items: Whether an item of a list ends it.
    """
    said: list[str] = []
    while at < len(lines) and (text := lines[at].text).strip():
        if (
            text == "+"
            or text.startswith("//")
            or _INCLUDE.match(text)
            or (_STYLE.match(text) and not _CHECKED.match(text))
        ):
            break
        if (match := _FENCE.match(text)) and text == match["kind"]:
            break
        if items and (_BULLET.match(text) or _NUMBER.match(text) or _TERM.match(text) or _CALLOUT.match(text)):
            break
        said.append(text.strip() if items else text)
        at += 1
    return at, said


def _joined(text: str) -> str:
    """Lines as one, unless a line says that it ends; no space between Chinese signs."""
    parts: list[str] = []
    for line in text.split("\n"):
        before = parts[-1] if parts else ""
        if before.endswith(" +"):
            parts[-1] = before[:-2]
            parts.append("\n")
        elif before:
            parts.append("" if before[-1] >= "\u2e80" and line[:1] >= "\u2e80" else " ")
        parts.append(line)
    return "".join(parts).removesuffix(" +")


def _kind(pattern: re.Pattern[str], mark: str) -> str:
    """A mark that items of the same list share."""
    if pattern is _NUMBER and mark[0].isalnum():
        return "1." if mark[0].isdigit() else "a."
    return "<1>" if pattern is _CALLOUT else mark if pattern is not _TERM else f"term {mark}"


def _deep(said: Sequence[str]) -> int:
    """How many lists are open, not counting those of terms."""
    return sum(not kind.startswith("term") for kind in said)


def _styled(above: _Block, said: str) -> _Block:
    """What a line in brackets adds: the first value is the style, others are named."""
    named = dict(above.named)
    style = above.style
    values = [value.strip() for value in _split(said)]
    for number, value in enumerate(values):
        name, mark, rest = value.partition("=")
        if mark and re.fullmatch(r"[\w-]+", name.strip()):
            named[name.strip()] = rest.strip().strip("\"'")
        elif number == 0:
            style = re.split(r"[.#%]", value)[0] or style
            named["options"] = named.get("options", "") + value.partition("%")[2]
        elif style in ("quote", "verse") and value:
            named["by"] = ", ".join(filter(None, (named.get("by"), value.strip("\"'"))))
    return above._replace(style=style, named=named)


def _split(said: str) -> list[str]:
    """Values between commas, those in quotes as a whole."""
    return [match[0] for match in re.finditer(r"(?:[^,\"]|\"[^\"]*\"?)+", said)]


def _ids(lines: Sequence[_Line]) -> dict[str, str]:
    """The titles of sections by the ids that are stated for them or made of them."""
    found: dict[str, str] = {}
    stated = ""
    for line in lines:
        if line.text.startswith("[") and (match := re.match(r"\[\[([^\],]+)|\[#([\w-]+)", line.text)):
            stated = match[1] or match[2]
        elif match := _SECTION.match(line.text):
            title = inline(match["title"], {})
            found.setdefault("_" + re.sub(r"[^\w]+", "_", title.lower()).strip("_"), title)
            if stated:
                found.setdefault(stated, title)
            stated = ""
        elif line.text.strip():
            stated = ""
    return found


# The text of a file without its markup, line by line: what is read is compared with it.

_NO_TEXT = re.compile(
    r"\s*(?://.*|:!?[\w-]+!?:(?:\s.*)?|\[[^\]]*\]\]?|-{2,}|\.{4,}|={4,}|\*{3,}|_{4,}|\+{1,}|~{4,}|`{3,}\w*|[|,:!]={3,}"
    r"|(?:include|ifdef|ifndef|ifeval|endif|toc|image|video|audio)::.*|'''|<<<|[\^~]{2,})\Z"
)
_SIGNS = re.compile(
    r"^\s*(?:[*.•-]{1,6}|={1,6}|#{1,6}|<\.>)\s+|^\.(?=\S)|\b(?:link|image|icon):\S*?\[|\bxref:[^\s\[]*\[(?!\])|\bxref:|(?:https?|ftp)://[^\s\[\]<>]+\[(?!\])|"
    r"[*_`#^~|\[\]]|<<[^<>,]*,|>>|(?<=\s)\+$|(?::{2,4}|;;)(?=\s|$)|\\(?=\W)",
    re.MULTILINE,
)


def own_text(text: str) -> str:
    """The text of a file without lines of markup and without signs, found without regard to its structure."""
    kept = []
    comment = False
    for line in text.split("\n"):
        if line.startswith("////"):
            comment = not comment
        elif not comment and not _NO_TEXT.match(line.rstrip()):
            kept.append(line)
    return _SIGNS.sub("", "\n".join(kept))
