"""Rules over HTTP: unified retrieval, inference, import, review, and who may see what of them."""

from __future__ import annotations

import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import wenyuan
from doors import served as http_server
from governed_door import key, send
from http_door import assert_problem
from liars_server import Server, lying
from proposal_library import proposing, saying
from proposal_parts import PLAN
from rules_door import BOOK, WRONG, rules_server
from wenyuan.client import Client
from wenyuan.core.access import parse_agent
from wenyuan.core.errors import EngineUnavailable, RetrievalFailed
from wenyuan.core.rules.rule_numbers import written_numbers
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.server.app import openapi_document
from wenyuan.service.rules.unified import RuleQuestion
from wenyuan.settings import ServerSettings

Served = tuple[str, Any]
PIT = "深基坑开挖"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose library has the construction pack, imported over HTTP; only read by tests."""
    with rules_server(tmp_path_factory.mktemp("rules")) as (url, library):
        done = send(url, "POST", "/v1/rules/import", {"pack": "construction"}, key(library, "registry"))
        assert (done.status, done.json["complete"]) == (200, True)
        assert done.json["counts"]["imported"] == done.json["counts"]["written"]
        yield url, library


@pytest.fixture
def little(tmp_path: Path) -> Iterator[tuple[str, Any, Path]]:
    """A server whose library has the little book."""
    with rules_server(tmp_path) as (url, library):
        book = tmp_path / "books" / "little.yaml"
        book.write_text(BOOK, "utf-8")
        done = send(url, "POST", "/v1/rules/import", {"path": str(book)}, key(library, "registry"))
        assert (done.status, done.json["counts"]["added"]) == (200, 5)
        yield url, library, book


def asked(served: Served, path: str, body: object, *, agent: str | None = None) -> Any:
    return send(served[0], "POST", path, body, key(served[1], "search", agent=agent))


def kept(served: Any, method: str, path: str, body: object = None, *, agent: str | None = None) -> Any:
    return send(served[0], method, path, body, key(served[1], "registry", agent=agent))


def audited(library: Any) -> list[tuple[str, str, str]]:
    records = library.audit.list(kind="rule", limit=50)
    return [(r.principal, r.record["action"], r.record["object"]) for r in records]


# -- retrieve and infer -----------------------------------------------------------------------------------


def test_rules_follow_with_path_and_evidence(served: Served) -> None:
    """Named processes give rules by falling score, each with its path, clause, quote and audit record."""
    found = asked(served, "/v1/infer_rules", {"processes": [PIT], "parameters": {"depth_m": 6}}).json
    scores = [item["score"] for item in found["items"]]
    assert (found["status"], scores) == ("SUCCESS", sorted(scores, reverse=True))
    review = next(i["metadata"] for i in found["items"] if i["metadata"]["name"] == "专家论证")
    assert (review["strength"], review["condition_state"]) == ("mandatory", "met")
    assert all(e["clause"] and e["quote"] and e["trust"] == 5 for e in review["evidence"])
    assert review["path"][0]["from"] == PIT
    assert served[1].audit.show(found["audit_id"]).record["door"] == "infer_rules"


def test_conditions_are_three_valued(served: Served) -> None:
    """Depth 6 serves the expert review, depth 2 does not, and without a depth it is served as unverified."""
    told = {}
    for parameters in ({"depth_m": 6}, {"depth_m": 2, "complex_surroundings": False}, {}):
        found = asked(served, "/v1/infer_rules", {"processes": [PIT], "parameters": parameters}).json
        named = {i["metadata"]["name"]: i["metadata"] for i in found["items"]}
        state = named["专家论证"]["condition_state"] if "专家论证" in named else None
        told[str(parameters.get("depth_m"))] = state
    assert told == {"6": "met", "2": None, "None": "unverified"}


@pytest.mark.parametrize("text", ["基坑开挖要注意什么", "基坑開挖要注意什麼", "safety of deep excavation"])
def test_processes_are_recognised_in_text(served: Served, text: str) -> None:
    """Simplified, Traditional and English text name the same process."""
    found = asked(served, "/v1/infer_rules", {"context": text}).json
    named = {i["metadata"]["process_name"] for i in found["items"]}
    assert found["recognised"]
    assert named & {PIT, "Deep excavation"}


def test_rules_stand_above_cases(served: Served) -> None:
    """Unified retrieval answers by priority; the context says what was recognised and which engines answered."""
    found = asked(served, "/v1/retrieve", {"query": f"{PIT}的危险源", "parameters": {"dpth_m": 6}}).json
    order = [(item["priority"], -item["score"]) for item in found["items"]]
    assert order == sorted(order)
    assert found["regulations"] == [item for item in found["items"] if item["source"] == "kg_rule"] != []
    context = found["query_context"]
    assert (context["engines"]["kg_rule"], context["unmatched_processes"]) == ("ok", [])
    assert any("did you mean 'depth_m'" in note for note in context["notes"])


def test_every_door_gives_every_measure_under_every_hazard(served: Served) -> None:
    """Inference, unified retrieval and fragments have the same pairs; a measure stands under all its hazards."""

    def pairs(told: list[Any]) -> set[tuple[str, str]]:
        return {(t["subject"], t["name"]) for t in told if t.get("group") == "safety_measures"}

    inferred = asked(served, "/v1/infer_rules", {"processes": [PIT]}).json["items"]
    united = asked(served, "/v1/retrieve", {"query": PIT, "chapter": "ch08_safety", "processes": [PIT]}).json
    body = {"query": PIT, "max_results": 100, "context": {"processes": [PIT]}}
    fragments = send(served[0], "POST", "/v1/retrieve_fragments", body, key(served[1], "retrieve")).json
    every = pairs([item["metadata"] for item in inferred])
    assert every == pairs([item["metadata"] for item in united["regulations"]])
    assert every == pairs([fragment["metadata"] for fragment in fragments["fragments"]])
    assert len({measure for _, measure in every}) < len(every)


def test_mandatory_rules_that_the_schema_cuts_are_counted(tmp_path: Path) -> None:
    """What the schema's limit has left out counts with what the setting leaves out, each statement once."""
    entry = "  - {src: 深基坑开挖, rel: produces_hazard, dst: 危险%d, evidence: [{source: code_a, clause: 第%d条}]}\n"
    book = BOOK.replace(
        "statements:", "".join(f"  - {{kind: hazard, name: 危险{n}}}\n" for n in range(8)) + "statements:"
    )
    book = book.replace("  patterns:", "  limits: {max_results: 6}\n  patterns:")
    (tmp_path / "book.yaml").write_text(book + "".join(entry % (n, n + 20) for n in range(8)), "utf-8")
    with wenyuan.open(
        tmp_path / "library", create=True, encoder={"kind": "none"}, rules={"max_rules": 4}, cache={"seconds": 0}
    ) as library:
        assert not library.rules.take(read_book(tmp_path / "book.yaml")).errors
        found = library.infer_rules(RuleQuestion(processes=(PIT,)))
        assert len(found.items) == 4
        assert found.truncated == ("rules cut at 6", "6 rules cut at 4", "mandatory rules left out: 6")


