"""One library, one question, one context: the same snippets by every door, and over the bare contract."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from doors import served
from mcp_clients import calling, over_http
from wenyuan import Client
from wenyuan.cli.root import app
from wenyuan.client import get_context_from
from wenyuan.core.prompt_parts import ContextPolicy
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.context import ContextRequest
from wenyuan.wire.search_answers import context_to_wire

LEAVE = """# 员工休假办法

## 第一章 总则

第一条 员工休年假应当提前五个工作日申请，由直接主管批准。

第二条 当年未休完的年假可以结转五天，结转的年假应当在次年三月底前休完。

第三条 深基坑开挖期间，项目部员工休年假由项目经理批准。

## 第二章 其他

第四条 Annual leave that is not taken may be carried over, five days at most, until the end of March of the next year.

第五条 员工休病假应当提交医院证明，三天以内由直接主管批准，超过三天的由部门负责人批准，超过十天的报人力资源部。长期病假按月申请，每次不得超过三十天，病假期间的待遇按照国家和本市的规定执行。
"""
GOSSIP = "# 休假\n\n年假可以结转十天，听说的。\n\n# 基坑\n\n深基坑开挖的危险源很多，网友说没有危险。\n"
QUESTIONS = (
    "年假可以结转几天",
    "深基坑开挖有哪些危险源",
    "How many days of leave may be carried over?",
    "３天病假谁批",
)
_KINDS = ("source", "content", "refs", "uri", "title", "heading", "trust", "origin", "priority", "flags", "attribution", "tokens")  # fmt: skip
PATIENT = 60.0  # seconds that a question may take
Snippets = list[dict[str, Any]]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, Path]]:
    """A library with neighbouring clauses, gossip that is trusted too little, and a pack of rules; and its server."""
    folder = tmp_path_factory.mktemp("context")
    patient = {"deadline": PATIENT}  # a leg that is late on a busy machine would leave something out at one door only
    with wenyuan.open(folder / "library", create=True, cache={"seconds": 0}, search=patient) as library:
        for name, trust, text in (("leave", 5, LEAVE), ("gossip", 2, GOSSIP)):
            (folder / name).mkdir()
            (folder / name / f"{name}.md").write_text(text, encoding="utf-8")
            library.add(wenyuan.Source(source_id=name, path=str(folder / name), trust=trust))
        with located("construction") as pack:
            assert not library.rules.take(read_book(pack)).errors
        library.embed_names()  # else a thread does, and a question that names nothing is answered otherwise after that
        with served(library) as url:
            yield library, url, folder / "library"


def told(snippets: Sequence[Mapping[str, Any]]) -> Snippets:
    """What snippets say but for their score, which is of what was asked: all sources, or those that are trusted."""
    return [{name: list(s[name]) if name in ("refs", "flags") else s[name] for name in _KINDS} for s in snippets]


def typed(place: Path, *args: str) -> dict[str, Any]:
    world = {"LC_ALL": "C.UTF-8", "WENYUAN_LIBRARY": str(place), "WENYUAN_SEARCH__DEADLINE": str(PATIENT)}
    done = CliRunner().invoke(app, ["context", *args, "--json"], env=world, prog_name="wenyuan")
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_door_gives_the_same_context(stocked: tuple[Any, str, Path], question: str) -> None:
    """A library's own context, HTTP, MCP, the command line here and elsewhere, and the bare contract: one context."""
    library, url, place = stocked
    own = context_to_wire(library.get_context(ContextRequest(retrieval_query=question)))
    snippets = told(own["CONTEXT_DATA"]["knowledge_snippets"])
    assert snippets
    with Client(url) as client:
        over, bare = [client.get_context(retrieval_query=question)], [get_context_from(client, question)]
    bare += [get_context_from(url, question), get_context_from(library, question)]
    bodies: list[Mapping[str, Any]] = [
        {"CONTEXT_DATA": one.context_data, "withheld": one.withheld, "tokens": one.tokens} for one in over
    ]
    bodies.append(over_http(url, calling("get_context", retrieval_query=question)).structured_content)
    bodies.append(typed(place, question))
    for body in bodies:
        assert told(body["CONTEXT_DATA"]["knowledge_snippets"]) == snippets
        assert (dict(body["withheld"]), body["tokens"]) == (dict(own["withheld"]), own["tokens"])
    # The bare contract has one list for passages and rules: where many rules follow, their number is that list's.
    for data in (*(one.context_data for one in bare), typed(place, question, "--url", url)["CONTEXT_DATA"]):
        found = told(data["knowledge_snippets"])
        assert [s for s in found if s in snippets] == [s for s in snippets if s in found]
        assert all(s in found for s in snippets if "#rule-" not in s["source"])
        assert len(found) >= 0.7 * len(snippets)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("深基坑开挖有哪些危险源", True),
        ("深基坑开挖期间年假可以结转几天", False),
        ("高支模要不要专家论证", True),
    ],
)
def test_rules_come_first_where_they_answer(stocked: tuple[Any, str, Path], question: str, first: bool) -> None:
    """Rules that say nothing of what was asked for stand behind passages that probably answer, at each door."""
    library, url, _ = stocked
    own = context_to_wire(library.get_context(ContextRequest(retrieval_query=question)))
    for found in (own["CONTEXT_DATA"]["knowledge_snippets"], get_context_from(url, question).snippets):
        assert any("#rule-" in s["source"] for s in found)
        assert ("#rule-" in found[0]["source"]) == first


