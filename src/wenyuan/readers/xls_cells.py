"""XLS: one stream of records, 2 bytes for what they are and 2 for their length ([MS-XLS] 2.1.4)."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

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
    BinaryCell,
    cell_texts,
    rk,
)
from wenyuan.readers.xlsx_cells import ShownCells


def shown_of_xls(content: bytes) -> list[ShownCells]:
    """What the sheets of a workbook of Excel 97 to 2003 show, in its order.

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


def _sheets_of_xls(stream: bytes) -> Iterator[ShownCells]:
    formats = dict(number_formats.BUILT_IN)
    styles: list[int] = []
    places: list[int] = []
    since_1904 = wide = False
    for kind, body in _records(stream, 0):
        if kind in BOF:
            wide = body[:2] == struct.pack("<H", BIFF8)
        elif kind == FORMAT:
            formats[struct.unpack_from("<H", body)[0]] = _text_of_xls(body[2:], wide)
        elif kind == XF and len(styles) < MAX_STYLES:
            styles.append(struct.unpack_from("<H", body, 2)[0])
        elif kind == DATES:
            since_1904 = body[:1] == b"\1"
        elif kind == SHEET:
            places.append(struct.unpack_from("<I", body)[0])
        elif kind == EOF:
            break
    codes = [formats.get(form, "") for form in styles]
    for place in places:
        yield cell_texts(_cells_of_xls(stream, place), codes, since_1904)


def _text_of_xls(body: bytes, wide: bool) -> str:
    if not wide:
        return body[1 : 1 + body[0]].decode("cp1252", "replace")
    (count,), two = struct.unpack_from("<H", body), body[2] & 1
    return body[3 : 3 + count * (1 + two)].decode("utf-16-le" if two else "latin-1", "replace")


def _cells_of_xls(stream: bytes, place: int) -> Iterator[BinaryCell]:
    depth = 0
    for kind, body in _records(stream, place):
        if kind in BOF:
            depth += 1
        elif kind == EOF:
            depth -= 1
            if depth <= 0:
                return
        elif kind in (NUMBER, RK, RKS, FORMULA) and depth == 1:
            yield from _numbers_of_xls(kind, body)


def _numbers_of_xls(kind: int, body: bytes) -> Iterator[BinaryCell]:
    row, column, style = struct.unpack_from("<HHH", body)
    if kind == RKS:
        for number, at in enumerate(range(4, len(body) - 6, 6)):
            own, packed = struct.unpack_from("<HI", body, at)
            yield BinaryCell(row, column + number, own, rk(packed))
    elif kind == RK:
        yield BinaryCell(row, column, style, rk(struct.unpack_from("<I", body, 6)[0]))
    elif kind == NUMBER or body[12:14] != b"\xff\xff":  # else a text, a truth or an error
        yield BinaryCell(row, column, style, struct.unpack_from("<d", body, 6)[0])
