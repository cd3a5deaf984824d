"""``document upload``, ``replace`` and ``delete``: what is copied into the library, and what is told of it."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import runner


def test_documents_are_uploaded_replaced_and_deleted(tmp_path: Path) -> None:
    """A folder with its names; the originals stay; a broken file is named, and exit code 3 says that not all went well."""
    run = runner(tmp_path / "library")
    (tmp_path / "docs" / ".git").mkdir(parents=True)
    (tmp_path / "docs" / ".git" / "x.md").write_text("# Hidden")
    (tmp_path / "docs" / "a.md").write_text("# A\n\nThe fee is 5 yuan.")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    done = run("document", "upload", "desk", tmp_path / "docs", tmp_path / "broken.pdf", code=3)
    assert "added  docs/a.md  1" in done.output
    assert "broken.pdf" in done.output
    assert (tmp_path / "docs" / "a.md").exists()
    assert not list((tmp_path / "library" / "uploads" / "desk").rglob("x.md"))
    (tmp_path / "new.md").write_text("# A\n\nThe fee is 9 yuan.")
    told = json.loads(run("--json", "document", "replace", 1, tmp_path / "new.md").stdout)
    assert [(one["name"], one["state"]) for one in told["files"]] == [("docs/a.md", "changed")]
    number = told["files"][0]["documents"][0]
    refused = run("document", "delete", number, code=2)
    assert "--yes" in refused.output
    assert "删除" in run("--lang", "zh", "document", "delete", number, "--yes").output
    assert "9 yuan" not in run("search", "fee", code=0).output
