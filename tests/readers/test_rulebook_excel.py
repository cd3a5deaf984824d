"""Workbooks: sheets by kind, headers in both languages, merged cells; and the template that is filled in."""

from __future__ import annotations

import builtins
import io
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from rulebook_parts import book_of, checked, codes, fault, schema
from wenyuan.core.errors import ConfigError
from wenyuan.core.rules.book import Tally
from wenyuan.core.rules.model import Alias, EntryPlace, Evidence, Node, Statement
from wenyuan.readers.rulebooks.excel_template import excel_template
from wenyuan.runtime.installation import install_command


def saved(book: openpyxl.Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def workbook(sheets: dict[str, list[list[Any]]]) -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    del book[book.sheetnames[0]]
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return book


CLEAN: dict[str, list[list[Any]]] = {
    "说明": [["随便写什么"]],
    "工序": [["名称*", "英文名", "别名", "备注"], ["深基坑开挖", "Deep excavation", "基坑开挖、土方开挖", "x"], ["37"]],
    "Hazard": [["Name"], ["坍塌"]],
    "来源": [["编号", "标题", "可信度", "生效日期"], ["mohurd_37", "规定", 5, datetime(2018, 6, 1)]],
    "关系": [
        ["起点", "关系", "终点", "条件", "强度", "生效日期", "权重", "来源", "条款", "原文", "规则"],
        ["基坑开挖", "产生危险源", "坍塌", "depth_m >= 5", "强制", date(2018, 6, 1), 0.5, "mohurd_37", "第十条", "…", "有坍塌危险"],
        ["基坑开挖", "产生危险源", "坍塌", "depth_m >= 5", "强制", "2018-06-01", "0.5", "mohurd_37", "第十一条", None, "有坍塌危险"],
    ],
}  # fmt: skip


def test_sheets_are_kinds_and_rows_are_entries(tmp_path: Path) -> None:
    """Kinds by the names of sheets, columns in either language, several rows for several evidences."""
    result = checked(book_of(tmp_path, "r.xlsx", saved(workbook(CLEAN))))
    assert result.faults == ()
    assert [(n.kind, n.name) for n in result.nodes] == [
        ("process", "深基坑开挖"),
        ("process", "37"),
        ("hazard", "坍塌"),
    ]
    assert result.nodes[0].labels["en"] == "Deep excavation"
    assert [a.text for a in result.nodes[0].aliases] == ["基坑开挖", "土方开挖"]
    (statement,) = result.statements
    assert (statement.valid_from, statement.weight) == (date(2018, 6, 1), 0.5)
    assert [(e.clause, e.quote) for e in statement.evidences] == [("第十条", "…"), ("第十一条", "")]
    assert statement.sentence == {"zh": "有坍塌危险"}
    assert statement.place == EntryPlace("r.xlsx", cell="关系!2")
    assert (result.sources[0].source.trust, result.sources[0].source.effective_from) == (5, date(2018, 6, 1))


def test_a_dirty_workbook_is_counted_fault_by_fault(tmp_path: Path) -> None:
    """Each kind of fault is found as often as it was put there, with sheet and row."""
    book = workbook(
        {
            "工序": [
                ["名称", "别名", None],
                ["深基坑开挖", "开挖"],
                ["土方开挖", "开挖"],
                ["深基坑開挖"],
                [None, "没有名称"],
                ["回填", "", "谁的"],
                ["支护", "a"],
                ["降水", "b"],
            ],
            "危险原": [["名称"], ["坍塌"], ["淹水"]],
            "危险源": [["名称"], ["高处坠落"]],
            "设备": [["名称", "别各"], ["挖掘机", "x"], ["吊车", "y"]],
            "事故": [["名称"], ["坍塌"]],
            "relations": [
                ["src", "rel", "dst", "when", "strength", "valid_until", "trust", "source"],
                ["深基坑开挖", "产生危险源", "高处坠落", None, None, None, None, "order37"],
                ["深基坑开挖", "产生危险源", "高处坠落", None, None, None, None, "order37"],
                ["深基坑开挖", "产生危险", "高处坠落", None, None, None, None, "order37"],
                ["深基坑开挖", "产生危险源", "高处坠洛", None, None, None, None, "order37"],
                ["开挖", "产生危险源", "高处坠落", None, None, None, None, "order37"],
                ["高处坠落", "产生危险源", "深基坑开挖", None, None, None, None, "order37"],
                ["土方开挖", "产生危险源", "高处坠落", "depth_m >", None, None, None, "order37"],
                ["土方开挖", "产生危险源", "高处坠落", None, "很强", None, None, "order37"],
                ["土方开挖", "产生危险源", "高处坠落", None, None, "2018年", None, "order37"],
                ["土方开挖", "产生危险源", "高处坠落", None, None, None, 2.5, "order37"],
                ["土方开挖", "产生危险源", "高处坠落", None, None, None, None, "order38"],
                ["土方开挖", "产生危险源", "高处坠落", None, None, None, None, None],
                ["合并", "产生危险源", "高处坠落", None, None, None, None, "order37"],
                [None, "产生危险源", "高处坠落", None, None, None, None, "order37"],
            ],
        }
    )
    book["relations"].merge_cells("A14:A15")
    hidden = book.create_sheet("草稿")
    hidden.append(["名称"])
    hidden.sheet_state = "hidden"
    result = checked(book_of(tmp_path, "dirty.xlsx", saved(book)))
    assert codes(result.faults) == {
        "bad_value": 3,
        "unknown_kind": 2,
        "unknown_key": 1,
        "unknown_relation": 1,
        "dangling_end": 1,
        "ambiguous_name": 1,
        "reversed": 1,
        "bad_condition": 1,
        "bad_date": 1,
        "bad_trust": 1,
        "unknown_source": 1,
        "no_evidence": 1,
        "merged_cells": 1,
    }
    assert codes(result.faults, "note") == {
        "unread_sheet": 1, "alias_collision": 1, "duplicate_node": 1, "duplicate_statement": 1,
    }  # fmt: skip
    assert (result.written, result.imported) == (Tally(13, 14), Tally(6, 1))
    assert (result.merged, result.refused) == (Tally(1, 1), Tally(6, 12))
    assert fault(result, "merged_cells").place == EntryPlace("dirty.xlsx", cell="relations!A14:A15")
    assert str(fault(result, "bad_date")).startswith("dirty.xlsx:relations!10: valid_until is '2018年'")
    assert "did you mean '别名'?" in fault(result, "unknown_key").message


def test_a_missing_sheet_is_named(tmp_path: Path) -> None:
    """A workbook without relations says which sheet is missing and which ones there are."""
    book = book_of(tmp_path, "a.xlsx", saved(workbook({"工序": [["名称"], ["开挖"]]})))
    assert fault(book, "missing_sheet").message == "the sheet '关系' (relations) is missing; there are: 工序"
    assert len(book.nodes) == 1


def test_a_merged_header_makes_its_sheet_unreadable(tmp_path: Path) -> None:
    """When the header is merged nobody knows which column is which: no row is read, each is counted."""
    book = workbook({"工序": [["名称", None, "别名"], ["开挖", "x", "y"]], "关系": [["src", "rel", "dst"]]})
    book["工序"].merge_cells("A1:B1")
    read = book_of(tmp_path, "a.xlsx", saved(book))
    assert codes(read.faults) == {"merged_cells": 1}
    assert (read.nodes, read.refused) == ((), Tally(1, 0))


@pytest.mark.parametrize("content", [b"PK\x03\x04junk", b"", b"no workbook at all"])
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    """A damaged or other file is one fault of the file."""
    assert codes(book_of(tmp_path, "a.xlsx", content).faults) == {"bad_file": 1}


NODES = (
    Node(
        key="process/深基坑开挖",
        kind="process",
        name="深基坑开挖",
        labels={"zh": "深基坑开挖", "en": "=Deep excavation"},
        aliases=(Alias(text="基坑开挖", language="zh"),),
        codes={"GB 50300": "0104"},
        scope=("房屋建筑",),
    ),
    Node(key="h1", kind="hazard", name="坍塌", labels={"zh": "坍塌"}),
    Node(key="accident/坍塌", kind="accident", name="坍塌", labels={"zh": "坍塌"}),
)
STATEMENTS = (
    Statement(
        src="process/深基坑开挖",
        rel="produces_hazard",
        dst="h1",
        condition="depth_m >= 5.0",
        strength="recommended",
        sentence={"zh": "有坍塌危险", "en": "It may collapse"},
        valid_from=date(2018, 6, 1),
        valid_until=date(2030, 1, 1),
        weight=0.25,
        status="proposed",
        evidences=(
            Evidence(source_id="order37", uri="https://example.org/a#第十条", clause="第十条", quote="…", trust=4),
            Evidence(source_id="order37", uri="", clause="第十一条", reviewer="王工"),
        ),
    ),
)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_filled_template_is_read_back(tmp_path: Path, language: str) -> None:
    """A workbook that was exported gives the nodes and statements that went in."""
    content = excel_template(schema(), nodes=NODES, statements=STATEMENTS, language=language)
    result = checked(book_of(tmp_path, "t.xlsx", content))
    assert codes(result.faults) == {}
    assert codes(result.faults, "note") == {"unknown_scope": 1}
    assert (result.nodes, result.statements) == (NODES, STATEMENTS)


def test_the_template_offers_what_is_fixed() -> None:
    """Relations and strengths are chosen from lists, kinds are sheets, and the choices are hidden."""
    book = openpyxl.load_workbook(io.BytesIO(excel_template(schema(), language="zh")))
    assert book.sheetnames[:3] == ["说明", "工程类型", "工序"]
    rules = {str(rule.sqref): rule.formula1 for rule in book["关系"].data_validations.dataValidation}
    assert rules == {"B2:B2000": "_lists!$A$1:$A$6", "E2:E2000": "_lists!$B$1:$B$3"}
    assert [cell.value for cell in book["_lists"]["A"]][:2] == ["属于", "需要设备"]
    assert book["_lists"].sheet_state == "hidden"


def test_without_its_package_the_template_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optional package is named with the command that installs it."""
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match="openpyxl") as caught:
        excel_template(schema())
    assert caught.value.hint == install_command("excel")
