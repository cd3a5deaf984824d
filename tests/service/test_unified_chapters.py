"""Which cases a chapter gets: its own collection's, templates beside them; and what lists of results tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import EngineError, InvalidRequest, UnknownName
from wenyuan.core.model import Source
from wenyuan.knowledge_retriever import Items, KGRetriever, KnowledgeRetriever, VectorRetriever
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book

QUESTION = "脚手架的安全措施"
TEXTS = {
    "ch08_safety": "第{n}个项目的脚手架安全措施：搭设前交底，验收挂牌，作业人员系安全带。",
    "ch06_methods": "第{n}个项目的脚手架施工方法：脚手架的安全措施见安全一章，先立杆后横杆。",
    "templates": "脚手架的安全措施编制模板{n}：一、概况；二、安全措施；三、应急。",
}
PROCESSES = ["混凝土浇筑", "深基坑开挖", "起重吊装", "脚手架工程", "动火作业"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    """Five documents in each of two chapters and among the templates, and the construction pack."""
    folder = tmp_path_factory.mktemp("chapters")
    library = wenyuan.create(folder / "library", encoder={"kind": "none"}, search={"floor": 0.0})
    for name, text in TEXTS.items():
        (folder / name).mkdir()
        for n in range(5):
            (folder / name / f"{n}.md").write_text(f"# {name} {n}\n\n{text.format(n=n)}\n", "utf-8")
        library.add(Source(source_id=name, path=str(folder / name), collection=name, trust=3, domain="cases"))
    with located("construction") as pack:
        library.rules.take(read_book(pack))
    yield library
    library.close()


@pytest.fixture
def retriever(library: wenyuan.Library) -> KnowledgeRetriever:
    return KnowledgeRetriever(VectorRetriever(library), KGRetriever(library))


def said(items: Any) -> list[str]:
    return [item.content for item in items]


def collections(items: Any) -> list[str]:
    return [item.metadata["collection"] for item in items]


# --- chapters and templates -----------------------------------------------------------------------------
@pytest.mark.parametrize("chapter", ["ch08_safety", "ch06_methods"])
def test_a_chapter_gets_the_cases_of_its_own_collection(retriever: KnowledgeRetriever, chapter: str) -> None:
    """Three of the chapter asked, none of another one; templates come beside them and take none of their places."""
    found = retriever.retrieve(QUESTION, chapter=chapter, processes=[], threshold=0.0)
    assert collections(found.cases) == [chapter] * 3
    assert collections(item for item in found.items if item.source == "template") == ["templates"] * 3
    listed = retriever.retrieve_cases(QUESTION, chapter=chapter, limit=5, threshold=0.0)
    assert collections(listed) == [chapter] * 5 + ["templates"] * 3


def test_a_chapter_without_cases_gets_those_of_others_and_is_told(retriever: KnowledgeRetriever) -> None:
    """Where the library has no such collection, all are searched; templates stay templates."""
    found = retriever.retrieve(QUESTION, chapter="ch09_emergency", processes=[], threshold=0.0, limit=4)
    assert len(found.cases) == 4 and "templates" not in collections(found.cases)
    assert found.query_context["notes"] == ["chapter 'ch09_emergency' has no such case: others stand in for it"]


def test_without_a_chapter_templates_take_no_place_of_a_case(retriever: KnowledgeRetriever) -> None:
    """However well they score."""
    found = retriever.retrieve(QUESTION, processes=[], threshold=0.0, limit=9)
    assert len(found.cases) == 9 and "notes" not in found.query_context


def test_how_many_templates_is_a_setting(library: wenyuan.Library) -> None:
    """With no place for them there are none."""
    settings = library.settings.rules.model_copy(update={"template_top_k": 1})
    mine = KnowledgeRetriever(ForeignVectors(), settings=settings)
    assert collections(mine.retrieve_cases("q", limit=2)) == ["ch08_safety", "ch08_safety", "templates"]


# --- engines of other people ----------------------------------------------------------------------------
def result(collection: str, score: float = 0.8, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(content=f"{collection} {score}", score=score, collection=collection, **more)


class ForeignVectors:
    """An engine with the seed's own arguments, that keeps to the collection it is given."""

    def __init__(self, *known: str) -> None:
        self.known = known or ("ch08_safety", "templates")
        self.asked: list[dict[str, Any]] = []

    def search(
        self, *, query: str, collection: str | None, engineering_type: str | None, limit: int, threshold: float
    ) -> list[SimpleNamespace]:
        self.asked.append({"query": query, "collection": collection, "limit": limit, "threshold": threshold})
        names = self.known if collection is None else [name for name in self.known if name == collection]
        return [result(name, score) for name in names for score in (0.9, 0.8, 0.7)][:limit]


