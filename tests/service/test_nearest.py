"""The nearest passage of a question that is refused: who wants to see it does, at every door, and nobody takes it for an answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import validator_for

import wenyuan
from command_line import runner
from console_door import Browser, served
from http_door import call
from mcp_clients import calling, over_http
from wenyuan.client import AsyncClient, Client
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import RetrievalRequest
from wenyuan.mcp.tools import TOOLS
from wenyuan.server.app import openapi_document
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.settings import ServerSettings

ABOUT = "食堂的红烧肉好吃吗"
"""What none of the documents answers."""
WANTS = {"nearest": True}
TEXTS = {
    "rules": (5, "# 报销\n\n差旅费用须在出差结束后三十日内报销，附发票原件。\n\n# 用印\n\n用印须经部门负责人批准，登记后由行政部盖章。\n"),
    "wiki": (2, "# 会议室\n\n会议室预订请提前一天在系统里登记，周末不开放。\n"),
}  # fmt: skip


@contextlib.contextmanager
def opened(folder: Path, **settings: Any) -> Iterator[wenyuan.Library]:
    search = {"deadline": 60, "abstain": "strict", **settings}
    with wenyuan.open(folder / "library", create=True, search=search) as library:
        yield library


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("nearest")
    with opened(made) as library:
        for name, (trust, text) in TEXTS.items():
            (made / name).mkdir()
            (made / name / f"{name}.md").write_text(text, "utf-8")
            library.add(wenyuan.Source(source_id=name, path=str(made / name), trust=trust, copyright="holder=Acme"))
        library.catalog.put_agent(parse_agent({"agent_id": "clerk", "knowledge_scope": [{"domain": "rules"}]}))
    return made


@pytest.fixture(scope="module")
def library(folder: Path) -> Iterator[wenyuan.Library]:
    with opened(folder) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: wenyuan.Library) -> Iterator[str]:
    with served(library) as found:
        yield found


def test_it_is_no_answer(library: wenyuan.Library) -> None:
    """A refused question keeps its reason and has no fragment; what is nearest stands beside, with a probability of its own."""
    answer = library.search(ABOUT, context=WANTS)
    assert not answer.hits and not answer.passages and answer.reason
    assert answer.nearest is not None and answer.answerable is not None
    hit, passage = answer.nearest
    assert passage.source_id == "wiki" and 0.0 < hit.score < answer.answerable < answer.floor
    response = library.retrieve_fragments(RetrievalRequest(query=ABOUT, max_results=3, context=WANTS))
    assert response.status == "SUCCESS" and response.fragments == () and response.nearest is not None
    assert response.nearest.content == passage.text and response.nearest.metadata["audit_id"]
    assert response.nearest.metadata["copyright"] == passage.copyright != ""


def test_nobody_is_shown_it_unasked(library: wenyuan.Library) -> None:
    """Without the wish there is none, and beside an answer there is none."""
    assert library.search(ABOUT).nearest is None
    assert library.find(SearchRequest(query=ABOUT)).nearest == ()
    found = library.search("差旅费用多久内报销", context=WANTS)
    assert found.hits and found.nearest is None


def test_the_wish_is_true_or_false(library: wenyuan.Library) -> None:
    """Another value is refused, and so is the wish in other letters."""
    for context in ({"nearest": "yes"}, {"Nearest": True}):
        with pytest.raises(InvalidRequest, match="nearest"):
            library.search(ABOUT, context=context)


@pytest.mark.parametrize(
    "bound",
    [{"min_trust": 3}, {"agent_id": "clerk"}, {"domain": "rules"}, {"filter": {"source_id": "rules"}}],
    ids=lambda bound: next(iter(bound)),
)
def test_it_lies_within_what_may_be_seen(library: wenyuan.Library, bound: dict[str, Any]) -> None:
    """Trust, agent, domain and filter bound it as they bound fragments."""
    answer = library.search(ABOUT, context={**WANTS, **bound})
    assert answer.nearest is None or answer.nearest[1].source_id == "rules"
    near = library.retrieve_fragments(
        RetrievalRequest(query=ABOUT, max_results=3, context={**WANTS, **bound})
    ).nearest
    assert near is None or near.metadata["restrictions"] == list(bound)


@pytest.mark.parametrize("question", [ABOUT, "《会议室》第九条怎么说"], ids=["words", "place"])
def test_below_a_floor_that_is_set_it_is_shown_too(folder: Path, question: str) -> None:
    """Where everything scores less than the set floor, the reason names the floor and the nearest passage stands beside."""
    with opened(folder, floor=1.0) as library:
        answer = library.search(question, context=WANTS)
        assert not answer.hits and "below the floor" in answer.reason and answer.nearest is not None
        hit, passage = answer.nearest
        assert passage.source_id == "wiki" and 0.0 < hit.score <= 1.0 == answer.floor
        assert library.replay(answer.audit_id).identical
        plain = library.search(question)
        assert plain.nearest is None and plain.reason == answer.reason


def test_a_domain_that_gives_nothing_shows_its_own(library: wenyuan.Library) -> None:
    """Each domain of a search is refused by itself, and so is what is nearest in it."""
    scope = wenyuan.core.access.parse_scope([{"domain": "rules"}, {"domain": "wiki"}])
    result = library.find(SearchRequest(query=ABOUT, knowledge_scope=scope, nearest=True))
    assert not result.passages
    assert [found.domain for found in result.nearest] == list(result.reasons) == ["rules", "wiki"]
    assert all(found.passage.domain == found.domain for found in result.nearest)


def test_it_is_remembered_apart_from_the_same_question_without(library: wenyuan.Library) -> None:
    """A kept answer of who did not want it is none for who does."""
    question = "月亮离地球有多远"
    first = library.find(SearchRequest(query=question))
    second, third = (library.find(SearchRequest(query=question, nearest=True)) for _ in range(2))
    assert not first.nearest and second.nearest and not second.cache_hit
    assert third.cache_hit and [f.passage for f in third.nearest] == [f.passage for f in second.nearest]


def test_it_is_recorded_and_replayed(library: wenyuan.Library) -> None:
    """The record names it apart from the fragments, and a replay of now and of then shows the same."""
    answer = library.search(ABOUT, context=WANTS)
    assert answer.nearest is not None
    record = library.audit.show(answer.audit_id).record
    assert record["fragments"] == []
    assert [(one["ref"], one["quoted_chars"]) for one in record["nearest"]] == [
        (answer.nearest[1].ref, len(answer.nearest[1].text))
    ]
    assert all(library.replay(answer.audit_id, exact=exact).identical for exact in (False, True))


def test_a_replay_says_that_it_became_an_answer(folder: Path, library: wenyuan.Library) -> None:
    """What was only the nearest passage is another answer where the program is told to refuse nothing."""
    audit_id = library.search(ABOUT, context=WANTS).audit_id
    kept = library._retriever._abstention.least
    library._retriever._abstention.least = 0.0
    try:
        replayed = library.replay(audit_id)
    finally:
        library._retriever._abstention.least = kept
    assert not replayed.identical
    assert "it was an answer, or only the nearest passage" in " ".join(one.detail for one in replayed.differences)


def test_one_who_sees_less_is_not_told_of_it_by_a_replay(library: wenyuan.Library) -> None:
    """A replay for an agent names no passage that the agent may not see."""
    audit_id = library.search(ABOUT, context=WANTS).audit_id
    replayed = library.replay(audit_id, principal=Principal(agent_id="clerk"))
    assert not any(one.ref.startswith("wiki") for one in replayed.differences)


def test_it_is_no_evidence(library: wenyuan.Library) -> None:
    """A context for a prompt has nothing of it."""
    built = library.get_context(ContextRequest(retrieval_query=ABOUT))
    assert not built.build.snippets and not any(result.nearest for result in built.results)


def test_over_http(url: str) -> None:
    """Both doors give it as the document of the service says, and only where the request wants it."""
    document = openapi_document(ServerSettings())
    for path, body, wish in (
        ("/v1/retrieve_fragments", {"query": ABOUT, "max_results": 3}, {"context": WANTS}),
        ("/v1/search", {"query": ABOUT}, WANTS),
    ):
        shape = document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        valid = validator_for({**shape, "components": document["components"]})
        plain, wanted = (json.loads(call(url, "POST", path, one).body) for one in (body, {**body, **wish}))
        assert plain["status"] == wanted["status"] == "SUCCESS"
        assert not plain.get("passages") and not wanted.get("passages") and not wanted.get("fragments")
        assert "nearest" not in plain and "会议室" in json.dumps(wanted["nearest"], ensure_ascii=False)
        assert valid.is_valid(wanted)


def test_by_the_clients(url: str) -> None:
    """Both clients, awaited or not, have it beside the fragments and beside the passages."""
    with Client(url) as client:
        found = client.retrieve_fragments(ABOUT, context=WANTS)
        passages = client.search(ABOUT, nearest=True)
        bounded = client.retrieve_fragments(ABOUT, context=WANTS, domain="wiki")
    assert found == () and found.nearest is not None and found.nearest.metadata["source_id"] == "wiki"
    assert passages.passages == () and [one["source_id"] for one in passages.nearest] == ["wiki"]
    assert bounded.nearest is not None and bounded.nearest.metadata["restrictions"] == ["domain"]

    async def awaited() -> Any:
        async with AsyncClient(url) as client:
            return await client.retrieve_fragments(ABOUT, context=WANTS)

    near = asyncio.run(awaited()).nearest
    assert near.content == found.nearest.content


def test_by_mcp(url: str) -> None:
    """The tool says that it is none, gives it in its own member, and as its schema has it."""
    result = over_http(url, calling("retrieve_fragments", query=ABOUT, context=WANTS))
    told = result.structured_content
    assert told["fragments"] == [] and told["nearest"]["metadata"]["source_id"] == "wiki"
    texts = [block.text for block in result.content]
    assert texts[0].startswith("No match") and "no answer" in texts[1] and "会议室" in texts[2]
    (tool,) = (tool for tool in TOOLS if tool.name == "retrieve_fragments")
    assert tool.gives is not None and validator_for(dict(tool.gives)).is_valid(told)
    assert "nearest" not in over_http(url, calling("retrieve_fragments", query=ABOUT)).structured_content


def test_on_the_console(url: str) -> None:
    """The search page shows it under its own heading, and its copies of the call do not ask for it."""
    browser = Browser(url, "zh")
    page = browser.get(f"/console/search?q={ABOUT}").body
    assert "最接近的段落，低于作答门槛" in page and "nearest-1" in page and "hit-1" not in page
    assert '"nearest": true' not in page.split("curl -s", 1)[1]


@pytest.mark.parametrize(
    ("lang", "heading"), [("en", "nearest, below the threshold"), ("zh", "最接近的段落，低于作答门槛")]
)
def test_on_the_command_line(folder: Path, tmp_path: Path, lang: str, heading: str) -> None:
    """``search`` shows it below the reason, in both languages, and apart from the fragments with --json."""
    run = runner(folder / "library", WENYUAN_ENCODER__KIND="builtin", WENYUAN_SEARCH__ABSTAIN="strict")
    shown = run("search", ABOUT, "--lang", lang).stdout
    assert heading in shown and shown.index(heading) < shown.index("会议室")
    told = json.loads(run("search", ABOUT, "--json").stdout)
    assert told["status"] == "SUCCESS" and told["fragments"] == []
    assert told["nearest"]["metadata"]["source_id"] == "wiki" and "rank" not in told["nearest"]
    assert "nearest" not in json.loads(run("search", "差旅费用多久内报销", "--json").stdout)
    assert heading[:6] in run("audit", "show", told["audit_id"], "--lang", lang).stdout
