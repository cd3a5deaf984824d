"""Golden files of questions with known answers, and files of synonyms."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag

from wenyuan.core.addresses import file_uri
from wenyuan.core.errors import DocumentRejected, InvalidRequest, msg
from wenyuan.core.model import MAX_QUERY_CHARS
from wenyuan.core.records import Pair
from wenyuan.core.registry import LineFault, refuse
from wenyuan.core.text import query_terms
from wenyuan.core.text.synonyms import Synonym, parse_synonym, synonym_to_wire
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.delimited import values_of
from wenyuan.readers.table import QUESTION, SIMILAR, Row, header_key
from wenyuan.readers.workbook import sheets_of
from wenyuan.runtime.regular import read_regular

# Golden files → pairs of a question and the address of what answers it: tables, and judged sets in BEIR layout.
#
# A table has a column of questions and one of addresses, in Chinese or English, and perhaps one of grades; a cell may
# hold several, one per line. Where it says *no answer* (无答案) instead, the library must not answer. A judged set is a
# folder with ``queries.jsonl`` and ``qrels.tsv`` (or ``qrels/*.tsv``); an address of an entry in its ``corpus.jsonl`` is
# what is expected. All faults are reported at once, with their lines.


GOLDEN_SUFFIXES = (".csv", ".tsv", ".xlsx")
ADDRESS = frozenset(
    "来源 來源 答案来源 答案來源 答案出处 答案出處 出处 出處 地址 来源地址 链接 鏈接 連結 答案链接 来源链接 网址 網址 文档 文檔 "
    "文档地址 文档链接 段落 片段 引用 uri url source sourceuri sourceurl address answeruri answerurl answersource "
    "document documenturi documenturl passage passageuri passageid fragment fragmenturi ref reference link "
    "来源uri 来源url 答案uri 答案url 文档uri".split()
)
GRADE = frozenset(
    "等级 等級 评分 評分 分值 得分 相关度 相關度 相关性 相關性 grade score relevance rating label".split()
)
NO_ANSWER = frozenset("noanswer none unanswerable 无答案 無答案 没有答案 沒有答案 无 無".split())
_GOLDEN_MAX_BYTES = 50_000_000
_HEADER_WITHIN = 10
_LAYOUT = "a judged set is a folder with queries.jsonl and qrels.tsv (BEIR layout)"
_GOLDEN_COLUMNS = "name a column question (问题) and one uri (来源)"


def read_golden(path: Path) -> tuple[Pair, ...]:
    """Read a golden file, or the folder of a judged set in BEIR layout.

    Raises:
        InvalidRequest: it is not there or of no known kind, or lines are at fault: all of them are named.
    """
    if path.is_dir():
        pairs = _read_set(path)
    elif path.suffix.lower() in GOLDEN_SUFFIXES and path.exists():
        pairs = _read_table(path)
    else:
        raise InvalidRequest(
            msg("{path} is no golden file", path=path)
            if path.exists()
            else msg("there is no file or folder {path}", path=path),
            hint=msg(
                "a table ({golden_suffixes}) of questions and addresses, or the folder of a judged set",
                golden_suffixes=", ".join(GOLDEN_SUFFIXES),
            ),
        )
    if not pairs:
        raise InvalidRequest(msg("{path} holds no question with an answer", path=path))
    return pairs


def _content(path: Path, hint: str = "") -> bytes:
    try:
        if path.stat().st_size > _GOLDEN_MAX_BYTES:
            raise InvalidRequest(
                msg(
                    "{path} has more than {golden_max_bytes} MB",
                    path=path,
                    golden_max_bytes=_GOLDEN_MAX_BYTES // 1000000,
                )
            )
        return read_regular(path)
    except OSError as error:
        raise InvalidRequest(
            msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror), hint=hint
        ) from error


# -- tables ---------------------------------------------------------------------------------------------------


def _read_table(path: Path) -> tuple[Pair, ...]:
    content, name = _content(path), path.name
    try:
        if path.suffix.lower() == ".xlsx":
            sheets = [(sheet.name, sheet.rows) for sheet in sheets_of(content, name=name)[0]]
        else:
            rows, _ = values_of(content, name=name, delimiter="\t" if path.suffix.lower() == ".tsv" else None)
            sheets = [("", rows)]
    except DocumentRejected as error:
        raise InvalidRequest(msg("{name}: {message}", name=name, message=error.message)) from error
    pairs: list[Pair] = []
    faults: list[LineFault] = []
    read = 0
    for sheet, rows in sheets:
        header = _golden_header(rows)
        if header is not None:
            read += 1
            _take_rows(sheet, rows[header + 1 :], rows[header].cells, pairs, faults)
    if not read:
        raise InvalidRequest(
            msg("{name} has no header with questions and addresses", name=name), hint=_GOLDEN_COLUMNS
        )
    refuse(faults)
    return tuple(pairs)


def _golden_header(rows: Sequence[Row]) -> int | None:
    for at, row in enumerate(rows[:_HEADER_WITHIN]):
        keys = {header_key(cell) for cell in row.cells}
        if keys & (QUESTION | SIMILAR) and keys & ADDRESS:
            return at
    return None


def _take_rows(
    sheet: str, rows: Sequence[Row], names: Sequence[str], pairs: list[Pair], faults: list[LineFault]
) -> None:
    keys = [header_key(name) for name in names]
    questions, addresses, grades = (
        [at for at, key in enumerate(keys) if key in known] for known in (QUESTION | SIMILAR, ADDRESS, GRADE)
    )
    for row in rows:
        line = row.line or row.number
        where = f"{sheet}!{row.number}" if sheet else f"line {line}"
        asked, told = _cells(row, questions), _cells(row, addresses)
        graded = " ".join(_cells(row, grades))
        if not asked and not told:
            continue  # what a person notes below or between
        try:
            grade = _grade(graded) if graded else 1.0
        except ValueError:
            faults.append(
                LineFault(
                    sheet, msg("{graded} is no grade: write a number that is not below 0", graded=repr(graded)), line
                )
            )
            continue
        if not asked or not told:
            missing = "the question is missing" if not asked else "the address is missing"
            faults.append(LineFault(sheet, missing, line))
        faults += [LineFault(sheet, wrong, line) for question in asked if (wrong := _unaskable(question))]
        if any(header_key(address) in NO_ANSWER for address in told):
            if len(told) > 1:
                faults.append(LineFault(sheet, "there is an address beside 'no answer'", line))
            pairs += [Pair(question=q, answer="", grade=0.0, where=where) for q in asked]
        else:
            pairs += [Pair(question=q, answer=a, grade=grade, where=where) for q in asked for a in told]


def _unaskable(question: str) -> str:
    """Why a question cannot be asked; empty where it can."""
    length = len(unicodedata.normalize("NFKC", question.strip()))
    if length > MAX_QUERY_CHARS:
        return msg(
            "the question has {length} characters; at most {max_query_chars}",
            length=length,
            max_query_chars=MAX_QUERY_CHARS,
        )
    return (
        ""
        if query_terms(question)
        else msg("the question {question} has no word or character to search for", question=repr(question[:40]))
    )


def _cells(row: Row, places: Sequence[int]) -> list[str]:
    """The lines of the given cells of a row, in order."""
    cells = (row.cells[at] for at in places if at < len(row.cells))
    return [line.strip() for cell in cells for line in cell.splitlines() if line.strip()]


def _grade(text: str) -> float:
    grade = float(text)
    if not 0.0 <= grade < float("inf"):
        raise ValueError(text)
    return grade


# -- judged sets ------------------------------------------------------------------------------------------------


def _read_set(folder: Path) -> tuple[Pair, ...]:
    files = [folder / "qrels.tsv"] if (folder / "qrels.tsv").exists() else sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        raise InvalidRequest(msg("there is no {folder}", folder=folder / "qrels.tsv"), hint=_LAYOUT)
    faults: list[LineFault] = []
    queries = folder / "queries.jsonl"
    asked = {name: (line, str(record["text"])) for line, name, record in _entries(queries, faults, needs="text")}
    judged = set()
    addresses = _addresses(folder, faults)
    pairs: list[Pair] = []
    for file in files:
        for line, query, document, grade in _judgements(file, faults):
            if query not in asked:
                faults.append(
                    LineFault(file.name, msg("the query {query} is not in queries.jsonl", query=repr(query)), line)
                )
                continue
            judged.add(query)
            first, *others = addresses.get(document, (document,))
            pairs.append(
                Pair(
                    question=asked[query][1], answer=first, otherwise=tuple(others), grade=grade,
                    where=f"{file.name} line {line}",
                )
            )  # fmt: skip
    for line, question in (asked[query] for query in judged):
        if wrong := _unaskable(question):
            faults.append(LineFault(queries.name, wrong, line))
    refuse(faults)
    return tuple(pairs)


def _judgements(path: Path, faults: list[LineFault]) -> Iterator[tuple[int, str, str, float]]:
    """Line number, query id, document id and grade of each line of a qrels file; a header is skipped."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        fields = [field.strip() for field in line.split("\t")]
        if not line.strip() or (number == 1 and fields[-1] == "score"):
            continue
        try:
            query, document, grade = fields
            yield number, query, document, _grade(grade)
        except ValueError:
            message = "it must be a query id, a document id and a grade, with tabs between"
            faults.append(LineFault(path.name, message, number))


