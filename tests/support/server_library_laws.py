"""What a whole library keeps on an engine of a server: the contract over HTTP, and a server that breaks off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import pytest

import wenyuan
from wenyuan.app import create_library
from wenyuan.cli.own_service import FAULT, own_service
from wenyuan.conformance import HeaderFault, HttpTarget, run
from wenyuan.core.errors import EngineError
from wenyuan.core.model import RetrievalRequest, RetrievalResponse, Source
from wenyuan.server.handling import FAULT_HEADER

Settings = dict[str, dict[str, Any]]
Broken = Callable[[], AbstractContextManager[tuple[Settings, Any]]]

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


class ServerLibraryLaws:
    """Bind with the fixtures ``settings`` (of a server that runs) and ``breakable`` (settings of one, and itself)."""

    engine: ClassVar[str]

    def test_keeps_the_contract(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """All cases of the contract, TC-DP3-01 to 11 and the further ones, pass over HTTP on this engine."""
        for section, values in settings.items():
            for name, value in values.items():
                monkeypatch.setenv(f"WENYUAN_{section}__{name}".upper(), str(value))
        monkeypatch.setenv("WENYUAN_ENCODER__KIND", "hashing")
        with own_service(self.engine) as (address, _):
            report = run(HttpTarget(address), fault=HeaderFault(FAULT_HEADER, FAULT))
        assert len(report.cases) == 11
        assert [(case.id, case.detail) for case in report.failed] == []
        assert report.exit_code == 0

    def test_same_answers_as_the_default_engine(self, tmp_path: Path, settings: Settings) -> None:
        """A library answers alike, score by score, whichever engine it has; what is removed is gone on both."""
        answers = []
        for engine in ("local", self.engine):
            with create_library(tmp_path / engine, engine=engine, encoder={"kind": "hashing"}, **settings) as library:
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

    def test_a_server_that_breaks_off_under_load(self, tmp_path: Path, breakable: Broken, thorough: bool) -> None:
        """Ended as by a crash while questions come in: each is answered in full or FAILED with a reason, none is empty."""
        seen: list[RetrievalResponse] = []
        stop = threading.Event()

        def ask(library: wenyuan.Library, query: str) -> None:
            while not stop.is_set():
                seen.append(library.retrieve_fragments(RetrievalRequest(query=query, max_results=5)))

        with (
            breakable() as (settings, server),
            create_library(
                tmp_path / "library", engine=self.engine, encoder={"kind": "hashing"}, **settings
            ) as library,
        ):
            library.add(Source(source_id="kb", path=str(documents(tmp_path / "docs"))))
            threads = [threading.Thread(target=ask, args=(library, query)) for query in QUESTIONS]
            for thread in threads:
                thread.start()
            try:
                for round_ in range(3 if thorough else 1):
                    _broken_off(server, library, tmp_path / "docs" / f"late-{round_}.md", seen)
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            last = library.retrieve_fragments(RetrievalRequest(query=QUESTIONS[0], max_results=5))
        assert last.status == "SUCCESS"
        assert {answer.status for answer in seen} == {"SUCCESS", "FAILED"}
        assert all(len(answer.fragments) == 5 for answer in seen if answer.status == "SUCCESS")
        reasons = {answer.error_message for answer in seen if answer.status == "FAILED"}
        assert all(self.engine in str(reason) or "leg" in str(reason) for reason in reasons), reasons


def _broken_off(server: Any, library: wenyuan.Library, late: Path, seen: list[RetrievalResponse]) -> None:
    """Break the server off once it has answered, start it once that was felt, and take in a file as soon as it lets us."""
    before = len(seen)
    while len(seen) < before + 4:
        time.sleep(0.02)
    server.crash()
    while not any(answer.status == "FAILED" for answer in seen[before:]):
        time.sleep(0.02)
    server.start()
    late.write_text(f"# 新增 {late.name}\n\n连接池 connections\n", "utf-8")
    until = time.monotonic() + 60
    while True:
        try:
            library.ingest("kb")
            return
        except EngineError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