def test_every_neighbour_is_told(tmp_path: Path) -> None:
    """What the graph says of a node is given whole, and so are the measures against a hazard: nothing says of a cut."""
    entry = "  - {src: 深基坑开挖, rel: produces_hazard, dst: 危险%d, evidence: [{source: code_a, clause: 第%d条}]}\n"
    book = BOOK.replace(
        "statements:", "".join(f"  - {{kind: hazard, name: 危险{n}}}\n" for n in range(250)) + "statements:"
    )
    (tmp_path / "book.yaml").write_text(book + "".join(entry % (n, n + 20) for n in range(250)), "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        assert not library.rules.take(read_book(tmp_path / "book.yaml")).errors
        assert len(library.rule_neighbors(PIT, "produces_hazard")) == 251
        assert [n["name"] for n in library.rule_neighbors("危险7")] == [PIT]


def test_as_many_long_names_as_are_allowed(served: Served) -> None:
    """Two hundred names are asked for, however long; the one that the graph knows has its rules."""
    names = [PIT, *(f"{'很长的工序名称' * 8}{n}" for n in range(199))]
    found = asked(served, "/v1/infer_rules", {"processes": names}).json
    assert (found["status"], len(found["unmatched_processes"])) == ("SUCCESS", 199)
    alone = asked(served, "/v1/infer_rules", {"processes": [PIT]}).json
    assert {i["metadata"]["statement_id"] for i in found["items"]} == {
        i["metadata"]["statement_id"] for i in alone["items"]
    }
    assert asked(served, "/v1/infer_rules", {"processes": ["长" * 9_000]}).json["status"] == "SUCCESS"


def test_a_chapter_without_rules_asks_for_none(served: Served) -> None:
    """A chapter that needs no rules gets none, and the answer says that they were skipped."""
    found = asked(served, "/v1/retrieve", {"query": PIT, "chapter": "ch01_overview"}).json
    assert (found["status"], found["regulations"]) == ("SUCCESS", [])
    assert found["query_context"]["engines"]["kg_rule"].startswith("skipped")


def test_no_process_is_an_answer_with_its_reason(served: Served) -> None:
    """An empty list of processes asks for nothing, and an unknown name is told apart from having no rules."""
    empty = asked(served, "/v1/infer_rules", {"processes": []}).json
    assert (empty["status"], empty["items"], bool(empty["reason"])) == ("SUCCESS", [], True)
    unknown = asked(served, "/v1/infer_rules", {"processes": ["量子挖掘"]}).json
    assert (unknown["status"], unknown["unmatched_processes"]) == ("SUCCESS", ["量子挖掘"])


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/v1/infer_rules", {"processes": [PIT], "parameters": {"depth_m": "六米"}}, "parameters.depth_m"),
        ("/v1/infer_rules", {"processes": [PIT], "parameters": {"depth_m": True}}, "parameters.depth_m"),
        ("/v1/infer_rules", {"processes": [PIT] * 10_000}, "processes"),
        ("/v1/infer_rules", {"processes": PIT}, "processes"),
        ("/v1/infer_rules", {}, "context"),
        ("/v1/infer_rules", {"context": PIT, "paramters": {}}, "paramters"),
        ("/v1/retrieve", {"query": " "}, "query"),
        ("/v1/retrieve", {"query": PIT, "processes": [PIT] * 10_000}, "processes"),
        ("/v1/retrieve", {"query": PIT, "limit": 0}, "limit"),
        ("/v1/retrieve", {"query": PIT, "parameters": {"depth_m": [6]}}, "parameters"),
    ],
)
def test_a_malformed_question_is_refused(served: Served, path: str, body: object, named: str) -> None:
    """What cannot be asked is 400, and the fault names the member."""
    problem = assert_problem(asked(served, path, body), 400, "invalid_request")
    assert any(fault["path"].startswith(named) for fault in problem["errors"])


