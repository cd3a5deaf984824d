r"""LaTeX to a `Document`: sections, lists, tables, code and formulas as text. Nothing is run: of ``\newcommand``, only what takes
the place of a name is put in, within bounds, and files that one takes in are named.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers import notation
from wenyuan.readers.assemble import Original, Piece, unread
from wenyuan.readers.markup import Spanning, covered
from wenyuan.readers.markup_document import markup_document
from wenyuan.readers.outline import Outline, is_chinese, one_line
from wenyuan.readers.tex_cursor import TexSource, filled
from wenyuan.readers.tex_math import plain_formula
from wenyuan.readers.tex_names import (
    ACCENTS,
    ALIGNED,
    BOXED,
    DROPPED,
    ENDS,
    FORMULAS,
    LETTERS,
    LEVELS,
    PLAIN,
    RULES,
    TABLES,
    VERBATIM,
)  # fmt: skip
from wenyuan.readers.tex_source import JOINED, definitions, own_text, plain_code, without_comments
from wenyuan.readers.tex_units import plain_number, plain_unit
from wenyuan.readers.text import readable

_MAX_DEPTH = 40
_MOST_PUT_IN = 200_000  # characters that names stand for, in all
_TOKEN = re.compile(r"\\(?P<name>[A-Za-z@]+)\*?[ \t]*|\\(?P<sign>.|\Z)|(?P<blank>\n[ \t]*\n\s*)|(?P<one>\$\$?|[{}&~\n]|---?|``|''|\"[`'])",
                    re.DOTALL)  # fmt: skip
_BEGIN = re.compile(r"\{([A-Za-z]+)\*?\}")
_STATED = re.compile(r"\\(title|author|date)[ \t]*(?:\[[^\[\]\n]{0,300}\])?[ \t\n]*\{")
_DASHES = {"--": "–", "---": "—", "``": "“", "''": "”", '"`': "„", "\"'": "“", "~": " ", "\n": " "}
_ARGUMENT = re.compile(r"#([1-9])")
_FILES = re.compile(r"(?:input|include|subfile|import|verbatiminput|lstinputlisting|bibliography|addbibresource)\Z")
_REFERS = re.compile(r"(?:[a-zA-Z]{0,6}ref|hyperlink|vref|nameref|autoref)\Z")
_CITES = re.compile(r"(?:[a-zA-Z]{0,8}cite[a-z]{0,12}|citealp|citealt|nocite)\Z")


def read_tex(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read LaTeX.

    Raises:
        DocumentRejected: it is no text, or holds nothing besides definitions and comments.
    """
    text, notes = readable(content, name)
    page = _Page(text)
    document = markup_document(
        page, Original(content, uri, name), own_text=own_text(text), media_type="application/x-tex", notes=notes,
        pieces=_levelled(page.outline.pieces), empty="it holds no text besides definitions and comments",
    )  # fmt: skip
    return (document,)


def _levelled(pieces: Sequence[Piece]) -> list[Piece]:
    """The same pieces, their headings' levels without gaps."""
    ranks = {level: rank for rank, level in enumerate(sorted({piece.level for piece in pieces if piece.level}), 1)}
    return [replace(piece, level=ranks[piece.level]) if piece.level else piece for piece in pieces]


@dataclass(slots=True)
class _Table:
    """A table that is being read: its rows, and the cell that has been begun."""

    rows: list[list[Spanning]] = field(default_factory=lambda: [[]])
    down: int = 1
    across: int = 1


class _Page:
    """What is read of a file."""

    def __init__(self, text: str) -> None:
        self.outline = Outline(chinese=is_chinese(text))
        self.left_out: Counter[str] = Counter()
        self.pictures = 0
        self.unknown: Counter[str] = Counter()
        self.includes: list[str] = []
        self.put_in = _MOST_PUT_IN
        text, comments = without_comments(text)
        self.left_out["comments"] = comments
        whole = _Text(text, self)
        self.names = definitions(text, whole.closings, _COMMANDS.keys() | LETTERS.keys() | LEVELS.keys() | PLAIN)
        body = text.find("\\begin{document}")
        start = body + len("\\begin{document}") if body >= 0 else 0
        end = text.find("\\end{document}", start)
        self._state(whole)
        whole.read(start, end if end >= 0 else len(text), 0)
        whole.flush()
        self.outline.end()

    def _state(self, whole: _Text) -> None:
        """Title, authors and date, which are stated before they are shown."""
        said: dict[str, tuple[int, int]] = {}
        for match in _STATED.finditer(whole.text):
            said.setdefault(match[1], (match.end(), whole.closing(match.end() - 1)))
        for name in ("title", "author", "date"):
            if name in said:
                shown = whole.shown(*said[name], 1)
                if name == "title":
                    self.outline.heading(shown, 1, whole.line(said[name][0]))
                else:
                    self.outline.text(shown, whole.line(said[name][0]))

    def warnings(self) -> tuple[str, ...]:
        """What a reader of the document should know."""
        told = unread(self.unknown)
        if self.includes:
            named = ", ".join(dict.fromkeys(self.includes[:20]))
            told += (msg("files that it includes are read on their own, or not at all: {files}", files=named),)
        return told


