"""Table rows to pieces of a `Document`, one passage per row."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wenyuan.core.redaction.columns import ColumnKinds
from wenyuan.readers.assemble import (
    EMPTY_CELL,
    Cell,
    Piece,
    joined,
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
_ORNAMENT = re.compile(r"[\s*:_\-./#]+|[0-9一二三四五六七八九十]+\Z")
_NUMERIC = re.compile(r"[-+]?[0-9][0-9.,:/\-%\s]*")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}年?")
_SENTENCE = re.compile(r".*[。！？；]|\S+\s+\S+\s.*[.?!]", re.DOTALL)
_HEADER_WITHIN = 10
_SHORT = 200


@dataclass(frozen=True, slots=True)
class Row:
    """A non-empty row: its number in the sheet (1-based), its cells, and its first line in a text file."""

    number: int
    cells: Sequence[str]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class _Columns:
    """Names of the columns, and for an FAQ which hold the question, similar questions and the answer.

    Attributes:
        used: Without names, the columns that hold something in some row.
    """

    names: Sequence[str] = ()
    question: Sequence[int] = ()
    similar: Sequence[int] = ()
    answer: Sequence[int] = ()
    used: frozenset[int] = frozenset()
    above: int = 0  # rows of the header above its last one
    left_out: Counter[str] = field(default_factory=Counter)

    def name(self, at: int) -> str:
        return self.names[at] if at < len(self.names) else ""


def row_pieces(rows: Sequence[Row], *, table: str, anchor: Callable[[int], str]) -> tuple[list[Piece], list[str]]:
    r"""One ``row`` piece per row below the header, and notes; rows above the header become paragraphs.

    With a question and an answer column a row reads ``question\nanswer``, then its other short columns as
    ``name: value``; in any other table ``name: value; name: value``.

    Args:
        table: Name of the sheet or file: a cell is ``table!row``.
        anchor: What opens a row of this number.
    """
    at, columns = _header(rows)
    faq = bool(columns.question and columns.answer)
    kinds = ColumnKinds()
    pieces: list[Piece] = []
    for number, row in enumerate(rows):
        told = kinds.of({column: cell for column, cell in enumerate(row.cells) if cell})
        opened = anchor(row.number)
        place = f"{table}!{row.number}"
        if number < at - columns.above:
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


def names_repeated(rows: Sequence[Row]) -> list[str]:
    """The column names, as often as `row_pieces` repeats them: in every row but the first that has a value there."""
    at, columns = _header(rows)
    plain = {*columns.question, *columns.answer} if columns.question and columns.answer else set()
    uses = Counter(
        column for row in rows[at + 1 :] for column, cell in enumerate(row.cells) if cell and column not in plain
    )
    return [columns.name(column) * (count - 1) for column, count in uses.items()]


def _doubtful(header: Row, below: Sequence[Row]) -> bool:
    """Whether a candidate header holds a sentence, or a value that recurs below in its own column.

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
        if ColumnKinds().of(dict(enumerate(row.cells))):
            break  # 姓名, 刘洋, 性别, 女: names stand beside their values
        if len(filled) < max(2, widest / 2):
            continue
        numbers = [cell for cell in filled if _NUMERIC.fullmatch(cell)]
        if filled[0] not in numbers:  # 指标, 2021, 2022: years name columns, too
            numbers = [cell for cell in numbers if not _YEAR.fullmatch(cell)]
        unlike = not numbers and len(set(filled)) == len(filled)
        if unlike and max(map(len, filled)) <= 40 and len(rows) > at + 1:
            names = _two_rows(rows, at)
            return (at + 1, _Columns(names=names, above=1)) if names else (at, _Columns(names=row.cells))
        break
    return 0, _Columns(used=frozenset(at for row in rows for at, cell in enumerate(row.cells) if cell))


def _two_rows(rows: Sequence[Row], at: int) -> list[str]:
    """The names of the columns where the header has a second row below groups of columns, ``Price gross``; else none."""
    if len(rows) < at + 3:
        return []
    above, below = rows[at].cells, rows[at + 1].cells
    upper = [*above, *[""] * (len(below) - len(above))]
    filled = [cell for cell in below if cell]
    grouped = [i for i, cell in enumerate(below) if cell and i and not upper[i]]
    own = [i for i, cell in enumerate(upper) if cell and (i >= len(below) or not below[i] or below[i] == cell)]
    if not grouped or len(grouped) + len(own) < 2 or any(_NUMERIC.fullmatch(c) or len(c) > 40 for c in filled):
        return []
    if any(_SENTENCE.fullmatch(cell) for cell in filled) or len(rows[at + 2].cells) < len(grouped):
        return []
    names, group = [], ""
    for i, name in enumerate(upper):
        low = below[i] if i < len(below) else ""
        group = name or (group if low else "")
        names.append(group if low in ("", group) else f"{group} {low}".strip())
    return names if len({name for name in names if name}) == sum(map(bool, names)) else []


def _faq_columns(row: Row) -> _Columns:
    keys = [header_key(cell) for cell in row.cells]
    question = [at for at, key in enumerate(keys) if key in QUESTION]
    similar = [at for at, key in enumerate(keys) if key in SIMILAR]
    if not question:
        question, similar = similar[:1], similar[1:]
    answer = [at for at, key in enumerate(keys) if key in ANSWER]
    return _Columns(names=row.cells, question=question, similar=similar, answer=answer)


def header_key(header: str) -> str:
    """Normal form of a header: ``１. 标准问（必填）`` → ``标准问``, ``Similar Question 2`` → ``similarquestion``."""
    text = _ASIDE.sub("", unicodedata.normalize("NFKC", header).casefold())
    return _ORNAMENT.sub("", re.sub(r"^[\s0-9.、]+|[\s0-9]+\Z", "", text))


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
