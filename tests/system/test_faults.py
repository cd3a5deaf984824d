"""The fault table: whatever breaks, the answer is FAILED and names what broke. It is never SUCCESS with nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wenyuan
from copies import copied
from patience import HANGS, in_time
from wenyuan.core.errors import EncoderUnavailable, EngineUnavailable
from wenyuan.core.filters import Scope
from wenyuan.core.ports import Deadline, Hit, LegResult
from wenyuan.encoders.checking import HashingEncoder

TEXT = (
    "# 投诉处理\n\n客户投诉需在 24 小时内第一次响应。\n\n# Leave\n\nUp to five days of leave may be carried over.\n"
)
ASK = wenyuan.RetrievalRequest(query="客户投诉多久响应", max_results=5)


def written(folder: Path) -> Path:
    """Four documents in a folder."""
    folder.mkdir()
    for number in range(4):
        (folder / f"policy-{number}.md").write_text(TEXT + f"\nPolicy number {number}.\n", encoding="utf-8")
    return folder


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return written(tmp_path / "docs")


def policies(folder: Path) -> None:
    """Make a library of four policies in a folder, for `copied`."""
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="policy", path=str(written(folder / "docs"))))


@pytest.fixture(params=["local", "memory"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    copied(policies, tmp_path)
    settings: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"threads": 4}}
    with wenyuan.open(tmp_path / "library", engine=request.param, **settings) as library:
        assert library.retrieve_fragments(ASK).fragments
        yield library


def hurry(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions have half a second from now on."""
    monkeypatch.setattr(library._retriever, "deadline", lambda: Deadline(time.monotonic() + 0.5, time.monotonic))


def failed(library: Any, *names: str) -> str:
    """Ask; the answer must be FAILED, empty, and name the component."""
    answer = library.retrieve_fragments(ASK)
    assert answer.status == "FAILED"
    assert answer.fragments == ()
    assert any(name in answer.error_message for name in names), answer.error_message
    return str(answer.error_message)


def boom(*_: Any, **__: Any) -> Any:
    raise RuntimeError("segment reader lost")


def unavailable(*_: Any, **__: Any) -> Any:
    raise EngineUnavailable("connection refused", component="engine stub")


@pytest.mark.parametrize("method", ["keyword", "vector", "keyword_scores", "cosines", "sync"])
@pytest.mark.parametrize("how", [boom, unavailable])
def test_engine_raises(opened: Any, monkeypatch: pytest.MonkeyPatch, method: str, how: Callable[..., Any]) -> None:
    """An engine that raises anything, in any method, makes the answer FAILED."""
    monkeypatch.setattr(opened.engine, method, how)
    failed(opened, "leg", "engine", "internal error: RuntimeError")


