"""YAML packs: the full and the short forms, lines, and everything that can be wrong with them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from rulebook_parts import book_of, checked, codes, fault
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.book import Tally
from wenyuan.core.rules.model import Alias, EntryPlace
from wenyuan.readers.rulebooks import selection
from wenyuan.readers.rulebooks.selection import read_book

PACK = """\
pack: construction
sources:
  - id: mohurd_37
    title: 危险性较大的分部分项工程安全管理规定
    uri: https://example.org/order37
    trust: 5
    domain: construction
    language: zh
    effective_from: 2018-06-01
nodes:
  - {kind: process, name: 深基坑开挖, en: Deep excavation, aliases: [深基坑土方开挖, 基坑开挖], codes: {GB 50300: "0104"}}
  - {kind: hazard, name: 坍塌}
  - {kind: accident, name: 坍塌}
  - {kind: 强制要求, name: 专家论证}
equipment:
  - 挖掘机
  - {name: 抽水泵, en: Pump}
safety_measure: [分层开挖, 事故救援]
statements:
  - src: 深基坑开挖
    rel: triggers
    dst: 专家论证
    when: depth_m >= 5.0
    strength: mandatory
    sentence: {zh: 深基坑应当组织专家论证, en: Deep excavations need an expert review}
    valid_from: 2018-06-01
    evidence:
      - {source: mohurd_37, clause: 第十二条, quote: 施工单位应当组织召开专家论证会, reviewer: 王工}
  - about: 基坑开挖
    requires_equipment: [挖掘机, {to: 抽水泵, strength: 推荐, evidence: {source: mohurd_37}}]
    产生危险源:
      - to: 坍塌
        evidence: [{source: mohurd_37, clause: 第十条}]
        mitigated_by:
          - {to: 分层开挖, evidence: [{source: mohurd_37}]}
        may_lead_to:
          - to: 坍塌
            evidence: [{source: mohurd_37}]
            mitigated_by: [{to: 事故救援, evidence: [{source: mohurd_37}]}]
"""


def test_both_forms_become_statements(tmp_path: Path) -> None:
    """The full form, the nested one, labels and aliases all end as statements between keys."""
    result = checked(book_of(tmp_path, "construction.yaml", PACK), default_source="mohurd_37")
    assert result.faults == ()
    assert result.pack == "construction"
    assert result.imported == Tally(8, 7)
    said = {(s.src, s.rel, s.dst) for s in result.statements}
    assert said == {
        ("process/深基坑开挖", "triggers", "requirement/专家论证"),
        ("process/深基坑开挖", "requires_equipment", "equipment/挖掘机"),
        ("process/深基坑开挖", "requires_equipment", "equipment/抽水泵"),
        ("process/深基坑开挖", "produces_hazard", "hazard/坍塌"),
        ("hazard/坍塌", "mitigated_by", "safety_measure/分层开挖"),
        ("hazard/坍塌", "may_lead_to", "accident/坍塌"),
        ("accident/坍塌", "mitigated_by", "safety_measure/事故救援"),
    }


def test_every_field_arrives(tmp_path: Path) -> None:
    """Condition, strength, sentence, days, evidence, labels, aliases and codes are what was written."""
    result = checked(book_of(tmp_path, "a.yaml", PACK), default_source="mohurd_37")
    first = result.statements[0]
    assert (first.condition, first.strength, first.status) == ("depth_m >= 5.0", "mandatory", "approved")
    assert first.sentence["en"] == "Deep excavations need an expert review"
    assert (first.valid_from, first.valid_until) == (date(2018, 6, 1), None)
    (evidence,) = first.evidences
    assert evidence.uri == "https://example.org/order37"
    assert (evidence.source_id, evidence.reviewer) == ("mohurd_37", "王工")
    assert first.place == EntryPlace("a.yaml", 20)
    pump = next(s for s in result.statements if s.dst == "equipment/抽水泵")
    assert pump.strength == "recommended"
    node = result.nodes[0]
    assert node.labels == {"zh": "深基坑开挖", "en": "Deep excavation"}
    assert node.aliases == (Alias(text="深基坑土方开挖", language="zh"), Alias(text="基坑开挖", language="zh"))
    assert node.codes == {"GB 50300": "0104"}
    (source,) = result.sources
    assert (source.source.trust, source.source.effective_from) == (5, date(2018, 6, 1))


def test_a_later_statement_under_an_entry_is_about_its_object(tmp_path: Path) -> None:
    """Of two nodes with one name, the one that the relation above leads to is meant."""
    result = checked(book_of(tmp_path, "a.yaml", PACK), default_source="mohurd_37")
    about = [s.src for s in result.statements if s.rel == "mitigated_by"]
    assert about == ["hazard/坍塌", "accident/坍塌"]


DIRTY = """\
pack: dirty
nodse: [{kind: process, name: 甲}, {kind: process, name: 乙}]
sources:
  - {id: bad id!, trust: 5}
  - {id: fine, trust: 9}
