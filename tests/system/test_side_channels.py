"""To an agent, what is another's and what does not exist are the same: byte for byte, whatever it names, by any door."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import Browser, served
from doors import foreign_library
from governed_door import key, send
from mcp_clients import calling, over_http
from statements import asked_of
from wenyuan import NotPermitted
from wenyuan.core.access import Principal, parse_agent, parse_profile
from wenyuan.readers.golden import read_golden
from wenyuan.readers.rulebooks import read_book
from wenyuan.server import Limits
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.wire.search import context_to_wire, search_to_wire

QUERY = "客户投诉多久响应"
SECRET = "---\n密级: 绝密档\n---\n# 客户投诉登记编号的个人数据\n\n会计部的奖金方案：客户投诉登记编号决定奖金。\n"
BOOK = """\
pack: theirs
schema:
  kinds: {process: {zh: 工序, en: process}, hazard: {zh: 危险源, en: hazard}}
  relations:
    produces_hazard: {zh: 产生危险源, en: has the hazard, from: [process], to: [hazard]}
  patterns:
    needs: {start: process, collect: {hazards: [produces_hazard]}}
sources:
  - {id: our_rules, title: 甲规范, uri: "urn:a", trust: 5, domain: policy, language: zh}
  - {id: their_rules, title: 乙规范, uri: "urn:b", trust: 5, domain: bonus, language: zh}
nodes:
  - {kind: process, name: 深基坑开挖}
  - {kind: process, name: 深基坑开挖爆破}
  - {kind: process, name: 隧洞掘进凿岩}
  - {kind: hazard, name: 坍塌}
  - {kind: hazard, name: 哑炮}
statements:
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坍塌, evidence: [{source: our_rules, clause: 第一条, quote: 有坍塌危险}]}
  - {src: 深基坑开挖爆破, rel: produces_hazard, dst: 哑炮, evidence: [{source: their_rules, clause: 第二条}]}
  - {src: 隧洞掘进凿岩, rel: produces_hazard, dst: 哑炮, evidence: [{source: their_rules, clause: 第三条}]}
"""

_OURS_ALONE = "".join(
    f"{line}\n" for line in BOOK.splitlines() if not any(word in line for word in ("爆破", "凿岩", "哑炮"))
)
"""Without the other agent's rules, and what only these speak of."""


@dataclass
class World:
    """A library of several agents behind a server with the console, a key of one of them, and what is another's."""

    library: Any
    url: str
    token: str
    folder: Path
    agent: Principal
    browser: Browser
    audit_id: str
    own_id: str
    key_id: str
    passage: str
    document: str
    rule: str
    statement: int
    node: int
    evaluation: int

    def send(self, method: str, path: str, body: object = None) -> bytes:
        answer = send(self.url, method, path, body, self.token)
        return f"{answer.status} {answer.headers.get('X-Retrieval-Status')} ".encode() + answer.body

    def mcp(self, name: str, **arguments: Any) -> bytes:
        result = over_http(self.url, calling(name, **arguments), token=self.token)
        return str(result.model_dump_json()).encode()

    def resource(self, uri: str) -> bytes:
        async def read(client: Any) -> Any:
            return await client.read_resource(uri)

        with pytest.raises(BaseException) as caught:
            over_http(self.url, read, token=self.token)
        errors = [caught.value]
        while isinstance(errors[0], BaseExceptionGroup):
            errors = [*errors[0].exceptions]
        return str(errors[0]).encode()

    def page(self, path: str, **query: object) -> bytes:
        seen = self.browser.get(path, **query)
        return f"{seen.status} {seen.location} {seen.body}".encode()

    def refused(self, do: Callable[[], Any]) -> bytes:
        with pytest.raises(NotPermitted) as caught:
            do()
        return f"{caught.value.code} {caught.value} {caught.value.hint}".encode()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    (folder / "bonus").mkdir()
    (folder / "bonus" / "plan.md").write_text(SECRET, encoding="utf-8")
    (folder / "pack.yaml").write_text(BOOK, encoding="utf-8")
    (folder / "golden.csv").write_text("question,source\n奖金方案,plan.md\n", encoding="utf-8")
    unlimited = Limits(rate_per_key=0)  # a fast machine asks more often than a key may
    with foreign_library(folder) as library, served(library, needs_keys=True, limits=unlimited) as url:
        library.add(wenyuan.Source(source_id="bonus", path=str(folder / "bonus"), trust=5))
        assert not library.rules.take(read_book(folder / "pack.yaml")).errors
        library.catalog.put_agent(parse_agent({"agent_id": "payroll", "knowledge_scope": [{"domain": "bonus"}]}))
        library.catalog.put_profile(parse_profile({"profile_id": "pay", "domains": ["bonus"], "terms": ["奖金"]}))
        asked = {name: key(library, "admin", agent=name) for name in ("payroll", "support")}
        ids = [
            send(url, "POST", "/v1/search", {"query": QUERY, "task_id": "pay"}, token).json["metadata"]["audit_ids"][
                0
            ]
            for token in asked.values()
        ]
        theirs = library.search("奖金方案", sources=["bonus"])
        passage = theirs.passages[theirs.hits[0].passage_id]
        held = library.catalog.rules.statement(2)
        browser = Browser(url)
        browser.sign_in(asked["support"])
        yield World(
            library=library, url=url, token=asked["support"], folder=folder,
            agent=Principal(key_id="k", agent_id="support"), browser=browser, audit_id=ids[0], own_id=ids[1],
            key_id=library.catalog.key_of_token(asked["payroll"]).key_id,
            passage=passage.ref, document=f"document-{passage.document_id}", rule=f"their_rules#rule-{held.statement_id}",
            statement=held.statement_id, node=held.src,
            evaluation=library.evaluate(read_golden(folder / "golden.csv"), name="奖金").evaluation.evaluation_id,
        )  # fmt: skip


