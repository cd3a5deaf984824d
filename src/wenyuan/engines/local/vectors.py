"""The vector half: an exact-recall scan. Short codes find candidates, float32 rows decide.

The candidates' float32 rows are read from a file (see `stored`) and checked against their checksums before they count. A
filter is a row mask handed to the scan, which stays exact; few enough rows are compared in float32, and so are the newest,
which get their codes some thousands at a time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wenyuan.core.errors import IndexCorrupt, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.vector_sums import Sums
from wenyuan.engines.local.columns import BLOCK, Array, GrowableArray, Signature, StoredRows
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from wenyuan.engines.local.quantisation import QuantizedVectors

_COMPONENT = "engine local/vector"
EXACT_ROWS = 4_096  # up to here comparing all float32 rows is as fast as the coded scan
# Candidates rescored: see docs/explanation/scale.md. Enough for recall@10 1.0 even where hundreds of rows are about equally
# near, as real passages are.
_RESCORE_FLOOR, _RESCORE_FACTOR, _RESCORE_SHARE = 400, 4, 1 / 1_500
_TRAIN_ROWS = 16_384
_MOST_ALONG = 8


class VectorScan:
    """Vectors by row number: those on disk, then those that are in memory only.

    Queries read a `frozen` scan; only the one that grows is changed.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._stored = StoredRows(None, 0, dimension)
        self._tail = GrowableArray(np.empty((0, dimension), dtype=np.float32))
        self._codes: QuantizedVectors | None = None  # of the first rows; None while they are few
        self._along: dict[bytes, Array] = {}  # cosines of the first rows, by the vector: rows never change
        self.sums = Sums.empty(dimension)
        self.recoded = False
        """The codes on disk are of a kind that an earlier version wrote; those in memory were made anew."""

    def __len__(self) -> int:
        return self._stored.count + len(self._tail.view)

    def frozen(self) -> VectorScan:
        """The rows as they are now, for queries to read while others are added."""
        copy = VectorScan(self.dimension)
        copy._stored, copy._tail, copy._codes = self._stored, self._tail.frozen(len(self._tail.view)), self._codes
        copy.sums, copy._along = self.sums.copy(), self._along
        if self._codes is not None:
            self._codes.shared = True
        return copy

    def extend(self, vectors: Array, chinese: Array | None = None) -> None:
        """Add rows, (k, dim) float32; a row of zeros stands for a passage without a vector.

        Args:
            chinese: (k,) bool, whose passages are in Chinese; None: nobody's.
        """
        self._tail.extend(vectors)
        self.sums.extend(vectors, np.zeros(len(vectors), bool) if chinese is None else chinese)
        if len(self) - self._coded <= EXACT_ROWS:
            return  # to copy a million codes for one new row takes 50 ms; to compare a few rows more, one
        if self._codes is None or len(self) > 8 * self._codes.trained_on:
            self._codes = self._encode_all()
        else:
            self._codes = self._codes.grown(self.rows(np.arange(self._coded, len(self))))

    @property
    def _coded(self) -> int:
        """How many rows, from the first on, have codes."""
        return len(self._codes) if self._codes is not None else 0

    def _encode_all(self) -> QuantizedVectors:
        count = len(self)
        sample = self.rows(np.linspace(0, count - 1, min(count, _TRAIN_ROWS), dtype=np.int64))
        codes = _quantisation().trained(sample, count)
        for at in range(0, count, 65_536):
            codes.add(self.rows(np.arange(at, min(count, at + 65_536))))
        return codes

    def rows(self, numbers: Array) -> Array:
        """The float32 rows of these numbers, (k, dim)."""
        split = self._stored.count
        if not len(self._tail.view):
            return self._stored.take(numbers)
        if split == 0:
            return self._tail.view.take(numbers, axis=0)
        out = np.empty((len(numbers), self.dimension), dtype=np.float32)
        old = numbers < split
        out[old] = self._stored.take(numbers[old])
        out[~old] = self._tail.view.take(numbers[~old] - split, axis=0)
        return out

    def checked_rows(self, numbers: Array, crcs: Array) -> Array:
        """As `rows`; IndexCorrupt when one does not match its checksum."""
        rows = self.rows(numbers)
        _check(rows, numbers, crcs)
        return rows

    def cosines(self, vector: Array) -> Array:
        """Cosines of all rows to one of the few vectors that are asked for again and again, (n,) float32; 0 without a vector."""
        asked, count = np.asarray(vector, np.float32), len(self)
        key = asked.tobytes()
        known = self._along.get(key, np.empty(0, np.float32))
        if len(known) < count:
            parts = [
                np.vecdot(self.rows(np.arange(at, min(count, at + BLOCK))), asked)
                for at in range(len(known), count, BLOCK)
            ]
            known = np.concatenate([known, *parts])
            if len(self._along) >= _MOST_ALONG and key not in self._along:
                self._along.clear()
            self._along[key] = known
        return known[:count]

    @property
    def stored_as(self) -> Signature | None:
        """The file of the vectors on disk, as of opening or writing it."""
        return self._stored.signature

    def intact(self, crcs: Array) -> bool:
        """Whether those on disk have their checksums, (n,) of all rows; to read a million takes seconds."""
        return self._stored.intact(crcs)

    def search(
        self, query: Array, mask: Array | None, crcs: Array, limit: int, deadline: Deadline
    ) -> tuple[Array, Array]:
        """(row numbers, cosines) of the best rows, best first.

        Args:
            query: (dim,) float32, unit.
            mask: (n,) bool, rows that may be found; None for all.
            crcs: (n,) checksums of the rows; 0 for a row without a vector.
            limit: How many at most.
            deadline: Checked between blocks.
        """
        newest = count = len(crcs)
        matching = count if mask is None else int(np.count_nonzero(mask))
        if matching == 0:
            none = np.empty(0, dtype=np.int64)
            return none, none.astype(np.float32)
        if self._codes is None or matching <= EXACT_ROWS:
            candidates = np.arange(count) if mask is None else np.flatnonzero(mask)
        else:
            wanted = max(_RESCORE_FLOOR, _RESCORE_FACTOR * limit, int(_RESCORE_SHARE * matching))
            candidates = self._codes.search(query, mask, min(wanted, matching))
            newest = len(self._codes)
        deadline.check(_COMPONENT)
        candidates = candidates[crcs[candidates] != 0]
        # Not `rows @ query`: BLAS would share out a tenth of a millisecond's work among threads, which then spin.
        rows = self.rows(candidates)
        cosines = np.vecdot(rows, query)
        if newest < count:
            numbers, likeness = self._newest(newest, query, mask, crcs)
            candidates, cosines = np.concatenate([candidates, numbers]), np.concatenate([cosines, likeness])
        best = _best(cosines, limit)
        read = best[best < len(rows)]  # what was scored is what is checked, and is not read once more
        _check((rows[at] for at in read.tolist()), candidates[read], crcs)
        if len(read) < len(best):
            self.checked_rows(candidates[best[best >= len(rows)]], crcs)
        return candidates[best], cosines[best]

    def _newest(self, first: int, query: Array, mask: Array | None, crcs: Array) -> tuple[Array, Array]:
        """Numbers and cosines of the rows from `first` on that have a vector and may be found."""
        split = self._stored.count
        tail = np.vecdot(self._tail.view[max(0, first - split) :], query)
        cosines = tail
        if first < split:
            cosines = np.concatenate([np.vecdot(self._stored.span(first, split), query), tail])
        found = crcs[first:] != 0 if mask is None else (crcs[first:] != 0) & mask[first:]
        return first + np.flatnonzero(found), cosines[found]

    # -- on disk ------------------------------------------------------------------------------------

    def save(self, vectors: Path, codes: Path, *, append: bool) -> int:
        """Write the rows to `vectors` (only those it lacks, when appending) and the codes, then of all rows.

        Returns:
            The checksum of the codes, 0 when there are none.
        """
        with vectors.open("r+b" if append else "wb") as file:
            if append:
                file.truncate(self._stored.count * self.dimension * 4)
                file.seek(0, 2)
            else:
                for block in self._stored.blocks():
                    file.write(block.tobytes())
            file.write(np.ascontiguousarray(self._tail.view).tobytes())
        self._stored, self._tail = StoredRows(vectors, len(self), self.dimension), self._tail.frozen(0)
        if self._codes is None:
            return 0
        if self._coded < len(self):
            self._codes = self._codes.grown(self.rows(np.arange(self._coded, len(self))))
        raw = self._codes.write()
        codes.write_bytes(raw)
        return zlib.crc32(raw)

    @classmethod
    def load(cls, dimension: int, vectors: Path, codes: Path, crc: int, sums: Any, chinese: Array) -> VectorScan:
        """Read what `save` wrote; IndexCorrupt when it is not that.

        Args:
            sums: As given by `Sums.written`, over all rows, including removed ones until the files are rewritten;
                None: written by an earlier version, without them; then every row is read.
            chinese: (n,) bool, of all rows: whose passages are in Chinese.
        """
        scan, count = cls(dimension), len(chinese)
        try:
            scan._stored = StoredRows(vectors, count, dimension)
            if sums is not None:
                scan.sums = Sums.read(sums, dimension)
            else:
                for at, block in zip(range(0, count, BLOCK), scan._stored.blocks(), strict=True):
                    scan.sums.extend(block, chinese[at : at + BLOCK])
            raw = read_regular(codes) if crc else b""
            if zlib.crc32(raw) != crc or (not crc and count > EXACT_ROWS):
                raise ValueError(f"{codes.name}: wrong checksum, or missing")
            scan._codes = _quantisation().read(raw) if crc else None
            if crc and scan._codes is None:
                scan._codes, scan.recoded = scan._encode_all(), True
            if crc and not 0 <= count - scan._coded <= EXACT_ROWS:
                raise ValueError(f"{codes.name} holds another number of rows")
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: faiss
            raise IndexCorrupt(str(error), component=_COMPONENT) from error
        return scan


