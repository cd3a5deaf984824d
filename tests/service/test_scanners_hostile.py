"""A scanner that lies, floods or is fed a hostile name lets nothing in; a damaged quarantine hides and deletes nothing else."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from listening import listening
from wenyuan.core.errors import ConfigError
from wenyuan.core.scanning import ScannerFailed, ScanVerdict
from wenyuan.scanners.command import CommandScanner
from wenyuan.scanners.http import HttpScanner
from wenyuan.service.ingest.quarantine import Quarantine

REFUSES = json.dumps({"verdict": "refuse", "reason": "macro"})


def command(tmp_path: Path, code: str, arguments: str = "{name}", timeout: float = 60.0) -> CommandScanner:
    script = tmp_path / "scan.py"
    script.write_text(code, "utf-8")
    return CommandScanner(f"{sys.executable} {script} {arguments}", found="refuse", timeout=timeout)


# -- a command ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("before", ["\ufeff", "loading 3 rules\n", "warning: old rules\n  \ufeff", "\n \t"])
def test_a_verdict_behind_other_words_counts(tmp_path: Path, before: str) -> None:
    """A byte order mark, or a line of a log before it, does not turn a refusal into the acceptance of status 0."""
    scanner = command(tmp_path, f"import sys; sys.stdout.buffer.write({(before + REFUSES).encode()!r})")
    assert scanner.scan(b"x", "a.md") == ScanVerdict("refuse", "macro")


def test_two_verdicts_are_none(tmp_path: Path) -> None:
    """Nor is one with something behind it."""
    for said in (REFUSES + "\n" + json.dumps({"verdict": "accept"}), json.dumps({"verdict": "accept"}) + " x"):
        with pytest.raises(ScannerFailed, match="no verdict"):
            command(tmp_path, f"print({said!r})").scan(b"x", "a.md")


def test_output_without_end_is_no_verdict(tmp_path: Path) -> None:
    """It is ended once it has said too much, and neither memory nor disk holds what it says."""
    code = "import os, sys\nwhile True: os.write(1, b'ok ' * 10_000)"
    with pytest.raises(ScannerFailed, match="its answer is no verdict"):
        command(tmp_path, code, timeout=300).scan(b"x", "a.md")


def test_what_a_command_starts_keeps_nobody_waiting(tmp_path: Path) -> None:
    """A verdict counts once the command has ended, though a child of its own, in a session of its own, keeps its output open."""
    code = (
        "import os, sys, time\nprint('Test.Trojan', flush=True)\n"
        "if os.fork() == 0:\n    os.setsid()\n    time.sleep(20)\n    os._exit(0)\nsys.exit(1)"
    )
    scanner = command(tmp_path, code, timeout=15)
    assert scanner.scan(b"x", "a.md") == ScanVerdict("refuse", "Test.Trojan")


def test_closing_the_output_is_no_end(tmp_path: Path) -> None:
    """The status of the command is waited for, and in its time."""
    code = "import os, sys, time\nos.close(1)\ntime.sleep(float(sys.argv[1]))\nos._exit(1)"
    assert command(tmp_path, code, "0.1").scan(b"x", "a.md").action == "refuse"
    with pytest.raises(ScannerFailed, match="no verdict within"):
        command(tmp_path, code, "300", timeout=0.5).scan(b"x", "a.md")


@pytest.mark.parametrize("name", ["-h", "--exclude=.*", "-\n--version.md"])
def test_a_file_name_is_no_option(tmp_path: Path, name: str) -> None:
    """Whoever names a file has no say in how the scanner works."""
    code = "import sys; sys.exit(any(word.startswith('-') for word in sys.argv[1:]) * 2)"
    assert command(tmp_path, code, "{name}").scan(b"x", name).action == "accept"
    assert command(tmp_path, code, "{name}.bin").scan(b"x", name).action == "accept"
    told = command(tmp_path, "import json, sys; print(json.dumps({'verdict': 'refuse', 'reason': sys.argv[1]}))")
    assert told.scan(b"x", name).reason == "./" + name.replace("\n", " ")
    assert told.scan(b"x", "a-b.md").reason == "a-b.md"


@pytest.mark.parametrize(
    "said",
    ["htps://h.example/scan?token=s3cr3t", "TOKEN=s3cr3t scan -", "//h.example/?s3cr3t", "u:s3cr3t@h.example/scan"],
)
def test_a_mistaken_scanner_is_named_without_its_secret(tmp_path: Path, said: str) -> None:
    """The message may be read by more people than the settings."""
    with pytest.raises(ConfigError) as caught:
        wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}, redaction={"scanner": said}).close()
    assert "s3cr3t" not in str(caught.value) + repr(caught.value.__dict__)


# -- an HTTP endpoint --------------------------------------------------------------------------------------------
@pytest.fixture
def packed() -> Iterator[tuple[str, list[int]]]:
    """An endpoint that answers with a small gzip of 200 MB, and how often it was asked."""
    body = gzip.compress(b'{"verdict": "accept"}' + b" " * 200_000_000, compresslevel=1)
    asked: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(self.headers["Accept-Encoding"] == "identity")
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield f"{url}/scan", asked


def test_a_packed_answer_is_not_unpacked(packed: tuple[str, list[int]]) -> None:
    """None is asked for, and a small one that is large when unpacked takes no memory."""
    import tracemalloc

    url, asked = packed
    scanner = HttpScanner(url, key="", timeout=60)
    tracemalloc.start()
    try:
        with pytest.raises(ScannerFailed):
            scanner.scan(b"x", "a.md")
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
        scanner.close()
    assert asked == [1]


def test_a_name_that_is_no_text_is_sent(packed: tuple[str, list[int]]) -> None:
    """A surrogate in it ends in the verdict, not in an error of the program."""
    scanner = HttpScanner(packed[0], key="", timeout=60)
    with pytest.raises(ScannerFailed):
        scanner.scan(b"x", "a\ud800\r\nX: y.md")
    scanner.close()
    assert packed[1] == [1]


# -- quarantine --------------------------------------------------------------------------------------------------
@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as made:
        yield made


def kept(quarantine: Quarantine, content: bytes) -> Path:
    sha256 = hashlib.sha256(content).hexdigest()
    assert quarantine.keep(content, sha256=sha256, suffix=".md", scanner="scanner s", reason="Test.Trojan")
    return quarantine.folder / sha256


DAMAGES: list[Any] = [None, b"", b"{", b"[]", b"[" * 100_000, b"\xff", b'{"at": "x"}']


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_description_hides_no_other_file(library: wenyuan.Library, damage: bytes | None) -> None:
    """Its own file is listed too, can be discarded, and is set aside whole when it comes again."""
    whole, broken = kept(library.quarantine, b"whole"), kept(library.quarantine, b"broken")
    (broken / "about.json").unlink()
    if damage is not None:
        (broken / "about.json").write_bytes(damage)
    assert [(one.sha256, one.reason) for one in library.quarantine] == [
        (whole.name, "Test.Trojan"),
        (broken.name, "what it was set aside for cannot be read: about.json"),
    ]
    kept(library.quarantine, b"broken")
    assert {one.reason for one in library.quarantine} == {"Test.Trojan"}
    (broken / "about.json").write_bytes(damage or b"")
    assert library.quarantine.discard(broken.name[:12]).sha256 == broken.name
    assert not broken.exists()
    assert [one.sha256 for one in library.quarantine] == [whole.name]


def test_a_file_is_called_by_its_folder_alone(library: wenyuan.Library) -> None:
    """A description that names another file, or a folder elsewhere, releases and deletes nothing but its own."""
    safe, other = kept(library.quarantine, b"safe"), kept(library.quarantine, b"other")
    (library.folder / "uploads").mkdir(exist_ok=True)
    for named in (other.name, "../uploads"):
        lying = kept(library.quarantine, named.encode())
        about = json.loads((lying / "about.json").read_text())
        (lying / "about.json").write_text(json.dumps({**about, "sha256": named}))
        assert library.quarantine.release(lying.name).sha256 == lying.name
        assert not library.quarantine.released(other.name)
        assert not lying.exists()
    assert safe.exists()
    assert other.exists()
    assert (library.folder / "uploads").exists()


def test_a_quarantine_that_leads_nowhere_is_no_empty_one(library: wenyuan.Library) -> None:
    """A link to nowhere, or a file in its place, is said."""
    from wenyuan.core.errors import CatalogUnavailable, SourceError

    library.quarantine.folder.symlink_to(library.folder / "none")
    for _ in range(2):
        with pytest.raises(CatalogUnavailable, match="cannot be read"):
            list(library.quarantine)
        with pytest.raises(SourceError, match="cannot be kept"):
            kept(library.quarantine, b"x")
        library.quarantine.folder.unlink()
        library.quarantine.folder.write_bytes(b"")
