"""The reading process: one hostile document fails with its reason, the service and the other documents go on."""

from __future__ import annotations

import io
import os
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patience import in_time
from wenyuan.core.errors import DocumentRejected, SourceError
from wenyuan.core.model import Block, Document
from wenyuan.readers.frames import decode_documents, decode_json, encode_documents, encode_json
from wenyuan.readers.process import ReadingLimits
from wenyuan.readers.sandbox import Sandbox, read_file
from wenyuan.readers.selection import CONTAINERS, READERS, check_signature, reader_for, supported_suffixes

_HOSTILE = """
import os, signal, socket, sys, time
from wenyuan.core.model import Block, Document

def _answer(text):
    block = Block(kind="paragraph", start=0, end=len(text))
    return (Document(uri="u:x", title="t", text=text, blocks=(block,), sha256=""),)

def fine(content, *, uri, name): return _answer(content.decode())
def pid(content, *, uri, name): return _answer(str(os.getpid()))
def loops(content, *, uri, name):
    while True: pass
def sleeps(content, *, uri, name): time.sleep(60)
def hogs(content, *, uri, name): return _answer("x" * len(bytearray(3_000_000_000)))
def recurses(content, *, uri, name): return recurses(content, uri=uri, name=name)
def crashes(content, *, uri, name): os.kill(os.getpid(), signal.SIGSEGV)
def exits(content, *, uri, name): os._exit(3)
def raises(content, *, uri, name): raise KeyError("gone")
def empty(content, *, uri, name): return ()
def chatters(content, *, uri, name):
    os.write(1, b"native noise" * 10_000); print("noise"); sys.stderr.write("noise" * 100_000)
    return _answer("said")
def large(content, *, uri, name): return _answer("x" * 2_000_000)
def writes(content, *, uri, name):
    with open(content.decode(), "w") as file: file.write("x")
def connects(content, *, uri, name):
    socket.create_connection(("127.0.0.1", int(content)), timeout=2).close()
    return _answer("connected")
def spills(content, *, uri, name): return _answer(" ".join(sorted(os.environ)))
def arms(content, *, uri, name):
    globals()["touchy"] = crashes
    return _answer("armed")
touchy = fine
def by_content(content, *, uri, name): return globals()[content.decode()](content, uri=uri, name=name)
"""
_QUICK = ReadingLimits(wall_seconds=5.0, cpu_seconds=5.0)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of bad readers that the worker can import."""
    (tmp_path / "hostile_readers.py").write_text(_HOSTILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "hostile_readers"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as shared:
        yield shared


def reason(sandbox: Sandbox, content: bytes, name: str = "bad.bin") -> str:
    with pytest.raises(DocumentRejected) as caught:
        sandbox.read(content, uri="u:x", name=name)
    assert caught.value.component == name
    assert str(caught.value).startswith(f"{name}: ")
    return caught.value.message


def archive(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        for name, body in entries.items():
            out.writestr(name, body)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        ("crashes", "SIGSEGV"),
        ("exits", "ended with code 3"),
        ("raises", "the reader failed: KeyError: 'gone'"),
        ("recurses", "nested too deeply"),
        ("hogs", "more memory than is allowed"),
        ("empty", "found no document"),
        ("writes", "File too large"),
    ],
)
def test_a_failing_reader_names_the_document_and_the_next_one_is_read(
    hostile: str, tmp_path: Path, reader: str, expected: str
) -> None:
    """Crash, exit, error, recursion, memory and writing each reject one document; the sandbox lives on."""
    target = tmp_path / "by_content"
    with Sandbox(_QUICK, reader=f"{hostile}:{reader}") as bad:
        assert expected in reason(bad, str(target).encode())
        assert expected in reason(bad, str(target).encode())
    assert not target.exists() or target.read_bytes() == b""
    with Sandbox(_QUICK, reader=f"{hostile}:by_content") as mixed:
        for _ in range(2):
            reason(mixed, reader.encode())
            assert mixed.read(b"fine", uri="u:x", name="good.bin").documents[0].text == "fine"


def test_a_reader_that_computes_for_ever_is_killed_by_processor_time(hostile: str) -> None:
    """An endless loop ends at the limit of processor time."""
    with Sandbox(ReadingLimits(wall_seconds=30.0, cpu_seconds=0.2), reader=f"{hostile}:loops") as bad:
        assert "SIGXCPU" in reason(bad, b"x")


def test_a_reader_that_waits_for_ever_is_killed_by_the_clock(hostile: str) -> None:
    """Waiting costs no processor time, so the clock on the wall ends it; the next document is read."""
    with Sandbox(ReadingLimits(wall_seconds=0.5), reader=f"{hostile}:by_content") as mixed:
        mixed.read(b"fine", uri="u:x", name="good.bin")
        with in_time():
            assert "longer than 0.5 s" in reason(mixed, b"sleeps")
        assert mixed.read(b"fine", uri="u:x", name="good.bin").documents[0].text == "fine"


def test_noise_of_native_libraries_does_not_reach_the_answer(hostile: str) -> None:
    """What a parser prints goes nowhere."""
    with Sandbox(_QUICK, reader=f"{hostile}:chatters") as noisy:
        assert noisy.read(b"x", uri="u:x", name="a").documents[0].text == "said"


def test_an_answer_beyond_its_limit_is_refused(hostile: str) -> None:
    """A worker cannot fill the service's memory with its answer."""
    with Sandbox(replace(_QUICK, answer_bytes=1_000_000), reader=f"{hostile}:large") as bad:
        assert "larger than 1,000,000 bytes" in reason(bad, b"x")


