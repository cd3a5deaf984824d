"""The question may be called ``query`` at every door, beside the name that each call has for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from governed_door import key, send
from mcp_clients import calling, over_http
from rules_door import rules_server
from wenyuan.client import AgentClient, Client, InvalidRequest, get_context_from
from wenyuan.server.app import openapi_document
from wenyuan.settings import ServerSettings

QUERY = "深基坑开挖前要做什么"
NAMES = {"/v1/context": "retrieval_query", "/v1/infer_rules": "context"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with rules_server(tmp_path_factory.mktemp("names")) as (url, library):
        done = send(url, "POST", "/v1/rules/import", {"pack": "construction"}, key(library, "registry"))
        assert done.status == 200
        yield url, library


def told(answer: Any) -> list[str]:
    """The texts of an answer that succeeded."""
    assert (answer.status, answer.json["status"]) == (200, "SUCCESS")
    parts = answer.json["items"] if "items" in answer.json else answer.json["CONTEXT_DATA"]["knowledge_snippets"]
    return [part["content"] for part in parts]


@pytest.mark.parametrize("path", NAMES)
def test_a_body_may_call_its_question_query(served: Any, path: str) -> None:
    """Either name gives the same answer, and so do both with one text."""
    url, library = served
    token = key(library, "search")
    own, other, both = (
        send(url, "POST", path, body, token)
        for body in ({NAMES[path]: QUERY}, {"query": QUERY}, {NAMES[path]: QUERY, "query": QUERY})
    )
    assert told(own)
    assert told(own) == told(other) == told(both)


@pytest.mark.parametrize("path", NAMES)
def test_two_questions_in_one_body_are_refused(served: Any, path: str) -> None:
    """400, and both names are told."""
    url, library = served
    answer = send(url, "POST", path, {NAMES[path]: QUERY, "query": "起重吊装"}, key(library, "search"))
    assert answer.status == 400
    assert f"{NAMES[path]} and query are given and differ" in answer.json["detail"]


def test_no_question_at_all_is_refused_by_name(served: Any) -> None:
    """Neither nothing nor null is a question."""
    url, library = served
    for body in ({}, {"retrieval_query": None}, {"query": None}):
        answer = send(url, "POST", "/v1/context", body, key(library, "search"))
        assert answer.status == 400
        assert "retrieval_query is required, or query" in answer.json["detail"]


def test_clients_take_query(served: Any) -> None:
    """In every method that has a name of its own for the question, and two that differ are refused unsent."""
    url, library = served
    with Client(url, key=key(library, "search", "retrieve")) as client:
        assert client.get_context(query=QUERY).snippets == client.get_context(QUERY).snippets
        rules = [item.content for item in client.infer_rules(query=QUERY).items]
        assert rules
        assert rules == [item.content for item in client.infer_rules(context=QUERY).items]
        assert get_context_from(client, query=QUERY).snippets == get_context_from(client, QUERY).snippets
        for call in (
            lambda: client.get_context(QUERY, query="起重吊装"),
            lambda: client.infer_rules(context=QUERY, query="起重吊装"),
            lambda: get_context_from(client, QUERY, query="起重吊装"),
        ):
            with pytest.raises(InvalidRequest, match="and query are given and differ"):
                call()
        with pytest.raises(InvalidRequest, match="retrieval_query is required, or query"):
            client.get_context()
    with AgentClient(url, "builder", key=key(library, "search", agent="builder")) as agent:
        assert agent.get_context(query=QUERY).snippets == agent.get_context(QUERY).snippets


@pytest.mark.parametrize(("tool", "name"), [("get_context", "retrieval_query"), ("infer_rules", "context")])
def test_tools_for_models_take_query(served: Any, tool: str, name: str) -> None:
    """The schema names both, and two that differ are refused."""
    url, library = served
    token = key(library, "retrieve", "search")

    async def use(client: Any) -> Any:
        return (await client.list_tools()).tools

    (schema,) = (one.input_schema for one in over_http(url, use, token=token) if one.name == tool)
    assert {name, "query"} <= set(schema["properties"])
    assert not over_http(url, calling(tool, query=QUERY), token=token).is_error
    refused = over_http(url, calling(tool, **{name: QUERY, "query": "起重吊装"}), token=token)
    assert refused.is_error
    assert "and query are given and differ" in refused.content[0].text


def test_the_document_tells_both_names() -> None:
    """Neither is required alone."""
    schemas = openapi_document(ServerSettings())["components"]["schemas"]
    for shape, name in (("ContextRequestShape", "retrieval_query"), ("InferRequestShape", "context")):
        assert {name, "query"} <= set(schemas[shape]["properties"])
        assert name not in schemas[shape].get("required", [])
