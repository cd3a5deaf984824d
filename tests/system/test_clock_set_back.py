"""The clock of the machine is set back by a day while a library is in use, and forward again: changes and records go on in their order."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.access import parse_agent
from wenyuan.service.context import ContextRequest
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.uploads import Given

OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"deadline": 60}}
DAY = 86_400.0


def done(library: Any, docs: Path, round_: int) -> None:
    """A refresh, an upload, a correction and its undoing, a key, a context of a task and a question."""
    (docs / "a.md").write_text(f"# Fees\n\nThe fee of round {round_} is {round_} yuan.", "utf-8")
    assert library.ingest("s").changed + library.ingest("s").unchanged
    with library.uploads.incoming() as came:
        (came / "0").write_text(f"# Up {round_}", "utf-8")
        [one] = library.upload("desk", [Given(name="up.md", path=came / "0")]).files
    assert one.state in ("added", "changed")
    [(number, _)] = library.catalog.live_documents("s").values()
    [(passage, text, _)] = library.catalog.document_passages(number)
    assert f"round {round_}" in text
    made = library.correct(CorrectionRequest(action="text", ref=f"s#{passage}", text=f"Corrected {round_}."))
    [(_, text, _)] = library.catalog.document_passages(number)
    assert text == f"Corrected {round_}."
    library.undo_correction(made["correction_id"])
    library.catalog.create_key("desk", frozenset({"retrieve"}), time.time() + DAY)
    assert library.get_context(ContextRequest(retrieval_query="fee", task_id="t")).results
    answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query=f"fee of round {round_}", max_results=1))
    assert f"round {round_}" in answer.fragments[0].content


def test_a_day_back_and_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost, refused or answered from before; the audit keeps its order and verifies, also when opened again."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Fees\n\nThe fee is nothing.", "utf-8")
    real = time.time
    with wenyuan.open(tmp_path / "library", create=True, **OPTIONS) as library:
        library.add(wenyuan.Source(source_id="s", path=str(docs), copyright="excerpt<=80"))
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        library.catalog.put_agent(parse_agent({"agent_id": "desk", "knowledge_scope": [{"domain": "s"}]}))
        for round_, shift in enumerate((0.0, -DAY, -30 * DAY, 0.0), 1):
            monkeypatch.setattr(time, "time", lambda shift=shift: real() + shift)
            done(library, docs, round_)
            verified = library.audit.verify()
            assert verified.ok, verified.first_fault
        assert library.readiness().ready
    monkeypatch.setattr(time, "time", lambda: real() - DAY)
    with wenyuan.open(tmp_path / "library", **OPTIONS) as library:
        done(library, docs, 9)
        records = library.audit.list(limit=1_000)
        assert [one.seq for one in records] == sorted((one.seq for one in records), reverse=True)
        assert library.audit.verify().ok
