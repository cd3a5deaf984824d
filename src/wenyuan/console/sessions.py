"""Sessions: a random id in a cookie refers to a credential, for as long as the server runs, or one of those that share a record. And limits
on sign-in attempts.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import logging
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from wenyuan.core.errors import KnowledgeError
from wenyuan.issuer.console_sessions import is_session
from wenyuan.server.buckets import Bucket

_log = logging.getLogger("wenyuan.console")

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
        shared: Whether other servers know it, and may end it.
    """

    token: str = ""
    rights: frozenset[str] = frozenset()
    name: str = ""
    until: float = 0.0
    shared: bool = False


NO_SESSION = ConsoleSession()


class SessionStore(Protocol):
    """Where several servers keep their sessions: `server.shared_sessions`."""

    def get(self, name: str) -> tuple[str, float] | None: ...

    def put(self, name: str, sealed: str, lasts: float) -> None: ...

    def drop(self, name: str) -> None: ...


class ConsoleSessions:
    """Credentials by session. Session ids are stored hashed, so no cookie can be made from this content.

    A credential counts only as long as the API accepts it: each call is made with it, so a key that was revoked or has
    expired ends its sessions at once. With a store, a key's session counts at all servers that have it: there the key is
    sealed with the session's id, which the browser alone has. Whom an issuer has told is known to one server only.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, store: SessionStore | None = None) -> None:
        self._clock, self._store = clock, store
        self._kept: OrderedDict[bytes, ConsoleSession] = OrderedDict()

    @property
    def is_shared(self) -> bool:
        """Whether other servers may know of sessions."""
        return self._store is not None

    def begin(self, token: str, rights: frozenset[str], name: str = "", lasts: float = LASTS) -> str:
        """A new session for a credential; returns its id. Beyond a thousand, the oldest session ends.

        Args:
            lasts: Seconds.
        """
        session = secrets.token_urlsafe(32)
        self._keep(session, ConsoleSession(token, rights, name, self._clock() + min(lasts, LASTS)))
        return session

    def share(self, session: str) -> None:
        """Let a session that has begun count at the other servers, too. It may wait for a database; where that fails, it counts here."""
        held = self.held(session)
        if self._store is None or is_session(held.token) or not held.token:
            return
        told = json.dumps([held.token, sorted(held.rights), held.name])
        with self._tried():
            self._store.put(_digest(session).hex(), _sealed(told.encode(), session).hex(), held.until - self._clock())
            self._keep(session, replace(held, shared=True))

    def look_up(self, session: str) -> None:
        """Learn from the other servers of a session that began or ended there. It may wait for a database; where that fails, what
        is known here counts.
        """
        if self._store is None or not session:
            return
        known = self.held(session)
        if known is not NO_SESSION and not known.shared:
            return
        with self._tried():
            found = self._store.get(_digest(session).hex())
            if found is None:
                self._kept.pop(_digest(session), None)
            elif known is NO_SESSION:
                token, rights, name = json.loads(_sealed(bytes.fromhex(found[0]), session))
                self._keep(
                    session,
                    ConsoleSession(token, frozenset(rights), name, self._clock() + min(found[1], LASTS), True),
                )

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

    def end_everywhere(self, session: str) -> None:
        """Let a session that has ended here end at the other servers, too. It may wait for a database."""
        if self._store is not None and session:
            with self._tried():
                self._store.drop(_digest(session).hex())

    def _keep(self, session: str, held: ConsoleSession) -> None:
        self._kept[_digest(session)] = held
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    @contextmanager
    def _tried(self) -> Iterator[None]:
        try:
            yield
        except (KnowledgeError, ValueError) as error:
            _log.warning("sessions of the console are not shared: %s", error)


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


def _sealed(content: bytes, session: str) -> bytes:
    """Content combined with bytes made of a session's id, which seals it and opens it again. An id seals one content, once."""
    stream = hashlib.shake_256(b"sealed\x00" + session.encode("utf-8", "replace")).digest(len(content))
    return bytes(one ^ other for one, other in zip(content, stream, strict=True))


def _digest(session: str) -> bytes:
    return hashlib.sha256(session.encode("utf-8", "replace")).digest()
