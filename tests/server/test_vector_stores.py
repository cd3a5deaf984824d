"""OpenAI's vector-store search, asked by OpenAI's own client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from doors import attach_optional, broken, foreign_library, served
from governed_door import key, send

PATH = "/v1/vector_stores/all/search"
QUERY = "客户投诉 customer complaint"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with foreign_library(tmp_path_factory.mktemp("stores")) as found:
        yield found


@pytest.fixture(scope="module")
def url(library: Any) -> Iterator[str]:
    with served(library, needs_keys=True) as address:
        yield address


@pytest.fixture(scope="module")
def client(library: Any, url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=key(library, "retrieve"), max_retries=0) as found:
        yield found


def sources(page: Any) -> set[str]:
    return {result.attributes["source_id"] for result in page.data}


def test_the_real_client_reads_the_contracts_fragments(client: Any, library: Any, url: str) -> None:
    """The same fragments in the same order as `retrieve_fragments`, in the client's own types."""
    for query in ("客户投诉多久响应", "database connection pool", "个人数据"):
        page = client.vector_stores.search("all", query=query, max_num_results=5)
        asked = {"query": query, "max_results": 5}
        fragments = send(url, "POST", "/v1/retrieve_fragments", asked, key(library, "retrieve")).json["fragments"]
        found = [(r.content[0].text, r.score, r.file_id) for r in page.data]
        assert found == [(f["content"], f["retrieval_score"], f["metadata"]["passage_id"]) for f in fragments]
        assert found
        assert page.data[0].attributes["source"].startswith("file:")
        assert page.data[0].content[0].type == "text"
        assert page.data[0].filename


def test_attributes_keep_to_the_limits(client: Any) -> None:
    """At most 16 attributes, each a text of at most 512 characters, a number or a truth."""
    for result in client.vector_stores.search("all", query=QUERY).data:
        assert len(result.attributes) <= 16
        assert all(isinstance(v, (str, int, float, bool)) and len(str(v)) <= 512 for v in result.attributes.values())
        assert {"trust", "source_id", "origin"} <= set(result.attributes)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"type": "eq", "key": "部门", "value": "客服部"}, {"policy"}),
        ({"type": "ne", "key": "部门", "value": "客服部"}, {"law", "wiki"}),
        ({"type": "gt", "key": "year", "value": 2021}, {"policy"}),
        ({"type": "gte", "key": "year", "value": 2021}, {"policy", "law"}),
        ({"type": "lt", "key": "year", "value": 2024}, {"law"}),
        ({"type": "lte", "key": "trust", "value": 2}, {"wiki"}),
        ({"type": "in", "key": "部门", "value": ["客服部", "法务部"]}, {"policy", "law"}),
        ({"type": "nin", "key": "部门", "value": ["客服部"]}, {"law", "wiki"}),
        (
            {
                "type": "or",
                "filters": [
                    {"type": "eq", "key": "source_id", "value": "wiki"},
                    {
                        "type": "and",
                        "filters": [
                            {"type": "eq", "key": "year", "value": 2024},
                            {"type": "eq", "key": "language", "value": "zh"},
                        ],
                    },
                ],
            },
            {"policy", "wiki"},
        ),
    ],
)
def test_filters_narrow(client: Any, filters: dict[str, Any], expected: set[str]) -> None:
    """Comparisons of each type, and their combinations."""
    every = sources(client.vector_stores.search("all", query=QUERY))
    assert len(every) == 3
    assert sources(client.vector_stores.search("all", query=QUERY, filters=filters)) == expected & every


@pytest.mark.parametrize(
    ("members", "param"),
    [
        ({"filters": {"type": "eq", "key": "yaer", "value": 1}}, "filters.key"),
        ({"filters": {"type": "like", "key": "year", "value": 1}}, "filters.type"),
        ({"filters": {"type": "eq", "key": "year"}}, "filters.value"),
        ({"filters": {"type": "in", "key": "year", "value": 1}}, "filters.value"),
        ({"filters": {"type": "eq", "key": "year", "value": [1]}}, "filters.value"),
        ({"filters": {"type": "and", "filters": []}}, "filters.filters"),
        ({"max_num_results": 51}, "max_num_results"),
        ({"max_num_results": 0}, "max_num_results"),
        ({"ranking_options": {"score_threshold": 2.0}}, "ranking_options.score_threshold"),
        ({"query": " "}, None),
        ({"query": []}, None),
    ],
)
def test_what_is_wrong_is_a_bad_request(client: Any, members: dict[str, Any], param: str | None) -> None:
    """The client raises its own error, which names the member."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.vector_stores.search("all", **{"query": QUERY, **members})
    assert caught.value.type == "invalid_request_error"
    assert param is None or caught.value.param == param


def test_a_store_that_is_not_there_is_not_found(client: Any) -> None:
    """An unknown domain is an error, never an empty page; a known one is a store of its own."""
    with pytest.raises(openai.NotFoundError) as caught:
        client.vector_stores.search("vs_123", query=QUERY)
    assert caught.value.code == "unknown_domain"
    assert sources(client.vector_stores.search("law", query=QUERY)) == {"law"}


def test_a_wrong_key_is_an_authentication_error(url: str, library: Any) -> None:
    """A wrong key and a key without the right raise what the client has for them."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0) as other:
        with pytest.raises(openai.AuthenticationError) as caught:
            other.vector_stores.search("all", query=QUERY)
        assert caught.value.code == "invalid_api_key"
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key=key(library, "audit"), max_retries=0) as other,
        pytest.raises(openai.PermissionDeniedError),
    ):
        other.vector_stores.search("all", query=QUERY)


