"""A Git repository as a source: at a branch, by its newest commit, fetched only when that is another one."""

from __future__ import annotations

import resource
import secrets
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from dulwich import porcelain
from dulwich.objects import Blob, Tree
from dulwich.pack import PackData
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

import wenyuan
from parsing import parse
from wenyuan.conformance import check_connector
from wenyuan.connectors import git
from wenyuan.connectors.selection import open_connector
from wenyuan.core.connectors import Known, ListingCut
from wenyuan.core.errors import ConfigError, SourceError
from wenyuan.service.ingest.progress import IngestReport

WHO = b"A Writer <a@example.com>"


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing is told."""


class Shelf:
    """A repository, served over HTTP, and a library that reads it."""

    def __init__(self, folder: Path, library: wenyuan.Library) -> None:
        self.path, self.library = folder / "repo", library
        self.path.mkdir()
        with closing(porcelain.init(str(self.path), bare=False)) as repo:
            repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")
        self.write("docs/leave.md", "# Leave\n\nUp to five days may be carried over.\n")
        self.write("docs/报销.md", "# 报销\n\n报销须在三十日内提交。\n")
        self.write("docs/.hidden.md", "# Hidden\n\nNot read.\n")
        self.write("code/tool.bin", "00")
        self.commit()
        self.url = ""
        self.asked: list[str] = []

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def commit(self) -> str:
        with closing(Repo(str(self.path))) as repo:
            porcelain.add(repo, [str(p) for p in self.path.rglob("*") if p.is_file() and ".git" not in p.parts])
            return porcelain.commit(repo, message=b"a change", author=WHO, committer=WHO).decode()

    def source(self, address: str = "", **settings: Any) -> wenyuan.Source:
        path = address or f"git+{self.url}/repo#branch=main&path=docs"
        return wenyuan.Source(source_id="repo", path=path, settings={"allow_private": True, **settings})

    def run(self, address: str = "", **settings: Any) -> IngestReport:
        self.asked.clear()
        return self.library.add(self.source(address, **settings))

    def uris(self) -> set[str]:
        return {uri.removeprefix(f"git+{self.url}/repo") for uri in self.library.catalog.live_documents("repo")}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        shelf = Shelf(tmp_path, library)
        with closing(Repo(str(shelf.path))) as repo:
            answers = make_wsgi_chain(DictBackend({"/repo": repo}))

            def told(environment: Any, start: Any) -> Any:
                shelf.asked.append(environment["PATH_INFO"])
                return answers(environment, start)

            server = make_server("127.0.0.1", 0, told, handler_class=Quiet)
            shelf.url = f"http://127.0.0.1:{server.server_port}"
            thread = threading.Thread(target=partial(server.serve_forever, 0.01), daemon=True)
            thread.start()
            yield shelf
            server.shutdown()
            server.server_close()
            thread.join(5)


def test_reads_a_branch_over_http(shelf: Shelf) -> None:
    """The readable files of a folder of the branch, each with the commit at which it was read."""
    report = shelf.run()
    assert (report.added, report.failed) == (2, {})
    assert shelf.uris() == {"@main/docs/leave.md", "@main/docs/报销.md"}
    hits = shelf.library.search("报销期限", filter=None).hits
    commits = {
        passage.facets["commit"] for passage in shelf.library.catalog.passages([h.passage_id for h in hits]).values()
    }
    assert [len(str(commit)) for commit in commits] == [40]


def test_fetches_nothing_at_the_same_commit(shelf: Shelf) -> None:
    """While the branch stands where it stood, its refs are asked for, and no objects."""
    shelf.run()
    assert shelf.run().unchanged == 2
    assert shelf.asked == ["/repo/info/refs"]


def test_reads_what_a_commit_changed(shelf: Shelf) -> None:
    """Of a new commit only files with other bytes are read; files that are gone are retired."""
    shelf.run()
    shelf.write("docs/leave.md", "# Leave\n\nUp to six days may be carried over.\n")
    shelf.write("docs/new.md", "# New\n\nTravel is booked by the desk.\n")
    shelf.commit()
    report = shelf.run()
    assert (report.changed, report.added, report.unchanged) == (1, 1, 1)
    with closing(Repo(str(shelf.path))) as repo:
        porcelain.remove(repo, [str(shelf.path / "docs/new.md")])
        porcelain.commit(repo, message=b"gone", author=WHO, committer=WHO)
    assert shelf.run().retired == 1


def test_reads_a_repository_of_this_machine(shelf: Shelf) -> None:
    """``git+file://`` is read where it lies, whole and at its HEAD where nothing else is said."""
    shelf.run(f"git+file://{shelf.path}", web="https://git.example.com/{branch}/{path}?at={commit}")
    uris = set(shelf.library.catalog.live_documents("repo"))
    assert {uri.partition("?")[0] for uri in uris} == {
        "https://git.example.com/main/docs/leave.md", "https://git.example.com/main/docs/报销.md",
    }  # fmt: skip
    [(commit, _)] = {(uri.partition("?at=")[2], "") for uri in uris}
    assert len(commit) == 40


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("git+{url}/repo#branch=other", "no branch 'other'"),
        ("git+{url}/repo#branch=main&path=nowhere", "no folder nowhere"),
        ("git+{url}/nothing", "cannot be read|no Git repository"),
        ("git+file:///nowhere-at-all", "no Git repository in /nowhere-at-all"),
    ],
)
def test_says_what_is_not_there(shelf: Shelf, address: str, told: str) -> None:
    """A branch, folder or repository that is missing is an error by its name, and nothing is registered."""
    with pytest.raises(SourceError, match=told):
        shelf.run(address.format(url=shelf.url))
    assert shelf.library.sources() == ()


