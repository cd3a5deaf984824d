"""``document upload``, ``replace`` and ``delete``: what is copied into the library, and what is told of it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from command_line import runner
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.service.audit.recorder import AuditRecorder


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


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    """Nothing to upload is no success; a file in a hidden folder is none."""
    run = runner(tmp_path / "library")
    (tmp_path / "docs" / ".git").mkdir(parents=True)
    (tmp_path / "docs" / ".git" / "x.md").write_text("# Hidden")
    assert "nothing to read" in run("document", "upload", "desk", tmp_path / "docs", code=1).output
    assert "desk" not in run("source", "list").output


def test_a_folder_that_may_not_be_looked_into_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in it is not passed over; a named pipe is no file."""
    run = runner(tmp_path / "library")
    (tmp_path / "docs" / "shut").mkdir(parents=True)
    (tmp_path / "docs" / "a.md").write_text("# A\n\nThe fee is 5 yuan.")
    os.mkfifo(tmp_path / "docs" / "pipe.md")
    scanned = os.scandir

    def refused(path: Any) -> Any:
        if str(path).endswith("shut"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scanned(path)

    with monkeypatch.context() as shut:
        shut.setattr(os, "scandir", refused)
        told = run("document", "upload", "desk", tmp_path / "docs", code=1).output
        assert "docs/shut: Permission denied" in told
    done = run("document", "upload", "desk", tmp_path / "docs").output
    assert "added  docs/a.md  1" in done
    assert "pipe" not in done


def test_links_of_a_folder_lead_nowhere_else(tmp_path: Path) -> None:
    """What a link outside leads to is not taken; one that leads to nothing is named, and the other files are taken."""
    run = runner(tmp_path / "library")
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "secret.md").write_text("# Secret")
    (docs / "a.md").write_text("# A\n\nThe fee is 5 yuan.")
    (docs / "out.md").symlink_to(tmp_path / "secret.md")
    (docs / "dead.md").symlink_to("nothing.md")
    (docs / "wrong.docx").write_text("plain")
    done = run("--lang", "zh", "document", "upload", "desk", docs, code=3).output
    assert "新增  docs/a.md  1" in done
    assert "docs/dead.md\n    无法读取：没有这个文件或目录" in done
    assert "扩展名为 .docx，但内容不是 ZIP 容器（DOCX、XLSX 等）" in done
    assert "out.md" not in done


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Where two of them cannot be read, their folders are named, and the system's reason without its number."""
    run = runner(tmp_path / "library")
    for name in ("ok", "one", "two"):
        (tmp_path / "docs" / name).mkdir(parents=True)
    (tmp_path / "docs" / "ok" / "a.md").write_text("# A\n\nThe fee is 5 yuan.")
    (tmp_path / "docs" / "one" / "a.md").write_text("")
    (tmp_path / "docs" / "two" / "a.md").symlink_to("nothing.md")
    done = run("add", tmp_path / "docs", "--source", "desk", code=3).output
    assert "    one/a.md: the file is empty\n" in done
    assert "    two/a.md: cannot be read: No such file or directory\n" in done


def test_a_file_to_verify_that_is_not_there_is_no_claim(tmp_path: Path) -> None:
    """A name of a file is not judged as an answer; a text that is none is."""
    run = runner(tmp_path / "library")
    assert "there is no file 'answer.txt'" in run("verify", "answer.txt", code=2).output
    assert "文件 '回答.md' 不存在" in run("--lang", "zh", "verify", "回答.md", code=2).output
    assert "1 claim" in run("verify", "The fee is 5 yuan, see README.md").output


def test_a_failure_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the command says is not also said by the program's log, in its own words."""
    run = runner(tmp_path / "library")
    (tmp_path / "a.md").write_text("# A\n\nThe fee is 5 yuan.")
    run("document", "upload", "desk", tmp_path / "a.md")
    told = run("context", "fee", code=1, WENYUAN_SEARCH__DEADLINE="0.000001").output
    assert "deadline" in told
    assert "legs" not in told
    assert caplog.records == []


def test_a_failure_that_is_not_in_the_audit_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the command shows the failure itself hides no gap in the audit."""

    def full(*_: Any, **__: Any) -> None:
        raise CatalogUnavailable("the disk is full")

    run = runner(tmp_path / "library")
    (tmp_path / "a.md").write_text("# A\n\nThe fee is 5 yuan.")
    run("document", "upload", "desk", tmp_path / "a.md")
    monkeypatch.setattr(AuditRecorder, "failed", full)
    run("context", "fee", code=1, WENYUAN_SEARCH__DEADLINE="0.000001")
    assert [record.getMessage() for record in caplog.records] == [
        "the failure could not be audited: the disk is full"
    ]