def _check(rows: Iterable[Any], numbers: Array, crcs: Array) -> None:
    """Raise IndexCorrupt when a row does not match its checksum."""
    for row, number, crc in zip(rows, numbers.tolist(), crcs[numbers].tolist(), strict=True):
        if zlib.crc32(row) != crc:
            raise IndexCorrupt(msg("row {number} does not match its checksum", number=number), component=_COMPONENT)


def _best(cosines: Array, limit: int) -> Array:
    """Places of the highest, the first of equal ones first; to sort all of some thousands takes longer than to scan."""
    if len(cosines) <= limit:
        return np.argsort(-cosines, kind="stable")
    least = np.partition(cosines, -limit)[-limit]
    among = np.flatnonzero(cosines >= least)
    return among[np.argsort(-cosines[among], kind="stable")[:limit]]


def as_vectors(rows: Sequence[Any], dimension: int) -> tuple[Array, list[int]]:
    """Vectors of rows as (n, dim) float32 with their checksums; zeros and 0 for a row without one."""
    out = np.zeros((len(rows), dimension), dtype=np.float32)
    crcs = []
    for i, row in enumerate(rows):
        if row.vector is None:
            crcs.append(0)
        else:
            out[i] = row.vector
            crcs.append(zlib.crc32(out[i]) or 1)
    return out, crcs


def _quantisation() -> type[QuantizedVectors]:
    """Loaded with the first codes: a library of few passages needs none, and its commands do not wait for faiss."""
    from wenyuan.engines.local.quantisation import QuantizedVectors

    return QuantizedVectors
