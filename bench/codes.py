"""Which codes find the nearest rows, with how many candidates: recall and processor time of one query, on one core.

    python bench/codes.py [--rows 1000000] [--queries 30] [--codes local RR384,IVF1,PQ384x4fs] [--candidates 400 1000]

Codes are those of the engine `local`, or named as in faiss's index factory: RaBitQ, of which rows are compared one by one, or
lists of IVF, 4-bit ones of which are compared 32 at a time. Vectors and scopes are those of bench/made.py, in memory; a
million rows need 4 GB. The time is that of the scan and of comparing the candidates in float32.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

import faiss
import numpy as np

from made import DIMENSION, SCOPES, Vectors, allowed
from search import environment
from wenyuan.engines.local.quantisation import QuantizedVectors

_TRAINED_ON = 16_384
_QUERY_BITS = 4


class Named:
    """Codes of a kind that faiss's index factory knows, asked as those of the engine `local` are."""

    def __init__(self, kind: str, sample: Any) -> None:
        self._lists = "IVF" in kind
        self._index = faiss.index_factory(DIMENSION, kind, faiss.METRIC_INNER_PRODUCT)
        self._index.train(sample)

    def add(self, rows: Any) -> None:
        self._index.add(rows)

    def search(self, query: Any, mask: Any, limit: int) -> Any:
        selected = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        parameters = (
            faiss.IVFSearchParameters(nprobe=1, sel=selected)
            if self._lists
            else faiss.RaBitQSearchParameters(qb=_QUERY_BITS, sel=selected)
        )
        _, numbers = self._index.search(query[None], limit, params=parameters)
        return numbers[0][numbers[0] >= 0]


def encoded(kind: str, rows: Any) -> QuantizedVectors | Named:
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), _TRAINED_ON)).astype(int)]
    codes = QuantizedVectors.trained(sample, len(rows)) if kind == "local" else Named(kind, sample)
    for at in range(0, len(rows), 65_536):
        codes.add(rows[at : at + 65_536])
    return codes


def truth(rows: Any, queries: Any, mask: Any) -> list[Any]:
    """The hundred nearest rows that the mask allows, nearest first."""
    held = np.flatnonzero(mask)
    found = []
    for query in queries:
        cosines = np.where(mask, rows @ query, -2.0)
        top = np.argpartition(-cosines, 100)[:100] if len(held) > 100 else held
        found.append(top[np.argsort(-cosines[top])])
    return found


def measured(
    codes: QuantizedVectors | Named, rows: Any, queries: Any, mask: Any, best: list[Any], candidates: int
) -> dict[str, float]:
    spent, ten, hundred = [], [], []
    for query, nearest in zip(queries, best, strict=True):
        begun = time.thread_time()
        found = codes.search(query, mask, candidates)
        found = found[np.argsort(-np.vecdot(rows[found], query))][:100]
        spent.append((time.thread_time() - begun) * 1e3)
        ten.append(len(set(found[:10].tolist()) & set(nearest[:10].tolist())) / 10)
        hundred.append(len(set(found.tolist()) & set(nearest.tolist())) / len(nearest))
    return {
        "recall@10": round(statistics.mean(ten), 4),
        "recall@100": round(statistics.mean(hundred), 4),
        "CPU ms": round(statistics.median(spent), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument(
        "--codes", nargs="+", default=["local", "RR384,IVF1,PQ384x4fs", "RR384,IVF1,PQ192x4fs", "RR384,RaBitQ2"]
    )
    parser.add_argument("--candidates", type=int, nargs="+", default=[400, 1_000])
    options = parser.parse_args()
    faiss.omp_set_num_threads(1)
    print(json.dumps(environment()))
    made = Vectors(options.rows)
    rows, queries = np.concatenate(list(made.blocks())), made.queries(options.queries)
    masks = {name: allowed(name, np.arange(options.rows)) for name in SCOPES}
    best = {name: truth(rows, queries, mask) for name, mask in masks.items()}
    for kind in options.codes:
        begun = time.process_time()
        codes = encoded(kind, rows)
        print(
            json.dumps({"codes": kind, "learned and coded, CPU s": round(time.process_time() - begun, 1)}), flush=True
        )
        for name, mask in masks.items():
            for candidates in options.candidates:
                found = measured(codes, rows, queries, mask, best[name], candidates)
                print(json.dumps({"codes": kind, "scope": name, "candidates": candidates, **found}), flush=True)


if __name__ == "__main__":
    main()
