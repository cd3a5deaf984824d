"""Golden questions in tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

from wenyuan.core.errors import DocumentRejected, InvalidRequest, msg
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.model import MAX_QUERY_CHARS
from wenyuan.core.registry import LineFault, refuse
from wenyuan.core.text.analysis import query_terms
from wenyuan.readers.delimited import values_of
from wenyuan.readers.golden_columns import ADDRESS, GOLDEN_COLUMNS, GRADE, HEADER_WITHIN, NO_ANSWER, content_of
from wenyuan.readers.table import QUESTION, SIMILAR, Row, header_key
from wenyuan.readers.workbook import sheets_of


def read_table(path: Path) -> tuple[QuestionAddress, ...]:
    content, name = content_of(path), path.name
    try:
        if path.suffix.lower() == ".xlsx":
            sheets = [(sheet.name, sheet.rows) for sheet in sheets_of(content, name=name)[0]]
        else:
            rows, _ = values_of(content, name=name, delimiter="\t" if path.suffix.lower() == ".tsv" else None)
            sheets = [("", rows)]
    except DocumentRejected as error:
        raise InvalidRequest(msg("{name}: {message}", name=name, message=error.message)) from error
    pairs: list[QuestionAddress] = []
    faults: list[LineFault] = []
    read = 0
    for sheet, rows in sheets:
        header = _golden_header(rows)
        if header is not None:
            read += 1
            _take_rows(sheet, rows[header + 1 :], rows[header].cells, pairs, faults)
    if not read:
        raise InvalidRequest(msg("{name} has no header with questions and addresses", name=name), hint=GOLDEN_COLUMNS)
    refuse(faults)
    return tuple(pairs)


def _golden_header(rows: Sequence[Row]) -> int | None:
    for at, row in enumerate(rows[:HEADER_WITHIN]):
        keys = {header_key(cell) for cell in row.cells}
        if keys & (QUESTION | SIMILAR) and keys & ADDRESS:
            return at
    return None


def _take_rows(
    sheet: str, rows: Sequence[Row], names: Sequence[str], pairs: list[QuestionAddress], faults: list[LineFault]
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
            grade = grade_of(graded) if graded else 1.0
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
        faults += [LineFault(sheet, wrong, line) for question in asked if (wrong := unaskable(question))]
        if any(header_key(address) in NO_ANSWER for address in told):
            if len(told) > 1:
                faults.append(LineFault(sheet, "there is an address beside 'no answer'", line))
            pairs += [QuestionAddress(question=q, answer="", grade=0.0, where=where) for q in asked]
        else:
            pairs += [QuestionAddress(question=q, answer=a, grade=grade, where=where) for q in asked for a in told]


def unaskable(question: str) -> str:
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


def grade_of(text: str) -> float:
    grade = float(text)
    if not 0.0 <= grade < float("inf"):
        raise ValueError(text)
    return grade
