"""Documents that are hidden from somebody are to them what is not there; and doors that show more than they may see are shut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from answer_library import DUTY, QUESTION, answering
from governed_door import BODIES, at, key, send
from liars_server import Server
from listening import listening
from named_doors import DOORS, HIDDEN, NAMED, World, comparable, hidden_world_in
from reader_library import LI, READING, WU, small, texts
from statements import least_asked
from wenyuan.core.access import Principal
from wenyuan.core.errors import EngineError, NotFound, NotPermitted
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.ports import Hit, LegResult
from wenyuan.core.principals import Sight, parse_access_list, reading_as
from wenyuan.server.app import ROUTES, is_filtered
from wenyuan.service.generation.answers import AnswerRequest
from wenyuan.service.search.searcher import SearchRequest


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with hidden_world_in(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.mark.parametrize("door", sorted(door for door, (kind, _) in DOORS.items() if kind in HIDDEN))
def test_what_is_hidden_and_what_is_made_up_are_answered_alike(world: World, door: str) -> None:
    """Status, body and words are the same, but for the name itself."""
    kind, ask = DOORS[door]
    hidden, made_up = (comparable(ask(world, name), name) for name in NAMED[kind](world))
    assert hidden == made_up
    assert "奖金" not in hidden


@pytest.mark.parametrize("door", sorted(door for door, (kind, _) in DOORS.items() if kind in HIDDEN))
def test_what_is_hidden_costs_what_is_made_up_does(world: World, door: str) -> None:
    """The databases and the engine are asked the same, so that neither time nor load tells the two apart."""
    kind, ask = DOORS[door]
    hidden, made_up = (least_asked(world.library, partial(ask, world, name)) for name in NAMED[kind](world))
    assert {"hidden alone": hidden - made_up, "made up alone": made_up - hidden} == {
        "hidden alone": {},
        "made up alone": {},
    }


def test_what_is_hidden_is_there_for_administrators(world: World) -> None:
    """The table compares something with nothing: who administers sees it."""
    assert "奖金" in world.library.fetch(world.document).text
    with reading_as(Sight.of({"user:li"})):
        assert world.library.catalog.hidden() is not None


@pytest.mark.parametrize(("method", "path"), sorted((one.method, one.path) for one in ROUTES if not is_filtered(one)))
def test_other_doors_are_shut(world: World, method: str, path: str) -> None:
    """Whatever a key may do: what shows or changes more than it may see is refused to it, and open once nothing is hidden."""
    rights = frozenset({"retrieve", "search", "ingest", "registry", "audit"})
    _, token = world.library.catalog.create_key(None, rights, None, user="user:li")
    answer = send(world.url, method, at(path, gap_id="g-none"), BODIES.get(path) if method != "GET" else None, token)
    needed = next(one.right for one in ROUTES if (one.method, one.path) == (method, path))
    if needed not in rights:
        assert (answer.status, "right" in answer.json["detail"]) == (403, True)
    else:
        assert (answer.status, answer.json["detail"]) == (
            403, "documents are hidden from this key: this needs one that sees all, as an administrator's does"
        )  # fmt: skip


def test_every_route_is_of_one_kind() -> None:
    """A new route is shut to whom something is hidden from, unless it asks for a right to read, or is about no document."""
    filtered = {
        (one.method, one.path) for one in ROUTES if is_filtered(one) and one.right not in (None, "retrieve", "search")
    }
    assert {path.split("/")[2] if path.startswith("/v1/") else path for _, path in filtered} == {
        "agents", "tasks", "people", "documents", "/metrics",
    }  # fmt: skip
    assert ("GET", "/v1/documents") in filtered and ("PUT", "/v1/documents/{document_id}") not in filtered


def test_answers_that_are_kept_are_kept_for_those_who_may_read_them(tmp_path: Path) -> None:
    """The same question of several people, again and again, in each order; and after a change of rights."""
    with small(tmp_path) as library:
        for _ in range(3):
            assert texts(library, LI) == {"a", "b", "c"}
            assert texts(library, WU) == {"a", "c"}
            assert texts(library, Principal()) == {"a", "b", "c"}
        with_hits = library.find(SearchRequest(query="年假", limit=20), WU)
        assert with_hits.cache_hit
        assert texts(library, replace(WU, groups=frozenset({"group:hr"}))) == {"a", "b", "c"}


class Careless:
    """An engine that forgets who may read."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def keyword(self, terms: Any, *, scope: Any, limit: int, deadline: Any) -> LegResult:
        found = self._engine.keyword(terms, scope=replace(scope, hidden=None), limit=limit, deadline=deadline)
        return LegResult.ok([Hit(*hit) for hit in found.hits])


