"""XLSX, CSV and TSV to a `Document`: every row a passage; hidden rows and columns left out."""

from __future__ import annotations

import csv
import io
import itertools
import posixpath
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.parsers import expat

from wenyuan.core.messages import msg
from wenyuan.core.model import Document
from wenyuan.core.redaction.names import Columns
from wenyuan.readers.archive import check_archive
from wenyuan.readers.assemble import (
    EMPTY_CELL,
    Cell,
    Original,
    Piece,
    assemble,
    clean,
    decode,
    joined,
    rejected,
    stem,
)

# Rows of a table → pieces: which row is the header, which columns ask and answer, and a row's text.


QUESTION = frozenset(
    "问题 問題 提问 提問 问 問 问句 疑问 疑問 标准问 標準問 标准问题 標準問題 "
    "标准提问 常见问题 常見問題 用户问题 用戶問題 "
    "客户问题 咨询问题 問題描述 问题描述 问题内容 問題內容 问题标题 question questions q query queries faq ask "
    "standardquestion userquestion".split()
)
SIMILAR = frozenset(
    "相似问 相似問 相似问题 相似問題 相似问法 相似提问 扩展问 擴展問 "
    "扩展问题 扩展问法 同义问 同義問 同义问题 其他问法 "
    "similarquestion similarquestions similar alternativequestion alternativequestions alternatives "
    "variant variants paraphrase paraphrases".split()
)
ANSWER = frozenset(
    "答案 回答 解答 答复 答覆 答復 回复 回覆 回復 答 标准答案 標準答案 参考答案 參考答案 标准回答 回答内容 回答內容 "
    "答案内容 答案內容 答复内容 答覆內容 回复内容 解决方案 解決方案 解决办法 解决方法 处理方法 "
    "answer answers a reply replies response responses solution standardanswer".split()
)
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|【[^【】]*】")
_ORNAMENT = re.compile(r"[\s*:_\-./#]+|[0-9一二三四五六七八九十]+$")
_NUMERIC = re.compile(r"[-+]?[0-9][0-9.,:/\-%\s]*")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}年?")
_SENTENCE = re.compile(r".*[。！？；]|\S+\s+\S+\s.*[.?!]", re.DOTALL)
_HEADER_WITHIN = 10
_SHORT = 200


