"""What cannot be seen is not taken for what is not there, on any Python."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from unprivileged import nobody
from wenyuan.core.errors import SourceError
from wenyuan.runtime.presence import exists, is_dir, is_file
from wenyuan.service.ingest.local_files import find_files


@pytest.fixture
def listed() -> Iterator[Path]:
    """A folder with one document, whose names may be read by everybody, and nothing more of them."""
    folder = Path(tempfile.mkdtemp())
    (folder / "leave.md").write_text("# Leave\n\nFive days may be carried over.\n", "utf-8")
    folder.chmod(0o444)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("ask", [exists, is_file, is_dir])
def test_what_cannot_be_seen_is_an_error(listed: Path, ask: Callable[[Path], bool]) -> None:
    """None of the three says False where the system refuses to tell."""
    with nobody(), pytest.raises(PermissionError):
        ask(listed / "leave.md")


def test_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    """A link counts for what it leads to; a link to nothing or to itself, and a path through a file, are nothing."""
    (file := tmp_path / "file").touch()
    (link := tmp_path / "link").symlink_to(tmp_path)
    (dangling := tmp_path / "dangling").symlink_to(tmp_path / "none")
    (circle := tmp_path / "circle").symlink_to(tmp_path / "circle")
    asked = (file, link, dangling, circle, file / "below")
    assert [exists(path) for path in asked] == [True, True, False, False, False]
    assert [is_file(path) for path in asked] == [True, False, False, False, False]
    assert [is_dir(path) for path in asked] == [False, True, False, False, False]


def test_documents_that_cannot_be_seen_are_not_left_out(listed: Path) -> None:
    """A folder whose files may no longer be reached is an error of its source: left out, they would count as removed."""
    with nobody(), pytest.raises(SourceError, match=f"cannot look into {listed}") as caught:
        find_files(listed, lambda name: name.endswith(".md"))
    assert caught.value.hint.endswith(f"ls -la {listed / 'leave.md'}") or caught.value.hint.endswith(
        f"ls -la {listed}"
    )
    with nobody(), pytest.raises(SourceError, match="cannot look into"):
        find_files(listed / "leave.md", lambda name: True)


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    """A device and a pipe are no files, and no fault of rights; a folder of such, and of links that lead out, is not empty."""
    os.mkfifo(pipe := tmp_path / "pipe")
    (tmp_path / "zero.md").symlink_to("/dev/zero")
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(SourceError, match="neither a file nor a folder") as caught:
            find_files(path, lambda name: True)
        assert "ls -la" not in caught.value.hint
    with pytest.raises(SourceError, match="nothing to read") as caught:
        find_files(tmp_path, lambda name: True)
    assert "empty" not in str(caught.value)
    assert "links that lead out of it: 1; pipes and devices: 1" in str(caught.value)
