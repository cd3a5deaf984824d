"""Comparing statements in a thread of its own: who asks for it need not wait, and can see how far it is."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import KnowledgeError, msg

if TYPE_CHECKING:
    from wenyuan.service.conflicts.finder import Conflicts


class _Stopped(Exception):
    """The library is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonState:
    """How far a comparison is, or how the last one ended.

    Attributes:
        running: Whether one is under way.
        passages: How many were compared with all others so far.
        total: Of how many.
        conflicts: How many conflicts there were in the end; 0 while it runs.
        failure: Why it came to no end; "" where it did, or none was begun.
    """

    running: bool = False
    passages: int = 0
    total: int = 0
    conflicts: int = 0
    failure: str = ""

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "running": self.running, "passages": self.passages, "total": self.total, "conflicts": self.conflicts,
            "failure": self.failure,
        }  # fmt: skip


class ComparisonTask:
    """One comparison at a time. Safe to share between threads."""

    def __init__(self, conflicts: Conflicts) -> None:
        self._conflicts = conflicts
        self._lock = threading.Lock()
        self._stopping, self._ended = threading.Event(), threading.Event()
        self._state = ComparisonState()
        self._error: KnowledgeError | None = None

    @property
    def state(self) -> ComparisonState:
        """How far it is."""
        return self._state

    def compare(self, *, anew: bool = False, wait: float = 0.0) -> ComparisonState:
        """Begin a comparison, unless one is under way, and wait for its end.

        Args:
            anew: Compare everything.
            wait: Seconds; then it goes on by itself.

        Raises:
            KnowledgeError: it failed within that time.
        """
        with self._lock:
            if not self._state.running:
                self._ended.clear()
                self._state, self._error = ComparisonState(running=True), None
                threading.Thread(target=self._run, args=(anew,), name="wenyuan-comparison", daemon=True).start()
        if self._ended.wait(wait) and self._error is not None:
            raise self._error
        return self._state

    def stop(self) -> None:
        """End after the passages that it is at, and wait for that."""
        self._stopping.set()
        if self._state.running:
            self._ended.wait()

    def _run(self, anew: bool) -> None:
        failure = ""
        try:
            update = self._conflicts.find(anew=anew, progress=self._step)
            self._state = replace(
                self._state, passages=update.passages, total=update.passages, conflicts=update.conflicts
            )
        except _Stopped:
            failure = "the library was closed"
        except KnowledgeError as error:
            self._error, failure = error, str(error)
        except Exception as error:
            failure = msg("internal error: {kind}", kind=type(error).__name__)
            self._error = KnowledgeError(failure, component="conflicts")
            raise
        finally:
            self._state = replace(self._state, running=False, failure=failure)
            self._ended.set()

    def _step(self, done: int, total: int) -> None:
        self._state = replace(self._state, passages=done, total=total)
        if self._stopping.is_set():
            raise _Stopped
