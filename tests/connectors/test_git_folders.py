"""A Git repository of this machine that points out of its folder is refused; what lies beside it is never read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from dulwich import porcelain

import wenyuan
from wenyuan.core.errors import SourceError
from wenyuan.service.ingest.progress import IngestReport

WHO = b"A Writer <a@example.com>"
HIDDEN = "The vault opens with a golden key."


def repository(folder: Path, name: str, text: str) -> bytes:
    """A bare repository of one file; returns its commit."""
    work = folder.with_name(f"{folder.name}-work")
    work.mkdir()
    with closing(porcelain.init(str(work))) as repo:
        (work / name).write_text(text, "utf-8")
        porcelain.add(repo, [str(work / name)])
        commit: bytes = porcelain.commit(repo, message=b"a change", author=WHO, committer=WHO)
    (work / ".git").rename(folder)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "refs" / "heads").mkdir(exist_ok=True)
    (folder / "refs" / "heads" / "main").write_bytes(commit)
    return commit


def alternates(inside: Path, outside: Path, commit: bytes) -> None:
    (inside / "objects" / "info").mkdir(exist_ok=True)
    (inside / "objects" / "info" / "alternates").write_text(f"{outside / 'objects'}\n")
    (inside / "refs" / "heads" / "main").write_bytes(commit)


def common(inside: Path, outside: Path, _commit: bytes) -> None:
    (inside / "commondir").write_text(f"{outside}\n")


def shared_objects(inside: Path, outside: Path, commit: bytes) -> None:
    (inside / "objects").rename(inside / "objects-of-before")
    (inside / "objects").symlink_to(outside / "objects")
    (inside / "refs" / "heads" / "main").write_bytes(commit)


def shared_packs(inside: Path, outside: Path, _commit: bytes) -> None:
    part = next(path for path in (outside / "objects").iterdir() if len(path.name) == 2)
    link = inside / "objects" / part.name
    (link if not link.exists() else link / "more").symlink_to(part)


def head_of_a_file(inside: Path, outside: Path, _commit: bytes) -> None:
    (inside / "HEAD").unlink()
    (inside / "HEAD").symlink_to(outside / "secret.txt")


def branch_of_a_device(inside: Path, _outside: Path, _commit: bytes) -> None:
    (inside / "refs" / "heads" / "main").unlink()
    (inside / "refs" / "heads" / "main").symlink_to("/dev/zero")


def branch_of_a_pipe(inside: Path, _outside: Path, _commit: bytes) -> None:
    (inside / "refs" / "heads" / "main").unlink()
    os.mkfifo(inside / "refs" / "heads" / "main")


def file_of_git(inside: Path, outside: Path, _commit: bytes) -> None:
    inside.rename(inside.with_name("before"))
    inside.mkdir()
    (inside / ".git").write_text(f"gitdir: {outside}\n")


def folder_of_git(inside: Path, outside: Path, _commit: bytes) -> None:
    inside.rename(inside.with_name("before"))
    inside.mkdir()
    (inside / ".git").symlink_to(outside)


class Shelf:
    """A repository that may be read, one beside it that may not, and a library."""

    def __init__(self, folder: Path, library: wenyuan.Library) -> None:
        self.library, self.inside, self.outside = library, folder / "inside.git", folder / "outside.git"
        repository(self.inside, "leave.md", "# Leave\n\nUp to five days may be carried over.\n")
        self.commit = repository(self.outside, "vault.md", f"# Vault\n\n{HIDDEN}\n")
        (self.outside / "secret.txt").write_text(f"{HIDDEN}\n")

    def run(self) -> IngestReport:
        settings = {"allow_private": True, "max_minutes": 0.1}
        return self.library.add(wenyuan.Source(source_id="repo", path=f"git+file://{self.inside}", settings=settings))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        yield Shelf(tmp_path, library)


@pytest.mark.parametrize(
    ("point", "part"),
    [
        (alternates, "objects/info/alternates"),
        (common, "commondir"),
        (shared_objects, "objects"),
        (shared_packs, "objects/"),
        (head_of_a_file, "HEAD"),
        (branch_of_a_device, "refs/heads/main"),
        (branch_of_a_pipe, "refs/heads/main"),
        (file_of_git, r"\.git"),
        (folder_of_git, r"\.git"),
    ],
)
def test_what_points_out_of_its_folder_is_refused(
    shelf: Shelf, point: Callable[[Path, Path, bytes], None], part: str
) -> None:
    """Objects, branches or settings of another place are not read, and nothing of them is told."""
    point(shelf.inside, shelf.outside, shelf.commit)
    with pytest.raises(SourceError, match=f"leads out of its folder.*: {part}") as refused:
        shelf.run()
    assert "vault" not in str(refused.value)
    assert shelf.library.sources() == ()


def test_settings_that_include_a_file_do_not_read_it(shelf: Shelf) -> None:
    """What a repository's settings name is no part of it: the file is neither read nor told of."""
    with (shelf.inside / "config").open("a") as config:
        config.write(f"[include]\n\tpath = {shelf.outside / 'secret.txt'}\n")
    assert shelf.run().added == 1


def test_a_pointer_of_lfs_is_not_the_file(shelf: Shelf, tmp_path: Path) -> None:
    """What stands in the repository in the place of a large file is reported, and not taken in as its text."""
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d7a' * 16}\nsize 12345\n"
    repository(tmp_path / "large.git", "manual.md", pointer)
    shelf.inside = tmp_path / "large.git"
    with pytest.raises(SourceError, match="pointer of Git LFS"):
        shelf.run()
