"""Reading ZIP archives of documents: each file by itself, with its name, within limits for all together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from package_files import zipped
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers import containers
from wenyuan.readers.sandbox import Sandbox

URI = "file:///x.zip"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def reason(sandbox: Sandbox, content: bytes) -> str:
    with pytest.raises(DocumentRejected) as caught:
        sandbox.read(content, uri=URI, name="x.zip")
    return caught.value.message


def test_each_file_is_a_document_of_its_own_and_one_that_fails_leaves_the_others(sandbox: Sandbox) -> None:
    """Hidden files are passed over, unknown kinds counted; what the archive says is told with the document."""
    content = zipped({
        "制度/退费.md": "# 退费\n\n七日", "fees.html": "<p>200</p>", "broken.docx": b"PK\x03\x04", "data.bin": b"\0",
        "__MACOSX/._fees.html": b"x", ".hidden.md": "x", "制度/": "",
    })  # fmt: skip
    first, second = sandbox.read(content, uri=URI, name="全部.zip").documents
    assert (first.uri, first.title, first.metadata) == (
        f"{URI}?entry=制度/退费.md", "退费", {"archive": "全部.zip", "entry": "制度/退费.md"},
    )  # fmt: skip
    assert second.text == "200"
    ((address, why),) = first.refused
    assert address == f"{URI}?entry=broken.docx" and "damaged" in why
    assert first.notes == ("left out files of kinds that are not read: .bin (1)",)


def test_names_that_a_chinese_windows_wrote_and_such_that_lead_out(sandbox: Sandbox) -> None:
    """GBK names are read; an absolute name loses its root, one with steps upwards is refused."""
    content = zipped({"NAME.md": "七日", "C:\\abs\\a.md": "甲", "../../etc/b.md": "乙"})
    content = content.replace(b"NAME.md", "退费.md".encode("gbk"))
    documents = sandbox.read(content, uri=URI, name="x.zip").documents
    assert [document.uri for document in documents] == [f"{URI}?entry=退费.md", f"{URI}?entry=abs/a.md"]
    assert documents[0].refused == ((f"{URI}?entry=../../etc/b.md", "its name leads out of the archive"),)


def test_an_archive_in_an_archive_is_opened_three_deep(sandbox: Sandbox) -> None:
    """An archive that holds itself, without end, stops there."""
    inner = zipped({"a.md": "deep"})
    for _ in range(3):
        inner = zipped({"in.zip": inner, "b.md": "here"})
    documents = sandbox.read(inner, uri=URI, name="x.zip").documents
    assert [document.uri for document in documents] == [
        f"{URI}?entry=in.zip&entry=in.zip&entry=b.md", f"{URI}?entry=in.zip&entry=b.md", f"{URI}?entry=b.md",
    ]  # fmt: skip
    assert "more than 3 files within one another" in documents[0].refused[0][1]


def test_more_files_than_are_read_in_all_are_named(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit counts the files of archives in archives; time is bounded likewise."""
    content = zipped({"in.zip": zipped({f"{n}.md": "x" for n in range(5)}), "last.md": "y"})
    monkeypatch.setattr(containers, "MAX_PARTS", 4)
    documents = sandbox.read(content, uri=URI, name="x.zip").documents
    assert len(documents) == 3
    assert {why for document in documents for _, why in document.refused} == {"only the first 4 files are read"}
    monkeypatch.setattr(containers, "MAX_SECONDS", -1.0)
    assert "took longer than -1 s" in reason(sandbox, content)


def test_bombs_and_broken_archives_are_refused_by_name(sandbox: Sandbox) -> None:
    """A bomb, too many entries, an encrypted one, nothing to read, and no archive."""
    bomb = zipped({"a.txt": b" " * 5_000_000, "b.md": "good"})
    (document,) = sandbox.read(bomb, uri=URI, name="x.zip").documents
    assert "decompression bomb" in document.refused[0][1]
    assert "2001 entries; at most 2000" in reason(sandbox, zipped({f"{n}.md": "" for n in range(2_001)}))
    locked = bytearray(zipped({"a.md": "secret"}))
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        locked[locked.find(mark) + (6 if mark.endswith(b"\x04") else 8)] |= 1
    assert reason(sandbox, bytes(locked)) == "it is encrypted"
    assert reason(sandbox, zipped({"a.exe": b"MZ"})) == "it holds no file of a kind that is read"
    assert "damaged" in reason(sandbox, b"PK\x03\x04 no archive")
    assert reason(sandbox, zipped({"a.md": b"", "b.pdf": b"x"})) == (
        "none of the 2 files in it can be read; the first one: the file is empty"
    )


def test_sheets_and_lines_of_files_in_archives_have_addresses(sandbox: Sandbox) -> None:
    """The address says the way: the archive, the file, the line."""
    lines = '{"title": "a", "text": "x"}\n{"title": "b", "text": "y"}\n'
    documents = sandbox.read(zipped({"a.jsonl": lines}), uri=URI, name="x.zip").documents
    assert [document.uri for document in documents] == [f"{URI}?entry=a.jsonl&line=1", f"{URI}?entry=a.jsonl&line=2"]
