"""Short codes of vectors, by which candidates are chosen."""

from __future__ import annotations

from typing import Any

import faiss as _faiss
import numpy as np

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
