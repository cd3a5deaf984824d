"""Who is signed in: a random id in a cookie stands for an API key, for as long as the server runs."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["COOKIE", "LASTS", "Sessions"]

COOKIE = "wenyuan_session"
LASTS = 12 * 3600
"""Seconds after which a key has to be given again."""
_MOST = 1_000


class Sessions:
    """Keys by session. The id itself is not kept: with what is in here alone, no cookie can be made.

    The key counts only as long as the API accepts it: each call is made with it, so one that was revoked or has
    expired ends its sessions at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, str]] = OrderedDict()

    def begin(self, token: str) -> str:
        """A new session for a key; returns its id. Beyond a thousand, the oldest ends."""
        session = secrets.token_urlsafe(32)
        self._kept[_digest(session)] = (self._clock() + LASTS, token)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return session

    def token(self, session: str) -> str:
        """The key of a session, ``""`` when there is no such session or it has ended."""
        until, token = self._kept.get(_digest(session), (0.0, ""))
        if until <= self._clock():
            self._kept.pop(_digest(session), None)
            return ""
        return token

    def end(self, session: str) -> None:
        """Sign out."""
        self._kept.pop(_digest(session), None)


def _digest(session: str) -> bytes:
    return hashlib.sha256(session.encode("utf-8", "replace")).digest()
