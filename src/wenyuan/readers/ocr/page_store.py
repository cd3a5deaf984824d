"""Cache of recognised pages that are not in the catalog yet, so that an interrupted ingest can continue."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wenyuan.runtime.regular import read_regular

_STALE = 14 * 86_400.0  # seconds after which a file is taken as abandoned


class PageStore:
    """A folder of recognised pages: a folder per file, named by SHA-256, with a file per page.

    Pages are written atomically, readable by the owner only. A page that cannot be read back counts as missing.

    Args:
        version: Of the recogniser; pages of other versions are ignored.
    """

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        self._version = version.replace("/", "-")

    def pages(self, sha256: str) -> dict[int, dict[str, Any]]:
        """The cached pages of a file, by page number."""
        found = {}
        folder = self._of(sha256)
        for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            try:
                page = json.loads(read_regular(file))
                found[int(file.stem)] = dict(page)
            except (OSError, ValueError, TypeError):
                continue
        return found

    def keep(self, sha256: str, page: int, told: Mapping[str, Any]) -> None:
        """Cache a page; OSError where it cannot be written."""
        folder = self._of(sha256)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        passing = folder / f".{page}.{os.getpid()}"
        with os.fdopen(os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        passing.replace(folder / f"{page}.json")

    def drop(self, sha256: str) -> None:
        """Delete the cached pages of a file, and those unused for two weeks."""
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
