"""XLS: one stream of records, 2 bytes for what they are and 2 for their length ([MS-XLS] 2.1.4)."""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence

from wenyuan.readers import number_formats
from wenyuan.readers.binary_cells import (
    BIFF8,
    BOF,
    DATES,
    EOF,
    FORMAT,
    FORMULA,
    MAX_STYLES,
    NUMBER,
    RK,
    RKS,
    SHEET,
    STREAMS,
    XF,
    BinarySheet,
    BinaryStyle,
    is_white,
    rk,
)
from wenyuan.readers.hidden_cells import Hidden
from wenyuan.readers.xlsx_cells import ShownCells

_FONT, _PALETTE = 0x0031, 0x0092
_ROW, _COLUMNS, _USUAL_ROW, _FILTERED = 0x0208, 0x007D, 0x0225, 0x009B
_TEXTS = frozenset((0x00FD, 0x0204, 0x00D6))  # shared, its own, with fonts within
_TRUTH = 0x0205  # or an error
_COLOURING = frozenset((0x01B0, 0x0879, 0x00EC, 0x00E9, 0x005D, 0x0872))
"""Conditional formats, drawings, objects, the picture of a sheet, its tables."""
_FIRST_OWN = 8  # colours before it are fixed
_FIXED = {1: (255, 255, 255), 9: (255, 255, 255)}
_MISSING_FONT = 4  # no font has this number


def shown_of_xls(content: bytes) -> list[tuple[Hidden, ShownCells]]:
    """What the sheets of a workbook of Excel 97 to 2003 hide and show, in its order.

    Raises:
        ValueError: it is damaged.
    """
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            name = next((each for each in STREAMS if file.exists(each)), "")
            stream = file.openstream(name).read() if name else b""
        return list(_sheets_of_xls(stream))
    except (OSError, struct.error, IndexError) as error:
        raise ValueError(str(error)) from error


def _records(stream: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        yield kind, stream[at + 4 : at + 4 + size]
        at += 4 + size


def _sheets_of_xls(stream: bytes) -> Iterator[tuple[Hidden, ShownCells]]:
    book = _Book()
    for kind, body in _records(stream, 0):
        if kind == EOF:
            break
        book.take(kind, body)
    styles = book.styles()
    for place in book.places:
        sheet = BinarySheet(styles, book.since_1904)
        _read_sheet(stream, place, sheet)
        yield sheet.found()


class _Book:
    """What is said of all sheets of a workbook.

    Attributes:
        places: Where the records of each sheet begin.
    """

    def __init__(self) -> None:
        self.places: list[int] = []
        self.since_1904 = False
        self._wide = False
        self._formats = dict(number_formats.BUILT_IN)
        self._styles: list[bytes] = []
        self._fonts: list[tuple[int, int]] = []  # height and colour
        self._colours = dict(_FIXED)

    def take(self, kind: int, body: bytes) -> None:
        """Take one of its records."""
        if kind in BOF:
            self._wide = body[:2] == struct.pack("<H", BIFF8)
        elif kind == FORMAT:
            self._formats[struct.unpack_from("<H", body)[0]] = _text_of_xls(body[2:], self._wide)
        elif kind == _FONT and len(self._fonts) < MAX_STYLES:
            height, _, colour = struct.unpack_from("<HHH", body)
            self._fonts.append((height, colour))
        elif kind == _PALETTE:
            for at in range(min(struct.unpack_from("<H", body)[0], (len(body) - 2) // 4)):
                self._colours[_FIRST_OWN + at] = (body[2 + 4 * at], body[3 + 4 * at], body[4 + 4 * at])
        elif kind == XF and len(self._styles) < MAX_STYLES:
            self._styles.append(body)
        elif kind == DATES:
            self.since_1904 = body[:1] == b"\1"
        elif kind == SHEET:
            self.places.append(struct.unpack_from("<I", body)[0])

    def styles(self) -> list[BinaryStyle]:
        """The formats of cells; what lies under letters is told from Excel 97 on."""
        whites = {at for at, colour in self._colours.items() if is_white(*colour)} if self._wide else set[int]()
        return [_style(body, self._formats, self._fonts, whites) for body in self._styles]


def _style(
    body: bytes, formats: Mapping[int, str], fonts: Sequence[tuple[int, int]], whites: Collection[int]
) -> BinaryStyle:
    font, form = struct.unpack_from("<HH", body)
    height, colour = fonts[font - (font > _MISSING_FONT)] if font - (font > _MISSING_FONT) < len(fonts) else (0, 0)
    white = False
    if whites and len(body) >= 20:
        pattern, ground = body[17] >> 2, struct.unpack_from("<H", body, 18)[0] & 0x7F
        white = colour in whites and (pattern == 0 or (pattern == 1 and ground in whites))
    return BinaryStyle.of(formats.get(form, ""), white=white, height=height)


def _text_of_xls(body: bytes, wide: bool) -> str:
    if not wide:
        return body[1 : 1 + body[0]].decode("cp1252", "replace")
    (count,), two = struct.unpack_from("<H", body), body[2] & 1
    return body[3 : 3 + count * (1 + two)].decode("utf-16-le" if two else "latin-1", "replace")


def _read_sheet(stream: bytes, place: int, sheet: BinarySheet) -> None:
    depth = 0
    for kind, body in _records(stream, place):
        if kind in BOF:
            depth += 1
        elif kind == EOF:
            depth -= 1
            if depth <= 0:
                return
        elif depth == 1:
            _take(kind, body, sheet)


def _take(kind: int, body: bytes, sheet: BinarySheet) -> None:
    if kind in (NUMBER, RK, RKS, FORMULA):
        _take_number(kind, body, sheet)
    elif kind in _TEXTS:
        sheet.cell(*struct.unpack_from("<HHH", body))
    elif kind == _TRUTH:
        sheet.cell(*struct.unpack_from("<HHH", body), formed=False)
    elif kind == _ROW:
        number, _, _, height = struct.unpack_from("<HHHH", body)
        sheet.row(number, hidden=bool(body[12] & 0x20) or (bool(body[12] & 0x40) and not height))
    elif kind == _COLUMNS:
        first, last, width, _, said = struct.unpack_from("<HHHHH", body)
        sheet.columns(first, last, hidden=bool(said & 1) or not width)
    elif kind == _USUAL_ROW:
        sheet.flat = bool(body[0] & 2)
    elif kind == _FILTERED:
        sheet.filtered = True
    elif kind in _COLOURING:
        sheet.coloured = True


def _take_number(kind: int, body: bytes, sheet: BinarySheet) -> None:
    row, column, style = struct.unpack_from("<HHH", body)
    if kind == RKS:
        for number, at in enumerate(range(4, len(body) - 6, 6)):
            own, packed = struct.unpack_from("<HI", body, at)
            sheet.number(row, column + number, own, rk(packed))
    elif kind == RK:
        sheet.number(row, column, style, rk(struct.unpack_from("<I", body, 6)[0]))
    elif kind == NUMBER or body[12:14] != b"\xff\xff":
        sheet.number(row, column, style, struct.unpack_from("<d", body, 6)[0])
    else:  # a text, a truth or an error
        sheet.cell(row, column, style, formed=body[6] in (0, 3))
