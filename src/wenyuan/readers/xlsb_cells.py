"""XLSB: parts of records, whose number and length are written in 7 bits a byte ([MS-XLSB] 2.1.4)."""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
from collections.abc import Iterator, Mapping

from wenyuan.readers import number_formats
from wenyuan.readers.binary_cells import MAX_STYLES, BinaryCell, cell_texts, rk
from wenyuan.readers.markup import beside, local, parse_xml
from wenyuan.readers.xlsx_cells import ShownCells

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
        yield cell_texts(_cells_of_xlsb(part(sheet)), codes, since_1904)


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
        elif kind == _B_XF and within and len(found) < MAX_STYLES:
            found.append(struct.unpack_from("<H", body, 2)[0])
    return [formats.get(form, "") for form in found]


def _cells_of_xlsb(stream: bytes) -> Iterator[BinaryCell]:
    row = 0
    for kind, body in _binary_records(stream):
        if kind == _ROW:
            (row,) = struct.unpack_from("<I", body)
        elif kind in (_B_RK, _B_NUMBER, _B_FORMULA):
            column, style = struct.unpack_from("<II", body)
            number = (
                rk(struct.unpack_from("<I", body, 8)[0]) if kind == _B_RK else struct.unpack_from("<d", body, 8)[0]
            )
            yield BinaryCell(row, column, style & 0xFFFFFF, number)
