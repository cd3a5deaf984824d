"""PostgreSQL ends and starts again in the middle of an ingest and of questions: each failure is said, and nothing is lost or there twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import postgres_server
import wenyuan
from patience import in_time
from wenyuan.core.errors import KnowledgeError

pytestmark = [pytest.mark.slow, pytest.mark.integration]

FILES = 120
ASK = wenyuan.RetrievalRequest(query="第7号窗口的投诉", max_results=3)


def test_restarted_during_an_ingest_and_questions(tmp_path: Path) -> None:
    """The ingest and the questions fail by name while it is down; read again, each file is there once, and answers are those of before."""
    docs, first = tmp_path / "docs", tmp_path / "first"
    for folder in (docs, first):
        folder.mkdir()
    (first / "a.md").write_text("# 手册\n\n第7号窗口的投诉在三天内答复。\n", "utf-8")
    for n in range(FILES):
        (docs / f"{n}.md").write_text(f"# 说明 {n}\n\n" + f"编号 {n} 的设备每年检修。" * 30, "utf-8")
    with postgres_server.own() as own:
        options: dict[str, Any] = {
            "encoder": {"kind": "hashing"},
            "catalog": {"dsn": own.dsn, "schema_name": "restarted"},
        }
        with wenyuan.open(tmp_path / "library", create=True, search={"deadline": 10}, **options) as library:
            library.add(wenyuan.Source(source_id="first", path=str(first)))
            before = [f.source for f in library.retrieve_fragments(ASK).fragments]
            assert before
            reading, said = threading.Event(), []

            def take() -> None:
                try:
                    library.add(wenyuan.Source(source_id="docs", path=str(docs)), lambda _: reading.set())
                except KnowledgeError as error:
                    said.append(error)

            taking = threading.Thread(target=take)
            taking.start()
            with in_time():
                assert reading.wait(60)
            own.crash()
            answer = library.retrieve_fragments(ASK)
            assert (answer.status, answer.fragments) == ("FAILED", ())
            assert answer.error_message
            taking.join()
            assert said, "an ingest whose catalog is gone does not end well"
            own.start()
            with in_time():
                while library.retrieve_fragments(ASK).status != "SUCCESS":
                    pass
            report = library.add(wenyuan.Source(source_id="docs", path=str(docs)))
            assert report.added + report.unchanged == FILES
            assert not report.failed
            live = library.catalog.live_documents("docs")
            assert sorted(uri.rpartition("/")[2] for uri in live) == sorted(f"{n}.md" for n in range(FILES))
            assert library.catalog.counts()["documents"] == FILES + 1
            assert before[0] in [f.source for f in library.retrieve_fragments(ASK).fragments]
            assert library.audit.verify().ok
