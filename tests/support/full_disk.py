"""A small disk of its own that can be filled up to a number of bytes: what is written there then fails as on any full disk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PAGE = 4096
"""Bytes that are taken at once: with one page less, another write is the first that fails."""
_BALLAST = "ballast"


@contextmanager
def small_disk(at: Path, megabytes: int = 64) -> Iterator[Path]:
    """A disk in memory at a new folder; the test is skipped where this user may not mount one."""
    at.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(at)], check=False, capture_output=True
    ).returncode:
        pytest.skip("this user may not mount a disk")
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def room(disk: Path) -> int:
    """Bytes that are left on the disk that holds a folder."""
    told = os.statvfs(disk)
    return told.f_bavail * told.f_frsize


def leave(disk: Path, bytes_left: int) -> None:
    """Fill the disk until no more than so many bytes, in whole pages, are left."""
    with (disk / _BALLAST).open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, room(disk) - bytes_left)


def make_room(disk: Path) -> None:
    """Give back what `leave` took."""
    (disk / _BALLAST).unlink(missing_ok=True)