Named = Callable[[World], tuple[str, str]]
"""What is another's, and what is made up; they look much the same, so that a suggestion would tell them apart."""

NAMED: dict[str, Named] = {
    "domain": lambda w: ("bonus", "bonuz"),
    "source": lambda w: ("their_rules", "their_rulez"),
    "agent": lambda w: ("payroll", "payrol1"),
    "audit": lambda w: (w.audit_id, w.audit_id[:-4] + "zzzz"),
    "key": lambda w: (w.key_id, "0" * len(w.key_id)),
    "passage": lambda w: (w.passage, "bonus#999999"),
    "document": lambda w: (w.document, "document-999999"),
    "number": lambda w: (w.document.removeprefix("document-"), "999999"),
    "passage number": lambda w: (w.passage.partition("#")[2], "999999"),
    "rule": lambda w: (w.rule, "their_rules#rule-999999"),
    "statement": lambda w: (str(w.statement), "999999"),
    "node": lambda w: (str(w.node), "999999"),
    "pack": lambda w: ("theirs", "theirz"),
    "profile": lambda w: ("pay", "pai"),
    "evaluation": lambda w: (str(w.evaluation), "999999"),
    # Both have the same path, so that their own words are the same.
    "uri": lambda w: (f"file://{w.folder}/bonus/plan.md", f"https://nowhere.example{w.folder}/bonus/plan.md"),
    "longer name": lambda w: ("深基坑开挖爆破", "深基坑开挖爆皮"),
    "name": lambda w: ("隧洞掘进凿岩", "隧洞掘进凿石"),
    "facet": lambda w: ("密级", "密极"),
    "value": lambda w: ("绝密档", "绝密挡"),
}

Door = Callable[[World, str], bytes]


def post(path: str, **members: Any) -> Door:
    """A request with a body in which ``★`` stands for what is named."""
    return lambda w, name: w.send("POST", path, json.loads(json.dumps(members).replace("\\u2605", name)))


def http(method: str, path: str, body: object = None) -> Door:
    return lambda w, name: w.send(method, path.replace("★", name), body)


