"""How a file would be read and cut, before it is taken in: what is shown is what is stored afterwards, and nothing is stored by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wenyuan
from wenyuan import Library
from wenyuan.core.errors import DocumentRejected, InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.source_entries import parse_source

PAGE = "---\neffective_until: 2030-12-31\nunit: service\n---\n# Complaints\n\n" + "\n\n".join(
    f"## Step {n}\n\nThe clerk of desk {n} calls 13812345678 and writes down what was said. "
    + "A complaint is answered. " * 60
    for n in range(3)
)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        yield library


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs" / "complaints.md"
    path.write_text(PAGE, "utf-8")
    return path


@pytest.mark.parametrize("tokens", [None, 100])
def test_what_is_shown_is_what_is_stored(library: Library, file: Path, tokens: int | None) -> None:
    """Passages with their headings, title, days, tags and redacted values: as the same source takes the file in afterwards."""
    settings = {} if tokens is None else {"passage_size": tokens}
    source = Source(source_id="docs", path=str(file.parent), sensitivity="confidential", settings=settings)
    shown = library.previews.preview(file, source=source).described()
    assert library.sources() == ()
    assert library.catalog.counts()["passages"] == 0
    library.add(source)
    (document,) = library.list_documents().documents
    stored = library.document_passages(document["document_id"], limit=200).passages
    (one,) = shown["documents"]
    assert [(each["headings"], each["text"]) for each in one["passages"]] == [
        (each["headings"], each["text"]) for each in stored
    ]
    assert (one["title"], one["effective_until"], one["tags"]["unit"]) == ("Complaints", "2030-12-31", "service")
    assert sum(one["redacted"].values()) == 3
    assert "13812345678" not in str(shown)
    assert shown["passages"] == len(stored)


def test_shorter_passages_are_more(library: Library, file: Path) -> None:
    """The size that is asked for counts: a smaller one gives more passages, none much longer than it."""
    short, long = (library.previews.preview(file, tokens=tokens) for tokens in (64, 400))
    assert short.passages > long.passages
    assert short.tokens == 64


@pytest.mark.parametrize("tokens", [0, 63, 401])
def test_a_size_out_of_bounds_is_refused(library: Library, file: Path, tokens: int) -> None:
    """Here, and in the settings of a source."""
    with pytest.raises(InvalidRequest, match="passage_size"):
        library.previews.preview(file, tokens=tokens)
    with pytest.raises(InvalidRequest, match="passage_size"):
        parse_source({"source_id": "s", "path": "/x", "settings": {"passage_size": tokens}})


def test_what_cannot_be_read_says_why(library: Library, tmp_path: Path) -> None:
    """A kind that is not read, and a file that is no document of its kind."""
    (tmp_path / "a.bin").write_bytes(b"\0")
    with pytest.raises(InvalidRequest, match="not read"):
        library.previews.preview(tmp_path / "a.bin")
    (tmp_path / "a.docx").write_bytes(b"no archive")
    with pytest.raises(DocumentRejected):
        library.previews.preview(tmp_path / "a.docx")


def test_each_part_of_a_file_is_shown(library: Library, tmp_path: Path) -> None:
    """Of an archive each file that is read, with its place, and why others are not."""
    import zipfile

    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("leave.md", "# Leave\n\nTen days.\n")
        archive.writestr("broken.docx", b"no archive")
    shown = library.previews.preview(tmp_path / "all.zip")
    assert [one["title"] for one in shown.documents] == ["Leave"]
    assert "leave.md" in shown.documents[0]["part"]
    assert len(shown.failed) == 1
