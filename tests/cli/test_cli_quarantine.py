"""``wenyuan quarantine`` and the doctor's look at the scanner, in a library at a relative path."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from command_line import runner

LOOK = "import sys; sys.exit(print('Test.Trojan') or 1 if b'TROJAN' in sys.stdin.buffer.read() else 0)"


def test_a_file_is_set_aside_listed_released_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an owner would: the upload says how to go on."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "look.py").write_text(LOOK)
    (tmp_path / "bad.md").write_text("# Bad\n\nTROJAN text.")
    run, scanner = runner(Path("library")), f"{sys.executable} {tmp_path}/look.py"
    name = hashlib.sha256(b"# Bad\n\nTROJAN text.").hexdigest()

    def scanned(*words: object, code: int = 0) -> str:
        return str(run(*words, code=code, WENYUAN_REDACTION__SCANNER=scanner).output)

    assert "Test.Trojan" in scanned("document", "upload", "desk", "bad.md", code=3)
    assert name[:12] in scanned("quarantine", "list")
    told = json.loads(scanned("quarantine", "list", "--json"))
    assert [one["sha256"] for one in told["files"]] == [name]
    assert "1 file in quarantine" in scanned("doctor")
    assert "下次刷新" in scanned("--lang", "zh", "quarantine", "release", name[:8])
    assert "added" in scanned("document", "upload", "desk", "bad.md")
    assert "Nothing was set aside" in scanned("quarantine", "list")


def test_a_file_is_discarded(tmp_path: Path) -> None:
    """Its copy is gone; a name that is none is told."""
    (tmp_path / "look.py").write_text(LOOK)
    (tmp_path / "bad.md").write_text("# Bad\n\nTROJAN text.")
    run, scanner = runner(tmp_path / "library"), f"{sys.executable} {tmp_path}/look.py"
    run("document", "upload", "desk", tmp_path / "bad.md", code=3, WENYUAN_REDACTION__SCANNER=scanner)
    name = hashlib.sha256(b"# Bad\n\nTROJAN text.").hexdigest()
    assert "deleted" in run("quarantine", "discard", name[:10]).output
    assert "no such file in quarantine" in run("quarantine", "discard", name[:10], code=2).output


def test_the_doctor_tells_of_a_scanner_that_gives_no_verdict(tmp_path: Path) -> None:
    """Or that refuses everything."""
    run = runner(tmp_path / "library")
    run("init")
    (tmp_path / "look.py").write_text("import sys; sys.exit(int(sys.argv[1]))")
    for status, said in ((0, "gives verdicts"), (1, "would refuse everything"), (9, "ended with status 9")):
        scanner = f"{sys.executable} {tmp_path}/look.py {status}"
        told = run("doctor", code=1 if status else 0, WENYUAN_REDACTION__SCANNER=scanner).output
        assert said in told