def test_a_failure_is_never_an_empty_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the graph cannot be read, both questions answer FAILED with the reason and without items."""

    def gone(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable("the graph is gone", component="rules graph")

    with rules_server(tmp_path) as (url, library):
        book = tmp_path / "books" / "little.yaml"
        book.write_text(BOOK, "utf-8")
        send(url, "POST", "/v1/rules/import", {"path": str(book)}, key(library, "registry"))
        monkeypatch.setattr(library.catalog.rules, "edges", gone)
        for path, body in (("/v1/retrieve", {"query": PIT}), ("/v1/infer_rules", {"processes": [PIT]})):
            answer = asked((url, library), path, body)
            assert (answer.status, answer.json["status"], answer.json["items"]) == (200, "FAILED", [])
            assert "the graph is gone" in answer.json["error_message"]
            assert answer.headers["X-Retrieval-Status"] == "FAILED"


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("DELETE FROM rule_nodes", "nodes that there are not"),
        ("UPDATE rule_nodes SET labels = '{'", "is no JSON"),
        ("DELETE FROM library WHERE key = 'rules_version'", "version of the rules graph is lost"),
        ("DELETE FROM library WHERE key = 'value/rules/schema'", "no stored schema"),
        (
            "UPDATE library SET value = '[1]' WHERE key = 'value/rules/schema'",
            "stored schema of the rules is damaged",
        ),
        ("UPDATE library SET value = '{' WHERE key = 'value/rules/schema'", "is no JSON"),
        (
            """UPDATE library SET value = '{"packs":{"little":{"kinds":[]}}}' WHERE key = 'value/rules/schema'""",
            "stored schema of the rules is damaged",
        ),
    ],
)
def test_a_damaged_graph_fails(tmp_path: Path, damage: str, why: str) -> None:
    """What was taken from the tables by hand makes an answer FAILED, where it was one without rules, or a refusal."""
    (tmp_path / "little.yaml").write_text(BOOK, "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.rules.take(read_book(tmp_path / "little.yaml"))
        library.catalog.put_source(wenyuan.Source(source_id="crm", path=""))
    with closing(sqlite3.connect(tmp_path / "library" / "catalog.db", isolation_level=None)) as connection:
        connection.execute(damage)
    with wenyuan.open(tmp_path / "library", encoder={"kind": "none"}) as library:
        with http_server(library) as url:
            for path, body in (("/v1/retrieve", {"query": PIT}), ("/v1/infer_rules", {"processes": [PIT]})):
                answer = asked((url, library), path, body)
                assert (answer.status, answer.json["status"], answer.json["items"]) == (200, "FAILED", [])
                assert why in answer.json["error_message"]
        if why == "no stored schema":
            library.rules.take(read_book(tmp_path / "little.yaml"))
            assert len(library.infer_rules(RuleQuestion(processes=(PIT,))).items) == 2


# -- who may see what -------------------------------------------------------------------------------------


def test_an_agents_key_gets_the_rules_of_its_scope(served: Served) -> None:
    """An agent whose domain holds the rules' sources gets them; one whose domain does not gets none, with a reason."""
    for path, body in (("/v1/infer_rules", {"processes": [PIT]}), ("/v1/retrieve", {"query": PIT})):
        inside = asked(served, path, body, agent="builder").json
        outside = asked(served, path, body, agent="support").json
        assert inside["items"]
        assert (outside["status"], outside["items"]) == ("SUCCESS", [])
        assert outside.get("reason") or outside["query_context"].get("rules_reason")


