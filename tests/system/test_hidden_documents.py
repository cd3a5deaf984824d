"""Nobody learns what they may not read: whatever is asked, in whatever order, by any door, and as soon as rights change."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from doors import served
from engine_settings import ON_SERVERS, settings_of
from governed_door import send
from http_door import JSON, Answer, call
from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, NotFound
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.principals import AccessList, Sight, parse_access_list
from wenyuan.mcp.tools import TOOLS
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.wire.search_answers import context_to_wire, search_to_wire

GROUPS = [f"group:g{n}" for n in range(8)]
PEOPLE = [f"user:p{n}" for n in range(20)]
BOT = "user:bot"
WORDS = ("工资方案", "绩效考核", "设备检修", "安全培训", "采购合同", "会议纪要")
READ_RIGHTS = frozenset({"retrieve", "search"})


def canary(number: int) -> str:
    """What stands in one document alone: in its title, its text, its address and its fields."""
    return f"kq{number:03d}zx"


@dataclass
class House:
    """A library of documents with readers, behind a server, and who belongs to what."""

    library: Any
    url: str
    groups: dict[str, set[str]]
    lists: dict[int, AccessList | None]
    closed: bool = False
    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    within: dict[str, set[str]] = field(default_factory=dict)
    acting: bool = False

    def principal(self, person: str) -> Principal:
        if self.acting:
            bot = Principal(
                key_id=BOT, rights=READ_RIGHTS | {"on_behalf_of"}, user=BOT, groups=frozenset(self.groups[BOT])
            )
            return bot.acting_for([person, *self.groups[person]])
        return Principal(key_id=person, rights=READ_RIGHTS, user=person, groups=frozenset(self.groups[person]))

    def ask(self, method: str, path: str, body: object, person: str) -> Answer:
        """A request with somebody's key, or for them with the key of an agent."""
        if not self.acting:
            return send(self.url, method, path, body, self.tokens[person])
        headers = {**JSON, "Authorization": f"Bearer {self.tokens[BOT]}"}
        named = ",".join([person, *self.groups[person]])
        return call(self.url, method, path, body, {**headers, "X-Wenyuan-On-Behalf-Of": named})

    def names(self, person: str) -> set[str]:
        """Somebody's names, with all groups that these are in."""
        return self._above({person, *self.groups[person]})

    def nest(self, group: str, members: set[str]) -> None:
        """Let the library know who is in a group; one that would be in itself is refused, and stays as it was."""
        if self._above({group}) & members:
            with pytest.raises(InvalidRequest):
                self.library.catalog.set_group(group, members)
            return
        self.library.catalog.set_group(group, members)
        self.within[group] = members

    def _above(self, names: set[str]) -> set[str]:
        while more := {one for one, of in self.within.items() if of & names} - names:
            names = names | more
        return names

    def may(self, person: str) -> set[int]:
        """What somebody may read, as the lists say one by one."""
        sight = Sight.of(*map(self.names, [person, BOT] if self.acting else [person]))
        named = {n for n, one in self.lists.items() if one is not None and one.readers is not None}
        shown = {n for n, one in self.lists.items() if one is None or sight.admitted_by(one)}
        return shown & named if self.closed else shown

    def uri(self, number: int) -> str:
        return next(uri for uri in self.library.catalog.live_documents("docs") if canary(number) in uri)

    def give(self, number: int, access: AccessList | None) -> None:
        self.library.catalog.set_document_access("docs", self.uri(number), access, "test")
        self.lists[number] = access

    def join(self, person: str, groups: set[str]) -> None:
        self.groups[person] = groups
        self.library.catalog.change_key(self.ids[person], user=person, groups=groups)

    def enforce(self, closed: bool) -> None:
        source = self.library.catalog.source("docs")
        self.library.catalog.put_source(
            wenyuan.Source(source_id="docs", path=source.path, settings={"readers": {"enforce": closed}})
        )
        self.closed = closed


DOCUMENTS = 36
RULES = """\
pack: kept
schema:
  kinds: {process: {zh: 工序, en: process}, hazard: {zh: 危险源, en: hazard}}
  relations: {has: {zh: 有, en: has, from: [process], to: [hazard]}}
  patterns: {needs: {start: process, collect: {hazards: [has]}}}
sources: []
nodes:
"""


def book(uris: dict[int, str]) -> str:
    """A rule for each document, which rests on that document alone."""
    nodes = [
        f"  - {{kind: process, name: 工序{canary(n)}}}\n  - {{kind: hazard, name: 险{canary(n)}}}\n" for n in uris
    ]
    rules = [
        f"  - {{src: 工序{canary(n)}, rel: has, dst: 险{canary(n)}, evidence: [{{source: docs, uri: {json.dumps(uri)}, quote: 密语{canary(n)}}}]}}\n"
        for n, uri in uris.items()
    ]
    return RULES + "".join(nodes) + "statements:\n" + "".join(rules)


