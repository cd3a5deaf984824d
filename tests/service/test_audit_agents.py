"""What the audit says of agents, keys and searches, and that one failure is told once."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from governed_door import OTHER, SUPPORT, fill, governed_server, key, send
from http_door import assert_problem
from wenyuan.cli.root import app
from wenyuan.core.access import Agent, parse_agent
from wenyuan.core.errors import EngineUnavailable, InvalidRequest
from wenyuan.service.audit.recorder import ACTING
from wenyuan.service.search.searcher import SearchRequest

QUERY = "客戶投訴 complaint １３"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    """Three sources and two agents."""
    folder = tmp_path / "library"
    with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}, cache={"seconds": 0}) as opened:
        fill(opened, tmp_path / "docs")
        yield opened


def newest(library: Any, **which: Any) -> Any:
    (record,) = library.audit.list(limit=1, **which)
    return record


# -- agents and keys -----------------------------------------------------------------------------------------
def test_an_agent_that_could_not_be_read_again_is_not_stored(library: Any) -> None:
    """A description without a scope is refused at once, and all agents can still be listed."""
    before = library.catalog.agents()
    for broken in (Agent(agent_id="empty"), Agent(agent_id="low", min_trust=9), Agent(agent_id="a b")):
        with pytest.raises(InvalidRequest):
            library.catalog.put_agent(broken)
    assert library.catalog.agents() == before
    library.catalog.put_agent(parse_agent(SUPPORT))


def test_records_of_one_agent(library: Any) -> None:
    """The filter gives exactly the answers that an agent was given, with the others, and page by page."""
    for n in range(7):
        library.find(SearchRequest(query=QUERY, agent_id="support" if n % 3 == 0 else "other"))
    library.search(QUERY)
    found = library.audit.list(agent="other")
    assert [r.record["agent"] for r in found] == ["other"] * len(found)
    asked = [r for r in library.audit.list(kind="retrieval") if r.record["agent"] == "other"]
    assert [r.audit_id for r in found] == [r.audit_id for r in asked]
    assert len(asked) == 4
    first = library.audit.list(agent="other", limit=2)
    rest = library.audit.list(agent="other", before=first[-1].audit_id)
    assert (*first, *rest) == found
    assert library.audit.list(agent="nobody") == library.audit.list(agent="other", kind="agent") == ()


def test_agents_records_over_http_and_by_the_command_line(tmp_path: Path) -> None:
    """`?agent=` and `--agent` filter; to an agent's key another's records are not there."""
    with governed_server(tmp_path) as (url, library):
        for name in ("support", "other", "other"):
            library.find(SearchRequest(query=QUERY, agent_id=name))
        token = key(library, "audit")
        listed = send(url, "GET", "/v1/audit?agent=support", token=token).json["records"]
        assert {entry["record"]["agent"] for entry in listed} == {"support"}
        bound = key(library, "audit", agent="other")
        own = send(url, "GET", "/v1/audit", token=bound).json["records"]
        assert {entry["record"]["agent"] for entry in own} == {"other"}
        assert send(url, "GET", "/v1/audit?agent=other", token=bound).json["records"] == own
        assert_problem(send(url, "GET", "/v1/audit?agent=support", token=bound), 404, "not_found")
        env = {"WENYUAN_LIBRARY": str(library.folder), "WENYUAN_ENCODER__KIND": "hashing"}
        done = CliRunner().invoke(app, ["audit", "list", "--agent", "other", "--json"], env=env)
        assert [r["audit_id"] for r in json.loads(done.stdout)["records"]] == [r["audit_id"] for r in own]


def test_a_revoked_key_is_told_with_whose_it_was(library: Any) -> None:
    """The record has the agent and the rights of the key and never its secret; revoked again, there is no other."""
    made, secret = library.catalog.create_key("support", frozenset(("search", "audit")), None)
    library.catalog.revoke_key(made.key_id)
    record = newest(library, kind="key").record
    assert (record["action"], record["object"]) == ("revoked", made.key_id)
    assert record["changes"]["agent_id"] == ["support", None]
    assert record["changes"]["rights"] == [["audit", "search"], None]
    assert secret.split("_", 2)[2] not in json.dumps(record)
    library.catalog.revoke_key(made.key_id)
    assert len(library.audit.list(kind="key")) == 2


def test_keys_that_go_with_their_agent(library: Any) -> None:
    """Removing an agent leaves a record of each key that counted until then."""
    keys = [library.catalog.create_key("other", frozenset(("search",)), None)[0] for _ in range(3)]
    library.catalog.revoke_key(keys[0].key_id)
    assert library.catalog.remove_agent("other") == 2
    revoked = [r.record["object"] for r in library.audit.list(kind="key") if r.record["action"] == "revoked"]
    assert sorted(revoked) == sorted(k.key_id for k in keys)
    assert [k for k in library.catalog.keys() if k.revoked_at is None] == []  # noqa: SIM118  (they are no dict's)
    library.catalog.put_agent(parse_agent(OTHER))


# -- searches ------------------------------------------------------------------------------------------------
def test_a_search_is_audited(library: Any) -> None:
    """It has a record of its door, with what was given, that can be replayed."""
    answer = library.search(QUERY, limit=2)
    record = library.audit.show(answer.audit_id)
    assert (record.record["door"], record.principal) == ("search", ACTING.get().key_id)
    assert [f["passage_id"] for f in record.record["fragments"]] == [hit.passage_id for hit in answer.hits]
    assert library.replay(answer.audit_id).identical


def test_the_command_lines_search_is_audited(library: Any) -> None:
    """`wenyuan search` tells the id of its record, found under it afterwards."""
    env = {"WENYUAN_LIBRARY": str(library.folder), "WENYUAN_ENCODER__KIND": "hashing"}
    done = CliRunner().invoke(app, ["search", QUERY, "--json"], env=env)
    assert library.audit.show(json.loads(done.stdout)["audit_id"]).query["query"] == QUERY


def test_a_search_that_fails_is_audited(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record says FAILED and why; one that was malformed leaves none."""
    monkeypatch.setattr(library.engine, "keyword", broken)
    with pytest.raises(EngineUnavailable):
        library.search(QUERY)
    record = newest(library, kind="retrieval").record
    assert (record["door"], record["status"]) == ("search", "FAILED")
    assert "index is gone" in record["error"]
    with pytest.raises(InvalidRequest):
        library.search(QUERY, context={"task_id": 7})
    assert len(library.audit.list(kind="retrieval")) == 1