nodes:
  - {kind: process, name: 深基坑开挖, aliases: [开挖]}
  - {kind: process, name: 土方开挖, aliases: [开挖]}
  - {kind: proces, name: 回填}
  - {kind: process, nam: 回填}
  - {kind: process, name: 深基坑開挖}
  - {kind: process, name: 土方开挖, codes: {GB: 1}, scope: [桥梁工程]}
  - {kind: hazard, name: 坍塌}
  - {kind: accident, name: 坍塌}
  - {kind: safety_measure, name: 应当分层开挖并及时支撑。}
  - {kind: safety_measure, name: 分层开挖}
  - {kind: requirement, name: 专家论证, name: 论证}
  - 7
statements:
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坍塌, evidence: {source: order37}}
  - {src: 深基坑开挖, rel: 产生危险源, dst: 坍塌, evidence: {source: order37}}
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坍塌, weight: 0.5, evidence: {source: order37}}
  - {src: 深基坑开挖, rel: produce_hazard, dst: 坍塌, evidence: {source: order37}}
  - {src: 深基坑开控, rel: produces_hazard, dst: 坍塌, evidence: {source: order37}}
  - {src: 开挖, rel: produces_hazard, dst: 坍塌, evidence: {source: order37}}
  - {src: 坍塌, rel: produces_hazard, dst: 深基坑开挖, evidence: {source: order37}}
  - {src: 坍塌, rel: produces_hazard, dst: 分层开挖, evidence: {source: order37}}
  - {src: 深基坑开挖, rel: is_a, dst: 深基坑开挖, evidence: {source: order37}}
  - {src: 深基坑开挖, rel: is_a, dst: 土方开挖, evidence: {source: order37}}
  - {src: 土方开挖, rel: is_a, dst: 深基坑开挖, evidence: {source: order37}}
  - {src: 土方开挖, rel: produces_hazard, dst: 坍塌, when: dept_m > 3, evidence: {source: order37}}
  - {src: 土方开挖, rel: produces_hazard, dst: 坍塌, valid_from: 2018-02-30, evidence: {source: order37}}
  - {src: 土方开挖, rel: produces_hazard, dst: 坍塌, evidence: {source: order37, trust: 6}}
  - {src: 土方开挖, rel: produces_hazard, dst: 坍塌}
  - {src: 土方开挖, rel: produces_hazard, dst: 坍塌, evidence: {source: order73}}
  - {src: 土方开挖, rel: produces_hazard, dst: 坍塌, strength: strong, evidence: {source: order37}}
  - {src: 土方开挖, rel: produces_hazard, dst: 坍塌, weight: .nan, evidence: {source: order37}}
  - about: 土方开挖
    produces_hazard:
      - {to: 坍塌, evidense: [{source: order37}]}
      - {when: depth_m > 1, mitigated_by: [分层开挖]}
  - {src: 土方开挖, rel: produces_hazard, dst: 回填, evidence: {source: order37}}
"""


def test_a_dirty_pack_is_counted_fault_by_fault(tmp_path: Path) -> None:
    """Each kind of fault is found as often as it was put there, and the sums are right."""
    result = checked(book_of(tmp_path, "dirty.yaml", DIRTY))
    assert codes(result.faults) == {
        "unknown_key": 3,  # nodse, nam, evidense
        "bad_value": 6,  # id, no name, node 7, strength, weight, no 'to'
        "bad_trust": 2,
        "unknown_kind": 1,
        "duplicate_node": 1,
        "duplicate_key": 1,
        "duplicate_statement": 1,
        "unknown_relation": 1,
        "dangling_end": 2,
        "ambiguous_name": 1,
        "reversed": 1,
        "wrong_ends": 1,
        "self_loop": 1,
        "cycle": 1,
        "bad_condition": 1,
        "bad_date": 1,
        "no_evidence": 1,
        "unknown_source": 1,
    }  # fmt: skip
    assert codes(result.faults, "note") == {
        "duplicate_node": 1, "alias_collision": 1, "sentence_as_name": 1, "duplicate_statement": 1,
    }  # fmt: skip
    assert (result.written, result.imported) == (Tally(14, 22), Tally(6, 2))
    assert (result.merged, result.refused) == (Tally(1, 1), Tally(7, 19))


def test_faults_have_their_line_and_a_suggestion(tmp_path: Path) -> None:
    """A fault names file and line, and what was probably meant."""
    result = checked(book_of(tmp_path, "dirty.yaml", DIRTY))
    by_line = {f.place.line: f for f in result.faults if f.severity == "error"}
    assert str(by_line[9]) == "dirty.yaml:9: 'proces' is no kind; did you mean 'process'?"
    assert "did you mean '深基坑开挖'?" in str(by_line[24])
    assert "did you mean 'produces_hazard'?" in str(by_line[23])
    assert "did you mean 'order37'?" in str(by_line[35])
    assert "did you mean 'depth_m'" in str(by_line[31])
    assert "it was refused at dirty.yaml:9" in str(by_line[42])
    assert "深基坑开挖 → 土方开挖 → 深基坑开挖" in fault_line(result, 30)


def fault_line(result: object, line: int) -> str:
    return " ".join(str(f) for f in result.faults if f.place.line == line)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [1]\nb: *x\n", "line 2: the alias *x is not read"),
        ("a: !!python/object/apply:os.system [ls]\n", "line 1: the tag"),
        ("a: !!binary YQ==\n", "line 1: the tag"),
        ("pack: a\n---\npack: b\n", "a second one begins"),
        ("pack: [a\n", "not well-formed YAML"),
        ("? [a]\n: 1\n", "a key must be text"),
        ("a: " + "[" * 40 + "]" * 40, "nested deeper than 32 levels"),
        ("a: " + "[" * 200_000, "nested deeper than 32 levels"),
        ("nodes: \x00", "NUL"),
        ("", "it is empty"),
        ("[1, 2]", "its outermost value is no mapping"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_fault(tmp_path: Path, text: str, reason: str) -> None:
    """What is no readable YAML is refused as a whole, with the reason; no aliases unfold, no tags run."""
    book = book_of(tmp_path, "bad.yaml", text)
    assert [f.code for f in book.faults] == ["bad_file"]
    assert reason in book.faults[0].message
    assert book.written == Tally()


def test_scalars_are_what_people_mean(tmp_path: Path) -> None:
    """``no``, ``on`` and days are text, a number as a name is its digits, full-width forms are names."""
    text = "equipment: [no, on, 2018-06-01, 12:30, 37, １号塔吊, null_, '']\n"
    book = book_of(tmp_path, "a.yaml", text)
    assert [n.name for n in book.nodes] == ["no", "on", "2018-06-01", "12:30", "37", "１号塔吊", "null_"]
    assert codes(book.faults) == {"bad_value": 1}


def test_a_key_that_stands_twice_takes_nothing_with_it_in_silence(tmp_path: Path) -> None:
    """What stands under the second key of two is refused and counted, at the top and below a subject."""
    text = """\
