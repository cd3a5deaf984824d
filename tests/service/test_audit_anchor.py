"""The catalog keeps the head of the audit: an audit that is gone, older or another's is found, and said by each door."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest

import wenyuan
from audit_parts import DAY, Clock, fill
from command_line import run
from wenyuan.catalog import Catalog
from wenyuan.catalog.audit.chain import Head
from wenyuan.catalog.audit.known_ends import KnownEnds
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.backup import back_up
from wenyuan.core.errors import CatalogUnavailable, KnowledgeError
from wenyuan.core.model import RetrievalRequest

OPTIONS: dict[str, Any] = {"encoder": {"kind": "none"}}
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
def originals(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A library, an older copy of it, and another library with a longer audit."""
    place: Path = tmp_path_factory.mktemp("originals")
    ours = made(place / "ours", "甲库")
    shutil.copytree(ours, place / "older")
    with wenyuan.open(ours, **OPTIONS) as library:
        for _ in range(3):
            library.retrieve_fragments(ASKED)
        library.add(wenyuan.Source(source_id="t", path=str(place / "ours-docs")))
    theirs = made(place / "theirs", "乙库")
    with wenyuan.open(theirs, **OPTIONS) as library:
        for _ in range(12):
            library.retrieve_fragments(ASKED)
    return ours, place / "older", theirs


@pytest.fixture
def folder(originals: tuple[Path, Path, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(originals[0], tmp_path / "ours"))


def known(folder: Path) -> Head:
    with closing(driver.connect(str(folder / "catalog.db"), isolation_level=None)) as connection:
        (text,) = connection.execute("SELECT value FROM library WHERE key = 'audit_anchor'").fetchone()
    return Head.parse(text)


Harm = Callable[[Path, Path, Path], None]


def remove_both(folder: Path, _older: Path, _theirs: Path) -> None:
    (folder / "audit.db").unlink()
    (folder / "audit.head").unlink()


def remove(folder: Path, _older: Path, _theirs: Path) -> None:
    (folder / "audit.db").unlink()


def empty_both(folder: Path, _older: Path, _theirs: Path) -> None:
    (folder / "audit.db").write_bytes(b"")
    (folder / "audit.head").write_bytes(b"")


def put_older(folder: Path, older: Path, _theirs: Path) -> None:
    for name in ("audit.db", "audit.head"):
        shutil.copy(older / name, folder / name)


def put_another(folder: Path, _older: Path, theirs: Path) -> None:
    """Of another library, made to say that it is of ours."""
    with closing(driver.connect(str(folder / "audit.db"), isolation_level=None)) as connection:
        (name,) = connection.execute("SELECT library_id FROM audit_library").fetchone()
    for file in ("audit.db", "audit.head"):
        shutil.copy(theirs / file, folder / file)
    with closing(driver.connect(str(folder / "audit.db"), isolation_level=None)) as connection:
        connection.execute("UPDATE audit_library SET library_id = ?", (name,))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (remove_both, "the audit is gone: audit.db is missing or empty"),
        (remove, "the audit is gone: audit.db is missing or empty"),
        (empty_both, "the audit is gone: audit.db is missing or empty"),
        (put_older, "but the catalog says"),
        (put_another, "is not the one that the catalog knows"),
    ],
)
def test_an_audit_that_is_not_ours(originals: tuple[Path, Path, Path], folder: Path, harm: Harm, told: str) -> None:
    """Answers are FAILED and name it, the library is not ready, nothing is taken in, and verifying finds it, until the head is renewed."""
    end = known(folder)
    harm(folder, *originals[1:])
    with wenyuan.open(folder, **OPTIONS) as library:
        answer = library.retrieve_fragments(ASKED)
        assert (answer.status, answer.fragments) == ("FAILED", ())
        assert told in (answer.error_message or "")
        ready = library.readiness()
        assert not ready.ready
        assert told in str(ready.parts["audit"]["detail"])
        assert "--renew-head" in str(ready.parts["audit"]["hint"])
        with pytest.raises(CatalogUnavailable, match="audit"):
            library.catalog.put_source(wenyuan.Source(source_id="u", path=str(folder)))
        for _ in range(2):
            found = library.audit.verify()
            assert not found.ok
            assert found.first_fault is not None
            assert "the catalog" in found.first_fault.what
        assert known(folder) == end
        head = library.audit.renew_head(principal="key:ops")
        assert library.audit.list(limit=1)[0].record["anchor"] == str(end)
        assert library.audit.verify().ok
        assert library.retrieve_fragments(ASKED).fragments
        assert str(known(folder)) == head
        library.catalog.put_source(wenyuan.Source(source_id="u", path=str(folder)))


def test_by_the_command_line(folder: Path) -> None:
    """Verify, search, add and doctor end with a failure that names what is missing and the command that helps."""
    remove_both(folder, folder, folder)
    for command in (["audit", "verify"], ["audit", "list"], ["search", "答复时限"], ["doctor"]):
        done = run("--json", "--library", folder, *command)
        assert done.exit_code != 0, command
        assert "the audit is gone" in done.stdout + done.stderr, command
        assert not (folder / "audit.db").exists()
    done = run("--lang", "zh", "--library", folder, "audit", "verify")
    said = "".join(done.stdout.split())
    assert "审计丢失：缺少audit.db或其内容为空，而目录库所记的审计记录到第" in said
    assert run("--library", folder, "audit", "verify", "--renew-head").exit_code == 0
    assert run("--library", folder, "audit", "verify").exit_code == 0


