"""The overview over HTTP: what it counts, for whom, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from governed_door import governed_server, key
from http_door import call

PATH = "/v1/overview"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with governed_server(tmp_path_factory.mktemp("overview")) as (url, library):
        library.search("客户投诉")
        library.search("龘靐齉")
        yield url, library


def got(door: tuple[str, Any], query: str = "", *rights: str, agent: str | None = None) -> Any:
    token = key(door[1], *(rights or ("audit",)), agent=agent)
    return call(door[0], "GET", f"{PATH}{query}", headers={"Authorization": f"Bearer {token}"})


def test_it_counts_what_the_list_of_the_audit_gives(door: tuple[str, Any]) -> None:
    """Each number is the number of records that the audit gives for it, and the days add up."""
    found = got(door, "?days=7&zone=Asia/Shanghai")
    assert found.status == 200
    shown = found.json
    assert (len(shown["days"]), shown["total"]["questions"]) == (7, 2)
    assert sum(day["questions"] for day in shown["days"]) == shown["days"][-1]["questions"] == 2
    for name, number in shown["total"]["outcomes"].items():
        assert len(door[1].audit.list(outcome=name)) == number
    assert shown["sources"][0]["questions"] == 1
    assert {change["kind"] for change in shown["changes"]} <= {"registry", "agent", "key", "refresh", "document"}
    assert shown["changes"][0]["at"] >= shown["changes"][-1]["at"]


@pytest.mark.parametrize(
    "query", ["?days=0", "?days=400", "?days=x", "?zone=Nowhere/At-all", "?zone=../etc", "?more=1"]
)
def test_odd_queries_are_refused(door: tuple[str, Any], query: str) -> None:
    """What cannot be counted is refused by name, and never ignored."""
    assert got(door, query).status == 400


def test_only_operators_with_the_right_see_it(door: tuple[str, Any]) -> None:
    """A key without the right is refused, and so is one that is bound to an agent."""
    assert got(door, "", "search").status == 403
    assert got(door, "", "audit", agent="support").status == 403


def test_a_key_from_which_documents_are_hidden_sees_none(door: tuple[str, Any]) -> None:
    """While a document is hidden from somebody, only who sees all of them is told what was asked of all."""
    library = door[1]
    [document] = library.list_documents(source="wiki").documents
    library.set_readers(document["document_id"], {"readers": ["user:li"], "deny": []})
    assert got(door).status == 403
    assert got(door, "", "admin").status == 200
    library.set_readers(document["document_id"], None)


def test_the_audit_is_filtered_by_outcome(door: tuple[str, Any]) -> None:
    """The list of the audit takes an outcome and a source; an unknown outcome is refused."""
    headers = {"Authorization": f"Bearer {key(door[1], 'audit')}"}
    every = call(door[0], "GET", "/v1/audit?outcome=any", headers=headers).json["records"]
    assert [one["kind"] for one in every] == ["retrieval"] * 2
    best = call(door[0], "GET", "/v1/audit?source=crm_policy&outcome=any", headers=headers)
    assert best.status == 200
    assert call(door[0], "GET", "/v1/audit?outcome=good", headers=headers).status == 400
