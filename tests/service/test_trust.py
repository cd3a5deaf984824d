"""Trust and scope: what is not trusted enough takes nobody's place, and no request sees more than it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wenyuan
from wenyuan.core.access import Agent, DomainScope, Principal
from wenyuan.core.errors import InvalidRequest, NotPermitted
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest

TOPICS = (
    "投诉 complaint", "退款 refund", "年假 leave", "發票 invoice", "密码 password", "差旅 travel", "加班 overtime",
    "培训 training", "采购 purchase", "合同 contract", "备份 backup", "值班 duty", "报销 expense", "考勤 attendance",
    "库存 stock", "验收 acceptance", "保修 warranty", "配送 delivery", "会议 meeting", "访客 visitor",
)  # fmt: skip
SHAPES = (
    "{0}的期限是几天",
    "how many days for the {1}",
    "{0} {1} deadline",
    "ｗｈａｔ ｉｓ ｔｈｅ {1} ｄｅａｄｌｉｎｅ",
    "{0}期限",
)
TOP_K = 4


def card(topic: str, days: int, number: int) -> str:
    chinese, english = topic.split()
    return f"# {chinese} {english} {number}\n\n{chinese}的期限是 {days} 天。The deadline for the {english} is {days} days.\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    folder = tmp_path_factory.mktemp("trust")
    with wenyuan.open(folder / "library", create=True, engine="memory", encoder={"kind": "hashing"}) as made:
        for name, trust, days in (("right", 5, 7), ("wrong", 1, 99)):
            docs = folder / name
            docs.mkdir()
            for at, topic in enumerate(TOPICS):
                for number in range(TOP_K):
                    (docs / f"{at}-{number}.md").write_text(card(topic, days, number))
            made.add(Source(source_id=name, path=str(docs), trust=trust, domain="rules"))
        other = folder / "other"
        other.mkdir()
        (other / "a.md").write_text(card(TOPICS[0], 55, 0))
        made.add(Source(source_id="other", path=str(other), trust=4, domain="secrets"))
        for agent in (
            Agent(agent_id="careful", knowledge_scope=(scope("rules"),), min_trust=3),
            Agent(agent_id="open", knowledge_scope=(scope("rules"),)),
            Agent(agent_id="bold", knowledge_scope=(scope("rules"),), allow_low_trust=True),
        ):
            made.catalog.put_agent(agent)  # type: ignore[attr-defined]
        yield made


def scope(domain: str, top_k: int = TOP_K) -> DomainScope:
    return DomainScope(domain=domain, top_k=top_k)


def questions() -> list[str]:
    return [shape.format(*topic.split()) for topic in TOPICS for shape in SHAPES]


@pytest.mark.parametrize("by_agent", [True, False])
def test_wrong_answers_never(library: wenyuan.Library, by_agent: bool) -> None:
    """Of 100 questions with threshold 3 none is answered from a source of trust 1, and each has top_k passages."""
    asked = questions()
    assert len(asked) == 100
    for query in asked:
        if by_agent:
            request = SearchRequest(query=query, agent_id="careful", summary=False)
        else:
            request = SearchRequest(query=query, knowledge_scope=(scope("rules"),), min_trust=3, summary=False)
        found = library.find(request).passages
        assert {f.passage.source_id for f in found} == {"right"}, query
        assert len(found) == TOP_K, query


def test_wrong_answers_without_threshold(library: wenyuan.Library) -> None:
    """Without a threshold both are found, so it is the threshold that keeps the wrong ones out."""
    seen = set()
    for query in questions():
        request = SearchRequest(query=query, agent_id="open", knowledge_scope=(scope("rules", 8),), summary=False)
        seen |= {f.passage.source_id for f in library.find(request).passages}
    assert seen == {"right", "wrong"}


def test_a_request_raises_the_threshold_only(library: wenyuan.Library) -> None:
    """A request may ask for more trust than its agent, not for less."""
    for least, expected in ((1, {"right"}), (5, {"right"})):
        request = SearchRequest(query="投诉的期限", agent_id="careful", min_trust=least)
        assert {f.passage.source_id for f in library.find(request).passages} == expected
    request = SearchRequest(query="投诉的期限", agent_id="open", min_trust=5)
    assert {f.passage.trust for f in library.find(request).passages} == {5}


def test_contexts_leave_low_trust_out(library: wenyuan.Library) -> None:
    """A context holds nothing of trust below 3, and what is left out takes no place of what is let in."""
    for query in questions()[::5]:
        plain = library.get_context(ContextRequest(retrieval_query=query, agent_id="open", top_k={"rules": 2}))
        assert {snippet.trust for snippet in plain.build.snippets} == {5}, query
        assert len(plain.build.snippets) == 2, query


def test_contexts_that_allow_low_trust(library: wenyuan.Library) -> None:
    """Low trust enters where the agent or the request allows it, is flagged, and stays below the agent's own least."""

    def trusts(agent_id: str, allow: bool | None) -> set[int]:
        asked = ContextRequest(
            retrieval_query="投诉的期限是几天", agent_id=agent_id, allow_low_trust=allow, top_k={"rules": 8}
        )
        snippets = library.get_context(asked).build.snippets
        assert all(("low-trust" in s.flags) == (s.trust < 3) for s in snippets)
        return {s.trust for s in snippets}

    assert trusts("bold", None) == trusts("open", True) == {1, 5}
    assert trusts("bold", False) == trusts("open", None) == {5}
    assert trusts("careful", True) == {5}


