"""Pieces of a text whose structure is read line by line: headings, nested lists, terms with what they mean, code, tables.

What reads reStructuredText, AsciiDoc or TeX says what it meets, in order, and where; this makes the same text of it as of a page
of HTML: an option stays with its description, a box says what it is, and an item of a list stands below its list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from wenyuan.readers import notation
from wenyuan.readers.assemble import Piece
from wenyuan.readers.markup import Spanning, table_piece

MAX_DEPTH = 40
"""Lists, boxes and quotations within one another; what lies deeper is read as text."""
_WIDE = "\u2e80"
_BOXES = {
    "note": ("Note", "注"), "tip": ("Tip", "提示"), "warning": ("Warning", "警告"), "caution": ("Caution", "小心"),
    "important": ("Important", "重要"), "danger": ("Danger", "危险"), "attention": ("Attention", "注意"),
    "error": ("Error", "错误"), "hint": ("Hint", "提示"), "seealso": ("See also", "参见"), "todo": ("Todo", "待办"),
    "info": ("Info", "信息"), "success": ("Success", "成功"),
}  # fmt: skip


def box_names() -> frozenset[str]:
    """The kinds of boxes that are known: ``note``, ``warning`` …"""
    return frozenset(_BOXES)


class Outline:
    """Gathers the pieces of a document.

    Attributes:
        added: What was put into the text on purpose: labels of boxes, signs between a term and its meaning.

    Args:
        chinese: Whether boxes are called by their Chinese names.
    """

    def __init__(self, *, chinese: bool = False) -> None:
        self.pieces: list[Piece] = []
        self.added: list[str] = []
        self._chinese = chinese
        self._depth = 0  # of the list that is open
        self._mark = ""  # of the item that has no text yet
        self._term = ""  # that has no meaning yet
        self._term_line: int | None = None
        self._lines: list[str] = []  # of the list
        self._first: int | None = None

    def first_heading(self) -> str:
        """The text of the first heading; ``""`` without one."""
        return next((piece.text for piece in self.pieces if piece.kind == "heading"), "")

    def heading(self, text: str, level: int, line: int | None = None) -> None:
        """A heading; `level` is 1 for the outermost."""
        self.end()
        if shown := one_line(text):
            self.pieces.append(Piece("heading", shown, level=level, line=line))

    def text(self, text: str, line: int | None = None) -> None:
        """A paragraph; within a list a line of it, and after a term what that means."""
        shown = notation.plain(text).strip()
        if not shown:
            return
        if self._term:
            shown, line = self._defined(shown), self._term_line or line
        if self._depth:
            self._listed(" ".join(shown.split()), line)
            return
        self._close()
        self.pieces.append(Piece("paragraph", shown, line=line))

    def code(self, text: str, line: int | None = None) -> None:
        """Code or any other text whose lines and spaces count."""
        if text.strip():
            self._settle()
            self._close()
            self.pieces.append(Piece("code", text.rstrip(), line=line))

    def table(self, rows: Sequence[Sequence[Spanning]], line: int | None = None) -> None:
        """A table; its cells are plain text with the signs of `notation`."""
        plain = [[cell._replace(text=one_line(cell.text)) for cell in row] for row in rows]
        piece, repeated = table_piece(plain)
        self.added.append(repeated)
        if piece.text.strip():
            self._settle()
            self._close()
            self.pieces.append(replace(piece, line=line))

    def term(self, text: str, line: int | None = None) -> None:
        """A term, an option or a signature, whose meaning is the next text; several of them share it."""
        if not (shown := one_line(text)):
            return
        if self._term:
            self.added.append(",")
        else:
            self._term_line = line
        self._term = f"{self._term}, {shown}" if self._term else shown

    def box(self, kind: str, title: str = "", line: int | None = None) -> None:
        """The beginning of a box: what it is called stands before its first text."""
        english, chinese = _BOXES.get(kind, (kind.replace("-", " ").capitalize(), kind))
        name = chinese if self._chinese else english
        self.added.append(name)
        if title:
            self.added.append(":")
            name = f"{name}{'：' if self._chinese else ': '}{one_line(title)}"
        self._settle()
        self.term(name, line)

    @contextmanager
    def item(self, mark: str) -> Iterator[None]:
        """An item of a list within the one that is open, with the sign before it: ``-``, ``1.``."""
        self.begin_item(mark, self._depth + 1)
        yield
        self.leave(self._depth - 1)

    def begin_item(self, mark: str, depth: int) -> None:
        """Begin an item of a list that lies `depth` lists deep."""
        self._settle()
        self._mark = "  " * (depth - 1) + f"{mark} "
        self._depth = depth

    def leave(self, depth: int = 0) -> None:
        """End the lists that lie deeper."""
        if depth == self._depth and not self._mark:
            return
        self._settle()
        self._mark = ""
        self._depth = depth

    def end_term(self) -> None:
        """What comes next says nothing of the term before it."""
        self._settle()

    def end(self) -> None:
        """Write down what is still open."""
        self._settle()
        self._close()

    def _defined(self, meaning: str) -> str:
        """A term with its meaning, as of a list of definitions on a page."""
        term, self._term = self._term, ""
        if not meaning:
            return term
        colon = " " if term.endswith((":", "：")) else "：" if term[-1] >= _WIDE else ": "
        self.added.append(colon)
        return f"{term}{colon}{meaning}"

    def _settle(self) -> None:
        """A term without a meaning stands alone."""
        if self._term:
            line, shown = self._term_line, self._defined("")
            if self._depth:
                self._listed(shown, line)
            else:
                self._close()
                self.pieces.append(Piece("paragraph", shown, line=line))

    def _listed(self, text: str, line: int | None) -> None:
        self._first = line if not self._lines else self._first
        self._lines.append((self._mark or "  " * self._depth) + text)
        self._mark = ""

    def _close(self) -> None:
        """Write down the list, or the part of it before something that is no text."""
        if self._lines:
            text = "\n".join(self._lines)
            self.pieces.append(Piece("list", text, line=self._first))
            self._lines = []


def one_line(text: str) -> str:
    """Text with signs of `notation` as plain text on one line."""
    return " ".join(notation.plain(text).split())


def is_chinese(text: str) -> bool:
    """Whether a good part of a text, by its first characters, is Chinese."""
    head = text[:20_000]
    return sum("\u4e00" <= char <= "\u9fff" for char in head) * 8 > len(head)
