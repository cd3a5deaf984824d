"""The specification's scenario over HTTP: registry, knowledge scope, snippets, and a source that is a service."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from governed_door import SUPPORT, governed_server, key, send
from wenyuan.server.app import create_app
from wenyuan.server.running import start_in_thread

QUERY = "客户投诉多久响应"
ASK = {"agent_id": "support", "retrieval_query": QUERY}


@contextlib.contextmanager
def far_library(folder: Path) -> Iterator[tuple[str, Any]]:
    """Another Wenyuan on another port: its URL and what stops it."""
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "tickets.md").write_text("# 工单\n\n客户投诉响应记录在工单系统中。\n", encoding="utf-8")
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="tickets", path=str(folder / "notes")))
        url, stop = start_in_thread(create_app(library), grace=1)
        stopping = contextlib.ExitStack()
        stopping.callback(stop)
        with stopping:
            yield url, stopping.close


@pytest.fixture
def scenario(tmp_path: Path) -> Iterator[tuple[str, str, str, Any]]:
    """The URL of a server with the agent's key, an operator's key, and what stops the far service."""
    with far_library(tmp_path / "far") as (far, stop), governed_server(tmp_path / "near") as (url, library):
        operator = key(library, "registry", "ingest", "search")
        settings = {"url": far, "allow_private": True}
        api = {"source_id": "ticket_api", "type": "api", "trust": 3, "settings": settings}
        assert send(url, "POST", "/v1/sources", api, operator).status == 201
        yield url, key(library, "search", agent="support"), operator, stop


def snippets(answer: Any) -> list[dict[str, Any]]:
    assert answer.json["status"] == "SUCCESS", answer.json
    found: list[dict[str, Any]] = answer.json["CONTEXT_DATA"]["knowledge_snippets"]
    return found


def widen(url: str, operator: str, *domains: str, **members: object) -> None:
    scope = [*SUPPORT["knowledge_scope"], *({"domain": domain, "top_k": 2} for domain in domains)]
    answer = send(url, "POST", "/v1/agents", {**SUPPORT, "knowledge_scope": scope, **members}, operator)
    assert answer.status == 200, answer.json


def test_the_snippets_are_those_of_the_scope(scenario: Any) -> None:
    """Each snippet has its address, its words and its trust, and no more of a domain than its top_k."""
    url, token, _, _ = scenario
    found = snippets(send(url, "POST", "/v1/context", ASK, token))
    assert {s["source"].split("#")[0]: s["trust"] for s in found} == {"crm_policy": 5, "regulation_cn_gdpr": 4}
    assert all(re.fullmatch(r"[a-z_]+#[0-9]+", s["source"]) for s in found)
    assert any("客户投诉需在 24 小时内第一次响应" in s["content"] for s in found)
    assert [s["source"].split("#")[0] for s in found].count("regulation_cn_gdpr") == 1


def test_top_k_and_further_queries_change_one_request(scenario: Any) -> None:
    """An agent may ask for another number, "auto", and further queries."""
    url, token, _, _ = scenario
    more = {**ASK, "top_k": {"regulation_cn_gdpr": "auto", "crm_policy": 1}, "extra_queries": ["个人数据同意"]}
    assert {s["source"].split("#")[0] for s in snippets(send(url, "POST", "/v1/context", more, token))} == {
        "crm_policy", "regulation_cn_gdpr",
    }  # fmt: skip


def test_hearsay_enters_only_where_it_is_allowed(scenario: Any) -> None:
    """The wiki is out of scope; in scope it is kept out for its trust; it comes when that is allowed."""
    url, token, operator, _ = scenario
    assert "wiki" not in str(send(url, "POST", "/v1/context", {**ASK, "allow_low_trust": True}, token).json)
    widen(url, operator, "wiki")
    answer = send(url, "POST", "/v1/context", ASK, token)
    assert "wiki" not in {s["source"].split("#")[0] for s in snippets(answer)}
    allowed = snippets(send(url, "POST", "/v1/context", {**ASK, "allow_low_trust": True}, token))
    assert {s["source"].split("#")[0]: s["trust"] for s in allowed}["wiki"] == 2
    widen(url, operator, "wiki", allow_low_trust=True)
    assert "wiki" in {s["source"].split("#")[0] for s in snippets(send(url, "POST", "/v1/context", ASK, token))}


@pytest.mark.parametrize("required", [True, False])
def test_a_service_that_stops_is_told(scenario: Any, required: bool) -> None:
    """A source that is a service answers with the rest; stopped, it makes the answer FAILED, or degraded if it may."""
    url, token, operator, stop = scenario
    assert send(url, "PATCH", "/v1/sources/ticket_api", {"domain": "crm_policy"}, operator).status == 200
    if not required:
        settings = send(url, "GET", "/v1/sources/ticket_api", token=operator).json["settings"] | {"required": False}
        assert send(url, "PATCH", "/v1/sources/ticket_api", {"settings": settings}, operator).status == 200
    whole = send(url, "POST", "/v1/context", ASK, token)
    assert "ticket_api" in {s["source"].split("#")[0] for s in snippets(whole)}
    assert whole.json["coverage"]["degraded"] == []
    stop()
    answer = send(url, "POST", "/v1/context", ASK, token)
    search = send(url, "POST", "/v1/search", {"query": QUERY}, token)
    if required:
        for failed in (answer.json, search.json):
            assert failed["status"] == "FAILED"
            assert "ticket_api" in failed["error_message"]
        assert answer.json["CONTEXT_DATA"]["knowledge_snippets"] == search.json["passages"] == []
    else:
        assert {s["source"].split("#")[0] for s in snippets(answer)} == {"crm_policy", "regulation_cn_gdpr"}
        for degraded in (answer.json, search.json):
            assert degraded["coverage"]["degraded"] == ["source ticket_api"]