def _entries(path: Path, faults: list[LineFault], *, needs: str = "") -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Line number, ``_id`` and object of each line of a JSON Lines file."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.append(LineFault(path.name, msg("is not JSON: {error}", error=error), number))
            continue
        name = record.get("_id") if isinstance(record, dict) else None
        if isinstance(name, bool) or not isinstance(name, (str, int)):
            faults.append(LineFault(path.name, "it is no object with an '_id'", number))
        elif needs and not (isinstance(record.get(needs), str) and record[needs].strip()):
            faults.append(
                LineFault(path.name, msg("{needs} must be a string that is not blank", needs=repr(needs)), number)
            )
        else:
            yield number, str(name), record


def _addresses(folder: Path, faults: list[LineFault]) -> Mapping[str, tuple[str, ...]]:
    """By corpus id, the addresses under which a library may hold the entry, the most certain first."""
    path = folder / "corpus.jsonl"
    if not path.exists():
        return {}
    file, name = file_uri(path.resolve()), quote(folder.resolve().name, safe="")
    found = {}
    for number, entry, record in _entries(path, faults):
        own = _own_address(record)
        base = urldefrag(own).url
        found[entry] = tuple(
            filter(None, (
                own,
                base and f"{base}{'&' if '?' in base else '?'}id={quote(entry, safe='')}",
                f"urn:eval:{name}:{quote(entry, safe='')}",
                f"{file}?line={number}",
                entry,
                base,
            ))
        )  # fmt: skip
    return found


