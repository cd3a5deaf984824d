"""Uploaded documents: kept in the library's folder and read at once; what cannot be read changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.catalog.backup import back_up
from wenyuan.core.errors import CatalogBusy, InvalidRequest, NotFound, SourceError
from wenyuan.service.uploads import Given, UploadReport


class Desk:
    """A library with a source ``desk`` that is uploaded to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library = wenyuan.open(folder / "library", create=True, encoder={"kind": "none"})
        self.library.catalog.put_source(wenyuan.Source(source_id="desk"))
        self.home = folder / "library" / "uploads" / "desk"

    def given(self, files: dict[str, str | bytes]) -> list[Given]:
        came = self.folder / "came"
        came.mkdir(exist_ok=True)
        found = []
        for number, (name, content) in enumerate(files.items()):
            path = came / str(number)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            found.append(Given(name=name, path=path))
        return found

    def upload(self, **files: str | bytes) -> UploadReport:
        return self.library.upload("desk", self.given({f"{name}.md": text for name, text in files.items()}))

    def found(self, query: str) -> list[str]:
        return [passage.text for passage in self.library.search(query).passages.values()]

    @property
    def kept(self) -> dict[str, str]:
        files = (
            sorted(f for f in self.home.rglob("*") if f.is_file() and ".versions" not in f.parts)
            if self.home.exists()
            else []
        )
        return {file.relative_to(self.home).as_posix(): file.read_text("utf-8", "replace") for file in files}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    with made.library:
        yield made


def states(told: UploadReport) -> list[tuple[str, str]]:
    return [(one.name, one.state) for one in told.files]


def test_what_is_uploaded_is_found(desk: Desk) -> None:
    """With its folders, each file with its document; a broken one and a kind that is not read are named and not kept."""
    files: dict[str, str | bytes] = {
        "制度/请假.md": "# 请假\n\n年假每年五天。",
        "broken.pdf": b"%PDF-1.4 nothing",
        "a.exe": b"MZ",
        "../../out.md": "# Out\n\nStays below the folder.",
        "制度\\请假.md": "# Twice",
        "package.json": '{"version": "1.2.3"}',
    }
    told = desk.library.upload("desk", desk.given(files))
    assert states(told) == [
        ("制度/请假.md", "added"), ("broken.pdf", "failed"), ("a.exe", "failed"), ("out.md", "added"),
        ("制度\\请假.md", "failed"), ("package.json", "failed"),
    ]  # fmt: skip
    reasons = [one.reason for one in told.files]
    assert "damaged" in reasons[1]
    assert "not read" in reasons[2]
    assert "twice" in reasons[4]
    assert "holds data" in reasons[5]
    assert sorted(desk.kept) == ["out.md", "制度/请假.md"]
    assert {uri.rpartition("/")[2] for uri in desk.library.catalog.failures("desk")} == {"broken.pdf", "package.json"}
    [number] = told.files[0].documents
    assert desk.library.original(number).name == "请假.md"
    assert "年假每年五天" in desk.found("年假几天")[0]


def test_the_same_name_is_a_new_version(desk: Desk) -> None:
    """The one before is superseded; the same bytes change nothing."""
    desk.upload(a="# A\n\nThe fee is 5 yuan.")
    assert states(desk.upload(a="# A\n\nThe fee is 9 yuan.")) == [("a.md", "changed")]
    assert "9 yuan" in " ".join(desk.found("fee"))
    assert "5 yuan" not in " ".join(desk.found("fee"))
    assert states(desk.upload(a="# A\n\nThe fee is 9 yuan.")) == [("a.md", "unchanged")]


def test_a_new_version_that_cannot_be_read_leaves_the_old_one(desk: Desk) -> None:
    """Its file and its document stay as they were."""
    [one] = desk.upload(a="# A\n\nThe fee is 5 yuan.").files
    told = desk.upload(a=b"\x00\x01\xff\xfe\x00" * 50)
    assert states(told) == [("a.md", "failed")]
    assert desk.kept == {"a.md": "# A\n\nThe fee is 5 yuan."}
    assert desk.library.catalog.failures("desk") == {}
    assert desk.library.original(one.documents[0]).content == b"# A\n\nThe fee is 5 yuan."
    assert desk.library.ingest("desk").unchanged == 1