def test_of_the_graph_an_agent_sees_what_its_sources_support(served: Served) -> None:
    """A statement is there for an agent in whose scope its evidence lies; to another it is the 404 of no statement."""
    number = asked(served, "/v1/infer_rules", {"processes": [PIT]}).json["items"][0]["metadata"]["statement_id"]
    path = f"/v1/rules/statements/{number}"
    whole, own = kept(served, "GET", path).json, kept(served, "GET", path, agent="builder").json
    assert (own["statement_id"], own["evidences"]) == (number, whole["evidences"])
    assert (whole["state"], whole["reviews"], "reviews" in own) == ("live", [], False)
    assert kept(served, "GET", f"/v1/rules/statements/{whole['key']}").json == whole
    foreign, absent = (
        kept(served, "GET", p, agent="support") for p in (path, "/v1/rules/statements/99999999999999999999999")
    )
    for answer in (foreign, absent):
        assert_problem(answer, 404, "not_found")
    assert foreign.json["detail"] == absent.json["detail"]


def test_an_agents_key_keeps_no_rules(little: Any) -> None:
    """Lists, reviews and imports are refused to a key of an agent, and packs are not there for it."""
    for method, path, body in (
        ("GET", "/v1/rules", None),
        ("GET", "/v1/rules/review", None),
        ("POST", "/v1/rules/review", {"statement_ids": [1], "action": "reject"}),
        ("POST", "/v1/rules/import", {"pack": "construction"}),
    ):
        assert_problem(kept(little, method, path, body, agent="builder"), 403, "not_permitted")
    assert_problem(kept(little, "DELETE", "/v1/rules/packs/little", agent="builder"), 404, "not_found")
    assert little[1].rules.packs() == ("little",)


# -- the graph --------------------------------------------------------------------------------------------


def test_the_graph_tells_what_it_holds(served: Served) -> None:
    """Without parameters: counts, packs and schema; with them, nodes in pages."""
    found = kept(served, "GET", "/v1/rules").json
    assert (found["packs"], found["counts"]["statements"]) == (["construction"], {"approved": 405})
    assert found["schema"]["kinds"]["process"] == {"zh": "工序", "en": "process"}
    assert found["schema"]["parameters"]["depth_m"]["unit"] == "m"
    first = kept(served, "GET", "/v1/rules?kind=hazard&limit=5").json
    second = kept(served, "GET", f"/v1/rules?kind=hazard&limit=100&after={first['next']}").json
    assert len(first["nodes"]) == 5
    assert second["next"] is None
    assert len(first["nodes"] + second["nodes"]) == found["counts"]["kinds"]["hazard"]
    assert {n["name"] for n in kept(served, "GET", "/v1/rules?q=deep%20excavation").json["nodes"]} >= {PIT}
    for query in ("kind=hazrd", "limit=0", "limit=5&limit=6", "colour=red", "after=-1"):
        assert_problem(kept(served, "GET", f"/v1/rules?{query}"), 400, "invalid_request")
    assert "did you mean 'hazard'" in kept(served, "GET", "/v1/rules?kind=hazrd").json["detail"]


def test_a_dry_run_changes_nothing(little: Any) -> None:
    """A dry run tells the diff, and leaves the graph and the audit as they were."""
    _, library, book = little
    before, told = library.catalog.rules.version(), audited(library)
    book.write_text(
        BOOK.replace("第九条", "第十条").replace(
            "  - {kind: hazard, name: 坍塌", "  - {kind: hazard, name: 滑坡}\n  - {kind: hazard, name: 坍塌"
        ),
        "utf-8",
    )
    dry = kept(little, "POST", "/v1/rules/import", {"path": str(book), "dry_run": True}).json
    assert (dry["dry_run"], dry["change"], [c["text"] for c in dry["diff"]["added"]]) == (
        True,
        None,
        ["hazard: 滑坡"],
    )
    assert dry["diff"]["changed"][0]["details"] == ["+ code_b 第十条", "- code_b 第九条"]
    assert (library.catalog.rules.version(), audited(library)) == (before, told)


