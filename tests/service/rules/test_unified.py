"""Rules, cases and templates out of one real library: what a chapter gets, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import CatalogUnavailable, InvalidRequest
from wenyuan.core.filters import In
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.knowledge_retriever import KGRetriever, KnowledgeRetriever, VectorRetriever
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.context import ContextRequest
from wenyuan.service.rules.unified import CaseQuestion, RuleQuestion, UnifiedRequest
from wenyuan.service.search.searcher import SearchRequest

CASE = """---
engineering_type: {type}
---
# {title}

{text}
"""
DOCUMENTS = {
    "pit": (
        "房屋建筑",
        "某住宅深基坑案例",
        "本项目深基坑开挖深度九米，采用分层开挖、内支撑与降水，监测数据每日上报。",
    ),
    "bridge": ("桥梁工程", "某大桥承台深基坑案例", "本桥承台深基坑开挖采用钢板桩围堰，开挖期间监测水位与位移。"),
}

DOUBTED = """
pack: pit
schema:
  kinds: {process: {zh: 工序, en: process}, hazard: {zh: 危险源, en: hazard}}
  relations: {produces_hazard: {zh: 产生危险源, en: produces, from: [process], to: [hazard]}}
  patterns: {needs: {start: process, collect: {hazards: [produces_hazard]}}}
sources: [{id: code, title: 规范, uri: "urn:code", trust: 5, domain: construction, language: zh}]
process: [{name: 深基坑开挖}]
hazard: [{name: 坍塌}, {name: 涌水}]
statements:
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坍塌, evidence: [{source: code, clause: 第一条, trust: 2}]}
  - {src: 深基坑开挖, rel: produces_hazard, dst: 涌水, evidence: [{source: code, clause: 第二条}]}