class _Text(TexSource):
    """Reads a text into the outline of a page; see `TexSource`."""

    def __init__(self, text: str, page: _Page, *, first: int = 0) -> None:
        super().__init__(text, first=first)
        self._page = page
        self._missing: set[str] = set()
        self._said: list[str] = []
        self._begun: int | None = None
        self._tables: list[_Table] = []
        self._outer: list[list[str]] = []  # of each table, what was gathered before it
        self._lists: list[int] = []  # numbers of items; -1 for signs

    def shown(self, start: int, end: int, depth: int) -> str:
        """A part as text alone, with the signs of `notation`; what makes pieces of its own is text, too."""
        said, self._said = self._said, []
        begun, counted = self._begun, self._counted
        tables, self._tables = self._tables, [_Table()]
        outer, self._outer = self._outer, []
        self.read(start, end, depth)
        text = "".join(self._said)
        cells = [cell.text for table in self._tables for row in table.rows for cell in row if cell.text]
        self._said, self._begun, self._tables, self._outer, self._counted = said, begun, tables, outer, counted
        return " ".join(filter(None, (*cells, text)))

    def flush(self) -> None:
        """Write down the paragraph that has been gathered."""
        if self._tables:
            self._said.append(" ")
            return
        text = "".join(self._said)
        self._said = []
        if text.strip():
            lines = (" ".join(line.split()) for line in text.split("\n"))
            self._page.outline.text("\n".join(filter(None, lines)), self.line(self._begun or 0))
        self._begun = None

    def _say(self, text: str, at: int) -> None:
        if self._begun is None and text.strip():
            self._begun = at
        self._said.append(text.replace(JOINED, ""))

    def read(self, start: int, end: int, depth: int) -> None:
        """Read a part of the text."""
        at = start
        while at < end:
            match = _TOKEN.search(self.text, at, end)
            if match is None:
                self._say(self.text[at:end], at)
                break
            if match.start() > at:
                self._say(self.text[at : match.start()], at)
            at = self._token(match, end, depth)

    def _token(self, match: re.Match[str], end: int, depth: int) -> int:
        if match["name"]:
            return self._command(match["name"], match, end, depth)
        if match["blank"]:
            self.flush()
        elif match["sign"] is not None:
            return self._sign(match["sign"], match, end, depth)
        elif match["one"] in ("$", "$$"):
            return self._formula(match["one"], match.end(), end)
        elif match["one"] == "&" and self._tables:
            self._cell()
        elif match["one"] not in ("{", "}"):
            self._say(_DASHES.get(match["one"], match["one"]), match.start())
        return match.end()

    def _formula(self, closing: str, at: int, end: int) -> int:
        """Read a formula up to the sign that closes it; without one, it is no formula."""
        after = -1 if closing in self._missing else self.text.find(closing, at, end)
        if after < 0:
            self._missing.add(closing)
            self._say(closing, at)
            return at
        self._say(plain_formula(self.text[at:after]), at)
        return after + len(closing)

    def _sign(self, sign: str, match: re.Match[str], end: int, depth: int) -> int:
        """A command that is a single sign: a line's end, a formula, an accent, or the sign itself."""
        at = match.end()
        if sign == "\\":
            _, after = self.options(at, end)
            if self._tables:
                self._cell()
                self._tables[-1].rows.append([])
            else:
                self._say("\n", at)
            return after
        if sign in "([":
            return self._formula("\\)" if sign == "(" else "\\]", at, end)
        if sign in ACCENTS:
            inner, after = self._argument(at, end, depth)
            self._say(_accented(inner, ACCENTS[sign]), at)
            return after
        self._say(sign if sign in "{}%$#&_" else "" if sign in "/-!@" else " ", match.start())
        return at

    def _argument(self, at: int, end: int, depth: int) -> tuple[str, int]:
        """The argument at a place as text, and the place after it: a group, a command or a sign."""
        at = self.spaces(at, end)
        if at >= end:
            return "", at
        if self.text[at] == "{":
            close = min(self.closing(at), end)
            return (
                self.shown(at + 1, close, depth + 1) if depth < _MAX_DEPTH else self.text[at + 1 : close]
            ), close + 1
        if self.text[at] == "\\":
            match = _TOKEN.match(self.text, at, end)
            stop = match.end() if match else at + 1
            return self.shown(at, stop, depth + 1) if depth < _MAX_DEPTH else "", stop
        return self.text[at], at + 1

    def _command(self, name: str, match: re.Match[str], end: int, depth: int) -> int:
        at = match.end()
        if name in ("begin", "end"):
            found = _BEGIN.match(self.text, at, end)
            if found is None:
                return at
            return (
                self._begin(found[1], found.end(), end, depth)
                if name == "begin"
                else self._end(found[1], found.end())
            )
        if name in self._page.names and depth < _MAX_DEPTH:
            return self._named(name, at, end, depth)
        if name in LEVELS:
            _, at = self.options(at, end)
            title, at = self._argument(at, end, depth)
            self.flush()
            if not self._tables:
                self._lists.clear()
                self._page.outline.leave()
            self._page.outline.heading(title, LEVELS[name], self.line(match.start()))
            return at
        if name in LETTERS:
            self._say(LETTERS[name], match.start())
            return at + 2 * self.text.startswith("{}", at)
        return self._taken(name, at, end, depth)

    def _taken(self, name: str, at: int, end: int, depth: int) -> int:
        """Commands with arguments."""
        if take := _COMMANDS.get(name):
            return take(self, at, end, depth)
        if name in ACCENTS:
            inner, at = self._argument(at, end, depth)
            self._say(_accented(inner, ACCENTS[name]), at)
            return at
        if _FILES.match(name):
            _, at = self.options(at, end)
            file, at = self.raw(at, end)
            self._page.includes.append(file)
            return at
        if _REFERS.match(name) or _CITES.match(name):
            _, at = self.options(at, end)
            _, at = self.options(at, end)
            key, at = self.raw(at, end)
            self._say(f"[{', '.join(key.split(','))}]" if _CITES.match(name) and name != "nocite" else key, at)
            return at
        if name in DROPPED or name.startswith("index"):
            return self.skip(at, end, DROPPED.get(name, 2))
        if name in RULES and self._tables:
            return self.skip(at, end, RULES[name])
        if name not in PLAIN:
            self._page.unknown[f"\\{name}"] += 1
        return self.options(at, end)[1]

    def _named(self, name: str, at: int, end: int, depth: int) -> int:
        """Put in what a name stands for."""
        count, given, body = self._page.names[name]
        said: list[str] = []
        if given is not None:
            option, after = self.options(at, end)
            said.append(option if after > at else given)
            at = after
        while len(said) < count:
            inner, at = self.raw(at, end)
            said.append(inner)
        text = _ARGUMENT.sub(lambda found: said[int(found[1]) - 1] if int(found[1]) <= len(said) else "", body)
        self._page.put_in -= len(text) + 1
        if self._page.put_in < 0:
            self._page.unknown[f"\\{name}"] += 1
            return at
        inner_text = _Text(text, self._page, first=self.line(at))
        self._say(inner_text.shown(0, len(text), depth + 1), at)
        return at

    # What stands between \begin and \end.

    def _begin(self, name: str, at: int, end: int, depth: int) -> int:
        if (
            name in VERBATIM
            or name in FORMULAS
            or name in ALIGNED
            or name in ("comment", "tikzpicture", "pgfpicture", "picture")
        ):
            return self._whole(name, at, end)
        if name in TABLES:
            for _ in range(TABLES[name]):
                _, at = self.options(at, end)
                _, at = self.raw(at, end)
            self.flush()
            self._outer.append(self._said)
            self._said = []
            self._tables.append(_Table())
            return at
        if name in ENDS:
            self.flush()
            _, at = self.options(at, end)
            self._lists.append(0 if name.startswith("enumerate") else -1)
            if name == "thebibliography":
                _, at = self.raw(at, end)
            return at
        self.flush()
        option, at = self.options(at, end)
        if name in BOXED:
            title = f"{BOXED[name]} ({option})" if option else BOXED[name]
            self._page.outline.added.append(title)
            if not self._tables:
                self._page.outline.term(title, self.line(at))
        elif name == "abstract" and not self._tables:
            self._page.outline.added.append("Abstract")
            self._page.outline.heading("Abstract", LEVELS["section"], self.line(at))
        elif name in ("minipage", "multicols", "adjustbox", "wrapfigure"):
            return self.skip(at, end, 1 if name != "wrapfigure" else 2)
        return at

    def _whole(self, name: str, at: int, end: int) -> int:
        """What is read as it is written: code, formulas; and pictures, which are not read."""
        starred = self.text.startswith(f"\\begin{{{name}*}}", at - len(name) - 9)
        closing = f"\\end{{{name}{'*' if starred else ''}}}"
        after = -1 if closing in self._missing else self.text.find(closing, at, end)
        if after < 0:
            self._missing.add(closing)
            return at
        inner = self.text[at:after]
        if name == "comment":
            self._page.left_out["comments"] += 1
        elif name.endswith("picture"):
            self._page.pictures += 1
            self._page.unknown[name] += 1
        elif name in VERBATIM:
            _, skip = self.options(at, end)
            code = plain_code(self.text[skip:after] if "\n" in inner else inner)
            if name == "minted":
                code = code.partition("}")[2]
            if self._tables:
                self._say(code, at)
            else:
                self.flush()
                self._page.outline.code(code.strip("\n"), self.line(at))
        else:
            self.flush()
            self._say(
                plain_formula(inner if name not in ALIGNED or not inner.startswith("{") else inner.partition("}")[2]),
                at,
            )
            self.flush()
        return after + len(closing)

    def _end(self, name: str, at: int) -> int:
        if name in TABLES and self._outer:
            self._cell()
            table = self._tables.pop()
            self._said = self._outer.pop() if self._outer else []
            if self._tables:
                self._said.append(" ".join(cell.text for row in table.rows for cell in row if cell.text))
            else:
                self._page.outline.table(filled(table.rows), self.line(at))
        elif name in ENDS and self._lists:
            self.flush()
            self._lists.pop()
            if not self._tables:
                self._page.outline.leave(len(self._lists))
        else:
            self.flush()
            self._page.outline.end_term()
        return at

    def _cell(self) -> None:
        table = self._tables[-1]
        table.rows[-1].append(Spanning(one_line("".join(self._said)), table.down, table.across))
        table.down = table.across = 1
        self._said = []

    # Commands, by name: each is given the place after it, and returns the place after its arguments.

    def item(self, at: int, end: int, depth: int) -> int:
        """An item of a list, or a term with its meaning."""
        self.flush()
        option, at = self.options(at, end)
        if self._tables or not self._lists:
            self._say(f"• {option} " if not option else f"{option} ", at)
            return at
        if self._lists[-1] >= 0:
            self._lists[-1] += 1
        number = self._lists[-1]
        label = _Text(option, self._page, first=self.line(at)).shown(0, len(option), depth + 1) if option else ""
        if option and len(self._lists) == 1:
            self._page.outline.leave()
            self._page.outline.term(label, self.line(at))
        else:
            self._page.outline.begin_item(
                one_line(label) or (f"{number}." if number > 0 else "-"), min(len(self._lists), 40)
            )
        return at

    def source(self, at: int, end: int, depth: int) -> int:
        """An entry of the list of sources."""
        self.flush()
        label, at = self.options(at, end)
        key, at = self.raw(at, end)
        if not self._tables:
            self._page.outline.leave()
            self._page.outline.term(f"[{label or key}]", self.line(at))
        return at

    def caption(self, at: int, end: int, depth: int) -> int:
        """The caption of a figure or a table."""
        _, at = self.options(at, end)
        text, at = self._argument(at, end, depth)
        self.flush()
        self._say(text, at)
        self.flush()
        return at

    def footnote(self, at: int, end: int, depth: int) -> int:
        """A note, in brackets where it is referred to."""
        _, at = self.options(at, end)
        text, at = self._argument(at, end, depth)
        self._say(f" ({text.strip()})", at)
        return at

    def link(self, at: int, end: int, depth: int) -> int:
        """The words of a link, without its address."""
        _, at = self.raw(at, end)
        text, at = self._argument(at, end, depth)
        self._say(text, at)
        return at

    def address(self, at: int, end: int, depth: int) -> int:
        """What is shown as it is written."""
        text, at = self.raw(at, end)
        self._say(text.replace("\\", ""), at)
        return at

    def code(self, at: int, end: int, depth: int) -> int:
        r"""``\verb|…|``: up to the sign with which it begins."""
        _, at = self.options(at, end)
        if at < end and self.text[at] == "{":
            return self.address(at, end, depth)
        stop = self.text.find(self.text[at], at + 1, min(end, at + 2_000)) if at < end else -1
        if stop < 0:
            return at
        self._say(self.text[at + 1 : stop], at)
        return stop + 1

    def picture(self, at: int, end: int, depth: int) -> int:
        """A picture, which is counted."""
        self._page.pictures += 1
        return self.skip(at, end, 1)

    def raised(self, at: int, end: int, depth: int) -> int:
        """Superscript."""
        text, at = self._argument(at, end, depth)
        self._say(notation.raised(text), at)
        return at

    def lowered(self, at: int, end: int, depth: int) -> int:
        """Subscript."""
        text, at = self._argument(at, end, depth)
        self._say(notation.lowered(text), at)
        return at

    def struck(self, at: int, end: int, depth: int) -> int:
        """Text that is struck out."""
        text, at = self._argument(at, end, depth)
        self._say(notation.struck(text), at)
        return at

    def fraction(self, at: int, end: int, depth: int) -> int:
        """A fraction in running text."""
        above, at = self._argument(at, end, depth)
        below, at = self._argument(at, end, depth)
        self._say(f"{above}/{below}", at)
        return at

    def quantity(self, at: int, end: int, depth: int) -> int:
        """A number with its unit."""
        _, at = self.options(at, end)
        number, at = self._argument(at, end, depth)
        unit, at = self.raw(at, end)
        self._say(f"{plain_number(number)} {plain_unit(unit)}", at)
        return at

    def span(self, at: int, end: int, depth: int) -> int:
        """A number with its unit, from one to another."""
        _, at = self.options(at, end)
        first, at = self._argument(at, end, depth)
        last, at = self._argument(at, end, depth)
        unit, at = self.raw(at, end)
        self._say(f"{plain_number(first)}–{plain_number(last)} {plain_unit(unit)}", at)
        return at

    def unit(self, at: int, end: int, depth: int) -> int:
        """A unit alone."""
        _, at = self.options(at, end)
        unit, at = self.raw(at, end)
        self._say(plain_unit(unit), at)
        return at

    def number(self, at: int, end: int, depth: int) -> int:
        """A number alone."""
        _, at = self.options(at, end)
        number, at = self._argument(at, end, depth)
        self._say(plain_number(number), at)
        return at

    def angle(self, at: int, end: int, depth: int) -> int:
        """An angle in degrees."""
        number, at = self._argument(at, end, depth)
        self._say(f"{number}°", at)
        return at

    def columns(self, at: int, end: int, depth: int) -> int:
        """A cell that covers several columns."""
        count, at = self.raw(at, end)
        _, at = self.raw(at, end)
        text, at = self._argument(at, end, depth)
        if self._tables:
            self._tables[-1].across = covered(count)
        self._say(text, at)
        return at

    def rows(self, at: int, end: int, depth: int) -> int:
        """A cell that covers several rows."""
        _, at = self.options(at, end)
        count, at = self.raw(at, end)
        _, at = self.options(at, end)
        _, at = self.raw(at, end)
        text, at = self._argument(at, end, depth)
        if self._tables:
            self._tables[-1].down = covered(count)
        self._say(text, at)
        return at

    def paragraph(self, at: int, end: int, depth: int) -> int:
        """The end of a paragraph."""
        self.flush()
        return at


