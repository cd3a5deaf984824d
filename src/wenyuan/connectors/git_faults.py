"""What is wrong with a broken Git repository: which part, why, and the command that says or does more."""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from wenyuan.core.errors import DocumentRejected, msg

if TYPE_CHECKING:
    from dulwich.repo import Repo

_ID = re.compile(rb"[0-9a-f]{40}\Z")
_MOST = 10_000  # references that are looked at for the damaged one
_SHOWN = 60  # characters of what a file holds instead


def object_of(repo: Repo, sha: bytes, kind: bytes, where: str) -> Any:
    """A commit, tree or blob of a repository, parsed.

    Args:
        kind: ``commit``, ``tree`` or ``blob``.
        where: What leads to it, for people: a branch or a path.

    Raises:
        DocumentRejected: it is not there, damaged, or something else.
    """
    name = sha.decode(errors="replace")
    try:
        found = repo[sha]
        if found.type_name == kind:
            _ = found.tree if kind == b"commit" else found.items() if kind == b"tree" else found.as_raw_string()
            return found
    except KeyError:
        _missing(repo, name, kind.decode(), where)
    except MemoryError:
        raise
    except Exception as error:  # dulwich raises of the many parsers what they raise
        part = _place(repo, name)
        told = msg("the {kind} {id} ({where}) is damaged in {part}: {reason}", kind=kind.decode(), id=name, where=where, part=part,
                   reason=_reason(error))  # fmt: skip
        raise DocumentRejected(told, hint=_check(repo)) from error
    told = msg("the object {id} ({where}) is a {found}, and no {kind}", id=name, where=where, found=found.type_name.decode(),
               kind=kind.decode())  # fmt: skip
    raise DocumentRejected(told, hint=_check(repo))


def check_files(folder: Path) -> None:
    """Refuse a repository whose own files are damaged.

    Args:
        folder: That of Git, ``.git`` or a bare one.

    Raises:
        DocumentRejected: with the file and the line.
    """
    from dulwich.config import ConfigFile

    try:
        config = ConfigFile.from_path(folder / "config", expand_includes=False)
    except FileNotFoundError:
        config = ConfigFile()
    except (ValueError, UnicodeDecodeError) as error:
        _file("config", str(error), "git config --file " + shlex.quote(str(folder / "config")) + " --list")
    form = dict(config.items((b"extensions",))) if config.has_section((b"extensions",)) else {}
    if form.get(b"objectformat", b"sha1").lower() != b"sha1":
        raise DocumentRejected(
            "the repository names its objects by SHA-256, which is not read",
            hint="give a repository of SHA-1, or its files as a folder",
        )
    for at, line in enumerate(_lines(folder / "shallow"), 1):
        if not _ID.match(line):
            _file(
                "shallow",
                msg("line {line} is no id: {found}", line=at, found=_shown(line)),
                f"git -C {shlex.quote(str(folder))} fetch --unshallow",
            )


@contextmanager
def references(folder: Path) -> Iterator[None]:
    """Within it, what fails while references are read is told by the file that is damaged.

    Args:
        folder: That of Git.
    """
    from dulwich.refs import PackedRefsException

    try:
        yield
    except (DocumentRejected, MemoryError):
        raise
    except PackedRefsException as error:
        _file("packed-refs", str(error), f"git -C {shlex.quote(str(folder))} for-each-ref")
    except Exception as error:  # dulwich asserts what it expects of a reference
        for path in [folder / "HEAD", *list((folder / "refs").rglob("*"))[:_MOST]]:
            lines = _lines(path) if path.is_file() else [b"ref: "]
            if len(lines) != 1 or not (_ID.match(lines[0]) or lines[0].startswith(b"ref: ")):
                found = _shown(lines[0] if lines else b"")
                _reference(path.relative_to(folder).as_posix(), found, folder)
        told = msg("the references of the repository cannot be read: {reason}", reason=_reason(error))
        raise DocumentRejected(told, hint=f"git -C {shlex.quote(str(folder))} for-each-ref") from error


def check_id(sha: str, name: str, folder: str) -> None:
    """Refuse a reference that holds no id.

    Raises:
        DocumentRejected: with what it holds.
    """
    if not _ID.match(sha.encode("utf-8", "surrogateescape")):
        _reference(name, _shown(sha.encode("utf-8", "surrogateescape")), Path(folder))


def _reference(name: str, found: str, folder: Path) -> NoReturn:
    raise DocumentRejected(
        msg("the reference {name} is damaged: it holds {found} and no id of a commit", name=name, found=repr(found)),
        hint=f"git -C {shlex.quote(str(folder))} for-each-ref; git -C {shlex.quote(str(folder))} reflog {shlex.quote(name)}",
    )


def _file(name: str, reason: str, hint: str) -> NoReturn:
    raise DocumentRejected(
        msg("the file {part} of the repository is damaged: {reason}", part=name, reason=reason), hint=hint
    )


def _missing(repo: Repo, name: str, kind: str, where: str) -> NoReturn:
    folder = Path(repo.controldir())
    packs = folder / "objects" / "pack"
    here = shlex.quote(str(folder))
    for pack in sorted(packs.glob("*.pack")) if packs.is_dir() else ():
        if not pack.with_suffix(".idx").exists():
            told = msg(
                "the {kind} {id} ({where}) is not in the repository; {part} has no index",
                kind=kind,
                id=name,
                where=where,
                part=pack.name,
            )
            raise DocumentRejected(told, hint=f"git -C {here} index-pack {shlex.quote(str(pack))}")
    for index in sorted(packs.glob("*.idx")) if packs.is_dir() else ():
        if not index.with_suffix(".pack").exists():
            told = msg(
                "the {kind} {id} ({where}) is not in the repository; {part} has no pack",
                kind=kind,
                id=name,
                where=where,
                part=index.name,
            )
            raise DocumentRejected(told, hint=_check(repo))
    told = msg("the {kind} {id} ({where}) is not in the repository", kind=kind, id=name, where=where)
    if (folder / "shallow").exists():
        raise DocumentRejected(
            told, hint=msg("it is shallow; to get the rest: {command}", command=f"git -C {here} fetch --unshallow")
        )
    raise DocumentRejected(told, hint=_check(repo))


def _check(repo: Repo) -> str:
    here = shlex.quote(str(repo.controldir()))
    return f"git -C {here} fsck --full; git -C {here} fetch --refetch"


def _place(repo: Repo, name: str) -> str:
    """The file in which an object lies."""
    loose = f"objects/{name[:2]}/{name[2:]}"
    return loose if Path(repo.controldir(), loose).exists() else "objects/pack"


def _reason(error: Exception) -> str:
    from dulwich.errors import ChecksumMismatch, FileFormatException
    from dulwich.objects import EmptyFileException

    if isinstance(error, EmptyFileException):
        return msg("it is empty")
    if isinstance(error, ChecksumMismatch):
        return msg("its content is not that of its name")
    if isinstance(error, zlib.error):
        return msg("it cannot be unpacked")
    if isinstance(error, FileFormatException):
        return msg("it is not in Git's form: {error}", error=error)
    return msg("it is not in Git's form: {error}", error=f"{type(error).__name__} {error}".strip())


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().splitlines()
    except FileNotFoundError:
        return []


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace")[:_SHOWN]
