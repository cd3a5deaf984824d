"""Who signed in at the console, and out, and who was refused, in the audit."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from wenyuan.core.access import Principal
from wenyuan.core.errors import KnowledgeError
from wenyuan.service.audit.recorder import ACTING

_log = logging.getLogger("wenyuan.server")
NOBODY = "nobody"
"""The principal of what was refused to somebody who is not known."""
MOST_REFUSED = 60
SPAN = 600.0
"""So many refused sign-ins are recorded in so many seconds; how many more there were is said by the next record."""

Way = Literal["key", "issuer"]
Change = Callable[[Literal["sign_in"], str, str, Any, Any], None]
"""Writes down a change, by the principal in `ACTING`: kind, action, name, before, after."""


class SignIns:
    """Records sign-ins. Thread-safe; what it is given is the library's own words, never what somebody has sent.

    Args:
        change: Writes a record.
        clock: Seconds that never go back.
    """

    def __init__(self, change: Change, clock: Callable[[], float] = time.monotonic) -> None:
        self._change = change
        self._clock = clock
        self._lock = threading.Lock()
        self._refused: deque[float] = deque()
        self._left_out = 0

    def signed_in(self, principal: str, way: Way) -> None:
        """Somebody has signed in.

        Raises:
            CatalogUnavailable: the audit cannot be written.
        """
        self._write(principal, "signed in", way, None)

    def signed_out(self, principal: str, way: Way) -> None:
        """Somebody has signed out, which is not held up by an audit that cannot be written."""
        self._try(principal, "signed out", way, None)

    def refused(self, reason: str, way: Way, principal: str = NOBODY) -> None:
        """A sign-in was refused.

        Args:
            reason: Why, as it was told to whoever tried.
            principal: Who it was, where that is known.
        """
        with self._lock:
            now = self._clock()
            while self._refused and now - self._refused[0] >= SPAN:
                self._refused.popleft()
            if len(self._refused) >= MOST_REFUSED:
                self._left_out += 1
                return
            self._refused.append(now)
            left_out, self._left_out = self._left_out, 0
        told = {"reason": str(reason)} | ({"not recorded before": left_out} if left_out else {})
        self._try(principal, "refused", way, told)

    def _try(self, principal: str, action: str, way: Way, told: dict[str, Any] | None) -> None:
        try:
            self._write(principal, action, way, told)
        except KnowledgeError as error:
            _log.error("a sign-in could not be recorded: %s", error)

    def _write(self, principal: str, action: str, way: Way, told: dict[str, Any] | None) -> None:
        acting = ACTING.set(Principal(key_id=principal, rights=frozenset()))
        try:
            self._change("sign_in", action, way, None, told)
        finally:
            ACTING.reset(acting)
