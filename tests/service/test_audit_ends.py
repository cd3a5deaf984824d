"""Who else knows where the audit ends: the catalog after some records or seconds, and a file elsewhere, by which even an older copy of the whole library is found."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest

import wenyuan
from audit_parts import fill, raw, record
from command_line import run
from copies import copied
from patience import HANGS
from wenyuan.catalog import Catalog
from wenyuan.catalog.audit import known_ends
from wenyuan.catalog.audit.chain import Head
from wenyuan.catalog.audit.known_ends import KnownEnds
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.core.errors import CatalogUnavailable, ConfigError
from wenyuan.core.model import RetrievalRequest
from wenyuan.i18n.translation import translated

ASKED = RetrievalRequest(query="答复时限", max_results=3)
OFFLINE = {"WENYUAN_ENCODER__KIND": "none"}


def made(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("# 办法\n\n答复时限为五天。\n", "utf-8")
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "none"}) as library:
        library.add(wenyuan.Source(source_id="s", path=str(folder / "docs")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copied(made, tmp_path)
    return tmp_path / "library"


def opened(folder: Path, **audit: Any) -> wenyuan.Library:
    return wenyuan.open(folder, encoder={"kind": "none"}, audit=audit)


def anchored(folder: Path) -> Head:
    with closing(driver.connect(str(folder / "catalog.db"), isolation_level=None)) as connection:
        (text,) = connection.execute("SELECT value FROM library WHERE key = 'audit_anchor'").fetchone()
    return Head.parse(text)


def put_back(older: Path, folder: Path) -> None:
    """Both files of an audit as they were, without what a write-ahead log would say."""
    for name in ("audit.db", "audit.head"):
        shutil.copy(older / name, folder / name)
    for rest in folder.glob("audit.db-*"):
        rest.unlink()


# -- the catalog ---------------------------------------------------------------------------------------------------
def test_questions_alone_cannot_be_taken_back(folder: Path, tmp_path: Path) -> None:
    """An older copy of both files of the audit is found, though nothing was changed since but by asking."""
    shutil.copytree(folder, tmp_path / "older")
    with opened(folder) as library:
        assert library.retrieve_fragments(ASKED).fragments
    put_back(tmp_path / "older", folder)
    with opened(folder) as library:
        assert library.retrieve_fragments(ASKED).status == "FAILED"
        verified = library.audit.verify()
        assert verified.first_fault is not None
        assert "the catalog knows records up to" in verified.first_fault.what


def test_many_records_are_known_while_the_library_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many records the catalog is told, without a change of its own and without being closed."""
    monkeypatch.setattr(known_ends, "UNKNOWN_RECORDS", 5)
    catalog = Catalog.create(tmp_path / "library")
    with closing(AuditLog(tmp_path / "library", ends=KnownEnds(catalog.anchor))) as audit:
        before = catalog.seq()
        fill(audit, 4)
        assert anchored(tmp_path / "library").seq == 0
        fill(audit, 1)
        audit.append(record())
        audit.flush()  # the group after it is begun once the catalog was told
        assert anchored(tmp_path / "library").seq >= 5
        assert catalog.seq() == before
    catalog.close()


class Telling(KnownEnds):
    """Says when it has told the others."""

    told = threading.Event()

    def tell(self, head: Head) -> None:
        super().tell(head)
        self.told.set()


