"""Repositories of strangers, looked into by the reading process: branches, the index of a pack, files of a commit, blobs.

Each function is called with no content and the folder of a repository on this machine; it writes nothing. dulwich inflates
whatever an object says, follows deltas and reads configurations, so nothing else than these functions gives it a repository.
"""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wenyuan.connectors.git_faults import object_of, references
from wenyuan.connectors.packs import check_pack
from wenyuan.connectors.repositories import check_folder, opened
from wenyuan.core.errors import DocumentRejected, msg

if TYPE_CHECKING:
    from dulwich.repo import Repo

ENTRIES_OF_A_FILE = 10
"""How many entries of trees are looked at for each file that may be listed."""
_MOST_PATH = 4_096  # characters; what systems take
_FILE_MODES = (0o100644, 0o100755, 0o100664)
_FOLDER = 0o40000
_POINTER = b"version https://git-lfs.github.com/spec/"


def branches(_content: bytes, *, folder: str) -> dict[str, Any]:
    """The ids of a repository's references by name, and what its HEAD leads to; ``""`` for neither.

    Every reading of a repository of this machine begins here, so it is here that its folder is checked.
    """
    check_folder(folder)
    with closing(opened(folder)) as repo, references(Path(repo.controldir())):
        refs = {name.decode("utf-8", "surrogateescape"): sha.decode() for name, sha in repo.get_refs().items()}
        head = repo.refs.get_symrefs().get(b"HEAD", b"").decode("utf-8", "surrogateescape")
    return {"refs": refs, "head": head}


def index_of(
    _content: bytes, *, pack: str, objects: int, largest: int, total: int, seconds: float, minutes: float
) -> str:
    """The index of a pack in a file, in Base64; see `check_pack` for what is refused.

    Args:
        pack: The path of the file.
        seconds: How long it may take, of the `minutes` that all may take.
    """
    from dulwich.object_format import DEFAULT_OBJECT_FORMAT
    from dulwich.pack import PackData, write_pack_index_v2

    until = time.monotonic() + seconds

    def check() -> None:
        if time.monotonic() > until:
            told = msg("fetching took longer than {count} minutes (settings.max_minutes)", count=f"{minutes:g}")
            raise DocumentRejected(told)

    with Path(pack).open("rb") as file:
        check_pack(file, objects=objects, largest=largest, total=total, check=check)
    written = io.BytesIO()
    with closing(PackData(pack, DEFAULT_OBJECT_FORMAT)) as data:
        write_pack_index_v2(written, data.sorted_entries(), data.calculate_checksum())
    return base64.b64encode(written.getvalue()).decode()


def files_of(
    _content: bytes, *, folder: str, commit: str, branch: str, below: str, exclude: Sequence[str], most: int
) -> dict[str, Any]:
    """Paths and ids of the regular files of a commit, in order, without hidden and excluded ones and links.

    Args:
        branch: Whose newest commit it is, for messages.
        below: The folder of the tree that they stand in; ``""`` for all.
        exclude: Patterns of paths that are left out.

    Returns:
        ``files``, at most `most`; ``cut``: whether there are more. Trees count, too: a tree may hold itself many times
        over by its id, level by level, and no file.
    """
    found: list[tuple[str, str]] = []
    with closing(opened(folder)) as repo:
        for count, (path, mode, sha) in enumerate(_contents(repo, _tree(repo, commit, branch, below))):
            if len(path) > _MOST_PATH:  # folders in one another, each of which says the whole way again
                raise DocumentRejected(
                    msg("a path of the commit has more than {most} characters", most=f"{_MOST_PATH:,}")
                )
            if len(found) >= most or count >= ENTRIES_OF_A_FILE * most:
                return {"files": found, "cut": True}
            hidden = any(part.startswith(".") and part != ".." for part in path.split("/"))
            if mode in _FILE_MODES and not hidden and not any(fnmatchcase(path, pattern) for pattern in exclude):
                found.append((path, sha))
    return {"files": found, "cut": False}


def _tree(repo: Repo, commit: str, branch: str, below: str) -> bytes:
    from dulwich.object_store import tree_lookup_path

    tree: bytes = object_of(repo, commit.encode(), b"commit", branch).tree
    if not below:
        return tree
    try:
        mode, sha = tree_lookup_path(lambda each: object_of(repo, each, b"tree", below), tree, below.encode())
    except (KeyError, NotADirectoryError) as error:
        raise DocumentRejected(msg("the branch has no folder {path}", path=below)) from error
    if mode != _FOLDER:
        raise DocumentRejected(msg("{path} is no folder", path=below))
    return bytes(sha)


def _contents(repo: Repo, tree: bytes) -> Iterator[tuple[str, int, str]]:
    """Path, mode and id of the entries of a tree and of those in it, each folder before what it holds."""
    waiting = [("", _FOLDER, tree)]
    while waiting:
        path, mode, sha = waiting.pop()
        if mode == _FOLDER:
            held = object_of(repo, sha, b"tree", path or "/").iteritems(name_order=True)
            above = f"{path}/" if path else ""
            inside = [(above + item.path.decode("utf-8", "surrogateescape"), item.mode, item.sha) for item in held]
            waiting += reversed(inside)
        yield path, mode, sha.decode()


def blob_of(_content: bytes, *, folder: str, sha: str, path: str, most: int) -> str:
    """The bytes of a blob in Base64, at most `most`; `path` is that of its file, for messages."""
    with closing(opened(folder)) as repo:
        content: bytes = object_of(repo, sha.encode(), b"blob", path).as_raw_string()
    if len(content) > most:
        raise DocumentRejected(msg("it is larger than {most} bytes", most=f"{most:,}"))
    if content.startswith(_POINTER):
        raise DocumentRejected("it is a pointer of Git LFS: the file itself is not in the repository")
    return base64.b64encode(content).decode()
