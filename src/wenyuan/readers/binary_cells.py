"""The numbers of binary workbooks as their sheets show them: records of XLS (BIFF) and of XLSB, with the formats of cells."""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wenyuan.readers import number_formats
from wenyuan.readers.markup import beside, local, parse_xml
from wenyuan.readers.xlsx_cells import ShownCells, displayed

_MAX_STYLES = 65_536
_STREAMS = ("Workbook", "Book")
_BOF, _EOF, _BIFF8 = (0x0809, 0x0409, 0x0209, 0x0009), 0x000A, 0x0600
_FORMAT, _XF, _DATES, _SHEET = 0x041E, 0x00E0, 0x0022, 0x0085
_NUMBER, _RK, _RKS, _FORMULA = 0x0203, 0x027E, 0x00BD, 0x0006


class _Cell(NamedTuple):
    row: int
    column: int
    style: int
    value: float


def _shown(cells: Iterator[_Cell], codes: Sequence[str], since_1904: bool) -> ShownCells:
    found = ShownCells({}, [])
    for cell in cells:
        code = codes[cell.style] if cell.style < len(codes) else ""
        if code and code.lower() != "general":
            text = displayed(cell.value, code, since_1904=since_1904)
            found.texts.setdefault(cell.row, []).append((cell.column, text))
    return found


def _rk(packed: int) -> float:
    """A number in 30 bits ([MS-XLS] 2.5.217): whole or the upper half of a double, perhaps in hundredths."""
    if packed & 2:
        value = float((packed >> 2) - (1 << 30) * (packed >> 31))
    else:
        (value,) = struct.unpack("<d", struct.pack("<Q", (packed & 0xFFFFFFFC) << 32))
    return value / 100 if packed & 1 else value


# XLS: one stream of records, 2 bytes for what they are and 2 for their length ([MS-XLS] 2.1.4).


def shown_of_xls(content: bytes) -> list[ShownCells]:
    """What the sheets of a workbook of Excel 97 to 2003 show, in its order.

    Raises:
        ValueError: it is damaged.
    """
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            name = next((each for each in _STREAMS if file.exists(each)), "")
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
        if kind in _BOF:
            wide = body[:2] == struct.pack("<H", _BIFF8)
        elif kind == _FORMAT:
            formats[struct.unpack_from("<H", body)[0]] = _text_of_xls(body[2:], wide)
        elif kind == _XF and len(styles) < _MAX_STYLES:
            styles.append(struct.unpack_from("<H", body, 2)[0])
        elif kind == _DATES:
            since_1904 = body[:1] == b"\1"
        elif kind == _SHEET:
            places.append(struct.unpack_from("<I", body)[0])
        elif kind == _EOF:
            break
    codes = [formats.get(form, "") for form in styles]
    for place in places:
        yield _shown(_cells_of_xls(stream, place), codes, since_1904)


def _text_of_xls(body: bytes, wide: bool) -> str:
    if not wide:
        return body[1 : 1 + body[0]].decode("cp1252", "replace")
    (count,), two = struct.unpack_from("<H", body), body[2] & 1
    return body[3 : 3 + count * (1 + two)].decode("utf-16-le" if two else "latin-1", "replace")


def _cells_of_xls(stream: bytes, place: int) -> Iterator[_Cell]:
    depth = 0
    for kind, body in _records(stream, place):
        if kind in _BOF:
            depth += 1
        elif kind == _EOF:
            depth -= 1
            if depth <= 0:
                return
        elif kind in (_NUMBER, _RK, _RKS, _FORMULA) and depth == 1:
            yield from _numbers_of_xls(kind, body)


def _numbers_of_xls(kind: int, body: bytes) -> Iterator[_Cell]:
    row, column, style = struct.unpack_from("<HHH", body)
    if kind == _RKS:
        for number, at in enumerate(range(4, len(body) - 6, 6)):
            own, packed = struct.unpack_from("<HI", body, at)
            yield _Cell(row, column + number, own, _rk(packed))
    elif kind == _RK:
        yield _Cell(row, column, style, _rk(struct.unpack_from("<I", body, 6)[0]))
    elif kind == _NUMBER or body[12:14] != b"\xff\xff":  # else a text, a truth or an error
        yield _Cell(row, column, style, struct.unpack_from("<d", body, 6)[0])


