"""Dify's External Knowledge API: what its clients send, what they may be told, and that no failure looks empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doors import attach_optional, broken, foreign_library, served
from governed_door import key, send
from http_door import call
from wenyuan.wire.dify import dify_from_wire

PATH = "/retrieval"
ASK: dict[str, Any] = {
    "knowledge_id": "all",
    "query": "客户投诉多久响应",
    "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("dify")) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library) as address:
        yield address


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with foreign_library(tmp_path_factory.mktemp("keyed")) as library, served(library, needs_keys=True) as address:
        yield address, library


def ask(url: str, token: str | None = None, **members: Any) -> Any:
    return send(url, "POST", PATH, {**ASK, **members}, token)


def where(*conditions: tuple[Any, ...], join: str = "and") -> dict[str, Any]:
    parts = [dict(zip(("name", "comparison_operator", "value"), one, strict=False)) for one in conditions]
    return {"logical_operator": join, "conditions": parts}


def found(answer: Any) -> set[str]:
    assert answer.status == 200, answer.body
    return {record["metadata"]["source_id"] for record in answer.json["records"]}


def test_records_are_the_contracts_fragments(url: str) -> None:
    """The same fragments in the same order as `retrieve_fragments`, each with a title and metadata that is an object."""
    for query in (ASK["query"], "database pool", "个人数据"):
        records = ask(url, query=query).json["records"]
        fragments = send(url, "POST", "/v1/retrieve_fragments", {"query": query, "max_results": 5}).json["fragments"]
        assert [(r["content"], r["score"]) for r in records] == [
            (f["content"], f["retrieval_score"]) for f in fragments
        ]
        assert records
        for record in records:
            assert set(record) == {"content", "score", "title", "metadata"}
            assert record["title"]
            assert record["metadata"]["source"].startswith("file:")
            assert {"trust", "source_id", "priority", "copyright", "audit_id"} <= set(record["metadata"])


def test_nothing_found_is_an_empty_list(url: str) -> None:
    """No hit is 200 with no records."""
    answer = ask(url, query="zqxv jwkp")
    assert (answer.status, answer.json) == (200, {"records": []})
    assert answer.headers["X-Retrieval-Status"] == "SUCCESS"


def test_what_older_clients_send_is_accepted(url: str) -> None:
    """Nulls, missing settings and members that we do not know."""
    for members in (
        {"metadata_condition": None},
        {"retrieval_setting": {"top_k": None, "score_threshold": None}},
        {"retrieval_setting": None},
        {"metadata_condition": {"logical_operator": None, "conditions": None}},
        {"metadata_condition": {"conditions": []}},
        {"further": {"a": 1}},
        {"retrieval_setting": {"top_k": 3, "score_threshold": 0, "reranking_enable": False}},
    ):
        assert ask(url, **members).json["records"], members


def test_top_k_and_threshold_cut(url: str) -> None:
    """At most `top_k` records, none below the threshold, and what is cut is the end."""
    every = ask(url).json["records"]
    assert len(every) > 1
    one = ask(url, retrieval_setting={"top_k": 1, "score_threshold": 0.0}).json["records"]
    assert [r["content"] for r in one] == [every[0]["content"]]
    above = ask(url, retrieval_setting={"top_k": 5, "score_threshold": every[0]["score"]}).json["records"]
    assert [r["content"] for r in above] == [every[0]["content"]]
    assert ask(url, retrieval_setting={"top_k": 5, "score_threshold": 1.0}).json == {"records": []}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("部门", "contains", "客服"), {"policy"}),
        (("部门", "not contains", "客服"), {"law", "wiki"}),
        (("部门", "start with", "法"), {"law"}),
        (("部门", "end with", "部"), {"policy", "law"}),
        (("部门", "is", "客服部"), {"policy"}),
        (("部门", "is not", "客服部"), {"law", "wiki"}),
        (("部门", "in", ["客服部", "法务部"]), {"policy", "law"}),
        (("部门", "in", "客服部,法务部"), {"policy", "law"}),
        (("部门", "not in", ["客服部"]), {"law", "wiki"}),
        (("部门", "empty"), {"wiki"}),
        (("部门", "not empty", None), {"policy", "law"}),
        (("year", "=", 2024), {"policy"}),
        (("year", "=", "2024"), {"policy"}),
        (("year", "≠", 2024), {"law", "wiki"}),
        (("year", ">", "2021"), {"policy"}),
        (("year", "<", 2024), {"law"}),
        (("year", "≥", 2021), {"policy", "law"}),
        (("year", "≤", 2021), {"law"}),
        (("issued", "before", "2022-01-01"), {"law"}),
        (("issued", "after", 1640995200), {"policy"}),
        (("issued", "after", "1640995200"), {"policy"}),
        (("issued", "after", "2022"), {"policy"}),
        (("trust", "≥", 4), {"policy", "law"}),
        (("source_id", "is", "wiki"), {"wiki"}),
        (("部门", "is", "财务部"), set()),
    ],
)
def test_every_operator_narrows(url: str, condition: tuple[Any, ...], expected: set[str]) -> None:
    """Each operator of Dify's list finds what it says, whatever matches the query."""
    answer = ask(url, query="客户投诉 customer complaint", metadata_condition=where(condition))
    assert found(answer) <= expected
    every = found(ask(url, query="客户投诉 customer complaint"))
    assert found(answer) == expected & every