def test_neighbours_over_the_contract_are_one_snippet(stocked: tuple[Any, str, Path]) -> None:
    """Fragments say which characters of their document they are, so that clauses that follow each other come together."""
    _, url, _ = stocked
    first = get_context_from(url, "员工休年假，年假可以结转几天").snippets[0]
    assert len(first["refs"]) >= 2
    assert "第一条" in first["content"]
    assert "第二条" in first["content"]


def test_without_a_word_about_it_the_budget_is_one(stocked: tuple[Any, str, Path]) -> None:
    """What a context may hold by default is the same for an agent, a request, and a policy over the contract."""
    agent = wenyuan.core.access.Agent(agent_id="a")
    assert ContextPolicy().token_budget == agent.token_budget == 2_000


def test_places_that_contradict_each_other_hide_nothing() -> None:
    """A service that counts characters from the start of each passage: its passages stay apart, and all are given."""

    def fragment(content: str, score: float) -> dict[str, Any]:
        place = {"char_start": 0, "char_end": len(content), "trust": 4}
        return {"source": "urn:a", "content": content, "retrieval_score": score, "metadata": place}

    class Other:
        def retrieve_fragments(self, request: Any) -> Any:
            answers = [fragment("一个工作日内答复客户。", 0.9), fragment("投诉应当登记编号并归档。", 0.8)]
            return {"status": "SUCCESS", "fragments": answers}

    contents = [snippet["content"] for snippet in get_context_from(Other(), "投诉").snippets]
    assert contents == ["一个工作日内答复客户。", "投诉应当登记编号并归档。"]


@pytest.mark.parametrize("trust", [0, 6, "3", True, 2.0])
def test_trust_in_a_context_is_a_number_from_one_to_five(stocked: tuple[Any, str, Path], trust: object) -> None:
    """The contract's `min_trust` keeps out what is trusted less; anything else is refused, in process and over HTTP."""
    library, url, _ = stocked
    with Client(url) as client:
        found = client.retrieve_fragments("年假可以结转几天", context={"min_trust": 3})
        assert {f.metadata["source_id"] for f in found} == {"leave"}
        with pytest.raises(wenyuan.InvalidRequest, match="min_trust"):
            client.retrieve_fragments("年假", context={"min_trust": trust})
    request = wenyuan.RetrievalRequest(query="年假", max_results=3, context={"min_trust": trust})
    with pytest.raises(wenyuan.InvalidRequest, match="min_trust"):
        library.retrieve_fragments(request)
