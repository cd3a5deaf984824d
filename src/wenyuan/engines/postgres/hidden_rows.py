"""What the tables hold of documents that are hidden from somebody, as `engines.hidden_tally` counts it."""

from __future__ import annotations

from typing import Any

import numpy as np
from psycopg import Connection

from wenyuan.core.hidden_documents import HiddenDocuments, listed_documents
from wenyuan.core.scoring.formula import Array
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.engines.hidden_tally import HiddenTally, counted_terms
from wenyuan.engines.postgres.conditions import MOST_HIDDEN
from wenyuan.engines.postgres.packing import unpacked_terms, unpacked_vector

_AT_ONCE = 5_000  # documents
_AT = "SELECT watermark FROM state"
_WORDS = """
SELECT w.length, w.packed FROM words w JOIN passages p USING (passage_id) WHERE p.document_id = ANY(%s::bigint[])
"""
_SUM = """
SELECT count(*), vector_send(avg(v.vector)) FROM vectors v JOIN passages p USING (passage_id)
WHERE p.document_id = ANY(%s::bigint[])
"""
_SHARE = """
SELECT count(*) FILTER (WHERE language = %s), count(*) FROM passages WHERE document_id <> ALL(%s::bigint[])
"""


def tally(connection: Connection[Any], hidden: HiddenDocuments, dimension: int) -> HiddenTally:
    """The counts, in one transaction that sees the rows of all sources.

    Raises:
        EngineError: more documents are hidden than this engine leaves out.
    """
    documents = listed_documents(hidden, "postgres", MOST_HIDDEN)
    row = connection.execute(_AT).fetchone()
    passages = length = vectors = 0
    holding, total = np.zeros(1, np.int64), np.zeros(dimension)
    for at in range(0, len(documents), _AT_ONCE):
        part = documents[at : at + _AT_ONCE]
        with connection.cursor(binary=True) as cursor:
            words = cursor.execute(_WORDS, (part,)).fetchall()
            passages, length = passages + len(words), length + sum(int(size) for size, _ in words)
            holding = _sum(holding, counted_terms(unpacked_terms([packed for _, packed in words])[0]))
            if dimension:
                count, mean = cursor.execute(_SUM, (part,)).fetchone() or (0, None)
                if count and mean is not None:
                    vectors, total = vectors + int(count), total + count * unpacked_vector(mean)
    chinese, left = connection.execute(_SHARE, (CHINESE, documents)).fetchone() or (0, 0)
    return HiddenTally(
        at=0 if row is None else int(row[0]),
        passages=passages,
        length=length,
        holding=holding,
        vectors=vectors,
        total=total,
        chinese_share=int(chinese) / int(left) if left else 0.0,
    )


def _sum(one: Array, other: Array) -> Array:
    shorter, longer = sorted((one, other), key=len)
    both: Array = longer.copy()
    both[: len(shorter)] += shorter
    return both
