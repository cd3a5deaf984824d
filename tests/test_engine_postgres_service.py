"""A whole library on the engine of PostgreSQL: the contract over HTTP, and a server that breaks off under load."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

import postgres_server
import wenyuan
from wenyuan.app import create_library
from wenyuan.cli.own_service import FAULT, own_service
from wenyuan.conformance import HeaderFault, HttpTarget, run
from wenyuan.core.model import RetrievalRequest, RetrievalResponse, Source
from wenyuan.server.app import FAULT_HEADER

pytestmark = pytest.mark.integration

QUESTIONS = ("连接池的最大连接数由什么决定？", "How long is annual leave carried over?")


def documents(folder: Path, count: int = 12) -> Path:
    folder.mkdir()
    for n in range(count):
        (folder / f"{n}.md").write_text(
            f"# 手册 {n}\n\n数据库连接池的最大连接数由 max_connections 决定，第 {n} 版。\n\n"
            f"## Leave\n\nUnused annual leave of up to {n + 5} days may be carried over.\n",
            "utf-8",
        )
    return folder


def test_keeps_the_contract(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases of the contract, TC-DP3-01 to 11 and the further ones, pass over HTTP on this engine."""
    monkeypatch.setenv("WENYUAN_POSTGRES__DSN", database)
    monkeypatch.setenv("WENYUAN_ENCODER__KIND", "hashing")
    with own_service("postgres") as (address, _):
        report = run(HttpTarget(address), fault=HeaderFault(FAULT_HEADER, FAULT))
    assert len(report.cases) == 11
    assert [(case.id, case.detail) for case in report.failed] == []
    assert report.exit_code == 0


def test_same_answers_as_the_default_engine(tmp_path: Path, database: str) -> None:
    """A library answers alike, score by score, whichever engine it has; what is removed is gone on both."""
    answers = []
    for engine in ("local", "postgres"):
        with create_library(
            tmp_path / engine, engine=engine, encoder={"kind": "hashing"}, postgres={"dsn": database}
        ) as library:
            library.add(Source(source_id="kb", path=str(documents(tmp_path / f"docs-{engine}"))))
            library.add(Source(source_id="gone", path=str(documents(tmp_path / f"more-{engine}", 3))))
            library.remove("gone")
            asked = [library.retrieve_fragments(RetrievalRequest(query=q, max_results=10)) for q in QUESTIONS]
            assert all(answer.fragments for answer in asked)
            answers.append(
                [(f.content, f.retrieval_score, f.metadata["source_id"]) for a in asked for f in a.fragments]
            )
            assert {name for _, _, name in answers[-1]} == {"kb"}
            assert library.readiness().ready
    (first, second) = answers
    assert [text for text, _, _ in first] == [text for text, _, _ in second]
    assert [score for _, score, _ in first] == pytest.approx([score for _, score, _ in second], abs=1e-5)


def test_a_server_that_breaks_off_under_load(tmp_path: Path) -> None:
    """Restarted as by a crash while questions come in: each is answered in full or FAILED with a reason, none is empty."""
    seen: list[RetrievalResponse] = []
    stop = threading.Event()

    def ask(library: wenyuan.Library, query: str) -> None:
        while not stop.is_set():
            seen.append(library.retrieve_fragments(RetrievalRequest(query=query, max_results=5)))

    with (
        postgres_server.own() as server,
        create_library(
            tmp_path / "library",
            engine="postgres",
            encoder={"kind": "hashing"},
            postgres={"dsn": server.dsn},
            search={"floor": 0.0},
        ) as library,
    ):
        library.add(Source(source_id="kb", path=str(documents(tmp_path / "docs"))))
        threads = [threading.Thread(target=ask, args=(library, query)) for query in QUESTIONS * 2]
        for thread in threads:
            thread.start()
        for round_ in range(3):
            before = len(seen)
            while len(seen) < before + 4:
                time.sleep(0.02)
            server.stop(signal.SIGQUIT)
            while not any(answer.status == "FAILED" for answer in seen[before:]):
                time.sleep(0.02)
            server.start()
            (tmp_path / "docs" / f"late-{round_}.md").write_text(
                f"# 新增 {round_}\n\n连接池 connections {round_}\n", "utf-8"
            )
            library.ingest("kb")
        stop.set()
        for thread in threads:
            thread.join()
        last = library.retrieve_fragments(RetrievalRequest(query=QUESTIONS[0], max_results=5))
    assert last.status == "SUCCESS"
    assert {answer.status for answer in seen} == {"SUCCESS", "FAILED"}
    assert all(len(answer.fragments) == 5 for answer in seen if answer.status == "SUCCESS")
    reasons = {answer.error_message for answer in seen if answer.status == "FAILED"}
    assert all("postgres" in str(reason) or "leg" in str(reason) for reason in reasons), reasons
