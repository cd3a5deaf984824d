"""Pages that were recognised and are not in the catalog yet: kept beside it, so that a run that was cut short goes on."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_STALE = 14 * 86_400.0  # seconds: a file that nobody took in again will not be


class PageStore:
    """A folder of recognised pages: one folder for each file by its sha256, one file for each page.

    A page is written whole or not at all, readable by its owner only. One that cannot be read back counts as not there.

    Args:
        version: Of the recogniser; pages of another one are not given.
    """

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        self._version = version.replace("/", "-")

    def pages(self, sha256: str) -> dict[int, dict[str, Any]]:
        """All that is kept of a file, by page."""
        found = {}
        folder = self._of(sha256)
        for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            try:
                page = json.loads(file.read_bytes())
                found[int(file.stem)] = dict(page)
            except (OSError, ValueError, TypeError):
                continue
        return found

    def keep(self, sha256: str, page: int, told: Mapping[str, Any]) -> None:
        """Keep a page; OSError where that cannot be written."""
        folder = self._of(sha256)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        passing = folder / f".{page}.{os.getpid()}"
        with os.fdopen(os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        passing.replace(folder / f"{page}.json")

    def drop(self, sha256: str) -> None:
        """Forget a file, and what nobody has asked for in two weeks."""
        shutil.rmtree(self._of(sha256), ignore_errors=True)
        if not self._folder.is_dir():
            return
        now = time.time()
        for folder in self._folder.iterdir():
            if now - folder.stat().st_mtime > _STALE:
                shutil.rmtree(folder, ignore_errors=True)
        if not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _of(self, sha256: str) -> Path:
        return self._folder / f"{sha256}.{self._version}"
