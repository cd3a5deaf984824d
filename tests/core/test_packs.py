"""The packs that come with the program: read without a fault, and saying what their sources say."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import wenyuan
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.rules.book import Book
from wenyuan.core.rules.checking import check_book
from wenyuan.core.rules.conditions import compile_condition
from wenyuan.core.rules.schema import Schema
from wenyuan.core.rules.schema_parser import parse_schema
from wenyuan.knowledge_retriever import KGRetriever, KnowledgeRetriever
from wenyuan.packs.shipped import located, shipped, title_of, titled
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion


@cache
def pack(name: str) -> tuple[Book, Schema]:
    with located(name) as folder:
        book = read_book(folder)
    return book, parse_schema(book.schema_tree)


def test_two_packs_are_shipped() -> None:
    """Packs are found by name; an unknown name is answered with what was probably meant."""
    assert shipped() == ("construction", "customer_service")
    with pytest.raises(InvalidRequest, match="did you mean 'construction'"), located("constructions"):
        pass


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_pack_has_no_fault(name: str) -> None:
    """Every entry of a shipped pack is taken, without a remark."""
    book, schema = pack(name)
    checked = check_book(book, schema, sources={s.source.source_id for s in book.sources})
    assert (book.pack, [str(f) for f in (*book.faults, *checked.faults)]) == (name, [])
    assert len(checked.nodes) == len(book.nodes)
    assert len(checked.statements) == len(book.links)


@pytest.mark.parametrize("name", shipped())
def test_everything_shipped_is_bilingual_and_quoted(name: str) -> None:
    """Every node has a Chinese and an English name; every statement quotes a clause; sentences are in both."""
    book, schema = pack(name)
    assert all(node.labels.keys() >= {"zh", "en"} for node in book.nodes)
    assert all(link.evidences and all(e.quote and e.clause for e in link.evidences) for link in book.links)
    assert all(set(link.sentence) in (set(), {"zh", "en"}) for link in book.links)
    assert all(set(r.sentence) == {"zh", "en"} for r in schema.relations.values())
    assert all(s.source.trust == 5 and s.uri for s in book.sources)


@pytest.mark.parametrize(
    ("process", "requirement", "parameters", "state"),
    [
        ("深基坑开挖", "专项施工方案", {"depth_m": 3.0, "complex_surroundings": False}, "met"),
        ("深基坑开挖", "专项施工方案", {"depth_m": 2.9, "complex_surroundings": False}, "not_met"),
        ("深基坑开挖", "专项施工方案", {"depth_m": 2.9, "complex_surroundings": True}, "met"),
        ("深基坑开挖", "专项施工方案", {"depth_m": 2.9}, "unknown"),
        ("深基坑开挖", "专家论证", {"depth_m": 5.0}, "met"),
        ("深基坑开挖", "专家论证", {"depth_m": 4.9}, "not_met"),
        ("混凝土模板支撑", "专项施工方案", {"height_m": 5.0}, "met"),
        ("混凝土模板支撑", "专家论证", {"span_m": 18.0}, "met"),
        ("混凝土模板支撑", "专家论证", {"total_load_kn_m2": 15.0}, "met"),
        ("混凝土模板支撑", "专家论证", {"line_load_kn_m": 20.0}, "met"),
        ("承重支撑体系搭设", "专家论证", {"point_load_kn": 7.0}, "met"),
        ("起重吊装", "专家论证", {"lift_weight_kn": 100.0, "unconventional_lifting": True}, "met"),
        ("起重吊装", "专家论证", {"lift_weight_kn": 500.0, "unconventional_lifting": False}, "not_met"),
        ("起重机械安装拆卸", "专家论证", {"crane_capacity_kn": 300.0}, "met"),
        ("落地式钢管脚手架", "专项施工方案", {"height_m": 24.0}, "met"),
        ("落地式钢管脚手架", "专家论证", {"height_m": 49.0}, "not_met"),
        ("附着式升降脚手架", "专家论证", {"lift_height_m": 150.0}, "met"),
        ("悬挑式脚手架", "专家论证", {"height_m": 20.0}, "met"),
        ("建筑幕墙安装", "专家论证", {"height_m": 50.0}, "met"),
        ("钢结构安装", "专家论证", {"span_m": 36.0}, "met"),
        ("网架和索膜结构安装", "专家论证", {"span_m": 59.0}, "not_met"),
        ("人工挖孔桩", "专家论证", {"depth_m": 16.0}, "met"),
        ("大型结构整体顶升平移转体", "专家论证", {"structure_weight_kn": 1000.0}, "met"),
        ("盾构法施工", "专家论证", {}, "met"),
        ("水下作业", "专家论证", {}, "met"),
        ("拆除工程", "专家论证", {"heritage_area": True}, "met"),
    ],
)
def test_thresholds_of_hazardous_works(
    process: str, requirement: str, parameters: dict[str, object], state: str
) -> None:
    """A special plan and an expert review are required from the size on that the notice names, that size included."""
    book, schema = pack("construction")
    (link,) = (k for k in book.links if (k.src, k.rel, k.dst) == (process, "triggers", requirement))
    condition = link.condition
    outcome = compile_condition(condition, schema.parameters).check(parameters).state if condition else "met"
    assert outcome == state


def test_a_return_without_reason_has_its_condition() -> None:
    """Goods sold at a distance go back within seven days; goods bought in a shop do not."""
    book, schema = pack("customer_service")
    (link,) = (k for k in book.links if (k.src, k.rel, k.dst) == ("七天无理由退货申请", "obliges", "退货"))
    condition = compile_condition(link.condition, schema.parameters)
    bought = {"days_since_receipt": 7, "excluded_goods": False}
    assert condition.check(bought | {"sales_channel": "online"}).state == "met"
    assert condition.check(bought | {"sales_channel": "store"}).state == "not_met"
    assert condition.check(bought).missing == ("sales_channel",)


Pair = tuple[str, str, str, str]
"""Start, group, of what something is required (the start itself, where it says or inherits it), and what."""


def chained(name: str) -> dict[str, set[Pair]]:
    """By start, every pair to which the chains of a pack's patterns lead over its statements as they are written."""
    book, schema = pack(name)
    checked = check_book(book, schema, sources={s.source.source_id for s in book.sources})
    onward: dict[tuple[str, str], set[str]] = defaultdict(set)
    for statement in checked.statements:
        onward[statement.src, statement.rel].add(statement.dst)
    called = {node.key: node.name for node in checked.nodes}
    found: dict[str, set[Pair]] = {}
    for pattern in schema.patterns.values():
        for start in (node for node in checked.nodes if node.kind == pattern.start):
            origins, level = {start.key}, {start.key}
            for _ in range(pattern.inherit.max_depth if pattern.inherit else 0):
                level = {end for key in level for via in pattern.inherit.via for end in onward[key, via]} - origins
                origins |= level
            pairs = found.setdefault(start.name, set())
            for group, chain in pattern.collect.items():
                ends = [(start.key, key) for key in origins]
                for at, relation in enumerate(chain):
                    ends = [(start.key if at == 0 else key, end) for _, key in ends for end in onward[key, relation]]
                pairs |= {(start.name, group, called[of], called[end]) for of, end in ends}
    return found


