"""Erasures over HTTP: a plan without texts, the erasure, its certificate and holds; and who may ask for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governed_door import governed_server, key, send
from wenyuan.core.model import Source

NAME = "李慕白"
PERSON = {"kind": "person", "values": [NAME, "138 2222 3333"]}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    with governed_server(tmp_path) as (url, library):
        (tmp_path / "staff").mkdir()
        (tmp_path / "staff" / f"{NAME}.md").write_text(f"# 值班\n\n{NAME}值夜班，电话 13822223333。\n", "utf-8")
        library.add(Source(source_id="staff", path=str(tmp_path / "staff")))
        yield url, library


def test_from_plan_to_certificate(served: tuple[str, Any]) -> None:
    """The plan has counts and no text; what is confirmed is done when it is answered; the certificate holds."""
    url, library = served
    token = key(library, "erase")
    plan = send(url, "POST", "/v1/erasures/plan", PERSON, token).json
    assert (plan["documents"], plan["places"]["documents"]) == ({"staff": 1}, 1)
    assert NAME not in str(plan) and "值夜班" not in str(plan)
    refused = send(url, "POST", "/v1/erasures", PERSON, token)
    assert (refused.status, "confirm must be true" in refused.json["detail"]) == (400, True)
    done = send(url, "POST", "/v1/erasures", {**PERSON, "confirm": True, "reference": "no. 7"}, token).json
    assert (done["state"], done["reference"]) == ("done", "no. 7")
    name = done["erasure_id"]
    assert [one["erasure_id"] for one in send(url, "GET", "/v1/erasures", None, token).json["erasures"]] == [name]
    certificate = send(url, "GET", f"/v1/erasures/{name}/certificate", None, token).json
    assert certificate["actor"] != "local"
    checked = send(url, "POST", f"/v1/erasures/{name}/verify", {"values": [NAME]}, token).json
    assert checked["ok"], checked
    wrong = send(url, "POST", f"/v1/erasures/{name}/verify", {"values": ["王若曦"]}, token).json
    assert not wrong["ok"]


def test_holds(served: tuple[str, Any]) -> None:
    """What is held is not erased, and the refusal says who holds it and why; lifted, it is."""
    url, library = served
    token = key(library, "erase")
    hold = send(url, "POST", "/v1/holds", {"kind": "source", "source_id": "staff", "reason": "case 9"}, token).json
    refused = send(url, "POST", "/v1/erasures", {**PERSON, "confirm": True}, token)
    assert (refused.status, "case 9" in refused.json["detail"]) == (400, True)
    assert [one["hold_id"] for one in send(url, "GET", "/v1/holds", None, token).json["holds"]] == [hold["hold_id"]]
    assert send(url, "POST", f"/v1/holds/{hold['hold_id']}/lift", None, token).json["lifted_by"]
    assert send(url, "POST", f"/v1/holds/{hold['hold_id']}/lift", None, token).status == 404
    assert send(url, "POST", "/v1/erasures", {**PERSON, "confirm": True}, token).json["state"] == "done"


@pytest.mark.parametrize("rights", [("audit", "registry", "ingest", "search", "retrieve"), ("search",)])
def test_other_rights_do_not_do(served: tuple[str, Any], rights: tuple[str, ...]) -> None:
    """Erasing is a right of its own: whoever keeps the library and its audit cannot erase by that."""
    url, library = served
    token = key(library, *rights)
    for method, path, body in (
        ("GET", "/v1/erasures", None), ("POST", "/v1/erasures/plan", PERSON), ("POST", "/v1/erasures", {**PERSON, "confirm": True}),
        ("GET", "/v1/holds", None), ("POST", "/v1/holds", {**PERSON, "reason": "x"}),
    ):  # fmt: skip
        assert send(url, method, path, body, token).status == 403
    assert library.erasures.list_all() == []


def test_from_whom_documents_are_hidden(served: tuple[str, Any], tmp_path: Path) -> None:
    """Whoever has the right, and may not read all documents, gets no plan: its counts would say what stands in hidden ones."""
    url, library = served
    ((number, _),) = library.catalog.live_documents("staff").values()
    library.set_readers(number, {"readers": ["user:chief"]})
    made = library.catalog.create_key(None, frozenset({"erase"}), None, user="user:li")[1]
    for body in (PERSON, {"kind": "person", "values": ["欧阳雪松"]}):
        assert send(url, "POST", "/v1/erasures/plan", body, made).status == 403
    assert send(url, "POST", "/v1/erasures", {**PERSON, "confirm": True}, made).status == 403
    assert library.erasures.list_all() == []


def test_a_document_whose_name_changes_keeps_its_readers(served: tuple[str, Any]) -> None:
    """A list of readers that was set for a document counts on when the erasure gives the document another address."""
    _, library = served
    ((before, (number, _)),) = library.catalog.live_documents("staff").items()
    library.set_readers(number, {"readers": ["user:chief"]})
    library.erasures.erase(library.erasures.person(PERSON["values"]))
    (after,) = library.catalog.live_documents("staff")
    assert after != before
    (kept,) = library.catalog.document_access("staff", after)
    assert kept.access is not None
    assert "user:chief" in str(kept.access.written())


def test_asked_twice_at_once(served: tuple[str, Any]) -> None:
    """Of two that ask at once for the same erasure, each is answered: done, nothing left to do, or busy; and never half of it."""
    url, library = served
    token = key(library, "erase")
    uri = next(iter(library.catalog.live_documents("staff")))
    body = {"kind": "document", "source_id": "staff", "uri": uri, "confirm": True}
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(send(url, "POST", "/v1/erasures", body, token).status))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 200 in statuses
    assert set(statuses) <= {200, 400, 403, 404, 503}
    assert all(one.state == "done" for one in library.erasures.list_all())
    assert library.catalog.live_documents("staff") == {}


@pytest.mark.parametrize(
    "body",
    [
        {}, {"kind": "nobody"}, {"kind": "person"}, {"kind": "person", "values": [7]}, {"kind": "person", "values": ["李"]},
        {"kind": "person", "values": ["x" * 900]}, {"kind": "person", "values": ["李慕白"] * 51},
        {"kind": "document", "document_id": 0}, {"kind": "source", "source_id": "nowhere"}, {"kind": "document", "uri": "urn:x"},
        {"kind": "person", "values": ["\ud800"]}, {"kind": "person", "values": ["李慕白"], "more": 1}, [], "x",
    ],
)  # fmt: skip
def test_odd_requests_are_refused(served: tuple[str, Any], body: Any) -> None:
    """What is no target, or none that is there, is refused with 400 or 404, and erases nothing."""
    url, library = served
    token = key(library, "erase")
    for path in ("/v1/erasures/plan", "/v1/erasures"):
        assert send(url, "POST", path, body, token).status in (400, 403, 404)
    assert library.erasures.list_all() == []
