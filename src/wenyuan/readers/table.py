"""Table rows to pieces of a `Document`, one passage per row; readers for CSV, TSV and JSON Lines."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn
from urllib.parse import quote

from wenyuan.core.addresses import scheme_of, stated_address, with_part
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.redaction.names import Columns
from wenyuan.core.terms_of_use import validity_field, validity_from
from wenyuan.readers.assemble import (
    EMPTY_CELL,
    Cell,
    Original,
    Piece,
    assemble,
    clean,
    decode,
    joined,
    plain_title,
    rejected,
    stem,
)
from wenyuan.readers.text import measured, read_text

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


# Text files → `Document`: CSV and TSV. Every row is a passage of its own, an FAQ's with its question first.


_DELIMITERS = ",;\t|，；"
_SAMPLE_ROWS = 20


def read_csv(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read delimited values; the delimiter (comma, ``;``, tab, ``|``, full-width comma) is detected from the rows.

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
    document = assemble(
        pieces, Original(content, uri, name), title=table, media_type=media_type, notes=[*notes, *remarks]
    )
    own = (cell for row in rows for cell in row.cells)
    return (measured(document, own, added=names_repeated(rows)),)


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
    """The delimiter that splits the first rows into the most columns, with equal counts in most rows."""

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


# JSON Lines to one `Document` per line: a title or question, a text or answer, an address, facets.

_TITLES = ("title", "question")
_TEXTS = ("text", "content", "answer")
_MEDIA_TYPE = "application/jsonl"
_MAX_INTEGER = 2**53


def read_jsonl(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read one document per line.

    A line is an object with ``title`` or ``question``; ``text``, ``content`` or ``answer``; optionally ``url`` or
    ``uri`` (http, https or urn; of another one, ``stated`` tells the service), or ``id``; and ``metadata``, whose scalars become facets, as do the line's own keys that say when
    it is in force (``effective_until``, ``状态``, ``supersedes``). A line without an address gets ``<uri>?id=<id>`` or
    ``<uri>?line=<n>``. A question and an answer make one ``row`` block. ``collection`` says which one a
    line belongs to. Lines without title and question whose ids are the same up to a ``#`` are parts of one text. The hash
    is that of the line.

    A line that is not such an object is refused by its number, and the others are taken: see `Document.refused`.

    Raises:
        DocumentRejected: no line is valid (the message has the first reason), or the file is empty.
    """
    decoded = decode(content)
    documents: dict[str, Document] = {}
    refused: list[tuple[str, str]] = []
    for number, line in enumerate(decoded.text.split("\n"), 1):
        if not line.strip():
            continue
        record: Mapping[str, Any] = {}
        try:
            record = _parsed(line)
            document = _document(record, line.strip(), uri, name, number, decoded.notes)
            if document.uri in documents:
                raise ValueError(msg("its address {uri} was used before", uri=repr(document.uri)))
            documents[document.uri] = document
        except (ValueError, RecursionError, DocumentRejected) as error:
            reason = error.message if isinstance(error, DocumentRejected) else str(error)
            refused.append((_place_of(record, uri, number, documents), f"line {number}: {reason}"))
    if not documents:
        raise rejected(_none_taken(refused), name)
    first, *others = documents.values()
    return (replace(first, refused=_bounded(refused, uri)), *others)


_MOST_REFUSED = 200  # lines that are named one by one


def _place_of(record: Mapping[str, Any], uri: str, number: int, taken: Mapping[str, Document]) -> str:
    """The address of a refused line: its own, so that its older version is kept, unless another line uses it."""
    try:
        own = stated_address(_stated(record)) or _place(record, uri, number)
    except ValueError:
        own = ""
    return own if own and own not in taken else with_part(uri, f"line={number}")


def _none_taken(refused: Sequence[tuple[str, str]]) -> str:
    if not refused:
        return "it holds no lines"
    more = msg("; further lines like it: {count}", count=len(refused) - 1) if len(refused) > 1 else ""
    return refused[0][1] + more


def _bounded(refused: Sequence[tuple[str, str]], uri: str) -> tuple[tuple[str, str], ...]:
    if len(refused) <= _MOST_REFUSED:
        return tuple(refused)
    rest = len(refused) - _MOST_REFUSED
    return (*refused[:_MOST_REFUSED], (with_part(uri, "line=more"), msg("{rest} more lines were refused", rest=rest)))