def test_a_dirty_book_is_imported_but_for_what_is_wrong(little: Any) -> None:
    """What is wrong is told with file, line and what was meant; the rest is taken, and nothing is retired."""
    book = little[2]
    gone = BOOK[: BOOK.index("  - src: 深基坑开挖\n    rel: produces_hazard")]
    book.write_text(gone + WRONG, "utf-8")
    report = kept(little, "POST", "/v1/rules/import", {"path": str(book)}).json
    assert (report["complete"], report["counts"]["refused"]["statements"]) == (False, 1)
    fault = report["faults"][0]
    assert (fault["code"], fault["file"]) == ("unknown_relation", "little.yaml")
    assert fault["line"] == len(gone.splitlines()) + 1
    assert "did you mean 'requires_equipment'" in fault["message"]
    assert report["diff"]["retired"] == []
    assert kept(little, "GET", "/v1/rules").json["counts"]["statements"] == {"approved": 2}


def test_only_allowed_paths_are_read(little: Any, tmp_path: Path) -> None:
    """Paths outside the roots, links that lead out of them, relative and missing ones are refused."""
    outside = tmp_path / "outside.yaml"
    outside.write_text(BOOK, "utf-8")
    folder = little[2].parent / "linked"
    folder.mkdir()
    (folder / "in.yaml").symlink_to(outside)
    empty = little[2].parent / "empty"
    empty.mkdir()
    for path, status in (
        (outside, 403), (folder, 403), (folder / "in.yaml", 403), ("little.yaml", 400), (f"{empty}/../../x", 403),
        (empty, 400), (empty / "none.yaml", 400), ("", 400),
    ):  # fmt: skip
        answer = kept(little, "POST", "/v1/rules/import", {"path": str(path)})
        assert_problem(answer, status, "not_permitted" if status == 403 else "invalid_request")
    for body in ({}, {"path": "/x", "pack": "construction"}, {"pack": "constructoin"}, {"pack": 3}):
        assert_problem(kept(little, "POST", "/v1/rules/import", body), 400, "invalid_request")
    wrong = {"path": str(little[2]), "default_source": "code_c"}
    assert (
        "did you mean"
        in assert_problem(kept(little, "POST", "/v1/rules/import", wrong), 400, "invalid_request")["detail"]
    )


def test_removing_a_source_retires_what_only_it_supports(little: Any) -> None:
    """Without its source a rule is gone at once; one that another source supports stays; adding it back restores."""
    book = little[2]
    by_end = {i["metadata"]["name"]: i["metadata"]["statement_id"]
              for i in asked(little[:2], "/v1/infer_rules", {"processes": [PIT]}).json["items"]}  # fmt: skip
    assert set(by_end) == {"挖掘机", "坍塌"}
    assert kept(little, "DELETE", "/v1/sources/code_a").status == 200
    left = asked(little[:2], "/v1/infer_rules", {"processes": [PIT]}).json["items"]
    assert [i["metadata"]["name"] for i in left] == ["坍塌"]
    assert [e["source_id"] for e in left[0]["metadata"]["evidence"]] == ["code_b"]
    gone = kept(little, "GET", f"/v1/rules/statements/{by_end['挖掘机']}").json
    assert (gone["state"], gone["reason"]) == ("retired", "the source code_a was removed")
    assert [lost["source_id"] for lost in gone["lost"]] == ["code_a"]
    assert kept(little, "POST", "/v1/rules/import", {"path": str(book)}).json["complete"] is True
    again = asked(little[:2], "/v1/infer_rules", {"processes": [PIT]}).json["items"]
    assert {i["metadata"]["name"]: i["metadata"]["statement_id"] for i in again} == by_end


# -- review -----------------------------------------------------------------------------------------------


