"""Named people: who asked, changed, corrected and decided is in the records by an id, and has a name for whoever may read them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from answer_library import QUESTION, answering
from governed_door import key, send
from http_door import assert_problem
from issuer_server import issuing, signing_settings
from liars_server import LIARS, lying
from signing_door import SigningDoor, signing_door
from wenyuan.core.person import person_id
from wenyuan.server.app import create_app
from wenyuan.server.keys import KeyRing
from wenyuan.server.running import start_in_thread
from wenyuan.server.token_callers import TokenCallers

_OWNER = {"groups_claim": "groups", "groups": {"own": {"roles": ["source_owner", "auditor"]}}}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[SigningDoor]:
    with signing_door(tmp_path, **_OWNER) as made:
        made.tokens._met = made.library.catalog.meet
        yield made


def test_records_name_people(door: SigningDoor) -> None:
    """A question and each kind of change have the person's id, who is found by it with issuer, subject and name."""
    token = door.issuer.token(groups=["own"])
    who = person_id(door.issuer.issuer, "u-li")
    assert door.search(token).status == 200
    entry = {"term": "投诉", "synonym": "抱怨", "direction": "both"}
    assert send(door.url, "POST", "/v1/synonyms", entry, token).json["synonyms"][0]["actor"] == who
    passage = send(door.url, "GET", "/v1/documents/1/passages", None, token).json["passages"][0]
    corrected = {"action": "exclude", "ref": passage["ref"], "reason": "x"}
    assert send(door.url, "POST", "/v1/corrections", corrected, token).json["actor"] == who
    records = send(door.url, "GET", "/v1/audit?limit=20", None, token).json["records"]
    assert {one["kind"] for one in records if one["principal"] == who} >= {"retrieval", "synonym", "correction"}
    found = send(door.url, "GET", f"/v1/people?ids={who}", None, token).json["people"]
    assert [(one["person_id"], one["issuer"], one["subject"], one["name"]) for one in found] == [
        (who, door.issuer.issuer, "u-li", "Li Ming")
    ]
    assert "Li Ming" not in json.dumps(records, ensure_ascii=False)


def test_decisions_about_gaps_name_people(door: SigningDoor) -> None:
    """Who put a gap off is kept with the decision."""
    token = door.issuer.token(groups=["own"])
    asked = {"query": "火星上的采购流程由谁批准？", "max_results": 1}
    assert send(door.url, "POST", "/v1/retrieve_fragments", asked, token).status == 200
    (gap, *_) = send(door.url, "GET", "/v1/gaps", None, token).json["gaps"]
    send(door.url, "POST", f"/v1/gaps/{gap['gap_id']}", {"state": "later", "note": "x"}, token)
    decisions = door.library.catalog.gap_decisions()
    assert {one.actor for one in decisions.values()} == {person_id(door.issuer.issuer, "u-li")}


def test_people_are_listed_for_whoever_reads_records(door: SigningDoor) -> None:
    """With the right audit; page by page; an agent's key learns of ids alone; what is no id is refused."""
    for number in range(3):
        door.search(door.issuer.token(sub=f"u-{number}", name=f"Li {number}", groups=[]))
    auditor = key(door.library, "audit")
    first = send(door.url, "GET", "/v1/people?limit=2", None, auditor).json
    rest = send(door.url, "GET", f"/v1/people?after={first['next']}", None, auditor).json
    assert {one["name"] for one in first["people"] + rest["people"]} == {"Li 0", "Li 1", "Li 2"}
    assert rest["next"] is None
    assert send(door.url, "GET", "/v1/people", None, key(door.library, "search")).status == 403
    of_agent = key(door.library, "audit", agent="support")
    assert send(door.url, "GET", "/v1/people", None, of_agent).status == 403
    ids = first["people"][0]["person_id"]
    assert len(send(door.url, "GET", f"/v1/people?ids={ids}", None, of_agent).json["people"]) == 1
    for wrong in ("x", f"{ids},", "person-", ids.upper(), ",".join([ids] * 201)):
        assert_problem(send(door.url, "GET", f"/v1/people?ids={wrong}", None, auditor), 400, "invalid_request")


def test_keys_have_roles(door: SigningDoor) -> None:
    """A key may be made of roles, with further rights; nobody gives what they do not have."""
    admin = key(door.library, "admin")
    made = send(door.url, "POST", "/v1/keys", {"roles": ["reader"], "rights": ["audit"]}, admin)
    assert made.json["rights"] == ["audit", "retrieve", "search"]
    assert_problem(send(door.url, "POST", "/v1/keys", {"roles": ["boss"]}, admin), 400, "invalid_request")
    assert_problem(send(door.url, "POST", "/v1/keys", {}, admin), 400, "invalid_request")


def test_a_token_that_expires_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    """The answer that was begun ends whole, and is recorded as that person's; the next question needs another token."""
    with (
        issuing() as issuer,
        lying() as model,
        answering(tmp_path, "zh", model, oidc=signing_settings(issuer)) as library,
    ):
        tokens = TokenCallers(library.settings.oidc, library.folder, met=library.catalog.meet)
        ring = KeyRing(library.catalog, open_without_keys=True, tokens=tokens)
        url, stop = start_in_thread(create_app(library, authenticate=ring), grace=1)
        try:
            token = issuer.token()
            gate, asked = threading.Event(), threading.Event()

            def slow(told: Any) -> Any:
                asked.set()
                assert gate.wait(60)
                return {"claims": LIARS["perfect"](told), "missing": ""}

            model.lie = slow
            headers = {"Authorization": f"Bearer {token}"}
            body = {"query": QUESTION["zh"], "stream": True}
            with httpx2.stream("POST", f"{url}/v1/answer", json=body, headers=headers, timeout=60) as answer:
                assert answer.status_code == 200
                assert asked.wait(60)
                tokens._clock = lambda: 1e11  # the token is over now
                assert send(url, "POST", "/v1/search", {"query": "x"}, token).status == 401
                gate.set()
                last = "".join(answer.iter_text()).strip().split("\n\n")[-1]
            whole = json.loads(last.partition("data: ")[2])
            assert whole["status"] == "SUCCESS"
            library.audit.flush()
            assert library.audit.show(whole["audit_id"]).principal == person_id(issuer.issuer, "u-li")
        finally:
            stop()
