"""Unified retrieval with engines of the caller's own: rules above cases above templates."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import Mock

import pytest

from wenyuan.core.errors import ConfigError, EngineUnavailable, InvalidRequest, NotPermitted
from wenyuan.core.rules.results import united
from wenyuan.knowledge_retriever import (
    CHAPTERS_NEED_KG,
    DEFAULT_VECTOR_THRESHOLD,
    DEFAULT_VECTOR_TOP_K,
    PRIORITY_FREE_GEN,
    PRIORITY_KG_RULE,
    PRIORITY_TEMPLATE,
    PRIORITY_VECTOR_CASE,
    TEMPLATE_COLLECTION,
    KGRetriever,
    KnowledgeRetriever,
    ProcessRequirements,
    RetrievalItem,
    RetrievalResponse,
    RetrievalResult,
    VectorRetriever,
)
from wenyuan.settings import RulesSettings

PIT = ProcessRequirements(
    process_name="深基坑开挖",
    equipment=["挖掘机"],
    hazards=["坍塌"],
    safety_measures={"坍塌": ["分层开挖、先撑后挖"]},
    quality_points=["基底标高"],
)
CASES = [
    RetrievalResult(content="某项目深基坑采用分层开挖。", score=0.82, collection="ch08_safety", file_id="f1", context="案例"),
    RetrievalResult(content="专项方案编制模板。", score=0.91, collection=TEMPLATE_COLLECTION, file_id="t1"),
    RetrievalResult(content="另一项目的监测做法。", score=0.64, collection="ch08_safety", file_id="f2"),
]  # fmt: skip


def engines(kg: Any = None, cases: Any = None, *, spec: bool = True) -> tuple[Mock, Mock]:
    """Stand-ins for both engines, with or without the shape of the real ones."""
    vector = Mock(spec=VectorRetriever) if spec else Mock()
    graph = Mock(spec=KGRetriever) if spec else Mock()
    vector.search.return_value = CASES if cases is None else cases
    graph.infer_process_chain.return_value = PIT if kg is None else kg
    return vector, graph


# --- items ----------------------------------------------------------------------------------------------
def test_an_item_is_written_as_its_five_fields() -> None:
    """`to_dict` gives content, source, priority, score and metadata; metadata is empty by default."""
    item = RetrievalItem("做法", "vector", 2, 0.5)
    assert item.to_dict() == {"content": "做法", "source": "vector", "priority": 2, "score": 0.5, "metadata": {}}
    assert RetrievalItem("a", "vector", 2, 0.5).metadata is not item.metadata


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"content": " "}, "content"), ({"source": "graph"}, "source"), ({"priority": 0}, "priority"),
        ({"priority": 5}, "priority"), ({"priority": True}, "priority"), ({"score": 1.01}, "score"),
        ({"score": math.nan}, "score"), ({"score": "0.5"}, "score"), ({"metadata": None}, "metadata"),
    ],
)  # fmt: skip
def test_an_item_that_cannot_be_is_refused(changed: dict[str, Any], named: str) -> None:
    """Each field is checked, and named in the error."""
    whole: dict[str, Any] = {"content": "a", "source": "vector", "priority": 2, "score": 0.5, "metadata": {}}
    with pytest.raises(InvalidRequest, match=named):
        RetrievalItem(**whole | changed)


def test_the_constants_are_those_of_the_plan() -> None:
    """Priorities, top_k, threshold, chapters and the collection of templates."""
    assert (PRIORITY_KG_RULE, PRIORITY_VECTOR_CASE, PRIORITY_TEMPLATE, PRIORITY_FREE_GEN) == (1, 2, 3, 4)
    assert (DEFAULT_VECTOR_TOP_K, DEFAULT_VECTOR_THRESHOLD, TEMPLATE_COLLECTION) == (3, 0.6, "templates")
    assert {"ch07_quality", "ch08_safety", "ch09_emergency"} == CHAPTERS_NEED_KG


# --- retrieve -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("spec", [True, False])
def test_both_engines_are_asked_and_merged(spec: bool) -> None:
    """Rules first, then cases, then templates; each subset holds its own kind."""
    vector, graph = engines(spec=spec)
    found = KnowledgeRetriever(vector, graph).retrieve(
        "深基坑开挖怎么做", chapter="ch08_safety", engineering_type="房建", processes=["深基坑开挖"]
    )
    assert isinstance(found, RetrievalResponse)
    keys = [(item.priority, -item.score) for item in found.items]
    assert keys == sorted(keys)
    assert {item.source for item in found.regulations} == {"kg_rule"} and len(found.regulations) == 4
    assert [item.content for item in found.cases] == [CASES[0].content, CASES[2].content]
    assert [item.content for item in found.items if item.priority == 3] == ["专项方案编制模板。"]
    assert found.items[-1].source == "template" and found.items[-1].score == 0.91
    assert found.query_context["chapter"] == "ch08_safety"
    assert found.query_context["engineering_type"] == "房建"
    assert found.query_context["processes"] == ["深基坑开挖"]
    assert found.to_dict()["regulations"][0]["metadata"]["process_name"] == "深基坑开挖"


def test_the_engineering_type_reaches_the_vector_engine() -> None:
    """It is handed on with all else, by name."""
    vector, graph = engines()
    KnowledgeRetriever(vector, graph).retrieve("开挖", engineering_type="房建", processes=["深基坑开挖"])
    asked = {"query": "开挖", "collection": None, "engineering_type": "房建", "limit": 3, "threshold": 0.6}
    vector.search.assert_called_once_with(**asked)
    graph.infer_process_chain.assert_called_once_with("深基坑开挖")


@pytest.mark.parametrize(
    ("chapter", "asked"), [("ch01_overview", 0), ("ch07_quality", 1), ("ch09_emergency", 1), (None, 1)]
)
def test_a_chapter_decides_whether_the_graph_is_asked(chapter: str | None, asked: int) -> None:
    """Chapters outside the set skip it; without a chapter it is asked."""
    vector, graph = engines()
    found = KnowledgeRetriever(vector, graph).retrieve("开挖", chapter=chapter, processes=["深基坑开挖"])
    assert graph.infer_process_chain.call_count == asked
    assert bool(found.regulations) == bool(asked)
    assert found.query_context["engines"]["kg_rule"].startswith("ok" if asked else "skipped")


def test_a_chapter_that_does_not_exist_is_refused_where_chapters_are_listed() -> None:
    """With a list of chapters an unknown one is an error that says what may have been meant."""
    settings = RulesSettings(chapters=("ch01_overview", "ch08_safety"), chapters_need_rules=("ch08_safety",))
    retriever = KnowledgeRetriever(*engines(), settings=settings)
    with pytest.raises(InvalidRequest, match="did you mean 'ch08_safety'"):
        retriever.retrieve("开挖", chapter="ch08_saftey")
    unlisted = KnowledgeRetriever(*engines()).retrieve("开挖", chapter="ch08_saftey", processes=[])
    assert "did you mean 'ch08_safety'" in unlisted.query_context["chapter_note"]


def test_no_rules_still_gives_the_cases() -> None:
    """A process without requirements is not an unknown one, and the cases come all the same."""
    vector, graph = engines(kg=ProcessRequirements(process_name="抹灰"))
    found = KnowledgeRetriever(vector, graph).retrieve("抹灰", processes=["抹灰"])
    assert not found.regulations and len(found.cases) == 2
    assert found.query_context["unmatched_processes"] == []
    graph.infer_process_chain.side_effect = NotPermitted("unknown")
    unknown = KnowledgeRetriever(vector, graph).retrieve("抹灰", processes=["抹恢"])
    assert unknown.query_context["unmatched_processes"] == ["抹恢"] and len(unknown.cases) == 2


def test_one_engine_alone_is_enough_and_the_other_is_reported() -> None:
    """Without a graph: cases; without vectors: rules; the response says which one is not configured."""
    vector, graph = engines()
    cases = KnowledgeRetriever(vector, None).retrieve("开挖", chapter="ch08_safety")
    assert cases.cases and cases.query_context["engines"]["kg_rule"] == "not configured"
    rules = KnowledgeRetriever(None, graph).retrieve("开挖", processes=["深基坑开挖"])
    assert rules.regulations and rules.query_context["engines"]["vector"] == "not configured"
    assert KnowledgeRetriever(None, None).retrieve_cases("开挖") == []


def test_an_engine_that_fails_raises() -> None:
    """Whatever it raises, the request fails with the engine's name; nothing is passed off as empty."""
    for broken in (0, 1):
        both = engines()
        (both[0].search if broken == 0 else both[1].infer_process_chain).side_effect = OSError("no route")
        with pytest.raises(EngineUnavailable, match="no route"):
            KnowledgeRetriever(*both).retrieve("开挖", processes=["深基坑开挖"])