@pytest.fixture
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    drawn = random.Random(11)
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(DOCUMENTS):
        about = drawn.sample(WORDS, 3)
        body = f"---\n代号: {canary(n)}\n---\n# {about[0]} {canary(n)}\n\n{'，'.join(about)}，密语{canary(n)}。\n\n## 附则\n\n本文另有{about[1]}的说明。\n"
        (folder / f"{canary(n)}.md").write_text(body, "utf-8")
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0.0, "deadline": 30}}
    settings |= settings_of(request.param, request)
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        library.add(wenyuan.Source(source_id="docs", path=str(folder)))
        with served(library, needs_keys=True, rate_per_key=0) as url:
            groups = {person: set(drawn.sample(GROUPS, drawn.randint(0, 4))) for person in (*PEOPLE, BOT)}
            groups[BOT] = set(GROUPS[::2])
            made = House(library, url, groups, dict.fromkeys(range(DOCUMENTS)))
            for person in (*PEOPLE, BOT):
                rights = READ_RIGHTS | ({"on_behalf_of"} if person == BOT else set())
                key, token = library.catalog.create_key(None, rights, None, user=person, groups=groups[person])
                made.tokens[person], made.ids[person] = token, key.key_id
            (tmp_path / "book.yaml").write_text(book({n: made.uri(n) for n in range(DOCUMENTS)}), "utf-8")
            assert not library.rules.take(read_book(tmp_path / "book.yaml")).errors
            for n in range(DOCUMENTS):
                if n % 4:
                    made.give(n, some_list(drawn))
            yield made


def some_list(drawn: random.Random) -> AccessList:
    readers = drawn.sample(GROUPS, drawn.randint(0, 3)) + drawn.sample(PEOPLE, drawn.randint(0, 3))
    deny = drawn.sample(GROUPS, drawn.randint(0, 1)) + drawn.sample(PEOPLE, drawn.randint(0, 2))
    told: dict[str, Any] = {"deny": deny} if drawn.random() < 0.2 else {"readers": readers, "deny": deny}
    return parse_access_list(told)


Ask = Callable[[House, str, random.Random], str]


def posted(path: str, **members: Any) -> Ask:
    """A request with a body in which ★ stands for words, and ◆ for what stands in one document."""

    def ask(house: House, person: str, drawn: random.Random) -> str:
        body = json.dumps(members, ensure_ascii=False).replace("★", "、".join(drawn.sample(WORDS, 2)))
        answer = house.ask("POST", path, json.loads(body), person)
        if (
            answer.status == 400 and "metadata_condition" in members
        ):  # to whom sees no document, no document has a field
            assert not house.may(person)
            return answer.body.decode()
        assert answer.status == 200, answer.body
        assert answer.headers.get("X-Retrieval-Status") != "FAILED", answer.body
        return answer.body.decode()

    return ask


def got(path: str) -> Ask:
    def ask(house: House, person: str, drawn: random.Random) -> str:
        answer = house.ask("GET", path, None, person)
        assert answer.status == 200, answer.body
        return answer.body.decode()

    return ask


def by_number(path: str) -> Ask:
    """Of a document by its number, of all that there are."""

    def ask(house: House, person: str, drawn: random.Random) -> str:
        number = drawn.randrange(DOCUMENTS)
        document = house.library.catalog.live_documents("docs")[house.uri(number)][0]
        answer = house.ask("GET", path.format(document), None, person)
        assert (answer.status == 200) == (number in house.may(person)), (answer.status, answer.body)
        return answer.body.decode()

    return ask


def python(call: Callable[[Any, Principal, str], Any]) -> Ask:
    return lambda house, person, drawn: repr(
        call(house.library, house.principal(person), "、".join(drawn.sample(WORDS, 2)))
    )


def tool(name: str, **arguments: Any) -> Ask:
    """A tool as an agent calls it that speaks MCP over a pipe."""
    called = next(one for one in TOOLS if one.name == name)

    def ask(house: House, person: str, drawn: random.Random) -> str:
        words = "、".join(drawn.sample(WORDS, 2))
        given = json.loads(json.dumps(arguments, ensure_ascii=False).replace("★", words))
        found = called(house.library, given, house.principal(person))
        if name == "list_sources":
            assert found.value["sources"][0].get("documents", 0) == len(house.may(person))
        return repr(found)

    return ask


def fetched(house: House, person: str, drawn: random.Random) -> str:
    number = drawn.randrange(DOCUMENTS)
    document = house.library.catalog.live_documents("docs")[house.uri(number)][0]
    try:
        found = house.library.fetch(f"document-{document}", house.principal(person))
    except NotFound as error:
        assert number not in house.may(person)
        return str(error)
    assert number in house.may(person)
    return f"{found.uri} {found.title} {found.text}"