process: [开挖]
hazard: [坍塌, 淹水]
statements:
  - about: 开挖
    produces_hazard: [坍塌]
    produces_hazard: [淹水, 坍塌]
statements:
  - {src: 开挖, rel: produces_hazard, dst: 淹水}
"""
    result = checked(book_of(tmp_path, "a.yaml", text), default_source="order37")
    assert codes(result.faults) == {"duplicate_key": 2}
    assert (result.imported.statements, result.refused.statements) == (1, 3)


def test_traditional_and_full_width_names_are_found(tmp_path: Path) -> None:
    """An end may be written in Traditional characters, full-width forms or another case."""
    text = """\
nodes: [{kind: process, name: 塔吊安装TQ-1}, {kind: hazard, name: 高处坠落}]
statements: [{src: 塔吊安裝ＴＱ－１, rel: Produces Hazard, dst: 危險源：高處墜落}]
"""
    result = checked(book_of(tmp_path, "a.yaml", text), default_source="order37")
    assert result.faults == ()
    assert result.statements[0].dst == "hazard/高处坠落"


def test_a_folder_is_one_pack(tmp_path: Path) -> None:
    """All files of a folder are read in order as one book, places name their file, hidden ones are left."""
    book_of(tmp_path, "rules/pack.yaml", "pack: demo\nschema: {kinds: {process: {zh: 工序}}}\nprocess: [开挖]\n")
    book_of(tmp_path, "rules/more/b.yml", "process: [回填]\n")
    book_of(tmp_path, "rules/.hidden.yaml", "process: [隐藏]\n")
    book_of(tmp_path, "rules/broken.yaml", "a: [")
    book = read_book(tmp_path / "rules")
    assert book.pack == "demo"
    assert book.schema_tree == {"kinds": {"process": {"zh": "工序"}}}
    assert [(n.name, n.place.file) for n in book.nodes] == [("回填", "more/b.yml"), ("开挖", "pack.yaml")]
    assert fault(book, "bad_file").place == EntryPlace("broken.yaml")


def test_several_packs_in_a_folder_are_refused(tmp_path: Path) -> None:
    """A folder whose files name two packs is not one import, unless the caller names the pack."""
    book_of(tmp_path, "a.yaml", "pack: a\n")
    book_of(tmp_path, "b.yaml", "pack: b\n")
    with pytest.raises(InvalidRequest, match="several packs: a, b"):
        read_book(tmp_path)
    assert read_book(tmp_path, pack="both").pack == "both"


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    """A missing file, an empty folder and a kind of file that is not read are errors, not empty books."""
    (tmp_path / "a.docx").write_bytes(b"PK")
    for path, reason in (
        (tmp_path / "no.yaml", "no such file"),
        (tmp_path, "no file"),
        (tmp_path / "a.docx", "no kind"),
    ):
        with pytest.raises(InvalidRequest, match=reason):
            read_book(path)


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size is looked at before the content."""
    monkeypatch.setattr(selection, "MAX_BYTES", 1_000_000)
    with (tmp_path / "big.yaml").open("wb") as stream:
        stream.truncate(3_000_000)
    book = read_book(tmp_path / "big.yaml")
    assert fault(book, "bad_file").message == "it has 3 MB; at most 1 MB are read"
    assert selection.MAX_GRAPH_BYTES == 300_000_000