def test_what_is_proposed_waits_for_a_review(tmp_path: Path) -> None:
    """A proposed rule is not served; it stands in the queue with its quote; approved, it is; each step is audited."""
    with rules_server(tmp_path) as served:
        url, library = served
        book = tmp_path / "books" / "little.yaml"
        book.write_text(BOOK, "utf-8")
        kept(served, "POST", "/v1/rules/import", {"path": str(book), "status": "proposed"})
        assert asked(served, "/v1/infer_rules", {"processes": [PIT]}).json["items"] == []
        first = kept(served, "GET", "/v1/rules/review?limit=1").json
        second = kept(served, "GET", f"/v1/rules/review?after={first['next']}").json
        queue = first["statements"] + second["statements"]
        assert [s["dst"]["name"] for s in queue] == ["挖掘机", "坍塌"]
        assert queue[0]["evidences"][0]["quote"] == "应当配备挖掘机"
        ids = [s["statement_id"] for s in queue]
        token = key(library, "registry")
        body = {"statement_ids": ids[:1], "action": "approve"}
        assert send(url, "POST", "/v1/rules/review", body, token).json == {"action": "approve", "changed": 1}
        assert send(url, "POST", "/v1/rules/review", body, token).json["changed"] == 0
        rejected = {"statement_ids": ids[1:], "action": "reject", "reason": "条款已废止"}
        assert kept(served, "POST", "/v1/rules/review", rejected).json["changed"] == 1
        found = asked(served, "/v1/infer_rules", {"processes": [PIT]}).json["items"]
        assert [i["metadata"]["name"] for i in found] == ["挖掘机"]
        assert kept(served, "GET", "/v1/rules/review").json == {"statements": [], "next": None}
        shown = kept(served, "GET", f"/v1/rules/statements/{ids[1]}").json
        assert [(r["action"], r["reason"]) for r in shown["reviews"]] == [("reject", "条款已废止")]
        assert (token.split("_")[1], "approve", f"statement {ids[0]}") in audited(library)
        assert [action for _, action, _ in audited(library)] == ["reject", "approve", "imported"]


def test_what_waits_is_decided_on_by_a_range_or_all_at_once(tmp_path: Path) -> None:
    """A range and ``all`` mean what waits, and nothing else; each decision is in the audit, and an agent's key has no say."""
    with rules_server(tmp_path) as served:
        url, library = served
        (tmp_path / "books" / "little.yaml").write_text(BOOK, "utf-8")
        kept(
            served,
            "POST",
            "/v1/rules/import",
            {"path": str(tmp_path / "books" / "little.yaml"), "status": "proposed"},
        )
        ids = [s["statement_id"] for s in kept(served, "GET", "/v1/rules/review").json["statements"]]
        token = key(library, "registry")

        def decide(which: str, action: str = "approve", token: str = token) -> Any:
            return send(url, "POST", "/v1/rules/review", {"statement_ids": which, "action": action}, token)

        library.catalog.put_agent(parse_agent({"agent_id": "a", "knowledge_scope": [{"domain": "law"}]}))
        assert decide("all", token=key(library, "registry", agent="a")).status in (403, 404)
        assert decide("all", token=key(library, "search")).status == 403
        assert decide("all", "retire").status == 400
        assert library.catalog.rules.counts()["statements"] == {"proposed": 2}
        assert decide(f"{ids[0]}-{ids[0]}", "reject").json == {"action": "reject", "changed": 1, "left": 0}
        assert decide("1-999").json == {"action": "approve", "changed": 1, "left": 0}
        assert_problem(decide("全部"), 400, "invalid_request")  # nothing waits any more; what was rejected stays so
        assert library.catalog.rules.counts()["statements"] == {"approved": 1, "rejected": 1}
        late = {"statement_ids": ids[:1], "action": "approve", "seen": "proposed"}
        assert_problem(send(url, "POST", "/v1/rules/review", late, token), 409, "conflict")
        assert library.catalog.rules.counts()["statements"] == {"approved": 1, "rejected": 1}
        assert decide(f"{ids[0]}").json["changed"] == 1
        told = audited(library)
        assert [(action, what) for _, action, what in told[:3]] == [
            ("approve", f"statement {ids[0]}"), ("approve", f"statement {ids[1]}"), ("reject", f"statement {ids[0]}"),
        ]  # fmt: skip
        assert {who for who, _, _ in told[:3]} == {token.split("_")[1]}