def test_conditions_are_joined(url: str) -> None:
    """And narrows, or widens."""
    two = (("部门", "is", "客服部"), ("year", "=", 2021))
    assert found(ask(url, metadata_condition=where(*two))) == set()
    assert found(ask(url, metadata_condition=where(*two, join="or"))) == {"policy", "law"}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (("部門", "is", "客服部"), "no document has"),
        (("部门", "matches", "客"), "is no operator"),
        (("部门", "is"), "is required by the operator"),
        (("部门", "in", []), "must not be an empty array"),
        (("issued", "after", 1e30), "is no time"),
        (("issued", "before", "yesterday"), "must be a date such as"),
        (("year", ">", "last"), "cannot be more or less than"),
        (("trust", "before", "2024-05-20"), "cannot be more or less than"),
    ],
)
def test_a_condition_that_cannot_be_met_is_an_error(url: str, condition: tuple[Any, ...], said: str) -> None:
    """An unknown field or operator is never an empty answer."""
    answer = ask(url, metadata_condition=where(condition))
    assert (answer.status, answer.json["error_code"]) == (400, 4000)
    assert said in answer.json["error_msg"]


@pytest.mark.parametrize(
    "members",
    [
        {"query": " "},
        {"query": 3},
        {"knowledge_id": None},
        {"retrieval_setting": {"top_k": "3"}},
        {"retrieval_setting": {"top_k": 0}},
        {"retrieval_setting": {"top_k": 101}},
        {"retrieval_setting": {"score_threshold": 2}},
        {"metadata_condition": {"logical_operator": "xor", "conditions": []}},
    ],
)
def test_malformed_requests_say_what_is_wrong(url: str, members: dict[str, Any]) -> None:
    """400 with a code and a message that names the member."""
    answer = ask(url, **members)
    assert (answer.status, answer.json["error_code"]) == (400, 4000)
    assert next(iter(members)) in answer.json["error_msg"]


def test_the_registration_probe_tells_a_good_key_from_a_wrong_one(keyed: tuple[str, Any]) -> None:
    """A request without a body is 403 with a wrong key, whatever else is wrong, and neither 403 nor 404 with a good one."""
    url, library = keyed
    token = key(library, "retrieve")
    for headers, code in (
        ({"Authorization": f"Bearer {token}x"}, 1002),
        ({"Authorization": "Bearer none"}, 1002),
        ({"Authorization": token}, 1001),
        ({}, 1001),
    ):
        refused = call(url, "POST", PATH, None, headers)
        assert (refused.status, refused.json["error_code"]) == (403, code)
        assert refused.json["error_msg"]
    assert call(url, "POST", PATH, None, {"Authorization": f"Bearer {token}"}).status not in (403, 404, 502)
    assert call(url, "POST", PATH, b"{", {"Authorization": "Bearer none"}).status == 403
    assert found(send(url, "POST", PATH, ASK, token)) >= {"policy"}
    other = send(url, "POST", PATH, ASK, key(library, "search"))
    assert (other.status, other.json["error_code"]) == (403, 1002)