def test_an_optional_engine_degrades_and_says_so() -> None:
    """The vector engine may be declared optional; rules that a chapter needs may not."""
    vector, graph = engines()
    vector.search.side_effect = OSError("no route")
    retriever = KnowledgeRetriever(vector, graph, optional=["vector", "kg_rule"])
    found = retriever.retrieve("开挖", chapter="ch08_safety", processes=["深基坑开挖"])
    assert found.regulations and found.query_context["degraded"] == ["vector"]
    with pytest.raises(EngineUnavailable, match="nothing was found"):
        retriever.retrieve("开挖", chapter="ch01_overview")
    vector, graph = engines()
    graph.infer_process_chain.side_effect = OSError("no route")
    retriever = KnowledgeRetriever(vector, graph, optional=["vector", "kg_rule"])
    with pytest.raises(EngineUnavailable, match="kg_rule"):
        retriever.retrieve("开挖", chapter="ch08_safety", processes=["深基坑开挖"])
    assert retriever.retrieve("开挖", processes=["深基坑开挖"]).query_context["degraded"] == ["kg_rule"]


def test_what_repeats_a_rule_is_not_given_twice() -> None:
    """A case that merely says what a rule says is left out and counted; the same passage stands once."""
    repeats = [RetrievalResult(content="分层开挖、先撑后挖", score=0.9), CASES[0], CASES[0]]
    found = KnowledgeRetriever(*engines(cases=repeats)).retrieve("开挖", processes=["深基坑开挖"])
    assert [item.content for item in found.cases] == [CASES[0].content]
    assert found.query_context["repeated"] == 2