DOORS: dict[str, tuple[str, Door]] = {
    # -- asking ------------------------------------------------------------------------------------------------
    "fragments near a document": ("uri", post("/v1/retrieve_fragments", query=QUERY, max_results=5, context={"source_document_uri": "★"})),
    "search near a document": ("uri", post("/v1/search", query=QUERY, source_document_uri="★")),
    "context near a document": ("uri", post("/v1/context", retrieval_query=QUERY, source_document_uri="★")),
    "fragments near a document, MCP": ("uri", lambda w, n: w.mcp("retrieve_fragments", query=QUERY, context={"source_document_uri": n})),
    "context near a document, MCP": ("uri", lambda w, n: w.mcp("get_context", retrieval_query=QUERY, source_document_uri=n)),
    "search near a document, Python": ("uri", lambda w, n: repr(search_to_wire(w.library.find(SearchRequest(query=QUERY, source_document_uri=n), w.agent))).encode()),
    "context near a document, Python": ("uri", lambda w, n: repr(context_to_wire(w.library.get_context(ContextRequest(retrieval_query=QUERY, source_document_uri=n), w.agent))).encode()),
    "search for an agent": ("agent", post("/v1/search", query=QUERY, agent_id="★")),
    "context for an agent": ("agent", post("/v1/context", retrieval_query=QUERY, agent_id="★")),
    "context for an agent, MCP": ("agent", lambda w, n: w.mcp("get_context", retrieval_query=QUERY, agent_id=n)),
    "context for an agent, console": ("agent", lambda w, n: w.page("/console/context", q=QUERY, agent=n)),
    "search for an agent, console": ("agent", lambda w, n: w.page("/console/search", q=QUERY, agent=n)),
    "search in a domain": ("domain", post("/v1/search", query=QUERY, knowledge_scope=[{"domain": "★"}])),
    "search in a domain, console": ("domain", lambda w, n: w.page("/console/search", q=QUERY, domain=n)),
    "context of a domain": ("domain", post("/v1/context", retrieval_query=QUERY, top_k={"★": 2})),
    "context of a domain, MCP": ("domain", lambda w, n: w.mcp("get_context", retrieval_query=QUERY, top_k={n: 2})),
    "fragments of a domain, MCP": ("domain", lambda w, n: w.mcp("retrieve_fragments", query=QUERY, domain=n)),
    "Dify's knowledge": ("domain", post("/retrieval", knowledge_id="★", query=QUERY)),
    "a vector store": ("domain", http("POST", "/v1/vector_stores/★/search", {"query": QUERY})),
    "after a vector store": ("domain", http("GET", "/v1/vector_stores?after=★")),
    "search of a source": ("source", post("/v1/search", query=QUERY, filters={"source_id": "★"})),
    "search without a source": ("source", post("/v1/search", query=QUERY, filters={"not": {"source_id": "★"}})),
    "search by a facet": ("facet", post("/v1/search", query=QUERY, filters={"metadata.★": "绝密档"})),
    "search by a value": ("value", post("/v1/search", query=QUERY, filters={"metadata.密级": "★"})),
    "Dify's condition": ("facet", post("/retrieval", knowledge_id="all", query=QUERY, metadata_condition={"conditions": [{"name": "★", "comparison_operator": "is", "value": "绝密档"}]})),
    "Dify's value": ("value", post("/retrieval", knowledge_id="all", query=QUERY, metadata_condition={"conditions": [{"name": "密级", "comparison_operator": "contains", "value": "★"}]})),
    "a store's attribute": ("facet", post("/v1/vector_stores/all/search", query=QUERY, filters={"type": "eq", "key": "★", "value": "绝密档"})),
    "a store's value": ("value", post("/v1/vector_stores/all/search", query=QUERY, filters={"type": "eq", "key": "密级", "value": "★"})),
    # -- rules -------------------------------------------------------------------------------------------------
    "rules of a process": ("name", post("/v1/infer_rules", processes=["★"])),
    "rules of a text": ("name", post("/v1/infer_rules", context="★有什么危险")),
    "rules of a text with a longer name": ("longer name", post("/v1/infer_rules", context="★有什么危险")),
    "rules of a longer process": ("longer name", post("/v1/infer_rules", processes=["★", "深基坑开挖"])),
    "rules of an engineering type": ("name", post("/v1/infer_rules", processes=["深基坑开挖"], engineering_type="★")),
    "rules of a process, MCP": ("name", lambda w, n: w.mcp("infer_rules", processes=[n])),
    "rules of a text, MCP": ("longer name", lambda w, n: w.mcp("infer_rules", context=n)),
    "chapter of a process": ("longer name", post("/v1/retrieve", query="★", chapter="ch08")),
    "fragments of a process": ("longer name", post("/v1/retrieve_fragments", query=QUERY, max_results=5, context={"processes": ["★"]})),
    "a node": ("node", http("GET", "/v1/rules/nodes/★")),
    "a node, console": ("node", lambda w, n: w.page(f"/console/rules/nodes/{n}")),
    "a statement": ("statement", http("GET", "/v1/rules/statements/★")),
    "a statement, console": ("statement", lambda w, n: w.page(f"/console/rules/statements/{n}")),
    "a review": ("statement", lambda w, n: w.send("POST", "/v1/rules/review", {"statement_ids": [int(n)], "action": "retire"})),
    "a pack": ("pack", http("DELETE", "/v1/rules/packs/★")),
    # -- reading -----------------------------------------------------------------------------------------------
    "a passage, MCP": ("passage", lambda w, n: w.mcp("fetch", id=n)),
    "a document, MCP": ("document", lambda w, n: w.mcp("fetch", id=n)),
    "a rule, MCP": ("rule", lambda w, n: w.mcp("fetch", id=n)),
    "a document as a resource": ("document", lambda w, n: w.resource(f"wenyuan://documents/{n.partition('-')[2]}")),
    "a passage as a resource": ("passage", lambda w, n: w.resource(f"wenyuan://passages/{n.replace('#', '/')}")),
    "a passage, Python": ("passage", lambda w, n: w.refused(lambda: w.library.fetch(n, w.agent))),
    "a document, Python": ("document", lambda w, n: w.refused(lambda: w.library.fetch(n, w.agent))),
    "a numbered document": ("number", http("GET", "/v1/documents/★")),
    "passages of a document": ("number", http("GET", "/v1/documents/★/passages")),
    "whether there is an original": ("number", http("GET", "/v1/documents/★/original/state")),
    "an original": ("number", http("GET", "/v1/documents/★/original")),
    "a page": ("number", http("GET", "/v1/documents/★/pages/1")),
    "a document to remove": ("number", http("DELETE", "/v1/documents/★")),
    "a numbered document, console": ("number", lambda w, n: w.page(f"/console/documents/{n}")),
    "the place of a passage": ("passage number", http("GET", "/v1/passages/★")),
    "a passage to correct": ("passage", post("/v1/corrections", action="exclude", ref="★")),
    "a document to correct": ("number", lambda w, n: w.send("POST", "/v1/corrections", {"action": "exclude", "document_id": int(n)})),
    "a correction to undo": ("number", http("DELETE", "/v1/corrections/★")),
    "a rule, Python": ("rule", lambda w, n: w.refused(lambda: w.library.fetch(n, w.agent))),
    # -- the registry ------------------------------------------------------------------------------------------
    "a source": ("source", http("GET", "/v1/sources/★")),
    "a source to change": ("source", http("PATCH", "/v1/sources/★", {"trust": 1})),
    "a source to refresh": ("source", http("POST", "/v1/sources/★/refresh")),
    "a source being refreshed": ("source", http("GET", "/v1/sources/★/refresh")),
    "a source to remove": ("source", http("DELETE", "/v1/sources/★")),
    "a source, console": ("source", lambda w, n: w.page(f"/console/sources/{n}")),
    "a source to edit, console": ("source", lambda w, n: w.page(f"/console/sources/{n}/edit")),
    "a source to add": ("source", post("/v1/sources", source_id="★", type="api", settings={"url": "http://x"})),
    "an agent": ("agent", http("GET", "/v1/agents/★")),
    "an agent to remove": ("agent", http("DELETE", "/v1/agents/★")),
    "an agent to put": ("agent", post("/v1/agents", agent_id="★", knowledge_scope=[{"domain": "policy"}])),
    "a key for an agent": ("agent", post("/v1/keys", rights=["search"], agent_id="★")),
    "a key to revoke": ("key", http("DELETE", "/v1/keys/★")),
    "a profile": ("profile", http("GET", "/v1/tasks/★")),
    "a profile to remove": ("profile", http("DELETE", "/v1/tasks/★")),
    "an evaluation": ("evaluation", http("GET", "/v1/evaluations/★")),
    "an evaluation to remove": ("evaluation", http("DELETE", "/v1/evaluations/★")),
    "an evaluation, console": ("evaluation", lambda w, n: w.page(f"/console/evaluation/{n}")),
    # -- the audit ---------------------------------------------------------------------------------------------
    "a record": ("audit", http("GET", "/v1/audit/★")),
    "a record to replay": ("audit", http("POST", "/v1/audit/★/replay")),
    "a record to replay exactly": ("audit", http("POST", "/v1/audit/★/replay", {"exact": True})),
    "records before one": ("audit", http("GET", "/v1/audit?before=★")),
    "records of an agent": ("agent", http("GET", "/v1/audit?agent=★")),
    "records of a key": ("key", http("GET", "/v1/audit?principal=★")),
    "a record, console": ("audit", lambda w, n: w.page(f"/console/audit/{n}")),
    "feedback on an answer": ("audit", post("/v1/feedback", audit_id="★", good=["1"])),
    "feedback on a passage": ("passage", lambda w, n: w.send("POST", "/v1/feedback", {"audit_id": w.own_id, "good": [n]})),
}  # fmt: skip