def test_few_records_are_known_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last records before a rest are told when it has lasted, and nobody closes or asks."""
    monkeypatch.setattr(known_ends, "UNKNOWN_SECONDS", 0.3)
    catalog = Catalog.create(tmp_path / "library")
    ends = Telling(catalog.anchor)
    with closing(AuditLog(tmp_path / "library", ends=ends)) as audit:
        fill(audit, 3)
        assert ends.told.wait(HANGS)
        assert anchored(tmp_path / "library").seq == 3
    catalog.close()


def test_an_older_copy_under_a_process_that_asks(tmp_path: Path) -> None:
    """An end that the catalog knows and the log no longer has is found by the next group of records."""
    catalog = Catalog.create(tmp_path / "library")
    audit = AuditLog(tmp_path / "library", ends=KnownEnds(catalog.anchor))
    fill(audit, 3)
    audit._tell_others()
    with raw(tmp_path / "library") as connection:
        connection.execute("DELETE FROM audit WHERE seq = 3")
        (last,) = connection.execute("SELECT hash FROM audit WHERE seq = 2").fetchone()
    (tmp_path / "library" / "audit.head").write_text(f"{2:019d}:{last}\n", "ascii")
    audit.append(record())
    with pytest.raises(CatalogUnavailable, match="but the catalog says 3"):
        audit.flush()
    with pytest.raises(CatalogUnavailable, match="but the catalog says 3"):
        audit.close()
    catalog.close()


@pytest.mark.parametrize("how", ["DELETE FROM audit_library", "DROP TABLE audit_library"])
def test_an_audit_that_no_longer_says_whose_it_is(folder: Path, how: str) -> None:
    """It is not gone on with, verifying says it, and renewing the head gives it the name again."""
    with closing(driver.connect(str(folder / "audit.db"), isolation_level=None)) as file:
        file.execute(how)
    with opened(folder) as library:
        assert library.retrieve_fragments(ASKED).status == "FAILED"
        assert not library.readiness().ready
    said = run("--library", folder, "audit", "verify", **OFFLINE)
    assert said.exit_code == 1
    assert "no longer says of which library it is" in " ".join(said.stdout.split())
    assert run("--library", folder, "audit", "verify", "--renew-head", **OFFLINE).exit_code == 0
    with opened(folder) as library:
        assert library.retrieve_fragments(ASKED).fragments
    with closing(driver.connect(str(folder / "audit.db"), isolation_level=None)) as file:
        assert file.execute("SELECT COUNT(*) FROM audit_library").fetchone() == (1,)


# -- a file elsewhere ----------------------------------------------------------------------------------------------
@pytest.fixture
def kept(folder: Path, tmp_path: Path) -> Path:
    """A file elsewhere, begun as the documentation says."""
    path = tmp_path / "elsewhere" / "heads"
    path.parent.mkdir()
    path.write_text(run("--library", folder, "audit", "head", **OFFLINE).stdout, "ascii")
    return path


def test_an_older_copy_of_the_whole_library(folder: Path, tmp_path: Path, kept: Path) -> None:
    """It is told by the file elsewhere alone: answers and changes are refused until the end is accepted, which is recorded."""
    shutil.copytree(folder, tmp_path / "older")
    with opened(folder, head_file=str(kept)) as library:
        assert library.retrieve_fragments(ASKED).fragments
        library.audit.flush()
        end = library.audit.head()
    assert Head.parse(kept.read_text("ascii")) == Head.parse(end)
    shutil.rmtree(folder)
    (tmp_path / "older").rename(folder)
    with opened(folder) as library:
        assert library.audit.verify().ok, "from inside it cannot be told"
    with opened(folder, head_file=str(kept)) as library:
        answer = library.retrieve_fragments(ASKED)
        assert answer.status == "FAILED"
        assert f"but {kept} says" in str(answer.error_message)
        verified = library.audit.verify()
        assert verified.first_fault is not None
        assert str(kept) in verified.first_fault.what
        with pytest.raises(CatalogUnavailable, match="says"):
            library.catalog.put_source(wenyuan.Source(source_id="u", path=str(folder)))
        library.audit.renew_head()
        assert library.audit.verify().ok
        assert library.retrieve_fragments(ASKED).fragments


def gone(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def unreadable(path: Path) -> None:
    path.write_bytes(b"what is this?\n")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [gone, emptied, unreadable, a_folder])
def test_a_file_that_is_not_there_is_said(folder: Path, kept: Path, harm: Callable[[Path], None]) -> None:
    """What is missing elsewhere is not made anew: questions are answered, and verifying and doctor say what is wrong."""
    harm(kept)
    env = OFFLINE | {"WENYUAN_AUDIT__HEAD_FILE": str(kept)}
    assert run("--library", folder, "search", "答复时限", **env).exit_code == 0
    before = kept.read_bytes() if kept.is_file() else None
    for command in (["audit", "verify"], ["doctor"]):
        done = run("--json", "--library", folder, *command, **env)
        assert done.exit_code != 0, command
        assert str(kept) in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    assert (kept.read_bytes() if kept.is_file() else None) == before
    if harm is gone:
        assert run("--library", folder, "audit", "verify", "--renew-head", **env).exit_code == 0
        assert run("--library", folder, "audit", "verify", **env).exit_code == 0


def test_the_head_of_another_is_not_written_over(folder: Path, kept: Path) -> None:
    """A head that the audit does not continue stays as it is, also when it came while the library was open."""
    with opened(folder, head_file=str(kept)) as library:
        assert library.retrieve_fragments(ASKED).fragments
        library.audit.flush()
        kept.write_text(f"1:{'0' * 64}\n", "ascii")
        library.audit._tell_others()
        assert library.retrieve_fragments(ASKED).status == "FAILED"
    assert kept.read_text("ascii") == f"1:{'0' * 64}\n"


@pytest.mark.parametrize("place", ["heads", "{folder}/heads", "{folder}/../library/heads"])
def test_a_place_that_is_no_other(folder: Path, place: str) -> None:
    """A path that is not whole, or lies in the library, is refused."""
    with pytest.raises(ConfigError, match="outside of the library's folder"):
        opened(folder, head_file=place.format(folder=folder))


def test_head_prints_nothing_else(folder: Path) -> None:
    """The command's output is the head, in both languages, and a failure prints none."""
    for lang in ("en", "zh"):
        done = run("--lang", lang, "--library", folder, "audit", "head", **OFFLINE)
        assert done.exit_code == 0
        assert Head.parse(done.stdout) == Head.parse((folder / "audit.head").read_text("ascii"))
    os.truncate(folder / "audit.head", 0)
    done = run("--library", folder, "audit", "head", **OFFLINE)
    assert (done.exit_code != 0, done.stdout) == (True, "")


@pytest.mark.parametrize(
    "message",
    [
        "audit.db no longer says of which library it is",
        "audit.head_file is x: it must be a whole path, outside of the library's folder",
        "put it back; or begin it with the end as it is: wenyuan audit head > /x/y",
    ],
)
def test_said_in_chinese(message: str) -> None:
    """What is said of such a file is said in Chinese, too."""
    assert translated(message) != message
