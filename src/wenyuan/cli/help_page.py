"""A page of help as a terminal shows it: one language, lines within its width, where a Chinese character takes two columns."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand, TyperGroup

from wenyuan.i18n.translation import in_language

_WIDEST, _NARROWEST = 80, 40  # columns of a page
_WORD = re.compile(r"""\s*(?:"[^"]*"|'[^']*'|[^\s"'])+""")
_FIRST = 30  # columns at most of a list's first column


def in_lines(text: str, example: str) -> str:
    """A help text whose example keeps its lines: the mark of the parser's library stands before it."""
    said, mark, lines = text.partition(example)
    return f"{said.rstrip()}\n\n\b\n{mark}{lines}" if mark else text


class HelpPage:
    """What the parser's library writes a help page into: it has the methods that it calls."""

    def __init__(self, language: str) -> None:
        self.width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST)) - 1
        self._words = in_language("help_words.json", language)
        self._indent = 0
        self._lines: list[str] = []

    def getvalue(self) -> str:
        """The page."""
        return "\n".join(self._lines) + "\n"

    def write_usage(self, prog: str, args: str = "") -> None:
        """How a command is called."""
        pieces = " ".join(self._words.get(piece, piece) for piece in args.split())
        before = f"{self._words.get('Usage', 'Usage')}: {prog} "
        from wenyuan.cli.wrapping import cells

        self._lines += self._hanging(before, pieces, cells(before) if cells(before) <= 2 * _FIRST else 8)

    def write_paragraph(self) -> None:
        """An empty line."""
        self._lines.append("")

    def write_text(self, text: str) -> None:
        """Paragraphs; one that begins with the mark of the parser's library for it keeps its lines."""
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write_paragraph()
            first, _, rest = paragraph.partition("\n")
            if first.strip() == "\b":
                for line in rest.split("\n"):
                    self._lines += [
                        " " * self._indent + part for part in commands_of(line, self.width - self._indent)
                    ]
            else:
                self._lines += self._hanging(" " * self._indent, " ".join(paragraph.split()), self._indent)

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """A list of names, with what is said of each."""
        from wenyuan.cli.wrapping import cells

        first = min(max(cells(name) for name, _ in rows), _FIRST) + 2
        for name, said in rows:
            before = f"{' ' * self._indent}{name}"
            at = self._indent + first
            if cells(name) + 2 > first:
                self._lines.append(before)
                before = ""
            self._lines += self._hanging(before + " " * (at - cells(before)), self._noted(said), at)

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """A part of the page with a heading."""
        self.write_paragraph()
        self._lines.append(f"{self._words.get(name, name)}:")
        with self.indentation():
            yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        """Lines that stand further to the right."""
        self._indent += 2
        try:
            yield
        finally:
            self._indent -= 2

    def _noted(self, said: str) -> str:
        """What is said, with the notes in brackets at its end in the page's language."""
        if said in self._words:
            return self._words[said]
        text, bracket, notes = said.rpartition("[")
        if not bracket or not notes.endswith("]"):
            return said
        told = []
        for note in notes[:-1].split("; "):
            word, colon, value = note.partition(": ")
            told.append(self._words.get(word, word) + colon + (self._words.get(value, value) if colon else ""))
        return f"{text}[{'; '.join(told)}]"

    def _hanging(self, before: str, text: str, indent: int) -> list[str]:
        """The text in lines, the first behind `before` and the others behind as many spaces as `indent` says."""
        from wenyuan.cli.wrapping import cells, wrapped

        lines = [
            "".join(piece for piece, _ in line).rstrip() for line in wrapped([(text, False)], self.width - indent - 1)
        ]
        if lines and cells(before) > indent:  # the command's name is long: its arguments stand below it
            return [before.rstrip(), *(" " * indent + line for line in lines)]
        return [before + lines[0], *(" " * indent + line for line in lines[1:])] if lines else [before.rstrip()]


def commands_of(line: str, width: int) -> list[str]:
    """A line of an example, broken as a shell allows where it is wider: between words, never within quotes."""
    from wenyuan.cli.wrapping import cells

    if cells(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    lines, current = [], ""
    for word in _WORD.findall(line):
        if current.strip() and cells(current + word) > width - 2:
            lines.append(f"{current.rstrip()} \\")
            current = indent + word.lstrip()
        else:
            current += word
    return [*lines, current]


def _page_of(command: Any, ctx: Any) -> str:
    page = HelpPage(getattr(ctx.find_root().obj, "language", "en"))
    command.format_help(ctx, page)
    return page.getvalue().rstrip("\n")


class HelpedCommand(TyperCommand):
    """A command whose help is such a page."""

    get_help: Any = _page_of


class HelpedGroup(TyperGroup):
    """A group of commands whose help is such a page."""

    get_help: Any = _page_of
