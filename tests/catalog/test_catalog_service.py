"""A whole library on PostgreSQL: the contract over HTTP, and answers as from a library in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import wenyuan
import wenyuan.app
from catalog_parts import dropped, dsn_of, on_server
from milvus_server import Proxy
from wenyuan.catalog.postgres import Server
from wenyuan.cli.own_service import FAULT, own_service
from wenyuan.conformance import HeaderFault, HttpTarget, run
from wenyuan.core.access import Principal, parse_agent
from wenyuan.core.claims import Claim
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.server.handling import FAULT_HEADER
from wenyuan.service.context import ContextRequest
from wenyuan.service.fragment_search import FragmentsRequest
from wenyuan.service.operations.refresh import Worker
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.verification import VerifyRequest

pytestmark = pytest.mark.integration


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[Server]:
    made = on_server(database, tmp_path / "library")
    yield made
    dropped(made)


@pytest.mark.parametrize("engine", ["local", "postgres"])
def test_keeps_the_contract(server: Server, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases of the contract, TC-DP3-01 to 11 and the further ones, pass over HTTP on a library on PostgreSQL."""
    chosen = {"dsn": dsn_of(server), "schema_name": server.schema}
    monkeypatch.setenv("WENYUAN_ENCODER__KIND", "hashing")
    with own_service(engine, catalog=chosen) as (address, _):
        report = run(HttpTarget(address), fault=HeaderFault(FAULT_HEADER, FAULT))
    assert len(report.cases) == 11
    assert [(case.id, case.detail) for case in report.failed] == []
    assert report.exit_code == 0
    assert server.found()


def test_a_library_for_one_purpose(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kit's own library is in a folder, also where the environment names the library of a server."""
    monkeypatch.setenv("WENYUAN_CATALOG__DSN", dsn_of(server))
    monkeypatch.setenv("WENYUAN_CATALOG__SCHEMA_NAME", server.schema)
    with own_service("memory"):
        assert not server.found()


def test_a_server_that_hangs(server: Server, tmp_path: Path) -> None:
    """One that takes what it is sent and says nothing fails questions of every door in time, however many; then all goes on."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    at = conninfo_to_dict(dsn_of(server))
    proxy = Proxy(int(at["port"] or 5432), str(at.get("host") or "127.0.0.1"))
    dsn = make_conninfo(dsn_of(server), host="127.0.0.1", port=proxy.uri.rsplit(":", 1)[1])
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("# 投诉\n\n客户投诉由三号窗口负责。", "utf-8")
    chosen = {
        "catalog": {"dsn": dsn, "schema_name": server.schema},
        "encoder": {"kind": "hashing"},
        "search": {"floor": 0.0, "deadline": 3.0},
    }
    with wenyuan.app.create_library(tmp_path / "one", **chosen) as library, ThreadPoolExecutor(8) as callers:
        library.add(Source(source_id="kb", path=str(tmp_path / "docs")))
        library.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": [{"domain": "general"}]}))

        def asked(number: int) -> tuple[str, str, float]:
            begun = time.monotonic()
            answer = library.retrieve_fragments(RetrievalRequest(query=f"客户投诉 {number}", max_results=3))
            return answer.status, answer.error_message or "", time.monotonic() - begun

        def asked_elsewhere(number: int) -> tuple[str, str, float]:
            text, desk = f"客户投诉 {number}", Principal(agent_id="desk")
            doors: tuple[Callable[[], object], ...] = (
                lambda: library.search(text),
                lambda: library.find(SearchRequest(query=text), desk),
                lambda: library.get_context(ContextRequest(retrieval_query=text), desk),
                lambda: library.fetch("kb#1"),
                lambda: library.fragments(
                    FragmentsRequest(request=RetrievalRequest(query=text, max_results=3), door="mcp"), desk
                ),
                lambda: library.verify(VerifyRequest(claims=(Claim("三号窗口负责。"),))),
                lambda: library.readable_sources(desk),
            )
            begun = time.monotonic()
            try:
                doors[number % len(doors)]()
            except KnowledgeError as error:
                return "FAILED", str(error), time.monotonic() - begun
            return "SUCCESS", "", time.monotonic() - begun

        assert asked(0)[0] == "SUCCESS"
        proxy.flowing.clear()
        try:
            for ask in (asked, asked_elsewhere):
                for status, said, seconds in callers.map(ask, range(1, 9)):
                    assert (status, "catalog: " in said) == ("FAILED", True)
                    assert seconds < 20
        finally:
            proxy.flowing.set()
        assert asked(9)[0] == "SUCCESS"
    proxy.end()


def test_one_server_writes_and_another_answers(server: Server, tmp_path: Path) -> None:
    """What one server takes in, the next question at another finds; what one removes, the other gives no more."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# 投诉\n\n客户投诉由三号窗口负责。", "utf-8")
    chosen = {
        "catalog": {"dsn": dsn_of(server), "schema_name": server.schema, "sessions": 4},
        "encoder": {"kind": "hashing"},
        "search": {"floor": 0.0, "deadline": 30},
    }
    asked = RetrievalRequest(query="客户投诉", max_results=3)
    with (
        wenyuan.open(tmp_path / "one", create=True, **chosen) as one,
        wenyuan.open(tmp_path / "two", **chosen) as two,
    ):
        two.follow()
        one.add(Source(source_id="kb", path=str(docs), sensitivity="restricted"))
        assert "三号窗口" in two.retrieve_fragments(asked).fragments[0].content
        (docs / "a.md").write_text("# 投诉\n\n客户投诉由七号窗口负责。", "utf-8")
        assert Worker(two).refresh("kb").failure == ""
        assert "七号窗口" in one.retrieve_fragments(asked).fragments[0].content
        two.remove("kb")
        assert one.retrieve_fragments(asked).fragments == ()
        assert one.audit.verify().ok
        assert two.audit.verify().ok
