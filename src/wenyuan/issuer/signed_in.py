"""Persons who have signed in at the console: each has a credential that only this process knows."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from wenyuan.core.person import Person

_MOST = 1_000
_FORM = re.compile(r"ws_[A-Za-z0-9_\-]{43}")


class SignedIn:
    """Persons by credential. Thread-safe.

    The console asks the API with the credential, which leaves the process never; what the person may do is looked up at each
    request.

    Args:
        clock: Seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Person] = OrderedDict()

    def begin(self, person: Person) -> str:
        """A credential for a person, until their `Person.until`. Beyond a thousand, the oldest ends."""
        credential = f"ws_{secrets.token_urlsafe(32)}"
        with self._lock:
            self._kept[_digest(credential)] = person
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return credential

    def person(self, credential: str) -> Person | None:
        """Whose credential this is; None where it is nobody's, or over."""
        if not is_session(credential):
            return None
        with self._lock:
            found = self._kept.get(_digest(credential))
            if found is not None and found.until <= self._clock():
                del self._kept[_digest(credential)]
                return None
            return found

    def end(self, credential: str) -> None:
        """Sign out."""
        with self._lock:
            self._kept.pop(_digest(credential), None)


def is_session(credential: str) -> bool:
    """Whether a bearer's credential has the form of one of these."""
    return _FORM.fullmatch(credential) is not None


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode("utf-8", "replace")).digest()
