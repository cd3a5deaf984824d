"""Taking sources in: what is read again, what is embedded, what is kept, and what the report says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import openpyxl
import pytest

import wenyuan
from wenyuan.core.errors import EncoderUnavailable, InvalidRequest, NotFound, SourceError
from wenyuan.core.model import BELOW
from wenyuan.readers import sandbox
from wenyuan.readers.sandbox import Sandbox
from wenyuan.service.ingest.progress import IngestReport, Progress

SECTIONS = ("投诉处理", "客户投诉需在 24 小时内第一次响应。"), ("Leave", "Up to five days may be carried over.")


def page(*sections: tuple[str, str]) -> str:
    return "".join(f"# {title}\n\n{text}\n\n" for title, text in sections or SECTIONS)


class Shelf:
    """A library beside the folder that its source ``docs`` reads, with all that was embedded."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.library = wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"})
        self.embedded: list[str] = []
        encoder: Any = self.library.encoder
        encode = encoder.encode_passages

        def counting(texts: Sequence[str], **more: Any) -> Any:
            self.embedded += texts
            return encode(texts, **more)

        encoder.encode_passages = counting

    def write(self, name: str, content: str | bytes = "") -> Path:
        file = self.docs / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes((content or page()).encode() if isinstance(content, str) else content)
        return file

    def lines(self, name: str, *records: dict[str, Any]) -> Path:
        return self.write(name, "".join(json.dumps(record) + "\n" for record in records))

    def run(self, source_id: str = "docs", **more: Any) -> IngestReport:
        """Take the folder in, as it is now; `embedded` holds what that took."""
        self.embedded.clear()
        return self.library.add(wenyuan.Source(source_id=source_id, path=str(self.docs), **more))

    def uris(self, source_id: str = "docs") -> set[str]:
        return {unquote(uri) for uri in self.library.catalog.live_documents(source_id)}

    def names(self) -> set[str]:
        return {uri.rpartition("/docs/")[2] for uri in self.uris()}

    def counts(self) -> dict[str, int]:
        return dict(self.library.catalog.counts())

    def texts(self, query: str) -> list[str]:
        answer = self.library.search(query, limit=100)
        return [answer.passages[hit.passage_id].text for hit in answer.hits]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    with made.library:
        yield made


def told(report: IngestReport) -> dict[str, int]:
    """The numbers of a report that are not 0."""
    numbers = {name: getattr(report, name) for name in ("files", "added", "changed", "unchanged", "retired")}
    return {name: number for name, number in (numbers | {"failed": len(report.failed)}).items() if number}


def test_first_run(shelf: Shelf) -> None:
    """A first run takes in every file, embeds every passage with its title and headings, and counts them."""
    shelf.write("a.md")
    shelf.write("sub/b.txt", "安全第一。")
    report = shelf.run()
    assert told(report) == {"files": 2, "added": 2}
    assert (report.passages, report.embedded) == (3, 3)
    assert len(shelf.embedded) == 3 + len({"投诉处理", "投诉处理\nLeave", "安全第一。"})  # passages and their labels
    assert shelf.counts() == {"documents": 2, "passages": 3, "vectors": 3, "failures": 0}
    assert any(text.startswith(f"投诉处理{BELOW}") and "24 小时" in text for text in shelf.embedded)
    assert report.seconds > 0


def test_second_run(shelf: Shelf) -> None:
    """When nothing has changed nothing is embedded, committed or reported as new."""
    shelf.write("a.md")
    shelf.lines("b.jsonl", {"id": 1, "text": "安全第一"}, {"id": 2, "text": "质量第一"})
    shelf.run()
    before = shelf.library.catalog.seq()
    shelf.embedded.clear()
    report = shelf.library.ingest("docs")
    assert told(report) == {"files": 2, "unchanged": 3}
    assert (report.passages, report.embedded, shelf.embedded) == (0, 0, [])
    assert shelf.library.catalog.seq() == before


