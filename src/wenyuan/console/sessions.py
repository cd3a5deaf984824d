"""Sessions: a random id in a cookie refers to a credential, for as long as the server runs. And limits on sign-in attempts."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from wenyuan.server.buckets import Bucket

COOKIE = "wenyuan_session"
LASTS = 12 * 3600
"""Seconds after which one has to sign in again, at most."""
_MOST = 1_000
_AT_ONCE = 5.0  # attempts to sign in that fail, before there is a wait
_EVERY = 10.0  # seconds of that wait


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """A session.

    Attributes:
        token: The credential with which the API is asked: a key, or what stands for whom the issuer has told.
        rights: Those of it that pages depend on.
        name: Of whoever has signed in; "" for a key.
        until: On the clock of its `ConsoleSessions`.
    """

    token: str = ""
    rights: frozenset[str] = frozenset()
    name: str = ""
    until: float = 0.0


NO_SESSION = ConsoleSession()


class ConsoleSessions:
    """Credentials by session. Session ids are stored hashed, so no cookie can be made from this content.

    A credential counts only as long as the API accepts it: each call is made with it, so a key that was revoked or has
    expired ends its sessions at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[bytes, ConsoleSession] = OrderedDict()

    def begin(self, token: str, rights: frozenset[str], name: str = "", lasts: float = LASTS) -> str:
        """A new session for a credential; returns its id. Beyond a thousand, the oldest session ends.

        Args:
            lasts: Seconds.
        """
        session = secrets.token_urlsafe(32)
        self._kept[_digest(session)] = ConsoleSession(token, rights, name, self._clock() + min(lasts, LASTS))
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return session

    def held(self, session: str) -> ConsoleSession:
        """A session by its id; `NO_SESSION` where there is none, or it has ended."""
        found = self._kept.get(_digest(session), NO_SESSION)
        if found.until <= self._clock():
            self._kept.pop(_digest(session), None)
            return NO_SESSION
        return found

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