"""


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    """A library with the construction pack, two cases of different types, one of none, and a template."""
    folder = tmp_path_factory.mktemp("unified")
    cases, templates = folder / "cases", folder / "templates"
    cases.mkdir()
    templates.mkdir()
    for name, (kind, title, text) in DOCUMENTS.items():
        (cases / f"{name}.md").write_text(CASE.format(type=kind, title=title, text=text), "utf-8")
    (cases / "general.md").write_text("# 通用做法\n\n深基坑开挖前应核对地下管线，开挖中做好监测。\n", "utf-8")
    (templates / "plan.md").write_text("# 深基坑开挖方案模板\n\n深基坑开挖专项方案：概况、监测、应急。\n", "utf-8")
    library = wenyuan.create(folder / "library", encoder={"kind": "hashing"}, search={"floor": 0.0})
    library.add(Source(source_id="cases", path=str(cases), collection="ch08_safety", trust=3, domain="cases"))
    library.add(Source(source_id="plans", path=str(templates), collection="templates", trust=3, domain="cases"))
    with located("construction") as pack:
        library.rules.take(read_book(pack))
    yield library
    library.close()


def names(items: Any, group: str) -> set[str]:
    """What a group of rules ends at."""
    return {item.metadata["name"] for item in items if item.metadata["group"] == group}


@pytest.mark.parametrize(
    ("parameters", "expected", "state"),
    [({"depth_m": 6}, {"专家论证", "专项施工方案"}, "met"), ({"depth_m": 2, "complex_surroundings": False}, set(), "met"),
     ({}, {"专家论证", "专项施工方案"}, "unverified")],
)  # fmt: skip
def test_a_threshold_decides_which_rule_follows(
    stocked: wenyuan.Library, parameters: dict[str, Any], expected: set[str], state: str
) -> None:
    """Six metres: the over-scale rule with its clause and path; two: none; unknown: both, unverified, and what lacks."""
    found = stocked.infer_rules(RuleQuestion(processes=("深基坑开挖",), parameters=parameters)).items
    plans = [
        i for i in found if i.metadata["name"] in ("专家论证", "专项施工方案") and i.metadata["group"] == "mandatory"
    ]
    assert {i.metadata["name"] for i in plans} == expected
    for item in plans:
        assert item.metadata["condition_state"] == state
        assert item.metadata["evidence"][0]["clause"] and item.metadata["path"][0]["from"] == "深基坑开挖"
        if state == "unverified":
            assert "depth_m" in item.metadata["missing_parameters"] and item.score < 0.81


def test_scores_add_up_and_differ(stocked: wenyuan.Library) -> None:
    """The product of the parts is the score, and not every rule scores 1."""
    items = stocked.infer_rules(RuleQuestion(text="深基坑开挖的安全措施")).items
    for item in items:
        product = 1.0
        for part in item.metadata["scores"].values():
            product *= part
        assert product == pytest.approx(item.score, abs=1e-5)
    assert len({round(item.score, 3) for item in items}) > 2


def test_a_question_in_either_language_gets_what_it_asks_for_first(stocked: wenyuan.Library) -> None:
    """Hazards when hazards are asked, equipment when equipment is; Traditional and English alike."""
    for text, group in (
        ("深基坑开挖有哪些危险源", "hazards"), ("深基坑開挖需要哪些設備", "equipment"),
        ("What hazards does deep excavation have?", "hazards"), ("深基坑开挖的应急处置", "emergency"),
    ):  # fmt: skip
        found = stocked.infer_rules(RuleQuestion(text=text)).items
        assert found[0].metadata["group"].endswith(group), text


def test_rules_come_before_cases_before_templates(stocked: wenyuan.Library) -> None:
    """Whatever the scores; cases and templates are told apart by their collection."""
    answer = stocked.retrieve(UnifiedRequest(query="深基坑开挖监测", chapter="ch08_safety", threshold=0.0, limit=5))
    items = answer.response.items
    keys = [(item.priority, -item.score) for item in items]
    assert keys == sorted(keys)
    assert {item.source for item in items} == {"kg_rule", "vector", "template"}
    assert all(item.metadata["collection"] != "templates" for item in answer.response.cases)
    assert answer.response.query_context["recognised"][0]["text"] == "深基坑开挖"


def test_a_chapter_without_need_of_rules_gets_cases_alone(stocked: wenyuan.Library) -> None:
    """The graph is not asked, and the answer says so."""
    response = stocked.retrieve(
        UnifiedRequest(query="深基坑开挖监测", chapter="ch01_overview", threshold=0.0)
    ).response
    assert response.regulations == [] and response.cases
    assert response.query_context["engines"]["kg_rule"].startswith("skipped")


def test_the_engineering_type_leaves_out_other_types(stocked: wenyuan.Library) -> None:
    """Passages of other types are not found; those of the type and of none are."""
    for kind, kept, left in (("房屋建筑", "住宅", "大桥"), ("桥梁工程", "大桥", "住宅")):
        found = stocked.find_cases(CaseQuestion(query="深基坑开挖监测", engineering_type=kind, limit=10))
        text = "".join(item.content for item in found)
        titles = "".join(item.metadata["title"] for item in found)
        assert kept in titles and left not in titles
        assert "地下管线" in text


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_the_threshold_is_on_the_score_that_is_returned(stocked: wenyuan.Library, limit: int) -> None:
    """Whatever is given scores at least that; scores fall; what does not reach it is not given."""
    every = stocked.find_cases(CaseQuestion(query="深基坑开挖监测", limit=limit))
    scores = [item.score for item in every]
    assert scores == sorted(scores, reverse=True) and len(every) == min(limit, 4)
    line = scores[len(scores) // 2]
    kept = stocked.find_cases(CaseQuestion(query="深基坑开挖监测", limit=limit, threshold=line))
    assert [item.content for item in kept] == [item.content for item in every if item.score >= line]
    assert all(0 <= item.metadata["probability"] <= 1 for item in every)


def test_no_case_has_its_reason(stocked: wenyuan.Library) -> None:
    """The best score, and what it lacks."""
    high = stocked.retrieve(UnifiedRequest(query="深基坑开挖监测", chapter="ch08_safety", threshold=1.0)).response
    assert high.cases == []
    assert re.fullmatch(r"the best case scores 0\.\d+, less than 1", high.query_context["cases_reason"])
    found = stocked.retrieve(UnifiedRequest(query="深基坑开挖监测", threshold=0.0)).response
    assert found.cases and "cases_reason" not in found.query_context


def test_an_unknown_process_is_not_one_without_requirements(stocked: wenyuan.Library) -> None:
    """Names that the graph does not know are reported; a text without any name has that as its reason."""
    answer = stocked.infer_rules(RuleQuestion(processes=("深基坑开挖", "量子纠缠施工")))
    assert answer.unmatched == ("量子纠缠施工",) and answer.items
    assert stocked.infer_rules(RuleQuestion(text="今天天气很好")).reason == "no entity recognised"
    assert stocked.infer_rules(RuleQuestion(processes=())).reason == "no process was asked for"
    noted = stocked.infer_rules(RuleQuestion(processes=("深基坑开挖",), parameters={"depht_m": 6}))
    assert "did you mean 'depth_m'" in noted.notes[0]
    with pytest.raises(InvalidRequest, match="depth_m"):
        stocked.infer_rules(RuleQuestion(processes=("深基坑开挖",), parameters={"depth_m": "six"}))


def test_a_wrong_parameter_is_refused_whatever_is_recognised(stocked: wenyuan.Library) -> None:
    """A parameter of the wrong type is no better when the text names nothing; an unknown one is told then, too."""
    with pytest.raises(InvalidRequest, match="depth_m must be a finite number"):
        stocked.infer_rules(RuleQuestion(text="天气", parameters={"depth_m": "deep"}))
    notes = stocked.infer_rules(RuleQuestion(text="天气", parameters={"dpth_m": 6})).notes
    assert any("did you mean 'depth_m'?" in note for note in notes)


@pytest.mark.parametrize("exact", [False, True])
def test_an_answer_of_another_derivation_is_replayed_with_that_reason(
    stocked: wenyuan.Library, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    """A record that an earlier program made of fewer rules differs for one reason; one of this program is identical."""
    audit_id = stocked.infer_rules(RuleQuestion(processes=("深基坑开挖",))).audit_id
    assert stocked.replay(audit_id, exact=exact).identical
    kept = stocked.audit.show(audit_id)
    earlier = {name: value for name, value in kept.record.items() if name != "derivation"}
    earlier["fragments"] = earlier["fragments"][::2]
    monkeypatch.setattr(type(stocked.audit), "show", lambda *_: replace(kept, record=earlier))
    assert [d.what for d in stocked.replay(audit_id, exact=exact).differences] == ["program changed"]


def test_rules_are_fragments_of_the_contract(stocked: wenyuan.Library) -> None:
    """With origin, priority, path and evidence; sorted by score, and no more than were asked for."""
    request = RetrievalRequest(
        query="深基坑开挖有哪些危险源",
        max_results=6,
        context={"parameters": {"depth_m": 6}, "chapter": "ch08_safety"},
    )
    answer = stocked.retrieve_fragments(request)
    assert answer.status == "SUCCESS" and len(answer.fragments) == 6
    rule = answer.fragments[0].metadata
    assert (rule["origin"], rule["priority"], rule["group"]) == ("kg_rule", 1, "hazards")
    assert rule["path"] and rule["evidence"][0]["quote"] and answer.fragments[0].source.startswith("urn:cn:")
    outside = RetrievalRequest(query="深基坑开挖有哪些危险源", max_results=6, context={"chapter": "ch01_overview"})
    assert all(f.metadata["origin"] != "kg_rule" for f in stocked.retrieve_fragments(outside).fragments)


@pytest.mark.parametrize("context", [{"processes": "深基坑开挖"}, {"parameters": [1]}, {"parameters": {"a": []}},
                                     {"chapter": 8}, {"processes": ["a"] * 10_000}])  # fmt: skip
def test_a_wrong_context_is_refused_by_name(stocked: wenyuan.Library, context: dict[str, Any]) -> None:
    """Each of the context's own members has its type."""
    with pytest.raises(InvalidRequest, match=f"context.{next(iter(context))}"):
        stocked.retrieve_fragments(RetrievalRequest(query="开挖", max_results=3, context=context))