def test_a_document_is_replaced(desk: Desk) -> None:
    """A file of the same kind takes the old one's name, one of another kind comes under its own; the old text is gone."""
    [one] = desk.upload(a="# A\n\nThe fee is 5 yuan.").files
    [new] = desk.given({"whatever 2.md": "# A\n\nThe fee is 9 yuan."})
    told = desk.library.replace_document(one.documents[0], new)
    assert (states(told), list(desk.kept)) == ([("a.md", "changed")], ["a.md"])
    with pytest.raises(NotFound):
        desk.library.original(one.documents[0])
    [other] = desk.given({"b.txt": "The fee is 7 yuan."})
    told = desk.library.replace_document(told.files[0].documents[0], other)
    assert list(desk.kept) == ["b.txt"]
    assert len([uri for uri in desk.library.catalog.live_documents("desk") if ".versions" not in uri]) == 1
    assert "7 yuan" in " ".join(desk.found("fee"))
    for wrong, why in (({"c.exe": b"MZ"}, "not read"), ({"..": "x"}, "no name")):
        with pytest.raises(InvalidRequest, match=why):
            desk.library.replace_document(told.files[0].documents[0], desk.given(wrong)[0])  # type: ignore[arg-type]
    [damaged] = desk.given({"c.pdf": b"%PDF-1.4 nothing"})
    assert desk.library.replace_document(told.files[0].documents[0], damaged).files[0].state == "failed"
    assert desk.kept == {"b.txt": "The fee is 7 yuan."}
    assert desk.library.original(told.files[0].documents[0]).name == "b.txt"


def test_a_document_is_deleted_with_its_file(desk: Desk) -> None:
    """One of several, and the last one; nothing of an empty folder stays."""
    one, other = desk.library.upload(
        "desk", desk.given({"x/a.md": "# A\n\nAlpha text.", "b.md": "# B\n\nBeta text."})
    ).files
    assert desk.library.delete_document(one.documents[0]) == ("desk", 1)
    assert list(desk.kept) == ["b.md"]
    assert desk.found("alpha") == []
    assert desk.library.delete_document(other.documents[0]) == ("desk", 1)
    assert not desk.home.exists()
    assert desk.library.catalog.counts("desk")["documents"] == 0
    assert desk.found("beta") == []


def test_nothing_is_written_to_a_source_with_a_path(desk: Desk, tmp_path: Path) -> None:
    """Upload, replace and delete are refused, and say where it is read from."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nText.")
    desk.library.add(wenyuan.Source(source_id="docs", path=str(tmp_path / "docs")))
    [(number, _)] = desk.library.catalog.live_documents("docs").values()
    [new] = desk.given({"b.md": "# B"})
    for refused in (
        lambda: desk.library.upload("docs", [new]),
        lambda: desk.library.replace_document(number, new),
        lambda: desk.library.delete_document(number),
    ):
        with pytest.raises(InvalidRequest, match="is read from"):
            refused()
    assert [file.name for file in (tmp_path / "docs").iterdir()] == ["a.md"]
    with pytest.raises(NotFound):
        desk.library.upload("none", [new])


def test_what_is_taken_out_of_names_is_found_all_the_same(desk: Desk) -> None:
    """A file whose name holds a value that redaction hides can be replaced and deleted."""
    desk.library.catalog.put_source(wenyuan.Source(source_id="desk", sensitivity="internal"))
    told = desk.library.upload("desk", desk.given({"13912345678.md": "# A\n\nText of it."}))
    [number] = told.files[0].documents
    assert "13912345678" not in next(iter(desk.library.catalog.live_documents("desk")))
    assert desk.library.original(number).content.startswith(b"# A")
    assert desk.library.delete_document(number) == ("desk", 1)


def test_an_upload_that_meets_another_worker_leaves_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a new file nor a new version is kept when the source cannot be read now."""
    desk.upload(a="# A\n\nOld.")

    def busy(*_: Any, **__: Any) -> Any:
        raise CatalogBusy("somebody is at it")

    monkeypatch.setattr(type(desk.library.ingestion), "ingest", busy)
    with pytest.raises(CatalogBusy):
        desk.upload(a="# A\n\nNew.", b="# B\n\nNew.")
    assert desk.kept == {"a.md": "# A\n\nOld."}
    assert list((desk.home.parent / ".incoming").iterdir()) == []


