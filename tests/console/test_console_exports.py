"""Lists of the console as files: every row of them, as far as its reader may see it, and no formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from console_door import Browser, console
from governed_door import key
from wenyuan.core.learning_records import QuestionAddress

FORMULA = "=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    """A library that was asked 620 questions, one of them a formula, and was evaluated."""
    with console(tmp_path_factory.mktemp("exports")) as (url, library):
        for number in range(620):
            library.audit.append(
                {"kind": "retrieval", "principal": "local", "preview": FORMULA if number == 3 else f"q{number}", "status": "SUCCESS",
                 "fragments": [], "legs": [], "door": "search", "agent": None},
            )  # fmt: skip
        library.audit.flush()
        library.evaluate([QuestionAddress(question="客户投诉几天答复", answer="crm_policy.md")], name="golden.csv")
        yield url, library


def rows_of(place: tuple[str, Any], path: str) -> list[dict[str, Any]]:
    """The rows of a file in both forms, which say the same as far as a cell can."""
    browser = Browser(place[0])
    lines, table = (
        browser.get(f"/console/exports/{path.replace('.', '.jsonl', 1)}"),
        browser.get(f"/console/exports/{path.replace('.', '.csv', 1)}"),
    )
    assert (lines.status, table.status) == (200, 200)
    assert "attachment" in table.headers["Content-Disposition"]
    rows = [json.loads(line) for line in lines.body.splitlines()]
    cells = list(csv.DictReader(io.StringIO(table.body.removeprefix("\ufeff"), newline="")))
    assert len(cells) == len(rows)
    if rows:
        assert list(cells[0]) == list(rows[0])
    return rows


def test_every_record_of_the_list_is_in_the_file(place: tuple[str, Any]) -> None:
    """More records than one page of the interface has, each once, the newest first; the filters of the list count."""
    rows = rows_of(place, "audit.?kind=retrieval&outcome=empty")
    assert [row["preview"] for row in rows[:2]] == ["q619", "q618"]
    assert len({row["audit_id"] for row in rows}) == len(rows) == 620
    assert all(datetime.fromisoformat(row["time"]).timestamp() == int(row["at"]) for row in rows)  # with its zone
    assert rows_of(place, "audit.?kind=retrieval&agent=nobody") == []


def test_no_cell_is_a_formula(place: tuple[str, Any]) -> None:
    """What a spreadsheet would take for a formula begins with a quotation mark in CSV, and stands as it is in JSON Lines."""
    browser = Browser(place[0])
    table = csv.DictReader(io.StringIO(browser.get("/console/exports/audit.csv", kind="retrieval").body, newline=""))
    assert f"'{FORMULA}" in {row["preview"] for row in table}
    assert FORMULA in {row["preview"] for row in rows_of(place, "audit.?kind=retrieval")}


def test_documents_passages_gaps_and_questions(place: tuple[str, Any]) -> None:
    """Each list has its rows: documents with their state, passages with their text, gaps with their reasons, questions."""
    library = place[1]
    assert {row["uri"] for row in rows_of(place, "documents.?sort=title")} == {
        one["uri"] for one in library.list_documents().documents
    }
    passages = rows_of(place, "passages.?source=wiki")
    assert any("三天内响应" in row["text"] for row in passages)
    assert {row["source_id"] for row in passages} == {"wiki"}
    assert len(rows_of(place, "gaps.?days=7")) > 0
    assert [row["question"] for row in rows_of(place, "evaluation.?evaluation=1")] == ["客户投诉几天答复"]


@pytest.mark.parametrize("path", ["audit.xml", "keys.csv", "audit", "audit.csv.csv"])
def test_other_files_are_not_there(place: tuple[str, Any], path: str) -> None:
    """Only these lists, in these forms."""
    assert Browser(place[0]).get(f"/console/exports/{path}").status == 404


def test_a_filter_that_cannot_be_applied_is_refused(place: tuple[str, Any]) -> None:
    """Nothing is sent of a list whose filter is refused."""
    assert Browser(place[0]).get("/console/exports/audit.csv", kind="x").status == 400
    assert Browser(place[0]).get("/console/exports/evaluation.csv", evaluation="99").status == 404


def test_a_file_holds_what_its_reader_may_see(tmp_path: Path) -> None:
    """Without the right there is no file; hidden documents and their passages are in none."""
    with console(tmp_path, needs_keys=True) as (url, library):
        [wiki] = library.list_documents(source="wiki").documents
        library.set_readers(wiki["document_id"], {"readers": ["user:li"], "deny": []})
        plain, owner = Browser(url), Browser(url)
        plain.sign_in(key(library, "search"))
        assert plain.get("/console/exports/audit.csv").status == 403
        owner.sign_in(key(library, "registry", "search"))
        seen = owner.get("/console/exports/passages.jsonl")
        assert seen.status == 200
        assert "24 小时内第一次响应" in seen.body
        assert "三天内响应" not in seen.body and "wiki" not in owner.get("/console/exports/documents.jsonl").body


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("passages", "document"),
        ("audit", "after"),
        ("documents", "before"),
        ("gaps", "source"),
        ("evaluation", "run"),
    ],
)
def test_a_file_is_not_narrowed_by_what_its_list_does_not_know(
    place: tuple[str, Any], language: str, file: str, name: str
) -> None:
    """It is refused by name, and no rows are sent that look like what was asked for."""
    seen = Browser(place[0], language).get(f"/console/exports/{file}.csv", **{name: "999"})
    assert seen.status == 400
    assert name in {one.text() for one in seen.tree.css("main code")}
    assert ("is unknown" in seen.body) == (language == "en")
