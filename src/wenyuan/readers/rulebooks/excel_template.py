"""Templates of rules as workbooks, to fill in."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from wenyuan.core.errors import ConfigError
from wenyuan.core.rules.model import Evidence, Node, Statement
from wenyuan.core.rules.names import IdsByName, Names
from wenyuan.core.rules.schema import Kind, Parameter, Relation, Schema, label_in
from wenyuan.core.text.folding import language_of
from wenyuan.readers.rulebooks.excel_book import LISTS_SHEET, NOTES_SHEETS, RELATION_SHEETS, SOURCE_SHEETS
from wenyuan.readers.rulebooks.tables import NODES, SOURCES, STATEMENTS
from wenyuan.runtime.installation import install_command

# The workbook that people fill in: a sheet for each kind, one for relations, with drop-downs for what is fixed.


_ROWS = 2_000
_HEADING = {"zh": "：", "en": ":"}
_TYPES = {
    "zh": {"number": "数", "integer": "整数", "string": "文字", "boolean": "true 或 false"},
    "en": {"number": "number", "integer": "integer", "string": "text", "boolean": "true or false"},
}
_NODE_COLUMNS = ("name", "en", "zh", "aliases", "scope", "codes", "key")
_STRENGTHS = {"zh": ("强制", "推荐", "参考"), "en": ("mandatory", "recommended", "informative")}
_NOTES = {
    "zh": (
        "每类对象一张表，表名就是类别；规则写在“关系”表中，一行一条依据。",
        "同一条规则有多条依据时，重复该行并只改依据各列。",
        "别名、适用范围、代码用顿号或分号分隔；代码写成“标准=编号”。不要合并单元格。",
        "条件写成表达式，参数用名称、标签或别名（见下表）；留空表示总是成立。",
    ),
    "en": (
        "One sheet for each kind, named by the kind; rules stand in the sheet of relations, one evidence a row.",
        "When a rule has several evidences, repeat its row and change the columns of the evidence only.",
        "Separate aliases, scopes and codes by semicolons; write a code as scheme=code. Do not merge cells.",
        "A condition is an expression over parameters, by their names, labels or aliases (listed below); empty means always.",
    ),
}


def excel_template(
    schema: Schema, *, nodes: Iterable[Node] = (), statements: Iterable[Statement] = (), language: str = "zh"
) -> bytes:
    """An XLSX workbook, filled with the given nodes and statements, that `read_book` reads back.

    Node attributes, and types and weights of aliases, have no column: YAML and JSON Lines keep them.

    Raises:
        ConfigError: the package that writes workbooks is not installed.
    """
    can_write_workbooks()
    import openpyxl

    tongue = "zh" if language.startswith("zh") else "en"
    book = openpyxl.Workbook()
    del book[book.sheetnames[0]]
    notes = book.create_sheet(_pick(NOTES_SHEETS, tongue))
    for line in _NOTES[tongue]:
        notes.append([line])
    for row in (*_example(schema, tongue), *_parameter_rows(schema, tongue)):
        notes.append(row)
        if row and row[0].endswith(_HEADING[tongue]):
            notes.cell(notes.max_row, 1).font = openpyxl.styles.Font(bold=True)
    notes.column_dimensions["A"].width = 40
    kinds = _titles(schema.kinds.values(), tongue)
    rows: dict[str, list[list[Any]]] = {kind: [] for kind in kinds}
    known = list(nodes)
    for node in known:
        rows[node.kind].append(_node_row(node))
    for kind, title in kinds.items():
        _fill(book.create_sheet(title), _headers(NODES, _NODE_COLUMNS, tongue), rows[kind])
    relations = book.create_sheet(_pick(RELATION_SHEETS, tongue))
    words = _titles(schema.relations.values(), tongue)
    ends = _short(known)
    lines = [row for statement in statements for row in _statement_rows(statement, ends, words, tongue)]
    _fill(relations, _headers(STATEMENTS, tuple(STATEMENTS), tongue), lines)
    _fill(book.create_sheet(_pick(SOURCE_SHEETS, tongue)), _headers(SOURCES, tuple(SOURCES), tongue), [])
    _drop_downs(book, relations, (tuple(words.values()), _STRENGTHS[tongue]))
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def can_write_workbooks() -> None:
    """Raise ConfigError where the package that writes workbooks is missing; called before expensive work."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ConfigError("writing workbooks needs the package openpyxl", hint=install_command("excel")) from error


def _example(schema: Schema, language: str) -> Iterator[list[str]]:
    """Example rows for the sheet of relations in the schema's words, placed where no rows are read."""
    typed = [r for r in schema.relations.values() if r.sources and r.targets]
    if not typed:
        return
    starts = {pattern.start for pattern in schema.patterns.values()} - {schema.scope_kind}
    relation = next((r for r in typed if r.sources[0] in starts and r.targets[0] not in starts), typed[0])
    kinds = _titles(schema.kinds.values(), language)
    number = next((p for p in schema.parameters.values() if p.type == "number"), None)
    condition = f"{_condition_name(number, language)} >= 5" if number else ""
    zh = language == "zh"
    ends = [
        f"某{kinds[kind]}" if zh else f"some {kinds[kind]}" for kind in (relation.sources[0], relation.targets[0])
    ]
    row = {
        "src": ends[0], "rel": _titles(schema.relations.values(), language)[relation.id], "dst": ends[1],
        "when": condition, "strength": _STRENGTHS[language][0],
        "source": "某来源标识" if zh else "id_of_a_source", "clause": "第十条" if zh else "article 10",
        "quote": "该条款的原文" if zh else "the words of that clause",
    }  # fmt: skip
    shown = [name for name in STATEMENTS if name in row]
    yield []
    yield [("“关系”表填写示例" if zh else "An example of a row of the sheet of relations") + _HEADING[language]]
    yield _headers(STATEMENTS, shown, language)
    yield [row[name] for name in shown]