def test_changed_file(shelf: Shelf) -> None:
    """Of a changed file only the passages that changed are embedded, and the old text is no longer found."""
    shelf.write("a.md")
    shelf.write(
        "b.md",
        page(
            ("Tools", "Torque wrenches are calibrated."),
        ),
    )
    shelf.run()
    shelf.write("a.md", page(SECTIONS[0], ("Leave", "Up to seven days may be carried over.")))
    report = shelf.run()
    assert told(report) == {"files": 2, "changed": 1, "unchanged": 1}
    assert (report.passages, report.embedded) == (2, 1)
    assert ["seven" in text for text in shelf.embedded] == [True]
    found = "".join(shelf.texts("how many days may be carried over"))
    assert "seven" in found
    assert "five" not in found


def test_deleted_file(shelf: Shelf) -> None:
    """A deleted file leaves the library, and comes back without being embedded again."""
    shelf.write("a.md")
    file = shelf.write(
        "b.md",
        page(
            ("Tools", "Torque wrenches are calibrated."),
        ),
    )
    shelf.run()
    file.unlink()
    assert told(shelf.run()) == {"files": 1, "unchanged": 1, "retired": 1}
    assert shelf.names() == {"a.md"}
    assert not any("Torque" in text for text in shelf.texts("torque wrenches"))
    shelf.write(
        "b.md",
        page(
            ("Tools", "Torque wrenches are calibrated."),
        ),
    )
    report = shelf.run()
    assert told(report) == {"files": 2, "added": 1, "unchanged": 1}
    assert shelf.embedded == []
    assert any("Torque" in text for text in shelf.texts("torque wrenches"))


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def dangling(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.with_name("gone.md"))


