"""A repository of this machine is what lies in its folder: links, and objects and settings of another place, are none of it.

Whoever may name a folder may not thereby read what lies beside it, which Git's own files can point to.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from wenyuan.connectors.git_faults import check_files
from wenyuan.core.errors import DocumentRejected, msg

if TYPE_CHECKING:
    from dulwich.config import ConfigFile
    from dulwich.repo import Repo

_FILES = ("HEAD", "config", "config.worktree", "packed-refs", "shallow")
_FOLDERS = ("objects", "refs", "info")
_ELSEWHERE = ("commondir", "objects/info/alternates")


def opened(folder: str) -> Repo:
    """The repository of a folder; its configuration without the files that it includes.

    Raises:
        DocumentRejected: there is none.
    """
    from dulwich.config import ConfigFile
    from dulwich.errors import NotGitRepository
    from dulwich.repo import Repo, UnsupportedVersion

    class OwnRepo(Repo):  # type: ignore[misc]
        def close(self) -> None:
            with suppress(BufferError):  # of a damaged pack, which the error that tells it still holds
                super().close()

        def get_config(self) -> ConfigFile:
            path = Path(self.controldir(), "config")
            try:
                return ConfigFile.from_path(path, expand_includes=False)
            except FileNotFoundError:
                return ConfigFile()

    root = Path(folder, ".git") if os.path.lexists(Path(folder, ".git")) else Path(folder)
    if (root / "HEAD").exists():
        check_files(root)
    try:
        return OwnRepo(folder)
    except NotGitRepository as error:
        raise DocumentRejected(msg("there is no Git repository in {path}", path=folder)) from error
    except UnsupportedVersion as error:
        told = msg("the repository is of version {version}, which is not read", version=error.version)
        raise DocumentRejected(told, hint="clone it with a program of Git that writes version 0 or 1") from error


def check_folder(folder: str) -> None:
    """Refuse a repository of which a part is a link or lies in another folder, or is no regular file.

    Raises:
        DocumentRejected: with the part that is not in the folder.
    """
    root = Path(folder, ".git") if os.path.lexists(Path(folder, ".git")) else Path(folder)
    if root.name == ".git" and not _is(root, stat.S_ISDIR):
        _refuse(".git")
    for name in _ELSEWHERE:
        if os.path.lexists(root / name):
            _refuse(name)
    for name in _FILES:
        if not _is(root / name, stat.S_ISREG):
            _refuse(name)
    for name in _FOLDERS:
        if not _is(root / name, stat.S_ISDIR):
            _refuse(name)
        for entry in _below(root / name):
            if not entry.is_file(follow_symlinks=False):
                _refuse(os.path.relpath(entry.path, root))


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    """Whether what lies there itself, not what it leads to, is of a kind; true of what does not exist."""
    try:
        return kind(path.lstat().st_mode)
    except FileNotFoundError:
        return True


def _below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All that lies below a folder, but for folders."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry
        except FileNotFoundError:
            continue


def _refuse(part: str) -> NoReturn:
    raise DocumentRejected(
        msg(
            "the repository leads out of its folder, or has what is no file: {part}",
            part=part.encode(errors="replace").decode(),
        ),
        hint="name the repository in which its objects and branches lie; one that shares them is not read",
    )
