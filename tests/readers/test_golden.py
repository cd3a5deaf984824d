"""Golden files: tables in Chinese and English, judged sets, and every fault with its line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pytest

from wenyuan.core.errors import InvalidRequest
from wenyuan.readers.golden import read_golden

QUERIES = '{"_id": "q1", "text": "投诉多久答复"}\n{"_id": "q2", "text": "how long"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\nq2\td1\t0\n"


def table(folder: Path, text: str, name: str = "golden.csv") -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder / name


def judged(folder: Path, **files: str) -> Path:
    made = folder / "set"
    made.mkdir()
    for name, text in {"queries.jsonl": QUERIES, "qrels.tsv": QRELS, **files}.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text, "utf-8")
    return made


def faults(path: Path) -> list[tuple[int, str]]:
    with pytest.raises(InvalidRequest) as refused:
        read_golden(path)
    return [(getattr(fault, "line", 0), fault.message) for fault in refused.value.faults]


@pytest.mark.parametrize(
    "header",
    [
        "question,uri",
        "问题,来源",
        "提问,答案出处",
        "Question,Source URI",
        "１. 问题（必填）,链接",
        "query,passage id",
    ],
)
def test_columns_are_found_in_either_language(tmp_path: Path, header: str) -> None:
    """A column of questions and one of addresses, whatever people call them."""
    (pair,) = read_golden(table(tmp_path, f"{header}\n投诉多久答复,file:///a.md\n"))
    assert (pair.question, pair.answer, pair.grade, pair.where) == ("投诉多久答复", "file:///a.md", 1.0, "line 2")


@pytest.mark.parametrize("cell", ["no answer", "No Answer", "无答案", "沒有答案", "NONE"])
def test_a_question_that_must_not_be_answered(tmp_path: Path, cell: str) -> None:
    """It says so where its address would stand; both at once is a fault with its line."""
    pairs = read_golden(table(tmp_path, f"question,uri\n甲是什么,a.md\n明天天气怎样,{cell}\n"))
    assert [(p.question, p.answer, p.grade) for p in pairs] == [("甲是什么", "a.md", 1.0), ("明天天气怎样", "", 0.0)]
    both = faults(table(tmp_path, f'question,uri\n甲是什么,"a.md\n{cell}"\n'))
    assert both == [(2, "there is an address beside 'no answer'")]


def test_other_columns_and_lines_above_the_header_are_passed_over(tmp_path: Path) -> None:
    """A title above the table and remarks beside it are not read."""
    pairs = read_golden(table(tmp_path, "客服问题集,,\n编号,问题,来源\n1,甲,a.md\n,,\n2,乙,b.md\n"))
    assert [(p.question, p.answer, p.where) for p in pairs] == [("甲", "a.md", "line 3"), ("乙", "b.md", "line 5")]


def test_a_cell_may_hold_several(tmp_path: Path) -> None:
    """Questions and addresses of one row, one a line, are all paired; similar questions are questions."""
    text = 'question,similar questions,uri,grade\nhow,"how long\nhow much","a.md\nb.md",3\n'
    pairs = read_golden(table(tmp_path, text))
    assert {(p.question, p.answer) for p in pairs} == {
        (q, a) for q in ("how", "how long", "how much") for a in ("a.md", "b.md")
    }
    assert {p.grade for p in pairs} == {3.0}


def test_a_workbook_is_read_sheet_by_sheet(tmp_path: Path) -> None:
    """Sheets without such columns are passed over; a place is the sheet and its row."""
    book = openpyxl.Workbook()
    sheets: Sequence[tuple[str, list[list[str]]]] = (
        ("说明", [["填写说明"], ["每行一个问题"]]),
        ("客服", [["问题", "来源"], ["甲", "a.md"]]),
        ("English", [["question", "uri"], ["one", "b.md"]]),
    )
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    del book["Sheet"]
    book.save(tmp_path / "golden.xlsx")
    pairs = read_golden(tmp_path / "golden.xlsx")
    assert [(p.question, p.where) for p in pairs] == [("甲", "客服!2"), ("one", "English!2")]


def test_every_fault_of_a_table_has_its_line(tmp_path: Path) -> None:
    """All that is wrong is told at once."""
    found = faults(table(tmp_path, "question,uri,grade\n,a.md,\nwho,,\nwhat,b.md,many\nwhy,c.md,-1\nhow,d.md,1\n"))
    assert [line for line, _ in found] == [2, 3, 4, 5]
    for (_, message), told in zip(
        found, ("question is missing", "address is missing", "'many'", "'-1'"), strict=True
    ):
        assert told in message


@pytest.mark.parametrize("text", ["甲,乙\n一,二\n", "question,answer\nq,a\n", ""])
def test_a_table_without_these_columns_is_refused(tmp_path: Path, text: str) -> None:
    """The hint says which columns are needed."""
    with pytest.raises(InvalidRequest, match="no header") as refused:
        read_golden(table(tmp_path, text))
    assert "问题" in refused.value.hint


def test_a_judged_set_gives_its_pairs(tmp_path: Path) -> None:
    """Each judgement is a pair, with its grade and the line on which it stands."""
    pairs = read_golden(judged(tmp_path))
    assert [(p.question, p.answer, p.grade, p.where) for p in pairs] == [
        ("投诉多久答复", "d1", 2.0, "qrels.tsv line 2"),
        ("how long", "d2", 1.0, "qrels.tsv line 3"),
        ("how long", "d1", 0.0, "qrels.tsv line 4"),
    ]


def test_the_corpus_says_where_its_entries_lie(tmp_path: Path) -> None:
    """The entry's own address comes first; the line of the file and the id are tried after it."""
    corpus = '{"_id": "d1", "text": "x", "metadata": {"uri": "https://a.example/d"}}\n{"_id": "d2", "text": "y"}\n'
    folder = judged(tmp_path, **{"corpus.jsonl": corpus})
    first, second, _ = read_golden(folder)
    assert first.answer == "https://a.example/d"
    assert first.otherwise[-2:] == ("d1", "https://a.example/d")
    assert f"file://{folder}/corpus.jsonl?line=2" in second.otherwise