def test_refuses_what_may_not_be_read(shelf: Shelf) -> None:
    """A private address is refused, and so is what stands behind # and says nothing known."""
    with pytest.raises(SourceError, match="to a private address"):
        shelf.run(allow_private=False)
    assert shelf.asked == []
    with pytest.raises(ConfigError, match="not tag"):
        shelf.run(f"git+{shelf.url}/repo#tag=v1")
    for web in ("https://git.example.com/{tag}", "https://git.example.com/{path:>9999999999}", "javascript:{path}"):
        with pytest.raises(ConfigError, match="web: "):
            shelf.run(web=web)


def test_a_commit_that_is_too_large_is_refused(shelf: Shelf) -> None:
    """The limit counts what is sent, and what was begun is given up."""
    shelf.write("docs/large.txt", secrets.token_hex(1_000_000))
    shelf.commit()
    with pytest.raises(SourceError, match="larger than 1 MB"):
        shelf.run(max_mb=1)


def test_a_commit_that_unpacks_to_too_much_is_refused(shelf: Shelf) -> None:
    """A file of zeros is small when it is sent; it is refused before it is unpacked."""
    shelf.write("docs/zeros.txt", "\0" * 60_000_000)
    shelf.commit()
    with pytest.raises(SourceError, match="unpacks to more than 100 times its size"):
        shelf.run()
    with pytest.raises(SourceError, match="more than 20,000,000 bytes"):
        shelf.run(max_mb=20)


@pytest.mark.parametrize("local", [True, False], ids=["of this machine", "over HTTP"])
def test_objects_are_read_in_the_reading_process_alone(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, *, local: bool
) -> None:
    """No object, pack or configuration of a stranger is opened by the process that answers questions."""

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("opened in the serving process")

    if local:
        monkeypatch.setattr(Repo, "__init__", refused)
    monkeypatch.setattr(PackData, "__init__", refused)
    monkeypatch.setattr("dulwich.object_store.iter_tree_contents", refused)
    shelf.run(f"git+file://{shelf.path}#path=docs" if local else "")
    assert len(shelf.uris()) == 2


