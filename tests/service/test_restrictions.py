"""Restrictions in the contract's context are applied at every door, and what only looks like one is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from doors import foreign_library, served
from wenyuan import Client, InvalidRequest, NotPermitted, RetrievalFailed, RetrievalRequest, RetrievalResponse
from wenyuan.client import get_context_from
from wenyuan.core.access import Principal
from wenyuan.core.errors import ConfigError
from wenyuan.core.model import Fragment, Source
from wenyuan.integrations.asker import Asker
from wenyuan.mcp.tools import TOOLS

QUERY = "customer complaint 客户投诉"
RESTRICTED = [
    ({"domain": "law"}, {"law"}),
    ({"domain": "all"}, {"law", "policy", "wiki"}),
    ({"filter": {"metadata.year": {"ge": 2022}}}, {"policy"}),
    ({"filter": {"or": [{"source_id": "law"}, {"source_id": "wiki"}]}}, {"law", "wiki"}),
    ({"min_trust": 5}, {"policy"}),
    ({"domain": "law", "filter": {"source_id": "policy"}}, set()),
    ({"agent_id": "support"}, {"law", "policy"}),
]
LOOKALIKES = (
    "filters", "sources", "source_id", "Domain", "domains", "knowledge_scope", "minTrust", "agentId", "top_k",
    "max_results", "asOf", "score_threshold", "search_kwargs", "metadata-filter", "where", "领域", "过滤",
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("restrictions")) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library) as address:
        yield address


def asked(context: dict[str, Any] | None) -> RetrievalRequest:
    return RetrievalRequest(query=QUERY, max_results=10, context=context)


def sources(fragments: Any) -> set[str]:
    return {fragment.metadata["source_id"] for fragment in fragments}


def test_a_question_without_a_domain_is_asked_of_all_even_where_one_is_called_all(tmp_path: Path) -> None:
    """A domain that is named all restricts who names it, and nobody else."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name}\n\nCustomer complaints 客户投诉 {name}.\n", encoding="utf-8")
    with wenyuan.open(tmp_path / "library", create=True) as library:
        library.add(Source(source_id="one", path=str(tmp_path / "one"), domain="all"))
        library.add(Source(source_id="two", path=str(tmp_path / "two"), domain="other"))
        assert sources(library.retrieve_fragments(asked(None)).fragments) == {"one", "two"}
        assert {p.source_id for p in library.search(QUERY).passages.values()} == {"one", "two"}
        assert sources(library.retrieve_fragments(asked({"domain": "all"})).fragments) == {"one"}


def test_without_a_restriction_everything_is_asked(library: Any) -> None:
    """Each source has an answer to the question."""
    assert sources(library.retrieve_fragments(asked(None)).fragments) == {"law", "policy", "wiki"}


@pytest.mark.parametrize(("context", "expected"), RESTRICTED)
def test_a_restriction_is_applied_and_said(
    library: Any, url: str, context: dict[str, Any], expected: set[str]
) -> None:
    """By the library, its detailed search, HTTP, the client and MCP; each fragment says which were applied."""
    response = library.retrieve_fragments(asked(context))
    assert response.status == "SUCCESS" and sources(response.fragments) == expected
    assert all(fragment.metadata["restrictions"] == list(context) for fragment in response.fragments)
    hits = library.search(QUERY, context=context)
    assert {passage.source_id for passage in hits.passages.values()} == expected
    with Client(url) as client:
        assert sources(client.retrieve_fragments(QUERY, context=context)) == expected
        if "agent_id" not in context:
            assert sources(client.retrieve_fragments(QUERY, **context)) == expected
    tool = next(tool for tool in TOOLS if tool.name == "retrieve_fragments")
    for arguments in ({"context": context}, {} if "agent_id" in context else context):
        if arguments:
            found = tool(library, {"query": QUERY, **arguments}, Principal()).value["fragments"]
            assert {one["metadata"]["source_id"] for one in found} == expected


@pytest.mark.parametrize("key", LOOKALIKES)
def test_a_key_that_looks_like_a_restriction_is_refused(library: Any, url: str, key: str) -> None:
    """It is never ignored, and the fault names it."""
    with pytest.raises(InvalidRequest) as refused:
        library.retrieve_fragments(asked({key: "law"}))
    assert [fault.path for fault in refused.value.faults] == [f"context.{key}"]
    with Client(url) as client, pytest.raises(InvalidRequest):
        client.retrieve_fragments(QUERY, context={key: "law"})


@pytest.mark.parametrize("key", ["priority", "章节", "x-depth", "user", "session", "document_id", "k"])
def test_other_keys_are_accepted(library: Any, key: str) -> None:
    """The contract lets a context hold more."""
    assert sources(library.retrieve_fragments(asked({key: "law"})).fragments) == {"law", "policy", "wiki"}


