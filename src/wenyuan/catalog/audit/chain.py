"""The hash chain of audit records: what of a record is hashed, and how."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from typing import Any, NamedTuple

from wenyuan.core.errors import InvalidRequest, msg

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: it sorts as the numbers do
_RANDOM_BITS = 80
EXPIRED = "expire"
RENEWED = "renew head"


class Head(NamedTuple):
    """The last record of a chain; written ``seq:hash``."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Parse ``seq:hash``; InvalidRequest when the text has another form."""
        seq, _, digest = text.strip().partition(":")
        if not (seq.isascii() and seq.isdecimal() and len(digest) == 64 and set(digest) <= set("0123456789abcdef")):
            raise InvalidRequest(
                msg("{text} is no head of an audit: <number>:<64 hexadecimal digits>", text=repr(text[:100]))
            )
        return cls(int(seq), digest)


GENESIS = Head(0, "0" * 64)


class AuditRow(NamedTuple):
    """A stored record with its query; the query is None where it was not kept or was erased."""

    seq: int
    audit_id: str
    at: float
    kind: str
    principal: str
    record: str
    prev_hash: str
    hash: str
    salt: str | None = None
    query: str | None = None


def canonical(value: Any) -> str:
    """Canonical JSON of a value: sorted keys, no spaces, no NaN.

    Raises:
        TypeError, ValueError: it has none.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can escape and UTF-8 cannot hold
        return json.dumps(value, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text


def row_hash(previous: str, seq: int, audit_id: str, at: float, kind: str, principal: str, record: str) -> str:
    """The hash of a record that follows one whose hash is `previous`."""
    said = canonical([seq, audit_id, at, kind, principal, record])
    return hashlib.sha256(previous.encode() + said.encode()).hexdigest()


def commitment(salt: str, query: str) -> str:
    """SHA-256 of salt and query text, as stored in the chain. Without the salt it cannot be used to guess the query."""
    return hashlib.sha256(f"{salt}\n{query}".encode()).hexdigest()


class Ids:
    """Generates ids that sort by time: ``a-`` + 48 bits of milliseconds + 80 random bits, rising within one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self, at: float) -> str:
        fresh = int(at * 1e3) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        with self._lock:  # the clock may stand still, or be set back
            self._last = number = max(fresh, self._last + 1)
        return "a-" + "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
