"""Limits of several processes are those of one: what each counts of a caller counts for all."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest

from wenyuan.server.buckets import OwnBuckets, SharedBuckets
from wenyuan.server.limits import Limiter
from wenyuan.server.problems import Problem
from wenyuan.settings import ServerSettings


@pytest.mark.parametrize("seed", range(5))
def test_shared_buckets_are_one_bucket(tmp_path: Path, seed: int) -> None:
    """Requests that come to three processes by chance are let in and refused as by one that has them all."""
    draw, now = random.Random(seed), 1_000.0
    alone, shared = OwnBuckets(), [SharedBuckets(tmp_path / "limits", number, 3) for number in range(3)]
    open_: list[tuple[str, int]] = []
    for _ in range(2_000):
        now += draw.expovariate(20.0)
        if open_ and draw.random() < 0.45:
            name, number = open_.pop(draw.randrange(len(open_)))
            alone.end(name)
            shared[number].end(name)
            continue
        name, number = draw.choice(["a", "b", "c", "密钥"]), draw.randrange(3)
        limits = {"rate": 3.0, "concurrency": 4, "now": now}
        expected = alone.begin(name, **limits)  # type: ignore[arg-type]
        assert shared[number].begin(name, **limits) == pytest.approx(expected)  # type: ignore[arg-type]
        if expected == (0, 0.0):
            open_.append((name, number))
    for one in shared:
        one.close()


def test_what_a_killed_process_had_open_is_closed(tmp_path: Path) -> None:
    """Once another takes its place, its open requests do not count any more; those of the others do."""
    first, second = (SharedBuckets(tmp_path / "limits", number, 2) for number in range(2))
    for buckets in (first, first, second):
        assert buckets.begin("a", rate=0, concurrency=3, now=1.0) == (0, 0.0)
    assert second.begin("a", rate=0, concurrency=3, now=1.0) == (3, 0.0)
    again = SharedBuckets(tmp_path / "limits", 0, 2)
    assert again.begin("a", rate=0, concurrency=3, now=1.0) == (0, 0.0)
    assert again.begin("a", rate=0, concurrency=3, now=1.0) == (0, 0.0)
    assert second.begin("a", rate=0, concurrency=3, now=1.0) == (3, 0.0)


def test_more_callers_than_rows(tmp_path: Path) -> None:
    """Those who asked last longest ago are forgotten; one that has a request open is not."""
    buckets = SharedBuckets(tmp_path / "limits", 0, 1, rows=64)
    assert buckets.begin("open", rate=0, concurrency=1, now=1.0) == (0, 0.0)
    for number in range(1_000):
        assert buckets.begin(f"{number}", rate=1.0, concurrency=0, now=2.0 + number) == (0, 0.0)
        buckets.end(f"{number}")
    assert buckets.begin("open", rate=0, concurrency=1, now=2_000.0) == (1, 0.0)


def _ask(file: Path, number: int, admitted: multiprocessing.Queue[int]) -> None:
    buckets, count = SharedBuckets(file, number, 4), 0
    for _ in range(300):
        count += buckets.begin("a", rate=1e-6, concurrency=0, now=time.monotonic()) == (0, 0.0)
        buckets.end("a")
        count += buckets.begin("b", rate=10_000.0, concurrency=0, now=100.0) == (0, 0.0)
    admitted.put(count)


def test_processes_at_once(tmp_path: Path) -> None:
    """Four processes that ask at once are let in as often as the rate says, none twice for one token."""
    context = multiprocessing.get_context("spawn")
    admitted = context.Queue()
    asking = [context.Process(target=_ask, args=(tmp_path / "limits", n, admitted)) for n in range(4)]
    for one in asking:
        one.start()
    assert sum(admitted.get(timeout=120) for _ in asking) == 1 + 1_200
    for one in asking:
        one.join(60)


def test_a_limiter_with_shared_buckets(tmp_path: Path) -> None:
    """Rate and total of two processes together are those of the settings."""
    limits = ServerSettings(rate_per_key=5, rate_total=8)
    both = [Limiter(limits, lambda: 100.0, SharedBuckets(tmp_path / "limits", number, 2)) for number in range(2)]
    done = {"a": 0, "b": 0}
    for turn in range(60):
        name = "ab"[turn % 2]
        try:
            with both[turn // 2 % 2].admitted(name):
                done[name] += 1
        except Problem as problem:
            assert problem.status == 429
    assert done == {"a": 8, "b": 8}