PLAN = "施工单位应当在深基坑施工前编制专项方案，审核签字后方可实施。"


@pytest.mark.parametrize(
    ("rule", "other"),
    [
        ("与带电体保持1.5m距离", "与带电体保持15m距离"),
        ("风速>6级时停止作业", "风速<6级时停止作业"),
        ("气温不低于-5℃", "气温不低于5℃"),
        (PLAN, PLAN.replace("应当", "不应当")),
        (PLAN.replace("应当", "不应当"), PLAN.removeprefix("施工单位不")),
        (PLAN, f"{PLAN}抢险工程除外。"),
        ("基坑深度超过15m的", "5m"),
    ],
)
def test_what_differs_by_a_sign_or_a_word_is_no_repeat(rule: str, other: str) -> None:
    """Neither another rule nor a case is left out that says something else in nearly the same words."""
    mandatory = RetrievalItem(
        content="规则", source="kg_rule", priority=1, score=1.0, metadata={"evidence": [{"quote": rule}]}
    )
    for kind, priority in (("kg_rule", 1), ("vector", 2)):
        asked = [RetrievalItem(content=rule, source="kg_rule", priority=1, score=0.9), mandatory]
        asked.append(RetrievalItem(content=other, source=kind, priority=priority, score=0.5))
        found = united(asked)
        assert other in [item.content for item in found.items] and "repeated" not in found.query_context


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        ("试用期不得超过6个月。", "试用期不得超过 6 个月。"),
        ("应向HR部门提交申请。", "应向 HR 部门提交申请。"),
        ("试用期不得\n超过6个月。", "试用期不得超过6个月"),
    ],
)
def test_white_space_beside_chinese_makes_no_difference(rule: str, case: str) -> None:
    items = [
        RetrievalItem(content=rule, source="kg_rule", priority=1, score=1.0),
        RetrievalItem(content=case, source="vector", priority=2, score=0.9),
    ]
    assert united(items).query_context == {"repeated": 1}


