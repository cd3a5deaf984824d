"""XLSB: parts of records, whose number and length are written in 7 bits a byte ([MS-XLSB] 2.1.4)."""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
from collections.abc import Iterator, Mapping

from wenyuan.readers import number_formats
from wenyuan.readers.binary_cells import MAX_STYLES, BinarySheet, BinaryStyle, is_white, rk
from wenyuan.readers.hidden_cells import Hidden
from wenyuan.readers.markup import beside, local, parse_xml
from wenyuan.readers.xlsx_cells import ShownCells

_ROW, _B_RK, _B_NUMBER, _B_FORMULA = 0, 2, 5, 9
_TEXTS = frozenset((6, 7, 8))  # texts, shared ones, what formulas come to
_TRUTHS = frozenset((3, 4, 10, 11))  # and errors
_FONT, _FILL, _COLUMNS, _USUAL_ROW, _FILTERED = 43, 45, 60, 485, 163
_COLOURING = frozenset((461, 550, 551, 562, 661))
"""Conditional formats, drawings, comments, the picture of a sheet, its tables."""
_INDEXED_WHITES = (1, 9, 65)
_B_FORMAT, _B_XF, _B_SHEET, _B_WORKBOOK = 44, 47, 156, 153
_B_XFS, _B_XFS_END = 617, 618


def shown_of_xlsb(content: bytes) -> list[tuple[Hidden, ShownCells]]:
    """What the sheets of a binary workbook of Excel 2007 and later hide and show, in its order.

    Raises:
        ValueError: it is damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return list(_sheets_of_xlsb(archive))
    except (struct.error, IndexError, zipfile.BadZipFile) as error:
        raise ValueError(str(error)) from error


def _sheets_of_xlsb(archive: zipfile.ZipFile) -> Iterator[tuple[Hidden, ShownCells]]:
    entries = {name.lower(): name for name in archive.namelist()}

    def part(name: str) -> bytes:
        return archive.read(entries[name.lower()]) if name.lower() in entries else b""

    book = "xl/workbook.bin"
    related = _related(part("xl/_rels/workbook.bin.rels"), book)
    styles = next((name for name in related.values() if posixpath.basename(name).lower() == "styles.bin"), "")
    formats = _styles_of_xlsb(part(styles)) if styles else []
    since_1904, sheets = False, list[str]()
    for kind, body in _binary_records(part(book)):
        if kind == _B_WORKBOOK:
            since_1904 = bool(body[:1] and body[0] & 1)
        elif kind == _B_SHEET:
            sheets.append(related.get(_wide_text(body, 8), ""))
    for sheet in sheets:
        found = BinarySheet(formats, since_1904)
        _read_sheet(part(sheet), found)
        yield found.found()


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


def _styles_of_xlsb(stream: bytes) -> list[BinaryStyle]:
    formats = dict(number_formats.BUILT_IN)
    fonts: list[tuple[int, bool]] = []  # height, and whether they are white
    bare: list[bool] = []  # of fills: whether each shows nothing but white
    found: list[BinaryStyle] = []
    within = False
    for kind, body in _binary_records(stream):
        if kind == _B_FORMAT:
            formats[struct.unpack_from("<H", body)[0]] = _wide_text(body, 2)
        elif kind == _FONT:
            fonts.append((struct.unpack_from("<H", body)[0], _is_white(body[12:20])))
        elif kind == _FILL:
            pattern = struct.unpack_from("<I", body)[0]
            bare.append(pattern == 0 or (pattern == 1 and _is_white(body[4:12])))
        elif kind in (_B_XFS, _B_XFS_END):
            within = kind == _B_XFS
        elif kind == _B_XF and within and len(found) < MAX_STYLES:
            form, font, fill = struct.unpack_from("<HHH", body, 2)
            height, white = fonts[font] if font < len(fonts) else (0, False)
            plain = bare[fill] if fill < len(bare) else True
            found.append(BinaryStyle.of(formats.get(form, ""), white=white and plain, height=height))
    return found


def _is_white(colour: bytes) -> bool:
    """Whether a colour is white ([MS-XLSB] 2.5.4): by its red, green and blue, or by a place in the usual tables."""
    if len(colour) < 8:
        return False
    kind, index = colour[0] >> 1, colour[1]
    if colour[0] & 1:
        return is_white(*colour[4:7])
    tint = struct.unpack_from("<h", colour, 2)[0]
    return (kind == 1 and index in _INDEXED_WHITES) or (kind == 3 and index == 0 and not tint)


def _read_sheet(stream: bytes, sheet: BinarySheet) -> None:
    row = 0
    for kind, body in _binary_records(stream):
        if kind == _ROW:
            (row,) = struct.unpack_from("<I", body)
            sheet.row(row, hidden=bool(body[11] & 0x10) or (bool(body[11] & 0x20) and not body[8] | body[9]))
        elif kind in (_B_RK, _B_NUMBER, _B_FORMULA):
            column, style = struct.unpack_from("<II", body)
            packed = kind == _B_RK
            number = rk(struct.unpack_from("<I", body, 8)[0]) if packed else struct.unpack_from("<d", body, 8)[0]
            sheet.number(row, column, style & 0xFFFFFF, number)
        elif kind in _TEXTS or kind in _TRUTHS:
            column, style = struct.unpack_from("<II", body)
            sheet.cell(row, column, style & 0xFFFFFF, formed=kind in _TEXTS)
        elif kind == _COLUMNS:
            first, last, width, _, said = struct.unpack_from("<IIIIH", body)
            sheet.columns(first, last, hidden=bool(said & 1) or not width)
        elif kind == _USUAL_ROW:
            sheet.flat = bool(body[8] & 2)
        elif kind == _FILTERED:
            sheet.filtered = True
        elif kind in _COLOURING:
            sheet.coloured = True