# XLSB: parts of records, whose number and length are written in 7 bits a byte ([MS-XLSB] 2.1.4).

_ROW, _B_RK, _B_NUMBER, _B_FORMULA = 0, 2, 5, 9
_B_FORMAT, _B_XF, _B_SHEET, _B_WORKBOOK = 44, 47, 156, 153
_B_XFS, _B_XFS_END = 617, 618


def shown_of_xlsb(content: bytes) -> list[ShownCells]:
    """What the sheets of a binary workbook of Excel 2007 and later show, in its order.

    Raises:
        ValueError: it is damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return list(_sheets_of_xlsb(archive))
    except (struct.error, IndexError, zipfile.BadZipFile) as error:
        raise ValueError(str(error)) from error


def _sheets_of_xlsb(archive: zipfile.ZipFile) -> Iterator[ShownCells]:
    entries = {name.lower(): name for name in archive.namelist()}

    def part(name: str) -> bytes:
        return archive.read(entries[name.lower()]) if name.lower() in entries else b""

    book = "xl/workbook.bin"
    related = _related(part("xl/_rels/workbook.bin.rels"), book)
    styles = next((name for name in related.values() if posixpath.basename(name).lower() == "styles.bin"), "")
    codes = _codes_of_xlsb(part(styles)) if styles else []
    since_1904, sheets = False, list[str]()
    for kind, body in _binary_records(part(book)):
        if kind == _B_WORKBOOK:
            since_1904 = bool(body[:1] and body[0] & 1)
        elif kind == _B_SHEET:
            sheets.append(related.get(_wide_text(body, 8), ""))
    for sheet in sheets:
        yield _shown(_cells_of_xlsb(part(sheet)), codes, since_1904)


def _related(rels: bytes, book: str) -> Mapping[str, str]:
    if not rels:
        return {}
    nodes = (
        node for node in parse_xml(rels) if local(node) == "Relationship" and node.get("TargetMode") != "External"
    )
    return {node.get("Id", ""): beside(book, node.get("Target", "")) for node in nodes}


def _binary_records(stream: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(stream):
        kind, at = stream[at], at + 1
        if kind & 0x80:
            kind, at = (kind & 0x7F) | (stream[at] & 0x7F) << 7, at + 1
        size = 0
        for shift in range(0, 28, 7):
            byte, at = stream[at], at + 1
            size |= (byte & 0x7F) << shift
            if not byte & 0x80:
                break
        yield kind, stream[at : at + size]
        at += size


def _wide_text(body: bytes, at: int) -> str:
    (count,) = struct.unpack_from("<I", body, at)
    return body[at + 4 : at + 4 + 2 * count].decode("utf-16-le", "replace") if count < 1_000_000 else ""


def _codes_of_xlsb(stream: bytes) -> list[str]:
    formats = dict(number_formats.BUILT_IN)
    found: list[int] = []
    within = False
    for kind, body in _binary_records(stream):
        if kind == _B_FORMAT:
            formats[struct.unpack_from("<H", body)[0]] = _wide_text(body, 2)
        elif kind in (_B_XFS, _B_XFS_END):
            within = kind == _B_XFS
        elif kind == _B_XF and within and len(found) < _MAX_STYLES:
            found.append(struct.unpack_from("<H", body, 2)[0])
    return [formats.get(form, "") for form in found]


def _cells_of_xlsb(stream: bytes) -> Iterator[_Cell]:
    row = 0
    for kind, body in _binary_records(stream):
        if kind == _ROW:
            (row,) = struct.unpack_from("<I", body)
        elif kind in (_B_RK, _B_NUMBER, _B_FORMULA):
            column, style = struct.unpack_from("<II", body)
            number = (
                _rk(struct.unpack_from("<I", body, 8)[0]) if kind == _B_RK else struct.unpack_from("<d", body, 8)[0]
            )
            yield _Cell(row, column, style & 0xFFFFFF, number)
