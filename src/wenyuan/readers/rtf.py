"""RTF to a `Document`: paragraphs with their numbers, headings, lists, tables and footnotes, in any code page."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.core.text.charsets import charset_of
from wenyuan.core.text.structure import opening
from wenyuan.readers import notation
from wenyuan.readers.assemble import Original, Piece, assemble, left_out_note, lists_joined, rejected
from wenyuan.readers.markup import Spanning, table_piece
from wenyuan.readers.numbered_headings import sectioned
from wenyuan.readers.rtf_concealment import ColourTable, Ink
from wenyuan.readers.text import measured

# An RTF file is groups of control words and text. A control word may open a destination: what its group holds is then no part
# of the text (fonts, styles, pictures), or a part of its own (footnotes). Bytes are in the code page of the font at hand.

_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?[0-9]{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n\0]+|([^\\{}\r\n\0]+)",
    re.DOTALL,
)
_SKIPPING = re.compile(r"[{}]|\\bin(?P<size>[0-9]{1,10}) ?|\\.", re.DOTALL)
_MAX_DEPTH = 1_000
_CODE_PAGES = {
    2: "latin-1", 77: "mac-roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
"""Code pages of a font's ``\\fcharset``; all others have that of the document."""
_SIGNS = {
    "par": "\n\n", "sect": "\n\n", "page": "\n\n", "line": "\n", "tab": "\t", "emdash": "—", "endash": "–", "lquote": "‘",
    "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": "\u2003", "enspace": "\u2002",
    "qmspace": "\u2005", "nestcell": " ", "nestrow": " ",
}  # fmt: skip
_ESCAPED = {"~": "\xa0", "_": "-", "\n": "\n\n", "\r": "\n\n", "{": "{", "}": "}", "\\": "\\"}
_INFO = {"title": "title", "author": "author", "subject": "subject", "keywords": "keywords"}
_RUNNING = frozenset("header headerl headerr headerf footer footerl footerr footerf".split())
_GOALS = (
    frozenset(("fonttbl", "colortbl", "stylesheet", "footnote", "listtext", "pntext", "annotation", "info"))
    | _RUNNING
)
_UNREAD = frozenset(
    "listtable listoverridetable revtbl rsidtbl fldinst objdata nonshppict datafield xmlnstbl themedata "
    "colorschememapping datastore latentstyles pgdsctbl generator atnid atnauthor atntime atndate atnref sp pn pnseclvl "
    "bkmkstart bkmkend filetbl do sv sn mmathPr passwordhash private nesttableprops wgrffmtfilter upr falt panose".split()
)
_READ_ANYWAY = frozenset(("shppict", "shpinst", "shptxt", "footnote", "annotation"))
"""Destinations that old programs may ignore (``\\*``), and that hold text all the same."""
_HEADING = re.compile(r"(?:heading|标题|標題)\s*([1-9])")
_CONTENTS = re.compile(r"toc|目录|目錄")
_BULLETS = re.compile(r"[•·●○■▪◆–—\-*§o\uf000-\uf0ff]")


