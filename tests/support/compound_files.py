"""OLE compound files, made for a test: mails of Outlook, and workbooks as Excel 97 writes them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_END, _FREE, _TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_SMALL = 4_096
Tree = Mapping[str, Any]
"""Streams (bytes) and storages (a `Tree` again) by name."""


@dataclass
class _Entry:
    name: str
    kind: int  # 1: storage, 2: stream, 5: root
    content: bytes = b""
    child: int = _FREE
    right: int = _FREE
    start: int = _END


def compound(tree: Tree) -> bytes:
    """A compound file of version 3: sectors of 512 bytes; streams below 4,096 bytes lie in small ones of 64."""
    entries = [_Entry("Root Entry", 5)]
    _listed(entries, tree, entries[0])
    small, small_table = b"", list[int]()
    for entry in entries[1:]:
        if entry.kind == 2 and 0 < len(entry.content) < _SMALL:
            entry.start = len(small) // 64
            small += _padded(entry.content, 64)
            small_table += _chain(entry.start, len(_padded(entry.content, 64)) // 64)
    entries[0].content = small
    sectors, table = b"", list[int]()

    def put(content: bytes) -> int:
        nonlocal sectors
        first = len(sectors) // 512
        sectors += _padded(content, 512)
        table.extend(_chain(first, len(_padded(content, 512)) // 512))
        return first if content else _END

    for entry in entries:
        if entry.kind == 5 or len(entry.content) >= _SMALL:
            entry.start = put(entry.content)
    small_start = put(struct.pack(f"<{len(small_table)}I", *small_table))
    sizes = len(small)
    directory = put(b"".join(_packed(entry, sizes) for entry in entries))
    count = 1
    while (len(table) + count) > count * 128:
        count += 1
    places = list(range(len(table), len(table) + count))
    table += [_TABLE] * count
    filled = table + [_FREE] * (count * 128 - len(table))
    sectors += struct.pack(f"<{len(filled)}I", *filled)
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"", 0, count,
        directory, 0, _SMALL, small_start, -(-len(small_table) // 128), _END, 0, places[0],
    )  # fmt: skip
    rest = places[1:] + [_FREE] * (109 - count)
    return header + struct.pack(f"<{len(rest)}I", *rest) + sectors


def _listed(entries: list[_Entry], tree: Tree, parent: _Entry) -> None:
    """The entries of a storage, each the right neighbour of the one before."""
    before: _Entry | None = None
    for name, value in sorted(tree.items(), key=lambda item: (len(item[0]), item[0].upper())):
        entry = _Entry(name, 2, value) if isinstance(value, bytes) else _Entry(name, 1)
        if before is None:
            parent.child = len(entries)
        else:
            before.right = len(entries)
        entries.append(entry)
        if not isinstance(value, bytes):
            _listed(entries, value, entry)
        before = entry


def _packed(entry: _Entry, _small: int) -> bytes:
    name = entry.name.encode("utf-16-le") + b"\0\0"
    return struct.pack(
        "<64sHBBIII16sIQQIQ", name, len(name), entry.kind, 1, _FREE, entry.right, entry.child, b"", 0, 0, 0,
        0 if entry.start == _END else entry.start, len(entry.content),
    )  # fmt: skip


def _padded(content: bytes, size: int) -> bytes:
    return content + b"\0" * (-len(content) % size)


def _chain(first: int, count: int) -> list[int]:
    return [*range(first + 1, first + count), _END] if count else []


def workbook_97(
    sheets: Mapping[str, Sequence[Sequence[str | tuple[float, str]]]],
    *,
    fonts: bytes = b"",
    style: bytes = b"",
    before: bytes = b"",
) -> bytes:
    """A workbook of Excel 97 with texts in its cells, or numbers with their formats.

    Args:
        fonts: Records that stand before the formats.
        style: The format of texts, 20 bytes.
        before: Records that stand before the cells of each sheet.
    """
    codes = sorted({cell[1] for rows in sheets.values() for row in rows for cell in row if not isinstance(cell, str)})
    styles = b"".join(
        binary_record(0x041E, struct.pack("<H", 164 + at) + _text(code, 2)) for at, code in enumerate(codes)
    )
    styles = fonts + styles + binary_record(0x00E0, style or b"\0" * 20)
    for form in (164 + at for at in range(len(codes))):
        styles += binary_record(0x00E0, struct.pack("<HH", 0, form) + b"\0" * 16)

    def record(r: int, c: int, cell: str | tuple[float, str]) -> bytes:
        if isinstance(cell, str):
            return binary_record(0x0204, struct.pack("<HHH", r, c, 0) + _text(cell, 2))
        value, style = cell[0], 1 + codes.index(cell[1])
        if value == int(value):
            return binary_record(0x027E, struct.pack("<HHHI", r, c, style, (int(value) & 0x3FFFFFFF) << 2 | 2))
        return binary_record(0x0203, struct.pack("<HHHd", r, c, style, value))

    begin = binary_record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0))
    end = binary_record(0x000A, b"")
    bodies = []
    for rows in sheets.values():
        cells = b"".join(record(r, c, cell) for r, row in enumerate(rows) for c, cell in enumerate(row))
        bodies.append(
            binary_record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0)) + before + cells + end
        )
    names = [struct.pack("<BB", 0, 0) + _text(name, 1) for name in sheets]
    at = len(begin) + len(styles) + sum(len(name) + 8 for name in names) + len(end)
    listed = b""
    for name, body in zip(names, bodies, strict=True):
        listed += binary_record(0x0085, struct.pack("<I", at) + name)
        at += len(body)
    return compound({"Workbook": begin + styles + listed + end + b"".join(bodies)})


def binary_record(kind: int, content: bytes) -> bytes:
    """A record of an XLS file."""
    return struct.pack("<HH", kind, len(content)) + content


def _text(text: str, size: int) -> bytes:
    return struct.pack("<B" if size == 1 else "<H", len(text)) + b"\1" + text.encode("utf-16-le")