def test_a_domain_that_is_not_there_is_not_empty(url: str) -> None:
    """404 with Dify's own code, and what may have been meant."""
    answer = ask(url, knowledge_id="polcy")
    assert (answer.status, answer.json["error_code"]) == (404, 2001)
    assert "did you mean 'policy'" in answer.json["error_msg"]
    assert found(ask(url, knowledge_id="policy")) == {"policy"}


def test_an_agents_key_sees_its_scope_alone(keyed: tuple[str, Any]) -> None:
    """Another domain and one that does not exist are told alike, and so are fields that only others have."""
    url, library = keyed
    token = key(library, "retrieve", agent="support")
    assert found(send(url, "POST", PATH, {**ASK, "query": "客户投诉 customer complaint"}, token)) <= {
        "policy",
        "law",
    }
    foreign, absent = (send(url, "POST", PATH, {**ASK, "knowledge_id": name}, token) for name in ("wiki", "none"))
    assert (foreign.status, foreign.json["error_code"]) == (absent.status, absent.json["error_code"]) == (404, 2001)
    assert foreign.json["error_msg"].replace("wiki", "none") == absent.json["error_msg"]


def test_a_failure_is_an_error_with_a_code(library: Any, url: str) -> None:
    """What the contract calls FAILED is a 5xx here, and the header says so."""
    with broken(library):
        answer = ask(url)
    assert answer.status == 503
    assert answer.json["error_code"] == 5001
    assert "the index is gone" in answer.json["error_msg"]
    assert answer.headers["X-Retrieval-Status"] == "FAILED"
    assert found(ask(url)) >= {"policy"}


def test_for_clients_that_swallow_errors_a_failure_is_a_record(library: Any) -> None:
    """With `dify_failure_record`, 200 with one record that says what happened, in both languages."""
    with served(library, dify_failure_record=True) as url:
        with broken(library):
            answer = ask(url)
        assert answer.status == 200
        assert answer.headers["X-Retrieval-Status"] == "FAILED"
        (record,) = answer.json["records"]
        assert "知识服务未能回答" in record["content"]
        assert "not an empty answer" in record["content"]
        assert record["metadata"]["status"] == "FAILED"
        assert ask(url, query=" ").status == 400


def test_every_answer_is_audited_as_difys(library: Any, url: str) -> None:
    """The audit names the door, and the answer can be replayed."""
    record = ask(url, metadata_condition=where(("部门", "is", "客服部"))).json["records"][0]
    audit_id = record["metadata"]["audit_id"]
    library.recorder.log.flush()
    assert library.audit.show(audit_id).record["door"] == "dify"
    assert library.replay(audit_id).identical


def test_an_optional_part_that_is_down_is_visible(tmp_path: Path) -> None:
    """With hits the answer stands and says what is missing; without any it is a failure."""
    with foreign_library(tmp_path) as library, served(library) as url:
        attach_optional(library)
        answer = ask(url)
        assert found(answer) >= {"policy"}
        assert answer.headers["X-Retrieval-Degraded"] == "source elsewhere"
        assert {r["metadata"]["degraded"] for r in answer.json["records"]} == {"source elsewhere"}
        nothing = ask(url, query="zqxv jwkp")
        assert (nothing.status, nothing.json["error_code"]) == (503, 5001)


def test_numbers_as_text_are_read_both_ways() -> None:
    """Dify's form sends every value as text."""
    wanted = dify_from_wire({**ASK, "metadata_condition": where(("year", "=", "2024"))})
    assert wanted.conditions.parts[0].values == ("2024", 2024.0)