def test_a_case_that_a_rule_quotes_is_a_repeat() -> None:
    """Whatever its marks and white space, with the number of its clause or without, all of it or one sentence."""
    quoted = {"evidence": [{"quote": f"{PLAN}\n作业时应当监护。"}]}
    rule = RetrievalItem(content="编制专项方案", source="kg_rule", priority=1, score=1.0, metadata=quoted)
    for text in (PLAN, f"第十三条　{PLAN}", PLAN.replace("，", " "), "作业时应当监护", f"作业时应当监护。{PLAN}"):
        found = united([RetrievalItem(content=text, source="vector", priority=2, score=0.9), rule])
        assert (found.cases, found.query_context) == ([], {"repeated": 1}), text
    marks = RetrievalItem(content="……", source="vector", priority=2, score=0.9)
    assert united([marks, rule]).cases == [marks]


# --- the single steps -----------------------------------------------------------------------------------
def test_regulations_are_made_of_every_requirement() -> None:
    """Equipment, hazard, measure and quality point are an item each, of priority 1."""
    retriever = KnowledgeRetriever(*engines())
    found = retriever.retrieve_regulations("房建", ["深基坑开挖", "深基坑开挖"])
    assert [item.metadata["group"] for item in found] == ["equipment", "hazards", "safety_measures", "quality_points"]
    assert {item.priority for item in found} == {1} and all(0 < item.score < 1 for item in found)
    assert found[2].metadata["subject"] == "坍塌" and "先撑后挖" in found[2].content
    assert retriever.retrieve_regulations() == []


def test_cases_and_templates_keep_their_priorities() -> None:
    """A result of the templates' collection has priority 3 whatever it scores."""
    found = KnowledgeRetriever(*engines()).retrieve_cases("开挖", limit=5)
    assert [(item.source, item.priority) for item in found] == [("vector", 2), ("vector", 2), ("template", 3)]
    assert found[0].metadata == {"collection": "ch08_safety", "file_id": "f1", "context": "案例"}


def test_rules_are_inferred_without_a_model() -> None:
    """The graph is walked; asking for a model that is not configured is an error that says so."""
    retriever = KnowledgeRetriever(*engines())
    assert len(retriever.infer_rules("正在开挖", ["深基坑开挖"])) == 4
    with pytest.raises(ConfigError, match="language model"):
        retriever.infer_rules("正在开挖", use_llm=True)


def test_bad_input_is_refused() -> None:
    """A blank query, 10,000 processes, a limit of 0; an empty list of processes asks for no rules."""
    vector, graph = engines()
    retriever = KnowledgeRetriever(vector, graph)
    for bad in ({"query": " "}, {"query": "a", "processes": ["b"] * 10_000}, {"query": "a", "limit": 0}):
        with pytest.raises(InvalidRequest):
            retriever.retrieve(**bad)
    found = retriever.retrieve("开挖", processes=[])
    assert found.regulations == [] and found.query_context["rules_reason"]
    graph.infer_process_chain.assert_not_called()


def test_close_lets_go_of_both_engines_once() -> None:
    """Also by `with`; a second close does nothing."""
    vector, graph = engines()
    with KnowledgeRetriever(vector, graph) as retriever:
        pass
    retriever.close()
    vector.close.assert_called_once()
    graph.close.assert_called_once()
    assert PIT.to_dict()["safety_measures"] == {"坍塌": ["分层开挖、先撑后挖"]}
