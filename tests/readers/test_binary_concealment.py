"""Rows, columns and cells of binary workbooks that nobody sees are left out and named; what is seen is never lost."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from compound_files import binary_record, workbook_97
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.workbook import read_xls, read_xlsb

WHITE, BLACK = 9, 8  # places in the usual palette of XLS
ROW_TWO = 1


def font(colour: int, height: int = 200) -> bytes:
    return binary_record(0x0031, struct.pack("<HHHHHBBBB", height, 0, colour, 400, 0, 0, 0, 0, 0) + b"\1\1A\0")


def style(form: int = 0, pattern: int = 0, ground: int = 64) -> bytes:
    return struct.pack("<HH", 1, form) + b"\0" * 13 + bytes([pattern << 2]) + struct.pack("<H", ground)


def row(number: int, *, height: int = 255, said: int = 0x100) -> bytes:
    return binary_record(0x0208, struct.pack("<HHHHHHHH", number, 0, 3, height, 0, 0, said, 0))


def columns(number: int, *, width: int = 2560, hidden: int = 0) -> bytes:
    return binary_record(0x007D, struct.pack("<HHHHHH", number, number, width, 0, hidden, 0))


def read(before: bytes = b"", fonts: bytes = b"", own: bytes = b"", code: str = "0.0") -> Document:
    rows: list[list[str | tuple[float, str]]] = [
        ["name", "value", (1.5, "0.0")],
        ["second", "secret", (4711.0, code)],
        ["third", "other", (3.5, "0.0")],
    ]
    content = workbook_97({"S": rows}, before=before, fonts=fonts and font(BLACK) + fonts, style=own)
    (document,) = read_xls(content, uri="file:///a.xls", name="a.xls")
    return document


@pytest.mark.parametrize(
    ("before", "note"),
    [
        (row(ROW_TWO, said=0x120), "left out 1 hidden row"),
        (row(ROW_TWO, height=0, said=0x140), "left out 1 hidden row"),
        (columns(1, hidden=1), "left out 1 hidden column"),
        (columns(1, width=0), "left out 1 hidden column"),
        (binary_record(0x0225, struct.pack("<HH", 2, 0)) + row(0) + row(2), "left out 1 hidden row"),
    ],
    ids=["flag", "no height", "column", "no width", "usual height"],
)
def test_hidden_rows_and_columns_of_xls_are_left_out(before: bytes, note: str) -> None:
    """By a flag, without a height or width, or since rows have none that say nothing."""
    document = read(before)
    assert "secret" not in document.text
    assert "third" in document.text
    assert document.notes == (note,)


@pytest.mark.parametrize(
    "before",
    [
        row(ROW_TWO),
        row(ROW_TWO, height=0x8000),
        row(ROW_TWO, height=0x80FF, said=0x140),
        columns(1),
        binary_record(0x009B, b"") + row(ROW_TWO, said=0x120),
    ],
    ids=["usual", "default", "tall", "column", "filter"],
)
def test_rows_and_columns_of_xls_that_are_shown_are_read(before: bytes) -> None:
    """Those of the usual height, and those that only a filter hides."""
    assert "secret" in read(before).text


@pytest.mark.parametrize(
    ("fonts", "own"),
    [
        (font(WHITE), style()),
        (font(1), style(pattern=1, ground=WHITE)),
        (font(BLACK, height=20), style()),
        (font(40) + binary_record(0x0092, struct.pack("<H", 56) + b"\0\0\0\0" * 8 + b"\xff\xff\xff\0" * 48), style()),
    ],
    ids=["on nothing", "on white", "tiny", "of a palette"],
)
def test_white_and_tiny_cells_of_xls_are_left_out_and_named(fonts: bytes, own: bytes) -> None:
    """White in the usual palette or in the file's own, on nothing or on white."""
    document = read(fonts=fonts, own=own)
    assert "secret" not in document.text
    assert "4711" in document.text
    assert any(
        note.startswith("cells that do not show what they hold are left out: 6 (A1, B1") for note in document.notes
    )


@pytest.mark.parametrize(
    ("fonts", "own", "before"),
    [
        (font(BLACK), style(), b""),
        (font(WHITE), style(pattern=1, ground=BLACK), b""),
        (font(WHITE), style(pattern=4), b""),
        (font(WHITE), style(), binary_record(0x01B0, b"\0" * 20)),
    ],
    ids=["black", "on black", "on a pattern", "with a condition"],
)
def test_cells_of_xls_that_may_be_seen_are_read(fonts: bytes, own: bytes, before: bytes) -> None:
    """White on a dark fill or a pattern; where a condition may lay something under it, the record says so."""
    document = read(before, fonts, own)
    assert "secret" in document.text
    assert document.fidelity
    assert bool(document.fidelity.warnings) == bool(before)


def test_a_number_of_xls_in_a_format_that_shows_nothing_is_left_out() -> None:
    """``;;;``"""
    document = read(code=";;;")
    assert "4711" not in document.text
    assert "secret" in document.text


