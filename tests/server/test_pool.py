"""The threads that requests are worked on in, and the way back to the event loop."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from patience import HANGS, in_time
from wenyuan.server.pool import Pool
from wenyuan.server.problems import Problem

WHO: ContextVar[str] = ContextVar("who", default="nobody")


def test_each_call_gets_its_own_answer() -> None:
    """A thousand calls, of which every third fails, some slow: each is told what its own call made."""

    async def one(pool: Pool, number: int) -> object:
        def call() -> int:
            time.sleep(0.002 * (number % 7 == 0))
            if number % 3 == 0:
                raise LookupError(number)
            return number

        try:
            return await pool.run(call)
        except LookupError as error:
            return error.args

    async def all_of_them() -> list[object]:
        pool = Pool(4, 2_000)
        return await asyncio.gather(*(one(pool, number) for number in range(1_000)))

    assert asyncio.run(all_of_them()) == [(n,) if n % 3 == 0 else n for n in range(1_000)]


def test_no_more_than_its_threads_and_no_longer_queue() -> None:
    """Two work, one waits, and the fourth is refused at once; places are free again afterwards, also after errors."""
    inside, most = 0, 0
    go, lock = threading.Event(), threading.Lock()

    def call() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        go.wait(60)
        with lock:
            inside -= 1
        raise ValueError("after work")

    async def main() -> None:
        pool = Pool(2, 1)
        waiting = [asyncio.ensure_future(pool.run(call)) for _ in range(3)]
        await asyncio.sleep(0.1)
        with pytest.raises(Problem) as refused:
            await pool.run(call)
        assert refused.value.status == 503
        go.set()
        assert {type(e) for e in await asyncio.gather(*waiting, return_exceptions=True)} == {ValueError}
        assert await pool.run(lambda: "free again") == "free again"

    asyncio.run(main())
    assert most == 2


def test_a_call_sees_the_context_of_its_caller() -> None:
    async def main() -> tuple[str, str, str]:
        pool = Pool(1, 8)

        def change() -> str:
            seen = WHO.get()
            WHO.set("the call")
            return seen

        WHO.set("the caller")
        return await pool.run(change), WHO.get(), await pool.run(WHO.get)

    assert asyncio.run(main()) == ("the caller", "the caller", "the caller")


def test_an_error_that_futures_do_not_take_is_an_error() -> None:
    """`StopIteration` cannot be put into a future: who waits is told nevertheless, and so is the next one."""

    async def main() -> None:
        pool = Pool(1, 8)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.wait_for(pool.run(lambda: next(iter(()))), 5)
        assert await asyncio.wait_for(pool.run(lambda: 1), 5) == 1

    asyncio.run(main())


def test_who_no_longer_waits_hinders_nobody() -> None:
    """A cancelled call ends unheard; the calls behind it are answered."""
    go = threading.Event()

    async def main() -> None:
        pool = Pool(1, 8)
        first = asyncio.ensure_future(pool.run(lambda: go.wait(60)))
        second = asyncio.ensure_future(pool.run(lambda: "second"))
        await asyncio.sleep(0.05)
        first.cancel()
        go.set()
        assert await asyncio.wait_for(second, 5) == "second"
        assert first.cancelled()

    asyncio.run(main())


def test_a_loop_that_has_ended_and_another_one() -> None:
    """Work that outlives its event loop ends quietly, and the pool serves the next loop."""
    go, done = threading.Event(), threading.Event()
    pool = Pool(2, 8)

    def late() -> None:
        go.wait(60)
        done.set()

    async def begin() -> None:
        asyncio.ensure_future(pool.run(late))  # noqa: RUF006  (it is to be left behind)
        await asyncio.sleep(0.05)

    asyncio.run(begin())
    go.set()
    assert done.wait(60)
    assert asyncio.run(pool.run(lambda: "next")) == "next"


def test_two_loops_at_once() -> None:
    pool = Pool(4, 500)

    async def many(start: int) -> list[int]:
        return await asyncio.gather(*(pool.run(lambda n=n: n) for n in range(start, start + 200)))

    with ThreadPoolExecutor(2) as threads:
        first, second = (threads.submit(lambda start=start: asyncio.run(many(start))) for start in (0, 1_000))
    assert first.result(20) == list(range(200))
    assert second.result(20) == list(range(1_000, 1_200))


def test_its_threads_end_with_it() -> None:
    pool = Pool(3, 1)
    asyncio.run(pool.run(lambda: None))
    threads = [t for t in threading.enumerate() if t.name.startswith("wenyuan-request")]
    assert len(threads) >= 3
    del pool
    gc.collect()
    own = threads[-3:]
    for thread in own:
        thread.join(5)
    assert not any(thread.is_alive() for thread in own)


def test_closing_waits_for_what_is_under_way() -> None:
    """After it no call computes; what was asked before is done, and a pool that is used again works."""
    done: list[int] = []

    def slow(number: int) -> None:
        time.sleep(0.1)
        done.append(number)

    async def begin() -> Pool:
        pool = Pool(2, 8)
        for number in range(4):
            asyncio.ensure_future(pool.run(lambda n=number: slow(n)))  # noqa: RUF006  (left behind, as by a server that stops)
        await asyncio.sleep(0.02)
        return pool

    pool = asyncio.run(begin())
    before = threading.active_count()
    pool.close(10)
    assert sorted(done) == [0, 1, 2, 3]
    assert threading.active_count() == before - 2
    assert asyncio.run(pool.run(lambda: "again")) == "again"


def test_closing_does_not_wait_for_ever() -> None:
    go = threading.Event()

    async def begin() -> Pool:
        pool = Pool(1, 8)
        asyncio.ensure_future(pool.run(lambda: go.wait(HANGS)))  # noqa: RUF006
        await asyncio.sleep(0.02)
        return pool

    pool = asyncio.run(begin())
    with in_time():
        pool.close(0.2)
    go.set()
