"""An upload, replacement or deletion that fails, wherever it does: the documented files are there, the others as before."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import runner
from unprivileged import nobody
from wenyuan.core.errors import (
    CatalogBusy,
    CatalogUnavailable,
    EncoderUnavailable,
    EngineUnavailable,
    KnowledgeError,
    SourceError,
)
from wenyuan.service import upload_journal
from wenyuan.service.upload_journal import INCOMING, Journal, alone, cut_off
from wenyuan.service.uploads import Given

OLD = {"a.md": "# A\n\nThe fee is 5 yuan.", "b.md": "# B\n\nThe fine is 6 yuan."}
NEW = "# A\n\nThe fee is 9 yuan."


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library = wenyuan.open(
            folder / "library", create=True, encoder={"kind": "none"}, audit={"enabled": False}
        )
        self.library.catalog.put_source(wenyuan.Source(source_id="desk"))
        self.uploads = folder / "library" / "uploads"
        self.home = self.uploads / "desk"
        self.upload(OLD)

    def given(self, files: dict[str, str]) -> list[Given]:
        came = self.folder / f"came{threading.get_ident()}"
        came.mkdir(exist_ok=True)
        for number, text in enumerate(files.values()):
            (came / str(number)).write_text(text, encoding="utf-8")
        return [Given(name=name, path=came / str(number)) for number, name in enumerate(files)]

    def upload(self, files: dict[str, str], library: Any = None) -> Any:
        return (library or self.library).upload("desk", self.given(files))

    @property
    def numbers(self) -> dict[str, int]:
        live = self.library.catalog.live_documents("desk")
        return {uri.rpartition("/")[2]: number for uri, (number, _) in live.items() if ".versions" not in uri}

    @property
    def kept(self) -> dict[str, str]:
        files = (file for file in self.home.rglob("*") if file.is_file() and ".versions" not in file.parts)
        return {file.name: file.read_text() for file in files}

    def settled(self) -> None:
        """Nothing waits to be undone, and after a refresh record and files agree."""
        assert cut_off(self.uploads) == []
        self.library.ingest("desk")
        assert self.numbers.keys() == self.kept.keys()
        for name, number in self.numbers.items():
            assert self.library.original(number).content.decode() == self.kept[name]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    with made.library:
        yield made


def raising(why: type[BaseException]) -> Any:
    def ingest(*_: Any, **__: Any) -> Any:
        raise why("it ends here")

    return ingest


NOTHING_KEPT = (SourceError, CatalogBusy, OSError, KeyboardInterrupt, SystemExit, RuntimeError)
KEPT = (EncoderUnavailable, EngineUnavailable, CatalogUnavailable)


@pytest.mark.parametrize("why", [*NOTHING_KEPT, *KEPT])
@pytest.mark.parametrize("do", ["upload", "replace", "replace by another kind", "delete"])
def test_an_error_while_reading(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, do: str, why: type[BaseException]
) -> None:
    """Files stay where the encoder, an engine or the catalog fails, and a deletion never happens by half."""
    number = desk.numbers["a.md"]
    with monkeypatch.context() as broken:
        broken.setattr(type(desk.library.ingestion), "ingest", raising(why))
        with pytest.raises(SourceError if why is OSError else why):
            if do == "upload":
                desk.upload({"a.md": NEW, "c.md": "# C\n\nText."})
            elif do == "delete":
                desk.library.delete_document(number)
            else:
                desk.library.replace_document(number, desk.given({"c.txt" if "kind" in do else "c.md": NEW})[0])
    expected = dict(OLD)
    if why in KEPT and do != "delete":
        expected |= {"c.txt": NEW} if "kind" in do else {"a.md": NEW}
        expected |= {"c.md": "# C\n\nText."} if do == "upload" else {}
    assert desk.kept == expected
    desk.settled()


@pytest.mark.parametrize("do", ["upload", "delete", "replace by another kind"])
def test_a_disk_that_is_full_at_any_step(desk: Desk, monkeypatch: pytest.MonkeyPatch, do: str) -> None:
    """Whichever call of the file system fails, of the journal or of the index: as documented, and it can be repeated."""
    for call in ("replace", "link", "fsync", "mkdir", "open"):
        for at in (1, 2, 3, 5, 8):
            real, seen = getattr(os, call), 0

            def failing(*told: Any, _real: Any = real, _at: int = at, **named: Any) -> Any:
                nonlocal seen
                seen += 1
                if seen == _at:
                    raise OSError(28, "No space left on device")
                return _real(*told, **named)

            with monkeypatch.context() as full:
                full.setattr(upload_journal.os, call, failing)
                try:
                    if do == "upload":
                        desk.upload({"a.md": NEW})
                    elif do == "delete":
                        desk.library.delete_document(desk.numbers["a.md"])
                    else:
                        desk.library.replace_document(desk.numbers["a.md"], desk.given({"c.txt": NEW})[0])
                    undone = False
                except KnowledgeError as error:  # what the index or the catalog could not write stays to be read
                    undone = isinstance(error, SourceError) or do == "delete"
            desk.library.ingest("desk")
            if undone:
                assert desk.kept == OLD, (call, at)
            desk.settled()
            for name in desk.kept.keys() - OLD.keys():
                desk.library.delete_document(desk.numbers[name])
            desk.upload(OLD)
            if seen < at:
                break


def test_uploads_of_one_name_at_once(desk: Desk) -> None:
    """From two threads and from two openings of the library: one after the other, none by half."""
    with wenyuan.open(desk.folder / "library", encoder={"kind": "none"}, audit={"enabled": False}) as other:
        told: list[str] = []

        def upload(text: str, library: Any) -> None:
            for _ in range(3):
                told.append(desk.upload({"a.md": text}, library).files[0].state)

        threads = [
            threading.Thread(target=upload, args=(f"# A\n\nThe fee is {n} yuan.", library))
            for n, library in ((11, desk.library), (12, desk.library), (13, other))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(told) == 9
    desk.settled()
    assert desk.kept["a.md"] in {f"# A\n\nThe fee is {n} yuan." for n in (11, 12, 13)}


def test_an_upload_that_meets_another_process_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """While that one moves files; nothing was changed."""
    monkeypatch.setattr("wenyuan.service.uploads._PATIENCE", 0.1)
    with alone(desk.uploads, 0.0), pytest.raises(CatalogBusy):
        desk.upload({"a.md": NEW})
    assert desk.kept == OLD


def test_names_that_differ_in_case_are_two_documents_and_forms_of_unicode_one(desk: Desk) -> None:
    """As on the disk; a name in decomposed letters is the composed one."""
    desk.upload({"Fee.md": "# F\n\nUpper.", "fee.md": "# f\n\nLower.", "cafe\u0301.md": "# C\n\nFirst."})
    desk.upload({"caf\u00e9.md": "# C\n\nSecond."})
    assert desk.kept == {
        **OLD,
        "Fee.md": "# F\n\nUpper.",
        "fee.md": "# f\n\nLower.",
        "caf\u00e9.md": "# C\n\nSecond.",
    }
    desk.settled()


def test_an_upload_that_was_cut_off_is_named_and_undone(desk: Desk) -> None:
    """`doctor` names its source until a refresh has put the former bytes back; what came new is gone, folder and all."""
    aside = desk.uploads / INCOMING / "cut"
    aside.mkdir(parents=True)
    journal = Journal(aside, "desk", desk.home.absolute())
    first, second = desk.given({"a.md": NEW, "x/y/n.md": NEW})
    journal.note({desk.home / "a.md": first.path, desk.home / "x" / "y" / "n.md": second.path})
    journal.do(0)
    journal.do(1)
    run = runner(desk.folder / "library")
    assert "an upload to desk was cut off" in run("doctor").output.replace("\n", " ")
    assert desk.kept == {"a.md": NEW, "b.md": OLD["b.md"], "n.md": NEW}
    desk.library.ingest("desk")
    assert desk.kept == OLD
    assert not (desk.home / "x").exists()
    assert "cut off" not in run("doctor").output
    desk.settled()


def test_a_folder_that_is_read_only(desk: Desk) -> None:
    """Nothing is changed, and the reason is told."""
    ready = desk.given({"c.md": NEW})
    desk.home.parent.chmod(0o500)
    try:
        with nobody(), pytest.raises(SourceError, match="cannot be kept"):
            desk.library.upload("desk", ready)
    finally:
        desk.home.parent.chmod(0o700)
    assert desk.kept == OLD
    desk.settled()