def read_rtf(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a rich text file.

    Raises:
        DocumentRejected: it nests too deeply, or holds no text.
    """
    text = _Text(name)
    text.read(content.decode("latin-1"))
    document = assemble(
        sectioned(lists_joined(text.pieces)),
        Original(content, uri, name),
        title=text.title or text.info.get("title", ""),
        media_type="application/rtf",
        notes=text.notes(),
        metadata={key: value for key, value in text.info.items() if key != "title" and value},
    )
    comments = text.left_out["comments"]
    warnings = [msg("comments are not read: {count}", count=comments)] if comments else []
    if text.colours.doubtful:
        told = "white text is read, since what lies under it is not known ({count} passages)"
        warnings.append(msg(told, count=text.colours.doubtful))
    return (measured(document, text.source, added=text.added, pictures=text.pictures, warnings=warnings),)


class _State(NamedTuple):
    """Formatting state of a group; restored at its end."""

    goal: str = ""  # the destination: "" is the text itself, "-" nowhere
    font: int = -1
    skip: int = 1  # characters that follow a \u for programs that do not know it
    hidden: bool = False
    deleted: bool = False
    script: str = ""  # the sign of raised or lowered text
    struck: bool = False
    ink: Ink = Ink()


class _Style(NamedTuple):
    name: str
    outline: int | None


@dataclass
class _Paragraph:
    """Properties of the current paragraph."""

    style: int = 0
    outline: int | None = None
    in_table: bool = False
    depth: int = 0
    shading: int = 0  # the place of its colour


@dataclass
class _Row:
    """A table row: its cells, the right edge of each, and whether it is merged with the cell above or before."""

    cells: list[str] = field(default_factory=list)
    ends: list[tuple[int, bool, bool]] = field(default_factory=list)
    shaded: bool = False  # something lies under some of its cells


class _Text:
    """The parser state of one file."""

    def __init__(self, name: str) -> None:
        self.pieces: list[Piece] = []
        self.title = ""
        self.info: dict[str, str] = {}
        self.source: list[str] = []
        self.added: list[str] = []
        self.pictures = 0
        self.left_out: Counter[str] = Counter()
        self.colours = ColourTable()
        self._name = name
        self._code_page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._styles: dict[int, _Style] = {}
        self._default_font = -1
        self._state = _State()
        self._stack: list[tuple[_State, _Paragraph]] = []
        self._bytes = bytearray()  # in the font's code page
        self._units: list[int] = []  # of UTF-16
        self._kept: dict[str, list[str]] = {"": []}  # by destination
        self._font = 0  # whose entry in the table of fonts is read
        self._number = 0  # of the style whose entry is read
        self._outline: int | None = None
        self._paragraph = _Paragraph()
        self._mark = ""
        self._row = _Row()
        self._merged = (False, False)
        self._rows: list[list[tuple[str, int, bool]]] = []
        self._notes: list[str] = []
        self._due: list[str] = []
        self._ignorable = False  # the last token was \*
        self._passed = 0  # characters still to pass over after a \u

    def notes(self) -> tuple[str, ...]:
        return left_out_note(self.left_out)

    def read(self, text: str) -> None:
        """Parse a file, given with its bytes as Latin-1 characters."""
        at = 0
        while at < len(text):
            if self._state.goal == "-":
                at = self._skipped(text, at)
                continue
            token = _TOKEN.match(text, at)
            if token is None:  # a backslash at the very end
                break
            at = token.end()
            at += self._token(token)
        self._finish()

    def _token(self, token: re.Match[str]) -> int:
        """Process a token; returns the number of following bytes that are binary data."""
        word, number, byte, escaped, brace, plain = token.groups()
        if word == "bin":
            return max(int(number or 0), 0)
        if word:
            self._word(word, int(number) if number else None)
        elif byte:
            self._take_bytes(bytes.fromhex(byte), 1)
        elif escaped:
            self._escape(escaped)
        elif brace:
            self._brace(brace)
        elif plain:
            self._take_bytes(plain.encode("latin-1"), len(plain))
        return 0

    def _finish(self) -> None:
        self._flush()
        if self._row.cells:  # a row that never ends
            self._row.cells.append(" ".join(self._taken("").split()))
            self._end_row()
        self._paragraph.in_table = False
        self._end_paragraph()
        self._end_table()

    def _skipped(self, text: str, at: int) -> int:
        """Position of the next relevant token inside a destination that is not read."""
        found = _SKIPPING.search(text, at)
        if found is None:
            return len(text)
        if found[0] in ("{", "}"):
            self._brace(found[0])
        return found.end() + (int(found["size"]) if found["size"] else 0)

    def _brace(self, brace: str) -> None:
        self._flush()
        self._ignorable, self._passed = False, 0
        if brace == "{":
            if len(self._stack) >= _MAX_DEPTH:
                raise rejected("it is nested too deeply", self._name)
            self._stack.append((self._state, replace(self._paragraph)))
            self._number, self._outline = 0, None
        elif self._stack:
            goal = self._state.goal
            self._state, self._paragraph = self._stack.pop()
            if goal == "stylesheet":
                self._take_style()
            elif goal != self._state.goal:
                self._end(goal)

    def _escape(self, sign: str) -> None:
        if sign == "*":
            self._ignorable = True
        elif sign in _ESCAPED:
            self._say(_ESCAPED[sign])

    def _take_bytes(self, content: bytes, count: int) -> None:
        passed = min(self._passed, count)
        self._passed -= passed
        if self._units and passed < count:
            self._flush()
        self._bytes += content[passed:]

    def _say(self, text: str) -> None:
        """Add text that is written as a control word."""
        if self._passed:
            self._passed -= 1
            return
        self._flush()
        self._keep(text)

    def _flush(self) -> None:
        """Decode the bytes collected so far."""
        if self._bytes:
            font = self._default_font if self._state.font < 0 else self._state.font
            page = self._fonts.get(font) or self._code_page
            self._keep(bytes(self._bytes).decode(page, "replace"))
            self._bytes.clear()
        if self._units:
            packed = b"".join(unit.to_bytes(2, "little") for unit in self._units)
            self._keep(packed.decode("utf-16-le", "replace"))
            self._units.clear()

    def _keep(self, text: str) -> None:
        """Add text to the current destination; ends paragraphs of the main text."""
        state = self._state
        if state.goal in ("fonttbl", "info"):
            return
        if state.goal == "colortbl":
            self.colours.end(text)
            return
        if state.goal in _INFO or state.goal == "stylesheet":
            self._kept.setdefault(state.goal, []).append(text)
            return
        self.source.append(text)
        if text.strip() and (signs := state.script + notation.OUT * state.struck):
            text = f"{signs}{text}{notation.END * len(signs)}"
        if state.goal in _RUNNING or state.goal == "annotation":
            self._kept.setdefault(state.goal, []).append(text)
        elif why := self._unseen(text):
            self.left_out[why] += bool(text.strip())
        elif state.goal in ("listtext", "pntext"):
            self._mark += text
        elif state.goal == "footnote":
            self._kept.setdefault("footnote", []).append(text.replace("\n\n", " "))
        elif text == "\n\n":
            self._end_paragraph()
        else:
            self._kept[""].append(text)

    def _unseen(self, text: str) -> str:
        """Why a text is not seen where it stands, as a note counts it; ``""`` where it is."""
        if self._state.hidden or self._state.deleted:
            return "hidden passages" if self._state.hidden else "deleted passages"
        if not text.strip():
            return ""
        cell = -1 if self._paragraph.in_table and self._row.shaded else 0
        return self.colours.unseen(self._state.ink, self._paragraph.shading or cell)

    def _word(self, word: str, number: int | None) -> None:
        ignorable, self._ignorable = self._ignorable, False
        self.colours.note(word, number)
        if word in _SIGNS:
            self._say(_SIGNS[word])
        elif word == "u":
            self._unicode(number or 0)
        elif self._passed and word not in ("uc",):
            self._passed -= 1
        elif not (self._opens(word, ignorable) or self._of_ink(word, number) or self._of_text(word, number)):
            self._of_file(word, number)

    def _unicode(self, number: int) -> None:
        if self._bytes:
            self._flush()
        self._units.append(number & 0xFFFF)
        self._passed = self._state.skip

    def _opens(self, word: str, ignorable: bool) -> bool:
        """Whether a control word opens a destination; handles it if so."""
        goal = self._state.goal
        if word == "pict":
            self.pictures += goal not in _RUNNING
            goal = "-"
        elif word in _UNREAD:
            goal = "-"
        elif word in _GOALS or (word in _INFO and goal == "info"):
            goal = word
        elif ignorable and word not in _READ_ANYWAY:
            goal = "-" if goal not in ("fonttbl", "stylesheet") else goal
        else:
            return False
        self._flush()
        self._state = self._state._replace(goal=goal)
        return True

    def _of_ink(self, word: str, number: int | None) -> bool:
        """Whether a control word says no more than how letters are coloured; applies it in any case."""
        paragraph = self._paragraph
        if (ink := self._state.ink.set(word, number)) is not None:
            self._flush()
            self._state = self._state._replace(ink=ink)
            return word != "plain"
        if word in ("red", "green", "blue") and self._state.goal == "colortbl":
            self._flush()
            self.colours.set(word, number)
        elif word in ("cbpat", "shading"):
            self._flush()
            paragraph.shading = (number or 0) if word == "cbpat" and paragraph.shading >= 0 else -1 if number else 0
        elif word in ("clcbpat", "clcfpat", "clshdng", "trcbpat"):
            self._row.shaded |= bool(number)
        else:
            return False
        return True

    def _of_text(self, word: str, number: int | None) -> bool:
        """Whether a control word sets a property of text or paragraph; applies it if so."""
        on = number != 0
        state, paragraph = self._state, self._paragraph
        if word in (
            "f",
            "v",
            "deleted",
            "uc",
            "plain",
            "super",
            "sub",
            "nosupersub",
            "up",
            "dn",
            "strike",
            "striked",
        ):
            self._flush()
            if word == "f" and state.goal == "fonttbl":
                self._font = number or 0
            raised = {"script": notation.UP * (number != 0)}
            lowered = {"script": notation.DOWN * (number != 0)}
            changes: dict[str, dict[str, Any]] = {
                "f": {"font": number or 0}, "v": {"hidden": on}, "deleted": {"deleted": on}, "uc": {"skip": max(number or 0, 0)},
                "plain": {"font": self._default_font, "hidden": False, "deleted": False, "script": "", "struck": False},
                "super": raised, "up": raised, "sub": lowered, "dn": lowered, "nosupersub": {"script": ""},
                "strike": {"struck": on}, "striked": {"struck": on},
            }  # fmt: skip
            self._state = state._replace(**changes[word])
        elif word == "pard":
            self._paragraph = _Paragraph()
        elif word == "s":
            paragraph.style = self._number = number or 0
        elif word == "outlinelevel":
            paragraph.outline = self._outline = number
        elif word == "ilvl":
            paragraph.depth = min(max(number or 0, 0), 8)
        elif word == "intbl":
            paragraph.in_table = True
        else:
            return self._of_table(word, number)
        return True

    def _of_table(self, word: str, number: int | None) -> bool:
        if word == "trowd":
            self._row.ends, self._merged, self._row.shaded = [], (False, False), False
        elif word in ("clvmrg", "clmrg"):
            self._merged = (self._merged[0] or word == "clvmrg", self._merged[1] or word == "clmrg")
        elif word == "cellx":
            self._row.ends.append((number or 0, *self._merged))
            self._merged = (False, False)
        elif word == "cell":
            self._flush()
            text = self._taken("")
            self._row.cells.append(" ".join(f"{self._mark} {text}".split()))
            self._mark = ""
        elif word == "row":
            self._flush()
            self._end_row()
        else:
            return False
        return True

    def _of_file(self, word: str, number: int | None) -> None:
        if word == "ansicpg" and number:
            self._code_page = "gb18030" if number in (936, 54936) else charset_of(f"cp{number}") or "cp1252"
        elif word in ("mac", "pc", "pca"):
            self._code_page = {"mac": "mac-roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word == "deff":
            self._default_font = number or 0
        elif word == "fcharset" and number in _CODE_PAGES:
            self._fonts[self._font] = _CODE_PAGES[number]

    def _end(self, goal: str) -> None:
        """Finish a destination."""
        text = " ".join(self._taken(goal).split()) if goal else ""
        if goal in _INFO:
            self.info[_INFO[goal]] = text[:500]
        elif goal == "footnote" and text:
            self._notes.append(text)
            number = f"[{len(self._notes)}]"
            self.added.append(number * 2)
            self._kept[""].append(number)
            self._due.append(f"{number} {text}")
        elif goal in _RUNNING:
            self.left_out["running heads and feet"] += bool(text)
        elif goal == "annotation":
            self.left_out["comments"] += bool(text)

    def _take_style(self) -> None:
        """Finish an entry of the style table."""
        name = unicodedata.normalize("NFKC", self._taken("stylesheet").partition(";")[0]).strip().lower()
        if name:
            self._styles[self._number] = _Style(name, self._outline)

    def _taken(self, goal: str) -> str:
        text = notation.plain("".join(self._kept.get(goal, ())))
        self._kept[goal] = []
        return text

    def _end_paragraph(self) -> None:
        """Turn the current paragraph into a piece; within a table the cell continues."""
        text, paragraph = self._taken(""), self._paragraph
        if paragraph.in_table:
            self._kept[""] = [text, " "]
            return
        mark, self._mark = " ".join(self._mark.split()), ""
        if text.strip():
            self._end_table()
            if _CONTENTS.match(self._styles.get(paragraph.style, _Style("", None)).name):
                self.left_out["lines of the table of contents"] += 1
            else:
                self.pieces.append(self._piece(text, mark, paragraph))
        self.pieces += (Piece("paragraph", note) for note in self._due)
        self._due = []

    def _piece(self, text: str, mark: str, paragraph: _Paragraph) -> Piece:
        style = self._styles.get(paragraph.style, _Style("", None))
        outline = style.outline if paragraph.outline is None else paragraph.outline
        named = _HEADING.match(style.name)
        shown = f"{mark} {text}" if mark else text
        if style.name in ("title", "标题", "標題") and outline is None:
            self.title = self.title or " ".join(text.split())
            outline = 0
        if named or (outline is not None and 0 <= outline < 9):
            return Piece("heading", " ".join(shown.split()), level=int(named[1]) if named else (outline or 0) + 1)
        if mark and _BULLETS.fullmatch(mark):
            return Piece("list", f"{'  ' * paragraph.depth}- {' '.join(text.split())}")
        article = opening(shown)
        if mark and (article is None or article.kind in ("point", "clause")):
            return Piece("list", f"{'  ' * paragraph.depth}{' '.join(shown.split())}")
        return Piece("paragraph", shown)

    def _end_row(self) -> None:
        row = self._row
        ends = row.ends + [(0, False, False)] * (len(row.cells) - len(row.ends))
        self._rows.append(
            [(text, end, down) for text, (end, down, beside) in zip(row.cells, ends, strict=False) if not beside]
        )
        row.cells = []
        self._kept[""] = []

    def _end_table(self) -> None:
        above: dict[int, str] = {}
        rows = []
        for row in self._rows:
            cells = []
            for text, end, goes_on in row:
                shown = text or above.get(end, "") if goes_on else text
                if shown != text:
                    self.added.append(shown)
                above[end] = shown
                cells.append(Spanning(shown))
            rows.append(cells)
        self._rows = []
        if rows:
            self.pieces.append(table_piece(rows)[0])
            self.pieces += (Piece("paragraph", note) for note in self._due)
            self._due = []
