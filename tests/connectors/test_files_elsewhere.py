"""Folders of object stores, servers and archives as sources, through the file systems of fsspec."""

from __future__ import annotations

import io
import os
import re
import socket
import struct
import tarfile
import unittest.mock
import zipfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import httpx2
import pytest

import wenyuan
from parsing import parse
from wenyuan.conformance import check_connector
from wenyuan.connectors.file_systems import _server
from wenyuan.connectors.file_systems import options_of as _options
from wenyuan.connectors.files_settings import FilesSettings
from wenyuan.connectors.files_settings import Secrets as _Secrets
from wenyuan.connectors.selection import open_connector
from wenyuan.core.connectors import Known, Opening
from wenyuan.core.errors import ConfigError, SourceError
from wenyuan.service.ingest.progress import IngestReport


class Shelf:
    """A folder in memory, and a library that reads it."""

    def __init__(self, library: wenyuan.Library, root: str) -> None:
        self.library, self.root = library, root
        self.fs = fsspec.filesystem("memory")
        self.put("leave.md", "# Leave\n\nUp to five days may be carried over.\n")
        self.put("规章/报销 办法.md", "# 报销\n\n报销须在三十日内提交。\n")
        self.put(".hidden/a.md", "# Hidden\n\nNot read.\n")
        self.put("logo.bin", "00")

    def put(self, name: str, text: str) -> None:
        self.fs.pipe(f"{self.root}/{name}", text.encode())

    def run(self, address: str = "", **settings: Any) -> IngestReport:
        path = address or f"memory:/{self.root}"
        return self.library.add(wenyuan.Source(source_id="files", path=path, settings=settings))

    def uris(self) -> set[str]:
        return set(self.library.catalog.live_documents("files"))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    root = f"/{tmp_path.name}"
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        shelf = Shelf(library, root)
        yield shelf
        shelf.fs.rm(root, recursive=True)


def test_reads_a_folder(shelf: Shelf) -> None:
    """What can be read is taken in under its own address; hidden files are left out, other kinds counted."""
    report = shelf.run()
    assert shelf.uris() == {f"memory:/{shelf.root}/leave.md", f"memory:/{shelf.root}/规章/报销%20办法.md"}
    assert (report.added, report.skipped, report.failed) == (2, {".bin": 1}, {})