_VARYING = re.compile(
    r"a-[0-9a-zA-Z\-]{8,}|(?<=\"request_id\":\")[^\"]*|\b[0-9a-f]{32}\b"
    r"|\"?(?:ms|age_ms|ttlMs)[\"']?: ?[0-9.e\-]+|name=\"t\" value=\"[^\"]*\""
    r"|(?<=\"cases_reason\":\")[^\"]*"  # how near the asker's own passages come to the words, which are others
)


def comparable(body: bytes, name: str) -> str:
    """An answer without what differs from one request to the next: ids of requests and records, times, and the name."""
    text = body.decode()
    for written in (name, json.dumps(name)[1:-1], name.replace("#", "/"), name.replace("document-", "documents/")):
        alone = rf"(?<![\w=\-.]){written}(?![\w.])" if written.isdecimal() else re.escape(written)
        text = re.sub(alone, "★", text)
    return _VARYING.sub("-", text)


@pytest.mark.parametrize("door", sorted(DOORS))
def test_what_is_anothers_and_what_is_made_up_are_answered_alike(world: World, door: str) -> None:
    """Status, body and words are the same, but for the name itself."""
    kind, ask = DOORS[door]
    theirs, made_up = NAMED[kind](world)
    assert theirs != made_up
    foreign, absent = (comparable(ask(world, name), name) for name in (theirs, made_up))
    assert foreign == absent
    assert "奖金" not in foreign