def test_the_chapter_reaches_any_engine_that_takes_a_collection() -> None:
    """By keyword; templates are asked for apart, since the chapter's collection has none."""
    engine = ForeignVectors()
    found = KnowledgeRetriever(engine).retrieve("q", chapter="ch08_safety", limit=2)
    assert [(asked["collection"], asked["limit"]) for asked in engine.asked] == [("ch08_safety", 2), ("templates", 3)]
    assert collections(found.items) == ["ch08_safety"] * 2 + ["templates"] * 3
    assert all(asked["query"] == "q" and asked["threshold"] == 0.6 for asked in engine.asked)


def test_an_engine_without_the_chapter_is_asked_again_without_it() -> None:
    """And the answer says so."""
    engine = ForeignVectors("ch06_methods")
    found = KnowledgeRetriever(engine).retrieve("q", chapter="ch08_safety")
    assert collections(found.cases) == ["ch06_methods"] * 3
    assert "others stand in" in found.query_context["notes"][0]


def test_an_engine_is_given_what_it_takes() -> None:
    """One that takes a text and a limit alone, by another name, answers as well; what falls short is left out here."""

    class Bare:
        def search(self, text: str, limit: int) -> list[SimpleNamespace]:
            return [result("", score, uri="urn:a", trust=4) for score in (0.9, 0.5)][:limit]

    found = KnowledgeRetriever(Bare()).retrieve("q", chapter="ch08_safety")
    (case,) = found.cases
    assert (case.score, case.metadata["uri"], case.metadata["trust"]) == (0.9, "urn:a", 4)
    assert "takes no collection" in found.query_context["notes"][0]


def test_an_engine_that_gives_a_wrong_score_is_at_fault_not_the_request() -> None:
    """A score of 12 is an error of the engine."""

    class Wrong:
        def search(self, query: str) -> list[SimpleNamespace]:
            return [result("a", 12.0)]

    with pytest.raises(EngineError, match="score"):
        KnowledgeRetriever(Wrong()).retrieve_cases("q")


def test_an_engine_of_ours_with_another_search_is_asked_by_that(library: wenyuan.Library) -> None:
    """What a subclass does is not passed over."""

    class Mine(VectorRetriever):
        def search(self, *args: Any, **named: Any) -> list[Any]:
            return [result("mine", 1.0)]

    assert collections(KnowledgeRetriever(Mine(library)).retrieve_cases("q")) == ["mine"]


# --- lists that tell ------------------------------------------------------------------------------------
def test_the_default_is_the_complete_chain_of_every_process(retriever: KnowledgeRetriever) -> None:
    """Five processes: as many rules of each as it has by itself, by every method, and nothing is cut."""
    alone: set[int] = set()
    for name in PROCESSES:
        chain = retriever.infer_rules(name, name)
        assert chain and chain.cut == ()
        alone |= {item.metadata["statement_id"] for item in chain}
    assert len(alone) > 100
    for items in (
        retriever.infer_rules(" ".join(PROCESSES), PROCESSES),
        retriever.retrieve_regulations(processes=PROCESSES),
        retriever.retrieve("q", chapter="ch08_safety", processes=PROCESSES).regulations,
    ):
        assert {item.metadata["statement_id"] for item in items} == alone


def test_a_list_of_rules_tells_what_was_cut_and_is_fair(library: wenyuan.Library, tmp_path: Path) -> None:
    """With a limit of twenty, each of five processes keeps its share, and the list says what was left out."""
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}, rules={"max_rules": 20}) as small:
        with located("construction") as pack:
            small.rules.take(read_book(pack))
        mine = KnowledgeRetriever(VectorRetriever(small), KGRetriever(small))
        for items in (mine.infer_rules("", PROCESSES), mine.retrieve_regulations(processes=PROCESSES)):
            assert isinstance(items, Items) and len(items) == 20
            assert "rules cut at 20" in items.cut[0]
            held = [
                name for item in items for name in item.metadata.get("process_names", [item.metadata["process_name"]])
            ]
            assert all(held.count(name) >= 4 for name in PROCESSES), held
        assert KGRetriever(small).infer_process_chain("深基坑开挖").cut


def test_a_list_names_what_the_graph_does_not_know(retriever: KnowledgeRetriever) -> None:
    """A name that is not known is not one without rules; neither is asking for nothing."""
    found = retriever.infer_rules("", ["深基坑开挖", "量子纠缠施工"])
    assert found and found.unmatched == ("量子纠缠施工",)
    assert retriever.retrieve_regulations().reason and retriever.infer_rules("", []).reason
    assert KnowledgeRetriever().retrieve_cases("q").reason and KnowledgeRetriever().infer_rules("q").reason


