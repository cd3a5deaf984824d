"""Libraries that are made once in a process, and copied for each test that has one of its own."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path


@functools.cache
def _made(make: Callable[[Path], None]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="made-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make(folder)
    return folder


def copied(make: Callable[[Path], None], folder: Path) -> None:
    """Do to a folder what `make` does: make a closed library in ``library``, and beside it the files that it was made of.

    A copy has the id and the keys of every other; its sources and documents lie in its own folder. Its audit names the
    folder where they were made.
    """
    made = _made(make)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    with contextlib.closing(sqlite3.connect(folder / "library" / "catalog.db")) as catalog, catalog:
        for column, was, is_ in (
            ("sources SET path = replace(path", str(made), str(folder)),
            ("documents SET uri = replace(uri", made.as_uri(), folder.as_uri()),
            ("passages SET uri = replace(uri", made.as_uri(), folder.as_uri()),
        ):
            catalog.execute(f"UPDATE {column}, ?, ?)", (was, is_))