def test_an_engine_that_forgets_readers_makes_the_answer_fail(tmp_path: Path) -> None:
    """What it finds is neither given nor left out in silence."""
    with small(tmp_path) as library:
        legs = library._retriever._own_search._legs
        legs._engine = Careless(legs._engine)
        answer = library.retrieve_fragments(RetrievalRequest(query="年假", max_results=10), WU)
        assert answer.status == "FAILED"
        assert not answer.fragments
        assert library.retrieve_fragments(RetrievalRequest(query="年假", max_results=10), LI).status == "SUCCESS"


def test_an_engine_that_cannot_leave_out_so_much_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that would name too many documents is an error that says what to do."""
    from wenyuan.core.hidden_documents import AccessClasses, listed_documents

    members = {1: frozenset(range(100))}
    classes = AccessClasses(
        number=1,
        of_document=dict.fromkeys(range(100), 1),
        of_address={},
        held=(),
        closed={},
        documents=members,
        sources={},
    )
    hidden = HiddenDocuments(classes, frozenset({1}), "somebody")
    assert sorted(listed_documents(hidden, "postgres", 100)) == list(range(100))
    with pytest.raises(EngineError, match="100 documents are hidden"):
        listed_documents(hidden, "postgres", 99)


def test_the_audit_knows_with_whose_eyes_it_was_asked(tmp_path: Path) -> None:
    """A replay by who sees all asks as the caller did, and finds the same; one from whom something is hidden replays nothing."""
    with small(tmp_path, cache={"seconds": 0}) as library:
        asked = {who: library.find(SearchRequest(query="年假", limit=20), who).audit_ids[0] for who in (LI, WU)}
        library.audit.flush()
        assert library.audit.show(asked[LI]).record["sight"] == [["group:hr", "user:li"]]
        for exact in (False, True):
            replays = {who: library.replay(audit_id, exact=exact) for who, audit_id in asked.items()}
            assert all(replay.identical for replay in replays.values()), replays
        with pytest.raises(NotPermitted):
            library.replay(asked[WU], principal=replace(WU, rights=frozenset({"audit"})))
        many = replace(LI, groups=frozenset(f"group:g{n}" for n in range(300)))
        lost = library.find(SearchRequest(query="年假", limit=20), many).audit_ids[0]
        library.audit.flush()
        with pytest.raises(wenyuan.KnowledgeError, match="more names"):
            library.replay(lost)


def test_feedback_is_given_on_ones_own_answers(tmp_path: Path) -> None:
    """The right to audit lets judge others' answers only whom nothing is hidden from."""
    with small(tmp_path) as library:
        audit_id = library.find(SearchRequest(query="年假", limit=20), LI).audit_ids[0]
        assert library.give_feedback(audit_id, good=["1"], principal=LI)
        auditor = replace(WU, rights=READING | {"audit"})
        with pytest.raises(NotFound):
            library.give_feedback(audit_id, good=["1"], principal=auditor)
        assert library.give_feedback(audit_id, good=["1"], principal=replace(auditor, groups=frozenset({"group:hr"})))