def test_an_upload_does_not_fail_for_another_that_ends(desk: Desk) -> None:
    """Its folder may be listed and, when it is looked at, be gone."""
    folder = desk.home.parent / ".incoming"
    folder.mkdir(parents=True)
    (folder / "gone").symlink_to("nothing")
    with desk.library.uploads.incoming() as coming:
        assert coming.is_dir()
    assert not coming.exists()


@pytest.mark.parametrize("why", [CatalogBusy, SourceError])
def test_a_file_is_kept_where_deleting_it_fails(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, why: type[Exception]
) -> None:
    """What is still served has its file, and can be deleted once the source can be read."""
    told = desk.upload(a="# A\n\nAlpha text.", b="# B\n\nBeta text.")
    with monkeypatch.context() as broken:

        def failing(*_: Any, **__: Any) -> Any:
            raise why("it cannot be read now")

        broken.setattr(type(desk.library.ingestion), "ingest", failing)
        with pytest.raises(why):
            desk.library.delete_document(told.files[0].documents[0])
    assert sorted(desk.kept) == ["a.md", "b.md"]
    assert desk.library.delete_document(told.files[0].documents[0]) == ("desk", 1)


def test_a_library_that_was_moved_reads_its_uploads_where_they_are(desk: Desk) -> None:
    """No path of them is stored, so the folder of a library can be moved."""
    desk.upload(a="# A\n\nAlpha text.")
    desk.library.close()
    shutil.move(desk.folder / "library", desk.folder / "moved")
    with wenyuan.open(desk.folder / "moved", encoder={"kind": "none"}) as moved:
        moved.ingest("desk")
        assert [uri for uri in moved.catalog.live_documents("desk") if "/moved/uploads/desk/a.md" in uri]


def test_a_source_takes_its_uploads_with_it(desk: Desk) -> None:
    """Removed with all that came from it, files included."""
    desk.upload(a="# A\n\nAlpha text.")
    desk.library.remove("desk")
    assert not desk.home.exists()


def test_uploads_that_stay_are_told(desk: Desk, tmp_path: Path) -> None:
    """Files that cannot be deleted are not left behind in silence."""
    desk.upload(a="# A\n\nAlpha text.")
    shutil.move(desk.home, tmp_path / "elsewhere")
    desk.home.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SourceError, match=r"removed, but not the files in .*desk"):
        desk.library.remove("desk")
    assert desk.library.sources() == ()


def test_a_backup_has_the_uploads(desk: Desk, tmp_path: Path) -> None:
    """So that a restored library can be read again, and gives its originals; what is only coming is left out."""
    [one] = desk.upload(a="# A\n\nAlpha text.").files
    with desk.library.uploads.incoming() as coming:
        (coming / "0").write_bytes(b"x")
        back_up(desk.folder / "library", tmp_path / "copy")
    desk.library.close()
    with wenyuan.open(tmp_path / "copy", encoder={"kind": "none"}) as restored:
        assert [file.name for file in (tmp_path / "copy" / "uploads").rglob("*") if file.is_file()] == ["a.md"]
        assert restored.ingest("desk").failed == {}
        assert len(restored.catalog.live_documents("desk")) == 1
        assert one.documents