@dataclass(frozen=True, slots=True)
class Row:
    """A row with text: its number in the sheet (1-based), its cells, and its first line in a text file."""

    number: int
    cells: Sequence[str]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the columns hold: their names, and for an FAQ which ask, ask otherwise, and answer.

    Attributes:
        used: Without names, the columns that hold something in some row.
    """

    names: Sequence[str] = ()
    question: Sequence[int] = ()
    similar: Sequence[int] = ()
    answer: Sequence[int] = ()
    used: frozenset[int] = frozenset()
    left_out: Counter[str] = field(default_factory=Counter)

    def name(self, at: int) -> str:
        return self.names[at] if at < len(self.names) else ""


def row_pieces(rows: Sequence[Row], *, table: str, anchor: Callable[[int], str]) -> tuple[list[Piece], list[str]]:
    r"""One ``row`` piece for each row below the header, and notes; rows above it become paragraphs.

    With a question and an answer column a row reads ``question\nanswer``, then its other short columns as
    ``name: value``; in any other table ``name: value; name: value``.

    Args:
        table: Name of the sheet or file: a cell is ``table!row``.
        anchor: What opens a row of this number.
    """
    at, columns = _header(rows)
    faq = bool(columns.question and columns.answer)
    kinds = Columns()
    pieces: list[Piece] = []
    for number, row in enumerate(rows):
        told = kinds.of({column: cell for column, cell in enumerate(row.cells) if cell})
        opened = anchor(row.number)
        place = f"{table}!{row.number}"
        if number < at:
            text, cells = joined((Cell(cell, told.get(i, "")) for i, cell in enumerate(row.cells) if cell), " ")
            pieces.append(Piece("paragraph", text, line=row.line, cell=place, anchor=opened, cells=cells))
        elif number > at or not columns.names:
            text, cells = _faq_text(row, columns, told) if faq else _plain_text(row, columns, told)
            pieces.append(Piece("row", text, line=row.line, cell=place, anchor=opened, cells=cells))
    notes = [
        f"left out {count} cells of more than {_SHORT} characters in column {name!r}"
        for name, count in columns.left_out.items()
    ]
    if columns.names and not faq and _doubtful(rows[at], rows[at + 1 :]):
        notes.append(f"took row {rows[at].number} for the names of the columns, though it reads like an entry")
    return pieces, notes


def _doubtful(header: Row, below: Sequence[Row]) -> bool:
    """Whether a header holds a sentence, or a value that its own column has again further below.

    A repeated header is one, and the row next to it may be its second.
    """
    if any(map(_SENTENCE.fullmatch, header.cells)):
        return True
    names = list(header.cells)
    return any(
        any(name and name == value for name, value in zip(names, row.cells, strict=False))
        for row in below[1:]
        if list(row.cells) != names
    )


def _header(rows: Sequence[Row]) -> tuple[int, _Columns]:
    """Index of the header row and its columns; without a header, 0 and no names."""
    for at, row in enumerate(rows[:_HEADER_WITHIN]):
        columns = _faq_columns(row)
        if columns.question and columns.answer:
            return at, columns
    widest = max((sum(map(bool, row.cells)) for row in rows), default=0)
    for at, row in enumerate(rows[:_HEADER_WITHIN]):
        filled = [cell for cell in row.cells if cell]
        if Columns().of(dict(enumerate(row.cells))):
            break  # 姓名, 刘洋, 性别, 女: names stand beside their values
        if len(filled) < max(2, widest / 2):
            continue
        numbers = [cell for cell in filled if _NUMERIC.fullmatch(cell)]
        if filled[0] not in numbers:  # 指标, 2021, 2022: years name columns, too
            numbers = [cell for cell in numbers if not _YEAR.fullmatch(cell)]
        unlike = not numbers and len(set(filled)) == len(filled)
        if unlike and max(map(len, filled)) <= 40 and len(rows) > at + 1:
            return at, _Columns(names=row.cells)
        break
    return 0, _Columns(used=frozenset(at for row in rows for at, cell in enumerate(row.cells) if cell))


def _faq_columns(row: Row) -> _Columns:
    keys = [header_key(cell) for cell in row.cells]
    question = [at for at, key in enumerate(keys) if key in QUESTION]
    similar = [at for at, key in enumerate(keys) if key in SIMILAR]
    if not question:
        question, similar = similar[:1], similar[1:]
    answer = [at for at, key in enumerate(keys) if key in ANSWER]
    return _Columns(names=row.cells, question=question, similar=similar, answer=answer)


def header_key(header: str) -> str:
    """``１. 标准问（必填）`` → ``标准问``, ``Similar Question 2`` → ``similarquestion``."""
    text = _ASIDE.sub("", unicodedata.normalize("NFKC", header).casefold())
    return _ORNAMENT.sub("", re.sub(r"^[\s0-9.、]+|[\s0-9]+$", "", text))


_Told = tuple[str, list[tuple[int, int, str]]]


def _faq_text(row: Row, columns: _Columns, kinds: Mapping[int, str]) -> _Told:
    def cells(places: Sequence[int], *, named: bool = False) -> list[Cell]:
        return [
            Cell(row.cells[at], kinds.get(at, ""), columns.name(at) if named else "")
            for at in places
            if at < len(row.cells) and row.cells[at]
        ]

    lines = [*cells(columns.question), *cells(columns.answer), *cells(columns.similar, named=True)]
    told = {*columns.question, *columns.answer, *columns.similar}
    for at, value in enumerate(row.cells):
        if at in told or not value:
            continue
        if len(value) <= _SHORT:
            lines += cells([at], named=True)
        else:
            columns.left_out[columns.name(at)] += 1
    return joined(lines, "\n")


def _plain_text(row: Row, columns: _Columns, kinds: Mapping[int, str]) -> _Told:
    if columns.used:  # no names: ``–`` keeps the values after it in their columns
        last = max(at for at, value in enumerate(row.cells) if value)
        used = [(at, value) for at, value in enumerate(row.cells[: last + 1]) if at in columns.used]
        return joined((Cell(value or EMPTY_CELL, kinds.get(at, "")) for at, value in used), "; ")
    named = ((at, value) for at, value in enumerate(row.cells) if value)
    return joined((Cell(value, kinds.get(at, ""), columns.name(at)) for at, value in named), "; ")


# Which rows and columns of a sheet are hidden: read from the workbook's XML, since the parser of its cells does not tell.
#
# It is read piece by piece, and only after `archive.check_archive`, which bounds what it unpacks to.


_PIECE = 65_536
_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 16_384
_TELLING = ("sheet", "row", "col", "autoFilter", "filterColumn", "Relationship")
_ROWS_OF = re.compile(r"\$?[A-Za-z]*\$?([0-9]{1,7}):\$?[A-Za-z]*\$?([0-9]{1,7})")


class Hidden(NamedTuple):
    """Rows and columns, counted from 0."""

    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()


class HiddenCells:
    """A workbook's hidden rows and columns, sheet by sheet.

    Raises:
        ValueError: its XML does not hold together.
        KeyError: it names a part that is not there.
    """

    def __init__(self, content: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._entries = {entry.lower(): entry for entry in self._archive.namelist()}
        parts = self._related("xl/workbook.xml")
        self.sheets = [parts[found["id"]] for name, found in self._elements("xl/workbook.xml") if name == "sheet"]
        """The part of each sheet, in the workbook's order."""

    def of(self, part: str) -> Hidden:
        """What is hidden by hand; rows that a filter hides for now are not."""
        if not self._says_hidden(part):
            return Hidden()
        rows: set[int] = set()
        steps: Counter[int] = Counter()
        number = 0
        for name, found in self._elements(part):
            hidden = found.get("hidden", "").strip() in ("1", "true")
            if name == "row":
                number = int(found.get("r", number + 1))
                if hidden and 0 < number <= _MAX_ROWS:
                    rows.add(number - 1)
            elif name == "col" and hidden:
                steps[min(int(found["min"]) - 1, _MAX_COLUMNS)] += 1
                steps[min(int(found["max"]), _MAX_COLUMNS)] -= 1
        depths = accumulate(steps[at] for at in range(_MAX_COLUMNS))
        columns = frozenset(at for at, depth in enumerate(depths) if depth > 0)
        for first, last in self._filtered(part) if rows else ():
            rows = {row for row in rows if not first <= row < last}
        return Hidden(frozenset(rows), columns)

    def _filtered(self, sheet: str) -> Iterator[tuple[int, int]]:
        """Rows below the headers of filters that have a criterion, the sheet's own and its tables'."""
        tables = [part for part in map(str.lower, self._related(sheet).values()) if "/tables/" in part]
        for part in (sheet, *filter(self._entries.__contains__, tables)):
            ref = ""
            for name, found in self._elements(part):
                if name == "autoFilter":
                    ref = found.get("ref", "")
                elif name == "filterColumn" and (rows := _ROWS_OF.fullmatch(ref)):
                    yield int(rows[1]), int(rows[2])
                    ref = ""

    def _related(self, part: str) -> dict[str, str]:
        """The parts that one refers to, by id."""
        folder, name = posixpath.split(part)
        rels = f"{folder}/_rels/{name}.rels"
        if rels.lower() not in self._entries:
            return {}
        return {
            found["Id"]: posixpath.normpath(posixpath.join("/", folder, found["Target"])).lstrip("/")
            for name, found in self._elements(rels)
            if name == "Relationship" and found.get("TargetMode") != "External"
        }

    def _says_hidden(self, part: str) -> bool:
        """Whether the word occurs at all: most sheets need not be parsed."""
        end = b""
        for piece in self._pieces(part):
            seen = end + piece.replace(b"\0", b"")  # UTF-16
            if b"hidden" in seen:
                return True
            end = seen[-8:]
        return False

    def _pieces(self, part: str) -> Iterator[bytes]:
        with self._archive.open(self._entries[part.lower()]) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def _elements(self, part: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Name and attributes, both without namespace, of each element that tells something here."""
        found: list[tuple[str, dict[str, str]]] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            if name.endswith(_TELLING):  # millions are cells
                found.append((_local(name), attributes))

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = start
        try:
            for piece in self._pieces(part):
                parser.Parse(piece, False)
                for name, attributes in found:
                    yield name, {_local(key): value for key, value in attributes.items()}
                found.clear()
            parser.Parse(b"", True)
        except (expat.ExpatError, LookupError) as error:  # the latter: an encoding it does not know
            raise ValueError(
                msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
            ) from error


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


# Tables → `Document`: XLSX, CSV and TSV. Every row is a passage of its own, an FAQ's with its question first.


_MAX_CELLS = 5_000_000
_XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DELIMITERS = ",;\t|，；"
_SAMPLE_ROWS = 20


class SheetRows(NamedTuple):
    """A sheet that holds text, and notes on what is hidden in it."""

    name: str
    rows: list[Row]
    notes: tuple[str, ...] = ()


def read_xlsx(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a workbook: one document for each visible sheet that holds text.

    A workbook with several such sheets gives each its own URI, ``…?sheet=<name>``.

    Raises:
        DocumentRejected: it is no XLSX, encrypted, unpacks to too much, or holds no text.
    """
    full, hidden = sheets_of(content, name=name, hidden_cells=False)
    notes = [f"left out the hidden sheet {sheet!r}" for sheet in hidden]
    documents = []
    for sheet, rows, left_out in full:
        pieces, remarks = row_pieces(rows, table=sheet, anchor=partial(_cell, sheet))
        documents.append(
            assemble(
                pieces,
                Original(content, f"{uri}?sheet={quote(sheet)}" if len(full) > 1 else uri, name),
                title=sheet,
                media_type=_XLSX_TYPE,
                notes=[*notes, *left_out, *remarks],
                metadata={"sheet": sheet},
            )
        )
    return tuple(documents)


def _cell(sheet: str, row: int) -> str:
    """The first cell of a row as spreadsheets open it: ``FAQ!A5``, ``'Fees 2024'!A5``."""
    plain = sheet.replace("_", "x").isalnum() and not sheet[0].isdigit()
    name = sheet if plain else "'" + sheet.replace("'", "''") + "'"
    return f"{name}!A{row}"


def sheets_of(content: bytes, *, name: str, hidden_cells: bool = True) -> tuple[list[SheetRows], list[str]]:
    """The visible sheets of a workbook that hold text, with their rows, and the names of the hidden ones.

    Args:
        hidden_cells: Whether hidden rows and columns are read; rows that a filter hides are in any case.

    Raises:
        DocumentRejected: it is no XLSX, encrypted, unpacks to too much, or holds no text.
    """
    check_archive(content, name=name, needs="xl/workbook.xml")
    import python_calamine as calamine

    try:
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            shown, hidden = _sheet_names(book, calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)
            of_sheet = {} if hidden_cells else _hidden_cells(content, book, shown)
            sheets = [
                _sheet_rows(book.get_sheet_by_name(sheet), of_sheet.get(sheet, Hidden()), name) for sheet in shown
            ]
    except calamine.CalamineError as error:
        raise rejected(msg("it is damaged or encrypted: {error}", error=error), name) from error
    except (ValueError, KeyError) as error:
        raise rejected(msg("it is damaged: {error}", error=error), name) from error
    full = [sheet for sheet in sheets if sheet.rows]
    if not full:
        raise rejected("none of its visible sheets holds text", name)
    return full, hidden


def read_csv(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read comma-separated values (also with ``;``, tab, ``|`` or full-width commas, found from the rows).

    Raises:
        DocumentRejected: it is no text, a quote is never closed, or it holds no rows.
    """
    return _read_values(content, uri=uri, name=name, delimiter=None, media_type="text/csv")


def read_tsv(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read tab-separated values; see `read_csv`."""
    return _read_values(content, uri=uri, name=name, delimiter="\t", media_type="text/tab-separated-values")


def _read_values(
    content: bytes, *, uri: str, name: str, delimiter: str | None, media_type: str
) -> tuple[Document, ...]:
    rows, notes = values_of(content, name=name, delimiter=delimiter)
    table = stem(name)
    pieces, remarks = row_pieces(rows, table=table, anchor="row={}".format)  # RFC 7111
    return (
        assemble(
            pieces,
            Original(content, uri, name),
            title=table,
            media_type=media_type,
            notes=[*notes, *remarks],
        ),
    )


def values_of(content: bytes, *, name: str, delimiter: str | None = None) -> tuple[list[Row], list[str]]:
    """The rows of a text file, and notes.

    Args:
        delimiter: None to find it from the rows.

    Raises:
        DocumentRejected: it is no text, or a quote is never closed.
    """
    decoded = decode(content)
    text, cleaned = clean(decoded.text)
    try:
        rows = list(_rows_of(text, delimiter or _delimiter(text)))
    except csv.Error as error:
        raise rejected(msg("it is not well-formed: {error}", error=error), name) from error
    return rows, [*decoded.notes, *cleaned]


def _rows_of(text: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    for number, cells in enumerate(reader, 1):
        if any(cell.strip() for cell in cells):
            yield Row(number, [cell.strip() for cell in cells], line)
        line = reader.line_num + 1


def _delimiter(text: str) -> str:
    """The one that cuts the first rows into the most columns, equally many in most rows."""

    def regularity(delimiter: str) -> tuple[float, int]:
        try:
            rows = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=delimiter), _SAMPLE_ROWS))
        except csv.Error:
            return 0.0, 0
        widths = [len(row) for row in rows if row]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    best = max(_DELIMITERS, key=regularity)
    return best if regularity(best)[1] else ","


