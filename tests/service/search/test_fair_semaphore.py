"""How many questions are computed at once: one a core where computing is all that there is to do."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import wenyuan
from wenyuan.core.ports import Deadline
from wenyuan.engines.local.engine import LocalEngine
from wenyuan.service.search import fair_semaphore, legs
from wenyuan.service.search.fair_semaphore import FairSemaphore


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "leave.md").write_text("# 年假\n\n职工累计工作满一年的，年休假五天。\n", "utf-8")
    return tmp_path / "docs"


class Watched:
    """Counts who is in the keyword leg at the same time; they stay until they are let go."""

    def __init__(self, engine: Any, patched: pytest.MonkeyPatch) -> None:
        self.inside, self.most, self.go = 0, 0, threading.Event()
        self._lock, self._real = threading.Lock(), engine.keyword
        patched.setattr(engine, "keyword", self._keyword)

    def _keyword(self, *args: Any, **named: Any) -> Any:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            assert self.go.wait(60)
            return self._real(*args, **named)
        finally:
            with self._lock:
                self.inside -= 1


@pytest.fixture(params=[True, False], ids=["here", "elsewhere"])
def shelf(
    request: pytest.FixtureRequest, tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[wenyuan.Library]:
    """A library on two cores, whose engine says that it computes in this process, or does not."""
    monkeypatch.setattr(legs, "usable_cores", lambda: 2)
    monkeypatch.setattr(LocalEngine, "works_here", request.param)
    with wenyuan.open(
        tmp_path / "library",
        create=True,
        encoder={"kind": "none"},
        search={"deadline": 5, "abstain": "off"},
        cache={"seconds": 0},
    ) as library:
        library.add(wenyuan.Source(source_id="hr", path=str(docs)))
        yield library


def ask(library: wenyuan.Library) -> wenyuan.RetrievalResponse:
    return library.retrieve_fragments(wenyuan.RetrievalRequest(query="年假几天", max_results=3))


def test_no_more_than_cores_compute(shelf: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of six compute while the others wait; where an engine waits for a server itself, all six do. All are answered."""
    here = shelf.engine.works_here  # type: ignore[attr-defined]
    watched = Watched(shelf.engine, monkeypatch)
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(ask, shelf) for _ in range(6)]
        until = time.monotonic() + 60
        while watched.inside < (2 if here else 6) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.1)
        assert watched.most == (2 if here else 6)
        watched.go.set()
        answers = [one.result(20) for one in asked]
    assert [answer.status for answer in answers] == ["SUCCESS"] * 6
    assert all("五天" in answer.fragments[0].content for answer in answers)
    assert watched.most == (2 if here else 6)


@pytest.mark.parametrize("shelf", [True], indirect=True)
def test_who_finds_no_place_in_time_is_told_so(shelf: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that waits behind others is FAILED at its own deadline; afterwards the places are free again."""
    watched = Watched(shelf.engine, monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        before = [pool.submit(ask, shelf) for _ in range(2)]
        until = time.monotonic() + 60
        while watched.inside < 2 and time.monotonic() < until:
            time.sleep(0.01)
        with monkeypatch.context() as patched:
            patched.setattr(shelf._retriever, "deadline", lambda: Deadline(time.monotonic() + 0.2, time.monotonic))
            late = ask(shelf)
        watched.go.set()
        assert [one.result(20).status for one in before] == ["SUCCESS"] * 2
    assert late.status == "FAILED"
    assert "too many requests were before this one" in str(late.error_message)
    assert ask(shelf).status == "SUCCESS"


def test_legs_that_compute_share_a_thread(shelf: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all is computed here, one thread, not the caller's, runs all legs; where a server is waited for, each has one."""
    threads: list[threading.Thread] = []
    begun: list[str] = []
    keyword, begin = shelf.engine.keyword, shelf._retriever._executor.begin

    def noting(*args: Any, **named: Any) -> Any:
        threads.append(threading.current_thread())
        return keyword(*args, **named)

    def beginning(call: Any, leg: str = "", source: str = "") -> Any:
        begun.append(leg)
        return begin(call, leg, source)

    monkeypatch.setattr(shelf.engine, "keyword", noting)
    monkeypatch.setattr(shelf._retriever._executor, "begin", beginning)
    assert ask(shelf).status == "SUCCESS"
    assert threading.current_thread() not in threads
    assert begun == ([""] if shelf.engine.works_here else ["keyword"])  # type: ignore[attr-defined]


def test_who_asked_first_is_served_first() -> None:
    """A place goes to those that wait, in their order, and not to who comes by when it becomes free."""
    places, served = FairSemaphore(1), []
    assert places.acquire(0)

    def wait(number: int) -> None:
        assert places.acquire(20)
        served.append(number)
        places.release()

    waiting = []
    for number in range(5):
        waiting.append(threading.Thread(target=wait, args=(number,)))
        waiting[-1].start()
        until = time.monotonic() + 60
        while len(places._waiting) <= number and time.monotonic() < until:
            time.sleep(0.001)
    assert not places.acquire(0.01)
    places.release()
    assert places.acquire(20)  # behind all of them
    assert served == [0, 1, 2, 3, 4]
    places.release()
    for thread in waiting:
        thread.join()


def test_places_are_neither_lost_nor_made() -> None:
    """However many ask, and give up at whatever moment: never more than there are hold a place, and all come back."""
    places, inside, most, got = FairSemaphore(3), 0, 0, Counter[bool]()
    lock = threading.Lock()

    def ask_again(seed: int) -> None:
        nonlocal inside, most
        chance = random.Random(seed)
        for _ in range(200):
            held = places.acquire(chance.choice((0.0, 0.0002, 0.001, 0.01)))
            with lock:
                got[held] += 1
                inside += held
                most = max(most, inside)
            if held:
                time.sleep(chance.choice((0.0, 0.0005)))
                with lock:
                    inside -= 1
                places.release()

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(ask_again, range(12)))
    assert most == 3
    assert got[True]
    assert got[False]
    assert [places.acquire(0) for _ in range(4)] == [True, True, True, False]


def test_an_interrupt_while_waiting_is_told_and_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is interrupted stands in nobody's way, whether its turn had come or not."""

    class Interrupted:
        """The lock behind which the next one waits; its turn comes, or does not, and then the interrupt."""

        def __init__(self, *, turn: bool) -> None:
            self.turn = turn

        def acquire(self, timeout: float | None = None) -> bool:
            if timeout is None:
                return True
            if self.turn:
                places.release()
            raise KeyboardInterrupt

        def release(self) -> None:
            """Called when its turn comes."""

    for turn in (False, True):
        places = FairSemaphore(1)
        assert places.acquire(0)
        with monkeypatch.context() as patched:
            patched.setattr(
                fair_semaphore, "threading", SimpleNamespace(Lock=lambda turn=turn: Interrupted(turn=turn))
            )
            with pytest.raises(KeyboardInterrupt):
                places.acquire(20)
        if not turn:
            places.release()
        assert places.acquire(0)
        assert not places.acquire(0)
