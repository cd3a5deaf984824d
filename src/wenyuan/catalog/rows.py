"""Conversion between catalog rows and the values of `core.model`, and a read cache."""

from __future__ import annotations

import json
import math
import threading
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar, cast

import sqlalchemy as sa

from wenyuan.core.errors import CatalogUnavailable, msg
from wenyuan.core.fidelity import Fidelity, Line, Recognition, Uncertain
from wenyuan.core.model import (
    FOREVER,
    ContextSentence,
    Corrected,
    IndexRow,
    Passage,
    Source,
    embedded_text,
    heading_text,
    indexed_headings,
    shown_title,
)
from wenyuan.core.text.leads import with_lead
from wenyuan.core.validity import LiveVersion

if TYPE_CHECKING:  # arrays are loaded where there are vectors
    import numpy as np

# Between the catalog's rows and the values of `core.model`.


_MEND_VECTOR = "restore catalog.db from a backup, or remove the source and add it again"


def day(value: date | None) -> int | None:
    return value.toordinal() if value else None


def _date(value: int | None) -> date | None:
    return date.fromordinal(value) if value else None


_PLAIN_SOURCE_FIELDS = (
    "source_id", "title", "type", "domain", "trust", "language", "collection", "path", "copyright",
    "status", "refresh_cycle", "owner", "sensitivity", "settings",
)  # fmt: skip


def source_row(source: Source) -> dict[str, Any]:
    return {
        "source_id": source.source_id,
        "title": source.title,
        "type": source.type,
        "domain": source.domain,
        "trust": source.trust,
        "language": source.language,
        "collection": source.collection,
        "path": source.path,
        "copyright": source.copyright,
        "effective_from": day(source.effective_from),
        "effective_until": day(source.effective_until),
        "status": source.status,
        "supersedes": list(source.supersedes),
        "refresh_cycle": source.refresh_cycle,
        "owner": source.owner,
        "sensitivity": source.sensitivity,
        "tags": list(source.tags),
        "settings": dict(source.settings),
    }


def source_of(row: sa.RowMapping) -> Source:
    values = {name: row[name] for name in _PLAIN_SOURCE_FIELDS}
    return Source(
        **values,
        effective_from=_date(row["effective_from"]),
        effective_until=_date(row["effective_until"]),
        supersedes=tuple(row["supersedes"]),
        tags=tuple(row["tags"]),
    )


def pack_vector(vector: Any) -> tuple[bytes, int]:
    import numpy as np

    raw = np.ascontiguousarray(vector, dtype="<f4").tobytes()
    return raw, zlib.crc32(raw)


