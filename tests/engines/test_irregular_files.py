"""A device, a pipe or a folder in the place of a library's file is refused or healed at once, and never read without end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import KnowledgeError
from wenyuan.core.model import RetrievalRequest
from wenyuan.runtime.regular import open_regular, read_regular

OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing"}}
ASKED = RetrievalRequest(query="答复时限", max_results=3)
Put = Callable[[Path], None]


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.mkdir()


IRREGULAR = [device, pipe, directory]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("original")
    (place / "docs").mkdir()
    (place / "docs" / "a.md").write_text("# 制度\n\n答复时限为五天。\n", "utf-8")
    with wenyuan.open(place / "library", create=True, **OPTIONS) as library:
        library.add(wenyuan.Source(source_id="s", path=str(place / "docs")))
        assert library.retrieve_fragments(ASKED).fragments
    return place / "library"


@pytest.mark.parametrize("put", IRREGULAR)
def test_no_regular_file(tmp_path: Path, put: Put) -> None:
    """None of them is opened or read as a file."""
    put(tmp_path / "file")
    for look in (open_regular, read_regular):
        with pytest.raises(OSError):
            look(tmp_path / "file")


def test_bounded(tmp_path: Path) -> None:
    """A file is read whole, also by a link, and not beyond what was said."""
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_regular(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError):
        read_regular(tmp_path / "file", 4)


@pytest.mark.parametrize("put", IRREGULAR)
def test_in_the_place_of_each_index_file(original: Path, tmp_path: Path, put: Put) -> None:
    """Of every file of the index: the answer is right, from an index that is mended, or FAILED."""
    names = [file.relative_to(original) for file in sorted((original / "index").rglob("*")) if file.is_file()]
    assert names
    for number, name in enumerate(names):
        folder = Path(shutil.copytree(original, tmp_path / str(number)))
        (folder / name).unlink()
        put(folder / name)
        with wenyuan.open(folder, **OPTIONS) as library:
            answer = library.retrieve_fragments(ASKED)
        assert answer.fragments if answer.status == "SUCCESS" else answer.error_message, name


@pytest.mark.parametrize("put", IRREGULAR)
@pytest.mark.parametrize("name", ["audit.head", "audit.db", "catalog.db"])
def test_in_the_place_of_a_file_of_record(original: Path, tmp_path: Path, put: Put, name: str) -> None:
    """What cannot be mended is refused, and no answer is given from nothing."""
    folder = Path(shutil.copytree(original, tmp_path / "library"))
    (folder / name).unlink()
    put(folder / name)
    try:
        with wenyuan.open(folder, **OPTIONS) as library:
            assert library.retrieve_fragments(ASKED).status == "FAILED"
            assert not library.readiness().ready
    except KnowledgeError as error:
        assert error.hint or error.message