def looping(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def not_text(file: Path) -> None:
    file.write_bytes(b"%PDF-1.7 \x00")


@pytest.mark.parametrize("break_", [emptied, dangling, looping, not_text])
def test_failed_file(shelf: Shelf, break_: Callable[[Path], None]) -> None:
    """A file that cannot be read any more keeps its older version, and is reported until it can be read again."""
    shelf.write(
        "a.md",
        page(
            ("Tools", "Torque wrenches are calibrated."),
        ),
    )
    file = shelf.write("b.md")
    shelf.run()
    break_(file)
    report = shelf.run()
    assert told(report) == {"files": 2, "unchanged": 1, "failed": 1}
    ((uri, reason),) = report.failed.items()
    assert uri.endswith("/b.md")
    assert reason
    assert shelf.library.catalog.failures("docs") == {uri: reason}
    assert any("24 小时" in text for text in shelf.texts("投诉处理"))
    file.unlink()
    shelf.write("b.md")
    assert told(shelf.run()) == {"files": 2, "unchanged": 2}
    assert shelf.library.catalog.failures("docs") == {}


def test_failed_file_that_goes(shelf: Shelf) -> None:
    """A file that failed and is then deleted is no longer reported as failed."""
    shelf.write("a.md")
    broken = shelf.write("b.md", b"\x00\x01")
    assert told(shelf.run()) == {"files": 2, "added": 1, "failed": 1}
    broken.unlink()
    assert told(shelf.run()) == {"files": 1, "unchanged": 1}
    assert shelf.counts()["failures"] == 0


def test_file_becomes_folder(shelf: Shelf) -> None:
    """A folder with the name of a file is looked into; the file is gone."""
    shelf.write("a.md")
    shelf.write(
        "x.md",
        page(
            ("Tools", "Torque wrenches."),
        ),
    )
    shelf.run()
    (shelf.docs / "x.md").unlink()
    shelf.write("x.md/inside.md")
    assert told(shelf.run()) == {"files": 2, "added": 1, "unchanged": 1, "retired": 1}
    assert shelf.names() == {"a.md", "x.md/inside.md"}


def test_what_is_left_out(shelf: Shelf, tmp_path: Path) -> None:
    """Other kinds are counted by suffix; hidden files and folders and links that lead out are not even that."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("绝密", encoding="utf-8")
    shelf.write("a.md")
    for name in ("b.bin", "c.BIN", "d.gif", "Makefile", ".hidden.md", ".git/config.md"):
        shelf.write(name)
    (shelf.docs / "file.md").symlink_to(tmp_path / "outside" / "secret.md")
    (shelf.docs / "gone.md").symlink_to(tmp_path / "outside" / "gone.md")
    (shelf.docs / "folder").symlink_to(tmp_path / "outside")
    (shelf.docs / "within.md").symlink_to("a.md")
    report = shelf.run()
    assert told(report) == {"files": 2, "added": 2}
    assert report.skipped == {".bin": 2, ".gif": 1, "(no suffix)": 1}
    assert shelf.names() == {"a.md", "within.md"}
    assert not any("绝密" in text for text in shelf.texts("绝密"))


def test_data_is_left_out_and_does_not_fail(shelf: Shelf) -> None:
    """A folder's files of settings are counted among what is left out; one that held text before goes."""
    shelf.write("a.md")
    shelf.write("package.json", '{"version": "1.2.3", "main": "a.js"}')
    shelf.write("faq.yaml", "question: How fast does the pump turn in normal use?\n")
    report = shelf.run()
    assert told(report) == {"files": 3, "added": 2}
    assert (report.skipped, report.failed) == ({".json": 1}, {})
    shelf.write("faq.yaml", "a: 1\n")
    report = shelf.run()
    assert told(report) == {"files": 3, "unchanged": 1, "retired": 1}
    assert report.skipped == {".json": 1, ".yaml": 1}


@pytest.mark.parametrize("names", [("a.json",), ("a.json", "b.yaml")])
def test_where_there_is_only_data_the_reason_is_told(shelf: Shelf, names: Sequence[str]) -> None:
    """Who adds nothing but files of settings is told why nothing came of them."""
    for name in names:
        shelf.write(name, '{"version": "1.2.3", "main": "a.js"}')
    with pytest.raises(SourceError, match="holds data"):
        shelf.run()


def test_one_file(shelf: Shelf) -> None:
    """A source may be one file."""
    file = shelf.write("a.md")
    report = shelf.library.add(wenyuan.Source(source_id="one", path=str(file)))
    assert told(report) == {"files": 1, "added": 1}


@pytest.mark.parametrize("leave", ["nothing", "other kinds", "no folder"])
def test_nothing_to_read(shelf: Shelf, leave: str) -> None:
    """A folder that is suddenly empty, holds nothing readable or is gone is refused, and nothing is retired."""
    file = shelf.write("a.md")
    shelf.run()
    file.unlink()
    if leave == "other kinds":
        shelf.write("a.bin")
    elif leave == "no folder":
        shelf.docs.rmdir()
    with pytest.raises(SourceError, match=str(shelf.docs)):
        shelf.run()
    assert shelf.counts()["documents"] == 1
    assert any("24 小时" in text for text in shelf.texts("投诉处理"))


@pytest.mark.parametrize("content", [None, b"", b"\x00\x01\x02"])
def test_nothing_registered(shelf: Shelf, content: bytes | None) -> None:
    """A source of which nothing can be taken in at all is not registered, and the reason names the file."""
    if content is not None:
        shelf.write("only.md", content)
    with pytest.raises(SourceError, match=r"only\.md" if content is not None else "it is empty"):
        shelf.run()
    assert shelf.library.sources() == ()
    assert shelf.counts() == {"documents": 0, "passages": 0, "vectors": 0, "failures": 0}


NAMES = (
    "安全 手册.md", "100%.md", "a#1.md", "a?b=c.md", "a&b+c.md", "a%20b.md", "『投诉』.md", "ｆｕｌｌ（１）.md", "é.md",
)  # fmt: skip


def test_names(shelf: Shelf) -> None:
    """Whatever its name, a file has a URI that leads back to it, and is unchanged the second time."""
    for number, name in enumerate(NAMES):
        shelf.write(name, page(("投诉", f"第 {number} 组在 24 小时内响应。")))
    shelf.run()
    answer = shelf.library.retrieve_fragments(wenyuan.RetrievalRequest(query="投诉响应", max_results=50))
    found = set()
    for fragment in answer.fragments:
        uri, hash_, _ = fragment.source.partition("#")
        assert hash_
        found.add(Path(unquote(uri.removeprefix("file://"))))
    assert found == {shelf.docs / name for name in NAMES}
    assert told(shelf.run()) == {"files": len(NAMES), "unchanged": len(NAMES)}


@pytest.mark.parametrize(
    ("raw", "title"), [("安全手册.md".encode("gb18030"), "安全手册"), (b"\xff\xfe.md", "\ufffd\ufffd")]
)
@pytest.mark.parametrize("content", [b"plain text about wrenches", b""])
def test_names_that_are_no_utf8(shelf: Shelf, raw: bytes, title: str, content: bytes) -> None:
    """A file whose name is no UTF-8 is taken in, or refused, like any other."""
    shelf.write("a.md")
    Path(os.fsdecode(bytes(shelf.docs) + b"/" + raw)).write_bytes(content)
    seen: list[Progress] = []
    report = shelf.library.add(wenyuan.Source(source_id="docs", path=str(shelf.docs)), seen.append)
    assert title + ".md" in {at.name for at in seen}
    if content:
        assert told(report) == {"files": 2, "added": 2}
        answer = shelf.library.search("wrenches")
        assert [answer.passages[hit.passage_id].title for hit in answer.hits][:1] == [title]
    else:
        assert told(report) == {"files": 2, "added": 1, "failed": 1}
        assert title in next(iter(report.failed.values()))


def test_encodings(shelf: Shelf) -> None:
    """Chinese files in GB18030 and UTF-16 are found by the words they hold."""
    encodings = ("gb18030", "utf-16", "utf-8-sig", "utf-8")
    for encoding in encodings:
        text = f"第一条 客户投诉需在二十四小时内第一次响应，并登记投诉编号 {encoding}。"
        shelf.write(f"{encoding}.txt", text.encode(encoding))
    assert told(shelf.run()) == {"files": 4, "added": 4}
    found = shelf.texts("登记投诉编号")
    assert len(found) == 4
    assert all("客户投诉需在二十四小时内第一次响应" in text for text in found)


def test_two_sources_with_the_same_files(shelf: Shelf) -> None:
    """Two sources may read the same folder: nothing is embedded twice, each keeps its own documents."""
    shelf.write("a.md")
    shelf.run()
    report = shelf.run("again", trust=5)
    assert told(report) == {"files": 1, "added": 1}
    assert shelf.embedded == []
    assert shelf.uris("docs") == shelf.uris("again")
    assert shelf.library.remove("docs") == 1
    assert any("24 小时" in text for text in shelf.texts("投诉处理"))


def test_same_text_is_embedded_once(shelf: Shelf) -> None:
    """Passages with the same title, headings and text share a vector."""
    for folder in ("a", "b", "c"):
        shelf.write(f"{folder}/same.md")
    report = shelf.run()
    assert (report.passages, report.embedded) == (6, 2)
    assert sorted(shelf.embedded) == sorted(set(shelf.embedded))
    assert shelf.counts()["vectors"] == 6


def test_same_address_twice_in_a_file(shelf: Shelf) -> None:
    """Of a JSON Lines file that gives an address twice the second line is refused by its number, the first is taken."""
    shelf.write("a.md")
    shelf.lines("b.jsonl", {"url": "http://x/1", "text": "one"}, {"url": "http://x/1#y", "text": "two"})
    report = shelf.run()
    assert told(report) == {"files": 2, "added": 2, "failed": 1}
    assert "line 2" in next(iter(report.failed.values()))


def test_same_address_in_two_files(shelf: Shelf) -> None:
    """Of two files that give one address the first has it, and the second is reported; the next run agrees."""
    shelf.lines("a.jsonl", {"url": "http://x/1", "text": "torque wrench"})
    shelf.lines("b.jsonl", {"url": "http://x/1", "text": "hard hat"}, {"url": "http://x/2", "text": "ladder"})
    for expected in ({"files": 2, "added": 2, "failed": 1}, {"files": 2, "unchanged": 2, "failed": 1}):
        report = shelf.run()
        assert told(report) == expected
        assert "http://x/1 stands twice" in next(iter(report.failed.values()))
    assert shelf.texts("torque wrench")[:1] == ["torque wrench"]
    assert "hard hat" not in shelf.texts("hard hat")


def test_half_a_character(shelf: Shelf) -> None:
    """A line that spells half of a surrogate pair fails alone; the run goes on."""
    shelf.write("a.md")
    shelf.lines("b.jsonl", {"title": "a\ud800b", "text": "torque"}, {"title": "good", "text": "hammer"})
    shelf.lines("c.jsonl", {"url": "http://x/\ud800", "text": "torque"})
    shelf.lines("d.jsonl", {"text": "torque", "metadata": {"k": "\udfff"}})
    shelf.lines("e.jsonl", {"text": "torque", "metadata": {"\ud800": 1}})
    shelf.write("f.md")
    report = shelf.run()
    assert told(report) == {"files": 6, "added": 3, "failed": 4}
    assert all("surrogate" in reason for reason in report.failed.values())
    assert shelf.counts()["failures"] == 4


@pytest.mark.parametrize("name", ["faq.jsonl", "FAQ.JSONL", "faq.ndjson"])
def test_failed_lines(shelf: Shelf, name: str) -> None:
    """When a file of lines fails, the documents that came of it stay, whatever addresses they have."""
    shelf.write("a.md")
    shelf.lines(name, {"url": "http://x/1", "text": "torque wrench"}, {"id": "2", "text": "hard hat"})
    assert told(shelf.run()) == {"files": 2, "added": 3}
    shelf.write(name, b"{broken")
    assert told(shelf.run()) == {"files": 2, "unchanged": 1, "failed": 1}
    assert shelf.texts("torque wrench")[:1] == ["torque wrench"]
    shelf.lines(name, {"id": "2", "text": "hard hat"})
    assert told(shelf.run()) == {"files": 2, "unchanged": 2, "retired": 1}


@pytest.mark.parametrize("broken", [b"{broken", b"", b"\n"])
def test_what_a_broken_file_holds_back(shelf: Shelf, broken: bytes) -> None:
    """Only what may be in the file of lines that failed stays, and is counted; what vanished elsewhere is retired."""
    for name in ("gone.md", "stays.md"):
        shelf.write(name)
    shelf.lines("own.jsonl", {"url": "http://x/1", "text": "torque wrench"}, {"id": "2", "text": "hard hat"})
    shelf.lines("other.jsonl", {"url": "http://x/other.jsonl?3", "text": "ladder"}, {"id": "4", "text": "rope"})
    shelf.lines("two.ndjson", {"id": "5", "text": "hammer"}, {"id": "6", "text": "chisel"})
    assert told(shelf.run()) == {"files": 5, "added": 8}
    shelf.write("own.jsonl", broken)
    for name in ("gone.md", "other.jsonl"):
        (shelf.docs / name).unlink()
    shelf.lines("two.ndjson", {"id": "5", "text": "hammer"}, {"id": "7", "text": "saw", "metadata": {"a": "\ud800"}})
    report = shelf.run()
    assert told(report) == {"files": 3, "unchanged": 2, "retired": 4, "failed": 2}
    assert report.held_back == 2
    left = {uri.rpartition("/")[2] for uri in shelf.uris()}
    assert left == {"stays.md", "own.jsonl?id=2", "1", "two.ndjson?id=5"}
    (shelf.docs / "own.jsonl").unlink()
    report = shelf.run()
    assert (report.retired, report.held_back) == (2, 0)


def test_failed_sheets(shelf: Shelf) -> None:
    """When a workbook fails, its sheets stay; what vanished elsewhere in the source is retired all the same."""
    book = openpyxl.Workbook()
    for sheet, tool in (("one", "torque wrench"), ("two", "hard hat")):
        rows = book.create_sheet(sheet)
        rows.append(["问题", "答案"])
        rows.append([tool, "see the shelf"])
    book.save(shelf.docs / "faq.xlsx")
    gone = shelf.write("a.md")
    assert told(shelf.run()) == {"files": 2, "added": 3}
    book.close()
    (shelf.docs / "faq.xlsx").write_bytes(b"PK\x03\x04 broken")
    gone.unlink()
    assert told(shelf.run()) == {"files": 1, "retired": 1, "failed": 1}
    assert "hard hat" in shelf.texts("hard hat")[0]


def test_closing_ends_the_reader(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed library leaves no process behind that was started to read files in."""
    monkeypatch.setattr(sandbox, "Sandbox", Sandbox)  # and not the one that leaves its process to the next library

    def children() -> set[str]:
        lists = Path("/proc/self/task").glob("*/children")
        return {pid for found in lists for pid in found.read_text().split()}

    others = children()
    shelf.write("a.html", "<h1>Tools</h1><p>Torque wrenches are calibrated.</p>")
    shelf.run()
    mine = children() - others
    assert mine
    shelf.library.close()
    assert not mine & children()


def test_changed_settings(shelf: Shelf) -> None:
    """A source with another language or collection is read again: its passages are labelled, none is embedded."""
    shelf.write("a.md")
    shelf.run(language="zh")
    for change in ({"language": "en"}, {"language": "en", "collection": "hr"}):
        report = shelf.run(**change)
        assert told(report) == {"files": 1, "changed": 1}
        assert shelf.embedded == []
    answer = shelf.library.search("投诉处理")
    assert {(p.language, p.collection) for p in answer.passages.values()} == {("en", "hr")}


def test_changed_description(shelf: Shelf) -> None:
    """Another trust or licence needs no reading: it shows in the next answer."""
    shelf.write("a.md")
    shelf.run(trust=2)
    assert told(shelf.run(trust=5, copyright="CC-BY-4.0")) == {"files": 1, "unchanged": 1}
    answer = shelf.library.search("投诉处理")
    assert {(p.trust, p.copyright) for p in answer.passages.values()} == {(5, "CC-BY-4.0")}


@pytest.mark.slow
def test_thousands_of_lines(shelf: Shelf) -> None:
    """A file of 3,000 documents is taken in whole, in several commits, and each is found by its own words."""
    records = [{"id": n, "title": f"entry {n}", "text": f"部件 zx{n:04} 的安全说明"} for n in range(3_000)]
    shelf.lines("parts.jsonl", *records)
    report = shelf.run()
    assert told(report) == {"files": 1, "added": 3_000}
    assert (report.passages, report.embedded) == (3_000, 3_000)
    assert shelf.library.catalog.seq() > 10
    for n in (0, 1_499, 2_999):
        assert shelf.texts(f"zx{n:04}")[0] == f"部件 zx{n:04} 的安全说明"
    records[7]["text"] = "部件 qq0007 的安全说明"
    shelf.lines("parts.jsonl", *records[:-1])
    report = shelf.run()
    assert told(report) == {"files": 1, "changed": 1, "unchanged": 2_998, "retired": 1}
    assert report.embedded == 1


def test_interrupted_run(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the encoder fails halfway the run fails, what was committed stays, the next run embeds the rest."""
    shelf.lines("parts.jsonl", *({"id": n, "text": f"部件 zx{n:04}"} for n in range(500)))
    encoder: Any = shelf.library.encoder
    encode, calls = encoder.encode_passages, []

    def failing(texts: Sequence[str], **more: Any) -> Any:
        calls.append(len(texts))
        if len(calls) == 3:  # after the passages and the labels of the first batch
            raise EncoderUnavailable("connection refused", component="encoder stub")
        return encode(texts, **more)

    monkeypatch.setattr(encoder, "encode_passages", failing)
    with pytest.raises(EncoderUnavailable):
        shelf.run()
    assert 0 < shelf.counts()["documents"] == calls[0] < 500
    report = shelf.run()
    assert told(report) == {"files": 1, "added": 500 - calls[0], "unchanged": calls[0]}
    assert report.embedded == 500 - calls[0]


def test_source_id_is_taken(shelf: Shelf, tmp_path: Path) -> None:
    """A source id that reads another path is refused; the message names that path, and nothing changes."""
    shelf.write("a.md")
    shelf.run(trust=2)
    with pytest.raises(InvalidRequest, match=str(shelf.docs)):
        shelf.library.add(wenyuan.Source(source_id="docs", path=str(tmp_path), trust=5))
    assert [(s.path, s.trust) for s in shelf.library.sources()] == [(str(shelf.docs), 2)]


def test_unknown_source(shelf: Shelf) -> None:
    """A source that is not registered can be neither read nor removed."""
    for call in (shelf.library.ingest, shelf.library.remove):
        with pytest.raises(NotFound, match="nobody"):
            call("nobody")


def test_removed_source(shelf: Shelf) -> None:
    """A removed source takes its documents, passages, vectors and failures along, and can be added again."""
    shelf.write("a.md")
    shelf.write("b.md", b"\x00")
    shelf.run()
    assert shelf.library.remove("docs") == 1
    assert shelf.counts() == {"documents": 0, "passages": 0, "vectors": 0, "failures": 0}
    assert shelf.texts("投诉处理") == []
    assert shelf.library.readiness().ready
    assert told(shelf.run()) == {"files": 2, "added": 1, "failed": 1}
    assert len(set(shelf.embedded)) == len(shelf.embedded) == 4


def test_progress(shelf: Shelf) -> None:
    """Progress never goes back, ends with what the report says, and names the files in their order."""
    shelf.lines("b.jsonl", *({"id": n, "text": f"部件 zx{n:04}"} for n in range(400)))
    shelf.write("a.md")
    shelf.write(
        "c.md",
        page(
            ("Tools", "Torque wrenches."),
        ),
    )
    seen: list[Progress] = []
    report = shelf.library.add(wenyuan.Source(source_id="docs", path=str(shelf.docs)), seen.append)
    for name in ("files", "passages", "embedded"):
        values = [getattr(at, name) for at in seen]
        assert values == sorted(values)
    assert {at.files_total for at in seen} == {3}
    assert (seen[-1].passages, seen[-1].embedded) == (report.passages, report.embedded) == (403, 403)
    assert list(dict.fromkeys(at.name for at in seen)) == ["a.md", "b.jsonl", "c.md"]


def test_numbers_add_up(shelf: Shelf) -> None:
    """Each file is added, changed, unchanged or failed; what the library holds is what the reports have told."""
    kept = {
        f"{n}.md": page(
            ("Tools", f"Torque wrench number {n}."),
        )
        for n in range(6)
    }
    for name, text in kept.items():
        shelf.write(name, text)
    first = shelf.run()
    shelf.write("0.md", page(("Tools", "Changed."), ("More", "Text.")))
    shelf.write("1.md", b"\x00")
    (shelf.docs / "2.md").unlink()
    shelf.write("new.md")
    second = shelf.run()
    assert told(second) == {"files": 6, "added": 1, "changed": 1, "unchanged": 3, "retired": 1, "failed": 1}
    assert second.files == second.added + second.changed + second.unchanged + len(second.failed)
    counts = shelf.counts()
    assert counts["documents"] == first.added + second.added - second.retired
    assert counts["passages"] == first.passages - 2 + second.passages
    assert counts["failures"] == len(second.failed)


def test_without_encoder(tmp_path: Path) -> None:
    """A library without an encoder takes sources in and finds them by words."""
    (tmp_path / "a.md").write_text(page(), encoding="utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        report = library.add(wenyuan.Source(source_id="docs", path=str(tmp_path / "a.md")))
        assert (report.added, report.passages, report.embedded) == (1, 2, 0)
        assert library.catalog.counts()["vectors"] == 0
        assert library.search("投诉响应").hits


def test_source_is_not_registered_where_nothing_can_be_written(shelf: Shelf, tmp_path: Path) -> None:
    """A library whose encoder is missing refuses a new source before it registers it."""
    shelf.write("a.md")
    shelf.run()
    shelf.library.close()
    with wenyuan.open(tmp_path / "library", encoder={"kind": "none"}) as library:
        with pytest.raises(EncoderUnavailable):
            library.add(wenyuan.Source(source_id="more", path=str(shelf.docs)))
        assert [s.source_id for s in library.sources()] == ["docs"]


def test_attachments_stay_when_their_mail_is_looked_at_again(tmp_path: Path) -> None:
    """A mail has an address of its own, which says nothing of its attachments: they stay, and so does why one failed."""
    mail = EmailMessage()
    mail["Subject"], mail["From"] = "退费", "a@example.com"
    mail.set_content("The fee is 5 yuan.")
    for name, content in (("制度.md", "# 制度\n\n退费须在 3 天内。"), ("empty.md", "")):
        mail.add_attachment(content.encode(), maintype="text", subtype="markdown", filename=name)
    (tmp_path / "a.eml").write_bytes(bytes(mail))
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        first = library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "a.eml")))
        assert first.added == 2
        assert len(first.failed) == 1
        for _ in range(2):
            again = library.ingest("a")
            assert (again.unchanged, again.changed, again.retired, again.failed) == (2, 0, 0, first.failed)