def _parsed(line: str) -> Mapping[str, Any]:
    def no_constant(constant: str) -> NoReturn:
        raise ValueError(msg("{constant} is not JSON", constant=constant))

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key stands twice in one object")
        return found

    record = json.loads(line, parse_constant=no_constant, object_pairs_hook=unique)
    if not isinstance(record, dict):
        raise ValueError("it is not an object")
    return record


def _string(record: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = record.get(key)
        if value is None:
            continue
        if not isinstance(value, str):
            raise ValueError(msg("{key} is not a string", key=repr(key)))
        if value.strip():
            return value.strip()
    return ""


def _document(
    record: Mapping[str, Any], line: str, uri: str, name: str, number: int, notes: tuple[str, ...]
) -> Document:
    body = _string(record, _TEXTS)
    question = _string(record, ("question",))
    title = _string(record, _TITLES)
    if not body:
        raise ValueError("it has no text: one of 'text', 'content', 'answer' is needed")
    stated, own = _stated(record), _place(record, uri, number)
    own = stated_address(stated) or own
    content = line.encode("utf-8", "surrogatepass")
    validity, facets = _validity(record), _facets(record)
    twice = [key for key, value in validity.items() if facets.get(key, value) != value]
    for key in twice:
        said, both = {key: validity[key]}, {key: facets[key]}
        if validity_from(said)[0] == validity_from(said, both)[0]:
            facets[key] = validity[key]
    if question and _string(record, ("answer",)) == body:
        pieces = [Piece("row", f"{question}\n{body}", line=number)]
        document = assemble(pieces, Original(content, own, name), title=title)
        document = measured(document, [question, body])
        title = document.title
    else:
        (document,) = read_text(body.encode("utf-8", "replace"), uri=own, name=name)
    return replace(
        document,
        title=plain_title(title) or document.title,
        titled=bool(title) or document.titled,
        part_of="" if title else _whole(record),
        blocks=tuple(replace(block, line=number, anchor="") for block in document.blocks),
        sha256=hashlib.sha256(content).hexdigest(),
        media_type=_MEDIA_TYPE,
        notes=(
            *notes,
            *document.notes,
            *(f"{key!r} says otherwise in metadata; the narrower counts" for key in twice),
        ),
        metadata={**validity, **facets},
        stated=stated and (stated_address(stated) or stated),
        collection=" ".join(clean(_string(record, ("collection",)))[0].split())[:200],
    )


def _stated(record: Mapping[str, Any]) -> str:
    """The address given in a line, without its fragment; ``""`` without one."""
    for key in ("url", "uri"):
        own = _string(record, (key,))
        if own and not scheme_of(own):
            raise ValueError(f"{key!r} is not absolute: {own[:100]!r}")
        if own:
            return own.partition("#")[0]
    return ""


def _place(record: Mapping[str, Any], uri: str, number: int) -> str:
    """The address of a line within its file: by its id, or by its number."""
    own_id = record.get("id")
    if own_id is None or own_id == "":
        return with_part(uri, f"line={number}")
    if isinstance(own_id, bool) or not isinstance(own_id, (str, int)):
        raise ValueError("'id' is neither a string nor an integer")
    return with_part(uri, f"id={quote(str(own_id), safe='')}")


def _whole(record: Mapping[str, Any]) -> str:
    """The id of the text that a line is a part of: its id up to the last ``#``; ``""`` without one."""
    whole, mark, part = str(record.get("id") or "").rpartition("#")
    return whole if mark and part else ""


def _validity(values: Mapping[str, Any]) -> dict[str, Facet]:
    """Facets of a line or its metadata that give its period of validity; lists as lists of texts."""
    facets: dict[str, Facet] = {}
    for key, value in values.items():
        if not validity_field(key):
            continue
        if isinstance(value, str) or (type(value) is int and abs(value) <= _MAX_INTEGER):
            facets[key] = value
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            facets[key] = ", ".join(value)
    return facets


def _facets(record: Mapping[str, Any]) -> dict[str, Facet]:
    metadata = record.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise ValueError("'metadata' is not an object")
    facets = _validity(metadata)
    for key, value in metadata.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"metadata {key!r} is not a finite number")
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise ValueError(f"metadata {key!r} is beyond 2^53")
        if isinstance(value, (str, int, float, bool)):
            facets[key] = value
    return facets
