"""The vector index: short codes choose candidates, float32 rows decide; and the files of both."""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss as _faiss
import numpy as np

from wenyuan.core.errors import IndexCorrupt, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring import Sums
from wenyuan.engines.local.columns import BLOCK, Array, Columns, GrowableArray, Signature, StoredRows, signature
from wenyuan.runtime import exists
from wenyuan.runtime.regular import read_regular

# Short codes of vectors, by which the candidates of a search are chosen: two bits a dimension, 104 bytes a row at 384.
#
# Codes are those of a product quantiser (Jégou et al. 2011), two dimensions in four bits, scanned 32 rows at a time by table
# look-ups in registers (André et al. 2015, in faiss). What such a code is wrong by decides how many candidates it takes. Two
# errors would be large, and are not made:
#
# - Vectors of texts have much in common: most of what a query has with a row lies along the rows' mean. Rows are turned so
#   that this is their first axis, and put into lists by it; a list's rows all have its level, so that no code says it.
# - A code that is as near as can be is shorter than its row, some more and some less so, and the nearest rows lose most. Rows
#   are stretched before they are coded until each code is as long, along its row, as the row (the estimate of RaBitQ, Gao and
#   Long 2024).


CodesArray = np.ndarray[Any, Any]

faiss: Any = _faiss  # its stubs know the C++ signatures only, not the Python ones
faiss.omp_set_num_threads(1)  # requests run in threads of their own

_LEVELS = 128
_STRETCH, _ROUNDS = 1.15, 3  # what most rows are stretched by, and how often each is put right after that
_COMMON = (0.001, 0.999)  # the quantiles between which the levels lie, since a few rows may be like no other
_APART = 1e-4  # where all rows are alike, they still must lie somewhere between
_AT_ONCE = 8_192
_LEAST = 0.1  # of what a row is, along it, before it is stretched: more than tenfold would be no row any more


class QuantizedVectors:
    """Quantised rows: the trained parameters and the codes. Copied before it grows if scans may be reading it.

    Attributes:
        trained_on: How many rows there were when it was learned, not how many it was learned from.
        shared: Whether queries may be reading it.
    """

    def __init__(self, axes: CodesArray, lists: Any, trained_on: int = 0) -> None:
        self._axes = axes  # (dim, dim), each of which is a row
        self._lists = lists
        self._owner: Any = None
        levels = faiss.downcast_index(lists.quantizer).reconstruct_n(0, lists.nlist)[:, 0]
        self._levels: CodesArray = np.ascontiguousarray(levels)
        self.trained_on = trained_on or len(self)
        self.shared = False

    def __len__(self) -> int:
        return int(self._lists.ntotal)

    @classmethod
    def trained(cls, sample: CodesArray, count: int) -> QuantizedVectors:
        """For rows like these, (n, dim) float32, of which there are `count` now; none is coded yet."""
        dimension = sample.shape[1]
        axes = _axes_from(sample.mean(axis=0, dtype=np.float64))
        turned = sample @ axes.T
        low, high = np.quantile(turned[:, 0], _COMMON)
        levels = np.zeros((_LEVELS, dimension), dtype=np.float32)
        levels[:, 0] = np.linspace(low - _APART, high + _APART, _LEVELS)
        quantizer = faiss.IndexFlatL2(dimension)  # rows come to the nearest level
        quantizer.add(levels)
        parts = dimension if dimension % 2 else dimension // 2
        lists = faiss.IndexIVFPQFastScan(quantizer, dimension, _LEVELS, parts, 4, faiss.METRIC_INNER_PRODUCT)
        lists.own_fields = True
        quantizer.this.disown()
        lists.by_residual = True
        turned[:, 1:] *= _STRETCH
        lists.train(turned)
        return cls(axes, lists, trained_on=count)

    def add(self, rows: CodesArray) -> None:
        """Code more rows, (n, dim) float32."""
        for at in range(0, len(rows), _AT_ONCE):
            turned = rows[at : at + _AT_ONCE] @ self._axes.T
            common = turned[:, 0].copy()
            turned[:, 0] = 0.0
            stretched, length = _STRETCH * turned, np.vecdot(turned, turned)
            for _ in range(_ROUNDS):
                coded = self._lists.pq.decode(self._lists.pq.compute_codes(stretched))
                along = np.divide(np.vecdot(coded, turned), length, out=np.ones_like(length), where=length > 0)
                stretched /= np.maximum(along, _LEAST)[:, None]
            stretched[:, 0] = common
            self._lists.add(stretched)

    def grown(self, rows: CodesArray) -> QuantizedVectors:
        """These and the codes of more rows."""
        codes = QuantizedVectors(self._axes, faiss.clone_index(self._lists), self.trained_on) if self.shared else self
        codes.add(rows)
        return codes

    def search(self, query: CodesArray, mask: CodesArray | None, limit: int) -> CodesArray:
        """Numbers of the rows whose codes are nearest to (dim,) float32, of those that `mask`, (n,) bool, leaves."""
        parameters = faiss.IVFSearchParameters(nprobe=len(self._levels))
        if mask is not None:
            allowed = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
            parameters.sel = allowed  # which does not hold it: the name does
        turned = np.vecdot(self._axes, query.astype(np.float32, copy=False))  # not `@`, whose threads would spin
        numbers, likeness = np.empty(limit, dtype=np.int64), np.empty(limit, dtype=np.float32)
        lists = np.argsort(-turned[0] * self._levels)  # those first that may hold the best: others then seldom count
        common = turned[0] * self._levels[lists]
        at = faiss.swig_ptr  # of what has a name: it does not hold the array
        self._lists.search_preassigned_c(
            1, at(turned), limit, at(lists), at(common), at(likeness), at(numbers), False, parameters
        )
        return numbers[numbers >= 0]

    def write(self) -> bytes:
        """All of it, for `read`."""
        turn = faiss.LinearTransform(len(self._axes), len(self._axes))
        faiss.copy_array_to_vector(self._axes.ravel(), turn.A)
        turn.is_trained = True
        return bytes(faiss.serialize_index(faiss.IndexPreTransform(turn, self._lists)))

    @classmethod
    def read(cls, raw: bytes) -> QuantizedVectors | None:
        """Of what `write` gave; None for codes of another kind."""
        index = faiss.deserialize_index(np.frombuffer(raw, dtype=np.uint8))
        lists = faiss.downcast_index(index.index) if isinstance(index, faiss.IndexPreTransform) else None
        if not isinstance(lists, faiss.IndexIVFPQFastScan) or lists.nlist != _LEVELS:
            return None
        axes = faiss.vector_to_array(faiss.downcast_VectorTransform(index.chain.at(0)).A)
        codes = cls(axes.reshape(lists.d, lists.d), lists)
        codes._owner = index  # goes with it: lists that were taken from it, or copied, cost as much memory again
        return codes


