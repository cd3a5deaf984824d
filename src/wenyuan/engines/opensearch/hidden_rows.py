"""What the index holds of documents that are hidden from somebody, as `engines.hidden_tally` counts it."""

from __future__ import annotations

import numpy as np

from wenyuan.core.hidden_documents import HiddenDocuments, listed_documents
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.engines.hidden_tally import HiddenTally, counted_terms
from wenyuan.engines.opensearch.conditions import MOST_HIDDEN, of_documents, there
from wenyuan.engines.opensearch.indices import IndexNames
from wenyuan.engines.opensearch.marks import ClusterMark
from wenyuan.engines.opensearch.sessions import ClusterSession
from wenyuan.engines.opensearch.term_numbers import unpacked, vector_of
from wenyuan.engines.value_digests import token


def tally(session: ClusterSession, names: IndexNames, hidden: HiddenDocuments, mark: ClusterMark) -> HiddenTally:
    """The counts, as of a mark.

    Raises:
        EngineError: more is hidden than this engine leaves out.
    """
    index = names.passages(mark)
    documents = of_documents(listed_documents(hidden, "opensearch", MOST_HIDDEN))
    fields = ["passage_id", "length", "counts", "embedded", *(["exact"] if names.vectors else [])]
    passages = length = vectors = 0
    numbers, total = [np.zeros(0, np.int64)], np.zeros(names.vectors)
    for some in documents:
        for row in session.rows(index, there(mark, some), fields):
            passages, length = passages + 1, length + int(row["length"])
            numbers.append(unpacked(row["counts"])[0].astype(np.int64))
            if names.vectors and row["embedded"]:
                vectors, total = vectors + 1, total + vector_of(row["exact"]).astype(np.float64)
    count = session.count(index, there(mark, without=documents))
    chinese = there(mark, {"term": {"tokens": token("language", CHINESE)}}, without=documents)
    return HiddenTally(
        at=mark.step,
        passages=passages,
        length=length,
        holding=counted_terms(np.concatenate(numbers)),
        vectors=vectors,
        total=total,
        chinese_share=session.count(index, chinese) / count if count else 0.0,
    )
