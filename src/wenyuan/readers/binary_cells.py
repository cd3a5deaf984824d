"""The cells of binary workbooks as their sheets show them: records of XLS (BIFF) and of XLSB, with the formats of cells."""

from __future__ import annotations

import struct
from typing import NamedTuple

from wenyuan.readers.hidden_cells import MAX_COLUMNS, MAX_ROWS, Hidden
from wenyuan.readers.xlsx_cells import ShownCells, displayed

MAX_STYLES = 65_536
STREAMS = ("Workbook", "Book")
BOF, EOF, BIFF8 = (0x0809, 0x0409, 0x0209, 0x0009), 0x000A, 0x0600
FORMAT, XF, DATES, SHEET = 0x041E, 0x00E0, 0x0022, 0x0085
NUMBER, RK, RKS, FORMULA = 0x0203, 0x027E, 0x00BD, 0x0006
SMALLEST = 20  # twentieths of a point
_PALEST = 0xF7  # of 255, the least of red, green and blue
_SECTIONS = 4  # of a format: for positive, negative, zero, text


class BinaryStyle(NamedTuple):
    """A format of cells.

    Attributes:
        white: Its letters are white, and it lays nothing else under them.
        tiny: They are too small to be seen.
        empty: Its code shows nothing of numbers and texts.
    """

    code: str = ""
    white: bool = False
    tiny: bool = False
    empty: bool = False

    @classmethod
    def of(cls, code: str, *, white: bool, height: int) -> BinaryStyle:
        """A format by its code and the height of its letters in twentieths of a point; 0 where that is not said."""
        sections = code.split(";")
        nothing = len(sections) == _SECTIONS and not any(each.strip() for each in sections)
        return cls(code, white, 0 < height <= SMALLEST, nothing)


class BinarySheet:
    """A sheet whose records are met one by one.

    Args:
        styles: The formats of the workbook's cells.

    Attributes:
        filtered: Whether a filter is on: rows that it hides are read.
        coloured: Whether something may lie under cells that their formats do not tell.
        flat: Whether rows that say nothing of their height have none.
    """

    def __init__(self, styles: list[BinaryStyle], since_1904: bool) -> None:
        self.filtered = self.coloured = self.flat = False
        self._styles, self._since_1904 = styles, since_1904
        self._texts: dict[int, list[tuple[int, str]]] = {}
        self._unseen: list[tuple[int, int]] = []
        self._white: list[tuple[int, int]] = []
        self._rows: dict[int, bool] = {}  # of those that are told of: whether they are hidden
        self._columns: set[int] = set()
        self._filled: set[int] = set()  # rows with cells

    def row(self, number: int, *, hidden: bool) -> None:
        """A row is met."""
        if 0 <= number < MAX_ROWS:
            self._rows[number] = hidden

    def columns(self, first: int, last: int, *, hidden: bool) -> None:
        """Columns are met, the last one included."""
        if hidden:
            self._columns.update(range(max(first, 0), min(last + 1, MAX_COLUMNS)))

    def cell(self, row: int, column: int, style: int, *, formed: bool = True) -> None:
        """A cell that holds something is met, after its number, if it has one.

        Args:
            formed: Its format forms what it shows: a number or a text, and no truth or error.
        """
        own = self._styles[style] if style < len(self._styles) else BinaryStyle()
        self._filled.add(row)
        if own.tiny or (own.empty and formed):
            self._unseen.append((row, column))
        elif own.white:
            self._white.append((row, column))

    def number(self, row: int, column: int, style: int, value: float) -> None:
        """A cell that holds a number is met."""
        code = self._styles[style].code if style < len(self._styles) else ""
        if code and code.lower() != "general":
            text = displayed(value, code, since_1904=self._since_1904)
            self._texts.setdefault(row, []).append((column, text))
        self.cell(row, column, style)

    def found(self) -> tuple[Hidden, ShownCells]:
        """What is hidden, and what cells show otherwise than their values say."""
        unseen, white = self._unseen, self._white
        if not self.coloured:
            unseen, white = [*unseen, *white], []
        for row, column in unseen:
            self._texts.setdefault(row, []).append((column, ""))
        rows = {row for row, hidden in self._rows.items() if hidden}
        if self.flat:
            rows |= {row for row in self._filled if row not in self._rows}
        shown = ShownCells(self._texts, [], [_place(*each) for each in unseen], [_place(*each) for each in white])
        return Hidden(frozenset() if self.filtered else frozenset(rows), frozenset(self._columns)), shown


def is_white(red: int, green: int, blue: int) -> bool:
    return min(red, green, blue) >= _PALEST


def _place(row: int, column: int) -> str:
    name, number = "", column + 1
    while number > 0:
        number, letter = divmod(number - 1, 26)
        name = chr(65 + letter) + name
    return f"{name}{row + 1}"


def rk(packed: int) -> float:
    """A number in 30 bits ([MS-XLS] 2.5.217): whole or the upper half of a double, perhaps in hundredths."""
    if packed & 2:
        value = float((packed >> 2) - (1 << 30) * (packed >> 31))
    else:
        (value,) = struct.unpack("<d", struct.pack("<Q", (packed & 0xFFFFFFFC) << 32))
    return value / 100 if packed & 1 else value
