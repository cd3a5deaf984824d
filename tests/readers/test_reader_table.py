"""Reading tables: FAQ columns in both languages, one row a passage, addresses; and JSON Lines."""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime
from typing import Any

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.delimited import read_csv, read_tsv
from wenyuan.readers.frames import decode_documents, encode_documents
from wenyuan.readers.jsonl import read_jsonl
from wenyuan.readers.workbook import read_xlsx


def workbook(**sheets: list[list[Any]]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book


def saved(book: openpyxl.Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def read_book(book: openpyxl.Workbook) -> tuple[Document, ...]:
    return read_xlsx(saved(book), uri="file:///a.xlsx", name="a.xlsx")


def from_csv(text: str | bytes) -> Document:
    content = text.encode() if isinstance(text, str) else text
    (document,) = read_csv(content, uri="file:///faq.csv", name="faq.csv")
    return document


def texts(document: Document) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks]


@pytest.mark.parametrize(
    ("ask", "reply"),
    [
        ("问题", "答案"),
        ("提问", "回答"),
        ("标准问（必填）", "标准答案*"),
        ("問題", "答覆"),
        ("问", "答"),
        ("Question", "ANSWER"),
        ("Ｑ", "Ａ"),
        (" query ", "Reply:"),
        ("1. 问题", "2. 解答"),
    ],
)
def test_question_and_answer_columns_are_found_by_their_names(ask: str, reply: str) -> None:
    """Any usual header makes an FAQ, whatever its script, width, case and ornaments, in any column order."""
    document = from_csv(f"{reply},编号,{ask}\n点设置,7,怎么改密码？\n")
    assert texts(document) == ["怎么改密码？\n点设置\n编号: 7"]
    assert document.blocks[0].kind == "row"


def test_similar_questions_and_other_columns_follow_the_answer() -> None:
    """The standard question stands first, the answer second, all else is named."""
    (document,) = read_book(
        workbook(
            FAQ=[
                ["分类", "标准问", "相似问1", "相似问2", "答案"],
                ["账户", "怎么改密码？", "如何改密", "密码修改", "点设置。"],
            ]
        )
    )
    assert texts(document) == ["怎么改密码？\n点设置。\n相似问1: 如何改密\n相似问2: 密码修改\n分类: 账户"]


def test_a_long_other_column_is_left_out_with_a_note() -> None:
    """Remarks of more than two hundred characters do not drown the answer, and that is said."""
    document = from_csv(f"问题,答案,备注\nq,a,{'长' * 201}\nq2,a2,短\n")
    assert texts(document) == ["q\na", "q2\na2\n备注: 短"]
    assert any("备注" in note and "left out 1 cells" in note for note in document.notes)


def test_rows_above_the_header_are_paragraphs_and_addresses_count_from_the_top() -> None:
    """A title row is no entry; blank rows are skipped but counted in the addresses."""
    (document,) = read_book(
        workbook(常见问题=[["客服常见问题一览"], [], ["问题", "答案"], ["q1", "a1"], [None, None], ["q2", "a2"]])
    )
    assert [(b.kind, b.cell) for b in document.blocks] == [
        ("paragraph", "常见问题!1"),
        ("row", "常见问题!4"),
        ("row", "常见问题!6"),
    ]
    assert document.title == "a"


def test_a_table_without_faq_columns_gives_named_values() -> None:
    """Each row of an ordinary table carries its column names."""
    document = from_csv("名称,数量,Unit\n安全帽,3,只\n,4,只\n")
    assert texts(document) == ["名称: 安全帽; 数量: 3; Unit: 只", "数量: 4; Unit: 只"]
    assert [(b.kind, b.cell, b.line) for b in document.blocks] == [("row", "faq!2", 2), ("row", "faq!3", 3)]


def test_a_table_without_a_header_keeps_its_first_row() -> None:
    """Numbers in the first row say that it is no header."""
    assert texts(from_csv("1,甲\n2,乙\n")) == ["1; 甲", "2; 乙"]


@pytest.mark.parametrize(
    ("table", "doubtful"),
    [
        ("张三,法务部\n李四,行政部\n王五,法务部\n", True),
        ("序号,联系方式\n序号,电话\n1,010\n2,020\n", False),
        ("怎么退货？,七日内可以退。\n多久到账？,三个工作日。\n", True),
        ("How do I return it?,Within seven days.\nWhere is it?,There\n", True),
        ("姓名,部门,Approved?\n张三,法务部,yes\n姓名,部门,Approved?\n李四,法务部,no\n", False),
        ("问题,答案\nq,问题\n", False),
    ],
)
def test_a_first_row_that_may_be_no_header_is_noted(table: str, doubtful: bool) -> None:
    """A sentence, or a value that its column has again, says that an entry may have been taken for names."""
    notes = from_csv(table).notes
    assert notes == (("took row 1 for the names of the columns, though it reads like an entry",) * doubtful)


def test_years_name_columns() -> None:
    """Years beside a name are a header; other numbers, and years alone, are values."""
    expected = ["指标: 净利润; 2021: 10; 2023: 13", "指标: 营业收入; 2021: 1; 2022: 2; 2023: 3"]
    assert texts(from_csv("指标,2021,2022,2023\n净利润,10,,13\n营业收入,1,2,3\n")) == expected
    (document,) = read_book(workbook(S=[["指标", 2021, 2022, 2023], ["净利润", 10, None, 13], ["营业收入", 1, 2, 3]]))
    assert texts(document) == expected
    assert texts(from_csv("甲,2021,30\n乙,2022,40\n"))[0] == "甲; 2021; 30"
    assert texts(from_csv("2021,甲\n2022,乙\n")) == ["2021; 甲", "2022; 乙"]


def test_an_empty_cell_keeps_its_place_where_columns_have_no_names() -> None:
    """Values stay in their columns; nothing stands for an empty end of a row, nor for a column without values."""
    assert texts(from_csv("1,甲,,3,\n2,,,4,5\n,丙,,,\n")) == ["1; 甲; 3", "2; –; 4; 5", "–; 丙"]


def test_values_are_shown_as_people_write_them() -> None:
    """Dates are ISO 8601, whole numbers have no fraction, truth is a word."""
    (document,) = read_book(
        workbook(
            S=[
                ["name", "day", "moment", "n", "x", "ok"],
                ["a", date(2024, 5, 1), datetime(2024, 5, 1, 8, 30), 3.0, 2.5, True],
            ]
        )
    )
    assert texts(document) == ["name: a; day: 2024-05-01; moment: 2024-05-01 8:30:00; n: 3; x: 2.5; ok: TRUE"]


def test_cells_merged_downwards_are_repeated() -> None:
    """A category that spans rows is part of each of them."""
    book = workbook(S=[["分类", "问题", "答案"], ["账户", "q1", "a1"], [None, "q2", "a2"]])
    book["S"].merge_cells("A2:A3")
    (document,) = read_book(book)
    assert texts(document) == ["q1\na1\n分类: 账户", "q2\na2\n分类: 账户"]


def test_each_sheet_with_text_is_a_document_and_hidden_ones_are_noted() -> None:
    """Sheets have addresses of their own; an empty sheet is none, a hidden one is left out with a note."""
    book = workbook(甲=[["问题", "答案"], ["q", "a"]], B=[["x", "y"], ["1", "2"]], 空=[], 隐=[["secret"]])
    book["隐"].sheet_state = "hidden"
    first, second = read_book(book)
    assert (first.uri, first.title) == ("file:///a.xlsx?sheet=%E7%94%B2", "甲")
    assert (second.uri, second.metadata["sheet"]) == ("file:///a.xlsx?sheet=B", "B")
    assert "secret" not in first.text + second.text
    assert any("隐" in note for note in first.notes)


def test_hidden_rows_and_columns_are_left_out_with_a_note() -> None:
    """What a workbook hides is not read, addresses stay; a merged cell is shown where it is not hidden."""
    rows = [["报价单", None, None, None], ["产品", "对外价", "底价", "备注"], ["甲", "100元", "80元", "x"]]
    book = workbook(
        S=[*rows, ["作废", "300元", "1元", "y"], ["乙", "200元", "150元", "z"]], B=[["a", "b"], ["1", "2"]]
    )
    sheet = book["S"]
    sheet.column_dimensions["C"].hidden = True
    sheet.row_dimensions[4].hidden = True
    first, second = read_book(book)
    assert [(text, block.cell) for text, block in zip(texts(first), first.blocks, strict=True)] == [
        ("报价单", "S!1"),
        ("产品: 甲; 对外价: 100元; 备注: x", "S!3"),
        ("产品: 乙; 对外价: 200元; 备注: z", "S!5"),
    ]
    assert first.notes == ("left out 1 hidden row", "left out 1 hidden column")
    assert second.notes == ()
    sheet.column_dimensions["A"].hidden = True
    sheet.merge_cells("A1:D1")
    assert texts(read_book(book)[0]) == ["报价单", "对外价: 100元; 备注: x", "对外价: 200元; 备注: z"]


def test_rows_that_a_filter_hides_are_read() -> None:
    """A filter is a way to look at a table, the sheet's own or that of a table in it; other rows stay hidden."""
    from openpyxl.worksheet.filters import AutoFilter
    from openpyxl.worksheet.table import Table

    rows = [["名称", "数量"], ["甲", 1], ["乙", 2], ["丙", 3]]
    book: Any = workbook(A=rows, B=rows, C=rows)
    for sheet in book:
        sheet.row_dimensions[2].hidden = True
    book["A"].auto_filter.ref = book["C"].auto_filter.ref = "A1:B3"
    book["A"].row_dimensions[4].hidden = True
    book["A"].column_dimensions.group("D", "XFD", hidden=True)
    book["A"].auto_filter.add_filter_column(0, ["乙"])
    table: Any = Table(displayName="T", ref="A1:B4", autoFilter=AutoFilter(ref="A1:B4"))
    table.autoFilter.add_filter_column(0, ["乙", "丙"])
    table._initialise_columns()
    for column, title in zip(table.tableColumns, rows[0], strict=True):
        column.name = title
    book["B"].add_table(table)
    first, second, third = read_book(book)
    assert (texts(first), first.notes) == (["名称: 甲; 数量: 1", "名称: 乙; 数量: 2"], ("left out 1 hidden row",))
    assert (len(second.blocks), second.notes) == (3, ())
    assert (len(third.blocks), third.notes) == (2, ("left out 1 hidden row",))  # a filter without a criterion


def test_a_single_sheet_keeps_the_uri_of_its_file() -> None:
    """Nothing is added to the address where nothing has to be told apart."""
    (document,) = read_book(workbook(S=[["问题", "答案"], ["q", "a"]], 空=[]))
    assert document.uri == "file:///a.xlsx"


def test_workbooks_without_text_are_rejected() -> None:
    """Only hidden or empty sheets are a reason."""
    with pytest.raises(DocumentRejected, match=r"a\.xlsx: none of its visible sheets"):
        read_book(workbook(空=[]))
    with pytest.raises(DocumentRejected, match="another kind of file"):
        import docx

        buffer = io.BytesIO()
        docx.Document().save(buffer)
        read_xlsx(buffer.getvalue(), uri="file:///a.xlsx", name="a.xlsx")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "；", "，"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_delimiter_and_encoding_are_found(delimiter: str, encoding: str) -> None:
    """Exports of any office program are read alike."""
    rows = [
        ["问题", "答案", "分类"],
        ["怎么退货？", "七日内可以退。", "售后"],
        ["多久到账？", "三个工作日。", "支付"],
    ]
    text = "\r\n".join(delimiter.join(row) for row in rows)
    assert texts(from_csv(text.encode(encoding)))[1] == "多久到账？\n三个工作日。\n分类: 支付"


def test_quoted_cells_keep_line_breaks_and_lines_are_counted() -> None:
    """A quoted answer of several lines is one cell; the next row knows its line."""
    document = from_csv('问题,答案\nq1,"a\nb, c"\nq2,a2\n')
    assert texts(document) == ["q1\na\nb, c", "q2\na2"]
    assert [block.line for block in document.blocks] == [2, 4]


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ('工资单在哪看？,"岚人事"系统，每月推送', '工资单在哪看？\n"岚人事"系统，每月推送'),
        ('"Till" drawer?,"ask ""Ross"", please"', '"Till" drawer?\nask "Ross", please'),
        ('a,"b" and "c"', 'a\n"b" and "c"'),
    ],
)
def test_a_cell_may_begin_with_a_quotation(line: str, cells: str) -> None:
    """``"name" and more`` is a cell with marks in it, as people write it by hand; cells in marks are read as ever."""
    assert texts(from_csv(f'question,answer\nq1,"a, b"\n{line}\n')) == ["q1\na, b", cells]


