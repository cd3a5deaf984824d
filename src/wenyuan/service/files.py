"""Which files a source consists of."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wenyuan.core.errors import SourceError
from wenyuan.paths import exists, is_file

__all__ = ["Found", "find_files"]


@dataclass(frozen=True, slots=True)
class Found:
    """Files that can be read, in a fixed order, and how many of other kinds were left out, by suffix."""

    files: tuple[Path, ...]
    skipped: Mapping[str, int]


def find_files(path: Path, readable: Callable[[str], bool]) -> Found:
    """The files at or below `path`. Hidden ones and links that lead out of the folder are left out.

    A link to a file that is gone is found like any other: that it cannot be read is for the reader to say.

    Raises:
        SourceError: nothing is there, or nothing that can be read.
    """
    try:
        if not exists(path):
            raise SourceError(f"there is no file or folder {path}", hint="check the path, or mount what it lies on")
        found = [path] if is_file(path) else sorted(_walk(path))
    except OSError as error:
        raise SourceError(f"cannot look into {path}: {error.strerror}") from error
    files = tuple(f for f in found if readable(f.name))
    skipped = Counter(f.suffix.lower() or "(no suffix)" for f in found if not readable(f.name))
    if not files:
        kinds = ", ".join(f"{n} × {suffix}" for suffix, n in skipped.most_common(5)) or "it is empty"
        raise SourceError(
            f"nothing to read in {path}: {kinds}", hint="readable: md, txt, html, pdf, docx, xlsx, csv, tsv, jsonl"
        )
    return Found(files, dict(skipped))


def _walk(folder: Path) -> Iterator[Path]:
    root = folder.resolve()

    def refuse(error: OSError) -> None:
        raise SourceError(f"cannot look into {error.filename}: {error.strerror}") from error

    for where, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            file = Path(where, name)
            if name.startswith(".") or not (is_file(file) or file.is_symlink()):
                continue
            # Not Path.resolve: of a link to itself it raises what is no OSError.
            if Path(os.path.realpath(file)).is_relative_to(root):
                yield file
