"""A scanner of the owner's says of each file whether it may be taken in; what gives no verdict lets nothing in."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from listening import listening
from wenyuan.core.errors import ConfigError, NotFound, SourceError
from wenyuan.core.scanning import ScannerFailed, ScanVerdict
from wenyuan.scanners.clamd import ClamdScanner
from wenyuan.scanners.command import CommandScanner
from wenyuan.scanners.http import HttpScanner
from wenyuan.service.uploads import Given

BAD = b"# Bad\n\nTROJAN-TEST in here."
LOOK = "import sys; sys.exit(print('Test.Trojan') or 1 if b'TROJAN-TEST' in sys.stdin.buffer.read() else 0)"


def command(tmp_path: Path, code: str, timeout: float = 30.0, found: Any = "quarantine") -> CommandScanner:
    script = tmp_path / "scan.py"
    script.write_text(code, "utf-8")
    return CommandScanner(f"{sys.executable} {script} {{name}}", found=found, timeout=timeout)


# -- a command ---------------------------------------------------------------------------------------------------
def test_a_command_says_it_by_its_status(tmp_path: Path) -> None:
    """As clamscan does: 0 accepts, 1 has found what its first line says."""
    scanner = command(tmp_path, LOOK)
    assert scanner.scan(b"harmless", "a.md").action == "accept"
    assert scanner.scan(BAD, "b.md") == ScanVerdict("quarantine", "Test.Trojan")
    assert command(tmp_path, LOOK, found="refuse").scan(BAD, "b.md") == ScanVerdict("refuse", "Test.Trojan")


def test_a_command_says_it_in_json(tmp_path: Path) -> None:
    """And is told the name of the file, with whatever stands in it, as one argument."""
    scanner = command(tmp_path, "import json, sys; print(json.dumps({'verdict': 'refuse', 'reason': sys.argv[1]}))")
    assert scanner.scan(b"x", "a b; rm -rf $HOME.md") == ScanVerdict("refuse", "a b; rm -rf $HOME.md")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit(2)", "ended with status 2"),
        ('print(\'{"verdict": "fine"}\')', "no verdict"),
        ("print('{\"verdict\": ')", "no verdict"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended with status -9"),
        ("import time; time.sleep(600)", "no verdict within 0.5 s"),
        ("import os\nif os.fork(): os._exit(3)\nimport time; time.sleep(600)", "ended with status 3"),
    ],
)
def test_a_command_without_a_verdict_fails(tmp_path: Path, code: str, said: str) -> None:
    """However it fails; one that hangs is killed, and its child does not keep anybody waiting."""
    begun = time.monotonic()
    with pytest.raises(ScannerFailed, match=said):
        command(tmp_path, code, timeout=0.5 if "sleep(600)" in code and "fork" not in code else 60.0).scan(b"x", "a")
    assert time.monotonic() - begun < 60


def test_a_command_sees_nothing_of_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment has no secrets."""
    monkeypatch.setenv("WENYUAN_LLM__KEY", "secret")
    scanner = command(tmp_path, "import os, sys; sys.exit(1 if 'WENYUAN_LLM__KEY' in os.environ else 0)")
    assert scanner.scan(b"x", "a").action == "accept"


@pytest.mark.parametrize(
    "said", ["no-such-program --x", '"unclosed', "clamd://", "clamd://host/path", "http://", "http://u:p@host/"]
)
def test_what_is_no_scanner_is_refused_at_the_opening(tmp_path: Path, said: str) -> None:
    """A library whose scanner cannot be asked is not opened without one."""
    with pytest.raises(ConfigError, match=r"redaction\.scanner"):
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}, redaction={"scanner": said})


# -- an HTTP endpoint --------------------------------------------------------------------------------------------
Answer = Callable[[bytes, dict[str, str]], tuple[int, bytes]]