def inferred(house: House, person: str, drawn: random.Random) -> str:
    number = drawn.randrange(DOCUMENTS)
    name = f"工序{canary(number)}"
    answer = house.ask("POST", "/v1/infer_rules", {"processes": [name]}, person)
    assert bool(answer.json["items"]) == (number in house.may(person))
    return answer.body.decode().replace(name, "")


DOORS: dict[str, Ask] = {
    "fragments": posted("/v1/retrieve_fragments", query="★", max_results=50),
    "search": posted("/v1/search", query="★", limit=50),
    "search of two words": posted("/v1/search", query="★ 说明", limit=3),
    "context": posted("/v1/context", retrieval_query="★", token_budget=4000),
    "verify": posted("/v1/verify", claims=[{"text": "★应当有说明。"}]),
    "Dify": posted("/retrieval", knowledge_id="all", query="★"),
    "Dify's condition": posted("/retrieval", knowledge_id="all", query="★", metadata_condition={"conditions": [{"name": "代号", "comparison_operator": "contains", "value": "kq"}]}),
    "vector store": posted("/v1/vector_stores/all/search", query="★"),
    "vector stores": got("/v1/vector_stores"),
    "cases": posted("/v1/retrieve", query="★"),
    "rules": inferred,
    "search, MCP": tool("search", query="★", limit=20),
    "fragments, MCP": tool("retrieve_fragments", query="★", max_results=20),
    "context, MCP": tool("get_context", retrieval_query="★"),
    "verify, MCP": tool("verify", claims=[{"text": "★应当有说明。"}]),
    "sources, MCP": tool("list_sources"),
    "a document": by_number("/v1/documents/{}"),
    "its passages": by_number("/v1/documents/{}/passages"),
    "its original": by_number("/v1/documents/{}/original/state"),
    "fetch": fetched,
    "folders": got("/v1/tree?name=**&limit=1000"),
    "a document's lines": by_number("/v1/tree/text?path=document-{}"),
    "a document's sections": by_number("/v1/tree?path=document-{}"),
    "lines found, MCP": tool("grep", pattern="★", limit=500),
    "search in Python": python(lambda lib, who, q: search_to_wire(lib.find(SearchRequest(query=q, limit=50), who))),
    "context in Python": python(lambda lib, who, q: context_to_wire(lib.get_context(ContextRequest(retrieval_query=q), who))),
    "documents": python(lambda lib, who, _: lib.documents(who)),
    "list of documents": python(lambda lib, who, _: lib.list_documents(who, limit=50)),
    "fragments in Python": python(lambda lib, who, q: lib.retrieve_fragments(RetrievalRequest(query=q, max_results=50), who)),
}  # fmt: skip
WHOLE = {"documents", "list of documents", "fragments", "search"}
"""Doors that give all that there is, or so much that most of it is among it."""


def leaks(house: House, person: str, said: str) -> set[int]:
    """Documents that somebody was told of and may not read."""
    return {n for n in set(range(DOCUMENTS)) - house.may(person) if canary(n) in said}


WALKS = [
    *(pytest.param("local", seed) for seed in range(5, 10)),
    *(pytest.param(*one.values, 5, marks=one.marks) for one in ON_SERVERS),
]


@pytest.mark.parametrize(("house", "seed"), WALKS, indirect=["house"])
def test_no_door_tells_of_what_is_hidden(house: House, thorough: bool, seed: int) -> None:
    """Thousands of questions of twenty people at all doors, by themselves and by an agent for them, while readers, groups, groups
    within groups and the source's rule change: what each is told holds nothing of what they may not read, and lists hold all
    that they may.
    """
    steps = 20_000 if thorough else 300
    if house.library.settings.engine != "local":  # whose questions take several times as long
        steps = min(steps, 2_000)
    drawn, asked, complete = random.Random(seed), 0, 0
    for step in range(steps):
        match drawn.randint(0, 40):
            case 0:
                house.give(drawn.randrange(DOCUMENTS), drawn.choice([None, some_list(drawn)]))
            case 1:
                house.join(drawn.choice(PEOPLE), set(drawn.sample(GROUPS, drawn.randint(0, 5))))
            case 2:
                house.enforce(not house.closed)
            case 3:
                house.nest(drawn.choice(GROUPS), set(drawn.sample([*GROUPS, *PEOPLE, BOT], drawn.randint(0, 3))))
        house.acting = drawn.random() < 0.25
        door, person = drawn.choice(sorted(DOORS)), drawn.choice(PEOPLE)
        said = DOORS[door](house, person, drawn)
        assert not leaks(house, person, said), (step, door, person)
        asked += 1
        if door in ("documents", "list of documents"):
            assert all(canary(n) in said for n in house.may(person)), (step, door, person)
            complete += 1
    assert asked == steps and complete >= steps // 50