def test_a_repository_of_this_machine_that_inflates_without_end_is_refused(shelf: Shelf) -> None:
    """A blob of more than the reading process may hold costs that process, and the other files are read."""
    zeros = zlib.compressobj(1)
    header = b"blob %d\0" % (3 * 10**9)
    begun = zeros.compress(header) + zeros.flush(zlib.Z_FULL_FLUSH)
    body = begun + 200 * (zeros.compress(bytes(10**7)) + zeros.flush(zlib.Z_FULL_FLUSH))
    with closing(Repo(str(shelf.path))) as repo:
        loose = shelf.path / ".git" / "objects" / "11"
        loose.mkdir(exist_ok=True)
        sha = "11" + "2" * 38
        (loose / sha[2:]).write_bytes(body)
        tree = Tree()
        blob = Blob.from_string(b"# Leave\n\nFive days.\n")
        repo.object_store.add_object(blob)
        tree.add(b"a.md", 0o100644, blob.id)
        tree.add(b"b.md", 0o100644, sha.encode())
        repo.object_store.add_object(tree)
        commit = repo[repo.head()].copy()
        commit.tree = tree.id
        repo.object_store.add_object(commit)
        repo.refs[b"refs/heads/main"] = commit.id
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = shelf.run(f"git+file://{shelf.path}")
    assert [uri for uri in report.failed if uri.endswith("b.md")]
    assert len(shelf.uris()) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_the_answer_that_names_the_branches_is_bounded(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that names branches without end is given up."""
    monkeypatch.setattr(git, "_MOST_REFS", 0)
    with pytest.raises(SourceError, match="names the branches is larger than 0 MB"):
        shelf.run()


def test_the_time_counts_from_the_first_question(shelf: Shelf) -> None:
    """It is over before the branches are known, where it is short enough."""
    with pytest.raises(SourceError, match=r"settings\.max_minutes"):
        shelf.run(max_minutes=1e-9)


@pytest.mark.parametrize("leaf", ["a.md", ""])
def test_a_tree_of_the_same_tree_ends_at_a_limit(shelf: Shelf, leaf: str) -> None:
    """Ten levels of ten times the same tree are 10^10 files, or none: the listing stops, and says so."""
    with closing(Repo(str(shelf.path))) as repo:
        tree = Tree()
        if leaf:
            blob = Blob.from_string(b"# Leave")
            repo.object_store.add_object(blob)
            tree.add(leaf.encode(), 0o100644, blob.id)
        repo.object_store.add_object(tree)
        for _ in range(10):
            above = Tree()
            for name in b"abcdefghij":
                above.add(bytes([name]), 0o40000, tree.id)
            repo.object_store.add_object(above)
            tree = above
        commit = repo[repo.head()].copy()
        commit.tree = tree.id
        repo.object_store.add_object(commit)
        repo.refs[b"refs/heads/main"] = commit.id
    source = shelf.source(f"git+file://{shelf.path}", max_files=20)
    connector = open_connector(source, readable=lambda name: name.endswith(".md"), parse=parse)
    entries = []
    with closing(connector), pytest.raises(ListingCut, match=r"settings\.max_files"):
        for entry in connector.list(Known()):
            entries.append(entry)
    assert len(entries) == (20 if leaf else 0)


def test_files_beyond_the_limit_are_not_listed(shelf: Shelf) -> None:
    """A listing that stopped at its limit says so, and is not taken for all there is at that commit."""
    report = shelf.run(max_files=1)
    assert [notes for notes in report.notes.values() if "stopped after 1 files (settings.max_files)" in notes]
    assert len(shelf.uris()) == 1
    shelf.run()
    assert len(shelf.uris()) == 2


def test_keeps_the_laws(shelf: Shelf) -> None:
    """What the conformance kit asks of every connector."""

    def change() -> None:
        shelf.write("docs/leave.md", "# Leave\n\nSix days.\n")
        shelf.commit()

    make = partial(open_connector, shelf.source(), readable=lambda name: name.endswith(".md"), parse=parse)
    assert [law.detail for law in check_connector(make, change) if not law.passed] == []