@pytest.mark.parametrize("name", shipped())
def test_every_pair_that_a_pack_says_is_derived(tmp_path: Path, name: str) -> None:
    """A measure against two hazards stands under both: nothing that the statements say of a start is lost, or added."""
    expected = chained(name)
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library:
        library.rules.take(pack(name)[0])
        for start, pairs in expected.items():
            answer = library.infer_rules(RuleQuestion(processes=(start,)))
            assert answer.truncated == ()
            assert {_pair(start, item.metadata) for item in answer.items} == pairs
    assert sum(map(len, expected.values())) > 100


def _pair(start: str, told: dict[str, object]) -> Pair:
    """What a derived rule says, in the terms of `chained`."""
    path = told["path"]
    assert isinstance(path, list)
    own = all(step.get("inherited") for step in path[:-1])
    return start, str(told["group"]), start if own else str(told["subject"]), str(told["name"])


def test_a_chain_has_every_measure_under_every_hazard(tmp_path: Path) -> None:
    """What a chain, a list and the united answer give of the construction pack's processes is complete."""
    expected = chained("construction")
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library:
        library.rules.take(pack("construction")[0])
        retriever = KnowledgeRetriever(None, KGRetriever(library))
        for start in ("深基坑开挖", "起重吊装", "脚手架工程"):
            pairs = {(of, end) for _, group, of, end in expected[start] if group == "safety_measures"}
            chain = KGRetriever(library).infer_process_chain(start)
            assert {(of, end) for of, ends in chain.safety_measures.items() for end in ends} == pairs
            for items in (
                retriever.infer_rules(start, [start]),
                retriever.retrieve_regulations(processes=[start]),
                retriever.retrieve(start, chapter="ch08_safety", processes=[start]).regulations,
            ):
                told = [item.metadata for item in items if item.metadata["group"] == "safety_measures"]
                assert {(t["subject"], t["name"]) for t in told} == pairs


@pytest.mark.parametrize("name", shipped())
def test_a_pack_has_a_title_in_both_languages(name: str) -> None:
    """A shipped pack is shown by its title with its name behind it; any other by the name that its owner gave it."""
    chinese, english = (title_of(name, language) for language in ("zh", "en"))
    assert not chinese.isascii() and english.isascii() and len(english) > len(name)
    assert (titled(name, "zh"), titled(name, "en")) == (f"{chinese}（{name}）", f"{english} ({name})")
    assert titled("our-own", "zh") == "our-own"
