"""Group commit: callers queue entries and continue; one thread commits many entries at once."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from wenyuan.core.errors import CatalogUnavailable, KnowledgeError, msg

log = logging.getLogger(__name__)

T = TypeVar("T")

_MOST = 1_000  # in one transaction
_MOST_WAITING = 20_000  # above this the disk is too slow for the load, and new entries are refused
_RETRY = 0.25  # seconds after a failure; meanwhile every answer is refused


class GroupWriter(Generic[T]):
    """Queues entries and writes them in order, in groups, from its own thread.

    When writing fails, nothing is dropped: queued entries wait, new ones are refused, and writing is retried every
    second and by every `flush`, until it succeeds.

    Args:
        write: Makes a group durable, or raises; any exception counts as a failed write.
        after: Seconds to wait for more entries after the first of a group.
        rest: Called once when nothing came for `rest_after` seconds after a group.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[Sequence[T]], None],
        *,
        after: float,
        rest: Callable[[], None] = lambda: None,
        rest_after: float = 30.0,
    ) -> None:
        self._name = name
        self._write = write
        self._after = after
        self._rest, self._rest_after = rest, rest_after
        self._change = threading.Condition()
        self._waiting: list[T] = []
        self._since = 0.0  # about when the oldest waiting entry was added
        self._taken = 0  # entries ever taken; those that no longer wait are durable
        self._tries = 0  # groups whose writing was attempted
        self._failure: Exception | None = None
        self._hurry = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def state(self) -> tuple[int, float, bool]:
        """Number of entries not durable yet, age of the oldest in seconds, and whether writing fails."""
        with self._change:
            lag = time.monotonic() - self._since if self._waiting else 0.0
            return len(self._waiting), lag, self._failure is not None

    def check(self) -> None:
        """Raise as `add` would, without adding anything."""
        if self._closed:
            raise CatalogUnavailable("closed; nothing can be written any more", component=self._name)
        if self._failure is not None:
            raise self._failed(self._failure) from self._failure
        if len(self._waiting) >= _MOST_WAITING:
            raise CatalogUnavailable(
                msg("{waiting} entries wait to be written", waiting=len(self._waiting)), component=self._name
            )

    def add(self, entry: T) -> None:
        """Queue an entry for writing.

        Raises:
            CatalogUnavailable: the last writing failed, too much is waiting, or this is closed.
        """
        with self._change:
            self.check()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting.append(entry)
            self._taken += 1
            if len(self._waiting) == 1 or len(self._waiting) == _MOST:
                self._change.notify_all()

    def flush(self, timeout: float = 30.0) -> None:
        """Wait until everything queued before this call is durable.

        Raises:
            CatalogUnavailable: writing failed, or took longer than `timeout` seconds.
        """
        until = time.monotonic() + timeout
        with self._change:
            goal, tries = self._taken, self._tries
            while self._taken - len(self._waiting) < goal:
                self._hurry = True
                self._change.notify_all()
                if self._failure is not None and self._tries > tries:
                    raise self._failed(self._failure) from self._failure
                left = until - time.monotonic()
                if left <= 0:
                    raise CatalogUnavailable(
                        msg("not written within {timeout} s", timeout=f"{timeout:g}"), component=self._name
                    )
                self._change.wait(left)

    def close(self, timeout: float = 30.0) -> None:
        """Write what is queued and stop the thread; may be called twice. CatalogUnavailable when entries were lost."""
        with self._change:
            self._closed = True
        try:
            self.flush(timeout)
        finally:
            with self._change:
                lost, self._waiting = len(self._waiting), []
                self._change.notify_all()
            if lost:
                log.error("%s: %d entries were not written", self._name, lost)
            if self._thread is not None:
                self._thread.join(timeout)

    # -- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        rested = True
        while True:
            group = self._next_group(None if rested else time.monotonic() + self._rest_after)
            if group is None:
                self._rest()
                rested = True
                continue
            if not group:
                return
            rested = False
            failure: Exception | None = None
            try:
                self._write(group)
            except Exception as error:
                failure = error
            with self._change:
                self._note(len(group), failure)

    def _next_group(self, rest_at: float | None) -> list[T] | None:
        """The next group to write; empty once the writer is closed, None where nothing came until `rest_at`."""
        with self._change:
            while not self._waiting and not self._closed:
                left = None if rest_at is None else rest_at - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._change.wait(left)
            until = time.monotonic() + (_RETRY if self._failure is not None else self._after)
            while self._waiting and not (self._hurry or self._closed):
                left = until - time.monotonic()
                if left <= 0 or (self._failure is None and len(self._waiting) >= _MOST):
                    break
                self._change.wait(left)
            self._hurry = False
            return self._waiting[:_MOST]

    def _note(self, count: int, failure: Exception | None) -> None:
        self._tries += 1
        if failure is None:
            del self._waiting[:count]
            self._since = time.monotonic()  # those that came while the group was written
            if self._failure is not None:
                log.warning("%s: written again", self._name)
        elif self._failure is None:
            log.error("%s: cannot be written: %s", self._name, failure)
        self._failure = failure
        self._change.notify_all()

    def _failed(self, failure: Exception) -> CatalogUnavailable:
        said = failure.message if isinstance(failure, KnowledgeError) else type(failure).__name__
        hint = failure.hint if isinstance(failure, KnowledgeError) else ""
        return CatalogUnavailable(msg("cannot be written: {said}", said=said), component=self._name, hint=hint)