def _parameter_rows(schema: Schema, language: str) -> Iterator[list[str]]:
    """Parameters that conditions may use: each with label, aliases, type and unit."""
    if not schema.parameters:
        return
    zh = language == "zh"
    yield []
    yield [("条件可用的参数" if zh else "Parameters that conditions may use") + _HEADING[language]]
    yield ["名称", "标签", "别名", "类型", "单位"] if zh else ["name", "label", "aliases", "type", "unit"]
    for parameter in schema.parameters.values():
        label = label_in(parameter.labels, language, "")
        yield [
            parameter.name, label, "；".join(parameter.aliases), _TYPES[language][parameter.type], parameter.unit,
        ]  # fmt: skip


def _condition_name(parameter: Parameter, language: str) -> str:
    """A parameter's name for use in a condition: a one-word alias or label in the language, else its id."""
    ways = [*parameter.aliases, label_in(parameter.labels, language, "")]
    return next((way for way in ways if way.isidentifier() and way.isascii() == (language != "zh")), parameter.name)


def _pick(names: Sequence[str], language: str) -> str:
    return names[0] if language == "zh" else names[1]


def _titles(items: Iterable[Kind | Relation], language: str) -> dict[str, str]:
    """Labels where they are unique and valid sheet names, else ids."""
    found: dict[str, str] = {}
    for item in items:
        label = item.labels.get(language, "")
        fits = label and len(label) <= 31 and not set(label) & set("[]:*?/\\")
        taken = label.lower() in (title.lower() for title in found.values())
        found[item.id] = label if fits and not taken else item.id
    return found


def _headers(fields: Mapping[str, tuple[str, ...]], columns: Sequence[str], language: str) -> list[str]:
    return [fields[name][0] if language == "zh" else name for name in columns]


def _fill(sheet: Any, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from openpyxl.styles import Font

    sheet.append(list(headers))
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet.freeze_panes = "A2"
    for row in rows:
        sheet.append([_text_cell(sheet, value) if str(value).startswith("=") else value for value in row])


def _text_cell(sheet: Any, text: str) -> Any:
    """A cell with a text that begins with ``=``, marked as text instead of a formula."""
    from openpyxl.cell import Cell

    cell = Cell(sheet, row=1, column=1, value=text)
    cell.data_type = "s"
    return cell


def _node_row(node: Node) -> list[str]:
    own = language_of(node.name)
    labels = {tag: text for tag, text in node.labels.items() if (tag, text) != (own, node.name)}
    return [
        node.name,
        labels.get("en", ""),
        labels.get("zh", ""),
        "；".join(alias.text for alias in node.aliases),
        "；".join(node.scope),
        "；".join(f"{scheme}={code}" for scheme, code in node.codes.items()),
        "" if node.key == f"{node.kind}/{node.name}" else node.key,
    ]


def _short(nodes: Sequence[Node]) -> dict[str, str]:
    """How each node is written as an end of a statement: its name where that is unambiguous, else its key."""
    names = Names(IdsByName(()), nodes)
    return {node.key: node.name if len(names.find(node.name)) == 1 else node.key for node in nodes}


def _statement_rows(
    statement: Statement, ends: Mapping[str, str], words: Mapping[str, str], language: str
) -> Iterator[list[Any]]:
    strengths = dict(zip(_STRENGTHS["en"], _STRENGTHS[language], strict=True))
    told = [
        ends.get(statement.src, statement.src),
        words[statement.rel],
        ends.get(statement.dst, statement.dst),
        statement.condition,
        strengths[statement.strength],
        statement.sentence.get("zh", ""),
        statement.sentence.get("en", ""),
        statement.valid_from.isoformat() if statement.valid_from else "",
        statement.valid_until.isoformat() if statement.valid_until else "",
        statement.weight,
        statement.status,
    ]
    for evidence in statement.evidences or (None,):
        yield [*told, *_evidence_cells(evidence)]


def _evidence_cells(evidence: Evidence | None) -> list[Any]:
    if evidence is None:
        return []
    trust = "" if evidence.trust is None else evidence.trust
    return [evidence.source_id, evidence.clause, evidence.quote, evidence.uri, trust, evidence.reviewer]


def _drop_downs(book: Any, relations: Any, choices: tuple[Sequence[str], Sequence[str]]) -> None:
    """Drop-down lists, backed by a hidden sheet since inline lists are limited to 255 characters."""
    from openpyxl.worksheet.datavalidation import DataValidation

    lists = book.create_sheet(LISTS_SHEET)
    lists.sheet_state = "hidden"
    for column, (letter, words) in enumerate(zip("AB", choices, strict=True), 1):
        for row, word in enumerate(words, 1):
            lists.cell(row, column, word)
        if not words:
            continue
        rule = DataValidation(type="list", formula1=f"{LISTS_SHEET}!${letter}$1:${letter}${len(words)}")
        at = "B" if letter == "A" else "E"
        rule.add(f"{at}2:{at}{_ROWS}")
        relations.add_data_validation(rule)