def test_fetches_what_has_changed(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the same version is not opened again; one that is gone is retired."""
    shelf.run()
    opened: list[str] = []
    own = type(shelf.fs).open
    monkeypatch.setattr(
        type(shelf.fs), "open", lambda fs, path, *a, **k: (opened.append(path), own(fs, path, *a, **k))[1]
    )
    assert shelf.run().unchanged == 2
    assert opened == []
    shelf.put("leave.md", "# Leave\n\nUp to six days may be carried over.\n")
    shelf.fs.rm(f"{shelf.root}/规章/报销 办法.md")
    report = shelf.run()
    assert (report.changed, report.retired) == (1, 1)
    assert {path.rpartition("/")[2] for path in opened} == {"leave.md"}


def test_a_folder_that_came_back_empty_retires_nothing(shelf: Shelf) -> None:
    """Nothing to read, or nothing there, is a failure."""
    shelf.run()
    for name in ("leave.md", "规章/报销 办法.md"):
        shelf.fs.rm(f"{shelf.root}/{name}")
    with pytest.raises(SourceError, match="nothing to read"):
        shelf.run()
    shelf.fs.rm(shelf.root, recursive=True)
    with pytest.raises(SourceError, match="there is nothing at"):
        shelf.run()
    assert len(shelf.uris()) == 2
    shelf.fs.mkdir(shelf.root)


def test_a_limit_is_named(shelf: Shelf) -> None:
    """More files than may be listed are cut off, and nothing is taken for gone."""
    shelf.run()
    report = shelf.run(max_files=1)
    assert report.retired == 0
    assert report.notes[f"memory:/{shelf.root}"] == ("stopped after 1 files (settings.max_files)",)


def test_folders_without_files_end(shelf: Shelf) -> None:
    """Folders count, too: of ever more of them a number is looked at, and a source is not called empty then."""
    for number in range(30):
        shelf.put(f"folder-{number:02}/.hidden", "x")
    with pytest.raises(SourceError, match=r"settings\.max_files"):
        shelf.run(max_files=2)
    shelf.fs.rm([f"{shelf.root}/folder-{number:02}" for number in range(30)], recursive=True)


def test_a_listing_that_takes_too_long_is_cut(shelf: Shelf) -> None:
    """It says so, and nothing is taken for empty or gone."""
    shelf.run()
    before = shelf.uris()
    with pytest.raises(SourceError, match=r"settings\.max_minutes"):
        shelf.run(max_minutes=1e-9)
    assert shelf.uris() == before != set()


def test_folders_too_deep_are_named(shelf: Shelf) -> None:
    """What lies deeper than is looked is not taken for gone, and the run says where it stopped looking."""
    shelf.run()
    shelf.put("/".join(["deep"] * 60) + "/far.md", "# Far\n\nNobody looks here.\n")
    report = shelf.run()
    assert (report.added, report.retired) == (0, 0)
    (note,) = report.notes[f"memory:/{shelf.root}"]
    assert note.startswith("folders more than 50 deep were not looked into, deep/deep/")
    shelf.fs.rm(f"{shelf.root}/deep", recursive=True)


def test_a_key_that_leads_up_is_refused(shelf: Shelf) -> None:
    """A store may hold any key: one with a step upwards is not fetched, and named."""
    from fsspec.implementations.memory import MemoryFile

    name = f"{shelf.root}/a/../../leave.md"
    shelf.fs.store[name] = MemoryFile(shelf.fs, name, b"# Up\n\nText.\n")
    shelf.fs.pseudo_dirs += [f"{shelf.root}/a", f"{shelf.root}/a/..", f"{shelf.root}/a/../.."]
    try:
        report = shelf.run()
    finally:
        del shelf.fs.store[name]
    assert list(report.failed.values()) == ["leave.md: its key or name holds a step '..'"]
    assert len(shelf.uris()) == 2


def test_reads_an_archive(shelf: Shelf, tmp_path: Path) -> None:
    """The files of a ZIP of this machine, and of one that lies elsewhere; a file that grew too large is one that failed."""
    archive = tmp_path / "docs.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/leave.md", "# Leave\n\nFive days.\n")
        file.writestr("b.md", "# Other\n\nNot below a.\n")
        file.writestr("../up.md", "# Up\n\nNot read.\n")
    shelf.run(f"zip://{archive}!a")
    assert shelf.uris() == {f"zip://a/leave.md::file://{archive}"}
    assert shelf.run(f"zip://{archive}!a").unchanged == 1
    shelf.library.remove("files")
    shelf.fs.pipe(f"{shelf.root}/docs.zip", archive.read_bytes())
    report = shelf.run(f"zip://::memory:/{shelf.root}/docs.zip")
    assert {uri.partition("::")[0] for uri in shelf.uris()} == {"zip://a/leave.md", "zip://b.md"}
    assert all("step '..'" in reason for reason in report.failed.values())


def packed(path: Path, **files: str) -> Path:
    """An archive of Markdown files, tar where its name says so, compressed where that does, too."""
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"docs/{name}.md")
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("name", ["docs.tar", "docs.tar.gz"])
def test_reads_a_tar(shelf: Shelf, tmp_path: Path, name: str) -> None:
    """A folder of it, or one file, whether it is compressed or not."""
    archive = packed(tmp_path / name, leave="# Leave\n\nFive days.\n", other="# Other\n\nSix days.\n")
    shelf.run(f"tar://{archive}!docs")
    assert shelf.uris() == {f"tar://docs/{part}.md::file://{archive}" for part in ("leave", "other")}
    shelf.library.remove("files")
    shelf.run(f"tar://{archive}!docs/leave.md")
    assert shelf.uris() == {f"tar://docs/leave.md::file://{archive}"}


def test_archives_are_looked_into_by_the_reading_process_alone(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the index nor a member is read by the process that answers questions, wherever the archive lies."""
    archive = packed(tmp_path / "docs.tar", leave="# Leave\n\nFive days.\n")
    with zipfile.ZipFile(tmp_path / "docs.zip", "w") as file:
        file.writestr("leave.md", "# Leave\n\nFive days.\n")
    shelf.fs.pipe(f"{shelf.root}/docs.tar", archive.read_bytes())

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("opened in the serving process")

    monkeypatch.setattr(zipfile.ZipFile, "__init__", refused)
    monkeypatch.setattr(tarfile, "open", refused)
    monkeypatch.setattr(tarfile.TarFile, "__init__", refused)
    for address in (f"zip://{tmp_path}/docs.zip", f"tar://{archive}", f"tar://::memory:/{shelf.root}/docs.tar"):
        source = wenyuan.Source(source_id="files", path=address)
        with closing(open_connector(source, readable=lambda _: True, parse=parse)) as connector:
            assert [connector.fetch(entry, 1_000) for entry in connector.list(Known())] == [
                b"# Leave\n\nFive days.\n"
            ]


def index_end(count: int, length: int) -> bytes:
    """The end of a ZIP file that says how many members stand in an index of so many bytes."""
    return struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, length, 0, 0)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (bytes(46) * 65_535 + index_end(65_535, 46 * 65_535), "has more than 20 members"),
        (b"x" + index_end(1, 4_000_000_000), "no sound archive"),
        (b"no archive at all", "no sound archive"),
        (index_end(1, 46)[:-4], "no sound archive"),
    ],
    ids=["too many members", "an index larger than the file", "something else", "cut"],
)
def test_an_index_is_judged_by_what_it_says_before_it_is_read(
    shelf: Shelf, tmp_path: Path, content: bytes, told: str
) -> None:
    """How many members there are, and how long their index is, stand at the end of a ZIP file."""
    archive = tmp_path / "docs.zip"
    archive.write_bytes(content)
    with pytest.raises(SourceError, match=told):
        shelf.run(f"zip://{archive}", max_files=2)


