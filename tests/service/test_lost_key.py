"""A library whose key or whose counts of tasks are lost goes on by a command that is recorded and says what is lost."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from wenyuan.app import renew_key
from wenyuan.catalog.backup import back_up
from wenyuan.catalog.migration import move_library
from wenyuan.catalog.task_anchor import CountMark
from wenyuan.cli.root import app
from wenyuan.core.errors import CatalogError, CatalogUnavailable, ConfigError, InvalidRequest
from wenyuan.service.context import ContextRequest
from wenyuan.service.ingest.corrections import CorrectionRequest

OPTIONS: dict[str, Any] = {"encoder": {"kind": "none"}}
TEXTS = {
    "a.md": "# 甲\n\n答复时限为五天，请致电 13800138000。", "b/13900139000.md": "# 乙\n\n乙的答复时限为七天。",
    "e.md": "# 戊\n\n戊的答复时限为四天。", "c/13700137000.md": "# 丙\n\n丙的答复时限为八天。", "c/137-0013-7000.md": "# 丁\n\n丁的答复时限为九天。",
}  # fmt: skip
NEEDED = ContextRequest(retrieval_query="答复时限", top_k={"s": 4}, task_id="t")


@pytest.fixture(params=["confidential"])
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    docs, folder = tmp_path / "docs", tmp_path / "library"
    for name, text in TEXTS.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, "utf-8")
    with wenyuan.open(folder, create=True, **OPTIONS) as made:
        (folder / "level").write_text(request.param)
        (folder / "wenyuan.toml").write_text('[encoder]\nkind = "none"\n', "utf-8")
        made.add(wenyuan.Source(source_id="s", path=str(docs), sensitivity=request.param, copyright="excerpt<=40"))
        assert made.get_context(NEEDED).build.snippets
        for name, text in (("/b/", "乙的答复时限为六天。"), ("/e.md", "戊的答复时限为十天。")):
            [at] = [number for uri, (number, _) in made.catalog.live_documents("s").items() if name in uri]
            [(passage, _, _)] = made.catalog.document_passages(at)
            made.correction_desk.correct(CorrectionRequest(action="text", ref=f"s#{passage}", text=text))
    return folder


def doctor(folder: Path, *more: str) -> dict[str, Any]:
    said = CliRunner().invoke(app, ["--library", str(folder), "--json", "doctor", *more])
    assert said.exception is None or isinstance(said.exception, SystemExit), said.output
    return {"exit": said.exit_code, **json.loads(said.stdout)}


def addresses(folder: Path) -> dict[str, int]:
    with wenyuan.open(folder, **OPTIONS) as library:
        return {uri: number for uri, (number, _) in library.catalog.live_documents("s").items()}


def test_a_lost_key_is_refused_with_the_command_that_goes_on(library: Path) -> None:
    """Whoever opens it is told of the command; a key that is there is not renewed."""
    with pytest.raises(InvalidRequest, match="nothing is to be renewed"):
        renew_key(library)
    (library / "pseudonym.key").unlink()
    with pytest.raises(ConfigError) as refused:
        wenyuan.open(library, **OPTIONS)
    assert "wenyuan doctor --new-key" in refused.value.hint
    [check] = [one for one in doctor(library)["checks"] if one["name"] == "library"]
    assert check["state"] == "fail"
    assert "--new-key" in check["next"]


@pytest.mark.parametrize(
    ("library", "how"),
    [("internal", "absent"), ("internal", "damaged"), ("internal", "another"), ("confidential", "absent")],
    indirect=["library"],
)
def test_a_renewed_key_loses_what_it_says_and_no_more(library: Path, how: str) -> None:
    """Addresses that redaction changes are others then, without corrections; all other documents and corrections stay."""
    pseudonyms = (library / "level").read_text() == "confidential"
    before = addresses(library)
    key = library / "pseudonym.key"
    old = key.read_bytes()
    key.unlink() if how == "absent" else key.write_bytes(b"x" * (32 if how == "another" else 5))
    loss = renew_key(library)
    assert (loss.sources, loss.addresses, loss.corrections) == (("s",) if pseudonyms else (), 3, 1)
    assert key.read_bytes() not in (old, b"x" * 32)
    with wenyuan.open(library, **OPTIONS) as opened:
        [first] = [text for text in texts(opened) if "五天" in text]
        [record] = [one for one in opened.audit.list(kind="registry") if one.record["object"] == "pseudonym.key"]
        assert record.record["changes"]["addresses"] == [None, 3]
        report = opened.ingest("s")
        assert not report.failed
        [again] = [text for text in texts(opened) if "五天" in text]
        assert (first != again) == pseudonyms
        assert sum("六天" in text for text in texts(opened)) == 0
        assert sum("十天" in text for text in texts(opened)) == 1
        assert not opened.ingest("s").changed
    after = addresses(library)
    assert len(after) == len(before) == 5
    assert [uri for uri in before if uri in after] == [uri for uri in before if uri.endswith(("/a.md", "/e.md"))]


def texts(library: Any) -> list[str]:
    numbers = [number for number, _ in library.catalog.live_documents("s").values()]
    return [text for number in numbers for _, text, _ in library.catalog.document_passages(number)]


def test_a_key_is_renewed_by_the_doctor(library: Path) -> None:
    """The command renews it and the checks go on."""
    (library / "pseudonym.key").unlink()
    said = doctor(library, "--new-key")
    assert said["exit"] == 0, said
    assert {one["name"]: one["state"] for one in said["checks"]}["library"] == "ok"


def test_a_library_without_its_key_is_not_moved(library: Path, tmp_path: Path, database: str) -> None:
    """On a server it would get another key without a word."""
    (library / "pseudonym.key").unlink()
    with pytest.raises(CatalogError, match=r"pseudonym\.key is missing"):
        move_library(library, database)


def lost(folder: Path, how: str) -> None:
    ledger = folder / "tasks.db"
    ledger.unlink()
    if how == "empty":
        ledger.touch()


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_lost_counts_are_said_and_go_on_by_command(library: Path, how: str) -> None:
    """Contexts of tasks are refused, doctor and verify say so, and a command begins anew and is recorded."""
    lost(library, how)
    with wenyuan.open(library, **OPTIONS) as opened:
        with pytest.raises(CatalogUnavailable, match=r"tasks\.db is missing or empty"):
            opened.get_context(NEEDED)
        assert opened.search("答复时限").passages, "what is not counted is answered"
        assert opened.readiness().parts["tasks"]["state"] == "failed"
        opened.ingest("s")
    said = doctor(library)
    assert said["exit"] == 1
    assert [one["state"] for one in said["checks"] if one["name"] == "tasks"] == ["fail"]
    verified = CliRunner().invoke(app, ["--library", str(library), "--json", "audit", "verify"])
    assert verified.exit_code == 1
    assert "wenyuan doctor --new-counts" in json.loads(verified.stdout)["counts"]
    assert doctor(library, "--new-counts")["exit"] == 0
    with wenyuan.open(library, **OPTIONS) as opened:
        assert opened.get_context(NEEDED).build.snippets
        assert next(one.record["object"] for one in opened.audit.list(kind="registry")) == "tasks.db"
        with pytest.raises(InvalidRequest, match="nothing is to be renewed"):
            opened.renew_counts()


def test_counts_of_an_older_copy_go_on(library: Path, tmp_path: Path) -> None:
    """Where an older copy is accepted, what it has counted stays counted."""
    shutil.copy2(library / "tasks.db", tmp_path / "older.db")
    with wenyuan.open(library, **OPTIONS) as opened:
        opened.get_context(NEEDED)
        opened.get_context(NEEDED)
    for rest in library.glob("tasks.db-*"):
        rest.unlink()
    shutil.copy2(tmp_path / "older.db", library / "tasks.db")
    with wenyuan.open(library, **OPTIONS) as opened:
        with pytest.raises(CatalogUnavailable, match="older copy"):
            opened.get_context(NEEDED)
        opened.renew_counts()
        with opened.task_counts.ledger.reserved(None, "t", {"x"}):
            pass
        with opened.task_counts.ledger.counting("looking") as connection:
            assert connection.exec_driver_sql("SELECT sum(characters) FROM given").scalar()


def test_the_catalog_is_never_ahead_of_the_counts(library: Path) -> None:
    """Threads that are given contexts while another changes the catalog: the catalog knows a state that is in the file."""
    with wenyuan.open(library, **OPTIONS) as opened:
        ended = threading.Event()

        def ask() -> None:
            number = 0
            while not ended.is_set():
                number += 1
                with opened.task_counts.ledger.reserved(None, f"task {number}", {"x"}) as counts:
                    counts["x"] = 1

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            for number in range(30):
                opened.catalog.set_value("test", number)
                with opened.catalog.database.reading("looking") as connection:
                    key = "SELECT value FROM library WHERE key = 'task_anchor'"
                    known = CountMark.parse(str(connection.exec_driver_sql(key).scalar()))
                with opened.task_counts.ledger.counting("looking") as connection:
                    there = connection.exec_driver_sql("SELECT changes FROM ledger").scalar()
                assert known.changes <= there
        finally:
            ended.set()
            asking.join()
    assert doctor(library)["exit"] == 0


def test_a_backup_has_the_counts_and_what_was_set_aside(library: Path, tmp_path: Path) -> None:
    """A copy of a library in use opens with its own counts, and holds the files in quarantine; without its counts there is none."""
    with wenyuan.open(library, **OPTIONS) as opened:
        opened.quarantine.keep(b"bad", sha256="a" * 64, suffix=".md", scanner="x", reason="y")
        (library / "quarantine" / ".cut-off").mkdir()
        opened.get_context(NEEDED)
        back_up(library, tmp_path / "copy")
    with wenyuan.open(tmp_path / "copy", **OPTIONS) as opened:
        assert opened.readiness().parts["tasks"]["state"] == "ok"
        opened.get_context(NEEDED)
        assert [one.sha256 for one in opened.quarantine] == ["a" * 64]
        assert not (tmp_path / "copy" / "quarantine" / ".cut-off").exists()
    lost(library, "absent")
    with pytest.raises(CatalogUnavailable, match=r"tasks\.db is missing"):
        back_up(library, tmp_path / "second")