@pytest.mark.parametrize(
    "context",
    [
        {"domain": 5}, {"domain": ""}, {"domain": "nowhere"}, {"filter": "law"}, {"filter": {}}, {"filter": {"year": 1}},
        {"min_trust": "3"}, {"min_trust": 9}, {"agent_id": 7},
    ],
)  # fmt: skip
def test_a_restriction_that_cannot_be_applied_is_refused(library: Any, url: str, context: dict[str, Any]) -> None:
    """A wrong type, an unknown domain, a filter of an unknown field."""
    with pytest.raises(InvalidRequest):
        library.retrieve_fragments(asked(context))
    with Client(url) as client, pytest.raises(InvalidRequest):
        client.retrieve_fragments(QUERY, context=context)


def test_an_agent_is_bound_by_what_it_may_see(library: Any) -> None:
    """Its key may name itself and its domains; others' are told like those that are not there."""
    support = Principal(key_id="k", agent_id="support")
    for context in ({"domain": "wiki"}, {"domain": "nowhere"}):
        with pytest.raises(InvalidRequest, match="there is no domain"):
            library.retrieve_fragments(asked(context), support)
    for name in ("other", "nobody"):
        with pytest.raises(NotPermitted, match="there is no agent"):
            library.retrieve_fragments(asked({"agent_id": name}), support)
    both = asked({"agent_id": "support", "domain": "law"})
    assert sources(library.retrieve_fragments(both, support).fragments) == {"law"}


def test_a_restriction_that_is_given_twice_and_differs_is_refused(library: Any, url: str) -> None:
    """As an argument and in the context."""
    with Client(url) as client, pytest.raises(InvalidRequest, match="domain"):
        client.retrieve_fragments(QUERY, domain="law", context={"domain": "wiki"})


class Careless:
    """Keeps the contract, and ignores what it does not know of a context."""

    def retrieve_fragments(self, request: RetrievalRequest) -> RetrievalResponse:
        fragment = Fragment(source="urn:x", content="Whatever there is.", retrieval_score=0.5, metadata={"trust": 4})
        return RetrievalResponse(status="SUCCESS", fragments=(fragment,))


def test_a_service_that_ignores_a_restriction_gives_no_answer() -> None:
    """What it gives does not say that the restriction was applied."""
    assert Asker(Careless())("x", 3)
    for given in ({"domain": "law"}, {"filter": {"language": "zh"}}, {"min_trust": 3}):
        with pytest.raises(RetrievalFailed, match=next(iter(given))):
            Asker(Careless(), **given)("x", 3)
    with pytest.raises(RetrievalFailed, match="domain"):
        get_context_from(Careless(), "x", domain="law")


def test_adapters_restrict_each_query(library: Any, url: str) -> None:
    """What is given for all queries, and a filter for one besides."""
    for service in (library, url):
        asker = Asker(service, filter={"metadata.year": {"ge": 2000}})
        assert sources(asker(QUERY, 10)) == {"law", "policy"}
        assert sources(asker(QUERY, 10, filter={"source_id": "law"})) == {"law"}
        knowledge = get_context_from(service, QUERY, domain="policy")
        assert len(knowledge.snippets) == 1 and "24" in knowledge.snippets[0]["content"]


def test_options_beside_a_service_that_is_no_url_are_refused(library: Any) -> None:
    """They are for the client that is made for a URL, and would be ignored."""
    with pytest.raises(ConfigError, match="timeout"):
        get_context_from(library, QUERY, timeout=3)
    with pytest.raises(ConfigError, match="key"):
        Asker(library, key="secret")


def test_a_source_outside_of_the_domain_is_refused(library: Any) -> None:
    """Sources and domain are met both."""
    found = library.search(QUERY, sources=["law", "wiki"], domain="law")
    assert {passage.source_id for passage in found.passages.values()} == {"law"}
    with pytest.raises(InvalidRequest, match="none of these sources"):
        library.search(QUERY, sources=["wiki"], domain="law")


def test_a_filter_and_a_day_may_be_written_as_in_json(library: Any) -> None:
    """The library's own search takes them as HTTP does."""
    found = library.search(QUERY, filter={"metadata.year": 2024}, as_of="2026-01-01")
    assert {passage.source_id for passage in found.passages.values()} == {"policy"}


def test_an_audited_question_is_asked_again_within_its_restrictions(tmp_path: Path) -> None:
    """The record holds sources and filter, and a replay finds the same."""
    with foreign_library(tmp_path) as library:
        context = {"domain": "law", "filter": {"metadata.year": 2021}}
        fragment = library.retrieve_fragments(asked(context)).fragments[0]
        assert library.replay(fragment.metadata["audit_id"], exact=True).identical