def test_the_worker_is_kept_and_replaced_after_its_share(hostile: str) -> None:
    """One process serves several documents, then makes way for a fresh one."""
    with Sandbox(replace(_QUICK, documents_per_worker=2), reader=f"{hostile}:pid") as steady:
        pids = [steady.read(b"x", uri="u:x", name="a").documents[0].text for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    assert str(os.getpid()) not in pids


def test_a_worker_that_was_killed_between_documents_is_replaced(hostile: str) -> None:
    """A death that no document caused costs no document."""
    with Sandbox(_QUICK, reader=f"{hostile}:pid") as steady:
        victim = int(steady.read(b"x", uri="u:x", name="a").documents[0].text)
        os.kill(victim, 9)
        deadline = time.monotonic() + 60
        while steady._worker and steady._worker.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert steady.read(b"x", uri="u:x", name="a").documents[0].text != str(victim)


def test_what_an_earlier_document_broke_is_not_blamed_on_the_next(hostile: str) -> None:
    """A death in a worker that has read before is tried again in a fresh one."""
    with Sandbox(_QUICK, reader=f"{hostile}:by_content") as mixed:
        mixed.read(b"arms", uri="u:x", name="bad.bin")
        assert mixed.read(b"touchy", uri="u:x", name="good.bin").documents[0].text == "touchy"


def test_the_worker_knows_none_of_the_services_secrets(hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment holds what Python needs and nothing else; `import wenyuan` adds what silences onnxruntime."""
    monkeypatch.setenv("SERVICE_API_KEY", "secret")
    with Sandbox(_QUICK, reader=f"{hostile}:spills") as curious:
        names = curious.read(b"x", uri="u:x", name="a").documents[0].text.split()
    silent = {"ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"}
    assert set(names) - silent <= {"LANG", "LC_CTYPE", "PATH", "PYTHONPATH"}


def _may_unshare() -> bool:
    import ctypes

    child = os.fork()
    if child == 0:
        libc = ctypes.CDLL(None)
        os._exit(0 if libc.unshare(0x40000000) == 0 or libc.unshare(0x50000000) == 0 else 1)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not _may_unshare(), reason="this system lets no process give up its network")
def test_the_worker_has_no_network(hostile: str) -> None:
    """Even this machine's own ports are out of reach."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with Sandbox(_QUICK, reader=f"{hostile}:connects") as caller:
            assert "OSError" in reason(caller, str(port).encode()) or "unreachable" in reason(
                caller, str(port).encode()
            )


def test_a_worker_that_cannot_start_is_no_fault_of_the_document(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where Python's modules cannot be loaded the sandbox fails, and no document is blamed."""
    (tmp_path / "wenyuan").mkdir()
    (tmp_path / "wenyuan" / "__init__.py").write_text("raise ImportError('half installed')")
    monkeypatch.setattr("wenyuan.readers.process.environment", lambda: {"PYTHONPATH": str(tmp_path)})
    with Sandbox() as broken, pytest.raises(SourceError, match=r"does not start: .*half installed") as caught:
        broken.read(b"<p>x", uri="u:x", name="a.html")
    assert not isinstance(caught.value, DocumentRejected)


def test_plain_formats_are_read_here_and_native_parsers_in_the_worker(sandbox: Sandbox) -> None:
    """Small text files need no process of their own; web pages get one."""
    plain = sandbox.read("# 标题\n\n正文".encode(), uri="u:x", name="a.md")
    page = sandbox.read("<h1>标题</h1><p>正文".encode(), uri="u:x", name="a.html")
    assert (plain.isolated, page.isolated) == (False, True)
    assert plain.documents[0].title == page.documents[0].title == "标题"
    large = b"word " * 10_000
    assert sandbox.read(large, uri="u:x", name="a.txt").isolated


def test_a_hostile_plain_text_costs_the_service_little(sandbox: Sandbox) -> None:
    """A text of very many tiny paragraphs is read in the worker, and comes back in memory in proportion to it."""
    content = b"a\n\n" * 60_000
    sandbox.read(b"word " * 10_000, uri="u:x", name="a.txt")
    for name in ("a.txt", "a.md"):
        tracemalloc.start()
        try:
            outcome = sandbox.read(content, uri="u:x", name=name)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert outcome.isolated
        assert len(outcome.documents[0].blocks) == 60_000
        assert peak < 60_000 * 450, f"{name}: {peak:,} bytes"


def test_a_file_of_too_many_parts_is_refused(tmp_path: Path) -> None:
    """What comes back from the worker is bounded by count, too, and the reason says so."""
    with Sandbox(ReadingLimits(in_process_bytes=0, blocks=100)) as few:
        assert len(few.read(b"a\n\n" * 100, uri="u:x", name="a.txt").documents[0].blocks) == 100
        with pytest.raises(DocumentRejected, match=r"it has 101 parts; at most 100 are read"):
            few.read(b"a\n\n" * 101, uri="u:x", name="a.txt")


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    """A path, its document's URI, and the name from the path."""
    path = tmp_path / "说明.html"
    path.write_text("<p>文渊</p>", encoding="utf-8")
    (document,) = read_file(path, uri="file:///x").documents
    assert (document.uri, document.title, document.text) == ("file:///x", "说明", "文渊")


def test_files_that_are_too_large_missing_or_no_files_are_rejected(tmp_path: Path) -> None:
    """The size is checked before a byte is read, and a pipe does not block the service."""
    (tmp_path / "big.md").write_bytes(b"x" * 1_001)
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    limits = ReadingLimits(max_bytes=1_000)
    for name, expected in (
        ("big.md", "1,001 bytes; at most 1,000"),
        ("pipe.md", "not a regular file"),
        ("folder.md", "not a regular file"),
        ("none.md", "cannot be opened"),
    ):
        with pytest.raises(DocumentRejected, match=expected) as caught:
            read_file(tmp_path / name, uri="u:x", limits=limits)
        assert caught.value.component == name


def test_unknown_kinds_have_no_reader(sandbox: Sandbox) -> None:
    """The registry answers None, which a caller counts; the sandbox refuses."""
    assert reader_for("a.exe") is None
    assert reader_for("no_suffix") is None
    assert "not read" in reason(sandbox, b"x", "a.exe")
    assert set(supported_suffixes()) == {*READERS, *CONTAINERS}


@pytest.mark.parametrize("suffix", sorted(READERS))
def test_every_registered_reader_can_be_imported(suffix: str) -> None:
    """Each suffix, in any case, leads to a callable."""
    assert callable(reader_for(f"A{suffix.upper()}"))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", b"%PDF-1.7 ...", "named .txt but is a PDF"),
        ("a.md", b"PK\x03\x04...", "named .md but is a ZIP container"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1...", "encrypted or old binary Office file"),
        ("a.docx", b"%PDF-1.7", "named .docx but is a PDF"),
        ("a.pdf", b"plain text", "named .pdf but is not a PDF"),
        ("a.csv", b"\x89PNG\r\n", "a PNG image"),
        ("a.html", b"\x7fELF", "a program"),
        ("a.md", b"", "the file is empty"),
    ],
)
def test_a_file_of_another_kind_than_its_name_says_is_rejected(name: str, content: bytes, expected: str) -> None:
    """The first bytes must agree with the suffix, and the reason says what was seen."""
    with pytest.raises(DocumentRejected, match=expected):
        check_signature(content, name)


@pytest.mark.parametrize(
    ("name", "content"), [("a.pdf", b"\n\n%PDF-1.4"), ("a.md", b"# %PDF- in a title"), ("a.txt", b"PK")]
)
def test_signatures_elsewhere_in_a_file_mean_nothing(name: str, content: bytes) -> None:
    """Bytes before a PDF's header are allowed, and a text may speak of formats."""
    check_signature(content, name)


def test_bombs_of_every_format_are_refused_and_the_service_lives_on(sandbox: Sandbox) -> None:
    """A ZIP bomb, an entity bomb and a Flate bomb each fail by name; then a good document is read."""
    entities = b'<!DOCTYPE d [<!ENTITY a "' + b"x" * 1000 + b'"><!ENTITY b "' + b"&a;" * 1000 + b'">]><d>&b;&b;</d>'
    assert "bomb" in reason(sandbox, archive({"word/document.xml": b"<x>" + b" " * 5_000_000}), "zip.docx")
    assert "document type" in reason(sandbox, archive({"word/document.xml": entities}), "entities.docx")
    assert "document type" in reason(sandbox, archive({"xl/workbook.xml": entities}), "entities.xlsx")
    packed = zlib.compress(b"BT /F 1 Tf " + b"(a) Tj " * 10_000_000, 1)
    stream = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed)
    pdf = b"%PDF-1.4\n"
    for number, body in enumerate(
        (
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R"
            b" /Resources << /Font << /F 5 0 R >> >> >>",
            stream,
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ),
        1,
    ):
        pdf += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    pdf += b"trailer << /Root 1 0 R >>\n%%EOF"
    with Sandbox(ReadingLimits(memory=400_000_000, wall_seconds=3.0)) as tight:
        assert reason(tight, pdf, "flate.pdf")
        assert tight.read(b"<p>alive", uri="u:x", name="a.html").documents[0].text == "alive"
    assert sandbox.read(b"<p>alive", uri="u:x", name="a.html").documents[0].text == "alive"


_TEXT = st.text(min_size=1).filter(lambda text: bool(text.strip()))


@given(
    _TEXT,
    st.dictionaries(
        st.text(),
        st.one_of(st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)),
    ),
    st.one_of(st.none(), st.dates()),
    st.one_of(st.none(), st.integers(1, 99)),
)
def test_documents_survive_the_exchange(
    text: str, metadata: dict[str, str | int | bool | float], day: date | None, number: int | None
) -> None:
    """What the worker sends is what the service gets, with types, dates and addresses."""
    block = Block(kind="row", start=0, end=len(text), level=2, label="第一条", line=number, page=number, cell="S!1")
    document = Document(
        uri="u:x", title="标题", text=text, blocks=(block,), sha256="00", notes=("n",), metadata=metadata,
        effective_from=day, language="zh", media_type="text/html",
    )  # fmt: skip
    sent = decode_json(encode_json({"documents": encode_documents((document,))}))
    (received,) = decode_documents(sent["documents"])
    assert received == document
    assert {k: type(v) for k, v in received.metadata.items()} == {k: type(v) for k, v in metadata.items()}
