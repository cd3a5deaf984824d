"""Every door by which a caller names something, and a world with what is another's and what is made up to name there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from console_door import Browser, served
from doors import foreign_library
from governed_door import key, send
from mcp_clients import calling, over_http
from wenyuan import NotPermitted
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.task_profiles import parse_profile
from wenyuan.readers.golden import read_golden
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.wire.search_answers import context_to_wire, search_to_wire

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

OURS_ALONE = "".join(
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


@contextmanager
def world_in(folder: Path) -> Iterator[World]:
    """A served library with what is another's."""
    (folder / "bonus").mkdir()
    (folder / "bonus" / "plan.md").write_text(SECRET, encoding="utf-8")
    (folder / "pack.yaml").write_text(BOOK, encoding="utf-8")
    (folder / "golden.csv").write_text("question,source\n奖金方案,plan.md\n", encoding="utf-8")
    # A fast machine asks more often than a key may.
    with foreign_library(folder) as library, served(library, needs_keys=True, rate_per_key=0) as url:
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


HIDDEN = {"uri", "passage", "document", "number", "passage number", "rule", "name", "longer name", "facet", "value"}
"""The kinds that readers hide. That there is a source, an agent or a key is no part of a document."""


@contextmanager
def hidden_world_in(folder: Path) -> Iterator[World]:
    """The same, asked by somebody who may ask all sources, and from whom what is the others' is hidden by readers."""
    with world_in(folder) as made:
        catalog, rights = made.library.catalog, frozenset({"retrieve", "search"})
        for name in ("bonus", "their_rules"):
            source = catalog.source(name)
            catalog.put_source(replace(source, settings={"readers": {"enforce": True}}))
        _, token = catalog.create_key(None, rights, None, user="user:li")
        browser = Browser(made.url)
        browser.sign_in(token)
        asker = Principal(key_id="k", rights=rights, user="user:li")
        yield replace(made, token=token, browser=browser, agent=asker)


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

BY_WORDS = {"chapter of a process", "fragments of a process"}
"""What is near in words to the name is searched in the asker's own passages and rules; two names have other neighbours there, so
these are compared by one name, in a library that has another's rules of it and in one that has not."""


@dataclass
class Asker:
    """A key of an agent at a server."""

    library: Any
    url: str
    token: str

    def send(self, method: str, path: str, body: object = None) -> bytes:
        return send(self.url, method, path, body, self.token).body


@contextmanager
def askers_in(folder: Path) -> Iterator[tuple[Asker, Asker]]:
    """The same agent of two served libraries: one has another's rules, too."""
    with ExitStack() as stack:
        made = []
        for book in (BOOK, OURS_ALONE):
            place = folder / f"asker{len(made)}"
            place.mkdir()
            (place / "pack.yaml").write_text(book, encoding="utf-8")
            library = stack.enter_context(foreign_library(place))
            url = stack.enter_context(served(library, needs_keys=True, rate_per_key=0))
            assert not library.rules.take(read_book(place / "pack.yaml")).errors
            made.append(Asker(library, url, key(library, "admin", agent="support")))
        yield made[0], made[1]


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