def _own_address(record: Mapping[str, Any]) -> str:
    metadata = record.get("metadata")
    for place in (record, metadata if isinstance(metadata, dict) else {}):
        for key in ("uri", "url"):
            if isinstance(place.get(key), str) and ":" in place[key]:
                return str(place[key])
    return ""


def _text(path: Path) -> str:
    try:
        return _content(path, _LAYOUT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(msg("{path} is not UTF-8 (byte {start})", path=path, start=error.start)) from error


# Files of synonyms: tables (CSV, TSV, XLSX) with a header, and JSON Lines; each entry with its line, and back.


FORMS = (".csv", ".tsv", ".xlsx", ".jsonl")

_MAX_BYTES = 10_000_000
_TERM = frozenset("说法 說法 口语 口語 日常说法 词 詞 词语 詞語 术语 term word say".split())
_SYNONYM = frozenset(
    "同义词 同義詞 另一说法 另一說法 书面语 書面語 规范用语 規範用語 文档用语 synonym otherwording means".split()
)
_DIRECTION = frozenset("方向 direction".split())
_SAID = {
    "": "both", "both": "both", "双向": "both", "雙向": "both", "↔": "both",
    "one_way": "one_way", "one way": "one_way", "one-way": "one_way", "单向": "one_way", "單向": "one_way", "→": "one_way",
}  # fmt: skip
_COLUMNS = "name a column term (说法), one synonym (同义词) and, where it matters, one direction (方向)"


@dataclass(frozen=True, slots=True)
class SynonymFile:
    """The entries of a synonym file, and its invalid lines."""

    entries: tuple[Synonym, ...]
    faults: tuple[LineFault, ...]


def read_synonyms(path: Path) -> SynonymFile:
    """Read a file of synonyms.

    Raises:
        InvalidRequest: it is not there, of no known kind, too large, or has no header.
    """
    form = path.suffix.lower()
    if form not in FORMS:
        raise InvalidRequest(
            msg("{path} is no file of synonyms", path=path), hint=msg("a file of {forms}", forms=", ".join(FORMS))
        )
    if not path.exists():
        raise InvalidRequest(
            msg("there is no file or folder {path}", path=path), hint=msg("a file of {forms}", forms=", ".join(FORMS))
        )
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InvalidRequest(
                msg("{path} has more than {max_bytes} MB", path=path, max_bytes=_MAX_BYTES // 1000000)
            )
        content = read_regular(path)
    except OSError as error:
        raise InvalidRequest(msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror)) from error
    try:
        rows = _lines(content) if form == ".jsonl" else _table(content, path.name, form)
        return _taken(rows)
    except DocumentRejected as error:
        raise InvalidRequest(msg("{name}: {message}", name=path.name, message=error.message)) from error


_Rows = Iterator[tuple[str, int, Mapping[str, Any] | str]]
"""Of each row: sheet, line, and its fields or why they cannot be read."""


def _taken(rows: _Rows) -> SynonymFile:
    entries: list[Synonym] = []
    faults: list[LineFault] = []
    for sheet, line, fields in rows:
        if isinstance(fields, str):
            faults.append(LineFault(sheet, fields, line))
            continue
        try:
            entries.append(parse_synonym(fields))
        except InvalidRequest as error:
            faults += [LineFault(fault.path, fault.message, line) for fault in error.faults]
    return SynonymFile(tuple(entries), tuple(faults))


def _lines(content: bytes) -> _Rows:
    text, _ = clean(decode(content).text)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield "", number, msg("is not JSON: {error}", error=error)
            continue
        yield "", number, value if isinstance(value, dict) else "is no object"


def _table(content: bytes, name: str, form: str) -> _Rows:
    if form == ".xlsx":
        sheets = [(sheet.name, sheet.rows) for sheet in sheets_of(content, name=name)[0]]
    else:
        sheets = [("", values_of(content, name=name, delimiter="\t" if form == ".tsv" else None)[0])]
    headed = [(sheet, rows, at) for sheet, rows in sheets if (at := _header(rows)) is not None]
    if not headed:
        raise InvalidRequest(msg("{name} has no header with terms and synonyms", name=name), hint=_COLUMNS)
    for sheet, rows, at in headed:
        keys = [header_key(cell) for cell in rows[at].cells]
        places = [
            next((n for n, key in enumerate(keys) if key in known), -1) for known in (_TERM, _SYNONYM, _DIRECTION)
        ]
        for row in rows[at + 1 :]:
            term, synonym, direction = (row.cells[n] if 0 <= n < len(row.cells) else "" for n in places)
            if term or synonym:  # else what a person notes beside
                said = _SAID.get(direction.lower(), direction)
                yield sheet, row.line or row.number, {"term": term, "synonym": synonym, "direction": said}


def _header(rows: Sequence[Row]) -> int | None:
    for at, row in enumerate(rows[:_HEADER_WITHIN]):
        keys = {header_key(cell) for cell in row.cells}
        if keys & _TERM and keys & _SYNONYM:
            return at
    return None


def synonyms_file(entries: Iterable[Synonym], form: str) -> str:
    """Write entries in a format that `read_synonyms` reads back as equal entries.

    Args:
        form: ``.csv``, ``.tsv`` or ``.jsonl``.
    """
    told = [synonym_to_wire(entry) for entry in entries]
    if form == ".jsonl":
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in told)
    out = io.StringIO()
    writer = csv.DictWriter(
        out, ("term", "synonym", "direction"), delimiter="\t" if form == ".tsv" else ",", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(told)
    return out.getvalue()
