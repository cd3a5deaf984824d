"""Files that a scanner had set aside: copies in the library's folder ``quarantine``, which nothing reads.

The catalog of a library in a folder notes each, so that copies that are gone are not taken for none. Servers that share a
catalog have each a folder of their own: there the folder alone says what is in it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wenyuan.catalog.library_folder import Files
from wenyuan.core.errors import CatalogUnavailable, NotFound, SourceError, msg
from wenyuan.core.scanning import plain_reason
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_MOST = 1_000  # files; of further ones no copy is kept
_BEGUN = 3_600.0  # seconds after which a copy that is not whole was given up
_SHA256 = re.compile("[0-9a-f]{64}")
_Value = TypeVar("_Value", str, int, float)
_ABOUT, _CONTENT = "about.json", "content"
_NOTED = "set_aside/"
"""Beginning of the key of a file that was set aside, as the catalog notes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A file that was set aside.

    Attributes:
        sha256: Of its bytes: what it is called by.
        suffix: Of its name; the name itself may say too much of a person.
        scanner: Which one had it set aside, ``""`` where that cannot be read any more, and `reason`, why.
        at: When, in seconds since the epoch.
    """

    sha256: str
    suffix: str
    size: int
    scanner: str
    reason: str
    at: float


@dataclass(frozen=True, kw_only=True)
class Quarantine:
    """The files that were set aside, and which of them somebody has released."""

    folder: Path
    catalog: Catalog

    def __iter__(self) -> Iterator[Quarantined]:
        """The files that were set aside, the newest first; one of which nothing can be read, or whose copy is gone, is
        among them, and says so.

        Raises:
            CatalogUnavailable: the folder cannot be read.
        """
        noted = self._noted()
        try:
            there = list(self.folder.iterdir()) if os.path.lexists(self.folder) else []
            found = [_read(one) for one in there if _SHA256.fullmatch(one.name)]
            found = [
                one if one.scanner == "" or _holds(self.folder / one.sha256, one.size) else _lost(one.sha256)
                for one in found
            ]
        except OSError as error:
            raise CatalogUnavailable(
                msg("{folder} cannot be read: {error}", folder=self.folder, error=error), component="quarantine"
            ) from error
        found += [_lost(sha256) for sha256 in noted - {one.sha256 for one in found}]
        return iter(sorted(found, key=lambda one: (-one.at, one.sha256)))

    def lost(self) -> tuple[str, ...]:
        """The files, by their SHA-256, whose copies are gone without having been released or discarded."""
        return tuple(sorted(name for name in self._noted() if not _holds(self.folder / name)))

    def _noted(self) -> frozenset[str]:
        return frozenset(self.catalog.values_below(_NOTED) if self._own_catalog else ())

    @property
    def _own_catalog(self) -> bool:
        return isinstance(self.catalog.database.place, Files)

    def _note(self, sha256: str, told: dict[str, float] | None) -> None:
        if self._own_catalog and (self.catalog.value(_NOTED + sha256) is None) != (told is None):
            self.catalog.set_value(_NOTED + sha256, told)

    def released(self, sha256: str) -> bool:
        """Whether a person has said that these bytes may be taken in, whatever a scanner says of them."""
        return self.catalog.value(_key(sha256)) is not None

    def keep(self, content: bytes, *, sha256: str, suffix: str, scanner: str, reason: str) -> bool:
        """Set a copy aside; False where there are so many already that none is kept.

        Raises:
            SourceError: it cannot be written.
        """
        target = self.folder / sha256
        about = Quarantined(
            sha256=sha256, suffix=suffix, size=len(content), scanner=scanner, reason=reason, at=time.time()
        )
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _holds(target, len(content)) and _read(target).scanner:
                self._note(sha256, {"at": about.at})
                return True
            if sum(1 for one in self.folder.iterdir() if _SHA256.fullmatch(one.name)) >= _MOST:
                return False
            if target.is_dir() and not target.is_symlink():  # what is left of a copy
                shutil.rmtree(target)
            self._clear()
            made = Path(tempfile.mkdtemp(prefix=".", dir=self.folder))
            try:
                _write(made / _CONTENT, content)
                _write(made / _ABOUT, json.dumps(asdict(about), ensure_ascii=False).encode())
                with suppress(FileExistsError):
                    made.rename(target)  # whole, or not at all
            finally:
                shutil.rmtree(made, ignore_errors=True)
        except OSError as error:
            raise SourceError(
                msg("{name} cannot be kept: {strerror}", name=target.name, strerror=error.strerror),
                component="quarantine",
            ) from error
        self._note(sha256, {"at": about.at})
        return True

    def _clear(self) -> None:
        """Delete what a process that was killed had begun to set aside."""
        for one in self.folder.glob(".*"):
            with suppress(FileNotFoundError):  # another process was faster, or has ended its own
                if one.stat().st_mtime < time.time() - _BEGUN:
                    shutil.rmtree(one)

    def release(self, name: str) -> Quarantined:
        """Let a file be taken in at the next refresh or upload; its copy is deleted.

        Args:
            name: The first characters of its SHA-256, as many as tell it from the others.

        Raises:
            NotFound: there is none, or more than one.
        """
        one = self._named(name)
        self.catalog.set_value(_key(one.sha256), {"at": time.time(), "scanner": one.scanner, "reason": one.reason})
        self.catalog.database.on_change("registry", "released", f"quarantine/{one.sha256}", None, None)
        self._delete(one)
        return one

    def discard(self, name: str) -> Quarantined:
        """Delete the copy of a file; a scanner judges the file anew when it comes again. Errors as `release`."""
        one = self._named(name)
        self._delete(one)
        self.catalog.database.on_change("registry", "discarded", f"quarantine/{one.sha256}", None, None)
        return one

    def _named(self, name: str) -> Quarantined:
        found = [one for one in self if name and one.sha256.startswith(name.lower())]
        if len(found) != 1:
            told = msg("there is no such file in quarantine: {name}", name=name)
            raise NotFound(told if not found else msg("more than one file begins with {name}", name=name))
        return found[0]

    def _delete(self, one: Quarantined) -> None:
        try:
            shutil.rmtree(self.folder / one.sha256)
        except FileNotFoundError:
            pass  # the copy was gone already: what is left of it is the note
        except OSError as error:
            raise SourceError(
                msg("{path} cannot be deleted: {strerror}", path=one.sha256, strerror=error.strerror),
                component="quarantine",
            ) from error
        self._note(one.sha256, None)


def _lost(sha256: str) -> Quarantined:
    said = msg("its copy is gone from {folder}", folder="quarantine/")
    return Quarantined(sha256=sha256, suffix="", size=0, scanner="", reason=said, at=0.0)


def _holds(folder: Path, size: int | None = None) -> bool:
    """Whether the copy of a file is there, and of its size."""
    try:
        found = (folder / _CONTENT).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISREG(found.st_mode) and size in (None, found.st_size)


def _key(sha256: str) -> str:
    return f"quarantine/{sha256}"


def _read(folder: Path) -> Quarantined:
    """What is known of a file. It is called by the name of its folder, whatever is written there."""
    try:
        about = json.loads(read_regular(folder / _ABOUT))
        return Quarantined(
            sha256=folder.name, suffix=_checked_value(str, about["suffix"]), size=_checked_value(int, about["size"]),
            scanner=_checked_value(str, about["scanner"]), reason=plain_reason(_checked_value(str, about["reason"])), at=_checked_value(float, about["at"]),
        )  # fmt: skip
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        said = msg("what it was set aside for cannot be read: {file}", file=_ABOUT)
        return Quarantined(sha256=folder.name, suffix="", size=0, scanner="", reason=said, at=0.0)


def _checked_value(kind: type[_Value], value: object) -> _Value:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
