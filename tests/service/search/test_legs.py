"""Where the legs of a request run: what a leg raises, and what becomes of one that hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from patience import HANGS, in_time
from wenyuan.core.errors import EncoderTimeout, EngineTimeout, EngineUnavailable, IndexCorrupt, KnowledgeError
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.vector_checks import check_deadline
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.service.search.leg_execution import LegExecutor, Legs
from wenyuan.service.search.query_vectors import QueryVectors


@pytest.fixture
def executor() -> Iterator[LegExecutor]:
    made = LegExecutor(2)
    yield made
    made.close()


def within(seconds: float) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def raises(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


def test_result(executor: LegExecutor) -> None:
    """A leg's result comes back as it is, an empty one too."""
    for value in ([1, 2], [], None):
        assert executor.outcome(executor.begin(lambda value=value: value), "leg", within(5)) is value


@pytest.mark.parametrize("kind", [IndexCorrupt, EngineTimeout])
def test_own_error_passes(executor: LegExecutor, kind: type[KnowledgeError]) -> None:
    """What is said in our own words passes unchanged."""
    error = kind("row 3 does not match", component="engine local")
    with pytest.raises(KnowledgeError) as caught:
        executor.outcome(executor.begin(raises(error)), "keyword leg", within(5))
    assert caught.value is error


@pytest.mark.parametrize("error", [RuntimeError("lost"), TimeoutError("the driver's own"), OSError(5, "I/O")])
def test_foreign_error_is_translated(executor: LegExecutor, error: Exception) -> None:
    """Whatever else a leg raises names the leg and the error; a TimeoutError of its own is not our deadline."""
    with pytest.raises(EngineUnavailable, match=f"keyword leg: {type(error).__name__}") as caught:
        executor.outcome(executor.begin(raises(error)), "keyword leg", within(5))
    assert caught.value.__cause__ is error


def test_deadline(executor: LegExecutor) -> None:
    """A leg that hangs is an error at the deadline; one that had not begun never begins."""
    release, begun = threading.Event(), []
    stuck = [executor.begin(lambda: release.wait(HANGS)) for _ in range(2)]
    waiting = executor.begin(lambda: begun.append(1))
    for future in (*stuck, waiting):
        with in_time(), pytest.raises(EngineTimeout, match="vector leg"):
            executor.outcome(future, "vector leg", within(0.1))
    release.set()
    assert executor.outcome(executor.begin(lambda: 7), "leg", within(5)) == 7
    assert begun == []


def counted(executor: LegExecutor) -> dict[tuple[str, ...], int]:
    return {names: timing.count for names, timing in executor.meter.of([]).items()}


def test_together(executor: LegExecutor) -> None:
    """Legs that run together share a thread that is not the caller's, and are counted one by one."""

    def call(legs: Legs) -> list[str]:
        first = legs.begin(lambda: threading.current_thread().name, "vector")
        second = legs.begin(lambda: threading.current_thread().name, "keyword")
        return [legs.outcome(leg, "leg", within(5)) for leg in (second, first)]

    names = executor.together(call, within(5))
    assert len(set(names)) == 1
    assert names[0] != threading.current_thread().name
    assert counted(executor) == {("vector", "", "ok"): 1, ("keyword", "", "ok"): 1}


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (IndexCorrupt("row 3", component="engine local"), "failed"),
        (EngineTimeout("the deadline passed", component="engine local"), "timeout"),
        (RuntimeError("lost"), "failed"),
    ],
)
def test_together_an_error_is_that_of_its_leg(executor: LegExecutor, error: Exception, state: str) -> None:
    def call(legs: Legs) -> Any:
        return legs.outcome(legs.begin(raises(error), "keyword"), "keyword leg", within(5))

    with pytest.raises(KnowledgeError) as caught:
        executor.together(call, within(5))
    if isinstance(error, KnowledgeError):
        assert caught.value is error
    else:
        assert str(caught.value).startswith("keyword leg: RuntimeError: lost")
    assert counted(executor) == {("keyword", "", state): 1}


