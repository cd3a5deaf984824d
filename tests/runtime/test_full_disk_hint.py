"""A disk that is full is told as one, with what to do, wherever it is met."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from command_line import run
from wenyuan.core.errors import EngineUnavailable, IndexCorrupt
from wenyuan.engines.local import keyword, publication
from wenyuan.runtime.full_disk import MAKE_ROOM, next_step


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), MAKE_ROOM),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), MAKE_ROOM),
        (ValueError("An IO error occurred: 'No space left on device (os error 28)'"), MAKE_ROOM),
        (OSError(errno.EACCES, "Permission denied"), ""),
        (ValueError("passage 28 is missing"), ""),
    ],
)
def test_a_full_disk_is_told_from_other_faults(error: Exception, said: str) -> None:
    """Also as libraries in Rust word it."""
    assert next_step(error) == said


def test_an_index_that_finds_no_room_says_so() -> None:
    """By either of the ways in which its files are written; another fault is told as before."""
    with pytest.raises(EngineUnavailable) as told, publication._disk_error("writing meta.json"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert told.value.hint == MAKE_ROOM
    with pytest.raises(EngineUnavailable) as told, keyword._translated("writing the index", EngineUnavailable):
        raise ValueError("An IO error occurred: No space left on device (os error 28)")
    assert told.value.hint == MAKE_ROOM
    with pytest.raises(IndexCorrupt) as damage, keyword._translated("opening the index"):
        raise ValueError("a segment is missing")
    assert damage.value.hint != MAKE_ROOM


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_file_whose_copy_finds_no_room_is_not_called_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    """The disk of the library is full; the file that is given is well."""
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# Leave\n\nTen days a year.\n", "utf-8")
    library = tmp_path / "library"
    assert run("--library", library, "init").exit_code == 0

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    result = run("--lang", language, "--library", library, "document", "upload", "desk", folder / "a.md")
    said = " ".join((result.output + result.stderr).split())
    assert result.exit_code not in (0, 2)
    assert {"en": "make room on the disk", "zh": "请在磁盘上腾出空间"}[language] in said
    assert {"en": "cannot be read", "zh": "无法读取"}[language] not in said
