"""The knowledge service, the context service and the registry over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from governed_door import SUPPORT, TEXTS, governed_server, send
from http_door import assert_problem
from wenyuan.core.errors import EngineUnavailable
from wenyuan.server.app import openapi_document
from wenyuan.settings import ServerSettings

Served = tuple[str, Any]
ASK = {"query": "客户投诉多久响应"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("governed")
    with governed_server(folder, needs_keys=False, ingest_roots=(folder / "more",)) as found:
        yield found


def meets(shape: str, body: object) -> bool:
    document = openapi_document(ServerSettings())
    pointer = {"$ref": f"#/components/schemas/{shape}", "components": document["components"]}
    return bool(jsonschema_rs.Draft202012Validator(pointer).is_valid(body))


@pytest.mark.parametrize("path", ["/v1/search", "/search"])
def test_a_search_has_the_published_shape(served: Served, path: str) -> None:
    """Passages by falling score with address, words, summary and trust; coverage and metadata beside them."""
    answer = send(served[0], "POST", path, ASK)
    assert (answer.status, answer.headers["X-Retrieval-Status"]) == (200, "SUCCESS")
    body = answer.json
    assert meets("SearchAnswerShape", body)
    first = body["passages"][0]
    assert first["source"].startswith(f"{first['source_id']}#")
    assert {p["source_id"]: p["trust"] for p in body["passages"]} == {
        "crm_policy": 5,
        "regulation_cn_gdpr": 4,
        "wiki": 2,
    }
    scores = [p["score"] for p in body["passages"]]
    assert scores == sorted(scores, reverse=True)
    assert all(p["summary"] and p["content"] and 0 < p["score"] <= 1 for p in body["passages"])
    assert {leg["state"] for leg in body["coverage"]["legs"]} == {"ok"}
    assert body["coverage"]["degraded"] == []
    assert 0.0 < body["coverage"]["answerable"] <= 1.0
    assert body["metadata"]["mode"] == "hybrid"
    assert body["metadata"]["cache"]["hit"] is False


def test_a_search_is_narrowed_by_what_it_names(served: Served) -> None:
    """Scope, trust, filters, limit and agent each narrow; without a summary there is none."""
    url = served[0]

    def sources(**members: object) -> set[str]:
        return {p["source_id"] for p in send(url, "POST", "/v1/search", {**ASK, **members}).json["passages"]}

    assert sources(knowledge_scope=[{"domain": "wiki"}]) == {"wiki"}
    assert sources(knowledge_scope=[{"domain": "wiki", "top_k": "auto"}, {"domain": "crm_policy", "top_k": 1}]) == {
        "wiki",
        "crm_policy",
    }
    assert sources(min_trust=5) == {"crm_policy"}
    assert sources(filters={"source_id": ["wiki", "crm_policy"]}) == {"wiki", "crm_policy"}
    assert len(sources(limit=1)) == 1
    assert sources(agent_id="other") == {"wiki"}
    assert [
        p["summary"] for p in send(url, "POST", "/v1/search", {**ASK, "summary": False, "limit": 1}).json["passages"]
    ] == [""]


def test_nothing_found_is_a_success_with_a_reason(served: Served) -> None:
    """Where nothing is found the list is empty and the reason is told by domain."""
    answer = send(served[0], "POST", "/v1/search", {"query": "？！", "knowledge_scope": [{"domain": "wiki"}]}).json
    assert (answer["status"], answer["passages"]) == ("SUCCESS", [])
    assert "no word" in answer["reasons"]["wiki"]


@pytest.mark.parametrize("path", ["/v1/search", "/search", "/v1/context"])
@pytest.mark.parametrize("http", [200, 503])
def test_a_failure_says_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, http: int) -> None:
    """An engine that is gone is FAILED with its name, in the configured status, and never a success with nothing."""
    with governed_server(tmp_path, needs_keys=False, failed_http_status=http) as (url, library):

        def gone(*_: Any, **__: Any) -> Any:
            raise EngineUnavailable("connection refused", component="engine stub")

        monkeypatch.setattr(library.engine, "keyword", gone)
        answer = send(url, "POST", path, {"retrieval_query": "投诉"} if path == "/v1/context" else ASK)
    assert (answer.status, answer.headers["X-Retrieval-Status"]) == (http, "FAILED")
    assert answer.json["status"] == "FAILED"
    assert "connection refused" in answer.json["error_message"]
    assert meets("ContextAnswerShape" if path == "/v1/context" else "SearchAnswerShape", answer.json)
    assert "coverage" not in answer.json


@pytest.mark.parametrize(
    ("path", "body", "where", "says"),
    [
        ("/v1/search", {}, "query", "is required"),
        ("/v1/search", {"query": " 　"}, "query", "blank"),
        ("/v1/search", {**ASK, "top_k": 3}, "top_k", "unknown"),
        ("/v1/search", {**ASK, "filter": {}}, "filter", "did you mean 'filters'"),
        ("/v1/search", {**ASK, "knowledge_scope": []}, "knowledge_scope", "must not be empty"),
        ("/v1/search", {**ASK, "knowledge_scope": [{"domain": "wiki", "topk": 1}]}, "knowledge_scope[0].topk", "did you mean 'top_k'"),
        ("/v1/search", {**ASK, "knowledge_scope": [{"domain": "wiki", "top_k": True}]}, "knowledge_scope[0].top_k", "auto"),
        ("/v1/search", {**ASK, "knowledge_scope": [{"domain": "wiki"}] * 2}, "knowledge_scope", "stands twice"),
        ("/v1/search", {**ASK, "min_trust": 3.0}, "min_trust", "integer"),
        ("/v1/search", {**ASK, "min_trust": 6}, "min_trust", "must be at most 5"),
        ("/v1/search", {**ASK, "filters": {"colour": 1}}, "filters.colour", "no such filter field"),
        ("/v1/search", {**ASK, "as_of": "20240520"}, "as_of", "2024-05-20"),
        ("/v1/search", {**ASK, "summary": "yes"}, "summary", "true or false"),
        ("/v1/search", [], "$", "must be an object"),
        ("/v1/context", {"agent_id": "support"}, "retrieval_query", "is required"),
        ("/v1/context", {"retrieval_query": "x", "extra_queries": ["y"] * 9}, "extra_queries", "at most 8"),
        ("/v1/context", {"retrieval_query": "x", "extra_queries": [""]}, "extra_queries[0]", "blank"),
        ("/v1/context", {"retrieval_query": "x", "top_k": {"wiki": 0}}, "top_k.wiki", "auto"),
        ("/v1/context", {"retrieval_query": "x", "token_budget": 0}, "token_budget", "must be at least 1"),
        ("/v1/context", {"retrieval_query": "x", "allow_low_trust": 1}, "allow_low_trust", "true or false"),
    ],
)  # fmt: skip
def test_a_malformed_request_names_each_fault(served: Served, path: str, body: object, where: str, says: str) -> None:
    """What is wrong is 400, with its path and what may have been meant."""
    problem = assert_problem(send(served[0], "POST", path, body), 400, "invalid_request")
    assert any(fault["path"] == where and says in fault["message"] for fault in problem["errors"]), problem["errors"]


def test_unknown_domains_and_agents(served: Served) -> None:
    """An unknown domain is 400 with the one that may have been meant; an unknown agent is 404."""
    url = served[0]
    problem = assert_problem(
        send(url, "POST", "/v1/search", {**ASK, "knowledge_scope": [{"domain": "crm_polcy"}]}), 400, "unknown_domain"
    )
    assert "did you mean 'crm_policy'" in problem["detail"]
    assert_problem(send(url, "POST", "/v1/search", {**ASK, "agent_id": "nobody"}), 404, "not_found")
    assert_problem(send(url, "POST", "/v1/context", {"retrieval_query": "x", "agent_id": "nobody"}), 404, "not_found")


def test_a_context_is_bounded_by_its_budget(served: Served) -> None:
    """Tokens stay within the budget that the request lowers, and what does not fit is counted."""
    ask = {"agent_id": "support", "retrieval_query": "客户投诉多久响应", "extra_queries": ["个人数据"]}
    whole = send(served[0], "POST", "/v1/context", ask).json
    assert meets("ContextAnswerShape", whole)
    small = send(served[0], "POST", "/v1/context", {**ask, "token_budget": whole["tokens"] - 1}).json
    assert small["tokens"] < whole["tokens"]
    assert small["withheld"]["budget"] >= 1


def test_sources_are_made_changed_read_and_removed(served: Served, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The life of a source over HTTP, found by a search as long as it lasts."""
    url, library = served
    folder = library.folder.parent / "more" / "faq"
    folder.mkdir(parents=True)
    (folder / "faq.md").write_text("# 发票\n\n发票可在三十日内重开。\n", encoding="utf-8")
    made = send(url, "POST", "/v1/sources", {"source_id": "faq", "path": str(folder), "trust_level": 3})
    assert (made.status, made.json["report"]["added"], made.json["counts"]["documents"]) == (201, 1, 1)
    assert_problem(send(url, "POST", "/v1/sources", {"source_id": "faq", "path": str(folder)}), 409, "conflict")
    assert "faq" in {s["source_id"] for s in send(url, "GET", "/v1/sources").json["sources"]}
    ask = {"query": "发票重开", "knowledge_scope": [{"domain": "faq"}]}
    assert [p["trust"] for p in send(url, "POST", "/v1/search", ask).json["passages"]] == [3]
    assert send(url, "PATCH", "/v1/sources/faq", {"trust": 5, "title": "常见问题"}).json["trust_level"] == 5
    assert [p["trust"] for p in send(url, "POST", "/v1/search", ask).json["passages"]] == [5]
    (folder / "two.md").write_text("# 退款\n\n退款需十日。\n", encoding="utf-8")
    again = send(url, "POST", "/v1/sources/faq/refresh").json
    assert (again["status"], again["report"]["added"], again["report"]["unchanged"]) == ("SUCCESS", 1, 1)
    assert send(url, "GET", "/v1/sources/faq").json["state"]["last_success"]
    assert send(url, "DELETE", "/v1/sources/faq").json == {"source_id": "faq", "documents": 2}
    assert_problem(send(url, "GET", "/v1/sources/faq"), 404, "not_found")
    assert_problem(send(url, "POST", "/v1/search", ask), 400, "unknown_domain")


