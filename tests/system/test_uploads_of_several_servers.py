"""Uploaded files of a library that several servers share lie in one folder: no server with another one reads or changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from catalog_parts import dropped, dsn_of, on_server
from wenyuan.core.errors import CatalogBusy
from wenyuan.service.uploads import Given

pytestmark = pytest.mark.integration


@pytest.fixture
def serve(database: str, tmp_path: Path) -> Iterator[Callable[[str], wenyuan.Library]]:
    """Opens the library as the server with a folder of this name."""
    place = on_server(database, tmp_path / "first")
    opened = []

    def opening(name: str) -> wenyuan.Library:
        where: Any = {"dsn": dsn_of(place), "schema_name": place.schema, "sessions": 4}
        opened.append(
            wenyuan.open(tmp_path / name, create=True, engine="memory", encoder={"kind": "hashing"}, catalog=where)
        )
        return opened[-1]

    yield opening
    for library in opened:
        library.close()
    dropped(place)


def upload(library: wenyuan.Library, folder: Path, name: str, text: str) -> list[str]:
    sent = folder / "sent"
    sent.write_text(text, "utf-8")
    return [file.state for file in library.upload("kept", [Given(name=name, path=sent)]).files]


def stored(library: wenyuan.Library) -> dict[str, str]:
    """The words of each document that counts, by the name of its file."""
    catalog = library.catalog
    return {uri[-6:]: catalog.document_words("kept", uri) or "" for uri in catalog.live_documents("kept")}


def test_another_server_takes_no_uploads(serve: Callable[[str], wenyuan.Library], tmp_path: Path) -> None:
    """It neither takes a file in, nor reads the source, which would end documents whose files it does not have, nor removes any of
    it; it says where the files lie, and the first server goes on.
    """
    first, other = serve("first"), serve("other")
    first.catalog.put_source(wenyuan.Source(source_id="kept"))
    assert upload(first, tmp_path, "one.md", "# One\n\nThe first words.\n") == ["added"]
    before, seq = stored(first), first.catalog.seq()
    (document,) = (number for number, _ in first.catalog.live_documents("kept").values())
    for refused in (
        lambda: upload(other, tmp_path, "one.md", "# One\n\nOther words.\n"),
        lambda: upload(other, tmp_path, "two.md", "# Two\n\nOther words.\n"),
        lambda: other.ingest("kept"),
        lambda: other.uploads.delete(document),
        lambda: other.remove("kept"),
    ):
        with pytest.raises(
            CatalogBusy, match=r"uploaded files of this library lie at .*first/uploads, and this server"
        ):
            refused()
    assert stored(first) == before
    assert first.catalog.seq() == seq
    assert upload(first, tmp_path, "one.md", "# One\n\nNewer words.\n") == ["changed"]
    assert "Newer" in stored(other)["one.md"]
    first.remove("kept")
    assert not list((tmp_path / "first" / "uploads").glob("kept/*"))


def test_servers_that_share_the_folder_all_take_uploads(
    serve: Callable[[str], wenyuan.Library], tmp_path: Path
) -> None:
    """Two processes with one folder are one place; so is another one into which the files were moved with their mark."""
    first, again = serve("first"), serve("first")
    first.catalog.put_source(wenyuan.Source(source_id="kept"))
    assert upload(again, tmp_path, "one.md", "# One\n\nThe first words.\n") == ["added"]
    assert upload(first, tmp_path, "two.md", "# Two\n\nThe second words.\n") == ["added"]
    assert sorted(stored(first)) == ["one.md", "two.md"]
    (tmp_path / "moved").mkdir()
    (tmp_path / "first" / "uploads").rename(tmp_path / "moved" / "uploads")
    assert upload(serve("moved"), tmp_path, "one.md", "# One\n\nNewer words.\n") == ["changed"]


def test_a_folder_with_files_of_a_former_version_is_theirs(
    serve: Callable[[str], wenyuan.Library], tmp_path: Path
) -> None:
    """A library that has no mark yet: whose folder holds files may read them, and they are that folder's from then on."""
    first, other = serve("first"), serve("other")
    first.catalog.put_source(wenyuan.Source(source_id="kept"))
    upload(first, tmp_path, "one.md", "# One\n\nThe first words.\n")
    (tmp_path / "first" / "uploads" / ".home").unlink()
    first.catalog.set_value("uploads/home", None)
    assert first.ingest("kept").unchanged == 1
    with pytest.raises(CatalogBusy, match="lie at"):
        other.ingest("kept")
