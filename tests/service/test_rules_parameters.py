"""Parameters by what people call them: in requests, in conditions, and in the workbook that is filled in."""

from __future__ import annotations

import io
from pathlib import Path

import openpyxl
import pytest

import wenyuan
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.parameters import by_name, meant_parameters, plain_condition, suggestion
from wenyuan.core.rules.schema_parser import parse_schema
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.excel_template import excel_template
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion

SCHEMA = parse_schema(
    {
        "kinds": {"process": {"zh": "工序", "en": "process"}, "need": {"zh": "要求", "en": "need"}},
        "relations": {"needs": {"zh": "需要", "en": "needs", "from": ["process"], "to": ["need"]}},
        "parameters": {
            "depth_m": {"type": "number", "unit": "m", "zh": "开挖深度", "en": "excavation depth"},
            "height_m": {
                "type": "number",
                "unit": "m",
                "zh": "施工高度",
                "en": "height in plan",
                "aliases": ["高度"],
            },
            "lift_height_m": {"type": "number", "unit": "m", "zh": "提升高度", "en": "lifting height"},
            "floors": {"type": "integer", "zh": "层数", "en": "floors"},
            "soil": {"type": "string", "zh": "土质", "en": "soil"},
        },
        "patterns": {"all": {"start": "process", "collect": {"needs": ["needs"]}}},
    }
)
DECLARED = SCHEMA.parameters
PACK = """\
pack: labelled
schema:
  kinds: {process: {zh: 工序, en: process}, need: {zh: 要求, en: need}}
  relations: {needs: {zh: 需要, en: needs, from: [process], to: [need]}}
  parameters:
    height_m: {type: number, unit: m, zh: 施工高度, en: height, aliases: [高度]}
  patterns: {all: {start: process, collect: {needs: [needs]}}}
sources: [{id: code, title: 规范, uri: "urn:code", trust: 5, domain: d, language: zh}]
process: [{name: 搭架}]
need: [{name: 论证}]
statements:
  - {src: 搭架, rel: needs, dst: 论证, when: "CONDITION", evidence: [{source: code, clause: 第一条}]}
"""


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("depth_m", ("depth_m",)), ("开挖深度", ("depth_m",)), ("深度", ("depth_m",)), ("depth", ("depth_m",)),
        ("Excavation Depth", ("depth_m",)), ("開挖深度", ("depth_m",)), ("ｄｅｐｔｈ", ("depth_m",)),
        ("高度", ("height_m",)), ("lifting height", ("lift_height_m",)), ("height", ("height_m", "lift_height_m")),
        ("dept", ()), ("深", ()), ("x", ()),
    ],
)  # fmt: skip
def test_a_parameter_has_many_names(word: str, names: tuple[str, ...]) -> None:
    """Name, label, alias, or whole words of them that only one has; a name of its own goes before a part of another's."""
    assert by_name(word, DECLARED) == names


def test_given_values_go_to_the_parameters_they_mean() -> None:
    """Unknown names stay; one that may be several, or two values for one, are refused with both names."""
    assert meant_parameters({"深度": 6, "soil": "软土", "天气": "雨"}, DECLARED) == {
        "depth_m": 6,
        "soil": "软土",
        "天气": "雨",
    }
    assert meant_parameters({"深度": 6, "depth_m": 6}, DECLARED) == {"depth_m": 6}
    with pytest.raises(InvalidRequest, match="may mean each of height_m, lift_height_m"):
        meant_parameters({"height": 6}, DECLARED)
    with pytest.raises(InvalidRequest, match="depth_m is given as 6"):
        meant_parameters({"depth_m": 6, "深度": 7}, DECLARED)


