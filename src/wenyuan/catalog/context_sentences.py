"""Context sentences: stored by prompt and model, and served with the passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.corrections import stored_passage
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import insert_new, next_seq
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rows import context_of, vector_rows
from wenyuan.catalog.sql import now
from wenyuan.catalog.writes import check_vectors, passage_row
from wenyuan.core.model import ContextSentence, KeptSentence, NewPassage


class ServedPassage(NamedTuple):
    """A live passage, with the title and the lead of its document."""

    passage_id: int
    title: str
    lead: str
    passage: NewPassage


@dataclass(frozen=True, slots=True, eq=False)
class StoredContextSentences:
    """Reads and stores context sentences; each method is one snapshot or one transaction."""

    database: Database

    def kept_sentences(self, source_id: str, keys: Set[str] | None = None) -> Mapping[str, KeptSentence]:
        """The stored results of a source, all or those with these keys, by `core.context_sentences.key_of`."""
        c = t.context_sentences.c
        query = sa.select(c.key, c.sentence, c.refusal, c.model, c.prompt).where(c.source_id == source_id)
        parts = [query] if keys is None else [query.where(c.key.in_(part)) for part in batches(sorted(keys))]
        with self.database.reading("reading context sentences") as connection:
            return {
                key: KeptSentence(
                    None if refusal else ContextSentence(text=text, model=model, prompt=prompt), refusal
                )
                for part in parts
                for key, text, refusal, model, prompt in connection.execute(part)
            }

    def keep_sentences(self, source_id: str, said: Mapping[str, KeptSentence], *, model: str, prompt: int) -> None:
        """Store sentences or refusals by key."""
        rows = [
            {
                "source_id": source_id, "key": key, "sentence": one.said.text if one.said else "",
                "refusal": one.refusal, "model": model, "prompt": prompt, "at": now(),
            }
            for key, one in said.items()
        ]  # fmt: skip
        with self.database.changing("storing context sentences") as connection:
            connection.execute(insert_new(connection, t.context_sentences), rows)

    def forget_sentences(self, source_id: str, keys: Set[str]) -> None:
        """Delete stored results of a source by key."""
        c = t.context_sentences.c
        with self.database.changing("forgetting context sentences") as connection:
            for part in batches(sorted(keys)):
                connection.execute(t.context_sentences.delete().where(c.source_id == source_id, c.key.in_(part)))

    def live_numbers(self, source_id: str, *, with_context: bool = False) -> list[int]:
        """Ids of a source's live passages, rising.

        Args:
            with_context: Only of those that have a context sentence.
        """
        p = t.passages.c
        query = sa.select(p.passage_id).where(p.source_id == source_id, p.removed_seq.is_(None))
        query = query.where(p.context.is_not(None)) if with_context else query
        with self.database.reading("listing passages") as connection:
            return sorted(connection.scalars(query))

    def served_passages(self, numbers: Sequence[int]) -> list[ServedPassage]:
        """The live passages with these ids, rising."""
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(t.passages, d.title, d.lead)
            .join(t.documents, d.document_id == p.document_id)
            .where(p.removed_seq.is_(None))
            .order_by(p.passage_id)
        )
        with self.database.reading("reading passages") as connection:
            return [
                ServedPassage(row["passage_id"], row["title"], row["lead"], stored_passage(row))
                for part in batches(numbers)
                for row in connection.execute(query.where(p.passage_id.in_(part))).mappings()
            ]

    def serve_sentences(self, source_id: str, given: Mapping[int, NewPassage], vectors: Mapping[str, Any]) -> int:
        """Serve passages with other context sentences: in one change, each is replaced by a copy with a new id.

        Args:
            given: By the number of the live passage; one that ended meanwhile stays ended.
            vectors: By vector key, those that are not stored.

        Returns:
            How many passages were live.

        Raises:
            VectorsGone: a vector that was left out is not stored any more.
        """
        p = t.passages.c
        with self.database.changing("storing context sentences") as connection:
            seq = next_seq(connection, source_id)
            if vectors:
                connection.execute(insert_new(connection, t.vectors), vector_rows(vectors))
            check_vectors(connection, list(given.values()), vectors)
            of_document: dict[int, int] = {}
            for part in batches(sorted(given)):
                live = sa.select(p.passage_id, p.document_id).where(p.passage_id.in_(part), p.removed_seq.is_(None))
                of_document |= {row.passage_id: row.document_id for row in connection.execute(live)}
                connection.execute(
                    t.passages.update().where(p.passage_id.in_(part), p.removed_seq.is_(None)).values(removed_seq=seq)
                )
            rows = [passage_row(given[one], source_id, document, seq) for one, document in of_document.items()]
            if rows:
                connection.execute(t.passages.insert(), rows)
        return len(rows)

    def sentences_of(self, numbers: Sequence[int]) -> Mapping[int, ContextSentence]:
        """Context sentences by passage id, of live and removed passages that have one."""
        p = t.passages.c
        found: dict[int, ContextSentence] = {}
        with self.database.reading("reading context sentences") as connection:
            for part in batches(numbers):
                query = sa.select(p.passage_id, p.context).where(p.passage_id.in_(part), p.context.is_not(None))
                found |= {number: said for number, text in connection.execute(query) if (said := context_of(text))}
        return found
