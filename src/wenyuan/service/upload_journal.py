"""The journal of an upload: whatever ends the process, files are as they were before it, or as it left them.

An upload that changes files writes down first what it is about to do, into its folder below ``uploads/.incoming``. A
file that is replaced stays there under a second name, and one that is deleted is moved there, until the documents were
read. Then the journal is removed, which is the moment from which the upload counts. A journal that is found later, by
the next upload to the source or the next reading of it, is of an upload that was cut off: it is undone.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wenyuan.core.errors import CatalogBusy, SourceError, msg
from wenyuan.runtime.durability import flush
from wenyuan.runtime.regular import open_regular, read_regular

log = logging.getLogger(__name__)

INCOMING = ".incoming"
_JOURNAL, _LOCK = "journal", ".lock"
_OLD, _NEW = "old-", "new-"  # what a step keeps of the file that was there, and where the new one waits


@dataclass(slots=True)
class Journal:
    """The steps of one upload, in its own folder.

    Attributes:
        folder: Below ``uploads/.incoming``.
        source_id, home: The source, and the folder of its files.
        steps: By number, the file that a step changes (relative to `home`), and the inode of the file that it brings;
            0 where it only takes one away.
    """

    folder: Path
    source_id: str
    home: Path
    steps: list[tuple[str, int]] = field(default_factory=list)

    def note(self, moves: Mapping[Path, Path | None]) -> None:
        """Write down all steps, before the first.

        Args:
            moves: Target → the file that will be there; None: what is there is taken away.

        Raises:
            OSError: it cannot be written.
        """
        for number, (target, given) in enumerate(moves.items()):
            inode = 0
            if given is not None:
                waiting = self.folder / f"{_NEW}{number}"
                given.replace(waiting)
                flush(waiting)
                inode = waiting.stat().st_ino
            self.steps.append((target.relative_to(self.home).as_posix(), inode))
        told = {"source": self.source_id, "steps": self.steps}
        partial = self.folder / f"{_JOURNAL}.new"
        with partial.open("w", encoding="utf-8") as file:
            json.dump(told, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / _JOURNAL)
        flush(self.folder)
        flush(self.folder.parent)

    def kept(self, number: int) -> Path:
        """Where the file is that was at the place of a step, if there was one."""
        return self.folder / f"{_OLD}{number}"

    def do(self, number: int) -> None:
        """Take a step: at any moment the former or the new file is at its place.

        Raises:
            OSError: it cannot be taken.
        """
        name, inode = self.steps[number]
        target = self.home / name
        if not inode:
            target.replace(self.kept(number))
        else:
            _make_folder(target.parent)
            if target.is_file():
                _second_name(target, self.kept(number))
            (self.folder / f"{_NEW}{number}").replace(target)
        flush(self.folder)
        flush(target.parent)

    def undo(self) -> None:
        """Put all files back. It can be repeated.

        Raises:
            OSError: one could not be put back, the others were; the journal stays.
        """
        wrong: OSError | None = None
        for number in range(len(self.steps)):
            try:
                self.take_back(number)
            except OSError as error:
                wrong = wrong or error
        if wrong is not None:
            raise wrong
        self.end()

    def take_back(self, number: int) -> None:
        """Undo one step."""
        name, inode = self.steps[number]
        target, old = self.home / name, self.kept(number)
        if old.exists():
            _make_folder(target.parent)
            old.replace(target)
            old.unlink(missing_ok=True)  # of two names of one file, `replace` leaves both
        elif inode and target.is_file() and target.stat().st_ino == inode:
            target.unlink()
            _drop_empty(target.parent, self.home)
        if target.parent.is_dir():
            flush(target.parent)

    def end(self) -> None:
        """From here on the upload counts, or was undone.

        Raises:
            OSError: it does not.
        """
        (self.folder / _JOURNAL).unlink(missing_ok=True)
        try:
            flush(self.folder)
        except OSError:  # it counts; but where the power fails soon, it may be undone all the same
            log.warning("the end of an upload to %s could not be flushed to the disk", self.source_id, exc_info=True)


def unfinished(uploads: Path) -> Iterator[Journal]:
    """The journals of uploads that were cut off, or are under way: see `alone`.

    Raises:
        OSError: they cannot be read.
    """
    root = uploads / INCOMING
    for path in sorted(root.glob(f"*/{_JOURNAL}")) if root.is_dir() else ():
        told: dict[str, Any] = json.loads(read_regular(path).decode("utf-8"))
        steps = [(str(name), int(inode)) for name, inode in told["steps"]]
        yield Journal(path.parent, told["source"], (uploads / told["source"]).absolute(), steps)


def recover(uploads: Path, wanted: Callable[[str], bool]) -> None:
    """Undo the uploads that were cut off, of wanted sources. Whoever calls holds `alone`.

    Raises:
        SourceError: a file cannot be put back.
    """
    try:
        for journal in unfinished(uploads):
            if wanted(journal.source_id):
                journal.undo()
                shutil.rmtree(journal.folder, ignore_errors=True)
    except (OSError, ValueError, LookupError, TypeError) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise SourceError(
            msg("an upload that was cut off cannot be undone: {error}", error=told),
            hint=msg("check that this user may write to {folder}", folder=str(uploads)),
        ) from error


def recover_unless_busy(uploads: Path, source_id: str) -> None:
    """`recover`, of one source, unless an upload is under way."""
    if not any((uploads / INCOMING).glob(f"*/{_JOURNAL}")):
        return
    try:
        with alone(uploads, 0.0):
            recover(uploads, lambda name: name == source_id)
    except CatalogBusy:
        return  # whoever uploads puts right what it leaves


def cut_off(uploads: Path) -> list[str]:
    """The sources to which an upload was cut off and is not undone yet; those under way are not named.

    Raises:
        OSError, ValueError: they cannot be read.
    """
    found = sorted({journal.source_id for journal in unfinished(uploads)})
    if found:
        try:
            with alone(uploads, 0.0):
                return sorted({journal.source_id for journal in unfinished(uploads)})
        except CatalogBusy:
            return []
    return found


@contextmanager
def alone(uploads: Path, wait: float) -> Iterator[None]:
    """Be the only one, of all processes, that moves uploaded files; waits up to `wait` seconds.

    Raises:
        CatalogBusy: another one does.
        SourceError: the folder cannot be written.
    """
    path = uploads / _LOCK
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = open_regular(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise SourceError(
            msg("{name} cannot be kept: {strerror}", name=path.name, strerror=error.strerror)
        ) from error
    try:
        until = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise CatalogBusy(
                        "other documents are being taken in", component="uploads", hint="try again in a while"
                    ) from error
                time.sleep(0.01)
        yield
    finally:
        os.close(handle)  # closing releases the lock


def has_journal(folder: Path) -> bool:
    return (folder / _JOURNAL).exists()


def _second_name(file: Path, other: Path) -> None:
    """Keep a file's bytes under another name, by a link where the disk has links."""
    try:
        os.link(file, other)
    except OSError:
        partial = other.with_name(f"{other.name}.new")
        shutil.copy2(file, partial)
        flush(partial)
        partial.replace(other)


def _make_folder(folder: Path) -> None:
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in made:
        flush(one.parent)


def _drop_empty(folder: Path, home: Path) -> None:
    """Remove the folders from `folder` up to `home` that are empty."""
    try:
        while folder.is_relative_to(home):
            folder.rmdir()
            folder = folder.parent
    except OSError:
        return  # it is not empty, or stays for another reason: nothing is read there
