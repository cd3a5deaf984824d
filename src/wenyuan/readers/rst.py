"""reStructuredText to a `Document`: sections, lists, terms, tables and directives, as docutils and Sphinx show them.

No directive is run: files that one includes are named, and code from which one would make text is not looked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, unread
from wenyuan.readers.markup import Spanning
from wenyuan.readers.markup_document import markup_document
from wenyuan.readers.outline import MAX_DEPTH, Outline, box_names, is_chinese
from wenyuan.readers.rst_inline import inline
from wenyuan.readers.rst_lines import (
    FIELD,
    SUBSTITUTED,
    Lines,
    as_written,
    dedent,
    indented,
    joined,
    line_parts,
    list_table,
    substitutions,
    until_blank,
    values,
)
from wenyuan.readers.rst_source import CODE, DIRECTIVE, NOTE, SILENT, TARGET, own_text
from wenyuan.readers.rst_tables import GRID, SIMPLE, grid_rows, simple_rows
from wenyuan.readers.tex_math import plain_formula
from wenyuan.readers.text import readable

_TAB = 8
_ADORNED = re.compile(r"([!-/:-@\[-`{-~])\1+\s*\Z")
_BULLET = re.compile(r"[-*+•‣⁃](?:[ \t]+|\Z)")
_NUMBER = re.compile(r"(?:\(?(?P<n>[0-9]{1,9}|#|[A-Za-z]|[ivxlcdmIVXLCDM]{1,8})[.)])(?:[ \t]+|\Z)")
_OPTION = r"(?:-[A-Za-z0-9](?:[ ]?<[^<>\n]{1,60}>|[ ]?[A-Za-z][\w-]{0,40})?|(?:--|/)[A-Za-z][\w-]{0,60}(?:[ =](?:<[^<>\n]{1,60}>|[A-Za-z][\w-]{0,40}))?)"
_OPTIONS = re.compile(rf"(?P<names>{_OPTION}(?:, {_OPTION}){{0,8}})(?:[ ]{{2,}}|\s*\Z)")
_ENTRY = re.compile(r"(?P<title>.*\S)\s+<[^<>]*>\s*\Z")
_QUOTED = ("-- ", "—", "--- ")

_BODY = frozenset("container class rst-class compound epigraph highlights pull-quote only ifconfig hlist centered glossary grid "
                  "grid-item tab-set tabs sidebar-content line-block collapse toggle div section".split())  # fmt: skip
_TITLED = frozenset(
    "topic sidebar rubric tab tab-item group-tab grid-item-card card dropdown details centered".split()
)
_VERSIONS = {
    "versionadded": "New in version", "versionchanged": "Changed in version", "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version", "deprecated-removed": "Deprecated since version", "version-added": "New in version",
    "version-changed": "Changed in version", "version-deprecated": "Deprecated since version",
}  # fmt: skip
_DESCRIBED = re.compile(
    r"(?:[a-z]+:)?(?:function|method|class|attribute|data|exception|decorator|staticmethod|classmethod|property|module|describe|object|"
    r"option|cmdoption|envvar|confval|setting|macro|member|var|type|struct|union|enum|enumerator|alias|concept|decoratormethod|"
    r"decoratorfunction|directive|role|rst|opcode|pdbcommand|monitoring-event|templatetag|templatefilter|fieldlookup|"
    r"django-admin|django-admin-option|http|get|post|put|delete|patch|field|event|command|pypi|term|variable)\Z"
)
_INCLUDES = frozenset(("include", "literalinclude", "csv-table", "raw", "parsed-literal", "graphviz", "uml"))
_UNSET = frozenset("orphan nosearch tocdepth nocomments".split())


def read_rst(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read reStructuredText.

    Raises:
        DocumentRejected: it is no text, or holds nothing besides comments.
    """
    text, notes = readable(content, name)
    page = _Page(text)
    document = markup_document(
        page, Original(content, uri, name), own_text=own_text(text), media_type="text/x-rst", notes=notes,
        title=page.outline.first_heading(), empty="it holds no text besides comments",
    )  # fmt: skip
    return (document,)


class _Directive(NamedTuple):
    """A directive: what stands on its line, its options, and its text."""

    name: str
    said: str
    arguments: Sequence[str]
    options: Mapping[str, str]
    body: Lines
    number: int
    depth: int