def test_one_call_decides_on_no_more_than_a_thousand(tmp_path: Path) -> None:
    """Of more rules the first thousand are decided on, and the answer says how many are left."""
    with rules_server(tmp_path) as served:
        entries = [BOOK, *(f"  - {{src: 深基坑开挖, rel: requires_equipment, dst: 挖掘机, when: depth_m >= {n}, status: proposed,\n"
                           "     evidence: [{source: code_b, clause: 第八条}]}\n" for n in range(1, 1_004))]  # fmt: skip
        (tmp_path / "books" / "many.yaml").write_text("".join(entries), "utf-8")
        kept(served, "POST", "/v1/rules/import", {"path": str(tmp_path / "books" / "many.yaml")})
        body = {"statement_ids": "all", "action": "approve"}
        assert kept(served, "POST", "/v1/rules/review", body).json == {
            "action": "approve",
            "changed": 1_000,
            "left": 3,
        }
        assert kept(served, "POST", "/v1/rules/review", body).json == {"action": "approve", "changed": 3, "left": 0}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3", [3]), ("3,7", [3, 7]), ("１－５０", [(1, 50)]), ("７，３－８", [7, (3, 8)]), ("3、7；12 - 20", [3, 7, (12, 20)]),
        ("All", [(1, None)]), ("全部", [(1, None)]),
    ],
)  # fmt: skip
def test_numbers_as_they_are_written(text: str, meant: list[Any]) -> None:
    """Single numbers, ranges and all, with the marks of both languages."""
    assert written_numbers(text) == meant


@pytest.mark.parametrize("text", ["", "one", "1-", "-3", "1,all", "1.5", "9" * 19])
def test_what_is_no_list_of_numbers(text: str) -> None:
    """What is no number of a rule is refused."""
    with pytest.raises(ValueError, match="list of rule numbers"):
        written_numbers(text)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"statement_ids": [1, 999], "action": "reject"}, 404),
        ({"statement_ids": "one", "action": "reject"}, 400),
        ({"statement_ids": "", "action": "reject"}, 400),
        ({"statement_ids": "1," * 1_001, "action": "reject"}, 400),
        ({"statement_ids": "999", "action": "reject"}, 404),
        ({"statement_ids": [], "action": "reject"}, 400),
        ({"statement_ids": ["1"], "action": "reject"}, 400),
        ({"statement_ids": [2**60], "action": "reject"}, 400),
        ({"statement_ids": [1], "action": "aprove"}, 400),
        ({"statement_ids": [1]}, 400),
        ([1], 400),
    ],
)
def test_a_review_decides_on_all_or_none(little: Any, body: object, status: int) -> None:
    """A review that names what is not there, or says nothing sensible, changes nothing."""
    assert_problem(
        kept(little, "POST", "/v1/rules/review", body), status, "not_found" if status == 404 else "invalid_request"
    )
    assert little[1].catalog.rules.counts()["statements"] == {"approved": 2}


def test_a_pack_is_taken_back(little: Any) -> None:
    """Removing a pack retires what only it says, leaves the sources, is audited, and cannot be done twice."""
    gone = kept(little, "DELETE", "/v1/rules/packs/little").json
    assert (gone["statements_retired"], gone["nodes_retired"], gone["evidences_removed"]) == (2, 3, 3)
    assert_problem(kept(little, "DELETE", "/v1/rules/packs/little"), 404, "not_found")
    assert {s.source_id for s in little[1].sources()} == {"code_a", "code_b", "crm"}
    assert audited(little[1])[0][1:] == ("removed", "little")
    found = asked(little[:2], "/v1/infer_rules", {"processes": [PIT]}).json
    assert (found["status"], found["items"]) == ("SUCCESS", [])


def test_a_pack_may_have_a_slash_in_its_name(tmp_path: Path) -> None:
    """It is taken back as others are; a path below packs leads nowhere else."""
    (tmp_path / "book.yaml").write_text(BOOK.replace("pack: little", "pack: 甲/乙"), "utf-8")
    with rules_server(tmp_path) as served:
        served[1].rules.take(read_book(tmp_path / "book.yaml"))
        assert_problem(kept(served, "DELETE", "/v1/rules/packs/%E7%94%B2"), 404, "not_found")
        done = kept(served, "DELETE", "/v1/rules/packs/%E7%94%B2/%E4%B9%99")
        assert (done.status, done.json["pack"], done.json["statements_retired"]) == (200, "甲/乙", 2)
        assert served[1].rules.packs() == ()


def test_the_document_describes_bodies_and_answers() -> None:
    """OpenAPI has a body for each POST of rules, and the members of each answer."""
    paths = openapi_document(ServerSettings())["paths"]
    for path in ("/v1/rules/import", "/v1/rules/propose", "/v1/rules/review", "/v1/retrieve", "/v1/infer_rules"):
        assert paths[path]["post"]["requestBody"]["required"] is True
    listed = paths["/v1/rules"]["get"]
    assert {p["name"] for p in listed["parameters"]} == {"q", "kind", "limit", "after"}
    answer = paths["/v1/rules/statements/{statement_id}"]["get"]["responses"]["200"]["content"]
    assert "evidences" in answer["application/json"]["schema"]["required"]


