"""The key of pseudonyms: there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wenyuan.core.errors import ConfigError
from wenyuan.service.library_key import library_key


def test_what_is_cut_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that could not be written whole is not there, nor is half of it, and the next call makes one."""

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ConfigError, match="cannot write"):
            library_key(tmp_path)
    assert list(tmp_path.iterdir()) == []
    key = library_key(tmp_path)
    assert len(key) == 32
    assert library_key(tmp_path) == key
    (made,) = tmp_path.iterdir()
    assert made.stat().st_mode & 0o077 == 0


def test_one_that_was_made_meanwhile_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two processes that make it at the same time both have the one that was there first."""
    real = os.fsync

    def meanwhile(handle: int) -> None:
        real(handle)
        (tmp_path / "pseudonym.key").write_bytes(b"x" * 32)

    monkeypatch.setattr(os, "fsync", meanwhile)
    assert library_key(tmp_path) == b"x" * 32
    assert [path.name for path in tmp_path.iterdir()] == ["pseudonym.key"]


def test_one_that_is_damaged_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "pseudonym.key").write_bytes(b"short")
    with pytest.raises(ConfigError, match="5 bytes, not 32"):
        library_key(tmp_path)
