"""What tests share: temporary libraries with the deterministic encoder, and engines over a real catalog."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from wenyuan.core.ports import Deadline


@pytest.fixture(autouse=True)
def _own_world(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting of the developer's shell reaches a test."""
    import os

    for name in list(os.environ):
        if name.startswith("WENYUAN_"):
            monkeypatch.delenv(name)


@pytest.fixture
def soon() -> Callable[[], Deadline]:
    """A deadline that no test should meet."""
    return lambda: Deadline(time.monotonic() + 30, time.monotonic)


@pytest.fixture
def today() -> date:
    return date(2026, 6, 1)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[object]:
    """An empty library with the hashing encoder and the default engine."""
    import wenyuan

    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as opened:
        yield opened
