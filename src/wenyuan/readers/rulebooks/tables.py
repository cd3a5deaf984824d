"""Rules as CSV and XLSX tables: columns, rows and workbooks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import msg
from wenyuan.core.rules.model import EntryPlace
from wenyuan.core.rules.names import folded, suggestion
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
class TableLine:
    """A non-empty row: its cells, and its place in the file."""

    cells: Sequence[str]
    place: EntryPlace


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The field of each column, in order; None: a remark column, not read; ``""``: a column without a header."""

    fields: Sequence[str | None]
    sound: bool

    def tree(self, line: TableLine) -> dict[str, Any]:
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


def find_columns(line: TableLine, fields: Mapping[str, tuple[str, ...]], writing: Writing) -> TableColumns:
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
    return TableColumns(found, sound)


def take_row(line: TableLine, columns: TableColumns, part: str, writing: Writing, kind: str = "") -> None:
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
