"""Columnar metadata of passages: one row per passage, one column per field; a filter becomes a row mask in
microseconds. And the files of the local index: verified when opened, read safely while others may cut them off.

A filter's leaf is tested against the distinct values of its column, not against rows; the same distinct values
compile it for the keyword index. Both legs therefore mean the same by a filter.
"""

from __future__ import annotations

import ctypes
import io
import json
import mmap
import os
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from wenyuan.core.errors import IndexCorrupt, msg
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope, matches
from wenyuan.core.hidden_documents import AccessClasses, HiddenDocuments
from wenyuan.core.model import FOREVER, Facet, IndexRow
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.runtime.regular import open_regular, read_regular

# Open files, and whether a file is still the one that was read, as far as that shows without reading it again.


Signature: TypeAlias = tuple[int, int, int, int]
"""Inode, bytes, and when content and description were last changed, in ns. A device may have another number tomorrow."""


def signature(path: Path) -> Signature | None:
    """Identity of a file (inode, size, times); None if it does not exist."""
    try:
        return _of(path.stat())
    except OSError:
        return None


class OpenFile:
    """A file descriptor that is closed when nothing refers to it any more.

    Attributes:
        handle: Its number.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        weakref.finalize(self, os.close, handle)

    def signature(self) -> Signature:
        return _of(os.fstat(self.handle))


def _of(found: os.stat_result) -> Signature:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


# An array that grows at its end while readers hold slices of it.


Array = np.ndarray[Any, Any]


class GrowableArray:
    """An append-only array: slices taken earlier stay valid.

    Attributes:
        view: What it holds now.
    """

    def __init__(self, values: Array) -> None:
        self._buffer = self.view = values

    def extend(self, values: Array) -> None:
        size = len(self.view)
        need = size + len(values)
        if need > len(self._buffer):
            shape = (max(need, 2 * len(self._buffer), 1024), *self._buffer.shape[1:])
            grown = np.empty(shape, dtype=self._buffer.dtype)
            grown[:size] = self.view
            self._buffer = grown
        self._buffer[size:need] = values
        self.view = self._buffer[:need]

    def frozen(self, size: int) -> GrowableArray:
        """The first `size` rows; later `extend` calls do not change them."""
        return GrowableArray(self._buffer[:size])


# float32 rows in a file that somebody may cut off while they are read: then that is an error, and the process lives.
#
# Few rows are read into memory. Many are mapped, so that processes share them, and read through the kernel
# (``process_vm_readv`` of this process itself): a page that is gone is a short count there, where reading it directly ends
# the process by SIGBUS. Where a system forbids that call, rows are read from the file one by one, which takes thrice as long.


_COMPONENT = "engine local/vector"
_IN_MEMORY = 16_000_000  # bytes: below, a copy costs no more memory than the pages of the file would take
_AT_ONCE = 1_024  # pieces in one call (IOV_MAX)
BLOCK = 8_192  # rows

_libc = ctypes.CDLL(None, use_errno=True)
_readv = getattr(_libc, "process_vm_readv", None)
if _readv is not None:
    _readv.argtypes = [ctypes.c_int, *[ctypes.c_void_p, ctypes.c_ulong] * 2, ctypes.c_ulong]
    _readv.restype = ctypes.c_ssize_t


class StoredRows:
    """The first `count` rows of a file, (count, dimension) float32, little endian.

    Attributes:
        count: How many rows there are.
        signature: Of the file as it was when it was opened.

    Raises:
        ValueError, OSError: on construction, when it is shorter, or cannot be read.
    """

    def __init__(self, path: Path | None, count: int, dimension: int) -> None:
        self.name = ""
        self.signature: Signature | None = None
        self.count, self._dimension = count, dimension
        self._width = 4 * dimension
        self._held: Array | None = np.empty((0, dimension), dtype=np.float32)
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        self.name = path.name
        self._file = OpenFile(open_regular(path))
        self.signature = self._file.signature()
        if os.fstat(self._file.handle).st_size < self.count * self._width:
            raise ValueError(f"{path.name} is shorter than {self.count} rows")
        if self.count * self._width <= _IN_MEMORY:
            self._held = self._read(0, np.empty((self.count, self._dimension), dtype="<f4"))
            del self._file
        else:
            self._held = None
            size = self.count * self._width
            mapped = mmap.mmap(self._file.handle, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
            self._mapped = np.frombuffer(mapped, dtype="<f4").reshape(self.count, self._dimension)

    def take(self, numbers: Array) -> Array:
        """Rows by number, (k,) int64 → (k, dimension) float32; IndexCorrupt if the file no longer has them."""
        if self._held is not None:
            return self._held.take(numbers, axis=0)
        out = np.empty((len(numbers), self._dimension), dtype=np.float32)
        pieces = np.empty((len(numbers), 2), dtype=np.uint64)  # where each begins, and its bytes
        pieces[:, 0], pieces[:, 1] = numbers * self._width + self._mapped.ctypes.data, self._width
        for at in range(0, len(numbers), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            if not _copied(pieces[part], out[part]):
                self._read_each(numbers[part], out[part])
        return out

    def span(self, first: int, end: int) -> Array:
        """Rows `first` to `end`, exclusive."""
        if self._held is not None:
            return self._held[first:end]
        return self._read(first, np.empty((end - first, self._dimension), dtype=np.float32))

    def blocks(self) -> Iterator[Array]:
        """All rows, in blocks of some thousands."""
        for at in range(0, self.count, BLOCK):
            yield self.span(at, min(self.count, at + BLOCK))

    def intact(self, crcs: Array) -> bool:
        """Mask of the rows whose checksum is right, (n,); checksum 0 means no checksum."""
        at = 0
        try:
            for block in self.blocks():
                found = [zlib.crc32(row) for row in block]
                if ((crcs[at : at + len(block)] != found) & (crcs[at : at + len(block)] != 0)).any():
                    return False
                at += len(block)
        except IndexCorrupt:
            return False
        return True

    def _read_each(self, numbers: Array, out: Array) -> None:
        for number, row in zip(numbers.tolist(), out, strict=True):
            self._read(number, row)

    def _read(self, first: int, out: Array) -> Array:
        """Fill `out` from row `first` on."""
        room, at = out.reshape(-1).view(np.uint8).data, 0
        while at < len(room):
            got = os.preadv(self._file.handle, [room[at:]], first * self._width + at)
            if not got:
                raise IndexCorrupt(msg("{name} was cut off while it was read", name=self.name), component=_COMPONENT)
            at += got
        return out


def _copied(pieces: Array, out: Array) -> bool:
    """Whether the kernel copied these adjacent pieces of memory."""
    room = np.array([out.ctypes.data, out.nbytes], dtype=np.uint64)
    if _readv is None:
        return False
    got = _readv(os.getpid(), room.ctypes.data, 1, pieces.ctypes.data, len(pieces), 0)
    return bool(got == out.nbytes)


_NUMBERS = ("passage_id", "document_id", "valid_from", "valid_until", "crc", "length")
_UNMEASURED = -1
_WORDS = ("source_id", "language", "collection")
_ABSENT = -1


class _Words:
    """A dictionary-encoded column."""

    def __init__(self, codes: Array, values: list[Facet]) -> None:
        self.codes = GrowableArray(codes)
        self.values = values
        self._code = {_key(v): i for i, v in enumerate(values)}

    def frozen(self, size: int) -> _Words:
        copy = object.__new__(_Words)
        copy.codes, copy.values, copy._code = self.codes.frozen(size), self.values, self._code
        return copy

    def code(self, value: Facet | None) -> int:
        if value is None:
            return _ABSENT
        key = _key(value)
        if key not in self._code:
            self._code[key] = len(self.values)
            self.values.append(value)
        return self._code[key]

    def within(self, rows: Array | None) -> list[Facet]:
        """The distinct values of the rows in a mask, (n,) bool; None: of all rows."""
        if rows is None:
            return list(self.values)
        there = np.zeros(len(self.values) + 1, dtype=bool)
        there[self.codes.view[rows]] = True
        return [self.values[i] for i in np.flatnonzero(there[:-1])]

    def mask(self, wanted: Iterable[Facet]) -> Array:
        """Mask of the rows that have one of some values, (n,) bool."""
        allowed = np.zeros(len(self.values) + 1, dtype=bool)  # the last place stands for an absent value
        for value in wanted:
            code = self._code.get(_key(value), _ABSENT)
            if 0 <= code < len(allowed) - 1:  # not one that came since
                allowed[code] = True
        return allowed[self.codes.view]


def _key(value: Facet) -> tuple[str, Facet]:
    kind = "bool" if isinstance(value, bool) else "str" if isinstance(value, str) else "number"
    return kind, value


def leaf_values(leaf: In | Range, values: Iterable[Facet]) -> list[Facet]:
    """Those of some distinct values that match a filter leaf."""
    return [v for v in values if _meets(leaf, v)]


def _meets(leaf: In | Range, value: Facet) -> bool:
    probe = IndexRow(
        passage_id=0, source_id="", document_id=0, heading_text="", text="", language="", collection="",
        facets={"probe": value}, valid_from=0, valid_until=FOREVER,
    )  # fmt: skip
    test = In("metadata.probe", leaf.values) if isinstance(leaf, In) else Range("metadata.probe", leaf.ge, leaf.le)
    return matches(test, probe)


class Columns:
    """All rows of an index, including removed ones (masked)."""

    def __init__(self) -> None:
        self._numbers = {name: GrowableArray(np.empty(0, dtype=np.int64)) for name in _NUMBERS}
        self._words = {name: _Words(np.empty(0, dtype=np.int32), []) for name in _WORDS}
        self._facets: dict[str, _Words] = {}
        self.alive: Array = np.empty(0, dtype=bool)
        self.bounded = False  # whether any row was ever limited in time
        self._rising = 0  # so many rows from the first on have rising numbers, and are found by search
        self._placed: dict[int, int] = {}  # passage → row, of the others
        self._classes: tuple[AccessClasses, Array] | None = None  # of the rows, as they were last asked for

    # -- writing ------------------------------------------------------------------------------------

    def append(self, rows: list[IndexRow], crcs: list[int], lengths: list[int]) -> None:
        """Add rows; they replace rows of the same passage. Lengths are in terms."""
        self.remove([row.passage_id for row in rows])
        first = len(self.alive)
        numbers = {
            "passage_id": [row.passage_id for row in rows],
            "document_id": [row.document_id for row in rows],
            "valid_from": [row.valid_from for row in rows],
            "valid_until": [row.valid_until for row in rows],
            "crc": crcs,
            "length": lengths,
        }
        for name, values in numbers.items():
            self._numbers[name].extend(np.array(values, dtype=np.int64))
        for name, column in self._words.items():
            column.codes.extend(np.array([column.code(getattr(row, name)) for row in rows], dtype=np.int32))
        for name in {name for row in rows for name in row.facets} - self._facets.keys():
            self._facets[name] = _Words(np.full(first, _ABSENT, dtype=np.int32), [])
        for name, column in self._facets.items():
            column.codes.extend(np.array([column.code(row.facets.get(name)) for row in rows], dtype=np.int32))
        self.alive = np.concatenate([self.alive, np.ones(len(rows), dtype=bool)])
        self.bounded |= any(row.valid_from > 0 or row.valid_until < FOREVER for row in rows)
        if self._rising == first and _rises(self.passage_ids, first):
            self._rising = len(self.alive)
        else:
            self._placed.update({row.passage_id: first + i for i, row in enumerate(rows)})

    def measure(self, passage_ids: Sequence[int], lengths: Sequence[int]) -> None:
        """Say how long live rows are, which a file of an earlier version did not."""
        known = dict(zip(passage_ids, lengths, strict=True))
        rows = self.rows_of(passage_ids)
        whole = self.lengths.copy()
        whole[rows] = [known[number] for number in self.passage_ids[rows].tolist()]
        self._numbers["length"] = GrowableArray(whole)
        self.alive = self.alive.copy()  # another state of the rows

    def remove(self, passage_ids: Sequence[int]) -> None:
        gone = self.rows_of(passage_ids)
        if len(gone):
            alive = self.alive.copy()  # queries under way keep the mask they began with
            alive[gone] = False
            self.alive = alive

    # -- reading ------------------------------------------------------------------------------------

    def frozen(self) -> Columns:
        """An immutable snapshot, for queries to read while rows are added."""
        copy, size = Columns(), len(self.alive)
        copy._numbers = {name: column.frozen(size) for name, column in self._numbers.items()}
        copy._words = {name: column.frozen(size) for name, column in self._words.items()}
        copy._facets = {name: column.frozen(size) for name, column in self._facets.items()}
        copy.alive, copy.bounded = self.alive, self.bounded
        copy._rising, copy._placed = self._rising, self._placed
        return copy

    def rows_of(self, passage_ids: Sequence[int] | Array) -> Array:
        """Row numbers of the live rows of these passages, (k,) int64; unknown passages are skipped."""
        sought = np.asarray(passage_ids, dtype=np.int64)
        if not len(self.alive):
            return np.empty(0, dtype=np.int64)
        ids = self._numbers["passage_id"].view
        rows = np.minimum(np.searchsorted(ids[: self._rising], sought), len(ids) - 1)
        if self._placed:
            late = np.flatnonzero((ids[rows] != sought) | ~self.alive[rows])
            pairs = zip(sought[late].tolist(), rows[late].tolist(), strict=True)
            rows[late] = [self._placed.get(i, row) for i, row in pairs]
        found: Array = rows[(ids[rows] == sought) & self.alive[rows]]
        return found

    @property
    def passage_ids(self) -> Array:
        return self._numbers["passage_id"].view

    @property
    def crcs(self) -> Array:
        return self._numbers["crc"].view

    @property
    def lengths(self) -> Array:
        """How many terms each row has, (n,) int64."""
        return self._numbers["length"].view

    @property
    def measured(self) -> bool:
        """Whether that is known of all live rows."""
        return bool((self.lengths[self.alive] != _UNMEASURED).all())

    @property
    def chinese(self) -> Array:
        """Mask of passages in Chinese, (n,) bool."""
        return self._words["language"].mask([CHINESE])

    def sources(self) -> list[str]:
        return [str(v) for v in self._words["source_id"].values]

    def values(self, field: str, rows: Array | None) -> list[Facet]:
        """Distinct values of a string field or facet in the rows of a mask, (n,) bool; None: in all rows.

        A field that no row has is looked through like any other: others' rows tell nothing by the time that it takes.
        """
        return self._column(field).within(rows)

    def _column(self, field: str) -> _Words:
        column = self._facets.get(field[9:]) if field.startswith("metadata.") else self._words[field]
        return _Words(np.full(len(self.alive), _ABSENT, dtype=np.int32), []) if column is None else column

    def mask(self, scope: Scope) -> Array | None:
        """Mask of the rows within a scope, (n,) bool; None if all rows are live and within it."""
        rows = self.seen(scope)
        if scope.filter is None:
            return rows
        kept = self._filter_mask(scope.filter, rows)
        return kept if rows is None else np.logical_and(rows, kept)

    def seen(self, scope: Scope) -> Array | None:
        """As `mask`, whatever the filter of the scope says."""
        within = [] if self.alive.all() else [self.alive]
        if not scope.sources.issuperset(self.sources()):
            within.append(self._words["source_id"].mask(scope.sources))
        if self.bounded:
            within.append(self._numbers["valid_from"].view <= scope.day)
            within.append(self._numbers["valid_until"].view >= scope.day)
        if scope.hidden is not None:
            within.append(self.readable(scope.hidden))
        return reduce(np.logical_and, within) if within else None

    def within(self, passage_ids: Sequence[int], mask: Array) -> Array:
        """Which of some passages are live and in a mask, (k,) bool."""
        rows = self.rows_of(passage_ids)
        found: Array = np.isin(passage_ids, self.passage_ids[rows[mask[rows]]])
        return found

    def readable(self, hidden: HiddenDocuments) -> Array:
        """Mask of the rows of documents that are not hidden, (n,) bool.

        Which class a document is of is the same for all who ask, so it is looked up once for all rows.
        """
        if self._classes is None or self._classes[0] is not hidden.classes:
            documents, known = self._numbers["document_id"].view, hidden.classes.of_document
            highest = max(int(documents.max(initial=0)), max(known, default=0))
            classes = np.zeros(highest + 1, dtype=np.int32)
            classes[np.fromiter(known.keys(), np.int64, len(known))] = np.fromiter(
                known.values(), np.int32, len(known)
            )
            self._classes = hidden.classes, classes[documents]
        of_rows = self._classes[1]
        unread = np.zeros(max(int(of_rows.max(initial=0)), *hidden.unread, 0) + 1, dtype=bool)
        unread[list(hidden.unread)] = True
        mask: Array = ~unread[of_rows]
        return mask

    def _filter_mask(self, test: Filter, rows: Array | None) -> Array:
        match test:
            case And():
                return reduce(np.logical_and, (self._filter_mask(p, rows) for p in test.parts))
            case Or():
                return reduce(np.logical_or, (self._filter_mask(p, rows) for p in test.parts))
            case Not():
                return ~self._filter_mask(test.part, rows)
            case In() | Range():
                return self._leaf_mask(test, rows)

    def _leaf_mask(self, leaf: In | Range, rows: Array | None) -> Array:
        if leaf.field == "document_id":
            return _number_mask(self._numbers["document_id"].view, leaf)
        column = self._column(leaf.field)
        return column.mask(leaf_values(leaf, column.within(rows)))

    # -- on disk ------------------------------------------------------------------------------------

    def save(self, path: Path) -> int:
        """Write to `path`; returns the checksum, which is stored elsewhere."""
        arrays = {"alive": self.alive}
        arrays |= {f"n.{name}": column.view for name, column in self._numbers.items()}
        arrays |= {f"w.{name}": column.codes.view for name, column in self._words.items()}
        facets = sorted(self._facets)
        arrays |= {f"f.{i}": self._facets[name].codes.view for i, name in enumerate(facets)}
        words = {
            "bounded": self.bounded,
            "words": {name: column.values for name, column in self._words.items()},
            "facets": {name: self._facets[name].values for name in facets},
        }
        arrays["json"] = np.frombuffer(json.dumps(words, ensure_ascii=False).encode(), dtype=np.uint8)
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        return zlib.crc32(path.read_bytes())

    @classmethod
    def load(cls, path: Path, crc: int) -> Columns:
        """Inverse of `save`; IndexCorrupt for anything else."""
        try:
            raw = read_regular(path)
            if zlib.crc32(raw) != crc:
                raise ValueError("wrong checksum")
            with np.load(
                io.BytesIO(raw), allow_pickle=False
            ) as arrays:  # what was checked, whatever the file is by now
                columns = cls()
                words: Mapping[str, Any] = json.loads(arrays["json"].tobytes())
                columns.bounded = words["bounded"]
                columns.alive = arrays["alive"]
                unmeasured = np.full(len(columns.alive), _UNMEASURED, dtype=np.int64)
                held = {f"n.{name}" for name in _NUMBERS} - ({"n.length"} - set(arrays.files))
                numbers = {name: arrays[f"n.{name}"] for name in _NUMBERS if f"n.{name}" in held}
                numbers.setdefault("length", unmeasured)  # a file of an earlier version does not have it
                columns._numbers = {name: GrowableArray(values) for name, values in numbers.items()}
                columns._words = {n: _Words(arrays[f"w.{n}"], words["words"][n]) for n in _WORDS}
                facets = sorted(words["facets"].items())
                columns._facets = {n: _Words(arrays[f"f.{i}"], v) for i, (n, v) in enumerate(facets)}
        except (OSError, ValueError, KeyError) as error:
            raise IndexCorrupt(
                msg("{name}: {error}", name=path.name, error=error), component="engine local"
            ) from error
        columns._place_all()
        return columns

    def _place_all(self) -> None:
        ids = self.passage_ids
        falls = np.flatnonzero(np.diff(ids) <= 0)
        self._rising = int(falls[0]) + 1 if len(falls) else len(ids)
        late = np.flatnonzero(self.alive[self._rising :]) + self._rising
        self._placed = dict(zip(ids[late].tolist(), late.tolist(), strict=True))


def _rises(numbers: Array, since: int) -> bool:
    """Whether numbers are strictly increasing from index `since` on."""
    return bool((np.diff(numbers[max(0, since - 1) :]) > 0).all())


def _number_mask(numbers: Array, leaf: In | Range) -> Array:
    if isinstance(leaf, In):
        return np.isin(numbers, [v for v in leaf.values if not isinstance(v, (str, bool))])
    mask = np.ones(len(numbers), dtype=bool)
    for bound, low in ((leaf.ge, True), (leaf.le, False)):
        if isinstance(bound, str):
            return np.zeros(len(numbers), dtype=bool)
        if bound is not None:
            mask &= (numbers >= bound) if low else (numbers <= bound)
    return mask