def test_scope_is_not_widened(library: wenyuan.Library) -> None:
    """A domain outside the agent's scope is refused, in searches and contexts; one inside it is not."""
    wider = SearchRequest(query="投诉", agent_id="open", knowledge_scope=(scope("rules"), scope("secrets")))
    with pytest.raises(NotPermitted, match="secrets"):
        library.find(wider)
    with pytest.raises((NotPermitted, InvalidRequest), match="secrets"):
        library.get_context(ContextRequest(retrieval_query="投诉", agent_id="open", top_k={"secrets": 1}))
    assert library.find(SearchRequest(query="投诉", agent_id="open", knowledge_scope=(scope("rules"),))).passages


def test_domains_outside_the_scope_are_not_there(library: wenyuan.Library) -> None:
    """Which other domains there are is not told: one that exists and one that does not are refused in the same words."""
    told = []
    for name in ("secrets", "secrecy", "secret"):
        with pytest.raises(NotPermitted) as refused:
            library.find(SearchRequest(query="投诉", agent_id="open", knowledge_scope=(scope(name),)))
        told.append(str(refused.value).replace(name, "…"))
    assert len(set(told)) == 1
    assert "did you mean" not in told[0]
    with pytest.raises(NotPermitted, match="did you mean 'rules'"):
        library.find(SearchRequest(query="投诉", agent_id="open", knowledge_scope=(scope("rulse"),)))


