"""The file that a document was read from: as it lies at its source, and from nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import openpyxl
import pytest

import wenyuan
from wenyuan.core.errors import OriginalGone, OriginalUnavailable
from wenyuan.service import original_file


class Shelf:
    """A library, and the folder of its source ``docs``."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.library = wenyuan.open(folder / "library", create=True, encoder={"kind": "none"})

    def taken(self, **more: str) -> list[str]:
        """The URIs of the documents after the folder was taken in."""
        self.library.add(wenyuan.Source(source_id="docs", path=str(self.docs), **more))  # type: ignore[arg-type]
        return sorted(self.library.catalog.live_documents("docs"))

    def opened(self, uri: str) -> original_file.OriginalFile:
        return original_file.open_original(self.library.catalog.source("docs"), uri)


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    found = Shelf(tmp_path)
    with found.library:
        yield found


def test_gives_the_bytes_as_they_lie_now(shelf: Shelf) -> None:
    """The original is the file of today, by the name that a person gave it."""
    file = shelf.docs / "请假 制度.md"
    file.write_text("# 请假\n\n每年五天。\n", "utf-8")
    [uri] = shelf.taken()
    assert shelf.opened(uri) == original_file.OriginalFile(
        name="请假 制度.md", content="# 请假\n\n每年五天。\n".encode()
    )
    file.write_bytes(b"other")
    assert shelf.opened(uri).content == b"other"


def test_gives_the_workbook_of_a_sheet(shelf: Shelf) -> None:
    """Of a document that is a part of a file, the whole file is given."""
    book = openpyxl.Workbook()
    for name in ("one", "two"):
        book.create_sheet(name).append(["question", "answer"])
        book[name].append([f"What is {name}?", f"It is {name}."])
    book.save(shelf.docs / "faq.xlsx")
    first, second = shelf.taken()
    assert first != second
    assert (
        shelf.opened(first)
        == shelf.opened(second)
        == original_file.OriginalFile(name="faq.xlsx", content=(shelf.docs / "faq.xlsx").read_bytes())
    )


@pytest.mark.parametrize("uri", ["file:///etc/passwd", "https://a.example/x.md", "http://[x", "file://", ""])
def test_knows_no_other_address(shelf: Shelf, uri: str) -> None:
    """Only files below the path of the source are given."""
    (shelf.docs / "a.md").write_text("# Leave\n\nFive days.\n")
    shelf.taken()
    with pytest.raises(OriginalUnavailable, match="no file of the source"):
        shelf.opened(uri)


def test_refuses_a_file_that_leads_elsewhere_now(shelf: Shelf, tmp_path: Path) -> None:
    """A file that was replaced by a link out of the folder is not followed."""
    file = shelf.docs / "a.md"
    file.write_text("# Leave\n\nFive days.\n")
    [uri] = shelf.taken()
    (tmp_path / "secret.md").write_text("secret")
    file.unlink()
    file.symlink_to(tmp_path / "secret.md")
    with pytest.raises(OriginalUnavailable, match="no file of the source"):
        shelf.opened(uri)


def test_says_that_a_file_is_gone(shelf: Shelf) -> None:
    """What was removed at its source since is not there to be given."""
    file = shelf.docs / "a.md"
    file.write_text("# Leave\n\nFive days.\n")
    [uri] = shelf.taken()
    file.unlink()
    with pytest.raises(OriginalGone, match="no longer there"):
        shelf.opened(uri)


def test_refuses_what_grew_too_large(shelf: Shelf) -> None:
    """No more than the limit is read."""
    file = shelf.docs / "a.md"
    file.write_text("# Leave\n\nFive days.\n")
    [uri] = shelf.taken()
    with file.open("wb") as grown:
        grown.truncate(original_file.MOST_BYTES + 1)
    with pytest.raises(OriginalUnavailable, match="larger than 50,000,000 bytes"):
        shelf.opened(uri)
