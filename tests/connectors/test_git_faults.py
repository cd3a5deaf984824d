"""A broken Git repository: what failed, where, why, and the next command."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from dulwich import porcelain
from dulwich.repo import Repo

import wenyuan
from wenyuan.core.errors import SourceError

WHO = b"A Writer <a@example.com>"


class Broken(NamedTuple):
    """A repository of this machine with the ids of its commit, its trees and the file in its folder."""

    folder: Path
    commit: str
    tree: str
    inner: str
    blob: str

    @property
    def git(self) -> Path:
        return self.folder / ".git"

    def path(self, sha: str) -> Path:
        return self.git / "objects" / sha[:2] / sha[2:]

    def write(self, sha: str, content: bytes) -> None:
        self.path(sha).chmod(0o644)
        self.path(sha).write_bytes(content)

    def reference(self, content: bytes) -> None:
        (self.git / "refs/heads/main").write_bytes(content)

    def packed(self, content: bytes) -> None:
        (self.git / "refs/heads/main").unlink()
        (self.git / "packed-refs").write_bytes(content)

    def pack(self) -> Path:
        """All objects in one pack."""
        with closing(Repo(str(self.folder))) as repo:
            repo.object_store.pack_loose_objects()
        (found,) = (self.git / "objects/pack").glob("*.pack")
        found.chmod(0o644)
        return found

    def cut(self, at: int, suffix: str = ".pack") -> None:
        path = self.pack().with_suffix(suffix)
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[:at])


@pytest.fixture
def broken(tmp_path: Path) -> Broken:
    folder = tmp_path / "repo"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/leave.md").write_text("# Leave\n\nUp to five days may be carried over.\n")
    (folder / "docs/travel.md").write_text("# Travel\n\nThe desk books it.\n")
    porcelain.init(str(folder))
    with closing(Repo(str(folder))) as repo:
        repo.refs.set_symbolic_ref(b"HEAD", b"refs/heads/main")
        porcelain.add(repo, [str(folder / "docs/leave.md"), str(folder / "docs/travel.md")])
        commit = porcelain.commit(repo, message=b"first", author=WHO, committer=WHO)
        tree = repo[commit].tree
        inner = repo[tree][b"docs"][1]
        blob = repo[inner][b"leave.md"][1]
    return Broken(folder, *(sha.decode() for sha in (commit, tree, inner, blob)))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        yield library


def source(broken: Broken) -> wenyuan.Source:
    return wenyuan.Source(source_id="repo", path=f"git+file://{broken.folder}")


@pytest.mark.parametrize(
    ("damage", "told", "next_command"),
    [
        (lambda r: r.path(r.commit).unlink(), "the commit {commit} (main) is not in the repository", "fsck --full"),
        (lambda r: r.path(r.tree).unlink(), "the tree {tree} (/) is not in the repository", "fetch --refetch"),
        (lambda r: r.path(r.inner).unlink(), "the tree {inner} (docs) is not in the repository", "fsck --full"),
        (
            lambda r: r.write(r.commit, b"not zlib"),
            "the commit {commit} (main) is damaged in objects/",
            "fsck --full",
        ),
        (lambda r: r.write(r.tree, b"x\x9c" + b"\0" * 20), "objects/{tree:.2}/", "fsck --full"),
        (lambda r: r.write(r.tree, b""), "it is empty", "fsck --full"),
        (lambda r: r.write(r.tree, zlib.compress(b"tree 5\0hello")), "the tree {tree} (/) is damaged", "fsck --full"),
        (lambda r: r.write(r.tree, zlib.compress(b"blob 5\0hello")), "its content is not that of its name", "fsck"),
        (lambda r: r.reference(r.tree.encode()), "the object {tree} (main) is a tree, and no commit", "fsck"),
        (
            lambda r: r.reference(b"zzzz\n"),
            "the reference refs/heads/main is damaged: it holds 'zzzz'",
            "for-each-ref",
        ),
        (
            lambda r: r.reference(b""),
            "the reference refs/heads/main is damaged: it holds ''",
            "reflog refs/heads/main",
        ),
        (lambda r: r.reference(b"\xff\xfe"), "the reference refs/heads/main is damaged", "for-each-ref"),
        (lambda r: r.reference(b"1" * 40), "the commit 1111111111111111111111111111111111111111 (main)", "fsck"),
        (lambda r: (r.git / "HEAD").write_text("nonsense"), "the reference HEAD is damaged", "reflog HEAD"),
        (lambda r: r.packed(b"no reference\n"), "the file packed-refs of the repository is damaged", "for-each-ref"),
        (
            lambda r: r.packed(b"123 refs/heads/main\n"),
            "the file packed-refs of the repository is damaged",
            "for-each-ref",
        ),
        (lambda r: r.cut(40), "the commit {commit} (main) is damaged in objects/pack", "fsck --full"),
        (lambda r: r.cut(100, ".idx"), "is damaged in objects/pack", "fsck --full"),
        (lambda r: r.pack().with_suffix(".idx").unlink(), "has no index", "index-pack"),
        (lambda r: r.pack().unlink(), "has no pack", "fetch --refetch"),
        (
            lambda r: (r.git / "shallow").write_text("zz\n"),
            "the file shallow of the repository is damaged: line 1",
            "--unshallow",
        ),
        (
            lambda r: ((r.git / "shallow").write_text("1" * 40 + "\n"), r.path(r.tree).unlink()),
            "the tree {tree} (/) is not in the repository",
            "fetch --unshallow",
        ),
        (
            lambda r: (r.git / "config").write_text("[core\nzz"),
            "the file config of the repository is damaged",
            "git config",
        ),
        (
            lambda r: (r.git / "config").write_text("[core]\n\trepositoryformatversion = 9\n"),
            "the repository is of version 9",
            "clone it",
        ),
        (
            lambda r: (r.git / "config").write_text("[extensions]\n\tobjectformat = sha256\n"),
            "names its objects by SHA-256",
            "SHA-1",
        ),
    ],
)
def test_what_is_broken_is_told_with_its_place_and_the_next_command(
    broken: Broken, library: wenyuan.Library, damage: Callable[[Broken], object], told: str, next_command: str
) -> None:
    """Of commits, trees, references, packs and Git's own files; nothing is registered."""
    damage(broken)
    with pytest.raises(SourceError) as error:
        library.add(source(broken))
    assert told.format(**broken._asdict()) in error.value.message
    assert next_command in error.value.hint
    assert "the reader failed" not in error.value.message
    assert library.sources() == ()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda r: r.path(r.blob).unlink(), "the blob {blob} (docs/leave.md) is not in the repository"),
        (lambda r: r.write(r.blob, b"x"), "the blob {blob} (docs/leave.md) is damaged in objects/"),
        (lambda r: r.write(r.blob, zlib.compress(b"blob 2\0ab")), "its content is not that of its name"),
    ],
)
def test_a_file_that_is_broken_fails_alone(
    broken: Broken, library: wenyuan.Library, damage: Callable[[Broken], object], told: str
) -> None:
    """With its path, what is wrong with its object, and the next command."""
    damage(broken)
    report = library.add(source(broken))
    (reason,) = report.failed.values()
    assert report.added == 1
    assert told.format(**broken._asdict()) in reason
    assert "fsck --full" in reason