def _sheet_names(book: Any, visible: Any, worksheet: Any) -> tuple[list[str], list[str]]:
    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == worksheet]
    return (
        [sheet.name for sheet in sheets if sheet.visible == visible],
        [sheet.name for sheet in sheets if sheet.visible != visible],
    )


def _hidden_cells(content: bytes, book: Any, shown: list[str]) -> dict[str, Hidden]:
    cells = HiddenCells(content)
    parts = zip((sheet.name for sheet in book.sheets_metadata), cells.sheets, strict=True)
    return {name: cells.of(part) for name, part in parts if name in shown}


def _sheet_rows(sheet: Any, hidden: Hidden, name: str) -> SheetRows:
    if sheet.total_height * sheet.total_width > _MAX_CELLS:
        raise rejected(
            msg(
                "the sheet {name} spans more than {max_cells} cells",
                name=repr(sheet.name),
                max_cells=f"{_MAX_CELLS:,}",
            ),
            name,
        )
    cells = [[_shown(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    _fill_merged(cells, sheet.merged_cell_ranges or (), hidden.columns)
    notes = _leave_out(cells, hidden)
    return SheetRows(sheet.name, [Row(number, row) for number, row in enumerate(cells, 1) if any(row)], notes)


def _leave_out(cells: list[list[str]], hidden: Hidden) -> tuple[str, ...]:
    """Empty the hidden rows and columns, so that all others keep their addresses; notes on those that held text."""
    width = max(map(len, cells), default=0)
    columns = [at for at in hidden.columns if at < width]  # all those beside a table are often hidden
    counts = {
        "row": sum(any(row) for at, row in enumerate(cells) if at in hidden.rows),
        "column": sum(any(row[at] for row in cells if at < len(row)) for at in columns),
    }
    for number, row in enumerate(cells):
        for at in range(len(row)) if number in hidden.rows else columns:
            if at < len(row):
                row[at] = ""
    return tuple(
        f"left out {count} hidden {what}{'s' if count > 1 else ''}" for what, count in counts.items() if count
    )


def _fill_merged(
    cells: list[list[str]],
    ranges: Iterable[tuple[tuple[int, int], tuple[int, int]]],
    hidden: frozenset[int],
) -> None:
    """Repeat a cell that was merged downwards in each of its rows, so that every row stands alone.

    Where its column is hidden, it is shown in the next one that it covers.
    """
    for (top, left), (bottom, right) in ranges:
        shown = next((at for at in range(left, right + 1) if at not in hidden), left)
        for row in range(top, min(bottom + 1, len(cells))):
            if max(left, shown) < len(cells[row]) and any(cells[row]):
                cells[row][shown] = cells[row][shown] or cells[top][left]


def _shown(value: object) -> str:
    """A cell's value as text: whole numbers without ``.0``, dates in ISO 8601."""
    match value:
        case bool():
            return str(value).upper()
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
    return str(value).strip()