@pytest.mark.parametrize(("word", "near"), [("高渡", "高度"), ("depht_m", "depth_m"), ("天气", "")])
def test_a_mistyped_name_is_told_a_known_one(word: str, near: str) -> None:
    """Labels and aliases are suggested too; of two Chinese characters one may be wrong."""
    assert suggestion(word, DECLARED) == (f"; did you mean {near!r}?" if near else "")


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("高度 >= 5", "height_m >= 5.0"),
        ("depth >= 5 && 层数 > 3", "depth_m >= 5.0 && floors > 3"),
        ("开挖深度 in [5, 6.5]", "depth_m in [5.0, 6.5]"),
        ("土质 == '深度 5' || depth_m < 3", "soil == '深度 5' || depth_m < 3.0"),
        ("depth_m >= 5.0", "depth_m >= 5.0"),
        ("height >= 5", "height >= 5"),
        ("soil.contains('5')", "soil.contains('5')"),
        ("double(floors) * 3.0 > depth_m", "double(floors) * 3.0 > depth_m"),
        ("", ""),
    ],
)
def test_a_condition_may_name_labels(written: str, plain: str) -> None:
    """Labels become names, whole numbers beside numbers get their decimals; quotes and words of CEL stay."""
    assert plain_condition(written, DECLARED) == plain


@pytest.mark.parametrize(
    ("condition", "stored"), [("高度 >= 5", "height_m >= 5.0"), ("height_m >= 5.0", "height_m >= 5.0")]
)
def test_a_pack_written_with_labels_is_imported_and_asked_with_labels(
    tmp_path: Path, condition: str, stored: str
) -> None:
    """The condition is kept in one form; a request may give the parameter by its label, at the door and in Python."""
    (tmp_path / "pack.yaml").write_text(PACK.replace("CONDITION", condition), "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        report = library.rules.take(read_book(tmp_path / "pack.yaml"))
        assert [str(fault) for fault in report.faults] == []
        for name in ("高度", "施工高度", "height", "height_m"):
            (rule,) = library.infer_rules(RuleQuestion(processes=("搭架",), parameters={name: 6})).items
            assert (rule.metadata["condition"], rule.metadata["condition_state"]) == (stored, "met")
        assert not library.infer_rules(RuleQuestion(processes=("搭架",), parameters={"高度": 4})).items
        with pytest.raises(InvalidRequest, match="height_m, height, unit m"):
            library.infer_rules(RuleQuestion(processes=("搭架",), parameters={"高度": "高"}))


def test_a_mistyped_label_in_a_condition_is_told_what_was_meant(tmp_path: Path) -> None:
    """The fault names the label that is nearest."""
    (tmp_path / "pack.yaml").write_text(PACK.replace("CONDITION", "hieght >= 5"), "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        (fault,) = library.rules.take(read_book(tmp_path / "pack.yaml")).errors
        assert "'hieght' is not declared; did you mean 'height" in str(fault)


@pytest.mark.parametrize(("language", "condition"), [("zh", "开挖深度 >= 5"), ("en", "depth_m >= 5")])
def test_the_template_shows_an_example_row_and_the_parameters(tmp_path: Path, language: str, condition: str) -> None:
    """Both stand in the sheet for people, which is not read; the example is in the words of the schema."""
    content = excel_template(SCHEMA, language=language)
    book = openpyxl.load_workbook(io.BytesIO(content))
    rows = [
        [cell for cell in row if cell is not None] for row in book[book.sheetnames[0]].iter_rows(values_only=True)
    ]
    example = next(row for row in rows if condition in row)
    headers = rows[rows.index(example) - 1]
    assert headers == [
        cell.value for cell in book["关系" if language == "zh" else "relations"][1] if cell.value in headers
    ]
    assert len(example) == len(headers)
    assert {row[0] for row in rows if row} >= set(DECLARED)
    assert any("高度" in row and "m" in row for row in rows)
    (tmp_path / "t.xlsx").write_bytes(content)
    found = read_book(tmp_path / "t.xlsx")
    assert (found.nodes, found.links, found.faults) == ((), (), ())


def test_the_shipped_packs_parameters_are_told_apart_by_what_people_call_them() -> None:
    """深度 and 高度, depth and height each mean one parameter of the construction pack."""
    with located("construction") as folder:
        declared = parse_schema(read_book(folder).schema_tree).parameters
    assert [by_name(word, declared) for word in ("深度", "depth", "高度", "height", "跨度", "span")] == [
        ("depth_m",), ("depth_m",), ("height_m",), ("height_m",), ("span_m",), ("span_m",)
    ]  # fmt: skip