def test_tsv_does_not_split_at_commas() -> None:
    """In a tab-separated file a comma is text."""
    (document,) = read_tsv("问题\t答案\na,b\tc,d\n".encode(), uri="file:///f.tsv", name="f.tsv")
    assert texts(document) == ["a,b\nc,d"]


@pytest.mark.parametrize("content", [b"\n\n", b'question,answer\n"never closed,x\n', b"q,a\n" + b"x" * 200_000])
def test_tables_that_cannot_be_read_are_rejected(content: bytes) -> None:
    """No rows, an open quote and a monstrous field are reasons, never half a table."""
    with pytest.raises(DocumentRejected):
        from_csv(content)


_CELL = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=20)


@given(st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=8))
def test_no_entry_of_an_faq_is_lost(entries: list[tuple[str, str]]) -> None:
    """What csv writes is read back: one block per entry, question first."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, quoting=csv.QUOTE_ALL)
    writer.writerows([("question", "answer"), *entries])
    document = from_csv("\ufeff" + buffer.getvalue())
    assert len(document.blocks) == len(entries)
    for text, (question, answer) in zip(texts(document), entries, strict=True):
        visible = [part for part in (question, answer) if part.strip("\u3164\u115f\u1160\uffa0")]
        assert len(visible) < 2 or text == f"{question}\n{answer}" or document.notes


def lines(*records: object) -> bytes:
    return "\n".join(json.dumps(r, ensure_ascii=False) if not isinstance(r, str) else r for r in records).encode()


def read_lines(*records: object) -> tuple[Document, ...]:
    return read_jsonl(lines(*records), uri="file:///d.jsonl", name="d.jsonl")


def test_each_line_is_a_document_with_an_address() -> None:
    """An own URL wins (without its fragment), then an id, then the number of the line."""
    documents = read_lines(
        {"title": "甲", "text": "第一章 总则\n\n第一条 正文。", "url": "https://a.example/x#part"},
        {"question": "怎么办？", "answer": "这样办。", "id": "q/1"},
        "",
        {"content": "plain"},
    )
    assert [d.uri for d in documents] == ["https://a.example/x", "file:///d.jsonl?id=q%2F1", "file:///d.jsonl?line=4"]
    assert [d.title for d in documents] == ["甲", "怎么办？", "d"]
    assert documents[1].text == "怎么办？\n这样办。"
    assert [b.kind for b in documents[0].blocks] == ["heading", "clause"]
    assert [d.blocks[0].line for d in documents] == [1, 2, 4]
    assert len({d.sha256 for d in documents}) == 3


def test_scalars_of_the_metadata_become_facets() -> None:
    """Strings, numbers and truth values are kept with their types; lists and objects are no facets."""
    (document,) = read_lines(
        {"text": "x", "metadata": {"a": "b", "n": 1, "f": 0.5, "t": True, "l": [1], "o": {}, "z": None}}
    )
    assert dict(document.metadata) == {"a": "b", "n": 1, "f": 0.5, "t": True}
    assert document.metadata["t"] is True


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "line 2"),
        ("[1]", "line 2: it is not an object"),
        ('{"text": ""}', "line 2: it has no text"),
        ('{"text": 3}', "line 2: 'text' is not a string"),
        ('{"text": "x", "text": "y"}', "line 2: a key stands twice"),
        ('{"text": "x", "metadata": {"n": NaN}}', "line 2: NaN"),
        ('{"text": "x", "metadata": {"n": 1e999}}', "line 2: metadata 'n' is not a finite"),
        ('{"text": "x", "metadata": {"n": 99999999999999999999}}', "line 2: metadata 'n' is beyond"),
        ('{"text": "x", "url": "relative/path"}', "line 2: 'url' is not absolute"),
        ('{"text": "x", "url": "https://a.example/1"}', "line 2: its address"),
        ('{"text": ' + "[" * 100_000, "line 2"),
    ],
)
def test_a_bad_line_is_refused_by_its_number_and_the_others_are_taken(bad: str, reason: str) -> None:
    """No line is skipped silently, and none keeps others out; a file of which no line can be taken is rejected."""
    documents = read_lines({"text": "good", "url": "https://a.example/1"}, bad, {"text": "also good"})
    assert [document.text for document in documents] == ["good", "also good"]
    [(address, why)] = documents[0].refused
    assert why.startswith(reason) and address == "file:///d.jsonl?line=2"
    assert decode_documents(encode_documents(documents)) == documents
    if "a.example/1" not in bad:
        with pytest.raises(DocumentRejected) as caught:
            read_lines("", bad, bad)
        assert str(caught.value).startswith(f"d.jsonl: {reason}")
        assert str(caught.value).endswith("; further lines like it: 1")


def test_a_refused_line_keeps_the_address_that_it_names() -> None:
    """So its older version is not taken for one that is gone."""
    documents = read_lines({"text": "good"}, {"id": 7, "text": " "}, {"url": "https://a.example/2"})
    assert [place for place, _ in documents[0].refused] == ["file:///d.jsonl?id=7", "https://a.example/2"]


def test_of_many_refused_lines_the_first_are_named() -> None:
    """A file of a million bad lines fills no memory."""
    (document,) = read_lines({"text": "good"}, *[{"text": ""}] * 1_000)
    assert len(document.refused) == 201
    assert document.refused[-1] == ("file:///d.jsonl?line=more", "800 more lines were refused")


def test_a_line_says_its_collection() -> None:
    """It counts before the source's; without one, the source's counts."""
    documents = read_lines({"text": "a", "collection": " 第八章  安全 "}, {"text": "b"})
    assert [document.collection for document in documents] == ["第八章 安全", ""]
    assert (
        read_lines({"text": "a", "collection": 8}, {"text": "b"})[0].refused[0][1].startswith("line 1: 'collection'")
    )


def test_a_file_without_lines_is_rejected() -> None:
    """Blank lines alone are no document."""
    with pytest.raises(DocumentRejected, match="no lines"):
        read_jsonl(b"\n \n", uri="file:///d.jsonl", name="d.jsonl")
