"""Rules as CSV and XLSX tables: columns, rows and workbooks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.rules import Book, Place, Tally
from wenyuan.core.rules.names import folded, suggestion
from wenyuan.readers.archive import check_archive
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.rulebooks.entries import LANGUAGES, Writing

# Tables of rules: which column is which, in Chinese or English, and a row as an entry.


_REMARKS = "备注 說明 说明 序号 remark remarks note notes comment comments no".split()

NODES: Mapping[str, tuple[str, ...]] = {
    "kind": ("种类", "类型", "类别", "实体类型", "type", "category"),
    "name": ("名称", "名字", "标准名称", "preferred name"),
    "key": ("标识", "编号", "唯一标识", "id", "identifier"),
    "zh": ("中文名", "中文名称", "中文", "chinese"),
    "en": ("英文名", "英文名称", "英文", "english"),
    "aliases": ("别名", "别称", "同义词", "俗称", "alias", "synonyms"),
    "scope": ("适用范围", "适用工程类型", "工程类型", "范围", "applies to"),
    "codes": ("代码", "编码", "分类代码", "code"),
    "attributes": ("属性", "attribute"),
}
STATEMENTS: Mapping[str, tuple[str, ...]] = {
    "src": ("起点", "主体", "主语", "源", "头实体", "source node", "from", "subject", "head"),
    "rel": ("关系", "关系类型", "relation", "relationship", "predicate"),
    "dst": ("终点", "客体", "宾语", "目标", "尾实体", "target node", "target", "to", "object", "tail"),
    "when": ("条件", "适用条件", "condition"),
    "strength": ("强度", "约束程度", "严格程度", "level"),
    "sentence_zh": ("规则", "规则描述", "中文规则", "中文表述", "rule zh"),
    "sentence_en": ("英文规则", "英文表述", "rule", "rule en"),
    "valid_from": ("生效日期", "起始日期", "生效"),
    "valid_until": ("失效日期", "截止日期", "失效"),
    "weight": ("权重",),
    "status": ("状态",),
    "source": ("来源", "来源编号", "依据", "source id"),
    "clause": ("条款", "条款号", "条文号"),
    "quote": ("原文", "引文", "条文", "quotation"),
    "uri": ("链接", "网址", "地址", "url"),
    "trust": ("可信度", "信任等级"),
    "reviewer": ("审核人", "复核人", "审核"),
}
SOURCES: Mapping[str, tuple[str, ...]] = {
    "id": ("编号", "来源编号", "标识", "source id"),
    "title": ("标题", "名称", "name"),
    "uri": ("链接", "网址", "url"),
    "trust": ("可信度", "信任等级"),
    "domain": ("领域", "知识领域"),
    "collection": ("集合",),
    "language": ("语言",),
    "copyright": ("版权",),
    "owner": ("负责人",),
    "status": ("状态",),
    "effective_from": ("生效日期",),
    "effective_until": ("失效日期",),
}
_EVIDENCE = ("source", "clause", "quote", "uri", "trust", "reviewer")
_SENTENCES = ("sentence_zh", "sentence_en")
_BETWEEN = re.compile(r"[、；;|\n]+")
_PAIR = re.compile(r"[=＝]")


@dataclass(frozen=True, slots=True)
class Line:
    """A non-empty row: its cells, and its place in the file."""

    cells: Sequence[str]
    place: Place


@dataclass(frozen=True, slots=True)
class Columns:
    """The field of each column, in order; None: a remark column, not read; ``""``: a column without a header."""

    fields: Sequence[str | None]
    sound: bool

    def tree(self, line: Line) -> dict[str, Any]:
        """The filled cells of a row, by field."""
        pairs = zip(self.fields, line.cells, strict=False)
        return {name: cell for name, cell in pairs if name and cell}


def heading(text: str) -> str:
    """Normal form for comparing headers: folded, without bracketed text and marks of required columns."""
    bare = re.sub(r"\([^()]*\)|\[[^\[\]]*\]|【[^【】]*】", "", folded(text))
    return bare.replace("_", " ").strip(" *:")


def _known(fields: Mapping[str, tuple[str, ...]]) -> dict[str, str | None]:
    known: dict[str, str | None] = {heading(word): None for word in _REMARKS}
    for name, words in fields.items():
        known |= {heading(word): name for word in (name, *words)}
    if "name" in fields:
        known |= {heading(tag): tag for tag in LANGUAGES}
    return known


def find_columns(line: Line, fields: Mapping[str, tuple[str, ...]], writing: Writing) -> Columns:
    """Map the columns of a header row to fields.

    An unknown column makes the table invalid: without it, a misspelt condition would be left out of
    every rule. It is reported once.
    """
    known, found, sound = _known(fields), list[str | None](), True
    for cell in line.cells:
        name = heading(cell)
        if name and name not in known:
            hint = suggestion(name, known)
            writing.fault(
                "unknown_key",
                msg("no such column: {cell}{hint}; no row of this table is read", cell=repr(cell), hint=hint),
                line.place,
            )
            sound = False
        field = known.get(name)
        if field and field in found:
            message = msg(
                "two columns are {field}, the second one is {cell}; no row of this table is read",
                field=repr(field),
                cell=repr(cell),
            )
            writing.fault("duplicate_key", message, line.place)
            sound = False
        found.append(field if name else "")
    return Columns(found, sound)


def take_row(line: Line, columns: Columns, part: str, writing: Writing, kind: str = "") -> None:
    """Add a row as an entry.

    Args:
        part: ``nodes``, ``statements`` or ``sources``.
        kind: The kind of the nodes, where it is said outside of the table.
    """
    tree = columns.tree(line)
    unnamed = [cell for name, cell in zip(columns.fields, line.cells, strict=False) if name == "" and cell]
    beyond = [*unnamed, *(cell for cell in line.cells[len(columns.fields) :] if cell)]
    if beyond:
        counts = {part: 1} if part != "sources" else {}
        message = f"a cell stands in a column without a header: {beyond[0]!r:.80}"
        writing.refuse("bad_value", message, line.place, **counts)
    elif part == "nodes":
        writing.node(_node_tree(tree), line.place, kind)
    elif part == "statements":
        writing.statement(_statement_tree(tree), line.place)
    else:
        writing.source(tree, line.place)


def _node_tree(tree: dict[str, Any]) -> dict[str, Any]:
    for key in ("aliases", "scope"):
        if key in tree:
            tree[key] = _parts(tree[key])
    for key in ("codes", "attributes"):
        if key in tree:
            tree[key] = _pairs(tree[key])
    return tree


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in _BETWEEN.split(cell) if part.strip()]


def _pairs(cell: str) -> dict[str, str] | str:
    """Parse ``GB/T 13861=2103; …`` to a mapping; anything else is returned unchanged, to be refused with its text."""
    pairs = [_PAIR.split(part, 1) for part in _parts(cell)]
    if not all(len(pair) == 2 for pair in pairs):
        return cell
    return {name.strip(): value.strip() for name, value in pairs}


def _statement_tree(tree: dict[str, Any]) -> dict[str, Any]:
    evidence = _taken(tree, _EVIDENCE)
    sentence = {name.removeprefix("sentence_"): text for name, text in _taken(tree, _SENTENCES).items()}
    return {**tree, **({"sentence": sentence} if sentence else {}), **({"evidence": [evidence]} if evidence else {})}


def _taken(tree: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: tree.pop(key) for key in keys if key in tree}


# CSV files of nodes or of statements; which of them it is, the header says.


_PARTS = {"nodes": NODES, "statements": STATEMENTS, "sources": SOURCES}
_NEEDS = {"statements": ("src", "rel", "dst"), "nodes": ("kind", "name"), "sources": ("id", "title")}


def read_csv_book(content: bytes, *, file: str, pack: str) -> Book:
    """Read comma- or tab-separated values with a header row.

    Raises:
        DocumentRejected: it is no text, or not well-formed.
    """
    decoded = decode(content)
    text, cleaned = clean(decoded.text)
    writing = Writing(pack, file)
    for remark in (*decoded.notes, *cleaned):
        writing.note("cleaned", remark, Place(file))
    try:
        lines = list(_lines(text, file))
    except csv.Error as error:
        raise DocumentRejected(msg("it is not well-formed: {error}", error=error)) from error
    if not lines:
        writing.fault("bad_file", "it has no rows", Place(file))
        return writing.book()
    part = _part_of(lines[0])
    if not part:
        wanted = "; ".join(f"{name}: {', '.join(needed)}" for name, needed in _NEEDS.items())
        message = f"its header has the columns of no table ({wanted}); none of its rows is read"
        writing.fault("bad_file", message, lines[0].place)
        return writing.book()
    columns = find_columns(lines[0], _PARTS[part], writing)
    for line in lines[1:]:
        if columns.sound:
            take_row(line, columns, part, writing)
        elif part != "sources":
            writing.refused += Tally(**{part: 1})
    return writing.book()


def _lines(text: str, file: str) -> Iterator[Line]:
    first = text.partition("\n")[0]
    delimiter = max(",\t;，", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield Line([cell.strip() for cell in cells], Place(file, line))
        line = reader.line_num + 1


def _part_of(line: Line) -> str:
    """Which table (nodes, statements …) has all required columns in this header; ``""``: none."""
    seen = {heading(cell) for cell in line.cells}
    for part, needed in _NEEDS.items():
        words = ({heading(w) for w in (name, *_PARTS[part][name])} for name in needed)
        if all(seen & spelled for spelled in words):
            return part
    return ""


# Workbooks: one sheet for each kind of node, named by the kind, and a sheet ``关系`` (``relations``).
#
# Also read, where they are there: ``来源`` (``sources``). The sheet ``说明`` (``notes``) is for people.


RELATION_SHEETS = ("关系", "relations", "statements", "rules", "规则", "relation")
SOURCE_SHEETS = ("来源", "sources", "source")
NOTES_SHEETS = ("说明", "notes", "readme", "help")
LISTS_SHEET = "_lists"
"""The hidden sheet of a template whose columns are the choices of its drop-downs."""
_MAX_CELLS = 2_000_000


def read_excel(content: bytes, *, file: str, pack: str) -> Book:
    """Read a workbook.

    Raises:
        DocumentRejected: it is no XLSX, damaged, encrypted, or unpacks to too much.
    """
    check_archive(content, name=file, needs="xl/workbook.xml")
    import python_calamine as calamine

    writing = Writing(pack, file)
    try:
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            shown = [s for s in book.sheets_metadata if s.typ == calamine.SheetTypeEnum.WorkSheet]
            for sheet in shown:
                if sheet.visible == calamine.SheetVisibleEnum.Visible:
                    _sheet(book.get_sheet_by_name(sheet.name), writing)
                elif sheet.name != LISTS_SHEET:
                    writing.note(
                        "unread_sheet", msg("the hidden sheet {name} is not read", name=repr(sheet.name)), Place(file)
                    )
    except calamine.CalamineError as error:
        raise DocumentRejected(msg("it is damaged or encrypted: {error}", error=error)) from error
    if not any(folded(sheet.name) in RELATION_SHEETS for sheet in shown):
        names = ", ".join(sheet.name for sheet in shown)
        message = msg(
            "the sheet {relation_sheets} ({relation_sheets2}) is missing; there are: {names}",
            relation_sheets=repr(RELATION_SHEETS[0]),
            relation_sheets2=RELATION_SHEETS[1],
            names=names,
        )
        writing.fault("missing_sheet", message, Place(file))
    return writing.book()


def _sheet(sheet: Any, writing: Writing) -> None:
    name = folded(sheet.name)
    if name in NOTES_SHEETS:
        return
    if sheet.total_height * sheet.total_width > _MAX_CELLS:
        raise DocumentRejected(
            msg(
                "the sheet {name} spans more than {max_cells} cells",
                name=repr(sheet.name),
                max_cells=f"{_MAX_CELLS:,}",
            )
        )
    lines = list(_sheet_lines(sheet, writing.file))
    if not lines:
        return
    if name in RELATION_SHEETS:
        part, fields = "statements", STATEMENTS
    elif name in SOURCE_SHEETS:
        part, fields = "sources", SOURCES
    else:
        part, fields = "nodes", NODES
    columns = find_columns(lines[0], fields, writing)
    _rows(sheet, lines, columns, part, writing)


def _rows(sheet: Any, lines: Sequence[Line], columns: Columns, part: str, writing: Writing) -> None:
    kind = sheet.name.strip() if part == "nodes" and "kind" not in columns.fields else ""
    merged = _merged_rows(sheet, writing)
    sound = columns.sound and _number(lines[0]) not in merged
    for line in lines[1:]:
        if sound and _number(line) not in merged:
            take_row(line, columns, part, writing, kind)
        elif part != "sources":
            writing.refused += Tally(**{part: 1})


def _merged_rows(sheet: Any, writing: Writing) -> set[int]:
    """The rows (1-based) touched by merged cells, whose other cells have no certain meaning."""
    rows: set[int] = set()
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        cells = f"{_letters(left)}{top + 1}:{_letters(right)}{bottom + 1}"
        message = msg(
            "the cells {cells} are merged; split them and fill each row. These rows are not read", cells=cells
        )
        writing.fault("merged_cells", message, Place(writing.file, cell=f"{sheet.name}!{cells}"))
        rows.update(range(top + 1, bottom + 2))
    return rows


def _number(line: Line) -> int:
    return int(line.place.cell.rpartition("!")[2])


def _letters(column: int) -> str:
    """``0`` → ``A``, ``26`` → ``AA``."""
    letters, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _sheet_lines(sheet: Any, file: str) -> Iterator[Line]:
    for number, row in enumerate(sheet.to_python(skip_empty_area=False), 1):
        cells = [_shown(value) for value in row]
        if any(cells):
            yield Line(cells, Place(file, cell=f"{sheet.name}!{number}"))


def _shown(value: object) -> str:
    match value:
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime():
            return value.date().isoformat()
        case date():
            return value.isoformat()
        case None:
            return ""
    return str(value).strip()
