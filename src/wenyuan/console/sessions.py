"""Sessions: a random id in a cookie refers to an API key, for as long as the server runs. And limits on sign-in attempts."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable

from wenyuan.server.buckets import Bucket

COOKIE = "wenyuan_session"
LASTS = 12 * 3600
"""Seconds after which a key has to be given again."""
_MOST = 1_000
_AT_ONCE = 5.0  # attempts to sign in that fail, before there is a wait
_EVERY = 10.0  # seconds of that wait


class ConsoleSessions:
    """API keys by session, and the rights of each. Session ids are stored hashed, so no cookie can be made from this
    content.

    The key counts only as long as the API accepts it: each call is made with it, so one that was revoked or has
    expired ends its sessions at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, str, frozenset[str]]] = OrderedDict()

    def begin(self, token: str, rights: frozenset[str]) -> str:
        """A new session for a key with these rights; returns its id. Beyond a thousand, the oldest session ends."""
        session = secrets.token_urlsafe(32)
        self._kept[_digest(session)] = (self._clock() + LASTS, token, rights)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return session

    def held(self, session: str) -> tuple[str, frozenset[str]]:
        """The key of a session and its rights; ``""`` and none when the session does not exist or has ended."""
        until, token, rights = self._kept.get(_digest(session), (0.0, "", frozenset()))
        if until <= self._clock():
            self._kept.pop(_digest(session), None)
            return "", frozenset()
        return token, rights

    def end(self, session: str) -> None:
        """Sign out."""
        self._kept.pop(_digest(session), None)


class Attempts:
    """Limits failed sign-ins per address: a number at once, then one at intervals.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, Bucket] = OrderedDict()

    def begun(self, address: str) -> int:
        """Seconds until the address may try a key; 0 uses one attempt."""
        place, now = _place(address), self._clock()
        tried = self._kept.setdefault(place, Bucket(1 / _EVERY, now, _AT_ONCE))
        self._kept.move_to_end(place)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return math.ceil(tried.wait(now))

    def counted(self, address: str) -> None:
        """The key was valid: reset the address's attempts."""
        self._kept.pop(_place(address), None)


def _place(address: str) -> str:
    """The unit in which a visitor's address is counted: an IPv4 address, or an IPv6 network."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(known) if known.version == 4 else str(ipaddress.ip_network((known, 64), strict=False))


def _digest(session: str) -> bytes:
    return hashlib.sha256(session.encode("utf-8", "replace")).digest()