def test_together_the_one_that_hangs_is_named(executor: LegExecutor) -> None:
    """At the deadline the caller is told which leg it was; the thread does not go on with the others afterwards."""
    release, ended, later, said = threading.Event(), threading.Event(), [], []

    def call(legs: Legs) -> None:
        try:
            legs.outcome(legs.begin(lambda: "found", "keyword"), "keyword leg", within(5))
            legs.outcome(legs.begin(lambda: release.wait(HANGS), "vector"), "vector leg", within(5))
            later.append(legs.begin(lambda: "cosines", "cosines"))
        except EngineTimeout as error:
            said.append(error.message)
        finally:
            ended.set()

    with in_time(), pytest.raises(EngineTimeout, match="vector leg: no answer before the deadline"):
        executor.together(call, within(0.1))
    release.set()
    assert ended.wait(60)
    assert (later, said) == ([], ["nobody waits for it any more"])
    assert counted(executor) == {("keyword", "", "ok"): 1, ("vector", "", "timeout"): 1}


def test_together_where_no_thread_is_free(executor: LegExecutor) -> None:
    """What could not even begin is an error at the deadline, and never begins."""
    release, begun = threading.Event(), []
    for _ in range(2):
        executor.begin(lambda: release.wait(HANGS))
    with pytest.raises(EngineTimeout, match="no answer before the deadline"):
        executor.together(lambda _: begun.append(1), within(0.1))
    release.set()
    assert executor.together(lambda _: 7, within(5)) == 7
    assert begun == []


class SlowEncoder(HashingEncoder):
    """Waits until it is told to go on, and stops at the deadline, as one behind HTTP does."""

    def __init__(self) -> None:
        super().__init__(16)
        self.begun, self.go_on = threading.Event(), threading.Event()

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        self.begun.set()
        assert self.go_on.wait(60)
        check_deadline(deadline, "encoder slow")
        return super().encode_queries(texts, deadline=deadline)


def test_who_joins_an_embedding_fails_at_no_deadline_but_its_own() -> None:
    """The one that began had little time; the one that joined has its vector made again, and gets it."""
    encoder, clock = SlowEncoder(), [0.0]
    vectors = QueryVectors(encoder)
    with ThreadPoolExecutor(2) as pool:
        hurried = pool.submit(vectors.of, "投诉", Deadline(1.0, lambda: clock[0]))
        assert encoder.begun.wait(60)
        patient = pool.submit(vectors.of, "投诉", within(60))
        while not vectors.counts().joined:
            time.sleep(0.001)
        clock[0] = 2.0  # the first one's time is over
        encoder.go_on.set()
        assert patient.result()[0].shape == (16,)
        with pytest.raises(EncoderTimeout):
            hurried.result()
    counts = vectors.counts()
    assert (counts.misses, counts.joined) == (2, 1)


def test_the_legs_of_one_request_have_a_vector_made_once() -> None:
    """The rules ask when the vector leg has ended: the names of rules were read meanwhile. Another request has its own made."""
    encoder = SlowEncoder()
    encoder.go_on.set()
    vectors, request = QueryVectors(encoder), within(60)
    first = vectors.of("投诉", request)[0]
    assert vectors.of("投诉", request)[0] is first
    assert (vectors.counts().misses, vectors.counts().values) == (1, 0)
    vectors.of("投诉", within(61))
    assert vectors.counts().misses == 2


def test_a_leg_that_failed_or_hangs_is_no_empty_outcome() -> None:
    """What a leg of the executor raised reaches who waits for its outcome, as it is; one that hangs is an EngineTimeout."""
    done = threading.Event()

    def gone() -> list[int]:
        raise EngineUnavailable("the index is gone")

    def hangs() -> list[int]:
        done.wait(60)
        return []

    executor = LegExecutor(2)
    try:
        for call, error in ((gone, EngineUnavailable), (hangs, EngineTimeout)):
            deadline = Deadline(time.monotonic() + 0.3, time.monotonic)
            with pytest.raises(error):
                executor.outcome(executor.begin(call, "rules"), "rules leg", deadline)
    finally:
        done.set()
        executor.close()