def test_the_context_service_keeps_a_share_for_rules(stocked: wenyuan.Library) -> None:
    """Rules come first, and cases still find room."""
    built = stocked.get_context(ContextRequest(retrieval_query="深基坑开挖监测", token_budget=700)).build
    origins = [snippet.origin for snippet in built.snippets]
    assert origins[0] == "kg_rule" and "vector" in origins
    assert origins == sorted(origins, key=lambda o: o != "kg_rule")


def test_the_knowledge_service_finds_rules_within_a_scope_only(stocked: wenyuan.Library) -> None:
    """A filter on other sources, or a trust above theirs, leaves them out."""
    found = stocked.find(SearchRequest(query="深基坑开挖有哪些危险源", limit=5))
    assert found.passages[0].hit.origin == "kg_rule" and found.passages[0].derivation["path"]
    elsewhere = SearchRequest(query="深基坑开挖有哪些危险源", limit=5, filter=In("source_id", ("cases",)))
    assert {f.passage.source_id for f in stocked.find(elsewhere).passages} == {"cases"}


def test_no_rule_rests_on_evidence_below_the_trust_asked_for(tmp_path: Path) -> None:
    """Evidence that is doubted itself counts for who accepts doubtful things, and for nobody else."""
    (tmp_path / "pit.yaml").write_text(DOUBTED, "utf-8")
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library:
        library.rules.take(read_book(tmp_path / "pit.yaml"))
        for agent_id, least in (("careful", 3), ("bold", 2)):
            scope = (DomainScope(domain="construction", top_k=9),)
            agent = Agent(agent_id=agent_id, knowledge_scope=scope, min_trust=least, allow_low_trust=True)
            library.catalog.put_agent(agent)  # type: ignore[attr-defined]
        found = {}
        for agent_id in ("careful", "bold"):
            principal = Principal(key_id="k", rights=frozenset({"ask"}), agent_id=agent_id)
            answer = library.infer_rules(RuleQuestion(processes=("深基坑开挖",)), principal)
            found[agent_id] = {(item.metadata["name"], item.metadata["trust"]) for item in answer.items}
        assert found == {"careful": {("涌水", 5)}, "bold": {("涌水", 5), ("坍塌", 2)}}


