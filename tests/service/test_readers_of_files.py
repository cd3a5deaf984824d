"""Who may read what was read from files: as front matter, sidecars, permissions and connectors say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.connectors import Entry
from wenyuan.core.errors import ConfigError, InvalidRequest, SourceError
from wenyuan.core.model import Source
from wenyuan.core.principals import NOBODY, AccessList, Sight, reading_as
from wenyuan.service.ingest.file_permissions import ConnectorPermissions, permitted, read_sidecar
from wenyuan.service.ingest.remote_files import RemoteFile

SETTINGS: dict[str, Any] = {"encoder": {"kind": "hashing"}, "audit": {"enabled": False}}
HR = "---\nreaders: [group:hr]\n---\n# 薪酬\n\n薪酬方案。\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    (made / "hr" / "board").mkdir(parents=True)
    for name in ("a.md", "hr/b.md", "hr/board/c.md"):
        (made / name).write_text(f"# {name}\n\n关于{name}的说明。\n", "utf-8")
    return made


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, **SETTINGS) as made:
        yield made


def added(library: Any, docs: Path, **readers: Any) -> Any:
    settings = {"readers": readers} if readers else {}
    return library.add(Source(source_id="docs", path=str(docs), settings=settings))


def seen(library: Any, *names: str) -> set[str]:
    """The files whose documents somebody sees."""
    with reading_as(Sight.of(names)):
        return {one.uri.rpartition("docs/")[2].partition("?")[0] for one in library.documents()}


ALL = {"a.md", "hr/b.md", "hr/board/c.md"}


def test_front_matter_counts_where_the_source_says_so(library: Any, docs: Path) -> None:
    """Elsewhere a note tells that it does not; what it says is no field of the document then; switching it on reads again."""
    (docs / "a.md").write_text(HR, "utf-8")
    report = added(library, docs)
    assert seen(library, "user:li") == ALL
    assert any("settings.readers.from" in note for notes in report.notes.values() for note in notes)
    added(library, docs, **{"from": ["front_matter"]})
    assert seen(library, "user:li") == ALL - {"a.md"}
    assert seen(library, "group:hr") == ALL
    assert "metadata.readers" not in library.catalog.field_values()["docs"]
    (docs / "a.md").write_text(HR.replace("readers: [group:hr]", "title: 薪酬"), "utf-8")
    library.ingest("docs")
    assert seen(library, "user:li") == ALL


@pytest.mark.parametrize(
    "said",
    ["readers: [5]", "readers: 5", "readers: {a: b}", "readers:", "readers: []", "readers: [hr]", "Readers: true", "deny: {a: b}",
     "readers: [[group:hr]]", "deny: [5]", f"readers: ['group:{'x' * 30_000}']", "READERS: ['user:a b']"],
)  # fmt: skip
def test_front_matter_that_cannot_be_read_lets_nobody_read(library: Any, docs: Path, said: str) -> None:
    """What somebody began to restrict is not open since they wrote it wrongly; why is told with the document."""
    (docs / "a.md").write_text(f"---\n{said}\n---\n# 甲\n\n正文。\n", "utf-8")
    report = added(library, docs, **{"from": ["front_matter"]})
    assert seen(library, "user:li", "group:hr") == ALL - {"a.md"}
    assert report.notes or said == "readers: []"


@pytest.mark.parametrize(
    "head",
    ["---\nreaders:[group:north]\n---\n", "---\nreaders: [group:north]\nreaders: [everyone]\n---\n",
     "---\nｒｅａｄｅｒｓ: [group:north]\n---\n", "---\nreader: [group:north]\n---\n", "\n---\nreaders: [group:north]\n---\n",
     "---\nreaders: [group:north]\n", "+++\nreaders = [group:north\n+++\n"],
)  # fmt: skip
def test_front_matter_that_misses_by_a_hair_opens_nothing(library: Any, docs: Path, head: str) -> None:
    """Where documents may say who reads them, one that seems to say so and is not understood is closed, with a note or failure."""
    (docs / "a.md").write_text(f"{head}# 甲\n\n正文。\n", "utf-8")
    added(library, docs, **{"from": ["front_matter"]})
    assert seen(library, "user:li") == ALL - {"a.md"}


@pytest.mark.parametrize(
    "text", ["readers: [group:north]\nreaders: [everyone]\n", "deny: [user:a]\nreaders: [everyone]\ndeny: []\n"]
)
def test_a_sidecar_that_says_a_thing_twice_closes(text: str) -> None:
    """It is not clear which one counts."""
    with pytest.raises(InvalidRequest):
        read_sidecar(text.encode())


def test_documents_that_nobody_sees_are_counted(library: Any, docs: Path) -> None:
    """By an empty list, by one that cannot be read, and for want of any where the source enforces."""
    (docs / "a.md").write_text("---\nreaders: []\n---\n# 甲\n\n正文。\n", "utf-8")
    (docs / "hr" / "b.md").write_text("---\nreaders: [5]\n---\n# 乙\n\n正文。\n", "utf-8")
    added(library, docs, **{"from": ["front_matter"]})
    (counts,) = library.reader_counts()
    assert (counts["readers"], counts["unread"]) == (0, 2)
    added(library, docs, **{"from": ["front_matter"], "enforce": True})
    (counts,) = library.reader_counts()
    assert counts["unread"] == 3


def test_front_matter_may_not_open_what_is_closed(library: Any, docs: Path) -> None:
    """All lists count: what a pattern closes, no document opens by itself."""
    (docs / "hr" / "b.md").write_text("---\nreaders: [everyone]\n---\n# 乙\n\n正文。\n", "utf-8")
    added(library, docs, **{"from": ["front_matter"], "documents": [{"path": "hr/**", "readers": ["group:hr"]}]})
    assert seen(library, "user:li") == {"a.md"}
    assert seen(library, "group:hr") == ALL


def test_empty_deny_denies_nobody(library: Any, docs: Path) -> None:
    """It is a list, of nobody."""
    (docs / "a.md").write_text("---\ndeny: []\n---\n# 甲\n\n正文。\n", "utf-8")
    added(library, docs, **{"from": ["front_matter"]})
    assert seen(library, "user:li") == ALL


def test_sidecars_hold_for_their_folder_and_below(library: Any, docs: Path) -> None:
    """All of them count, those of the folders above too; a change counts at the next run though no document changed."""
    added(library, docs)
    (docs / "hr" / ".readers.yaml").write_text("readers: [group:hr, group:board]\n", "utf-8")
    (docs / "hr" / "board" / ".readers.yaml").write_text("readers:\n  - group:board\ndeny: [user:li]\n", "utf-8")
    report = library.ingest("docs")
    assert (report.unchanged, report.failed) == (3, {})
    assert seen(library, "user:wu") == {"a.md"}
    assert seen(library, "group:hr") == {"a.md", "hr/b.md"}
    assert seen(library, "group:board") == ALL
    assert seen(library, "group:board", "user:li") == {"a.md", "hr/b.md"}
    (docs / "hr" / "board" / ".readers.yaml").unlink()
    library.ingest("docs")
    assert seen(library, "group:hr") == ALL
    (docs / "hr" / ".readers.yaml").unlink()
    library.ingest("docs")
    assert seen(library, "user:wu") == ALL
    assert library.catalog.document_access("docs", f"file://{docs}/hr/b.md") == ()


@pytest.mark.parametrize(
    "content",
    [b"", b"readers: group:hr", b"- group:hr", b"readers: [5]", b"\xff\xfe", b"reader: [group:hr]", b"readers: &a [*a]",
     b"readers: [group:hr", b"readers: [" + b"group:hr, " * 200_000 + b"]", b"readers:\n" + b" - - " * 9_000, b"readers: [group:hr]\ndeny: {}",
     b"!!python/object/apply:os.system [ls]", b"readers: !!set {x}"],
)  # fmt: skip
def test_a_sidecar_that_cannot_be_read_closes_its_folder(library: Any, docs: Path, content: bytes) -> None:
    """Nobody reads what is in it, the run names it, and the next one that can read it opens it."""
    sidecar = docs / "hr" / ".readers.yaml"
    sidecar.write_bytes(content)
    report = added(library, docs)
    assert seen(library, "group:hr") == {"a.md"}
    assert [uri.rpartition("/")[2] for uri in report.failed] == [".readers.yaml"]
    assert library.catalog.access_counts()["docs"]["unreadable"] == 2
    sidecar.write_text("readers: [group:hr]", "utf-8")
    report = library.ingest("docs")
    assert report.failed == {}
    assert seen(library, "group:hr") == ALL
    assert library.catalog.access_counts()["docs"]["unreadable"] == 0
    assert library.catalog.failures("docs") == {}


@pytest.mark.parametrize("kind", ["folder", "link to nothing", "pipe"])
def test_what_is_no_file_is_no_sidecar(library: Any, docs: Path, kind: str) -> None:
    """Something else by that name says nothing, and so closes the folder."""
    sidecar = docs / "hr" / ".readers.yaml"
    {
        "folder": sidecar.mkdir,
        "link to nothing": lambda: sidecar.symlink_to("gone"),
        "pipe": lambda: os.mkfifo(sidecar),
    }[kind]()
    added(library, docs)
    assert seen(library, "group:hr") == {"a.md"}


def test_parts_of_a_file_have_its_readers(library: Any, docs: Path, tmp_path: Path) -> None:
    """What is in an archive is read by whom the archive may be."""
    import zipfile

    with zipfile.ZipFile(docs / "hr" / "d.zip", "w") as packed:
        packed.writestr("x.md", "# 包内\n\n包内的文字。\n")
        packed.writestr("y.md", "# 包内二\n\n包内第二份文字。\n")
    (docs / "hr" / ".readers.yaml").write_text("readers: [group:hr]", "utf-8")
    added(library, docs)
    assert seen(library, "user:li") == {"a.md"}
    assert "hr/d.zip" in seen(library, "group:hr")
    library.ingest("docs")
    assert seen(library, "user:li") == {"a.md"}


def test_permissions_of_files(library: Any, docs: Path) -> None:
    """Where the source says so, its files are read by whom the system lets read them, the folders above included."""
    me = f"user:{__import__('pwd').getpwuid(os.getuid()).pw_name}"
    mine = f"group:{__import__('grp').getgrgid((docs / 'a.md').stat().st_gid).gr_name}"
    (docs / "a.md").chmod(0o644)
    (docs / "hr" / "b.md").chmod(0o600)
    (docs / "hr" / "board" / "c.md").chmod(0o644)
    for folder, mode in ((docs, 0o755), (docs / "hr", 0o755), (docs / "hr" / "board", 0o750)):
        folder.chmod(mode)
    added(library, docs, **{"from": ["permissions"], "enforce": True})
    assert seen(library, "user:nobody-else") == {"a.md"}
    assert seen(library, mine) == {"a.md", "hr/board/c.md"}
    assert seen(library, me) == ALL
    (docs / "a.md").chmod(0o640)
    assert library.ingest("docs").unchanged == 3
    assert seen(library, "user:nobody-else") == set()
    assert permitted(docs / "a.md", (0, 0, 0)) == NOBODY


def test_permissions_that_nobody_knows_are_refused(library: Any, docs: Path) -> None:
    """A source that asks for them where none are known takes nothing in."""
    library.catalog.put_source(Source(source_id="own", settings={"readers": {"from": ["permissions"]}}))
    with pytest.raises((ConfigError, SourceError)):
        library.ingest("own")
    with pytest.raises(ConfigError, match=r"settings\.readers\.from"):
        ConnectorPermissions(
            Source(source_id="s", path="https://w.example/", settings={"readers": {"from": ["permissions"]}}),
            object(),
            print,  # type: ignore[arg-type]
        )


class Listing:
    """A connector that knows who may read, of some of its entries."""

    def permissions(self, entry: Entry) -> AccessList:
        if entry.key == "slow":
            raise SourceError("it does not answer")
        if entry.key == "broken":
            raise ValueError("a bug")
        return AccessList(readers=frozenset({"group:hr"}))

    def list(self, known: object) -> Iterator[Entry]:
        return iter(())

    def fetch(self, entry: Entry, most: int) -> bytes:
        return b""

    def close(self) -> None: ...


def test_permissions_that_a_connector_cannot_read_are_closed() -> None:
    """Whatever it fails with: nobody reads such an entry, and it is named."""
    source = Source(source_id="s", path="https://w.example/", settings={"readers": {"from": ["permissions"]}})
    failed: list[str] = []
    asked = ConnectorPermissions(source, Listing(), lambda uri, reason: failed.append(uri))
    found = {}
    for key in ("good", "slow", "broken"):
        entry = Entry(key=key, uri=f"https://w.example/{key}", name=f"{key}.md")
        found[key] = asked.of(RemoteFile(entry, Listing(), lambda *_: ()))["permissions/file"]
    assert found["good"] == (AccessList(readers=frozenset({"group:hr"})), "")
    assert [found[key][0] for key in ("slow", "broken")] == [NOBODY, NOBODY]
    assert failed == ["https://w.example/slow", "https://w.example/broken"]
    plain = ConnectorPermissions(Source(source_id="s", path="https://w.example/"), Listing(), print)
    entry = Entry(key="good", uri="https://w.example/good", name="good.md")
    assert plain.of(RemoteFile(entry, Listing(), lambda *_: ())) == {}


def test_a_sidecar_says_two_lists() -> None:
    """And nothing else; null is nobody."""
    assert read_sidecar(b"readers: [group:hr]\ndeny: [user:li]") == AccessList(
        readers=frozenset({"group:hr"}), deny=frozenset({"user:li"})
    )
    assert read_sidecar(b"readers:") == NOBODY
    with pytest.raises(InvalidRequest):
        read_sidecar(b"owner: [group:hr]")