def test_misspelled_words_are_told_by_what_is_in_view(tmp_path: Path) -> None:
    """A word that only hidden documents have is no word of the library: what is asked in other letters finds and tells nothing."""
    with small(tmp_path) as library:
        (tmp_path / "docs" / "b.md").write_text("# 年假 b\n\nThe severance payment is secret.\n", "utf-8")
        (tmp_path / "docs" / "a.md").write_text("# 年假 a\n\nThe holiday takes ten days.\n", "utf-8")
        library.ingest("docs")
        for who, expected in ((LI, True), (WU, False)):
            with reading_as(who.sight):
                found = library.search("severence paymant")
            assert any(hit.parts.get("keyword") for hit in found.hits) == expected


def test_a_model_is_shown_only_what_the_asker_may_read(tmp_path: Path) -> None:
    """Neither the question to the model nor the answer holds a word of what is hidden."""
    server = Server()
    with listening(server), answering(tmp_path, "zh", server) as library:
        source = library.catalog.source("policy")
        closed = replace(source, settings={"readers": {"documents": [{"path": "**", "readers": ["group:hr"]}]}})
        library.catalog.put_source(closed)
        duty = DUTY["zh"]
        for who, shown in ((WU, False), (LI, True)):
            server.begin("perfect")
            answered = library.answer(AnswerRequest(query=QUESTION["zh"], on_failure="extract"), who)
            assert (duty in json.dumps([body for *_, body in server.seen], ensure_ascii=False)) == shown
            assert (duty in f"{answered.text} {answered.claims}") == shown


def test_a_library_where_nothing_is_hidden_is_as_before(tmp_path: Path) -> None:
    """Keys with and without names ask, maintain and audit alike while no document has readers."""
    with small(tmp_path) as library:
        library.catalog.put_source(replace(library.catalog.source("docs"), settings={}))
        with reading_as(Sight.of({"user:wu"})):
            assert library.catalog.hidden() is None
        assert texts(library, WU) == {"a", "b", "c"}


def test_readers_are_said_over_http(tmp_path: Path) -> None:
    """Set, shown, counted and taken back; bad lists are refused with their place; it is in the audit."""
    from doors import served

    with small(tmp_path) as library, served(library, needs_keys=True) as url:
        admin = key(library, "admin")
        number = next(one.document_id for one in library.documents() if one.title.endswith("a"))
        path = f"/v1/documents/{number}/readers"
        told = send(url, "PUT", path, {"readers": ["Group:HR"], "deny": ["user:wu"]}, admin)
        assert (told.status, told.json["lists"]) == (
            200,
            [{"origin": "set", "readers": ["group:hr"], "deny": ["user:wu"], "note": ""}],
        )
        assert texts(library, WU) == {"c"}
        counts = send(url, "GET", "/v1/readers", None, admin).json["sources"]
        assert counts == [{"source_id": "docs", "readers": 2, "unread": 0, "unreadable": 0, "unmatched": []}]
        for wrong in (
            {"readers": [5]},
            {"readers": "group:hr"},
            {"readers": ["hr"]},
            {"reader": []},
            {"readers": ["group:" + "x" * 900_000]},
        ):
            refused = send(url, "PUT", path, wrong, admin)
            assert (refused.status, refused.json["code"]) == (400, "invalid_request"), wrong
        assert send(url, "DELETE", path, None, admin).json["lists"] == []
        assert texts(library, WU) == {"a", "c"}
        library.audit.flush()
        changes = [one.record for one in library.audit.list(kind="document", limit=10)]
        assert [one["action"] for one in changes] == ["readers", "readers"]


def test_enforced_sources_say_what_nobody_sees(tmp_path: Path) -> None:
    """How many documents have no readers is counted, and a pattern that fits nothing is named."""
    with small(tmp_path) as library:
        rule = {
            "enforce": True,
            "documents": [{"path": "b.md", "readers": ["group:hr"]}, {"path": "gone/**", "readers": []}],
        }
        library.catalog.put_source(replace(library.catalog.source("docs"), settings={"readers": rule}))
        assert library.reader_counts() == [
            {"source_id": "docs", "readers": 1, "unread": 2, "unreadable": 0, "unmatched": ["gone/**"]}
        ]
        assert texts(library, LI) == {"b"}
        assert texts(library, WU) == set()
        assert parse_access_list({"readers": []}).readers == frozenset()
