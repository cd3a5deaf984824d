"""The numbers of binary workbooks as their sheets show them: records of XLS (BIFF) and of XLSB, with the formats of cells."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wenyuan.readers.xlsx_cells import ShownCells, displayed

MAX_STYLES = 65_536
STREAMS = ("Workbook", "Book")
BOF, EOF, BIFF8 = (0x0809, 0x0409, 0x0209, 0x0009), 0x000A, 0x0600
FORMAT, XF, DATES, SHEET = 0x041E, 0x00E0, 0x0022, 0x0085
NUMBER, RK, RKS, FORMULA = 0x0203, 0x027E, 0x00BD, 0x0006


class BinaryCell(NamedTuple):
    row: int
    column: int
    style: int
    value: float


def cell_texts(cells: Iterator[BinaryCell], codes: Sequence[str], since_1904: bool) -> ShownCells:
    found = ShownCells({}, [])
    for cell in cells:
        code = codes[cell.style] if cell.style < len(codes) else ""
        if code and code.lower() != "general":
            text = displayed(cell.value, code, since_1904=since_1904)
            found.texts.setdefault(cell.row, []).append((cell.column, text))
    return found


def rk(packed: int) -> float:
    """A number in 30 bits ([MS-XLS] 2.5.217): whole or the upper half of a double, perhaps in hundredths."""
    if packed & 2:
        value = float((packed >> 2) - (1 << 30) * (packed >> 31))
    else:
        (value,) = struct.unpack("<d", struct.pack("<Q", (packed & 0xFFFFFFFC) << 32))
    return value / 100 if packed & 1 else value
