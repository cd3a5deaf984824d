"""Who asks on behalf of somebody gets what both may read, and only with a right of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mcp_clients
from doors import served
from http_door import JSON, call
from reader_library import LI, READING, WU, small
from wenyuan import Client, InvalidRequest, NotPermitted
from wenyuan.core.access import Principal
from wenyuan.core.errors import NotFound
from wenyuan.core.model import RetrievalRequest
from wenyuan.service.search.searcher import SearchRequest

HEADER = "X-Wenyuan-On-Behalf-Of"
TRUSTED = READING | {"on_behalf_of"}
ASKED = {"query": "年假", "limit": 20}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with small(tmp_path_factory.mktemp("small")) as made:
        yield made


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library, needs_keys=True, rate_per_key=0) as address:
        yield address


def made(library: Any, rights: frozenset[str], *groups: str, agent: str | None = None) -> str:
    return str(library.catalog.create_key(agent, rights, None, groups=groups)[1])


def asked(url: str, token: str, person: str | None, path: str = "/v1/search", body: Any = None, **more: str) -> Any:
    headers = {**JSON, "Authorization": f"Bearer {token}", **more}
    return call(url, "POST", path, body or ASKED, headers | ({} if person is None else {HEADER: person}))


def found(answer: Any) -> set[str]:
    assert answer.status == 200, answer.body
    return {letter for letter in "abc" if f"年假 {letter}" in answer.body.decode()}


@pytest.mark.parametrize(
    ("rights", "groups", "person", "expected"),
    [
        (TRUSTED, ("hr",), None, "abc"),
        (TRUSTED, ("hr",), "user:li,group:hr", "abc"),
        (TRUSTED, ("hr",), "user:wu", "ac"),
        (TRUSTED, ("hr",), "user:nobody-knows", "ac"),
        (TRUSTED, (), "user:li,group:hr", "ac"),  # somebody with more rights than the agent
        (frozenset({"admin"}), (), "user:li,group:hr", "abc"),
        (frozenset({"admin"}), (), "user:wu", "ac"),
        (TRUSTED, ("hr",), "user:%E6%9D%8E,group:HR", "abc"),
    ],
)
def test_what_both_may_read_is_found(
    library: Any, url: str, rights: frozenset[str], groups: tuple[str, ...], person: str | None, expected: str
) -> None:
    """By HTTP and by MCP; the agent's own eyes bound those of the person, and the person's those of the agent."""
    token = made(library, rights, *groups)
    for _ in range(2):  # answers are kept for those who may read them
        assert found(asked(url, token, person)) == set(expected)
    context = asked(url, token, person, "/v1/context", {"retrieval_query": "年假", "token_budget": 4000})
    assert ("机密" in context.body.decode()) == ("b" in expected)
    dify = asked(url, token, person, "/retrieval", {"knowledge_id": "all", "query": "年假"})
    assert ("机密" in dify.body.decode()) == ("b" in expected)

    async def use(client: Any) -> Any:
        return await client.call_tool("search", {"query": "年假"})

    given = {} if person is None else {HEADER: person}
    assert ("年假 b" in str(mcp_clients.over_http(url, use, token=token, **given))) == ("b" in expected)


@pytest.mark.parametrize("path", ["/v1/search", "/mcp", "/retrieval", "/v1/retrieve_fragments"])
def test_without_the_right_it_is_refused(library: Any, url: str, path: str) -> None:
    """Whatever the key may read itself; it is not passed over."""
    answer = asked(url, made(library, READING, "hr"), "user:li", path)
    assert (answer.status, "on_behalf_of" in answer.body.decode()) == (403, True)
    with pytest.raises(NotPermitted, match="on_behalf_of"):
        LI.acting_for("user:wu")


@pytest.mark.parametrize(
    "person",
    ["", "li", "group:hr", "everyone", "user:li,user:wu", "user:li,everyone", "user:li,5", "user:", "user:a b", "%ff",
     "user:" + "x" * 129, "user:%E6", ",", "user:li,," ],
)  # fmt: skip
def test_names_that_are_none_are_refused(library: Any, url: str, person: str) -> None:
    """As a bad request, not as a request for nobody."""
    answer = asked(url, made(library, TRUSTED, "hr"), person)
    assert (answer.status, answer.json["code"]) == (400, "invalid_request"), person


@pytest.mark.parametrize("name", ["X-On-Behalf-Of", "X-Wenyuan-On-Behalf", "On-Behalf-Of"])
def test_another_spelling_of_the_header_is_refused(library: Any, url: str, name: str) -> None:
    """What looks like it and would count for nothing is no request of the agent itself."""
    token = made(library, TRUSTED, "hr")
    answer = asked(url, token, None, **{name: "user:li"})
    assert (answer.status, HEADER in answer.body.decode()) == (400, True)
    assert asked(url, token, "user:li", **{name: "user:li"}).status == 400


@pytest.mark.parametrize("key", ["on_behalf_of", "onBehalfOf", "acting_for"])
def test_a_context_that_says_it_is_refused(library: Any, url: str, key: str) -> None:
    """Nothing would apply it there."""
    body = {"query": "年假", "context": {key: "user:wu"}}
    answer = asked(url, made(library, TRUSTED, "hr"), None, "/v1/retrieve_fragments", body)
    assert (answer.status, HEADER in answer.body.decode()) == (400, True)


@pytest.mark.parametrize("right", ["admin", "on_behalf_of"])
def test_who_acts_for_somebody_administers_nothing(library: Any, url: str, right: str) -> None:
    """Not by a key that may, and the name is not lent on."""
    acting = Principal().acting_for("user:wu")
    assert not acting.may(right)
    with pytest.raises(NotPermitted):
        acting.acting_for("user:li")
    token = made(library, frozenset({"admin"}))
    headers = {"Authorization": f"Bearer {token}", HEADER: "user:wu"}
    assert call(url, "GET", "/v1/keys", None, headers).status == 403
    assert call(url, "GET", "/v1/audit", None, headers).status == 403  # something is hidden from the person


def test_an_agent_keeps_its_scope(library: Any, url: str) -> None:
    """On behalf of somebody who may read everything, an agent finds what is in its own domains."""
    from wenyuan.core.access import parse_agent

    library.catalog.put_agent(parse_agent({"agent_id": "narrow", "knowledge_scope": [{"domain": "elsewhere"}]}))
    token = made(library, TRUSTED, "hr", agent="narrow")
    assert found(asked(url, token, "user:li,group:hr")) == set()


def test_the_client_says_it(library: Any, url: str) -> None:
    """For all calls or for one person's, with Chinese names too; bad names are refused before anything is sent."""
    with Client(url, key=made(library, TRUSTED, "hr"), on_behalf_of="user:吴") as client:
        assert "机密" not in str(client.search("年假", limit=20).passages)
        other = client.acting_for(["user:李", "group:hr"])
        assert "机密" in str(other.search("年假", limit=20).passages)
        assert "机密" not in str(client.search("年假", limit=20).passages)
        with pytest.raises(InvalidRequest):
            client.acting_for("hr")


