"""Where the legs of a request run: threads of their own, so that one that hangs cannot hold the request."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from typing import Any, TypeVar

from wenyuan.core.errors import EngineTimeout, EngineUnavailable, KnowledgeError
from wenyuan.core.ports import Deadline

__all__ = ["Crew", "outcome"]

T = TypeVar("T")


class Crew:
    """A fixed number of daemon threads. They are daemons, because one stuck in a library must not keep the
    process from ending; their number is fixed, so that stuck ones are found out instead of piling up.
    """

    def __init__(self, size: int) -> None:
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._size = size
        for number in range(size):
            threading.Thread(target=self._work, name=f"wenyuan-leg-{number}", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Start `call` in a thread."""
        future: Future[T] = Future()
        self._jobs.put((future, call))
        return future

    def close(self) -> None:
        for _ in range(self._size):
            self._jobs.put(None)


def outcome(future: Future[T], name: str, deadline: Deadline) -> T:
    """The result of a leg.

    Raises:
        EngineTimeout: it did not answer in time (it is cancelled if it had not begun).
        KnowledgeError: what the leg raised; anything else it raised becomes `EngineUnavailable`.
    """
    try:
        return future.result(timeout=deadline.remaining())
    except NotDone as error:
        if future.done():  # the leg itself raised a TimeoutError
            raise EngineUnavailable(f"{type(error).__name__}: {error}", component=name) from error
        future.cancel()
        raise EngineTimeout("no answer before the deadline", component=name) from error
    except KnowledgeError:
        raise
    except Exception as error:
        raise EngineUnavailable(f"{type(error).__name__}: {error}", component=name) from error
