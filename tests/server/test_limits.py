"""Rate and concurrency limits: each key has its own, and the server has one for all."""

from __future__ import annotations

import pytest

from wenyuan.server.limits import Limiter
from wenyuan.server.problems import Problem
from wenyuan.settings import ServerSettings


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def admitted(limiter: Limiter, key: str, count: int) -> int:
    """How many of `count` requests are let in at once, one after the other."""
    done = 0
    for _ in range(count):
        try:
            with limiter.admitted(key):
                done += 1
        except Problem as problem:
            assert problem.status == 429
            assert int(problem.headers["Retry-After"]) >= 1
    return done


def test_rate_of_a_key() -> None:
    """A key may save up two seconds' worth, and then gets its rate; another key has its own."""
    clock = Clock()
    limiter = Limiter(ServerSettings(rate_per_key=5), clock)
    assert admitted(limiter, "a", 30) == 10
    assert admitted(limiter, "b", 30) == 10
    clock.now += 1.0
    assert admitted(limiter, "a", 30) == 5


def test_rate_of_all() -> None:
    """The total holds for all keys together, and for callers without one."""
    limiter = Limiter(ServerSettings(rate_per_key=0, rate_total=3), Clock())
    assert admitted(limiter, "a", 4) + admitted(limiter, "b", 4) + admitted(limiter, "local", 4) == 6


def test_concurrency_of_a_key() -> None:
    """Only so many requests of a key are open at once; one that ends makes room, whatever its end."""
    limiter = Limiter(ServerSettings(rate_per_key=0, concurrency_per_key=2), Clock())
    with limiter.admitted("a"), limiter.admitted("a"):
        with pytest.raises(Problem, match="2 requests"), limiter.admitted("a"):
            raise AssertionError("a third one was let in")
        with limiter.admitted("b"):
            pass
    with pytest.raises(KeyError), limiter.admitted("a"):
        raise KeyError
    assert admitted(limiter, "a", 3) == 3


def test_this_machine_without_keys() -> None:
    """Callers that need no key have no limit of a key."""
    assert admitted(Limiter(ServerSettings(rate_per_key=1), Clock()), "local", 500) == 500