def test_a_domain_that_is_gone_takes_no_other_with_it(tmp_path: Path) -> None:
    """An agent goes on asking its other domains when one has lost its last source, and is told of that one."""
    with wenyuan.open(tmp_path / "library", create=True, engine="memory", encoder={"kind": "hashing"}) as made:
        for name in ("stays", "goes"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text(card(TOPICS[0], 7, 0))
            made.add(Source(source_id=name, path=str(tmp_path / name), trust=4, domain=name))
        made.catalog.put_agent(Agent(agent_id="both", knowledge_scope=(scope("stays"), scope("goes"))))  # type: ignore[attr-defined]
        bound = Principal(key_id="k", agent_id="both", rights=frozenset({"search"}))
        made.remove("goes")
        gone = {"goes": "no source has this domain any more"}
        contract = RetrievalRequest(query="投诉的期限", max_results=3)
        for top_k in (None, {"stays": 2}):
            context = made.get_context(ContextRequest(retrieval_query="投诉的期限", top_k=top_k), bound)
            assert context.build.snippets
            assert context.results[0].reasons == gone
        found = made.find(SearchRequest(query="投诉的期限"), bound)
        assert ({f.domain for f in found.passages}, found.reasons) == ({"stays"}, gone)
        assert found.scope == {"stays": ("stays",), "goes": ()}
        assert made.retrieve_fragments(contract, bound).fragments
        made.remove("stays")
        found = made.find(SearchRequest(query="投诉的期限"), bound)
        assert (found.passages, set(found.reasons.values())) == ((), set(gone.values()))
        assert [made.audit.show(name).record["status"] for name in found.audit_ids] == ["SUCCESS"] * 2
        answer = made.retrieve_fragments(contract, bound)
        assert (answer.status, answer.fragments) == ("SUCCESS", ())


def test_documents_that_cannot_be_read_are_not_listed(tmp_path: Path) -> None:
    """Neither one that is not in force yet nor one that was repealed is listed, with its title; all others can be read."""
    (tmp_path / "docs").mkdir()
    for name, head in (
        ("now", ""),
        ("future", "---\neffective_from: 2099-01-01\n---\n"),
        ("old", "---\n状态: 废止\n---\n"),
    ):
        (tmp_path / "docs" / f"{name}.md").write_text(f"{head}# {name}\n\n投诉的期限是 7 天。\n")
    with wenyuan.open(tmp_path / "library", create=True, engine="memory", encoder={"kind": "hashing"}) as made:
        assert made.add(Source(source_id="docs", path=str(tmp_path / "docs"))).added == 3
        listed = made.documents()
        assert [one.title for one in listed] == ["now"]
        assert "7 天" in made.fetch(listed[0].ref).text


def test_unknown_domain(library: wenyuan.Library) -> None:
    """A domain that no source has is a fault of the request, with the one that may have been meant."""
    with pytest.raises(InvalidRequest, match="did you mean 'rules'"):
        library.find(SearchRequest(query="投诉", knowledge_scope=(scope("rulse"),)))


def test_bound_principal(library: wenyuan.Library) -> None:
    """Who is bound to an agent is that agent, whether named or not, and can name no other."""
    bound = Principal(key_id="k", agent_id="open", rights=frozenset({"search"}))
    named = library.find(SearchRequest(query="投诉的期限", agent_id="open"), bound)
    unnamed = library.find(SearchRequest(query="投诉的期限"), bound)
    assert named.passages == unnamed.passages != ()
    assert named.scope == unnamed.scope == {"rules": ("right", "wrong")}
    for other in ("careful", "bold", "nobody"):
        with pytest.raises(NotPermitted, match=f"no agent '{other}'"):
            library.find(SearchRequest(query="投诉", agent_id=other), bound)
        with pytest.raises(NotPermitted):
            library.get_context(ContextRequest(retrieval_query="投诉", agent_id=other), bound)
    with pytest.raises(NotPermitted, match="secrets"):
        library.find(SearchRequest(query="投诉", knowledge_scope=(scope("secrets"),)), bound)


def test_context_of_a_bound_principal(library: wenyuan.Library) -> None:
    """A context says for which agent it was built, also when only the key says so."""
    bound = Principal(key_id="k", agent_id="open")
    assert library.get_context(ContextRequest(retrieval_query="投诉"), bound).agent_id == "open"
    assert library.get_context(ContextRequest(retrieval_query="投诉")).agent_id is None


def test_unknown_agent(library: wenyuan.Library) -> None:
    """An agent that is not registered is refused, not answered from everything."""
    with pytest.raises(NotPermitted, match="nobody"):
        library.find(SearchRequest(query="投诉", agent_id="nobody"))


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        (DomainScope(domain="rules"), DomainScope(domain="rules")),
        (DomainScope(domain="rules", top_k=0),),
        (DomainScope(domain="rules", top_k=101),),
        (DomainScope(domain="rules", top_k="all"),),  # type: ignore[arg-type]
        (DomainScope(domain=""),),
    ],
    ids=["empty", "twice", "none", "too many", "a word", "no name"],
)
def test_malformed_scope(wrong: tuple[DomainScope, ...]) -> None:
    """A scope that makes no sense is refused when the request is made."""
    with pytest.raises(InvalidRequest, match="knowledge_scope"):
        SearchRequest(query="投诉", knowledge_scope=wrong)


@pytest.mark.parametrize(
    "wrong", [{"query": " "}, {"query": "x" * 8_001}, {"min_trust": 0}, {"min_trust": True}, {"limit": 101}]
)
def test_malformed_request(wrong: dict[str, object]) -> None:
    """A request outside its bounds is refused when it is made."""
    with pytest.raises(InvalidRequest):
        SearchRequest(**{"query": "投诉", **wrong})  # type: ignore[arg-type]
