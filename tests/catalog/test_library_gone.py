"""A library whose files are removed, emptied or another's while it is open, or before: that is said, by name, at once."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest

import wenyuan
from wenyuan.catalog import database_file
from wenyuan.catalog.audit.tables import AuditFiles
from wenyuan.core.errors import CatalogUnavailable, KnowledgeError
from wenyuan.core.model import RetrievalRequest
from wenyuan.i18n.translation import translated

OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing"}}
ASKED = RetrievalRequest(query="答复时限", max_results=3)


def made(folder: Path, word: str) -> Path:
    docs = folder.with_name(folder.name + "-docs")
    docs.mkdir()
    (docs / "a.md").write_text(f"# {word}\n\n{word}的答复时限为五天。\n", "utf-8")
    with wenyuan.open(folder, create=True, **OPTIONS) as library:
        library.add(wenyuan.Source(source_id="s", path=str(docs)))
        assert library.retrieve_fragments(ASKED).fragments
    return folder


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two libraries, that tests copy."""
    place: Path = tmp_path_factory.mktemp("originals")
    return made(place / "ours", "甲库"), made(place / "theirs", "乙库")


@pytest.fixture
def folder(originals: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(originals[0], tmp_path / "ours"))


@pytest.fixture
def stranger(originals: tuple[Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(originals[1], tmp_path / "theirs"))


@pytest.fixture
def library(folder: Path) -> Iterator[wenyuan.Library]:
    opened = wenyuan.open(folder, **OPTIONS)
    assert opened.retrieve_fragments(ASKED).fragments
    yield opened
    with suppress(KnowledgeError):  # the audit could not write its last records
        opened.close()


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Waits until the next question looks at the files again, which one does within a second of the one before."""
    assert database_file._EVERY < 1
    monkeypatch.setattr(database_file, "_EVERY", 0.02)
    return lambda: time.sleep(0.03)


def remove(file: Path, other: Path) -> None:
    file.unlink()


def empty(file: Path, other: Path) -> None:
    os.truncate(file, 0)


def zero(file: Path, other: Path) -> None:
    file.write_bytes(b"\0" * file.stat().st_size)


def overwrite(file: Path, other: Path) -> None:
    shutil.copyfile(other, file)


def replace(file: Path, other: Path) -> None:
    shutil.copyfile(other, file.with_suffix(".new"))
    file.with_suffix(".new").replace(file)


@pytest.mark.parametrize("how", [remove, empty, zero, overwrite, replace])
@pytest.mark.parametrize("name", ["catalog.db", "audit.db"])
def test_gone_while_open(
    looked: Callable[[], None],
    library: wenyuan.Library,
    folder: Path,
    stranger: Path,
    name: str,
    how: Callable[[Path, Path], None],
) -> None:
    """Within a second of it answers are FAILED and name the file; the library is not ready, and without its catalog takes nothing in."""
    how(folder / name, stranger / name)
    looked()
    for _ in range(2):
        answer = library.retrieve_fragments(ASKED)
        assert answer.status == "FAILED"
        assert name in (answer.error_message or "")
    ready = library.readiness()
    assert not ready.ready
    assert name in str(ready.parts[name.removesuffix(".db")]["detail"])
    if name == "catalog.db":
        with pytest.raises(CatalogUnavailable):
            library.ingest("s")


def test_the_whole_folder(library: wenyuan.Library, folder: Path) -> None:
    """A folder that is removed is not made again by who looks after the index files."""
    library.follow()
    shutil.rmtree(folder)
    time.sleep(1.2)
    assert library.retrieve_fragments(ASKED).status == "FAILED"
    assert not library.readiness().ready
    assert not folder.exists()


def test_catalog_of_another_library(folder: Path, stranger: Path) -> None:
    """A catalog that was put in the place of ours is refused by its audit's name."""
    for file in folder.glob("catalog.db*"):
        file.unlink()
    shutil.copyfile(stranger / "catalog.db", folder / "catalog.db")
    shutil.copyfile(stranger / "pseudonym.key", folder / "pseudonym.key")
    with pytest.raises(CatalogUnavailable, match="one of them is another library's") as caught:
        wenyuan.open(folder, **OPTIONS)
    assert caught.value.hint == "restore both from one backup"


def test_catalog_of_another_library_without_an_audit(folder: Path, stranger: Path) -> None:
    """Without an audit it is the index that tells."""
    for file in folder.glob("catalog.db*"):
        file.unlink()
    shutil.copyfile(stranger / "catalog.db", folder / "catalog.db")
    shutil.copyfile(stranger / "pseudonym.key", folder / "pseudonym.key")
    with wenyuan.open(folder, audit={"enabled": False}, **OPTIONS) as library:
        answer = library.retrieve_fragments(ASKED)
        assert answer.status == "FAILED"
        assert "another library's" in (answer.error_message or "")


def test_an_audit_that_says_no_name(folder: Path) -> None:
    """An audit of an earlier version is given the library's id when it is opened, and keeps it."""
    place = AuditFiles(folder)
    with place.writer.begin() as connection:
        connection.exec_driver_sql("DROP TABLE audit_library")
    place.close()
    with closing(driver.connect(str(folder / "catalog.db"), isolation_level=None)) as connection:
        connection.execute("DELETE FROM library WHERE key = 'audit_anchor'")  # kept by later versions only
    with wenyuan.open(folder, **OPTIONS) as library:
        name = library.catalog.library_id()
        assert library.audit.verify().ok
    place = AuditFiles(folder)
    place.belong([name], named=True)
    with pytest.raises(CatalogUnavailable, match="another library's"):
        place.belong(["other"], named=True)
    place.close()


def test_a_library_with_a_new_id(looked: Callable[[], None], folder: Path, tmp_path: Path) -> None:
    """A copy that is given an id of its own keeps its audit and index, and so does who has it open meanwhile."""
    shutil.copytree(folder, tmp_path / "copy")
    with wenyuan.open(tmp_path / "copy", **OPTIONS) as library, wenyuan.open(tmp_path / "copy", **OPTIONS) as other:
        name = library.catalog.library_id()
        assert other.catalog.renew_id() != name
        other.close()
        looked()
        assert library.retrieve_fragments(ASKED).fragments
    with wenyuan.open(tmp_path / "copy", **OPTIONS) as library:
        assert library.retrieve_fragments(ASKED).fragments
        assert library.audit.verify().ok


@pytest.mark.parametrize(
    "message",
    [
        "catalog: catalog.db was removed while the library is open",
        "audit: audit.db was written over by that of another library (ab12) while the library is open",
        "audit: audit.db is that of library ab12, and the catalog that of cd34: one of them is another library's",
        "engine local: its change 3 (1.5 s) is not the catalog's (1.7 s): the index or the catalog is another library's, or an "
        "older one",
    ],
)
def test_said_in_chinese(message: str) -> None:
    """What is said of such a file is said in Chinese, too."""
    said = translated(message)
    assert said != message
    assert not any(word in said for word in ("library", "another", "while", "change"))
