"""Whatever makes answers fail makes a library not ready, and the part says what it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from embedding_server import Server
from wenyuan.core.errors import CatalogUnavailable

ASK = wenyuan.RetrievalRequest(query="客户投诉多久响应", max_results=5)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("# 投诉\n\n客户投诉需在 24 小时内响应。\n", encoding="utf-8")
    return tmp_path / "a.md"


@pytest.fixture
def library(tmp_path: Path, docs: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as opened:
        opened.add(wenyuan.Source(source_id="policy", path=str(docs)))
        yield opened


def unready(library: Any) -> dict[str, str]:
    """The parts that failed; the library is ready if and only if a question is answered."""
    readiness = library.readiness()
    assert readiness.ready == (library.retrieve_fragments(ASK).status == "SUCCESS")
    return {name: str(part["detail"]) for name, part in readiness.parts.items() if part["state"] == "failed"}


def test_an_audit_that_cannot_be_written(tmp_path: Path, docs: Path) -> None:
    """On a full disk a library is not ready before anybody asks, names the audit, and is ready again when there is room."""
    script = """
import json, resource, signal, sys, time
import wenyuan
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, docs = sys.argv[1:]
with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}) as library:
    library.add(wenyuan.Source(source_id="policy", path=docs))
    library.audit.flush()
    def told():
        state = library.readiness()
        return state.ready, {n: p["detail"] for n, p in state.parts.items() if p["state"] == "failed"}
    seen = [told()]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    seen.append(told())
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    seen.append(told())
    print(json.dumps(seen))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "lib"), str(docs)],
        capture_output=True, text=True, timeout=120, check=False, env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    before, full, after = json.loads(done.stdout.splitlines()[-1])
    assert before == after == [True, {}]
    assert full[0] is False
    assert list(full[1]) == ["audit"]


def test_writing_that_fails_is_the_audits(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When records cannot be written any more, answers are FAILED, and the library is not ready for the same reason."""

    def fails(*_: Any) -> Any:
        raise CatalogUnavailable("no space left on device", component="audit")

    library.audit.flush()
    monkeypatch.setattr(library.audit._groups, "_write", fails)
    assert library.retrieve_fragments(ASK).status == "SUCCESS"  # taken, and not written yet
    with pytest.raises(CatalogUnavailable):
        library.audit.flush()
    assert "no space left" in unready(library)["audit"]
    monkeypatch.undo()
    library.audit.flush()
    assert unready(library) == {}


def test_an_encoder_that_does_not_answer(tmp_path: Path, docs: Path) -> None:
    """An encoder on a server that is gone makes every answer fail, and is named."""
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        encoder = {"kind": "http", "url": f"{server.url}/v1", "model": "m"}
        with wenyuan.open(tmp_path / "library", create=True, encoder=encoder) as library:
            library.add(wenyuan.Source(source_id="policy", path=str(docs)))
            assert unready(library) == {}
            server.fault = "401"
            assert "401" in unready(library)["search"]
        server.shutdown()


def test_a_registry_that_cannot_be_read(library: Any) -> None:
    """Sources that supersede one another in a loop, as a restored registry may, fail every question and are named."""
    library.catalog.put_source(wenyuan.Source(source_id="one", supersedes=("two",)))
    library.catalog.put_source(wenyuan.Source(source_id="two", supersedes=("one",)))
    assert "supersede" in unready(library)["search"]


def test_a_damaged_catalog(library: Any) -> None:
    """A table that is lost is told by the catalog's part, and no question is tried."""
    with library.catalog.database.writer.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE passages RENAME TO elsewhere")
    library.catalog.put_source(wenyuan.Source(source_id="later"))
    failed = unready(library)
    assert "catalog" in failed
    assert "search" not in failed
