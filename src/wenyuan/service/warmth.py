"""What the first question would have to wait for, made ready in a thread as soon as a server begins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

__all__ = ["WarmUp"]

log = logging.getLogger(__name__)


class WarmUp:
    """Does once what the first question would have to wait for; what comes meanwhile waits for it, as it would without it.

    Args:
        work: Does it. What fails in it is only logged: who asks next tries again, and is told.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wenyuan-warm-up", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has ended, at most so long."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    @property
    def under_way(self) -> bool:
        return not self._ended.is_set()

    def _run(self) -> None:
        try:
            self._work()
        except Exception:
            log.exception("warming up failed")
        finally:
            self._ended.set()
