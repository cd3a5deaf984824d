"""The caller's side of search and context, against a real governed server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governed_door import governed_server, key
from wenyuan.client import AgentClient, Client, InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.client.context_replies import read_context, read_passages
from wenyuan.core.errors import EngineUnavailable

QUERY = "客户投诉多久响应"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    with governed_server(tmp_path_factory.mktemp("client")) as found:
        yield found


@pytest.mark.parametrize("path", ["", "/", "/v1/retrieve_fragments", "/retrieve_fragments"])
def test_search_and_context_are_asked_beside_the_contract(served: Any, path: str) -> None:
    """Whatever URL of the service a client was given, it finds the three endpoints."""
    url, library = served
    with Client(url + path, key=key(library, "search", "retrieve")) as client:
        assert client.retrieve_fragments(QUERY, max_results=2)
        found = client.search(QUERY, knowledge_scope=[{"domain": "wiki"}], min_trust=1, summary=False)
        assert [p["source"].split("#")[0] for p in found.passages] == ["wiki"]
        assert client.get_context(QUERY, agent_id="support").snippets


def test_an_agent_gets_its_context(served: Any) -> None:
    """An agent names its query alone; scope and trust are the registry's."""
    url, library = served
    with AgentClient(url, "support", key=key(library, "search", agent="support")) as agent:
        known = agent.get_context(retrieval_query=QUERY, extra_queries=["个人数据"], top_k={"crm_policy": "auto"})
    assert {s["source"].split("#")[0]: s["trust"] for s in known.snippets} == {
        "crm_policy": 5,
        "regulation_cn_gdpr": 4,
    }
    assert known.context_data["knowledge_snippets"][0]["content"]
    assert (known.degraded, known.tokens > 0) == ((), True)


def test_refusals_are_told_apart(served: Any) -> None:
    """No key and another's agent are NotPermitted or RetrievalFailed, a malformed request is InvalidRequest."""
    url, library = served
    with Client(url) as client, pytest.raises(NotPermitted, match="401"):
        client.search(QUERY)
    with Client(url, key=key(library, "search", agent="support")) as client:
        with pytest.raises(InvalidRequest) as caught:
            client.search(QUERY, top_k=3)
        assert caught.value.faults[0].path == "top_k"
        with pytest.raises(RetrievalFailed, match="404"):
            client.search(QUERY, agent_id="other")
        with pytest.raises(InvalidRequest, match="JSON"):
            client.search(QUERY, filters={"language": {1, 2}})


def test_a_failure_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """FAILED raises, from search and context alike, and the log does not show the query."""

    def gone(*_: Any, **__: Any) -> Any:
        raise EngineUnavailable(f"no answer to {QUERY}", component="engine stub")

    with governed_server(tmp_path, needs_keys=False) as (url, library):
        monkeypatch.setattr(library.engine, "keyword", gone)
        with Client(url) as client, AgentClient(client, "support") as agent:
            for ask in (client.search, agent.get_context):
                with pytest.raises(RetrievalFailed, match="engine stub"):
                    ask(QUERY)
    logged = [record.message for record in caplog.records if record.name == "wenyuan.client"]
    assert len(logged) == 2
    assert not any(QUERY in line for line in logged)


GOOD = {"source": "a#1", "content": "x", "trust": 3}
COVERAGE = {"legs": [], "degraded": []}


@pytest.mark.parametrize(
    "entry",
    [{}, {**GOOD, "source": ""}, {**GOOD, "content": None}, {**GOOD, "trust": 6}, {**GOOD, "trust": True}, []],
)
def test_an_answer_that_breaks_the_contract_is_refused(entry: Any) -> None:
    """An entry without source, content or a trust from 1 to 5 is no answer; with all of them it is."""
    search = {"status": "SUCCESS", "coverage": COVERAGE, "reasons": {}, "metadata": {}}
    context = {"status": "SUCCESS", "coverage": COVERAGE, "withheld": {}, "tokens": 1}
    assert read_passages({**search, "passages": [GOOD]}).passages == (GOOD,)
    assert read_context({**context, "CONTEXT_DATA": {"knowledge_snippets": [GOOD]}}).snippets == (GOOD,)
    with pytest.raises(ValueError, match=r"passages\[0\]"):
        read_passages({**search, "passages": [entry]})
    with pytest.raises(ValueError, match=r"knowledge_snippets\[0\]"):
        read_context({**context, "CONTEXT_DATA": {"knowledge_snippets": [entry]}})


@pytest.mark.parametrize("member", ["status", "passages", "coverage", "reasons", "metadata"])
def test_no_member_may_be_missing(member: str) -> None:
    """An answer that lacks a member is refused, never taken for an empty one."""
    whole = {"status": "SUCCESS", "passages": [], "coverage": COVERAGE, "reasons": {}, "metadata": {}}
    with pytest.raises(ValueError, match=member):
        read_passages({name: value for name, value in whole.items() if name != member})