class _Page:
    """Reads the lines of a file into an outline."""

    def __init__(self, text: str) -> None:
        lines = [(number, line.expandtabs(_TAB).rstrip()) for number, line in enumerate(text.split("\n"), 1)]
        self.outline = Outline(chinese=is_chinese(text))
        self.left_out: Counter[str] = Counter()
        self.pictures = 0
        self._unknown: Counter[str] = Counter()
        self._includes: list[str] = []
        self._from_code: list[str] = []
        self._levels: list[str] = []
        self._named = substitutions(lines)
        self._inline = partial(inline, named=self._named)
        self._body(lines, 0)
        self.outline.end()

    def warnings(self) -> tuple[str, ...]:
        """What a reader of the document should know."""
        told = unread(self._unknown)
        if self._includes:
            named = ", ".join(dict.fromkeys(self._includes[:20]))
            told += (msg("files that it includes are read on their own, or not at all: {files}", files=named),)
        if self._from_code:
            named = ", ".join(dict.fromkeys(self._from_code[:20]))
            told += (msg("text that is made from source code is not in it: {names}", names=named),)
        return told

    def _body(self, lines: Lines, depth: int) -> None:
        """Read lines that stand at one indentation, with what stands within them."""
        at = 0
        while at < len(lines):
            number, line = lines[at]
            if not line:
                at += 1
            elif depth > MAX_DEPTH:
                self.outline.text(self._inline(line.strip()), number)
                at += 1
            elif line[0] == " ":
                after = indented(lines, at)
                self._body(dedent(lines[at:after]), depth + 1)
                at = after
            else:
                at = self._element(lines, at, depth)

    def _element(self, lines: Lines, at: int, depth: int) -> int:
        """Read what begins at a line; returns the line after it."""
        line = lines[at][1]
        if (after := self._section(lines, at)) or (after := self._table(lines, at)):
            return after
        if line.startswith((".. ", "__ ")) or line in ("..", "__"):
            return self._explicit(lines, at, depth)
        for pattern, take in (
            (_BULLET, self._item),
            (_NUMBER, self._item),
            (FIELD, self._field),
            (_OPTIONS, self._option),
        ):
            if (match := pattern.match(line)) and (after := take(lines, at, match, depth)):
                return after
        if line.startswith("| ") or line == "|":
            return self._verse(lines, at)
        if line.startswith(">>> "):
            after = until_blank(lines, at)
            self.outline.code("\n".join(each for _, each in lines[at:after]), lines[at][0])
            return after
        if at + 1 < len(lines) and lines[at + 1][1].startswith(" ") and not line.endswith("::"):
            return self._definition(lines, at, depth)
        return self._paragraph(lines, at)

    # Sections.

    def _section(self, lines: Lines, at: int) -> int:
        """Read a heading or a rule; 0 where none begins at this line."""
        number, line = lines[at]
        below = lines[at + 1][1] if at + 1 < len(lines) else ""
        if _ADORNED.match(line) and len(line) > 1:
            under = lines[at + 2][1] if below and at + 2 < len(lines) else ""
            drawn = _ADORNED.match(under) and under[0] == line[0]
            if drawn and (len(line) >= 3 or len(line) >= len(below.strip())):
                self._heading(below, line[0] * 2, number + 1)
                return at + 3
            return at + 1 if not below and len(line) >= 4 and not line.startswith("::") else 0
        if (
            _ADORNED.match(below)
            and below[0] != " "
            and (len(below) >= 4 or len(below) >= len(line))
            and below != "::"
        ):
            self._heading(line, below[0], number)
            return at + 2
        return 0

    def _heading(self, text: str, style: str, line: int) -> None:
        if style not in self._levels:
            self._levels.append(style)
        self.outline.heading(self._inline(text.strip()), self._levels.index(style) + 1, line)

    # Lists.

    def _item(self, lines: Lines, at: int, match: re.Match[str], depth: int) -> int:
        """Read the item of a list; 0 where the line is none: a sentence may begin with a letter and a stop."""
        number, line = lines[at]
        mark = "-"
        if match.re is _NUMBER:
            below = lines[at + 1][1] if at + 1 < len(lines) else ""
            if below and below[0] != " " and not _NUMBER.match(below):
                return 0
            mark = match[0].strip()
            mark = "-" if "#" in mark else mark
        after = indented(lines, at + 1, least=1)
        rest = line[match.end() :]
        body = dedent(lines[at + 1 : after], most=match.end())
        with self.outline.item(mark):
            self._body([(number, rest), *body] if rest else body, depth + 1)
        return after

    def _field(self, lines: Lines, at: int, match: re.Match[str], depth: int) -> int:
        name = self._inline(match["name"].replace("\\", ""))
        after = indented(lines, at + 1, least=1)
        rest = lines[at][1][match.end() :]
        body = [(lines[at][0], rest), *dedent(lines[at + 1 : after])]
        if name.lower() in _UNSET or not any(text for _, text in body):
            return after
        self.outline.term(name, lines[at][0])
        self._body(body, depth + 1)
        self.outline.end_term()
        return after

    def _option(self, lines: Lines, at: int, match: re.Match[str], depth: int) -> int:
        after = indented(lines, at + 1, least=1)
        rest = lines[at][1][match.end() :]
        if not rest and after == at + 1:
            return 0
        self.outline.term(match["names"].strip(), lines[at][0])
        self._body([(lines[at][0], rest), *dedent(lines[at + 1 : after])], depth + 1)
        self.outline.end_term()
        return after

    def _definition(self, lines: Lines, at: int, depth: int) -> int:
        number, line = lines[at]
        after = indented(lines, at + 1, least=1)
        self.outline.term(self._inline(line), number)
        self._body(dedent(lines[at + 1 : after]), depth + 1)
        self.outline.end_term()
        return after

    def _verse(self, lines: Lines, at: int) -> int:
        """Lines that stay lines."""
        after = at
        said: list[str] = []
        while after < len(lines) and lines[after][1] and lines[after][1][0] in "| ":
            line = lines[after][1]
            said.append(self._inline(line[1:].strip() if line[0] == "|" else line.strip()))
            after += 1
        self.outline.text("\n".join(filter(None, said)), lines[at][0])
        return after

    # Paragraphs, and what is literal.

    def _paragraph(self, lines: Lines, at: int) -> int:
        after = at + 1
        while after < len(lines) and lines[after][1] and lines[after][1][0] != " ":
            after += 1
        text = joined([line for _, line in lines[at:after]])
        literal = text.endswith("::")
        if literal:
            text = text[:-2].rstrip() if text == "::" or text[-3].isspace() else text[:-1]
        self.outline.text(self._inline(text), lines[at][0])
        if literal:
            return self._literal(lines, after)
        return after

    def _literal(self, lines: Lines, at: int) -> int:
        """The indented or quoted lines after a paragraph that ends with two colons."""
        first = at
        while first < len(lines) and not lines[first][1]:
            first += 1
        if first == len(lines):
            return at
        if lines[first][1][0] == " ":
            after = indented(lines, first)
            self.outline.code(as_written(lines[first:after]), lines[first][0])
            return after
        sign = lines[first][1][0]
        if sign.isalnum():
            return at
        after = first
        while after < len(lines) and lines[after][1].startswith(sign):
            after += 1
        self.outline.code(as_written(lines[first:after]), lines[first][0])
        return after

    def _table(self, lines: Lines, at: int) -> int:
        """Read a table that is drawn with signs; 0 where none begins."""
        line = lines[at][1]
        if line[0] == "+" and GRID.match(line):
            after = at
            while after < len(lines) and lines[after][1][:1] in ("+", "|"):
                after += 1
            self.outline.table(grid_rows([each for _, each in lines[at:after]], self._inline), lines[at][0])
            return after
        if line[0] == "=" and SIMPLE.match(line) and (" " in line or (at + 1 < len(lines) and lines[at + 1][1])):
            after = at + 1
            borders = 1
            while after < len(lines) and borders < 3:
                borders += bool(SIMPLE.match(lines[after][1]))
                after += 1
                if borders == 2 and (after == len(lines) or not lines[after][1]):
                    break
            if borders < 2:
                return 0
            self.outline.table(simple_rows([each for _, each in lines[at:after]], self._inline), lines[at][0])
            return after
        return 0

    # What begins with two stops.

    def _explicit(self, lines: Lines, at: int, depth: int) -> int:
        number, line = lines[at]
        if line == ".." and not (at + 1 < len(lines) and lines[at + 1][1]):
            return at + 1  # it parts what stands above from what stands below
        after = indented(lines, at + 1, least=1)
        if match := NOTE.match(line):
            body = [(number, match["said"]), *dedent(lines[at + 1 : after])]
            self.outline.term(f"[{match['of'].lstrip('#') or '#'}]:", number)
            self._body(body, depth + 1)
            self.outline.end_term()
        elif TARGET.match(line):
            pass
        elif match := DIRECTIVE.match(line):
            if not SUBSTITUTED.match(line):
                self._directive(match["name"].lower(), match["said"] or "", lines[at:after], depth)
        else:
            self.left_out["comments"] += bool(line != ".." or after > at + 1)
        return after

    def _directive(self, name: str, said: str, lines: Lines, depth: int) -> None:
        arguments, options, body = line_parts(said, dedent(lines[1:]), several=bool(_DESCRIBED.match(name)))
        found = _Directive(name, said.strip(), arguments, options, body, lines[0][0], depth)
        file = options.get("file") or (said if "include" in name else "")
        if name in _INCLUDES and file:
            self._includes.append(file.strip())
            if not body:
                return
        short = name.rpartition(":")[2]
        if take := _TAKEN.get(name):
            take(self, found)
        elif short.startswith("auto") and len(short) > 4:
            self._automatic(found)
        elif name not in SILENT:
            self._described(found)

    def _raw(self, found: _Directive) -> None:
        self.left_out[f"raw {found.said or 'text'}"] += 1

    def _picture(self, found: _Directive) -> None:
        self.pictures += 1
        self.outline.text(self._inline(found.options.get("alt", "")), found.number)
        self._body(found.body, found.depth + 1)

    def _formula(self, found: _Directive) -> None:
        self.outline.text(
            plain_formula("\n".join([*found.arguments, *(line for _, line in found.body)])), found.number
        )

    def _automatic(self, found: _Directive) -> None:
        """Text that is made from source code: its name, and what is added to it here."""
        self._from_code.append(found.said)
        self.outline.term(found.said, found.number)
        self._within(found)

    def _within(self, found: _Directive) -> None:
        """The body, which is the meaning of the term before it."""
        self._body(found.body, found.depth + 1)
        self.outline.end_term()

    def _described(self, found: _Directive) -> None:
        """Something that is described by the text below it; of what is not known, all is read."""
        name, number = found.name, found.number
        if not (_DESCRIBED.match(name) or name in _BODY or name in _TITLED):
            self._unknown[name] += 1
        arguments = [] if name in _BODY and name != "centered" else list(found.arguments)
        if title := found.options.get("title", ""):
            arguments.append(title)
        for argument in arguments:
            if name in _TITLED or name in _BODY:
                self.outline.text(self._inline(argument), number)
            else:
                shown = self._inline(argument) if name in self._unknown else argument.replace("\\", "")
                self.outline.term(shown, number)
        self._within(found)

    def _coded(self, found: _Directive) -> None:
        self.outline.text(self._inline(found.options.get("caption", "")), found.number)
        text = as_written(found.body)
        if found.name == "parsed-literal":
            text = self._inline("\n".join(filter(None, (found.said, text))))
        elif found.name == "productionlist" or (found.name == "prompt" and not text):
            text = "\n".join(filter(None, (found.said, text)))
        self.outline.code(text, found.body[0][0] if found.body else found.number)

    def _boxed(self, found: _Directive) -> None:
        said = self._inline(" ".join(found.arguments))
        if found.name == "admonition":
            self.outline.end_term()
            self.outline.term(said, found.number)
        else:
            self.outline.box(found.name, line=found.number)
            self.outline.text(said, found.number)
        self._within(found)

    def _since(self, found: _Directive) -> None:
        version, _, rest = " ".join(found.arguments).partition(" ")
        label = _VERSIONS[found.name]
        self.outline.added.append(label)
        self.outline.end_term()
        if found.name == "deprecated-removed":
            removed, _, rest = rest.partition(" ")
            self.outline.added.append(", removed in")
            version = f"{version}, removed in {removed}"
        self.outline.term(f"{label} {version}", found.number)
        body = [(found.number, rest), *found.body] if rest else found.body
        self._within(found._replace(body=body))

    def _contents(self, found: _Directive) -> None:
        """A list of further documents: their titles, or the names of their files."""
        self.outline.text(self._inline(found.options.get("caption", "")), found.number)
        for line, entry in found.body:
            if entry.strip():
                match = _ENTRY.match(entry)
                with self.outline.item("-"):
                    self.outline.text(match["title"] if match else entry, line)

    def _tabled(self, found: _Directive) -> None:
        options, number = found.options, found.number
        self.outline.text(self._inline(" ".join(found.arguments)), number)
        if found.name == "csv-table":
            lines = [options.get("header", ""), *(line for _, line in found.body)]
            rows = values(lines, options.get("delim", ","))
            self.outline.table([[Spanning(self._inline(cell)) for cell in row] for row in rows], number)
        elif found.name in ("list-table", "flat-table"):
            self.outline.table(
                [[Spanning(self._inline(cell)) for cell in row] for row in list_table(found.body)], number
            )
        else:
            self._body(found.body, found.depth + 1)


_TAKEN: Mapping[str, Callable[[_Page, _Directive], None]] = {
    **dict.fromkeys(CODE, _Page._coded),
    **dict.fromkeys((*box_names(), "admonition"), _Page._boxed),
    **dict.fromkeys(_VERSIONS, _Page._since),
    **dict.fromkeys(("image", "figure", "thumbnail"), _Page._picture),
    **dict.fromkeys(("list-table", "csv-table", "table", "flat-table"), _Page._tabled),
    "raw": _Page._raw,
    "math": _Page._formula,
    "toctree": _Page._contents,
}
