"""The cache of what depends on the state of the catalog: one value, kept until the catalog is at another change."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from wenyuan.core.errors import CatalogUnavailable
from wenyuan.service.search.change_cache import PerChange


def test_a_value_is_read_once_for_each_change() -> None:
    """Another change is read again, an earlier one too: only one value is held."""
    read: list[int] = []
    kept = PerChange(lambda change, _: (read.append(change), f"of {change}")[1])
    assert [kept.at(change) for change in (3, 3, 4, 4, 3)] == ["of 3", "of 3", "of 4", "of 4", "of 3"]
    assert read == [3, 4, 3]


def test_nothing_is_a_value() -> None:
    """None is kept as any other value is."""
    read: list[int] = []
    kept = PerChange(lambda change, _: read.append(change))
    assert kept.at(1) is None
    assert kept.at(1) is None
    assert read == [1]


def test_a_failure_is_not_kept() -> None:
    """It is raised, never the value of another change in its place; the next call reads again."""
    broken = [False]

    def read(change: int, _: object) -> int:
        if broken[0]:
            raise CatalogUnavailable("gone", component="catalog")
        return change

    kept = PerChange(read)
    assert kept.at(1) == 1
    broken[0] = True
    for _ in range(2):
        with pytest.raises(CatalogUnavailable):
            kept.at(2)
    assert kept.at(1) == 1
    broken[0] = False
    assert kept.at(2) == 2


def test_threads_that_ask_at_once_read_once() -> None:
    read: list[int] = []
    together = threading.Barrier(4)

    def ask(_: int) -> int:
        together.wait()
        return kept.at(7)

    def slowly(change: int, _: object) -> int:
        read.append(change)
        time.sleep(0.05)  # time enough for the others to read, too
        return change

    kept = PerChange(slowly)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == [7] * 4
    assert read == [7]