def test_members_beyond_the_limit_end_a_listing(shelf: Shelf, tmp_path: Path) -> None:
    """A tar file says nowhere how many there are: after ten for each file that may be listed no more is looked at."""
    archive = packed(tmp_path / "docs.tar", **{f"f{number:03}": "# F\n\nText.\n" for number in range(100)})
    report = shelf.run(f"tar://{archive}", max_files=2)
    assert len(shelf.uris()) == 2
    assert "stopped after 2 files (settings.max_files)" in str(report.notes)


def test_an_archive_elsewhere_is_bounded_and_copied_only_when_it_changed(shelf: Shelf, tmp_path: Path) -> None:
    """More than ``max_mb`` is given up; one of the same version is not fetched again."""
    archive = packed(tmp_path / "docs.tar", leave="# Leave\n\nFive days.\n", large="x" * 1_100_000)
    at = f"{shelf.root}/docs.tar"
    shelf.fs.pipe(at, archive.read_bytes())
    address = f"tar://::memory:/{at}"
    with pytest.raises(SourceError, match=r"larger than 1 MB \(settings\.max_mb\)"):
        shelf.run(address, max_mb=1)
    assert shelf.run(address).added == 2
    with unittest.mock.patch.object(type(shelf.fs), "open", side_effect=AssertionError("fetched again")):
        assert shelf.run(address).unchanged == 2


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_pipe_is_no_archive(shelf: Shelf, tmp_path: Path, kind: str) -> None:
    """It is refused at once: whoever opened it would wait for ever."""
    os.mkfifo(tmp_path / f"docs.{kind}")
    with pytest.raises(SourceError, match="not a regular file"):
        shelf.run(f"{kind}://{tmp_path}/docs.{kind}")


def test_a_bomb_is_cut_off(shelf: Shelf, tmp_path: Path) -> None:
    """A file that would unfold to more than may be read is refused by what the archive says, before it unfolds."""
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bomb.txt", b"0" * 60_000_000)
        file.writestr("a.md", "# A\n\nText.\n")
    report = shelf.run(f"zip://{archive}")
    [reason] = report.failed.values()
    assert "at most 50,000,000 are read" in reason
    assert len(shelf.uris()) == 1


@pytest.mark.parametrize("url", ["https://files.example:443/", "https://FILES.example/a"])
def test_one_server_has_one_spelling(url: str) -> None:
    """With the usual port and without, in small letters and large ones."""
    assert _server(url) == _server("https://files.example")
    assert _server("http://例子.example/") == _server("http://xn--fsqu00a.example:80/")