MANY = """
pack: many
schema:
  kinds: {{process: {{zh: 工序, en: process}}, demand: {{zh: 要求, en: demand}}}}
  relations: {{demands: {{zh: 要求, en: demands, from: [process], to: [demand]}}}}
  patterns: {{needs: {{start: process, collect: {{demands: [demands]}}}}}}
sources:
  - {{id: strong, title: 甲规范, uri: "urn:a", trust: 5, domain: construction, language: zh}}
  - {{id: weak, title: 乙规范, uri: "urn:b", trust: 3, domain: construction, language: zh}}
process: [{{name: 带电作业}}]
demand: [{demands}]
statements: [{statements}]
"""


@pytest.mark.parametrize(
    ("informative", "mandatory", "most", "given", "said"),
    [
        (120, 10, 100, 10, ["130 rules cut at 100"]),
        (30, 12, 10, 10, ["42 rules cut at 10", "mandatory rules left out: 2"]),
        (0, 150, 200, 150, None),
    ],
)
def test_a_limit_cuts_what_is_not_mandatory(
    tmp_path: Path, informative: int, mandatory: int, most: int, given: int, said: list[str] | None
) -> None:
    """However well others score; mandatory rules that are cut are counted, and no other limit cuts."""
    rows = [(f"参考{n}号", "informative", "strong") for n in range(informative)]
    rows += [(f"必须{n}号", "mandatory", "weak") for n in range(mandatory)]
    statements = (
        f"{{src: 带电作业, rel: demands, dst: {name}, strength: {strength}, evidence: [{{source: {source}, clause: 第一条}}]}}"
        for name, strength, source in rows
    )
    book = MANY.format(demands=", ".join(f"{{name: {n}}}" for n, *_ in rows), statements=", ".join(statements))
    (tmp_path / "many.yaml").write_text(book, "utf-8")
    with wenyuan.open(
        tmp_path / "library", create=True, encoder={"kind": "none"}, rules={"max_rules": most}
    ) as library:
        library.rules.take(read_book(tmp_path / "many.yaml"))
        found = KnowledgeRetriever(VectorRetriever(library), KGRetriever(library)).retrieve(
            "带电作业", chapter="ch08_safety"
        )
    strengths = [item.metadata["strength"] for item in found.regulations]
    assert (len(strengths), strengths.count("mandatory")) == (min(most, len(rows)), given)
    assert [item.score for item in found.regulations] == sorted((i.score for i in found.regulations), reverse=True)
    assert found.query_context.get("truncated") == said