META = "wenyuan/on_behalf_of"


def over_mcp(url: str, token: str, meta: dict[str, Any], **headers: str) -> str:
    """What a tool answers to a call with such a ``_meta``."""

    async def use(client: Any) -> Any:
        return await client.call_tool("search", {"query": "年假"}, meta=meta)

    return str(mcp_clients.over_http(url, use, token=token, **headers))


@pytest.mark.parametrize(
    ("groups", "person", "expected"),
    [(("hr",), "user:li,group:hr", "abc"), (("hr",), ["user:li", "group:hr"], "abc"), (("hr",), "user:wu", "ac"), ((), "user:li,group:hr", "ac")],
)  # fmt: skip
def test_a_call_of_a_tool_says_it(
    library: Any, url: str, groups: tuple[str, ...], person: Any, expected: str
) -> None:
    """In ``_meta``, of each call alone: one connection serves many people; the record has both names."""
    made_by = library.catalog.create_key(None, TRUSTED, None, groups=groups)
    told = over_mcp(url, made_by[1], {META: person})
    assert {letter for letter in "abc" if f"年假 {letter}" in told} == set(expected)
    library.audit.flush()
    record = library.audit.list(kind="retrieval", principal=made_by[0].key_id, limit=1)[0]
    assert record.record["on_behalf_of"] == ("user:wu" if person == "user:wu" else "user:li")
    alone = over_mcp(url, made_by[1], {})
    assert ("年假 b" in alone) == bool(groups)


@pytest.mark.parametrize(
    ("meta", "headers", "said"),
    [
        ({META: "hr"}, {}, "must"), ({META: 5}, {}, "must"), ({META: []}, {}, "one person"),
        ({META: {"user": "li"}}, {}, "must"), ({META: "user:li,user:wu"}, {}, "one person"), ({"on_behalf_of": "user:li"}, {}, "said once"),
        ({"Wenyuan/On_Behalf_Of": "user:li"}, {}, "said once"), ({META: "user:li"}, {HEADER: "user:li"}, "said once"),
        ({META: "user:li", "x/onBehalfOf": "user:wu"}, {}, "said once"),
    ],
    ids=str,
)  # fmt: skip
def test_a_meta_that_is_not_understood_is_refused(
    library: Any, url: str, meta: dict[str, Any], headers: dict[str, str], said: str
) -> None:
    """Nothing is found for it, neither for the person nor for the agent itself."""
    told = over_mcp(url, made(library, TRUSTED, "hr"), meta, **headers)
    assert ("REFUSED" in told, said in told, "年假 a" in told) == (True, True, False), told


