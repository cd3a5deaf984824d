"""To an agent, what is another's and what does not exist are the same: byte for byte, whatever it names, by any door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doors import foreign_library
from governed_door import key, send
from named_doors import BY_WORDS, DOORS, NAMED, Asker, Door, World, askers_in, comparable, world_in
from statements import least_asked
from wenyuan.core.access import Principal, parse_agent
from wenyuan.service.search.searcher import SearchRequest


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_in(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture(scope="module")
def askers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asker, Asker]]:
    with askers_in(tmp_path_factory.mktemp("askers")) as made:
        yield made


@pytest.mark.parametrize("door", sorted(DOORS))
def test_what_is_anothers_and_what_is_made_up_are_answered_alike(world: World, door: str) -> None:
    """Status, body and words are the same, but for the name itself."""
    kind, ask = DOORS[door]
    theirs, made_up = NAMED[kind](world)
    assert theirs != made_up
    foreign, absent = (comparable(ask(world, name), name) for name in (theirs, made_up))
    assert foreign == absent
    assert "奖金" not in foreign


def least(world: Any, ask: Door, name: str) -> Counter[str]:
    return least_asked(world.library, lambda: ask(world, name))


@pytest.mark.parametrize("door", sorted(DOORS.keys() - BY_WORDS))
def test_what_is_anothers_costs_what_is_made_up_does(world: World, door: str) -> None:
    """The databases and the engine are asked the same, so that neither time nor load tells the two apart."""
    kind, ask = DOORS[door]
    theirs, made_up = NAMED[kind](world)

    foreign, absent = least(world, ask, theirs), least(world, ask, made_up)
    assert {"foreign alone": foreign - absent, "absent alone": absent - foreign} == {
        "foreign alone": {},
        "absent alone": {},
    }


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
