"""Questions that got no answer are in the audit: of which door, for whom, over which sources, and what kind of failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import fill, governed_server, key, send
from wenyuan.core.access import Principal
from wenyuan.core.errors import CatalogUnavailable, EngineUnavailable, NotPermitted
from wenyuan.core.model import RetrievalRequest
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.searcher import SearchRequest

QUERY = "客户投诉 多久响应"
WHO = Principal(key_id="k1", agent_id="support")


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as opened:
        fill(opened, tmp_path / "docs")
        yield opened


def unavailable(*_: Any, **__: Any) -> Any:
    raise EngineUnavailable("the index is gone", component="engine local")


def wrong(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a text that nobody should read")


def records(library: Any) -> list[dict[str, Any]]:
    library.audit.flush()
    return [{**r.record, "principal": r.principal} for r in library.audit.list(kind="retrieval")]


def find(library: Any) -> None:
    library.find(SearchRequest(query=QUERY), WHO)


def context(library: Any) -> None:
    library.get_context(ContextRequest(retrieval_query=QUERY), WHO)


DOORS: dict[str, Callable[[Any], None]] = {"search": find, "context": context}


@pytest.mark.parametrize("door", DOORS)
def test_a_failure_is_recorded_once(library: Any, monkeypatch: pytest.MonkeyPatch, door: str) -> None:
    """One record with status, kind, the agent, and the sources that its scope holds; the caller gets the error."""
    monkeypatch.setattr(library.engine, "keyword", unavailable)
    with pytest.raises(EngineUnavailable):
        DOORS[door](library)
    (record,) = records(library)
    assert {"door": door, "status": "FAILED", "principal": "k1", "agent": "support"}.items() <= record.items()
    assert record["error_code"] == EngineUnavailable("x").code
    assert "the index is gone" in record["error"]
    assert set(record["scope"]["sources"]) == {"crm_policy", "regulation_cn_gdpr"}


@pytest.mark.parametrize("door", [*DOORS, "retrieve_fragments"])
def test_a_fault_of_ours_is_recorded_by_its_kind(library: Any, monkeypatch: pytest.MonkeyPatch, door: str) -> None:
    """What no part foresaw is recorded, too; its text, which may hold anything, is not."""
    monkeypatch.setattr(library._retriever, "retrieve", wrong)
    if door == "retrieve_fragments":
        assert library.retrieve_fragments(RetrievalRequest(query=QUERY, max_results=3), WHO).status == "FAILED"
    else:
        with pytest.raises(ZeroDivisionError):
            DOORS[door](library)
    (record,) = records(library)
    assert (record["door"], record["error_code"]) == (door, "internal_error")
    assert record["error"] == "internal error: ZeroDivisionError"


def test_a_fault_after_the_record_is_recorded_as_one(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the caller is told FAILED, the last record of the question says so, whatever went well before."""
    monkeypatch.setattr("wenyuan.service.fragment_search.fragments_of", wrong)
    assert library.retrieve_fragments(RetrievalRequest(query=QUERY, max_results=3), WHO).status == "FAILED"
    last, *_ = records(library)
    assert (last["status"], last["error_code"]) == ("FAILED", "internal_error")


def test_a_catalog_that_is_away_is_recorded(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that fails before its scope is known is recorded with none."""

    def away(*_: Any, **__: Any) -> Any:
        raise CatalogUnavailable("the disk is away", component="catalog")

    monkeypatch.setattr(library.catalog, "agent", away)
    with pytest.raises(CatalogUnavailable):
        find(library)
    (record,) = records(library)
    assert (record["status"], record["scope"]["count"]) == ("FAILED", 0)


def test_a_refused_request_leaves_no_record(library: Any) -> None:
    """What was not asked, since it may not be, is no retrieval."""
    with pytest.raises(NotPermitted):
        library.find(SearchRequest(query=QUERY, agent_id="other"), WHO)
    assert records(library) == []


def test_contexts_are_told_apart_from_searches(library: Any) -> None:
    """A search that served a context says so."""
    find(library)
    context(library)
    assert sorted({r["door"] for r in records(library)}) == ["context", "search"]


@pytest.mark.parametrize(
    ("path", "body", "door"),
    [("/v1/search", {"query": QUERY}, "search"), ("/v1/context", {"retrieval_query": QUERY}, "context")],
)
def test_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any], door: str
) -> None:
    """Over HTTP the answer says FAILED, and the record names the key."""
    with governed_server(tmp_path) as (url, library):
        token = key(library, "search", "retrieve", agent="support")
        monkeypatch.setattr(library.engine, "keyword", unavailable)
        assert send(url, "POST", path, body, token).json["status"] == "FAILED"
        (record,) = records(library)
    assert (record["door"], record["status"], record["principal"]) == (door, "FAILED", token.split("_")[1])