_COMMANDS: Mapping[str, Callable[[_Text, int, int, int], int]] = {
    "item": _Text.item, "bibitem": _Text.source, "caption": _Text.caption, "subcaption": _Text.caption,
    "captionof": _Text.link, "footnote": _Text.footnote, "footnotetext": _Text.footnote, "thanks": _Text.footnote,
    "href": _Text.link, "textcolor": _Text.link, "colorbox": _Text.link, "foreignlanguage": _Text.link, "scalebox": _Text.link,
    "raisebox": _Text.link, "parbox": _Text.link, "hyperref": _Text.number, "url": _Text.address, "path": _Text.address,
    "nolinkurl": _Text.address, "verb": _Text.code, "lstinline": _Text.code, "includegraphics": _Text.picture,
    "textsuperscript": _Text.raised, "textsubscript": _Text.lowered, "sout": _Text.struck, "st": _Text.struck,
    "frac": _Text.fraction, "nicefrac": _Text.fraction, "sfrac": _Text.fraction, "SI": _Text.quantity, "qty": _Text.quantity,
    "SIrange": _Text.span, "qtyrange": _Text.span, "si": _Text.unit, "unit": _Text.unit, "num": _Text.number, "ang": _Text.angle,
    "multicolumn": _Text.columns, "multirow": _Text.rows, "par": _Text.paragraph, "newpage": _Text.paragraph,
    "clearpage": _Text.paragraph,
}  # fmt: skip


def _accented(text: str, mark: str) -> str:
    text = text.strip() or " "
    return unicodedata.normalize("NFC", {"ı": "i", "ȷ": "j"}.get(text[0], text[0]) + mark) + text[1:]
