"""Backups that are made while the library goes on, each one file in the folder ``backups`` of the library until it is fetched and
deleted.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import sqlite3
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wenyuan.catalog.backup import back_up
from wenyuan.core.errors import CatalogBusy, CatalogError, KnowledgeError, NotFound, msg
from wenyuan.runtime.full_disk import next_step

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

FOLDER = "backups"
KEPT = 3
"""Backups that are kept; the oldest goes when another one is made."""
PART = 8 << 20
"""Most bytes of a backup that are read at once."""
_NAME = re.compile(r"library-[0-9]{8}T[0-9]{6}Z")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBackup:
    """A backup that can be fetched.

    Attributes:
        name: Of its file, without ``.tar``, and of the folder in it.
        size: Bytes.
        sha256: Of the file.
        at: When it was made, in seconds since the epoch.
    """

    name: str
    size: int
    sha256: str
    at: float

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"name": self.name, "bytes": self.size, "sha256": self.sha256, "at": self.at}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupState:
    """Whether one is being made, and how the last one of this process ended.

    Attributes:
        failure: Why there is none; ``""`` where there is one, or none was begun.
    """

    running: bool = False
    failure: str = ""


class Backups:
    """Makes, lists and deletes the backups of a library. Safe to share between threads.

    Args:
        folder: The library's.
    """

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._library, self._catalog = folder, catalog
        self._folder = folder / FOLDER
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._state = BackupState()
        self._error: KnowledgeError | None = None

    @property
    def state(self) -> BackupState:
        """Whether this process makes one."""
        return self._state

    def begin(self, wait: float = 0.0) -> BackupState:
        """Begin a backup, and wait for its end; then it goes on by itself.

        Args:
            wait: Seconds.

        Raises:
            CatalogBusy: one is being made, here or in another process.
            InvalidRequest: the library lies in a database server, which makes its own.
            CatalogError: it cannot be made; within the time only.
        """
        with self._lock:
            if self._state.running:
                raise _busy()
            self._state, self._error = BackupState(running=True), None
            self._thread = threading.Thread(target=self._make, name="wenyuan-backup", daemon=True)
            self._thread.start()
        self._catalog.database.on_change("registry", "begun", "backup", None, None)  # by whom; the thread is nobody's
        self._thread.join(wait)
        if self._error is not None:
            raise self._error
        return self._state

    def made(self) -> tuple[MadeBackup, ...]:
        """Those that can be fetched, the newest first.

        Raises:
            CatalogError: the folder cannot be read.
        """
        try:
            there = list(self._folder.iterdir()) if self._folder.is_dir() else []
            found = [_read(one) for one in there if one.suffix == ".tar" and _NAME.fullmatch(one.stem)]
        except OSError as error:
            raise _not_kept(self._folder, error) from error
        return tuple(sorted((one for one in found if one is not None), key=lambda one: one.name, reverse=True))

    def part(self, name: str, offset: int, length: int = PART) -> bytes:
        """Bytes of a backup's file from `offset` on; empty behind its end. That somebody begins to fetch it is recorded.

        Raises:
            NotFound: there is none of this name.
            CatalogError: it cannot be read.
        """
        file = self._file(name)
        try:
            with file.open("rb") as opened:
                opened.seek(offset)
                content = opened.read(min(length, PART))
        except FileNotFoundError as error:
            raise _missing(name) from error
        except OSError as error:
            raise _not_kept(file, error) from error
        if offset == 0:
            self._catalog.database.on_change(
                "registry", "fetched", f"backup/{name}", None, {"bytes": file.stat().st_size}
            )
        return content

    def discard(self, name: str) -> None:
        """Delete a backup; NotFound where there is none of this name."""
        file = self._file(name)
        try:
            _delete(file)
        except OSError as error:
            raise _not_kept(file, error) from error
        self._catalog.database.on_change("registry", "deleted", f"backup/{name}", None, None)

    def stop(self) -> None:
        """Wait for the end of what is being made."""
        if self._thread is not None:
            self._thread.join()

    def _file(self, name: str) -> Path:
        file = self._folder / f"{name}.tar"
        if not _NAME.fullmatch(name) or not file.is_file() or file.is_symlink():
            raise _missing(name)
        return file

    def _make(self) -> None:
        failure = ""
        try:
            with self._alone():
                name = time.strftime("library-%Y%m%dT%H%M%SZ", time.gmtime())
                size, digest = self._packed(name)
                for old in self.made()[KEPT:]:
                    _delete(self._folder / f"{old.name}.tar")
            self._catalog.database.on_change(
                "registry", "made", f"backup/{name}", None, {"bytes": size, "sha256": digest}
            )
        except KnowledgeError as error:
            self._error, failure = error, str(error)
        except OSError as error:
            self._error = _not_kept(self._folder, error)
            failure = str(self._error)
        except Exception as error:
            failure = msg("internal error: {kind}", kind=type(error).__name__)
            self._error = KnowledgeError(failure, component="backup")
            raise
        finally:
            self._state = BackupState(failure=failure)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The lock of all processes; what one that was killed left behind is removed."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with (self._folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise _busy() from error
            for left in self._folder.glob(".making-*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    def _packed(self, name: str) -> tuple[int, str]:
        """Make a copy, check it and pack it in one file; returns its size and its SHA-256."""
        making, file = self._folder / f".making-{name}", self._folder / f"{name}.tar"
        try:
            making.mkdir(mode=0o700)
            back_up(self._library, making / name)
            for database in sorted((making / name).glob("*.db")):
                _check(database)
            packed = making / file.name
            with (
                packed.open("xb") as opened,
                tarfile.open(fileobj=opened, mode="w|", format=tarfile.PAX_FORMAT) as archive,
            ):
                archive.add(making / name, arcname=name, filter=_nobodys)
            _same(packed, making)
            digest, size = _digest(packed), packed.stat().st_size
            (making / "sha256").write_text(f"{digest}  {file.name}\n", "ascii")
            (making / "sha256").replace(file.with_suffix(".sha256"))
            packed.replace(file)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return size, digest


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member that names no account of this machine."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _check(database: Path) -> None:
    """Check that a copied database can be read from end to end.

    Raises:
        CatalogError: it cannot.
    """
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            said = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        said = str(error)
    if said != "ok":
        raise CatalogError(
            msg("the copy of {name} is damaged: {why}", name=database.name, why=said), component="backup", hint="wenyuan doctor"
        )  # fmt: skip


def _same(packed: Path, copied: Path) -> None:
    """Check that a file holds what was copied, byte for byte.

    Raises:
        CatalogError: it does not.
    """
    with tarfile.open(packed, mode="r:") as archive:
        names = set()
        for member in archive:
            names.add(member.name)
            inside = archive.extractfile(member) if member.isfile() else None
            if inside is not None and _digest_of(inside) != _digest(copied / member.name):
                raise CatalogError(msg("{name} was not packed whole", name=member.name), component="backup")
    if names != {one.relative_to(copied).as_posix() for one in copied.rglob("*") if one != packed}:
        raise CatalogError(msg("{name} was not packed whole", name=packed.name), component="backup")


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return _digest_of(opened)


def _digest_of(opened: IO[bytes]) -> str:
    found = hashlib.sha256()
    while chunk := opened.read(_CHUNK):
        found.update(chunk)
    return found.hexdigest()


def _read(file: Path) -> MadeBackup | None:
    """A backup by its file; None where it went meanwhile, or what was noted of it is gone."""
    try:
        about, noted = file.stat(), file.with_suffix(".sha256").read_text("ascii", "replace")
    except FileNotFoundError:
        return None
    return MadeBackup(name=file.stem, size=about.st_size, sha256=noted[:64], at=about.st_mtime)


def _delete(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.with_suffix(".sha256").unlink(missing_ok=True)


def _busy() -> CatalogBusy:
    return CatalogBusy("a backup is being made", component="backup", hint="try again in a while")


def _missing(name: str) -> NotFound:
    return NotFound(msg("there is no backup {name}", name=repr(name[:60])))


def _not_kept(path: Path, error: OSError) -> CatalogError:
    return CatalogError(
        msg("{name} cannot be kept: {strerror}", name=path.name, strerror=error.strerror), component="backup",
        hint=next_step(error),
    )  # fmt: skip