def test_a_text_is_one_name(retriever: KnowledgeRetriever) -> None:
    """Not its characters; a blank one, or what is no text, is refused."""
    assert said(retriever.infer_rules("", "深基坑开挖")) == said(retriever.infer_rules("", ["深基坑开挖"])) != []
    assert retriever.retrieve("q", processes="深基坑开挖").query_context["processes"] == ["深基坑开挖"]
    for wrong in ("", [" "], [7]):
        with pytest.raises(InvalidRequest, match=r"no name|processes must be"):
            retriever.infer_rules("", wrong)  # type: ignore[arg-type]


def test_query_is_another_name_of_context(retriever: KnowledgeRetriever) -> None:
    """Either, not both."""
    assert said(retriever.infer_rules(query="深基坑开挖")) == said(retriever.infer_rules(context="深基坑开挖")) != []
    with pytest.raises(InvalidRequest, match="the same"):
        retriever.infer_rules("a", query="b")


# --- the engines by themselves --------------------------------------------------------------------------
def test_several_collections_are_searched_apart_or_together(library: wenyuan.Library) -> None:
    """By collection, so many of each; or, with a limit, the best of all as one list."""
    engine = VectorRetriever(library)
    names = ["templates", "ch08_safety", "ch99"]
    found = engine.search_multi_collection(QUESTION, names, limit_per_collection=2, threshold=0.0)
    assert {name: len(results) for name, results in found.items()} == {"templates": 2, "ch08_safety": 2, "ch99": 0}
    assert {r.collection for r in found["templates"]} == {"templates"}
    assert len(engine.search_multi_collection(QUESTION, names, threshold=0.0, limit=4)) == 4
    with pytest.raises(InvalidRequest, match="how many"):
        engine.search_multi_collection(QUESTION, names, None, 2, limit=4)  # type: ignore[call-overload]


def test_a_case_tells_where_it_is_from(library: wenyuan.Library, retriever: KnowledgeRetriever) -> None:
    """Address, title, trust and audit record, on the engine's results and on the items; the records can be replayed."""
    (best, *_) = VectorRetriever(library).search(QUESTION, "ch08_safety", threshold=0.0)
    assert (best.title.rstrip("01234"), best.trust, best.uri) == ("ch08_safety ", 3, best.file_id)
    assert best.uri and best.to_dict()["audit_id"] == best.audit_id
    (case, *_) = retriever.retrieve_cases(QUESTION, "ch08_safety", threshold=0.0)
    for audit_id in (best.audit_id, case.metadata["audit_id"]):
        assert library.replay(audit_id).identical
    assert {"uri", "title", "trust"} <= case.metadata.keys()


def test_the_graph_is_told_as_entities_and_counts(library: wenyuan.Library) -> None:
    """All nodes, or those of a kind by its name or label; a kind that is none is an error."""
    graph = KGRetriever(library)
    stats = graph.get_graph_stats()
    every = graph.get_all_entities()
    assert stats["nodes"] == len(every) > 100 and stats["edges"] > 300
    hazards = graph.get_all_entities("危险源")
    assert hazards == graph.get_all_entities("hazard") and {one["type"] for one in hazards} == {"hazard"}
    assert "坍塌" in {one["name"] for one in hazards} and hazards[0].keys() >= {"name", "type", "description"}
    with pytest.raises(UnknownName, match="no kind '危险原'; did you mean '危险源'"):
        graph.get_all_entities("危险原")


@pytest.mark.parametrize("relation", ["mitigated_by", "防范措施", "is mitigated by", "IS MITIGATED BY"])
def test_neighbours_are_found_by_a_relation_however_it_is_written(library: wenyuan.Library, relation: str) -> None:
    """By name or label; the node by its name in either language."""
    graph = KGRetriever(library)
    found = graph.get_neighbors("坍塌", relation_type=relation)
    assert found and {one["relation"] for one in found} == {"mitigated_by"}
    assert found == graph.get_neighbors("Collapse", relation) == graph.get_neighbors("坍塌", relation=relation)
    assert [one["name"] for one in found] == graph.infer_hazard_measures("坍塌")


def test_a_name_that_is_not_known_raises_what_says_so(library: wenyuan.Library) -> None:
    """Of a process, a hazard, a node, a relation."""
    graph = KGRetriever(library)
    for ask in (
        lambda: graph.infer_process_chain("量子纠缠施工"),
        lambda: graph.infer_hazard_measures("量子纠缠"),
        lambda: graph.get_neighbors("量子纠缠"),
        lambda: graph.get_neighbors("坍塌", "forbids"),
    ):
        with pytest.raises(UnknownName, match="knows no"):
            ask()