def record(kind: int, body: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size = len(body)
    return head + (bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])) + body


def wide(said: str) -> bytes:
    return struct.pack("<I", len(said)) + said.encode("utf-16-le")


def xlsb_row(number: int, *, flags: int = 0, height: int = 300) -> bytes:
    return record(0, struct.pack("<IIHBB", number, 0, height, 0, flags) + b"\0" * 13)


def xlsb_font(colour: bytes, height: int = 220) -> bytes:
    return record(43, struct.pack("<HHHHBBBB", height, 0, 400, 0, 0, 0, 0, 0) + colour + b"\0" + wide("A"))


RGB_WHITE = b"\x05\xff\0\0\xff\xff\xff\xff"
THEME_WHITE = b"\x06\x00\0\0\0\0\0\xff"
RGB_BLACK = b"\x05\xff\0\0\0\0\0\xff"


def read_binary(
    *,
    flags: int = 0,
    height: int = 300,
    cols: bytes = b"",
    colour: bytes = RGB_BLACK,
    ground: bytes = b"",
    letters: int = 220,
    after: bytes = b"",
) -> Document:
    book = (
        record(131)
        + record(143)
        + record(156, struct.pack("<II", 0, 1) + wide("rId1") + wide("S"))
        + record(144)
        + record(132)
    )
    styles = record(278) + xlsb_font(RGB_BLACK) + xlsb_font(colour, letters)
    styles += record(45, struct.pack("<I", 0) + RGB_BLACK * 2)
    styles += record(45, struct.pack("<I", 1 if ground else 0) + (ground or RGB_BLACK) + RGB_BLACK)
    styles += record(615, struct.pack("<I", 0)) + record(616) + record(617, struct.pack("<I", 2))
    for at in (0, 1):
        styles += record(47, struct.pack("<HHHHHHBBHH", 0xFFFF, 0, at, at, 0, 0, 0, 0, 0, 0)[:16])
    styles += record(618) + record(279)
    cells = record(129) + record(148, struct.pack("<IIII", 0, 2, 0, 1)) + cols + record(145)
    for number, (name, value) in enumerate((("name", "value"), ("second", "secret"), ("third", "other"))):
        cells += xlsb_row(number, flags=flags, height=height) if number == ROW_TWO else xlsb_row(number)
        cells += record(6, struct.pack("<II", 0, 0) + wide(name))
        cells += record(6, struct.pack("<II", 1, int(number == ROW_TWO)) + wide(value))
    cells += record(146) + after + record(130)
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{kind}/worksheet" Target="worksheets/sheet1.bin"/>'
        f'<Relationship Id="rId2" Type="{kind}/styles" Target="styles.bin"/></Relationships>'
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("xl/workbook.bin", book)
        archive.writestr("xl/_rels/workbook.bin.rels", relations)
        archive.writestr("xl/styles.bin", styles)
        archive.writestr("xl/worksheets/sheet1.bin", cells)
    (document,) = read_xlsb(made.getvalue(), uri="file:///a.xlsb", name="a.xlsb")
    return document


def column(number: int, *, width: int = 2560, hidden: int = 0) -> bytes:
    return record(390) + record(60, struct.pack("<IIIIH", number, number, width, 0, hidden)) + record(391)


@pytest.mark.parametrize(
    "hiding",
    [
        {"flags": 0x10},
        {"flags": 0x20, "height": 0},
        {"cols": column(1, hidden=1)},
        {"cols": column(1, width=0)},
        {"colour": RGB_WHITE},
        {"colour": THEME_WHITE},
        {"colour": RGB_WHITE, "ground": RGB_WHITE},
        {"letters": 20},
    ],
)
def test_what_xlsb_hides_is_left_out_and_named(hiding: dict[str, bytes | int]) -> None:
    """Rows, columns, white and tiny letters."""
    document = read_binary(**hiding)  # type: ignore[arg-type]
    assert "secret" not in document.text
    assert "third" in document.text
    assert len(document.notes) == 1


@pytest.mark.parametrize(
    "showing",
    [
        {},
        {"flags": 0x20},
        {"cols": column(1)},
        {"colour": RGB_WHITE, "ground": RGB_BLACK},
        {"flags": 0x10, "after": record(163, b"\0" * 10)},
        {"colour": RGB_WHITE, "after": record(461, b"\0" * 8)},
    ],
)
def test_what_xlsb_shows_is_read(showing: dict[str, bytes | int]) -> None:
    """On a dark fill, in rows that only a filter hides, where a condition may colour a cell."""
    assert "secret" in read_binary(**showing).text  # type: ignore[arg-type]


def test_a_workbook_over_which_the_parser_panics_is_refused() -> None:
    """A compound file whose table of contents is cut off within an entry."""
    content = bytearray(workbook_97({"S": [["a"]]}))
    content[30:32] = struct.pack("<H", 0)  # sectors of a byte
    with pytest.raises(DocumentRejected, match="damaged"):
        read_xls(bytes(content), uri="file:///a.xls", name="a.xls")
