"""Threads for the legs of a request: what a leg raises, and what becomes of one that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from wenyuan.core.errors import EngineTimeout, EngineUnavailable, IndexCorrupt, KnowledgeError
from wenyuan.core.ports import Deadline
from wenyuan.service.crew import Crew, outcome


@pytest.fixture
def crew() -> Iterator[Crew]:
    made = Crew(2)
    yield made
    made.close()


def within(seconds: float) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def raises(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


def test_result(crew: Crew) -> None:
    """A leg's result comes back as it is, an empty one too."""
    for value in ([1, 2], [], None):
        assert outcome(crew.begin(lambda value=value: value), "leg", within(5)) is value


def test_own_error_passes(crew: Crew) -> None:
    """What is said in our own words passes unchanged."""
    error = IndexCorrupt("row 3 does not match", component="engine local")
    with pytest.raises(KnowledgeError) as caught:
        outcome(crew.begin(raises(error)), "keyword leg", within(5))
    assert caught.value is error


@pytest.mark.parametrize("error", [RuntimeError("lost"), TimeoutError("the driver's own"), OSError(5, "I/O")])
def test_foreign_error_is_translated(crew: Crew, error: Exception) -> None:
    """Whatever else a leg raises names the leg and the error; a TimeoutError of its own is not our deadline."""
    with pytest.raises(EngineUnavailable, match=f"keyword leg: {type(error).__name__}") as caught:
        outcome(crew.begin(raises(error)), "keyword leg", within(5))
    assert caught.value.__cause__ is error


def test_deadline(crew: Crew) -> None:
    """A leg that hangs is an error at the deadline; one that had not begun never begins."""
    release, begun = threading.Event(), []
    stuck = [crew.begin(lambda: release.wait(20)) for _ in range(2)]
    waiting = crew.begin(lambda: begun.append(1))
    since = time.monotonic()
    for future in (*stuck, waiting):
        with pytest.raises(EngineTimeout, match="vector leg"):
            outcome(future, "vector leg", within(0.1))
    assert time.monotonic() - since < 2.0
    release.set()
    assert outcome(crew.begin(lambda: 7), "leg", within(5)) == 7
    assert begun == []