def vector_rows(vectors: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of the table of vectors, from vectors by key."""
    return [
        dict(zip(("vector_key", "vector", "crc"), (key, *pack_vector(vector)), strict=True))
        for key, vector in vectors.items()
    ]


def unpack_vector(raw: bytes, crc: int, passage_id: int) -> np.ndarray[Any, Any]:
    """The stored vector, (dim,) float32; the checksum detects damage."""
    if zlib.crc32(raw) != crc:
        raise CatalogUnavailable(
            msg("the vector of passage {passage_id} does not match its checksum", passage_id=passage_id),
            component="catalog",
            hint=_MEND_VECTOR,
        )
    import numpy as np

    return np.frombuffer(raw, dtype="<f4")


def stored_vector(raw: bytes | None, crc: int, passage_id: int) -> np.ndarray[Any, Any]:
    """`unpack_vector`, for a vector that a live passage must have: CatalogUnavailable when it is missing."""
    if raw is None:
        raise CatalogUnavailable(
            msg("the vector of passage {passage_id} is missing", passage_id=passage_id),
            component="catalog",
            hint=_MEND_VECTOR,
        )
    return unpack_vector(raw, crc, passage_id)


def questions_of(corrected: str | None) -> tuple[str, ...]:
    """The questions in the column ``corrected``: what people say that a passage answers."""
    told = corrected_of(corrected)
    return () if told is None else told.questions


def index_row(row: sa.RowMapping, *, with_vector: bool) -> IndexRow:
    raw = row["vector"] if with_vector else None
    # Of a passage that was removed since, the vector may be gone already; the index will hear of it next.
    due = with_vector and row["vector_key"] is not None and row["removed_seq"] is None
    headings = indexed_headings(row["headings"], context_of(row["context"]))
    text = with_lead(row["lead"], row["text"], questions_of(row["corrected"]))
    gone = with_vector and raw is None and row["removed_seq"] is not None
    named = heading_text(shown_title(row["title"], row["cell"], row["text"]), headings) if gone else ""
    return IndexRow(
        passage_id=row["passage_id"],
        source_id=row["source_id"],
        document_id=row["document_id"],
        heading_text=heading_text(row["title"], headings),
        text=text,
        language=row["language"],
        collection=row["collection"],
        facets=row["facets"],
        valid_from=row["effective_from"] or 0,
        valid_until=row["effective_until"] or FOREVER,
        vector=stored_vector(raw, row["crc"], row["passage_id"]) if due or raw is not None else None,
        unembedded=embedded_text(named, text) if gone else "",
    )


def recognition_text(told: Recognition | None) -> str | None:
    """Recognition confidence as JSON: ``[mean, least, [[start, end, kind, confidence], …]]``."""
    if told is None:
        return None
    return json.dumps([told.confidence, told.least, told.uncertain], separators=(",", ":"))


def recognition_of(text: str | None) -> Recognition | None:
    if text is None:
        return None
    mean, least, doubts = json.loads(text)
    return Recognition(confidence=mean, least=least, uncertain=tuple(Uncertain(*one) for one in doubts))


def corrected_text(told: Corrected | None) -> str | None:
    """Correction data as JSON: ``{"ids": …, "by": …, "questions": …}``."""
    return None if told is None else json.dumps(asdict(told), ensure_ascii=False)


def corrected_of(text: str | None) -> Corrected | None:
    if text is None:
        return None
    told = json.loads(text)
    return Corrected(ids=tuple(told["ids"]), by=told["by"], questions=tuple(told["questions"]))


def context_text(said: ContextSentence | None) -> str | None:
    """JSON: ``{"text": …, "model": …, "prompt": …}``."""
    return None if said is None else json.dumps(asdict(said), ensure_ascii=False)


def context_of(text: str | None) -> ContextSentence | None:
    return None if text is None else ContextSentence(**json.loads(text))


_LINE = [("start", "<u4"), ("end", "<u4"), ("page", "<u4"), ("box", "<f4", (4,)), ("confidence", "<f4")]


def pack_lines(lines: Sequence[Line]) -> bytes:
    """Printed lines as compressed records of `_LINE`; an unknown confidence is NaN."""
    import numpy as np

    rows = [(*line[:4], math.nan if line.confidence is None else line.confidence) for line in lines]
    return zlib.compress(np.array(rows, _LINE).tobytes())


def unpack_lines(packed: bytes, start: int, end: int) -> list[Line]:
    """The lines that overlap ``text[start:end]`` of their document."""
    import numpy as np

    rows = np.frombuffer(zlib.decompress(packed), _LINE)
    return [
        Line(first, last, page, (box[0], box[1], box[2], box[3]), None if math.isnan(sure) else round(sure, 4))
        for first, last, page, boxed, sure in rows[(rows["start"] < end) & (rows["end"] > start)].tolist()
        for box in [[round(float(side), 5) for side in boxed]]
    ]


def reading_row(
    fidelity: Fidelity | None, lines: Sequence[Line], uncertain: Sequence[Uncertain]
) -> dict[str, Any] | None:
    """A row of the table of readings without the document id; None when there is nothing to store."""
    if fidelity is None and not lines and not uncertain:
        return None
    return {
        "score": None if fidelity is None else fidelity.score,
        "fidelity": None if fidelity is None else json.dumps(asdict(fidelity), ensure_ascii=False),
        "lines": pack_lines(lines) if lines else None,
        "uncertain": json.dumps(uncertain, separators=(",", ":")) if uncertain else None,
    }


def fidelity_of(text: str | None) -> Fidelity | None:
    if text is None:
        return None
    told = json.loads(text)
    return Fidelity(**told | {"warnings": tuple(told["warnings"])})


def version_of(row: sa.RowMapping) -> LiveVersion:
    return LiveVersion(
        document_id=row["document_id"],
        uri=row["uri"],
        title=row["title"],
        effective_from=_date(row["effective_from"]),
        effective_until=_date(row["effective_until"]),
        own_until=_date(row["own_until"]),
        facets=row["facets"],
    )


def passage_of(row: sa.RowMapping | Mapping[str, Any]) -> Passage:
    # Few passages have these: the others are made without a further call, tens of them for each question.
    cell, begins, ends, recognised = row["cell"], row["effective_from"], row["effective_until"], row["recognised"]
    return Passage(
        passage_id=row["passage_id"],
        source_id=row["source_id"],
        document_id=row["document_id"],
        uri=row["uri"],
        title=row["title"] if cell is None else shown_title(row["title"], cell, row["text"]),
        headings=tuple(row["headings"]),
        text=row["text"],
        sha256=row["sha256"],
        start=row["start"],
        end=row["end"],
        page=row["page"],
        line=row["line"],
        cell=cell,
        language=row["language"],
        trust=row["trust"],
        domain=row["domain"],
        collection=row["collection"],
        copyright=row["copyright"],
        effective_from=date.fromordinal(begins) if begins else None,
        effective_until=date.fromordinal(ends) if ends else None,
        facets=row["facets"],
        lead=row["lead"],
        recognition=None if recognised is None else recognition_of(recognised),
        corrected=None if row["corrected"] is None else corrected_of(row["corrected"]),
    )


# Values read from the catalog, cached until the next commit.


V = TypeVar("V")
_MOST = 1_000


class ReadCache:
    """Values by key, all dropped after every commit, of this process or another.

    The commit number is read before a value is, so that a cached value is never older than its number. Safe to share
    between threads.

    Args:
        version: Another number after every commit; see `Place.version`.
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._asked = version
        self._lock = threading.Lock()
        self._version: int | None = None
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, read: Callable[[], V]) -> V:
        """The value of `key`, computed by `read` unless cached since the last commit; exceptions are not cached.

        Raises:
            CatalogUnavailable: the catalog cannot be asked whether it changed.
        """
        version = self._asked()  # outside of the lock: while one caller waits for a server, the others do not queue
        with self._lock:
            if version != self._version or len(self._values) >= _MOST:
                self._version, self._values = version, {}
            values = self._values
        if key not in values:  # read outside of the lock, into the values of this version only
            values[key] = read()
        return cast(V, values[key])
