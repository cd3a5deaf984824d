"""The hash chain of audit records: what is hashed, how a fault is found, and the file that stores the chain's head.

::

    hash(n) = SHA-256( hash(n − 1) ‖ canonical JSON of [seq, audit_id, at, kind, principal, record] )

So a record cannot be edited, removed, inserted or moved without all later hashes changing. What the chain alone
cannot show is that its end was cut off: for that the head is also stored beside the database, and can be stored
elsewhere. Anyone who can write to the folder can make a whole new chain; only a head kept elsewhere shows that.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from wenyuan.core.errors import CatalogUnavailable, InvalidRequest, msg
from wenyuan.core.records import AuditFault
from wenyuan.runtime import exists
from wenyuan.runtime.regular import open_regular, read_regular

__all__ = ["GENESIS", "AuditFault", "Head", "HeadFile", "Ids", "Row", "canonical", "check", "commitment", "row_hash"]


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


class Row(NamedTuple):
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


# --- finding what is wrong --------------------------------------------------------------------------------
def check(rows: Iterable[Row], start: Head, heads: Mapping[str, Head]) -> tuple[Head, AuditFault | None]:
    """Verify a chain; returns the last valid record, and the first fault or None.

    Args:
        start: Where the chain begins: `GENESIS`, or the cut that retention made.
        heads: Heads stored outside the chain, by where they were stored.
    """
    at = start
    confirmed = start == GENESIS
    for row in rows:
        what = _fault(row, at) or _other_head(heads, Head(row.seq, row.hash))
        if what:
            return at, AuditFault(row.seq if row.seq <= at.seq + 1 else at.seq + 1, what)
        at = Head(row.seq, row.hash)
        confirmed = confirmed or (row.kind == "audit" and _names_cut(row, start))
    if not confirmed:
        return at, AuditFault(start.seq, "records were removed up to here, and no record says so")
    return at, _at_the_ends(heads, start, at)


def _fault(row: Row, before: Head) -> str:
    if row.seq > before.seq + 1:
        return msg("missing: the records {seq} to {seq2} were removed", seq=before.seq + 1, seq2=row.seq - 1)
    if row.seq <= before.seq:
        return msg("inserted: it stands after record {seq}", seq=before.seq)
    if row.hash != _hash_of(row):
        return "edited or moved: its hash is not that of its content"
    if row.prev_hash != before.hash:
        return msg("inserted or rewritten: it does not follow record {seq}", seq=before.seq)
    if row.query is not None and _said(row).get("query_sha256") != commitment(row.salt or "", row.query):
        return "its kept query was edited"
    return ""


def _hash_of(row: Row) -> str:
    try:
        return row_hash(row.prev_hash, *row[:6])
    except (AttributeError, TypeError, ValueError):  # a column is not even of its type
        return ""


def _said(row: Row) -> Mapping[str, Any]:
    try:
        said = json.loads(row.record)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _other_head(heads: Mapping[str, Head], at: Head) -> str:
    for name, head in heads.items():
        if head.seq == at.seq and head.hash != at.hash:
            return msg("rewritten: {name} has another hash", name=name)
    return ""


def _names_cut(row: Row, start: Head) -> bool:
    said = _said(row)
    return bool(said.get("action") == EXPIRED and said.get("cut") == str(start))


def _at_the_ends(heads: Mapping[str, Head], start: Head, end: Head) -> AuditFault | None:
    for name, head in heads.items():
        if head.seq > end.seq:
            return AuditFault(
                end.seq + 1, msg("truncated: {name} knows records up to {seq}", name=name, seq=head.seq)
            )
        if head.seq < start.seq:
            return AuditFault(
                head.seq, msg("expired: {name} is older than what retention left, and proves nothing", name=name)
            )
        if head.seq == start.seq and head.hash != start.hash:
            return AuditFault(head.seq, msg("rewritten: {name} has another hash", name=name))
    return None


# --- the head, beside the database ------------------------------------------------------------------------
class HeadFile:
    """``audit.head``: one line, rewritten in place after every commit, so it is never ahead of the database."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Head | None:
        """The stored head, or None without a file; CatalogUnavailable when the file cannot be parsed."""
        try:
            with os.fdopen(open_regular(self.path), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                text = file.read(200).decode("ascii", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error
        return self._parsed(text) if text else None

    def create(self, head: Head = GENESIS) -> None:
        """Create the file for a new or newly joined chain; an existing file with a later head is kept."""
        self._write(lambda written: not written or self._parsed(written).seq < head.seq, head)

    def advance(self, head: Head) -> None:
        """Write a head and sync it to disk, unless another process has already written a later one.

        A missing or empty file is not created again: whoever deleted it may have cut off the chain's end, and a new
        file would hide that.
        """
        try:
            there = exists(self.path)
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error
        if there:
            self._write(lambda written: bool(written) and self._parsed(written).seq < head.seq, head)

    def replace(self, head: Head) -> None:
        """Write a head whatever the file says; called only on an operator's order, which is recorded."""
        self._write(lambda written: True, head)

    def text(self) -> str:
        """The file's raw content, whether it can be parsed or not; ``""`` without a file."""
        try:
            return read_regular(self.path)[:200].decode("ascii", "replace").strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error

    def _write(self, wanted: Callable[[str], bool], head: Head) -> None:
        try:
            handle = open_regular(self.path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                written = os.pread(handle, 200, 0).decode("ascii", "replace")
                if wanted(written):
                    line = f"{head.seq:019d}:{head.hash}\n".encode()  # of one length: a rewrite needs no new space
                    os.pwrite(handle, line, 0)
                    os.ftruncate(handle, len(line))
                    os.fsync(handle)
            finally:
                os.close(handle)  # closing releases the lock
            if not written:
                self._sync_folder()
        except OSError as error:
            raise CatalogUnavailable(
                msg("cannot write {path}: {strerror}", path=self.path, strerror=error.strerror),
                component="audit",
                hint="check that there is room on the disk, and that this user may write to the library's folder",
            ) from error

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _parsed(self, text: str) -> Head:
        try:
            return Head.parse(text)
        except InvalidRequest as error:
            raise self._unreadable(error.message) from error

    def _unreadable(self, why: str) -> CatalogUnavailable:
        return CatalogUnavailable(
            msg("{path} cannot be read: {why}", path=self.path, why=why),
            component="audit",
            hint="verify the audit against a head that was exported, then: wenyuan audit verify --renew-head",
        )