# -- what a model proposes ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> Iterator[Server]:
    with lying() as running:
        yield running


@pytest.fixture
def reading(tmp_path: Path, model: Server) -> Iterator[Served]:
    """A server whose language model finds one rule in the source ``law``."""
    model.begin("perfect")
    model.lie = saying("zh", PLAN["zh"])
    with proposing(tmp_path, "zh", model) as library, http_server(library) as url:
        yield url, library


def test_a_model_reads_a_source_in_parts_and_what_it_finds_waits(reading: Served) -> None:
    """Each request reads so many clauses and says what is left; a rule waits for a person, and the audit has whose key it was."""
    first = kept(reading, "POST", "/v1/rules/propose", {"source": "law", "limit": 1, "dry_run": True}).json
    assert (first["status"], first["read"], first["left"]) == ("SUCCESS", 1, first["clauses"] - 1)
    assert reading[1].rules.waiting() == []
    token = key(reading[1], "registry")
    with Client(reading[0], key=token) as client:
        found = client.propose_rules("law", timeout=60)
        again = client.propose_rules("law", timeout=60)
        waiting = client.proposed_rules()["statements"]
    assert [one["quote"] for one in found["proposed"]] == [PLAN["zh"].text]
    assert (found["left"], again["read"], again["read_before"], again["proposed"]) == (0, 0, found["read"], [])
    assert [(one["statement_id"], one["status"]) for one in waiting] == [
        (found["proposed"][0]["statement_id"], "proposed")
    ]
    who = [one.principal for one in reading[1].audit.list(limit=20) if one.record.get("action") == "proposed"]
    assert who == [token.split("_")[1]]


def test_a_model_that_fails_in_between_is_failed_with_what_it_was(reading: Served, model: Server) -> None:
    """Nothing is read, which is said; a client raises."""
    model.begin("401")
    told = kept(reading, "POST", "/v1/rules/propose", {"source": "law"}).json
    assert (told["status"], told["read"], told["error"]) == ("FAILED", 0, {"code": "llm_unavailable"})
    assert told["left"] == told["clauses"]
    with Client(reading[0], key=key(reading[1], "registry")) as client, pytest.raises(RetrievalFailed, match="401"):
        client.propose_rules("law", timeout=60)


def test_whoever_hangs_up_ends_the_reading(reading: Served, model: Server) -> None:
    """The model's connection is closed long before its time is up, and no further clause is sent to it."""
    url, library = reading
    model.begin("drip")
    body = json.dumps({"source": "law"}).encode()
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port)) as caller:
        head = f"POST /v1/rules/propose HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {key(library, 'registry')}\r\nContent-Length: {len(body)}\r\n\r\n"
        caller.sendall(head.encode() + body)
        while not model.seen:
            time.sleep(0.01)
    assert model.gone.wait(60)
    while not library.vitals().llm.calls:
        time.sleep(0.01)
    assert (library.vitals().llm.calls, len(model.seen)) == ({"gone": 1}, 1)


def test_who_may_not_and_what_cannot_be_read(reading: Served, model: Server) -> None:
    """Another right, an agent's key, a source that the model may not see, none, and no part of one: the model is not asked."""
    url, library = reading
    library.catalog.put_agent(parse_agent({"agent_id": "a", "knowledge_scope": [{"domain": "law"}]}))
    path, body = "/v1/rules/propose", {"source": "law"}
    assert_problem(send(url, "POST", path, body, key(library, "search")), 403, "not_permitted")
    assert_problem(kept(reading, "POST", path, body, agent="a"), 403, "not_permitted")
    assert_problem(kept(reading, "POST", path, {"source": "denied"}), 400, "invalid_request")
    assert_problem(kept(reading, "POST", path, {"source": "nowhere"}), 404, "not_found")
    for wrong in ({}, {"source": ""}, {"source": "law", "limit": 51}, {"source": "law", "tokens": 0}):
        assert_problem(kept(reading, "POST", path, wrong), 400, "invalid_request")
    assert model.seen == []


def test_without_a_model_nothing_is_proposed(tmp_path: Path) -> None:
    """The refusal says what is not set up."""
    with proposing(tmp_path, "zh", None) as library, http_server(library) as url:
        answer = kept((url, library), "POST", "/v1/rules/propose", {"source": "law"})
        assert "no language model is set up" in assert_problem(answer, 503, "llm_unavailable")["detail"]