@contextmanager
def endpoint(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = answer(self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield f"{url}/scan"


def test_an_endpoint_is_posted_the_file(tmp_path: Path) -> None:
    """With its name and the key; its verdict counts."""

    def answer(body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        assert headers["Authorization"] == "Bearer k3y"
        name = headers["X-File-Name"]
        return 200, json.dumps({"verdict": "quarantine" if b"TROJAN" in body else "accept", "reason": name}).encode()

    with endpoint(answer) as url:
        scanner = HttpScanner(url, key="k3y", timeout=30)
        assert scanner.scan(b"fine", "a.md").action == "accept"
        assert scanner.scan(BAD, "制度.md") == ScanVerdict("quarantine", "%E5%88%B6%E5%BA%A6.md")
        scanner.close()


@pytest.mark.parametrize(
    "answer",
    [
        (500, b'{"verdict": "accept"}'),
        (302, b'{"verdict": "accept"}'),
        (200, b"accept"),
        (200, b'{"verdict": "accept", "reason": 1}'),
        (200, b"[" * 70_000),
        (200, b'["verdict"]'),
        (200, b""),
    ],
)
def test_an_endpoint_without_a_verdict_fails(answer: tuple[int, bytes]) -> None:
    """Whatever it answers instead lets nothing in."""
    with endpoint(lambda _body, _headers: answer) as url:
        scanner = HttpScanner(url, key="", timeout=30)
        with pytest.raises(ScannerFailed):
            scanner.scan(b"x", "a.md")
        scanner.close()


def test_an_endpoint_that_is_gone_or_hangs_fails() -> None:
    """In its time."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        scanner = HttpScanner(f"http://127.0.0.1:{silent.getsockname()[1]}/", key="", timeout=0.3)
        with pytest.raises(ScannerFailed):
            scanner.scan(b"x", "a.md")
        scanner.close()
        port = silent.getsockname()[1]
    scanner = HttpScanner(f"http://127.0.0.1:{port}/", key="", timeout=5)
    with pytest.raises(ScannerFailed, match="cannot be reached"):
        scanner.scan(b"x", "a.md")
    scanner.close()


# -- clamd -------------------------------------------------------------------------------------------------------
@contextmanager
def daemon(answer: Callable[[bytes], bytes]) -> Iterator[int]:
    """A server that speaks INSTREAM as clamd(8) describes it: chunks with their lengths, a zero length at the end."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            assert self.rfile.read(10) == b"zINSTREAM\0"
            content = b""
            while size := struct.unpack(">I", self.rfile.read(4))[0]:
                content += self.rfile.read(size)
            self.wfile.write(answer(content))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_clamd_is_sent_the_whole_file() -> None:
    """In several chunks where it is large."""
    large = b"x" * 2_500_000

    def answer(content: bytes) -> bytes:
        assert content in (BAD, large, b"")
        return b"stream: Test.Trojan FOUND\0" if content == BAD else b"stream: OK\0"

    with daemon(answer) as port:
        scanner = ClamdScanner(f"clamd://127.0.0.1:{port}", found="quarantine", timeout=30)
        assert scanner.scan(large, "a").action == scanner.scan(b"", "a").action == "accept"
        assert scanner.scan(BAD, "a") == ScanVerdict("quarantine", "Test.Trojan")


@pytest.mark.parametrize(
    "said", [b"stream: size limit exceeded. ERROR\0", b"OK\0", b"stream: \0", b"", b"stream: OKAY\0", b"x" * 9_000]
)
def test_clamd_without_a_verdict_fails(said: bytes) -> None:
    """A file that it does not look at is not taken for clean."""
    with daemon(lambda _content: said) as port, pytest.raises(ScannerFailed):
        ClamdScanner(f"clamd://127.0.0.1:{port}", found="refuse", timeout=30).scan(b"x", "a")


def test_clamd_that_is_gone_or_hangs_fails(tmp_path: Path) -> None:
    """In its time; so does a socket that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ScannerFailed, match=r"no verdict within 0\.2 s"):
            ClamdScanner(f"clamd://127.0.0.1:{port}", found="refuse", timeout=0.2).scan(b"x", "a")
    for address in (f"clamd://127.0.0.1:{port}", f"clamd://{tmp_path}/none.ctl"):
        with pytest.raises(ScannerFailed, match="cannot be reached"):
            ClamdScanner(address, found="refuse", timeout=5).scan(b"x", "a")


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("clamd") is None, reason="needs clamd (Debian: clamav-daemon)")
def test_a_real_clamd_finds_what_its_signatures_name(tmp_path: Path) -> None:
    """ClamAV's own daemon, with one signature of our own, on a socket of this machine."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "own.ndb").write_text(f"Own.Test:0:*:{b'TROJAN-TEST'.hex()}\n")
    (tmp_path / "clamd.conf").write_text(
        f"DatabaseDirectory {tmp_path}/base\nLocalSocket {tmp_path}/ctl\nForeground yes\nTemporaryDirectory {tmp_path}\n"
        "User root\nLogFile /dev/null\n"
    )
    started = [shutil.which("clamd") or "", f"--config-file={tmp_path}/clamd.conf"]
    process = subprocess.Popen(started, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (tmp_path / "ctl").exists():
            assert process.poll() is None
            time.sleep(0.05)
        scanner = ClamdScanner(f"clamd://{tmp_path}/ctl", found="quarantine", timeout=60)
        assert scanner.scan(b"harmless", "a.md").action == "accept"
        assert scanner.scan(BAD, "b.md") == ScanVerdict("quarantine", "Own.Test.UNOFFICIAL")
    finally:
        process.terminate()
        process.wait()


# -- in a library ------------------------------------------------------------------------------------------------
@pytest.fixture
def desk(tmp_path: Path) -> Iterator[wenyuan.Library]:
    """A library whose scanner is a command, with a source that takes uploads."""
    (tmp_path / "look.py").write_text(LOOK)
    scanner = f"{sys.executable} {tmp_path}/look.py"
    with wenyuan.open(
        tmp_path / "library", create=True, encoder={"kind": "none"}, redaction={"scanner": scanner}
    ) as library:
        library.catalog.put_source(wenyuan.Source(source_id="desk"))
        yield library


def upload(library: wenyuan.Library, name: str, content: bytes) -> Any:
    with library.uploads.incoming() as folder:
        (folder / "0").write_bytes(content)
        [one] = library.upload("desk", [Given(name=name, path=folder / "0")]).files
    return one


def test_a_file_in_quarantine_is_not_in_the_library(desk: wenyuan.Library) -> None:
    """It is named with the reason, set aside whole, and its older version stays."""
    assert upload(desk, "a.md", b"# A\n\nThe fee is 5 yuan.").state == "added"
    one = upload(desk, "a.md", BAD)
    assert one.state == "failed"
    assert "Test.Trojan" in one.reason
    [kept] = desk.quarantine
    assert (kept.sha256, kept.suffix, kept.size) == (hashlib.sha256(BAD).hexdigest(), ".md", len(BAD))
    assert (desk.folder / "quarantine" / kept.sha256 / "content").read_bytes() == BAD
    assert [uri.rpartition("/")[2] for uri in desk.catalog.live_documents("desk")] == ["a.md"]
    answer = desk.retrieve_fragments(wenyuan.RetrievalRequest(query="fee", max_results=3))
    assert "5 yuan" in answer.fragments[0].content


def test_what_is_released_is_taken_in(desk: wenyuan.Library) -> None:
    """By these bytes, not by the name; the release is in the audit."""
    assert upload(desk, "b.md", BAD).state == "failed"
    released = desk.quarantine.release(hashlib.sha256(BAD).hexdigest()[:8])
    assert list(desk.quarantine) == []
    assert upload(desk, "b.md", BAD).state == "added"
    assert upload(desk, "c.md", BAD + b"!").state == "failed"
    assert desk.catalog.value(f"quarantine/{released.sha256}")["reason"] == "Test.Trojan"


def test_decisions_on_what_was_set_aside_are_recorded(desk: wenyuan.Library) -> None:
    """Who released and who discarded which bytes is in the audit, by their SHA-256."""
    upload(desk, "b.md", BAD)
    upload(desk, "c.md", BAD + b"!")
    desk.quarantine.release(hashlib.sha256(BAD).hexdigest())
    desk.quarantine.discard(hashlib.sha256(BAD + b"!").hexdigest())
    desk.audit.flush()
    records = [one for one in desk.audit.list(kind="registry") if one.record["object"].startswith("quarantine/")]
    assert [(one.record["action"], one.record["object"], one.principal) for one in records] == [
        ("discarded", f"quarantine/{hashlib.sha256(BAD + b'!').hexdigest()}", "local"),
        ("released", f"quarantine/{hashlib.sha256(BAD).hexdigest()}", "local"),
    ]


def test_what_a_killed_process_had_begun_to_set_aside_goes(desk: wenyuan.Library) -> None:
    """A copy that is not whole is deleted when the next is set aside, unless it was begun within the hour."""
    folder = desk.folder / "quarantine"
    for name in (".old", ".young"):
        (folder / name).mkdir(parents=True)
        (folder / name / "content").write_bytes(b"half")
    os.utime(folder / ".old", (0, 0))
    upload(desk, "b.md", BAD)
    assert sorted(one.name for one in folder.iterdir()) == [".young", hashlib.sha256(BAD).hexdigest()]


def test_what_is_discarded_is_judged_anew(desk: wenyuan.Library) -> None:
    """Only the copy is gone; names of none, or of several, are refused."""
    upload(desk, "b.md", BAD)
    desk.quarantine.discard(hashlib.sha256(BAD).hexdigest())
    assert list(desk.quarantine) == []
    assert upload(desk, "b.md", BAD).state == "failed"
    for name in ("", "ffffffffffff", "../.."):
        with pytest.raises(NotFound):
            desk.quarantine.release(name)


def test_files_of_sources_and_of_archives_are_scanned(desk: wenyuan.Library, tmp_path: Path) -> None:
    """A source's folder too, each refresh; the file itself, which is the owner's, stays where it is."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.md").write_text("# Good\n\nFine.")
    (docs / "bad.md").write_bytes(BAD)
    report = desk.add(wenyuan.Source(source_id="docs", path=str(docs)))
    assert (report.added, len(report.failed)) == (1, 1)
    assert (docs / "bad.md").exists()
    (docs / "bad.md").write_text("# Cleaned\n\nFine again.")
    assert desk.ingest("docs").added == 1


def test_a_scanner_that_fails_lets_nothing_in(tmp_path: Path) -> None:
    """Not with the first file, nor with the next; once it answers, the next refresh takes them in."""
    docs, flag = tmp_path / "docs", tmp_path / "up"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nAlpha.")
    (tmp_path / "look.py").write_text(f"import os, sys; sys.exit(0 if os.path.exists({str(flag)!r}) else 70)")
    settings = {"encoder": {"kind": "none"}, "redaction": {"scanner": f"{sys.executable} {tmp_path}/look.py"}}
    with wenyuan.open(tmp_path / "library", create=True, **settings) as library:
        with pytest.raises(SourceError, match="it ended with status 70"):
            library.add(wenyuan.Source(source_id="docs", path=str(docs)))
        flag.touch()
        assert library.add(wenyuan.Source(source_id="docs", path=str(docs))).added == 1
        flag.unlink()
        (docs / "b.md").write_text("# B\n\nBeta.")
        report = library.ingest("docs")
        assert (report.added, report.unchanged, len(report.failed)) == (0, 1, 1)


def test_what_was_taken_in_unseen_is_read_again(tmp_path: Path) -> None:
    """A scanner that is set up later has seen everything that is answered from."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bad.md").write_bytes(BAD)
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        assert library.add(wenyuan.Source(source_id="docs", path=str(docs))).added == 1
    (tmp_path / "look.py").write_text(LOOK)
    redaction = {"scanner": f"{sys.executable} {tmp_path}/look.py", "found": "refuse"}
    with wenyuan.open(tmp_path / "library", encoder={"kind": "none"}, redaction=redaction) as library:
        assert len(library.ingest("docs").failed) == 1
        assert list(library.quarantine) == []