def _axes_from(first: CodesArray) -> CodesArray:
    """Axes at right angles to each other, (dim, dim) float32: this direction, and others at random."""
    axes = np.random.default_rng(0).standard_normal((len(first), len(first)))
    if first.any():
        axes[:, 0] = first
    turned, _ = np.linalg.qr(axes)
    return np.ascontiguousarray(turned.T, dtype=np.float32)


# The vector half: an exact-recall scan. Short codes find candidates, float32 rows decide.
#
# The candidates' float32 rows are read from a file (see `stored`) and checked against their checksums before they count. A
# filter is a row mask handed to the scan, which stays exact; few enough rows are compared in float32, and so are the newest,
# which get their codes some thousands at a time.


_COMPONENT = "engine local/vector"
EXACT_ROWS = 4_096  # up to here comparing all float32 rows is as fast as the coded scan
# Candidates rescored: see docs/explanation/scale.md. Enough for recall@10 1.0 even where hundreds of rows are about equally
# near, as real passages are.
_RESCORE_FLOOR, _RESCORE_FACTOR, _RESCORE_SHARE = 400, 4, 1 / 1_500
_TRAIN_ROWS = 16_384


class VectorScan:
    """Vectors by row number: those on disk, then those that are in memory only.

    Queries read a `frozen` scan; only the one that grows is changed.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._stored = StoredRows(None, 0, dimension)
        self._tail = GrowableArray(np.empty((0, dimension), dtype=np.float32))
        self._codes: QuantizedVectors | None = None  # of the first rows; None while they are few
        self.sums = Sums.empty(dimension)
        self.recoded = False
        """The codes on disk are of a kind that an earlier version wrote; those in memory were made anew."""

    def __len__(self) -> int:
        return self._stored.count + len(self._tail.view)

    def frozen(self) -> VectorScan:
        """The rows as they are now, for queries to read while others are added."""
        copy = VectorScan(self.dimension)
        copy._stored, copy._tail, copy._codes = self._stored, self._tail.frozen(len(self._tail.view)), self._codes
        copy.sums = self.sums.copy()
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
        codes = QuantizedVectors.trained(sample, count)
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
            scan._codes = QuantizedVectors.read(raw) if crc else None
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


# The files of the rows: columns, codes and float32 vectors, and ``rows.json``, which names them and says what they are.
#
# Columns and codes have a checksum there; each vector has one in the columns. To compare a million vectors takes seconds, so
# the manifest also says what file they were written to: only where it is another one, a copy say, are they compared at once,
# else each when it is scored.


_NAMES = ("columns", "codes", "vectors")
_PATTERNS = ("columns-*.npz", "codes-*.faiss", "vectors-*.f32")


@dataclass(frozen=True, slots=True)
class Rows:
    """What the files hold.

    Attributes:
        scan: None without an encoder.
        seq, stamp: The change of the catalog that they hold, and what tells it from another catalog's.
        seen: The files as they were when they were read.
        moved: The file of vectors is another one than was written, though it holds the same.
    """

    columns: Columns
    scan: VectorScan | None
    seq: int
    stamp: str
    seen: Mapping[Path, Signature | None]
    moved: bool = False


class RowFiles:
    """The row files in a folder.

    Args:
        dimension: Of the vectors; 0 without an encoder.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder, self._dimension = folder, dimension
        self._manifest = folder / "rows.json"
        self._seen: Mapping[Path, Signature | None] = {}

    def read(self) -> Rows:
        """Read the row files; IndexCorrupt when a file is not what was written. Takes effect with `hold`."""
        seen = {self._manifest: signature(self._manifest)}
        try:
            if not exists(self._manifest):
                return Rows(Columns(), VectorScan(self._dimension) if self._dimension else None, 0, "", seen)
            state = json.loads(read_regular(self._manifest).decode("utf-8"))
            seen |= {path: signature(path) for path in (self._folder / state[name] for name in _NAMES)}
            columns = Columns.load(self._folder / state["columns"], state["columns_crc"])
            seq, stamp = int(state["seq"]), str(state["stamp"])
            if not self._dimension:
                return Rows(columns, None, seq, stamp, seen)
            scan = VectorScan.load(
                self._dimension, self._folder / state["vectors"], self._folder / state["codes"], state["codes_crc"],
                state.get("sums"), columns.chinese,
            )  # fmt: skip
            moved = list(scan.stored_as or ()) != state["vectors_as"]
            if moved and not scan.intact(columns.crcs):
                raise ValueError(f"{state['vectors']} does not hold the vectors that were written")
            return Rows(columns, scan, seq, stamp, seen, moved)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise IndexCorrupt(
                msg("{name}: {error}", name=self._manifest.name, error=error), component="engine local"
            ) from error

    def hold(self, rows: Rows) -> None:
        """From now on these are the files that were left here."""
        self._seen = rows.seen

    def changed(self) -> bool:
        """Whether a file differs from the one read or written, by its metadata."""
        return any(signature(path) != seen for path, seen in self._seen.items())

    def on_disk(self) -> tuple[int, str]:
        """The change that the files hold, and the name of the file of vectors; ValueError when that cannot be read."""
        if not exists(self._manifest):
            return 0, ""
        state = json.loads(read_regular(self._manifest).decode("utf-8"))
        try:
            return int(state["seq"]), str(state["vectors"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self._manifest.name} does not say what it names") from error

    def write(self, columns: Columns, scan: VectorScan | None, seq: int, stamp: str, append_to: str = "") -> None:
        """Write all rows, as of change `seq`, while the library's writer lock is held; OSError when that fails.

        Args:
            append_to: The file of vectors, if the stored ones of `scan` are in it: it is added to.
        """
        tag = f"{seq}-{secrets.token_hex(4)}"  # a file that another process has mapped is never written over
        vectors = append_to or f"vectors-{tag}.f32"
        names = {"columns": f"columns-{tag}.npz", "codes": f"codes-{tag}.faiss", "vectors": vectors}
        state: dict[str, Any] = {"seq": seq, "stamp": stamp, **names, "codes_crc": 0, "vectors_as": []}
        state["columns_crc"] = columns.save(self._folder / names["columns"])
        if scan is not None:
            codes = self._folder / names["codes"]
            state["codes_crc"] = scan.save(self._folder / vectors, codes, append=bool(append_to))
            state["sums"] = scan.sums.written()
            state["vectors_as"] = scan.stored_as
        self._write_manifest(state)
        for pattern in _PATTERNS:
            for old in self._folder.glob(pattern):
                if old.name not in names.values():
                    old.unlink(missing_ok=True)  # processes that have it open keep it
        paths = (self._manifest, *(self._folder / name for name in names.values()))
        self._seen = {path: signature(path) for path in paths}

    def found_again(self, scan: VectorScan) -> None:
        """Say in the manifest which file the vectors are in now, while the library's writer lock is held."""
        if not self.changed():
            self._write_manifest(
                json.loads(read_regular(self._manifest).decode("utf-8")) | {"vectors_as": scan.stored_as}
            )
            self._seen = {**self._seen, self._manifest: signature(self._manifest)}

    def _write_manifest(self, state: Mapping[str, Any]) -> None:
        part = self._manifest.with_suffix(".part")
        part.write_text(json.dumps(state), "utf-8")
        part.replace(self._manifest)
