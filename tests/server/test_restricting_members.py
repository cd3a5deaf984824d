"""Members of a request that look like restrictions: applied, or refused, at every door over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from doors import foreign_library, served
from governed_door import send
from wenyuan.core.restrictions import misplaced_in

QUERY = "customer complaint 客户投诉"
DOORS: dict[str, tuple[str, dict[str, Any]]] = {
    "contract": ("/v1/retrieve_fragments", {"query": QUERY, "max_results": 5}),
    "search": ("/v1/search", {"query": QUERY}),
    "context": ("/v1/context", {"retrieval_query": QUERY}),
    "verify": ("/v1/verify", {"claims": [{"text": "Complaints are answered."}]}),
    "dify": ("/retrieval", {"knowledge_id": "all", "query": QUERY}),
    "dify settings": ("/retrieval", {"knowledge_id": "all", "query": QUERY, "retrieval_setting": {"top_k": 5}}),
    "dify conditions": (
        "/retrieval",
        {"knowledge_id": "all", "query": QUERY, "metadata_condition": {"conditions": []}},
    ),
    "vector stores": ("/v1/vector_stores/all/search", {"query": QUERY}),
    "ranking": ("/v1/vector_stores/all/search", {"query": QUERY, "ranking_options": {}}),
}
PARTS = {"dify settings": "retrieval_setting", "dify conditions": "metadata_condition", "ranking": "ranking_options"}
WORDS: dict[str, Any] = {
    "Filter": {"source_id": "policy"}, "metadata_filter": {"source_id": "policy"}, "where": {"source_id": "policy"},
    "Domain": "law", "knowledge_scope": "law", "namespace": "law", "source_ids": ["law"], "minTrust": 5, "trust_level": 5,
    "agentId": "support", "permissions": ["x"], "asOf": "2020-01-01", "topK": 1, "least_score": .9, "score-threshold": .9, "领域": "law", "过滤": {},
    "min_trusts": 5, "domian": "law", "filtesr": {}, "metadata_fitler": {}, "max_reslts": 1, "agnet_id": "support", "領域": "law",
}  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with foreign_library(tmp_path_factory.mktemp("members")) as library, served(library) as address:
        yield address


@pytest.mark.parametrize("door", DOORS)
def test_what_looks_like_a_restriction_is_refused(url: str, door: str) -> None:
    """Under a name that a door does not know, no restriction is passed over in silence, at the top or within an object."""
    path, body = DOORS[door]
    assert send(url, "POST", path, body).status == 200
    for word, value in WORDS.items():
        part = PARTS.get(door)
        asked = {**body, part: {**body[part], word: value}} if part else {**body, word: value}
        refused = send(url, "POST", path, asked)
        said = not word.isascii() or word in json.dumps(refused.json)
        assert (refused.status, said) == (400, True), (word, refused.body[:300])


def test_a_restriction_within_one_condition_is_refused(url: str) -> None:
    """A member of one of Dify's conditions that looks like a restriction is refused with its place; others may be sent."""
    path, body = DOORS["dify"]
    test = {"name": "source_id", "comparison_operator": "not empty"}

    def asked(more: dict[str, Any]) -> Any:
        conditions = {"metadata_condition": {"conditions": [test, {**test, **more}]}}
        return send(url, "POST", path, {**body, **conditions})

    assert asked({"id": "c1", "filter": None}).status == 200
    for word, value in WORDS.items():
        refused = asked({word: value})
        said = json.dumps(refused.json, ensure_ascii=False)
        assert (refused.status, f"metadata_condition.conditions[1].{word}" in said) == (400, True), (word, said)


@pytest.mark.parametrize("depth", [0, 1])
def test_a_restriction_within_a_filter_of_a_vector_store_is_refused(url: str, depth: int) -> None:
    """A member of a comparison, or of what joins several, that is none of the protocol's is refused with its place."""
    path, body = DOORS["vector stores"]
    test = {"type": "ne", "key": "source_id", "value": "x"}

    def asked(joined: dict[str, Any], inner: dict[str, Any]) -> Any:
        return send(url, "POST", path, {**body, "filters": {"type": "and", "filters": [{**test, **inner}], **joined}})

    assert asked({}, {}).status == 200
    for word, value in {**WORDS, "key": "source_id", "value": "law"}.items():
        if depth and word in test:
            continue
        refused = asked({}, {word: value}) if depth else asked({word: value}, {})
        place = ("filters.filters[0]." if depth else "filters.") + (word if word.isascii() else "")
        said = json.dumps(refused.json, ensure_ascii=False)
        assert (refused.status, place in said) == (400, True), (word, said)


@pytest.mark.parametrize("door", ["dify", "vector stores"])
def test_what_restricts_nothing_may_be_sent(url: str, door: str) -> None:
    """Members that other servers know, and null for those that say nothing, are no fault."""
    path, body = DOORS[door]
    for more in (
        {"user": "u1"},
        {"filter": None},
        {"stream": False},
        {"metadata": {"trace": "t"}},
        {"request_id": "r"},
    ):
        assert send(url, "POST", path, {**body, **more}).status == 200


def test_the_protocols_own_name_is_told() -> None:
    """Who writes it otherwise is told how the protocol says it, and where nothing does."""
    known = {"filter": "filters", "max_results": "max_num_results"}
    told = {
        fault.path: fault.message
        for fault in misplaced_in({"where": 1, "limit": 2, "minTrust": 3, "filters": 4}, ("filters",), known)
    }
    assert "filters" in told["where"]
    assert "max_num_results" in told["limit"]
    assert "leave it out" in told["minTrust"]
    assert "filters" not in told
