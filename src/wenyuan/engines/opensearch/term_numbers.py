"""The terms of a query and of rows: their numbers, how many passages hold them, and how often they occur in one."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import numpy as np

from wenyuan.core.scoring.formula import Array
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.opensearch.indices import IndexNames
from wenyuan.engines.opensearch.marks import ClusterMark
from wenyuan.engines.opensearch.sessions import ClusterSession
from wenyuan.engines.term_statistics import QueryTerms, digest


def query_terms(
    session: ClusterSession, names: IndexNames, terms: Sequence[str], mark: ClusterMark, tally: HiddenTally | None
) -> QueryTerms:
    """What terms are worth as of a mark; `tally` is of passages that are not counted."""
    keys = {digest(term): term for term in terms}
    known = dict.fromkeys(terms, (0, 0))
    for key, row in session.named(names.words(mark), list(keys)).items():
        held = row["held"] if row["at"] <= mark.watermark else row["before"]
        known[keys[key]] = int(row["number"]), int(held)
    return QueryTerms.of(known, mark, tally)


def packed(counts: Mapping[int, int]) -> str:
    """How often each number occurs, as a field holds it: numbers, rising, then counts; base64 of uint32."""
    numbers = sorted(counts)
    both = np.array([*numbers, *(counts[number] for number in numbers)], "<u4")
    return base64.b64encode(both.tobytes()).decode()


def unpacked(text: str) -> tuple[Array, Array]:
    """Numbers and counts; ValueError for anything else."""
    both = np.frombuffer(_bytes(text), "<u4")
    if len(both) % 2:
        raise ValueError("an odd number of values")
    return both[: len(both) // 2], both[len(both) // 2 :]


def vector_text(vector: Array) -> str:
    """A vector as a field holds it: base64 of float32."""
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def vector_of(text: str) -> Array:
    """Inverse of `vector_text`."""
    return np.frombuffer(_bytes(text), "<f4")


def _bytes(text: str) -> bytes:
    """What a binary field holds: clusters leave the padding out."""
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