def test_a_failure_raises(client: Any, library: Any) -> None:
    """What the contract calls FAILED is a server error with the reason."""
    with broken(library), pytest.raises(openai.InternalServerError, match="the index is gone") as caught:
        client.vector_stores.search("all", query=QUERY)
    assert (caught.value.status_code, caught.value.code) == (503, "engine_unavailable")
    assert caught.value.type == "server_error"


def test_the_stores_are_listed_to_the_real_client(client: Any) -> None:
    """Every domain and `all`, each of which the client can search; the newest first, as there."""
    stores = list(client.vector_stores.list())
    assert [store.id for store in stores][:3] == ["wiki", "law", "policy"]
    assert {store.id for store in stores} == {"policy", "law", "wiki", "all"}
    times = [store.created_at for store in stores]
    assert times == sorted(times, reverse=True)
    assert {store.id: store.file_counts.completed for store in stores} == {"all": 3, "policy": 1, "law": 1, "wiki": 1}
    for store in stores:
        assert (store.object, store.status, store.name) == ("vector_store", "completed", store.id)
        found = sources(client.vector_stores.search(store.id, query=QUERY))
        assert found <= ({store.id} if store.id != "all" else {"policy", "law", "wiki"})


def test_the_list_has_pages(client: Any) -> None:
    """The client walks them by `after`; `before` goes back, and an unknown place is refused."""
    whole = [store.id for store in client.vector_stores.list()]
    page = client.vector_stores.list(limit=3)
    assert ([store.id for store in page.data], page.has_more) == (whole[:3], True)
    assert (page.first_id, page.last_id) == (whole[0], whole[2])
    assert [store.id for store in client.vector_stores.list(limit=1)] == whole
    assert [store.id for store in client.vector_stores.list(limit=2, order="asc")] == whole[::-1]
    back = client.vector_stores.list(limit=2, before=whole[3])
    assert ([store.id for store in back.data], back.has_more) == (whole[1:3], True)
    last = client.vector_stores.list(after=whole[-1])
    assert (last.data, last.has_more, last.first_id) == ([], False, None)
    for wrong in ({"after": "nowhere"}, {"limit": 0}, {"limit": 101}, {"order": "best"}):
        with pytest.raises(openai.BadRequestError) as caught:
            client.vector_stores.list(**wrong)
        assert caught.value.param == next(iter(wrong))


def test_an_agents_list_is_its_scope(library: Any, url: str) -> None:
    """What is outside is not there, and is no place to go on from."""
    token = key(library, "retrieve", agent="support")
    with openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0) as other:
        stores = list(other.vector_stores.list())
        assert {store.id for store in stores} == {"policy", "law", "all"}
        assert {store.id: store.file_counts.total for store in stores}["all"] == 2
        with pytest.raises(openai.BadRequestError):
            other.vector_stores.list(after="wiki")
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0) as nobody,
        pytest.raises(openai.AuthenticationError),
    ):
        nobody.vector_stores.list()


def test_several_queries_give_each_fragment_once(client: Any) -> None:
    """With its best score, and no more than were asked for."""
    one = client.vector_stores.search("all", query="客户投诉多久响应")
    both = client.vector_stores.search("all", query=["客户投诉多久响应", "database connection pool"])
    ids = [result.file_id for result in both.data]
    assert len(ids) == len(set(ids))
    assert {r.file_id for r in one.data} <= set(ids)
    assert [r.score for r in both.data] == sorted((r.score for r in both.data), reverse=True)
    assert len(client.vector_stores.search("all", query=["客户投诉", "pool"], max_num_results=1).data) == 1


def test_the_threshold_cuts(client: Any) -> None:
    """No result scores below `score_threshold`; one that nothing reaches gives an empty page."""
    best = client.vector_stores.search("all", query=QUERY).data[0]
    page = client.vector_stores.search("all", query=QUERY, ranking_options={"score_threshold": best.score})
    assert [r.file_id for r in page.data] == [best.file_id]
    assert client.vector_stores.search("all", query=QUERY, ranking_options={"score_threshold": 1.0}).data == []


def test_an_optional_part_that_is_down_is_told(tmp_path: Path) -> None:
    """In a header and in the attributes of each result."""
    with foreign_library(tmp_path) as library, served(library) as url:
        attach_optional(library)
        answer = send(url, "POST", PATH, {"query": QUERY})
        assert answer.headers["X-Retrieval-Degraded"] == "source elsewhere"
        assert {r["attributes"]["degraded"] for r in answer.json["data"]} == {"source elsewhere"}
        assert send(url, "POST", PATH, {"query": "zqxv jwkp"}).status == 503
