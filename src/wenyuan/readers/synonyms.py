"""Files of synonyms: tables (CSV, TSV, XLSX) with a header, and JSON Lines; each entry with its line, and back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wenyuan.core.errors import DocumentRejected, InvalidRequest, msg
from wenyuan.core.registry import LineFault
from wenyuan.core.text.synonyms import Synonym, parse_synonym, synonym_to_wire
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.delimited import values_of
from wenyuan.readers.golden_columns import HEADER_WITHIN
from wenyuan.readers.table import Row, header_key
from wenyuan.readers.workbook import sheets_of
from wenyuan.runtime.regular import read_regular

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
    for at, row in enumerate(rows[:HEADER_WITHIN]):
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
