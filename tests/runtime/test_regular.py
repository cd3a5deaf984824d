"""A pipe or a device that is named where a file is read is refused at once, with a reason."""

from __future__ import annotations

import os
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.reads import verify_export
from wenyuan.catalog.backup import back_up
from wenyuan.catalog.locks import WriterLock
from wenyuan.cli.options import history_in
from wenyuan.core.errors import InvalidRequest, KnowledgeError
from wenyuan.encoders import model_files, weights
from wenyuan.evaluation import corpus, questions
from wenyuan.readers import golden, sandbox, synonyms
from wenyuan.readers.ocr import weights as ocr_weights
from wenyuan.readers.rulebooks import selection
from wenyuan.runtime.regular import IrregularFile, open_regular, read_regular
from wenyuan.service import library_key, original_file, upload_journal
from wenyuan.service.ingest import registry, scanning
from wenyuan.service.ingest.local_files import LocalFile
from wenyuan.service.ingest.quarantine import Quarantine
from wenyuan.settings import load_settings

Put = Callable[[Path], None]
SECONDS = 5


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


IRREGULAR = [device, pipe]


@pytest.fixture(autouse=True)
def at_once() -> Iterator[None]:
    """Ends what waits for a pipe or reads a device."""

    def end(*_: Any) -> None:
        pytest.fail(f"no answer within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path_factory.mktemp("one") / "library", create=True, encoder={"kind": "hashing"}) as found:
        yield found


def _locked(path: Path) -> None:
    with WriterLock(path).held(wait=0):
        pass


def _recovered(path: Path) -> None:
    list(upload_journal.unfinished(path.parents[2]))


def _alone(path: Path) -> None:
    with upload_journal.alone(path.parent, 0):
        pass


def _given(path: Path) -> None:
    source = wenyuan.Source(source_id="s", path=str(path.parent))
    original_file.open_original(source, path.as_uri())


DOORS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "settings": ("wenyuan.toml", lambda path: load_settings(path.parent)),
    "a document": ("a.md", lambda path: sandbox.read_file(path, uri="file:///a.md")),
    "the digest of a document": ("a.md", lambda path: LocalFile(path, lambda *_: ()).digest()),
    "a document for the scanner": ("a.md", lambda path: scanning._bytes_of(path, "a.md")),
    "an original": ("a.md", _given),
    "a golden table": ("golden.csv", golden.read_golden),
    "a judged set": ("queries.jsonl", lambda path: golden.read_golden(path.parent)),
    "a corpus": ("corpus.jsonl", lambda path: corpus.open_corpus(path.parent)),
    "judgements": ("qrels.tsv", lambda path: questions.read_judged(path.parent, (), qrels=path)),
    "synonyms": ("synonyms.csv", synonyms.read_synonyms),
    "synonyms as lines": ("synonyms.jsonl", synonyms.read_synonyms),
    "a rule book": ("rules.yaml", selection.read_book),
    "a history": ("history.json", history_in),
    "an export of the audit": ("audit.jsonl", verify_export),
    "the head of the audit": ("audit.head", lambda path: HeadFile(path).read()),
    "the key": ("pseudonym.key", lambda path: library_key.library_key(path.parent)),
    "the writer's lock": ("writer.lock", _locked),
    "the lock of uploads": (upload_journal._LOCK, _alone),
    "a journal": (f"uploads/{upload_journal.INCOMING}/1/{upload_journal._JOURNAL}", _recovered),
    "settings of a model": ("config.json", lambda path: model_files.read_json(path.parent, path.name, "encoder")),
    "weights": ("weights.bin", weights.read_weights),
    "weights to verify": ("weights.bin", weights.verify),
    "a model of OCR": ("model.onnx", lambda path: ocr_weights.read_verified(path.parent, path.name, "0" * 64)),
}


@pytest.mark.parametrize("put", IRREGULAR)
@pytest.mark.parametrize("door", DOORS)
def test_refused_at_once(tmp_path: Path, put: Put, door: str) -> None:
    """Whoever reads a file refuses what is none, and says why."""
    name, read = DOORS[door]
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path)
    with pytest.raises((KnowledgeError, OSError)) as refused:
        found = read(path)
        faults = getattr(found, "faults", ())  # of a rule book, each with its file
        assert faults
        raise InvalidRequest(faults[0].message)
    assert str(refused.value)


@pytest.mark.parametrize("put", IRREGULAR)
def test_registry_file(library: wenyuan.Library, tmp_path: Path, put: Put) -> None:
    """So is a registry that is applied."""
    put(tmp_path / "registry.yaml")
    with pytest.raises(InvalidRequest, match=r"registry\.yaml"):
        registry.read_registry(library, tmp_path / "registry.yaml")


@pytest.mark.parametrize("put", IRREGULAR)
def test_quarantine(library: wenyuan.Library, tmp_path: Path, put: Put) -> None:
    """What stands in the place of the note on a file in quarantine is not read, and the file is listed without a scanner."""
    (tmp_path / ("a" * 64)).mkdir()
    put(tmp_path / ("a" * 64) / "about.json")
    [found] = Quarantine(folder=tmp_path, catalog=library.catalog)
    assert (found.sha256, found.scanner) == ("a" * 64, "")


@pytest.mark.parametrize("put", IRREGULAR)
@pytest.mark.parametrize("scheme", ["zip", "tar"])
def test_archive(library: wenyuan.Library, tmp_path: Path, put: Put, scheme: str) -> None:
    """So is an archive that a source names: it fails, and none of its documents is retired as if it were empty."""
    put(tmp_path / "archive")
    source_id = f"{scheme}-{put.__name__}"
    with suppress(KnowledgeError):
        library.add(wenyuan.Source(source_id=source_id, path=f"{scheme}://{tmp_path}/archive!"))
    with pytest.raises(KnowledgeError):
        library.ingest(source_id)


@pytest.mark.parametrize("put", IRREGULAR)
def test_backup(library: wenyuan.Library, tmp_path: Path, put: Put) -> None:
    """So is what stands among the uploads that are copied."""
    folder = library.folder / "uploads" / "s"
    folder.mkdir(parents=True, exist_ok=True)
    put(folder / "a.md")
    try:
        with pytest.raises(KnowledgeError):
            back_up(library.folder, tmp_path / "copy")
    finally:
        (folder / "a.md").unlink()


@pytest.mark.parametrize("put", IRREGULAR)
def test_link_to_none(tmp_path: Path, put: Put) -> None:
    """A link is followed, and what it leads to is judged."""
    put(tmp_path / "it")
    (tmp_path / "link").symlink_to(tmp_path / "it")
    with pytest.raises(IrregularFile):
        open_regular(tmp_path / "link")


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    """However large one may be: no buffer of that size is made."""
    (tmp_path / "small").write_bytes(b"x" * 1_000)
    tracemalloc.start()
    try:
        assert read_regular(tmp_path / "small") == b"x" * 1_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
