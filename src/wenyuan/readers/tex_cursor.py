"""A place in the source of a LaTeX file, and what stands after it: groups, options, arguments that show nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wenyuan.readers.markup import Spanning
from wenyuan.readers.tex_source import JOINED, matching

_SPACE = re.compile(r"[ \t\x0b]*\n?[ \t\x0b]*")
_OPTION = re.compile(r"\[((?:[^\[\]\\{}\n]|\\.|\{[^{}]{0,200}\}){0,300})\]")


class TexSource:
    """A text and its brackets: the file's, or what a name stands for.

    Args:
        first: Its line in the file, where it is not the file's.
    """

    def __init__(self, text: str, *, first: int = 0) -> None:
        self.text = text
        self.closings = matching(text)
        self._first = first
        self._counted = (0, 1)

    def line(self, at: int) -> int:
        """The line of a place; places must come in order to be found fast."""
        if self._first:
            return self._first
        before, number = self._counted
        if at < before:
            before, number = 0, 1
        passed = self.text.count("\n", before, at) + self.text.count(JOINED, before, at)
        self._counted = (at, number + passed)
        return self._counted[1]

    def closing(self, at: int) -> int:
        """The place of the bracket that closes the one at a place; the end of the text where there is none."""
        return self.closings.get(at, len(self.text))

    def raw(self, at: int, end: int) -> tuple[str, int]:
        """The argument at a place as it is written."""
        at = self.spaces(at, end)
        if at < end and self.text[at] == "{":
            close = min(self.closing(at), end)
            return self.text[at + 1 : close], close + 1
        return self.text[at : at + 1], at + 1

    def spaces(self, at: int, end: int) -> int:
        match = _SPACE.match(self.text, at, end)
        return match.end() if match else at

    def options(self, at: int, end: int) -> tuple[str, int]:
        """What stands in square brackets at a place; and the place after it."""
        match = _OPTION.match(self.text, at, end)
        return (match[1], match.end()) if match else ("", at)

    def skip(self, at: int, end: int, arguments: int) -> int:
        for _ in range(arguments + 1):
            _, at = self.options(at, end)
            if arguments and self.spaces(at, end) < end and self.text[self.spaces(at, end)] == "{":
                at = min(self.closing(self.spaces(at, end)), end) + 1
                arguments -= 1
        return at


def filled(rows: Sequence[Sequence[Spanning]]) -> list[list[Spanning]]:
    """The rows of a table that hold text, without the empty cells that stand below one that covers several rows."""
    found: list[list[Spanning]] = []
    above: dict[int, int] = {}  # by column: how many rows are still covered
    for row in rows:
        column, kept = 0, []
        for cell in row:
            covered = above.get(column, 0)
            if covered:
                above[column] = covered - 1
            if cell.text or not covered:
                kept.append(cell)
            if cell.down > 1:
                above[column] = cell.down - 1
            column += cell.across
        if any(cell.text for cell in kept):
            found.append(kept)
    return found
