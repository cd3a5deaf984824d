"""How much the library holds: counts of documents and passages, and the values of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Facet
from wenyuan.core.ports import Deadline

_NOTHING = {"documents": 0, "passages": 0, "vectors": 0, "failures": 0}


@dataclass(frozen=True, slots=True, eq=False)
class DocumentCounts:
    """Counts what is live and not hidden from the caller."""

    database: Database

    def counts(self, source_id: str | None = None) -> Mapping[str, int]:
        """Number of live documents, passages, vectors and failures, of one source or of all."""
        if source_id is not None:
            return self.counts_by_source().get(source_id, _NOTHING)
        if self.database.hidden() is not None:
            shown = self.counts_by_source().values()
            return {name: sum(counts[name] for counts in shown) for name in _NOTHING}
        return self.database.remembered.get("counts", self._counts)

    def _counts(self) -> Mapping[str, int]:
        p, d, count = t.passages.c, t.documents.c, sa.func.count
        # All less the removed ones: both can be counted in an index. To count the live ones every text would be read.
        every, gone = sa.select(count()).select_from(t.passages), p.removed_seq.is_not(None)
        embedded = p.vector_key.is_not(None)
        queries = {
            "documents": (sa.select(count()).select_from(t.documents).where(d.removed_seq.is_(None)), None),
            "passages": (every, every.where(gone)),
            "vectors": (every.where(embedded), every.where(gone, embedded)),
            "failures": (sa.select(count()).select_from(t.failures), None),
        }
        with self.database.reading("counting") as connection:
            return {
                name: int(connection.scalar(held) or 0) - (0 if less is None else int(connection.scalar(less) or 0))
                for name, (held, less) in queries.items()
            }

    def counts_by_source(self) -> Mapping[str, Mapping[str, int]]:
        """As `counts`, by source, in one snapshot; sources without content are absent.

        Of a source of which something is hidden, failures are not counted: they are of documents that are not held.
        """
        hidden = self.database.hidden()
        if hidden is None:
            return self.database.remembered.get("counts by source", self._counts_by_source)
        p, d, count = t.passages.c, t.documents.c, sa.func.count
        query = (
            sa.select(d.source_id, d.document_id, count(p.passage_id), count(p.vector_key))
            .outerjoin(t.passages, sa.and_(p.document_id == d.document_id, p.removed_seq.is_(None)))
            .where(d.removed_seq.is_(None), d.source_id.in_(sorted(hidden.sources)))
            .group_by(d.source_id, d.document_id)
        )
        found = {
            name: dict(told)
            for name, told in self.database.remembered.get("counts by source", self._counts_by_source).items()
        }
        found |= {name: dict(_NOTHING) for name in hidden.sources & found.keys()}
        with self.database.reading("counting") as connection:
            for source_id, number, passages, vectors in connection.execute(query):
                if not hidden.hides(number):
                    counts = found.setdefault(source_id, dict(_NOTHING))
                    counts["documents"] += 1
                    counts["passages"] += passages
                    counts["vectors"] += vectors
        return {name: counts for name, counts in found.items() if any(counts.values())}

    def _counts_by_source(self) -> Mapping[str, Mapping[str, int]]:
        p, d, f = t.passages.c, t.documents.c, t.failures.c
        count = sa.func.count
        queries = {
            "documents": sa.select(d.source_id, count()).where(d.removed_seq.is_(None)).group_by(d.source_id),
            "passages": sa.select(p.source_id, count()).where(p.removed_seq.is_(None)).group_by(p.source_id),
            "vectors": sa.select(p.source_id, count(p.vector_key))
            .where(p.removed_seq.is_(None))
            .group_by(p.source_id),
            "failures": sa.select(f.source_id, count()).group_by(f.source_id),
        }
        found: dict[str, dict[str, int]] = {}
        with self.database.reading("counting") as connection:
            for name, query in queries.items():
                for source_id, number in connection.execute(query):
                    found.setdefault(source_id, dict(_NOTHING))[name] = number
        return found

    def collections(self) -> Mapping[str, Mapping[str, int]]:
        """By collection (``""``: none), the number of live documents and passages."""
        if (hidden := self.database.hidden()) is not None:
            return self._collections_but(hidden)
        p, d, count = t.passages.c, t.documents.c, sa.func.count
        query = (
            sa.select(d.collection, count(d.document_id.distinct()), count())
            .join(t.passages, p.document_id == d.document_id)
            .where(d.removed_seq.is_(None), p.removed_seq.is_(None))
            .group_by(d.collection)
        )
        with self.database.reading("counting collections") as connection:
            rows = connection.execute(query).all()
        return {name: {"documents": documents, "passages": passages} for name, documents, passages in rows}

    def _collections_but(self, hidden: HiddenDocuments) -> Mapping[str, Mapping[str, int]]:
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(d.document_id, d.collection, sa.func.count())
            .join(t.passages, p.document_id == d.document_id)
            .where(d.removed_seq.is_(None), p.removed_seq.is_(None))
            .group_by(d.document_id, d.collection)
        )
        found: dict[str, dict[str, int]] = {}
        with self.database.reading("counting collections") as connection:
            for number, name, passages in connection.execute(query):
                if not hidden.hides(number):
                    counts = found.setdefault(name, {"documents": 0, "passages": 0})
                    counts["documents"] += 1
                    counts["passages"] += passages
        return found

    def field_values(self, deadline: Deadline | None = None) -> Mapping[str, Mapping[str, Sequence[Facet]]]:
        """By source, the filterable fields of its live documents (see `core.filters`) with their values and counts."""
        d = t.documents.c
        query = sa.select(d.source_id, d.language, d.collection, d.facets).where(d.removed_seq.is_(None))
        hidden = self.database.hidden(deadline)
        query = query.distinct() if hidden is None else query.add_columns(d.document_id)
        found: dict[str, dict[str, dict[tuple[bool, Facet], Facet]]] = {}
        with self.database.reading("listing fields", deadline) as connection:
            rows: Iterable[Any] = connection.execute(query)
            for row in rows:
                source_id, language, collection, facets = row[:4]
                if hidden is not None and hidden.hides(row[4]):
                    continue
                told = {f"metadata.{name}": value for name, value in facets.items()}
                for name, value in {"language": language, "collection": collection, **told}.items():
                    values = found.setdefault(source_id, {}).setdefault(name, {})
                    values[isinstance(value, bool), value] = value  # True is not 1
        return {
            source: {name: tuple(values.values()) for name, values in fields.items()}
            for source, fields in found.items()
        }