def test_the_rules_engine_may_not_degrade(stocked: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the graph cannot be read the answer says FAILED, whatever the passages would have been."""

    def broken(*_: Any, **__: Any) -> Any:
        raise CatalogUnavailable("disk on fire", component="catalog")

    monkeypatch.setattr(type(stocked.catalog.rules), "edges", broken)
    answer = stocked.retrieve_fragments(RetrievalRequest(query="深基坑开挖", max_results=3))
    assert answer.status == "FAILED" and "disk on fire" in (answer.error_message or "")
    with pytest.raises(CatalogUnavailable):
        stocked.retrieve(UnifiedRequest(query="深基坑开挖", chapter="ch08_safety"))


def test_the_module_works_on_a_library_and_on_its_folder(stocked: wenyuan.Library) -> None:
    """`KnowledgeRetriever` over one library gives what the library itself gives; chains and neighbours too."""
    retriever = KnowledgeRetriever(VectorRetriever(stocked), KGRetriever(stocked))
    mine = retriever.retrieve("深基坑开挖监测", chapter="ch08_safety", parameters={"depth_m": 6})
    theirs = stocked.retrieve(
        UnifiedRequest(query="深基坑开挖监测", chapter="ch08_safety", parameters={"depth_m": 6})
    ).response
    assert [i.content for i in mine.items] == [i.content for i in theirs.items]
    graph = KGRetriever(stocked)
    chain = graph.infer_process_chain("深基坑开挖")
    assert "坍塌" in chain.hazards and chain.safety_measures["坍塌"] and chain.equipment and chain.quality_points
    assert set(graph.infer_hazard_measures("坍塌")) >= set(chain.safety_measures["坍塌"])
    assert retriever.retrieve_regulations(processes=["深基坑开挖"])
    stats = VectorRetriever(stocked).get_collection_stats()
    assert stats["templates"]["documents"] == 1 and stats["ch08_safety"]["documents"] == 3
    many = VectorRetriever(stocked).search_multi_collection(
        "开挖", ["templates", "ch08_safety"], limit=5, threshold=0
    )
    assert {result.collection for result in many} == {"templates", "ch08_safety"}
    retriever.close()


def test_removing_a_source_retires_what_it_alone_supported(tmp_path: Path) -> None:
    """Those rules and no others are gone, and the replay of an old answer says why."""
    library = wenyuan.create(tmp_path / "library", encoder={"kind": "none"})
    with located("construction") as pack:
        library.rules.take(read_book(pack))
    question = RetrievalRequest(query="深基坑开挖", max_results=50)
    before = library.retrieve_fragments(question).fragments
    audit_id = before[0].metadata["audit_id"]
    assert library.replay(audit_id).identical
    alone = {
        s.key
        for s in library.rules.export()[1]
        if s.status == "approved" and {e.source_id for e in s.evidences} == {"mohurd_37"}
    }
    held = {s.key: s for s in library.rules.export()[1]}
    library.remove("mohurd_37")
    left = {s.key for s in library.rules.export()[1] if s.status == "approved"}
    assert alone and held.keys() - left == alone
    replayed = library.replay(audit_id)
    assert not replayed.identical
    assert {d.what for d in replayed.differences} >= {"rule retired"}
    assert any("mohurd_37 was removed" in d.detail for d in replayed.differences)
    library.close()
