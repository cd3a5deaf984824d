"""Contexts over anybody's implementation of the contract: ours over HTTP, a foreign server, and Python objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from foreign_service import FAILED, QUERY, foreign, fragment, success
from governed_door import governed_server, key
from wenyuan.client import Client, InvalidRequest, NotPermitted, RetrievalFailed, get_context_from
from wenyuan.core.model import Fragment, RetrievalRequest, RetrievalResponse
from wenyuan.core.prompt_parts import ContextPolicy


def test_our_own_server(tmp_path: Path) -> None:
    """Over the bare contract of our own server, the snippets have the addresses and the trust that it has."""
    with governed_server(tmp_path) as (url, library):
        knowledge = get_context_from(url, QUERY, key=key(library, "retrieve"), max_results=5)
        found = {snippet["source"].partition("#")[0]: snippet for snippet in knowledge.snippets}
        assert found.keys() == {"crm_policy", "regulation_cn_gdpr"}
        assert found["crm_policy"]["trust"] == 5
        assert "24 小时" in found["crm_policy"]["content"]
        assert found["crm_policy"]["flags"] == []
        assert knowledge.withheld["low_trust"] == 1
        assert set(knowledge.context_data) == {"knowledge_snippets"}
        own = library.get_context(wenyuan.service.context.ContextRequest(retrieval_query=QUERY)).build
        assert {s["content"] for s in knowledge.snippets} == {s.content for s in own.snippets}
        low = ContextPolicy(allow_low_trust=True)
        with Client(url, key=key(library, "retrieve")) as shared:
            again = get_context_from(shared, QUERY, policy=low)
            assert "low-trust" in next(s for s in again.snippets if s["trust"] == 2)["flags"]
            assert shared.retrieve_fragments(QUERY)  # a client that is shared stays open


def test_a_foreign_server() -> None:
    """Fragments without metadata make snippets of trust 3, which is said; their source is their address."""
    answer = success(
        fragment("https://wiki.example/投诉%20处理.md#a", "客户投诉需在 24 小时内响应。", 0.9),
        fragment("https://wiki.example/b", "Complaints are answered within a day.", 0.8, trust="5", origin="magic"),
        fragment(
            "https://law.example/c", "必须登记。", 0.4, trust=5, origin="kg_rule", title="法", heading="一 > 二"
        ),
    )
    with foreign(answer) as (url, asked):
        knowledge = get_context_from(url, QUERY, max_results=3, context={"task_id": "t"})
    first = {"query": QUERY, "max_results": 3, "context": {"task_id": "t"}}
    assert asked == [first, {**first, "max_results": 100}]  # a rule took the place of a passage
    rule, first, second = knowledge.snippets
    assert (rule["origin"], rule["priority"], rule["heading"], rule["flags"]) == ("kg_rule", 1, "一 > 二", [])
    assert (first["source"], first["title"]) == ("https://wiki.example/投诉%20处理.md#a", "投诉 处理.md")
    assert first["refs"] == [first["source"]]
    assert (first["trust"], first["flags"], second["trust"]) == (3, ["trust-assumed"], 3)
    assert json.loads(json.dumps(knowledge.context_data)) == knowledge.context_data
    assert knowledge.tokens == sum(snippet["tokens"] for snippet in knowledge.snippets)


@pytest.mark.parametrize(
    ("key", "meant"),
    [("domian", "domain"), ("fliter", "filter"), ("min_trusts", "min_trust"), ("agnet_id", "agent_id")],
)
def test_a_misspelt_restriction_is_not_passed_on(key: str, meant: str) -> None:
    """Whatever the service, a key that misspells a restriction is refused before anything is sent, with what was meant."""
    with foreign(success()) as (url, asked), Client(url) as client:
        for ask in (client.retrieve_fragments, lambda text, context: get_context_from(url, text, context=context)):
            with pytest.raises(InvalidRequest, match=f"context.{key} is not known here; did you mean {meant}"):
                ask(QUERY, context={key: "law"})
    assert asked == []


def test_keys_of_its_own_are_passed_on_to_a_service() -> None:
    """What the contract leaves to a service, filters and limits under its own names included, reaches it as it is."""
    own = {
        "filters": {"a": 1},
        "topK": 3,
        "namespace": "n",
        "minTrust": 2,
        "tenant": "t",
        "filer": "x",
        "domain_hint": "d",
    }
    with foreign(success()) as (url, asked), Client(url) as client:
        assert not client.retrieve_fragments(QUERY, context=own)
    assert asked[0]["context"] == own


def test_policy() -> None:
    """Trust gate, copyright, repeats and budget are those of our own context service, each loss counted."""
    text = "客户投诉需在二十四小时内响应。"
    answer = success(
        fragment("urn:a", text, 0.9, trust=4, copyright="deny"),
        fragment("urn:b", "其他规定甲。", 0.8, trust=4, copyright="all rights reserved, ask us"),
        fragment("urn:c", "道听途说。", 0.7, trust=1),
        fragment("urn:d", "另一条规定。", 0.6, trust=5),
        fragment("urn:e", "另一条规定。", 0.5, trust=5),
        fragment("urn:f", "很长的规定。" * 400, 0.4, trust=5),
    )
    with foreign(answer) as (url, _):
        knowledge = get_context_from(url, QUERY, policy=ContextPolicy(token_budget=60))
    assert knowledge.withheld == {"low_trust": 1, "copyright": 2, "budget": 1, "duplicate": 1}
    contents = {snippet["source"]: snippet["content"] for snippet in knowledge.snippets}
    assert contents == {"urn:a": "", "urn:b": "", "urn:d": "另一条规定。"}
    assert "no-excerpt" in knowledge.snippets[0]["flags"]


def test_several_queries() -> None:
    """What several queries find is merged, each fragment once with its best score; what is degraded is told."""
    one = fragment("urn:a", "甲", 0.5, trust=4, degraded="source wiki")
    two = fragment("urn:a", "甲", 0.9, trust=4)
    with foreign(success(one), success(two, fragment("urn:b", "乙", 0.2, trust=4))) as (url, asked):
        knowledge = get_context_from(url, "甲", extra_queries=["乙"])
    assert [(s["source"], s["score"]) for s in knowledge.snippets] == [("urn:a", 0.9), ("urn:b", 0.2)]
    assert knowledge.degraded == ("source wiki",)
    assert [body["query"] for body in asked] == ["甲", "乙"]


def test_nothing_is_found() -> None:
    """An answer without fragments is a context without snippets, not a failure."""
    with foreign(success()) as (url, _):
        knowledge = get_context_from(url, QUERY)
    assert (knowledge.snippets, knowledge.tokens) == ((), 0)


@pytest.mark.parametrize("answers", [(FAILED,), (success(fragment("urn:a", "甲")), FAILED), ({"status": "OK"},)])
def test_a_failure_goes_up(answers: tuple[dict[str, Any], ...]) -> None:
    """FAILED, even of one query of several, or an answer that breaks the contract, is an exception."""
    with foreign(*answers) as (url, _), pytest.raises(RetrievalFailed):
        get_context_from(url, QUERY, extra_queries=["乙"])


class Shelf:
    """An implementation as a Python object."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def retrieve_fragments(self, request: RetrievalRequest) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_objects(tmp_path: Path) -> None:
    """A library, an object that answers with a response, and one that answers with a mapping, are asked alike."""
    given = Fragment(source="urn:a", content="甲", retrieval_score=0.5, metadata={"trust": 4})
    response = RetrievalResponse(status="SUCCESS", fragments=(given,))
    mapping = success(fragment("urn:a", "甲", 0.5, trust=4))
    assert get_context_from(Shelf(response), "甲") == get_context_from(Shelf(mapping), "甲")
    with governed_server(tmp_path) as (_, library):
        assert get_context_from(library, QUERY).snippets


@pytest.mark.parametrize(
    "answer",
    [FAILED, RetrievalResponse(status="FAILED", error_message="down"), OSError("gone"), None, [], success({"x": 1})],
)
def test_objects_that_fail(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever an object does instead of answering is a RetrievalFailed, and logged."""
    with pytest.raises(RetrievalFailed):
        get_context_from(Shelf(answer), QUERY)
    assert any(record.levelname == "ERROR" for record in caplog.records)


def test_refusals() -> None:
    """A request that is malformed or not permitted is said to be so, and a wrong one is not sent."""
    with pytest.raises(NotPermitted):
        get_context_from(Shelf(NotPermitted("not yours")), QUERY)
    with foreign(success()) as (url, asked):
        for wrong in ({"retrieval_query": " "}, {"retrieval_query": "x", "max_results": 0}):
            with pytest.raises(InvalidRequest):
                get_context_from(url, **wrong)
        assert asked == []