def test_a_path_leads_only_where_the_settings_allow(served: Served) -> None:
    """Outside the allowed folders, through .. or a link, a path is 403; a relative one is 400; nothing is registered."""
    url, library = served
    root = library.folder.parent / "more"
    root.mkdir(exist_ok=True)
    (root / "link").symlink_to(library.folder.parent / "docs")
    for path in ("/etc", f"{root}/../docs", f"{root}/link/wiki", f"{root}more"):
        problem = assert_problem(
            send(url, "POST", "/v1/sources", {"source_id": "x", "path": path}), 403, "not_permitted"
        )
        assert "ingest_roots" in problem["detail"]
    for body in ({"path": "docs"}, {"path": "/etc", "trst": 3}):
        assert_problem(send(url, "POST", "/v1/sources", {"source_id": "x", **body}), 400, "invalid_request")
    assert_problem(send(url, "PATCH", "/v1/sources/wiki", {"path": "/etc"}), 400, "invalid_request")
    assert set(TEXTS) == {source.source_id for source in library.sources()}


def test_without_allowed_folders_no_path_is_taken(tmp_path: Path) -> None:
    """By default no folder may be named over HTTP, and the reason is told."""
    with governed_server(tmp_path, needs_keys=False) as (url, _):
        answer = send(url, "POST", "/v1/sources", {"source_id": "x", "path": str(tmp_path)})
        assert "[server] ingest_roots" in assert_problem(answer, 403, "not_permitted")["detail"]


def test_agents_are_made_replaced_and_removed(served: Served) -> None:
    """The life of an agent over HTTP; a scope that names no domain of ours is refused."""
    url = served[0]
    agent = {**SUPPORT, "agent_id": "temp"}
    assert send(url, "POST", "/v1/agents", agent).status == 201
    assert send(url, "POST", "/v1/agents", {**agent, "title": "客服"}).status == 200
    assert send(url, "GET", "/v1/agents/temp").json["title"] == "客服"
    wrong = {**agent, "knowledge_scope": [{"domain": "crm_polcy"}]}
    assert "did you mean" in assert_problem(send(url, "POST", "/v1/agents", wrong), 400, "invalid_request")["detail"]
    assert send(url, "DELETE", "/v1/agents/temp").json == {"agent_id": "temp", "keys_revoked": 0}
    assert_problem(send(url, "GET", "/v1/agents/temp"), 404, "not_found")