def test_put_back_while_open(folder: Path, tmp_path: Path) -> None:
    """An audit that is put back is gone on with by who has the library open."""
    for name in ("audit.db", "audit.head"):
        (folder / name).rename(tmp_path / name)
    with wenyuan.open(folder, **OPTIONS) as library:
        assert library.retrieve_fragments(ASKED).status == "FAILED"
        for name in ("audit.db", "audit.head"):
            (tmp_path / name).rename(folder / name)
        assert library.retrieve_fragments(ASKED).fragments
        assert library.readiness().ready
        assert library.audit.verify().ok


def test_the_head_is_behind_and_never_ahead(folder: Path) -> None:
    """Each change writes the last record that is on the disk; closing writes that of the change itself."""
    with wenyuan.open(folder, **OPTIONS) as library:
        for n in range(3):
            library.catalog.put_source(wenyuan.Source(source_id=f"s{n}", path=str(folder), type="static_doc"))
            library.audit.flush()
            assert known(folder).seq <= Head.parse(library.audit.head()).seq
        end = library.audit.head()
    assert str(known(folder)) == end


def test_only_readers_leave_the_catalog_as_it_is(folder: Path) -> None:
    """Who only asks a little writes nothing to the catalog before closing, which writes where the audit ends."""
    before = known(folder)
    with wenyuan.open(folder, **OPTIONS) as library:
        version = library.catalog.database.place.version()
        assert library.retrieve_fragments(ASKED).fragments
        assert library.catalog.database.place.version() == version
        assert known(folder) == before
        library.audit.flush()
        end = library.audit.head()
    assert str(known(folder)) == end


def test_a_library_that_has_no_anchor_yet(folder: Path) -> None:
    """A library of a former version is given one when it is opened."""
    with closing(driver.connect(str(folder / "catalog.db"), isolation_level=None)) as connection:
        connection.execute("DELETE FROM library WHERE key = 'audit_anchor'")
    with wenyuan.open(folder, **OPTIONS) as library:
        assert str(known(folder)) == library.audit.head()


def test_without_an_audit(folder: Path) -> None:
    """Where the audit is switched off nobody misses it, and what the catalog knew of it stays."""
    before = known(folder)
    with wenyuan.open(folder, audit={"enabled": False}, **OPTIONS) as library:
        library.catalog.put_source(wenyuan.Source(source_id="u", path=str(folder), type="static_doc"))
    assert known(folder) == before
    with wenyuan.open(folder, **OPTIONS) as library:
        assert library.audit.verify().ok


def test_what_retention_removed(tmp_path: Path) -> None:
    """Records that the catalog knew, and retention has removed, are not missed; the end that is cut off afterwards is."""
    clock = Clock()
    catalog = Catalog.create(tmp_path / "library")
    audit = AuditLog(tmp_path / "library", clock=clock, ends=KnownEnds(catalog.anchor))
    fill(audit, 5)
    catalog.set_value("x", 1)
    assert known(tmp_path / "library").seq == 5
    clock.at += 400 * DAY
    fill(audit, 2)
    audit.expire(clock.at - 200 * DAY)
    assert audit.verify().ok
    audit.check()
    catalog.set_value("x", 2)
    assert known(tmp_path / "library").seq == 8
    audit.close()
    catalog.close()


def test_a_backup_made_while_records_are_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the catalog that knows a later record than the copy of the audit does not miss it."""
    from wenyuan.catalog import backup

    copy_database = backup.copy_database
    with wenyuan.open(folder, **OPTIONS) as library:

        def copied(path: Path, to: Path) -> None:
            copy_database(path, to)
            if path.name == "audit.db":
                library.catalog.put_source(wenyuan.Source(source_id="u", path=str(folder), type="static_doc"))
                library.audit.flush()
                library.catalog.put_source(wenyuan.Source(source_id="v", path=str(folder), type="static_doc"))

        monkeypatch.setattr(backup, "copy_database", copied)
        back_up(folder, tmp_path / "copy")
    assert known(tmp_path / "copy").seq < known(folder).seq
    with wenyuan.open(tmp_path / "copy", **OPTIONS) as library:
        assert library.audit.verify().ok
        assert library.retrieve_fragments(ASKED).fragments


@pytest.mark.parametrize("harm", [remove_both, put_older])
def test_a_backup_without_its_audit(
    originals: tuple[Path, Path, Path], folder: Path, tmp_path: Path, harm: Harm
) -> None:
    """A library whose audit is gone or older is not backed up as if it were whole."""
    harm(folder, *originals[1:])
    with pytest.raises(KnowledgeError, match="audit"):
        back_up(folder, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_head_of_another(originals: tuple[Path, Path, Path], folder: Path) -> None:
    """A head file of another library, or none, is said by doctor and by verifying."""
    shutil.copy(originals[1] / "audit.head", folder / "audit.head")
    text = (folder / "audit.head").read_text("ascii")
    (folder / "audit.head").write_text(text[:20] + ("0" * 64), "ascii")
    for told in ("is not the one that audit.head knows", "audit.head is missing or empty"):
        done = run("--json", "--library", folder, "doctor")
        (check,) = [c for c in json.loads(done.stdout)["checks"] if c["name"] == "audit" and c["state"] == "fail"][
            -1:
        ]
        assert told in check["detail"]
        assert run("--library", folder, "audit", "verify").exit_code == 1
        (folder / "audit.head").unlink(missing_ok=True)