def broken(*_: Any, **__: Any) -> Any:
    raise EngineUnavailable("the index is gone", component="engine local")


ASKED: list[tuple[str, Any, Callable[[Any], Any]]] = [
    ("/v1/retrieve_fragments", {"query": QUERY, "max_results": 3}, lambda body: body["fragments"]),
    ("/v1/search", {"query": QUERY, "agent_id": "support"}, lambda body: body["passages"]),
    ("/v1/context", {"retrieval_query": QUERY, "agent_id": "support"}, lambda body: body["CONTEXT_DATA"]),
]


@pytest.mark.parametrize(("path", "body", "_given"), ASKED)
def test_one_failure_is_one_record(
    tmp_path: Path, path: str, body: Any, _given: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the door, a leg that fails is logged once as an error, with the reason."""
    with governed_server(tmp_path, needs_keys=False) as (url, library):
        library.engine.keyword = broken
        caplog.clear()
        assert send(url, "POST", path, body).json["status"] == "FAILED"
        errors = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
        assert len(errors) == 1
        assert "the index is gone" in errors[0]


# -- how the writing goes ------------------------------------------------------------------------------------
def test_progress_of_the_audit(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits is counted with its age; what cannot be written is said; afterwards nothing waits."""
    library.audit.flush()
    before = library.audit.progress()
    assert (before.waiting, before.lag, before.failing) == (0, 0.0, False)
    groups = library.audit._groups
    write = groups._write
    monkeypatch.setattr(groups, "_write", broken)
    library.search(QUERY)
    with pytest.raises(wenyuan.KnowledgeError):
        library.audit.flush(5)
    stuck = library.audit.progress()
    assert (stuck.waiting, stuck.failing, stuck.records) == (1, True, before.records)
    assert stuck.lag > 0
    monkeypatch.setattr(groups, "_write", write)
    library.audit.flush(10)
    after = library.audit.progress()
    assert (after.waiting, after.failing, after.records) == (0, False, before.records + 1)
