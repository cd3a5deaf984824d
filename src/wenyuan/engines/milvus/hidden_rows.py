"""What the collections hold of documents that are hidden from somebody, as `engines.hidden_tally` counts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wenyuan.core.errors import EngineError, msg
from wenyuan.core.hidden_documents import HiddenDocuments, listed_documents
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.core.slices import parts
from wenyuan.engines.hidden_tally import HiddenTally, counted_terms
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.milvus.collections import CollectionNames
from wenyuan.engines.milvus.expressions import MOST_HIDDEN, there
from wenyuan.engines.milvus.sessions import MOST_HITS, Row, Session, value_list
from wenyuan.engines.value_digests import token

_AT_ONCE = 500  # documents


def tally(session: Session, names: CollectionNames, hidden: HiddenDocuments, mark: Mark) -> HiddenTally:
    """The counts, as of a mark.

    Raises:
        EngineError: more is hidden than this engine leaves out.
    """
    documents = listed_documents(hidden, "milvus", MOST_HIDDEN)
    held = there(mark)
    fields = ["passage_id", "length", "words", *(["embedded", "vector"] if names.vectors else [])]
    passages = length = vectors = 0
    numbers, total = list[int](), np.zeros(names.vectors)
    for part in parts(documents, _AT_ONCE):
        for row in _rows(session, names.passages, part, held, fields):
            passages, length = passages + 1, length + int(row["length"])
            numbers += [int(number) for number in row["words"]]
            if names.vectors and row["embedded"]:
                vectors, total = vectors + 1, total + np.asarray(row["vector"], np.float64)
    left = f"{held} and document_id not in {value_list(documents)}" if documents else held
    count = session.count(names.passages, left)
    chinese = f'{left} and array_contains(tokens, "{token("language", CHINESE)}")'
    return HiddenTally(
        at=mark.step,
        passages=passages,
        length=length,
        holding=counted_terms(np.array(numbers, np.int64)),
        vectors=vectors,
        total=total,
        chinese_share=session.count(names.passages, chinese) / count if count else 0.0,
    )


def _rows(
    session: Session, collection: str, documents: Sequence[int], held: str, fields: Sequence[str]
) -> Iterator[Row]:
    """The rows of some documents; fewer at a time where these are more than the server gives."""
    found = session.rows(collection, f"{held} and document_id in {value_list(documents)}", fields)
    if len(found) < MOST_HITS:
        yield from found
        return
    if len(documents) == 1:
        raise EngineError(
            msg(
                "a document that is hidden from the caller has more than {most} passages, which this engine cannot leave out",
                most=f"{MOST_HITS:,}",
            ),
            component=session.component,
        )
    half = len(documents) // 2
    for part in (documents[:half], documents[half:]):
        yield from _rows(session, collection, part, held, fields)
