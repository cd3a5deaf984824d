"""What the first question would have to wait for, made ready in a thread as soon as a server begins."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

__all__ = ["WarmUp"]

log = logging.getLogger(__name__)


class WarmUp:
    """Reads the names of the rules graph; questions that come meanwhile wait for it, as they would without it.

    Args:
        read: Reads them, and says whether there are any rules.
    """

    def __init__(self, read: Callable[[], bool]) -> None:
        self._read = read
        self._told: Mapping[str, object] = {
            "state": "ok",  # questions are answered, only later
            "detail": "the names of the rules are being read: the first question waits for them",
        }
        self._thread = threading.Thread(target=self._run, name="wenyuan-warm-up", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread.is_alive():
            self._thread.join()

    def told(self) -> Mapping[str, object]:
        """How far it is: ``state`` and ``detail`` of the part ``rules`` of readiness."""
        return self._told

    def _run(self) -> None:
        begun = time.perf_counter()
        try:
            found = self._read()
        except Exception as error:  # whoever asks next tries again, and is told if that fails, too
            log.exception("warming up failed")
            reason = str(error) or type(error).__name__
            self._told = {"state": "degraded", "detail": f"the names of the rules could not be read: {reason}"}
            return
        ms = round((time.perf_counter() - begun) * 1e3, 2)
        detail = "the names of the rules are read" if found else "the library has no rules"
        self._told = {"state": "ok", "detail": detail, "ms": ms}
