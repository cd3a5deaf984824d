"""A lock file that is removed while somebody waits for it is no lock any more: who comes after waits for the new one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from patience import HANGS
from wenyuan.catalog.locks import WriterLock
from wenyuan.core.errors import CatalogBusy


class Waiting(WriterLock):
    """Says when it has begun to wait for the file that it has opened."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.waits = threading.Event()

    def _wait_for(self, handle: int, until: float) -> None:
        self.waits.set()
        super()._wait_for(handle, until)


def test_who_waits_for_a_file_that_is_removed_waits_for_the_new_one(tmp_path: Path) -> None:
    """Who has locked a file that no longer has the name does not go on while another holds the one that has it."""
    path = tmp_path / "writer.lock"
    first, second, third = WriterLock(path), Waiting(path), WriterLock(path)
    refused = threading.Event()

    def wait() -> None:
        with pytest.raises(CatalogBusy), second.held(wait=1.0):
            pass
        refused.set()

    with first.held():
        waiter = threading.Thread(target=wait)
        waiter.start()
        assert second.waits.wait(HANGS)
        path.unlink()
        third_held = third.held()
        third_held.__enter__()
    try:
        assert refused.wait(HANGS), "it went on though another holds the lock"
    finally:
        third_held.__exit__(None, None, None)
        waiter.join(HANGS)
    with second.held():
        assert path.is_file()