def test_a_meta_needs_the_right(library: Any, url: str) -> None:
    """As the header does; of resources, too."""
    assert (
        "on_behalf_of" in (told := over_mcp(url, made(library, READING, "hr"), {META: "user:wu"}))
        and "REFUSED" in told
    )

    async def resources(client: Any) -> Any:
        return await client.list_resources(meta={META: "user:wu"})

    found = str(mcp_clients.over_http(url, resources, token=made(library, TRUSTED, "hr")))
    assert ("年假 a" in found, "年假 b" in found) == (True, False)
    with pytest.raises((Exception, ExceptionGroup)):
        mcp_clients.over_http(url, resources, token=made(library, READING, "hr"))


def test_the_audit_has_both_names(library: Any) -> None:
    """Questions, what is read and what is changed; a replay asks with both pairs of eyes."""
    agent = Principal(key_id="bot", rights=TRUSTED, groups=frozenset({"group:hr"}))
    acting = agent.acting_for("user:wu")
    audit_id = library.find(SearchRequest(query="年假几天", limit=20), acting).audit_ids[0]
    number = next(one.document_id for one in library.documents() if one.title.endswith("a"))
    library.fetch(f"document-{number}", acting)
    library.retrieve_fragments(RetrievalRequest(query="年假", max_results=5), acting)
    library.audit.flush()
    records = library.audit.list(principal="bot", limit=10)
    assert {one.record["on_behalf_of"] for one in records} == {"user:wu"}
    assert {one.kind for one in records} >= {"retrieval", "fetch"}
    assert records[0].record["sight"] == [["group:hr"], ["user:wu"]]
    assert all(library.replay(audit_id, exact=exact).identical for exact in (False, True))


def test_feedback_is_of_the_person(library: Any) -> None:
    """What was answered to one person, the same key judges for that person and for no other."""
    agent = Principal(key_id="judge", rights=TRUSTED)
    audit_id = library.find(SearchRequest(query="年假申请", limit=20), agent.acting_for("user:wu")).audit_ids[0]
    for other in (agent, agent.acting_for("user:li")):
        with pytest.raises(NotFound):
            library.give_feedback(audit_id, good=["1"], principal=other)
    assert library.give_feedback(audit_id, good=["1"], principal=agent.acting_for("user:wu"))


def test_gaps_are_of_the_person(tmp_path: Path) -> None:
    """Two for whom one key asks the same question are two askers: that the one is answered well leaves the other's question open,
    and it is asked again with the eyes of its asker.
    """
    with small(tmp_path, search={"deadline": 30}) as library:
        agent = Principal(key_id="bot", rights=TRUSTED, groups=frozenset({"group:hr"}))
        for person in ("user:wu", "user:li,group:hr"):
            acting = agent.acting_for(person)
            answer = library.find(SearchRequest(query="年假以外的薪酬方案机密", limit=5), acting)
            assert any(one.passage.title.endswith("b") for one in answer.passages) == (person != "user:wu")
            right = "bad" if person == "user:wu" else "good"
            if answer.passages:
                library.give_feedback(answer.audit_ids[0], **{right: ["1"]}, principal=acting)
        assert [gap.count for gap in library.gaps.find(days=1).gaps] == [1]
        assert library.gaps.ask_again() == ()
        library.audit.flush()
        last = library.audit.list(kind="retrieval", limit=1)[0].record
        assert (last["door"], last["on_behalf_of"]) == ("gaps", "user:wu")
        assert last["sight"] == [["group:hr"], ["user:wu"]]


def test_texts_are_kept_apart() -> None:
    """The same names of the caller and of the person are other eyes than those names of the caller alone."""
    acting = Principal(key_id="k", rights=TRUSTED, user="user:wu").acting_for("user:li,group:hr")
    assert acting.sight is not None and WU.sight is not None
    assert [set(some) for some in acting.sight.all_of] == [
        {"user:wu", "everyone"}, {"user:li", "group:hr", "everyone"},
    ]  # fmt: skip
    assert acting.sight.digest != WU.sight.digest