_BY_WORDS = {"chapter of a process", "fragments of a process"}
"""What is near in words to the name is searched in the asker's own passages and rules; two names have other neighbours there, so
these are compared by one name, in a library that has another's rules of it and in one that has not."""


def least(world: Any, ask: Door, name: str) -> Counter[str]:
    """Of several times: what other threads ask now and then is no part of it, nor what is remembered after the first."""
    counts = []
    for _ in range(4):
        with asked_of(world.library) as asked:
            ask(world, name)
        counts.append(asked)
    return reduce(and_, counts)


@pytest.mark.parametrize("door", sorted(DOORS.keys() - _BY_WORDS))
def test_what_is_anothers_costs_what_is_made_up_does(world: World, door: str) -> None:
    """The databases and the engine are asked the same, so that neither time nor load tells the two apart."""
    kind, ask = DOORS[door]
    theirs, made_up = NAMED[kind](world)

    foreign, absent = least(world, ask, theirs), least(world, ask, made_up)
    assert {"foreign alone": foreign - absent, "absent alone": absent - foreign} == {
        "foreign alone": {},
        "absent alone": {},
    }


@dataclass
class Asker:
    """A key of an agent at a server."""

    library: Any
    url: str
    token: str

    def send(self, method: str, path: str, body: object = None) -> bytes:
        return send(self.url, method, path, body, self.token).body


@pytest.fixture(scope="module")
def askers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asker, Asker]]:
    """The same agent of two libraries: one has another's rules, too."""
    with ExitStack() as stack:
        made = []
        for book in (BOOK, _OURS_ALONE):
            folder = tmp_path_factory.mktemp("asker")
            (folder / "pack.yaml").write_text(book, encoding="utf-8")
            library = stack.enter_context(foreign_library(folder))
            url = stack.enter_context(served(library, needs_keys=True, limits=Limits(rate_per_key=0)))
            assert not library.rules.take(read_book(folder / "pack.yaml")).errors
            made.append(Asker(library, url, key(library, "admin", agent="support")))
        yield made[0], made[1]


@pytest.mark.parametrize(
    "name", ["深基坑开挖爆破", "深基坑开挖爆皮", "深基坑开挖炸破", "隧洞掘进凿岩", "隧洞掘进凿石"]
)
@pytest.mark.parametrize(
    "door", sorted(door for door, (kind, _) in DOORS.items() if kind.endswith("name") and "MCP" not in door)
)
def test_a_name_costs_the_same_whether_another_has_rules_of_it(
    askers: tuple[Asker, Asker], door: str, name: str
) -> None:
    """Of one name, the databases and the engine are asked the same in a library that has another's rules of it, or of one like it."""
    with_theirs, without = (least(asker, DOORS[door][1], name) for asker in askers)
    assert {"with": with_theirs - without, "without": without - with_theirs} == {"with": {}, "without": {}}