@pytest.mark.parametrize(
    ("address", "settings", "told"),
    [
        ("s3://bucket/docs", {}, "pip.* install s3fs"),
        ("sftp://files.example/docs", {}, "pip.* install paramiko"),
        ("zip://a.md::s3://bucket/a.zip", {}, "pip.* install s3fs"),
        ("memory://x", {"max_file": 1}, "did you mean 'max_files'"),
        ("memory://x", {"password_env": "PATH"}, "may not be read by a source"),
        ("nosuch://x", {}, "there is no connector for nosuch"),
        ("zip://a::nosuch://x/a.zip", {}, "nosuch:// cannot stand in an address"),
        ("zip://a::https://files.example/a.zip", {}, "https:// cannot stand in an address"),
    ],
)
def test_says_what_is_missing(shelf: Shelf, address: str, settings: dict[str, Any], told: str) -> None:
    """A driver that is not installed is named with the command, a setting by its name; nothing is registered."""
    with pytest.raises(ConfigError) as caught:
        shelf.run(address, **settings)
    assert re.search(told, f"{caught.value.message} {caught.value.hint}")
    assert shelf.library.sources() == ()


def test_hosts_are_judged_first(shelf: Shelf) -> None:
    """A server on this machine is refused before its driver connects to it."""
    with pytest.raises(SourceError, match="to a private address"):
        shelf.run("ftp://127.0.0.1:9/docs")


@pytest.mark.parametrize("scheme", ["sftp", "ftp", "webdav"])
def test_a_password_goes_to_no_server_that_proves_nothing(scheme: str) -> None:
    """Not encrypted, or with any host key: the settings must say that this is meant."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}://127.0.0.1:{server.getsockname()[1]}/docs"
        opening = Opening(
            source=wenyuan.Source(source_id="files", path=address), settings={}, secret=str, readable=bool,
            parse=parse, allow_private=True,
        )  # fmt: skip
        known = _Secrets(password="open sesame")
        with pytest.raises(ConfigError, match="nothing proves that the password") as caught:
            _options(address, opening, FilesSettings(user="ada"), known)
        assert "open sesame" not in f"{caught.value} {caught.value.hint}"
        assert "open sesame" in str(_options(address, opening, FilesSettings(user="ada", insecure=True), known))


def test_keys_of_this_machine_are_not_used() -> None:
    """A file server is sent what the settings name, and no key of whoever runs the program."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"sftp://127.0.0.1:{server.getsockname()[1]}/docs"
        opening = Opening(
            source=wenyuan.Source(source_id="files", path=address), settings={}, secret=str, readable=bool,
            parse=parse, allow_private=True,
        )  # fmt: skip
        told = _options(address, opening, FilesSettings(), _Secrets())
    assert (told["allow_agent"], told["look_for_keys"]) == (False, False)
    assert "password" not in told


def test_a_webdav_server_leads_to_no_other_host() -> None:
    """Its driver follows redirects; what would be sent to another host or port is refused."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        opening = Opening(
            source=wenyuan.Source(source_id="files", path=f"webdav://{place}/docs"), settings={}, secret=str,
            readable=bool, parse=parse, allow_private=True,
        )  # fmt: skip
        told = _options(opening.url, opening, FilesSettings(), _Secrets())
    [judge] = told["event_hooks"]["request"]
    judge(httpx2.Request("PROPFIND", f"http://{place}/docs/"))
    for url in ("http://127.0.0.1:1/docs/", f"https://{place}/docs/", "http://169.254.169.254/"):
        with pytest.raises(SourceError, match="on another host"):
            judge(httpx2.Request("GET", url))


def test_keeps_the_laws(shelf: Shelf) -> None:
    """What the conformance kit asks of every connector."""
    source = wenyuan.Source(source_id="files", path=f"memory:/{shelf.root}")
    make = partial(open_connector, source, readable=lambda name: name.endswith(".md"), parse=parse)
    laws = check_connector(make, lambda: shelf.put("leave.md", "# Leave\n\nSix days.\n"))
    assert [law.detail for law in laws if not law.passed] == []
