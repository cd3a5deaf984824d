"""Persons who have signed in at the console: each has a credential that only this process knows."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from wenyuan.core.person import Person
from wenyuan.issuer.tokens import TokenRefused

_MOST = 1_000
_FORM = re.compile(r"ws_[A-Za-z0-9_\-]{43}")

Renew = Callable[[Person, str], tuple[Person, str]]
"""Asks the issuer who somebody is now; see `login.Login.renew`."""


@dataclass(slots=True)
class _Session:
    """Attributes:
    token: By what the issuer can be asked again; "" where it cannot be.
    checked_until: Until when what the issuer has said counts; seconds since the epoch.
    asking: Held by whoever asks it.
    """

    person: Person
    token: str
    checked_until: float
    asking: threading.Lock = field(default_factory=threading.Lock)


class SignedIn:
    """Persons by credential. Thread-safe.

    The console asks the API with the credential, which leaves the process never; what the person may do is looked up at each
    request. Who they are is asked of the issuer again after a while, so that groups that were taken away, and people who have left,
    do not count for as long as a session lasts.

    Args:
        clock: Seconds since the epoch.
        checked: Seconds that what the issuer has said counts.
        renew: Asks it again; None: nobody can, and sessions end then.
    """

    def __init__(
        self, clock: Callable[[], float] = time.time, checked: float = float("inf"), renew: Renew | None = None
    ) -> None:
        self._clock = clock
        self._checked = checked
        self._renew = renew
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, _Session] = OrderedDict()

    def begin(self, person: Person, token: str = "") -> str:
        """A credential for a person, until their `Person.until`. Beyond a thousand, the oldest ends.

        Args:
            token: By what the issuer can be asked again; it is kept in memory alone.
        """
        credential = f"ws_{secrets.token_urlsafe(32)}"
        with self._lock:
            self._kept[_digest(credential)] = _Session(person, token, self._clock() + self._checked)
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return credential

    def person(self, credential: str) -> Person | None:
        """Whose credential this is; None where it is nobody's, or over. It may wait for the issuer.

        Raises:
            IssuerUnavailable: who they are now cannot be asked. The next request asks again.
        """
        if not is_session(credential):
            return None
        name = _digest(credential)
        with self._lock:
            found = self._kept.get(name)
        if found is None:
            return None
        if found.person.until <= self._clock() or not self._vouched(found):
            with self._lock:
                self._kept.pop(name, None)
            return None
        return found.person

    def due(self, credential: str) -> bool:
        """Whether the issuer is asked for the next request with a credential, which may take a while."""
        with self._lock:
            found = self._kept.get(_digest(credential))
        return found is not None and self._clock() >= found.checked_until

    def _vouched(self, session: _Session) -> bool:
        """Whether the issuer says, or has said just now, who somebody is."""
        with session.asking:
            if self._clock() < session.checked_until:
                return True
            if self._renew is None or not session.token:
                return False
            try:
                session.person, session.token = self._renew(session.person, session.token)
            except TokenRefused:
                return False
            session.checked_until = self._clock() + self._checked
            return True

    def end(self, credential: str) -> Person | None:
        """Sign out; whoever it was."""
        with self._lock:
            found = self._kept.pop(_digest(credential), None)
        return None if found is None else found.person


def is_session(credential: str) -> bool:
    """Whether a bearer's credential has the form of one of these."""
    return _FORM.fullmatch(credential) is not None


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode("utf-8", "replace")).digest()