def test_judgements_may_lie_in_a_folder(tmp_path: Path) -> None:
    """``qrels/train.tsv`` and ``qrels/dev.tsv``, as many sets have them, are read together."""
    folder = judged(tmp_path, **{"qrels/train.tsv": "q1\td1\t1\n", "qrels/dev.tsv": "q2\td2\t1\n"})
    (folder / "qrels.tsv").unlink()
    assert [p.where for p in read_golden(folder)] == ["dev.tsv line 1", "train.tsv line 1"]


def test_every_fault_of_a_set_has_its_file_and_line(tmp_path: Path) -> None:
    """Broken lines, blank questions and unknown ones are told together."""
    folder = judged(
        tmp_path,
        **{
            "queries.jsonl": QUERIES + '{"_id": "q3", "text": " "}\nno JSON\n[]\n',
            "qrels.tsv": QRELS + "q9\td1\t1\nq1 d1\n",
        },
    )
    with pytest.raises(InvalidRequest) as refused:
        read_golden(folder)
    told = [(fault.path, getattr(fault, "line", 0)) for fault in refused.value.faults]
    assert sorted(told) == [
        ("qrels.tsv", 5), ("qrels.tsv", 6), ("queries.jsonl", 3), ("queries.jsonl", 4), ("queries.jsonl", 5),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["none.csv", "golden.pdf", "empty"])
def test_what_is_no_golden_file_is_refused(tmp_path: Path, name: str) -> None:
    """A file that is not there, one of another kind, a folder without judgements."""
    (tmp_path / "golden.pdf").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRequest):
        read_golden(tmp_path / name)


def test_a_file_that_is_no_text_is_refused_with_its_name(tmp_path: Path) -> None:
    """Bytes of another format under the name of a table."""
    (tmp_path / "golden.csv").write_bytes(b"%PDF-1.7 ...")
    with pytest.raises(InvalidRequest, match=r"golden\.csv: this is a PDF"):
        read_golden(tmp_path / "golden.csv")


def test_what_cannot_be_asked_is_refused_with_its_line(tmp_path: Path) -> None:
    """Questions that are longer than a request may be, once widths are folded, and those of marks alone."""
    text = f"question,uri\n{'长' * 8001},a.md\n？？,b.md\n{'㍿' * 2001},c.md\n{'长' * 8000},d.md\n"
    found = faults(table(tmp_path, text))
    assert [line for line, _ in found] == [2, 3, 4]
    for (_, message), told in zip(found, ("8001 characters", "'？？' has no word", "8004 characters"), strict=True):
        assert told in message
    queries = (
        f'{{"_id": "q1", "text": "{"长" * 8001}"}}\n{{"_id": "q2", "text": "…"}}\n{{"_id": "q3", "text": "?"}}\n'
    )
    found = faults(judged(tmp_path, **{"queries.jsonl": queries}))
    assert [line for line, _ in found] == [1, 2]  # nobody judged the third one
