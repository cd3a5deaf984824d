"""How much each caller has asked for: token buckets and counts of open requests, of one process or of several together."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

_REMEMBERED = 10_000  # callers
_BURST_SECONDS = 2.0  # what a quiet caller may save up


class Bucket:
    """Token bucket: each request takes one token, and tokens are refilled over time.

    Args:
        rate: Tokens a second.
        most: How many may be saved up; by default those of two seconds.
    """

    def __init__(self, rate: float, now: float, most: float = 0.0) -> None:
        self.rate = rate
        self.most = most or max(1.0, rate * _BURST_SECONDS)
        self.tokens = self.most
        self.at = now
        self.open = 0

    def wait(self, now: float) -> float:
        """Seconds until a request may proceed; 0 takes a token."""
        self.tokens = min(self.most, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1.0:
            self.tokens -= 1.0
            return 0.0
        return (1.0 - self.tokens) / self.rate


class Buckets(Protocol):
    """Buckets by the names of callers. Used only on the event loop."""

    def begin(self, name: str, *, rate: float, concurrency: int, now: float) -> tuple[int, float]:
        """Begin a request, unless too many are open or its caller asks too often.

        Args:
            rate: Requests a second; 0: no limit.
            concurrency: Requests that may be open; 0: no limit.
            now: Seconds on a clock that is the same in all processes of the machine.

        Returns:
            How many are open where that is too many, else 0; and the seconds until a request may begin. Both are 0 where
            it has begun, and `end` has to follow.
        """
        ...

    def end(self, name: str) -> None:
        """A request that had begun has ended."""
        ...


def _bucket_at(bucket: Bucket, *, rate: float, concurrency: int, now: float) -> tuple[int, float]:
    if concurrency and bucket.open >= concurrency:
        return bucket.open, 0.0
    if rate and (wait := bucket.wait(now)):
        return 0, wait
    bucket.open += 1
    return 0, 0.0


class OwnBuckets:
    """The buckets of a process that serves alone."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, Bucket] = OrderedDict()

    def begin(self, name: str, *, rate: float, concurrency: int, now: float) -> tuple[int, float]:
        caller = self._callers.get(name)
        if caller is None:
            caller = self._callers[name] = Bucket(rate, now)
            while len(self._callers) > _REMEMBERED:
                self._callers.popitem(last=False)
        self._callers.move_to_end(name)
        return _bucket_at(caller, rate=rate, concurrency=concurrency, now=now)

    def end(self, name: str) -> None:
        if (caller := self._callers.get(name)) is not None:
            caller.open -= 1


class SharedBuckets:
    """The buckets of processes that serve together, in a file that all of them map.

    A row has the digest of a name, its tokens and when they were counted, and the open requests of each process: those of
    one that was killed are none as soon as another takes its place. The file is locked for the microseconds of a change.

    Args:
        file: Made when missing.
        number: The place of this process.
        count: How many there are.
        rows: How many callers are remembered, about.
    """

    _NEAR = 16  # rows in which a name may stand

    def __init__(self, file: Path, number: int, count: int, rows: int = _REMEMBERED) -> None:
        self._row = struct.Struct(f"=16sdd{count}H")
        self._number, self._rows = number, rows + self._NEAR
        self._handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with self._locked():
            size = self._rows * self._row.size
            if os.fstat(self._handle).st_size < size:
                os.ftruncate(self._handle, size)
            self._map = mmap.mmap(self._handle, size)
            for row in range(self._rows):  # what a former process of this place had open
                digest, tokens, at, *open_ = self._row.unpack_from(self._map, row * self._row.size)
                if open_[number]:
                    open_[number] = 0
                    self._row.pack_into(self._map, row * self._row.size, digest, tokens, at, *open_)

    def close(self) -> None:
        """Let the file go."""
        self._map.close()
        os.close(self._handle)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with suppress(OSError):
                fcntl.lockf(self._handle, fcntl.LOCK_UN)

    def begin(self, name: str, *, rate: float, concurrency: int, now: float) -> tuple[int, float]:
        digest = _digest(name)
        with self._locked():
            place = self._place(digest)
            held, tokens, at, *open_ = self._row.unpack_from(self._map, place)
            bucket = Bucket(rate, now)
            if held == digest:
                bucket.tokens, bucket.at = tokens, at
            else:
                open_ = [0] * len(open_)
            bucket.open = sum(open_)
            refused = _bucket_at(bucket, rate=rate, concurrency=concurrency, now=now)
            open_[self._number] += refused == (0, 0.0)
            self._row.pack_into(self._map, place, digest, bucket.tokens, bucket.at, *open_)
            return refused

    def end(self, name: str) -> None:
        digest = _digest(name)
        with self._locked():
            place = self._place(digest)
            held, tokens, at, *open_ = self._row.unpack_from(self._map, place)
            if held == digest and open_[self._number]:
                open_[self._number] -= 1
                self._row.pack_into(self._map, place, digest, tokens, at, *open_)

    def _place(self, digest: bytes) -> int:
        """Where the row of a name is; that of who asked last longest ago, with nothing open, where it has none yet."""
        start = int.from_bytes(digest[:8], "big") % (self._rows - self._NEAR)
        best, oldest = start, (True, float("inf"))
        for row in range(start, start + self._NEAR):
            held, _, at, *open_ = self._row.unpack_from(self._map, row * self._row.size)
            if held == digest:
                return row * self._row.size
            if (rank := (any(open_), at)) < oldest:
                best, oldest = row, rank
        return best * self._row.size


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()[:16]
