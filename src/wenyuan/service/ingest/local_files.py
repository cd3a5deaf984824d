"""Which files a source consists of."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote

from wenyuan.core.addresses import file_uri
from wenyuan.core.errors import SourceError, msg
from wenyuan.core.fidelity import PICTURES
from wenyuan.core.model import Document
from wenyuan.runtime.installation import install_command
from wenyuan.runtime.presence import exists, is_dir, is_file
from wenyuan.runtime.regular import open_regular
from wenyuan.service.ingest.place_check import check_place


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Readable files in a fixed order, and the number of other files by suffix."""

    files: tuple[Path, ...]
    skipped: Mapping[str, int]


def find_files(path: Path, readable: Callable[[str], bool], hidden: str = "") -> FoundFiles:
    """The files at or below `path`. Hidden ones, links that lead out of the folder and what libraries keep for themselves are left out.

    Args:
        hidden: A hidden folder right below `path` whose files are found all the same.

    A link to a file that is gone is found like any other: that it cannot be read is for the reader to say.

    Raises:
        SourceError: nothing is there, or nothing that can be read.
    """
    try:
        check_place(str(path))
        libraries: list[Path] = []
        passed: Counter[str] = Counter()
        if exists(path) and not is_file(path) and not is_dir(path):
            raise _neither(path)
        found = [path] if is_file(path) else sorted(_walk(path, hidden, libraries, passed))
    except OSError as error:
        raise _shut(path, error) from error
    files = tuple(f for f in found if readable(f.name))
    read = set(files)
    skipped = Counter(f.suffix.lower() or "(no suffix)" for f in found if f not in read)
    skipped |= Counter({"(library)": len(libraries)} if libraries else {})
    if not files:
        raise _only_these(path, passed) if passed and not skipped else nothing_to_read(str(path), skipped)
    return FoundFiles(files, dict(skipped))


def _shut(path: Path | str, error: OSError) -> SourceError:
    return SourceError(
        msg("cannot look into {path}: {strerror}", path=path, strerror=error.strerror),
        hint=msg("check that this user may read it: ls -la {folder}", folder=quote(str(path))),
    )


def _neither(path: Path) -> SourceError:
    return SourceError(
        msg("{path} is neither a file nor a folder: pipes and devices are not read", path=path),
        hint="write what it gives into a file, and take that in",
    )


def _only_these(path: Path, passed: Counter[str]) -> SourceError:
    links, others = passed["links"], passed["others"]
    what = msg("links that lead out of it: {links}; pipes and devices: {others}", links=links, others=others)
    return SourceError(
        msg("nothing to read in {path}: {kinds}", path=path, kinds=what),
        hint="only files that lie in the folder are read",
    )


def nothing_to_read(path: str, skipped: Mapping[str, int]) -> SourceError:
    """The error for a source with no readable file, with the counts of other files."""
    kinds = ", ".join(f"{n} × {suffix}" for suffix, n in Counter(skipped).most_common(5)) or "it is empty"
    return SourceError(
        msg("nothing to read in {path}: {kinds}", path=path, kinds=kinds),
        hint=install_command("ocr")
        if PICTURES & skipped.keys()
        else "readable: text, Markdown, reStructuredText, AsciiDoc, LaTeX, HTML, PDF, Office, OpenDocument, RTF, EPUB, mail, "
        "tables, JSON, YAML, code, ZIP",
    )


_OF_LIBRARY = frozenset({"catalog.db", "audit.db", "audit.head", "pseudonym.key", "writer.lock", "commit.lock"})
"""Files of a library's folder; two of them make one."""
PRIVATE = ("index", "quarantine", "uploads")
"""Folders of a library's folder: what lies there is as it was before redaction, or was made by the program."""


def of_library(path: Path) -> SourceError:
    """The error for a source that lies in what a library keeps for itself."""
    return SourceError(
        msg("{path} is what a library keeps for itself: it is no source", path=path),
        hint="take in the folder that its documents came from",
    )


def _walk(folder: Path, hidden: str, libraries: list[Path], passed: Counter[str]) -> Iterator[Path]:
    """Files below a folder; what libraries keep for themselves is left out, and their folders are added to `libraries`.

    Links that lead out, pipes and devices are counted in `passed`.
    """
    root = folder.resolve()

    def refuse(error: OSError) -> None:
        raise _shut(error.filename, error) from error

    for where, folders, names in os.walk(folder, onerror=refuse):
        if len(_OF_LIBRARY.intersection(names)) > 1:
            libraries.append(Path(where))
            folders[:] = [name for name in folders if name not in PRIVATE]
        here = hidden if where == str(folder) else ""
        folders[:] = sorted(name for name in folders if not name.startswith(".") or name == here)
        for name in names:
            file = Path(where, name)
            if name.startswith("."):
                continue
            if not (is_file(file) or file.is_symlink()):
                passed["others"] += 1
                continue
            # Not Path.resolve: of a link to itself it raises what is no OSError.
            if Path(os.path.realpath(file)).is_relative_to(root):
                yield file
            else:
                passed["links"] += 1


@dataclass(frozen=True)
class LocalFile:
    """A local file; see `Holding`."""

    path: Path
    read: Callable[[Path, str], Iterable[Document]]
    entry: None = None

    @cached_property
    def uri(self) -> str:
        return file_uri(self.path.absolute())

    def digest(self) -> str:
        with os.fdopen(open_regular(self.path), "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()

    def documents(self) -> Iterable[Document]:
        return self.read(self.path, self.uri)


class LocalHoldings:
    """The files at or below a path, those of a hidden folder last; see `Holdings`. SourceError where none of them can be read."""

    cut = ""

    def __init__(
        self,
        path: Path,
        readable: Callable[[str], bool],
        read: Callable[[Path, str], Iterable[Document]],
        hidden: str = "",
    ) -> None:
        found = find_files(path, readable, hidden)
        self.total, self.skipped = len(found.files), found.skipped
        last = sorted(found.files, key=lambda file: bool(hidden) and hidden in file.relative_to(path).parts[:1])
        self._files = tuple(LocalFile(file, read) for file in last)

    def __iter__(self) -> Iterator[LocalFile]:
        return iter(self._files)
