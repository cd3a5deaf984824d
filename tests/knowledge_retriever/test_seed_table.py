"""The seed's own table of tests, as it writes them: plain mocks for both engines, names from its modules."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from wenyuan import InvalidRequest
from wenyuan.knowledge_retriever.config import (
    CHAPTERS_NEED_KG,
    DEFAULT_VECTOR_THRESHOLD,
    DEFAULT_VECTOR_TOP_K,
    PRIORITY_FREE_GEN,
    PRIORITY_KG_RULE,
    PRIORITY_TEMPLATE,
    PRIORITY_VECTOR_CASE,
)
from wenyuan.knowledge_retriever.models import (
    ProcessRequirements,
    RetrievalItem,
    RetrievalResponse,
    RetrievalResult,
)
from wenyuan.knowledge_retriever.retriever import KnowledgeRetriever

CHAIN = ProcessRequirements(
    process_name="深基坑开挖", equipment=["挖掘机"], hazards=["坍塌"], safety_measures={"坍塌": ["分层开挖", "支护"]},
    quality_points=["坑底标高"],
)  # fmt: skip


def case(content: str, score: float, collection: str = "ch08_safety") -> RetrievalResult:
    return RetrievalResult(content=content, score=score, collection=collection, file_id="f1")


@pytest.fixture
def vector() -> MagicMock:
    engine = MagicMock()
    engine.search.return_value = [
        case("案例甲", 0.8), case("通用模板", 0.9, "templates"), case("案例乙", 0.7), case("无关", 0.1),
    ]  # fmt: skip
    return engine


@pytest.fixture
def graph() -> MagicMock:
    engine = MagicMock()
    engine.infer_process_chain.return_value = CHAIN
    return engine


def retrieved(vector: Any, graph: Any, **given: Any) -> RetrievalResponse:
    return KnowledgeRetriever(vector, graph).retrieve(
        "深基坑开挖的安全措施", **{"chapter": "ch08_safety", "processes": ["深基坑开挖"], **given}
    )


class TestConfig:
    def test_the_seed_s_numbers(self) -> None:
        """Rules first, then cases, then templates; three cases of at least .6; the chapters of safety, quality, emergency."""
        order = (PRIORITY_KG_RULE, PRIORITY_VECTOR_CASE, PRIORITY_TEMPLATE, PRIORITY_FREE_GEN)
        assert (order, DEFAULT_VECTOR_TOP_K, DEFAULT_VECTOR_THRESHOLD) == ((1, 2, 3, 4), 3, 0.6)
        assert {"ch07_quality", "ch08_safety", "ch09_emergency"} == CHAPTERS_NEED_KG


class TestRetrievalItem:
    def test_as_a_dict(self) -> None:
        """Its five members, with metadata that are empty by default."""
        item = RetrievalItem(content="x", source="vector", priority=2, score=0.5)
        assert item.to_dict() == {"content": "x", "source": "vector", "priority": 2, "score": 0.5, "metadata": {}}

    @pytest.mark.parametrize("wrong", [{"source": "web"}, {"priority": 9}, {"score": 1.5}])
    def test_a_wrong_field_is_refused(self, wrong: dict[str, Any]) -> None:
        """A source, a priority and a score that there are."""
        with pytest.raises(InvalidRequest, match=next(iter(wrong))):
            RetrievalItem(**{"content": "x", "source": "vector", "priority": 2, "score": 0.5, **wrong})


class TestRetrievalResult:
    def test_no_context_is_none(self) -> None:
        """Absent, and not an empty text."""
        assert case("x", 0.5).context is None


class TestRetrievalResponse:
    def test_rules_and_cases_are_told_apart(self, vector: MagicMock, graph: MagicMock) -> None:
        """All in one list by priority and falling score; rules and cases in lists of their own."""
        found = retrieved(vector, graph)
        assert [item.priority for item in found.items] == sorted(item.priority for item in found.items)
        for priority in (1, 2, 3):
            scores = [item.score for item in found.items if item.priority == priority]
            assert scores == sorted(scores, reverse=True)
        assert {item.source for item in found.regulations} == {"kg_rule"}
        assert [item.content for item in found.cases] == ["案例甲", "案例乙"]


class TestKnowledgeRetriever:
    def test_both_engines_are_asked(self, vector: MagicMock, graph: MagicMock) -> None:
        """And the context of the query is told."""
        found = retrieved(vector, graph, engineering_type="房建工程")
        assert vector.search.called and graph.infer_process_chain.called
        told = found.query_context
        assert (told["chapter"], told["engineering_type"], told["processes"]) == (
            "ch08_safety", "房建工程", ["深基坑开挖"],
        )  # fmt: skip

    def test_regulations_are_the_whole_chain(self, vector: MagicMock, graph: MagicMock) -> None:
        """Equipment, hazard, both measures, quality point: mandatory rules."""
        found = KnowledgeRetriever(vector, graph).retrieve_regulations(processes=["深基坑开挖"])
        assert {(item.source, item.priority) for item in found} == {("kg_rule", 1)}
        text = "\n".join(item.content for item in found)
        assert len(found) == 5
        assert all(word in text for word in ("挖掘机", "坍塌", "分层开挖", "支护", "坑底标高"))

    def test_cases_and_templates(self, vector: MagicMock, graph: MagicMock) -> None:
        """A template has priority 3; what scores too little is left out."""
        found = KnowledgeRetriever(vector, graph).retrieve_cases("深基坑开挖")
        assert {item.content: item.priority for item in found} == {"案例甲": 2, "案例乙": 2, "通用模板": 3}

    def test_rules_are_inferred(self, vector: MagicMock, graph: MagicMock) -> None:
        """From process to hazard to measure."""
        found = KnowledgeRetriever(vector, graph).infer_rules("开挖", processes=["深基坑开挖"])
        assert any("坍塌" in item.content and "支护" in item.content for item in found)

    def test_a_chapter_without_rules(self, vector: MagicMock, graph: MagicMock) -> None:
        """Does not ask the graph."""
        assert retrieved(vector, graph, chapter="ch01_overview").regulations == []
        assert not graph.infer_process_chain.called

    def test_the_engineering_type_is_passed_on(self, vector: MagicMock, graph: MagicMock) -> None:
        """To the engine for cases."""
        retrieved(vector, graph, engineering_type="房建工程")
        assert vector.search.call_args.kwargs["engineering_type"] == "房建工程"

    def test_without_rules_there_are_cases(self, vector: MagicMock, graph: MagicMock) -> None:
        """A graph that has nothing does not empty the answer."""
        graph.infer_process_chain.return_value = None
        found = retrieved(vector, graph)
        assert found.regulations == [] and len(found.cases) == 2

    def test_one_engine_alone(self, vector: MagicMock, graph: MagicMock) -> None:
        """Either may be left out."""
        assert retrieved(vector, None).regulations == [] and retrieved(vector, None).cases
        assert retrieved(None, graph).cases == [] and retrieved(None, graph).regulations

    def test_results_may_be_mocks_themselves(self, graph: MagicMock) -> None:
        """Attributes that nobody set are no metadata."""
        result = MagicMock(content="案例", score=0.9, collection="ch08_safety", file_id="f", context=None)
        engine = MagicMock()
        engine.search.return_value = [result]
        (item,) = retrieved(engine, graph).cases
        assert item.metadata == {"collection": "ch08_safety", "file_id": "f", "context": ""}

    def test_both_are_closed(self, vector: MagicMock, graph: MagicMock) -> None:
        """Each once, though one of them raises."""
        vector.close.side_effect = RuntimeError("no")
        retriever = KnowledgeRetriever(vector, graph)
        with pytest.raises(RuntimeError, match="no"):
            retriever.close()
        assert (vector.close.call_count, graph.close.call_count) == (1, 1)
        retriever.close()