@pytest.mark.parametrize("kind", sorted(NAMED))
def test_what_the_table_calls_anothers_is_there(world: World, kind: str) -> None:
    """To whoever may see all, each of them is there: the table compares something with nothing."""
    name = NAMED[kind](world)[0]
    token = key(world.library, "admin")
    paths = {
        "source": "/v1/sources/{}", "agent": "/v1/agents/{}", "audit": "/v1/audit/{}", "node": "/v1/rules/nodes/{}",
        "statement": "/v1/rules/statements/{}", "profile": "/v1/tasks/{}", "evaluation": "/v1/evaluations/{}",
    }  # fmt: skip
    library = world.library
    if kind in paths:
        assert send(world.url, "GET", paths[kind].format(name), token=token).status == 200
    elif kind in ("passage", "document", "rule"):
        assert library.fetch(name).text
    elif kind in ("number", "passage number"):
        place = "documents" if kind == "number" else "passages"
        assert send(world.url, "GET", f"/v1/{place}/{name}", token=token).status == 200
    elif kind == "uri":
        assert library.catalog.document_by_uri(name) is not None
    elif kind in ("facet", "value"):
        assert "绝密档" in library.catalog.field_values()["bonus"]["metadata.密级"]
    elif kind in ("name", "longer name"):
        asked = {"processes": [name]}
        assert send(world.url, "POST", "/v1/infer_rules", asked, token).json["items"]
    elif kind == "domain":
        assert name in {source.domain for source in library.sources()}
    elif kind == "pack":
        assert name in library.rules.packs()
    else:
        assert f'"{name}"' in send(world.url, "GET", "/v1/keys", token=token).body.decode()


# -- the document at hand ------------------------------------------------------------------------------------------
def scores(found: Any) -> list[float]:
    return [passage["score"] for passage in found["passages"]]


def test_a_document_of_ones_own_counts_whichever_domain_is_asked(world: World) -> None:
    """What an agent may see tells what it is working on, also where it asks another of its domains."""
    body = {"query": "个人数据存储", "knowledge_scope": [{"domain": "law"}]}
    plain, near = (
        send(world.url, "POST", "/v1/search", {**body, **more}, world.token).json
        for more in ({}, {"source_document_uri": f"file://{world.folder}/policy/policy.md"})
    )
    assert scores(near) != scores(plain)


def test_an_agents_answer_is_replayed_as_it_was(world: World) -> None:
    """Where the document at hand was looked up is recorded: the same answer comes again, now and of then."""
    token = key(world.library, "search", "audit", agent="support")
    body = {
        "query": "个人数据存储", "knowledge_scope": [{"domain": "law"}],
        "source_document_uri": f"file://{world.folder}/policy/policy.md",
    }  # fmt: skip
    found = send(world.url, "POST", "/v1/search", body, token).json
    audit_id = found["metadata"]["audit_ids"][0]
    for caller in (token, key(world.library, "audit")):
        for exact in (False, True):
            told = send(world.url, "POST", f"/v1/audit/{audit_id}/replay", {"exact": exact}, caller).json
            assert (told["identical"], told["differences"]) == (True, [])


def test_answers_of_agents_of_other_scopes_are_kept_apart(tmp_path: Path) -> None:
    """The answer to one who may see the document at hand is not given from memory to one who may not."""
    wide = {"agent_id": "wide", "knowledge_scope": [{"domain": "policy"}, {"domain": "wiki"}]}
    with foreign_library(tmp_path, cache={"seconds": 60}) as library:
        library.catalog.put_agent(parse_agent(wide))
        uri = f"file://{tmp_path}/wiki/wiki.md"
        scope = parse_agent({"agent_id": "x", "knowledge_scope": [{"domain": "policy"}]}).knowledge_scope
        request = SearchRequest(
            query="customer complaint connections", knowledge_scope=scope, source_document_uri=uri
        )
        first = library.find(request, Principal(key_id="a", agent_id="wide"))
        second = library.find(request, Principal(key_id="b", agent_id="support"))
        assert not first.cache_hit
        assert not second.cache_hit