@pytest.mark.parametrize("method", ["keyword", "vector", "keyword_scores", "cosines"])
def test_engine_hangs(opened: Any, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """An engine that hangs makes the answer FAILED within the deadline, and the next request is not held up."""
    release = threading.Event()
    hurry(opened, monkeypatch)
    monkeypatch.setattr(opened.engine, method, lambda *_, **__: release.wait(HANGS))
    with in_time():
        failed(opened, "deadline")
    monkeypatch.undo()
    assert opened.retrieve_fragments(ASK).fragments
    release.set()


def test_all_legs_stuck(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When every thread is stuck in an engine, further requests fail in time instead of waiting for ever."""
    release = threading.Event()
    hurry(opened, monkeypatch)
    monkeypatch.setattr(opened.engine, "keyword", lambda *_, **__: release.wait(HANGS))
    for _ in range(opened.settings.search.threads + 2):
        failed(opened, "deadline")
    release.set()


def test_encoder_down(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder that cannot be reached makes the answer FAILED; it does not turn into a keyword search."""

    def down(*_: Any, **__: Any) -> Any:
        raise EncoderUnavailable("connection refused", component="encoder stub")

    monkeypatch.setattr(opened.encoder, "encode_queries", down)
    failed(opened, "encoder stub")


@pytest.mark.parametrize(
    ("vector", "word"),
    [
        (np.full((1, 256), np.nan, np.float32), "NaN"),
        (np.full((1, 256), np.inf, np.float32), "infinity"),
        (np.zeros((1, 256), np.float32), "zero"),
        (np.ones((1, 7), np.float32), "dimension"),
        (np.ones((2, 256), np.float32), "vectors"),
        (np.ones((0, 256), np.float32), "vectors"),
        ([["a"] * 256], "numbers"),
    ],
)
def test_encoder_answers_rubbish(opened: Any, monkeypatch: pytest.MonkeyPatch, vector: Any, word: str) -> None:
    """NaN, infinity, zeros, a wrong dimension or a wrong count never reach an index."""
    monkeypatch.setattr(opened.encoder, "encode_queries", lambda *_, **__: vector)
    assert word in failed(opened, "encoder")


def test_engine_answers_rubbish(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores out of range, NaN, rising or twice the same passage cannot even be put in a ranking."""
    for hits in (
        [Hit(passage_id=1, score=1.7)],
        [Hit(passage_id=1, score=float("nan"))],
        [Hit(passage_id=1, score=0.2), Hit(passage_id=2, score=0.4)],
        [Hit(passage_id=1, score=0.2), Hit(passage_id=1, score=0.2)],
    ):
        monkeypatch.setattr(opened.engine, "keyword", lambda *_, hits=hits, **__: LegResult.ok(hits))
        failed(opened, "keyword leg")
    monkeypatch.setattr(opened.engine, "keyword", lambda *_, **__: [])
    failed(opened, "keyword leg", "internal")


def test_empty_leg_only_on_purpose() -> None:
    """A leg's result is made by LegResult.ok and by nothing else."""
    with pytest.raises(TypeError):
        LegResult(())  # type: ignore[arg-type]


def test_catalog_file_destroyed(opened: Any) -> None:
    """A catalog that is overwritten with rubbish while it is open makes the answer FAILED."""
    path = opened.folder / "catalog.db"
    opened.catalog.database.place.reader.dispose()  # the next question opens the file anew
    opened.catalog.database.place.writer.dispose()
    for name in ("catalog.db-wal", "catalog.db-shm"):
        (opened.folder / name).unlink(missing_ok=True)
    path.write_bytes(b"this is no database, whatever its name says" * 200)
    failed(opened, "catalog")


def test_catalog_table_gone(opened: Any) -> None:
    """A catalog that has lost its passages makes the answer FAILED."""
    with sqlite3.connect(opened.folder / "catalog.db") as raw:
        raw.execute("ALTER TABLE passages RENAME TO elsewhere")
    raw.close()
    failed(opened, "catalog")


def test_index_behind(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that stays behind its catalog makes the answer FAILED."""
    if opened.engine.name == "memory":
        with pytest.raises(wenyuan.KnowledgeError):
            opened.engine.sync(_Older(), deadline=opened._retriever.deadline())
        return
    from wenyuan.core.errors import CatalogBusy

    (document_id, _), *_ = opened.catalog.live_documents("policy").values()
    opened.catalog.retire_documents("policy", [document_id])

    def busy(**_: Any) -> Any:
        raise CatalogBusy("the library is being written by process 1", component="catalog")

    monkeypatch.setattr(opened.engine, "_exclusive", busy)
    monkeypatch.setattr(opened.engine, "_max_lag", -1.0)
    failed(opened, "engine local")


class _Older:
    def seq(self) -> int:
        return 0


def test_engine_leaks(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that finds what lies outside the scope is caught by the guard: FAILED, nothing is shown."""
    honest = opened.engine.keyword

    def leaking(terms: Any, *, scope: Scope, **rest: Any) -> Any:
        wide = Scope(sources=frozenset(s.source_id for s in opened.sources()), as_of=scope.as_of)
        return honest(terms, scope=wide, **rest)

    opened.catalog.put_source(wenyuan.Source(source_id="empty"))
    monkeypatch.setattr(opened.engine, "keyword", leaking)
    with pytest.raises(wenyuan.KnowledgeError, match="outside the scope"):
        opened.search(ASK.query, sources=["empty"])


def test_index_folder_deleted(tmp_path: Path, docs: Path) -> None:
    """A library whose index folder was deleted gives the same answer after the next start."""
    with wenyuan.open(tmp_path / "lib", create=True, encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="policy", path=str(docs)))
        before = library.retrieve_fragments(ASK)
    shutil.rmtree(tmp_path / "lib" / "index")
    with wenyuan.open(tmp_path / "lib", encoder={"kind": "hashing"}) as library:
        after = library.retrieve_fragments(ASK)
    assert [(f.source, pytest.approx(f.retrieval_score, abs=1e-6)) for f in after.fragments] == [
        (f.source, f.retrieval_score) for f in before.fragments
    ]
    assert before.fragments


def test_disk_full(tmp_path: Path, docs: Path) -> None:
    """When the disk is full an ingest fails and says so, what was there before stays, and answers go on."""
    script = """
import json, resource, signal, sys
import wenyuan
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, docs = sys.argv[1:]
with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}) as library:
    library.add(wenyuan.Source(source_id="policy", path=docs))
    ask = wenyuan.RetrievalRequest(query="客户投诉多久响应", max_results=5)
    before = library.retrieve_fragments(ask)
    from pathlib import Path
    more = Path(docs).parent / "more"
    more.mkdir()
    for n in range(60):
        (more / f"{n}.md").write_text("投诉 " + " ".join(f"w{n}x{i}" for i in range(300)), encoding="utf-8")
    limit = max(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) + 50_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        library.add(wenyuan.Source(source_id="more", path=str(more)))
        error = None
    except wenyuan.KnowledgeError as caught:
        error = str(caught)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    library.ingest("more")
    after = library.retrieve_fragments(ask)
    print(json.dumps({"error": error, "before": len(before.fragments), "after": len(after.fragments),
                      "status": after.status, "counts": dict(library.catalog.counts())}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "lib"), str(docs)],
        capture_output=True, text=True, timeout=120, check=False, env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["error"], told
    assert told["before"] > 0
    assert told["status"] == "SUCCESS"
    assert told["after"] > 0
    assert told["counts"]["documents"] == 64


def test_vector_with_flipped_bit(tmp_path: Path, docs: Path) -> None:
    """A stored vector that was damaged is found by its checksum, not compared with."""
    with wenyuan.open(tmp_path / "lib", create=True, engine="memory", encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="policy", path=str(docs)))
    with sqlite3.connect(tmp_path / "lib" / "catalog.db") as raw:
        key, blob = raw.execute("SELECT vector_key, vector FROM vectors").fetchone()
        raw.execute("UPDATE vectors SET vector = ? WHERE vector_key = ?", (b"\x01" + blob[1:], key))
    raw.close()
    with wenyuan.open(tmp_path / "lib", engine="memory", encoder={"kind": "hashing"}) as library:
        assert "checksum" in failed(library, "catalog")


def test_other_encoder(tmp_path: Path, docs: Path) -> None:
    """A library opened with another encoder than it was built with refuses to open and names both."""
    with wenyuan.open(tmp_path / "lib", create=True, encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="policy", path=str(docs)))
    with pytest.raises(wenyuan.KnowledgeError, match=r"256.*128"):
        wenyuan.open(tmp_path / "lib", encoder={"kind": "hashing", "dimension": 128})


def test_without_encoder(tmp_path: Path, docs: Path) -> None:
    """A library with vectors but without its encoder answers by keywords, says so, and takes nothing in."""
    with wenyuan.open(tmp_path / "lib", create=True, encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="policy", path=str(docs)))
    with wenyuan.open(tmp_path / "lib", encoder={"kind": "none"}) as library:
        answer = library.retrieve_fragments(ASK)
        assert {f.metadata["mode"] for f in answer.fragments} == {"keyword-only"}
        assert library.readiness().parts["encoder"]["state"] == "degraded"
        with pytest.raises(EncoderUnavailable):
            library.ingest("policy")


def test_hashing_encoder_is_the_default_size() -> None:
    """The vectors in this table's rubbish have the right dimension where they should."""
    assert HashingEncoder().fingerprint.dimension == 256
