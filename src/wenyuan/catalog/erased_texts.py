"""Where in the tables of the catalog a person stands, and how the tables are without that person.

Every column with texts of every table is looked through, so that a new table is searched by being there. Documents and passages
are counted here, and changed elsewhere: they are read again, or erased.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.detail_tables import document_details
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.documents import batches
from wenyuan.catalog.erasure import NAMES, forget_words
from wenyuan.catalog.every_table import ALL
from wenyuan.catalog.gap_tables import gap_answers, gap_closings, gap_decisions
from wenyuan.catalog.golden_tables import golden_questions
from wenyuan.catalog.reader_tables import document_readers
from wenyuan.catalog.rules.graph_queries import VERSION_KEY
from wenyuan.catalog.stated_files import stated_files
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.core.redaction.policy import ERASED_MARK

OF_DOCUMENTS = frozenset({"documents", "passages", "readings"})
SILENT = frozenset({
    "commits", "vectors", "rule_clauses_read", "erasures", "tunings", "judge_calibrations", "conflicts",
    "source_runs", "workers",
})  # fmt: skip
"""Tables without a text of anybody: numbers, hashes, weights, and what erasures say of themselves."""
PLACES: Mapping[str, str] = {
    "sources": "registry", "source_state": "registry", "library": "values", "corrections": "corrections",
    "context_sentences": "sentences", "failures": "failures", "addresses": "addresses", "entries": "listings",
    "agents": "agents", "keys": "keys", "key_principals": "keys", "feedback": "feedback", "golden_sets": "golden",
    "evaluations": "evaluations", "task_profiles": "profiles", "rule_nodes": "rules", "rule_aliases": "rules",
    "rule_statements": "rules", "rule_evidences": "evidence", "rule_reviews": "rules", "synonyms": "synonyms",
    "access_lists": "readers", "stated_files": "addresses", "erasure_holds": "holds", "withheld_files": "addresses", "document_readers": "readers", "group_members": "readers", "gap_decisions": "gaps",
    "people": "people", "embedding_batches": "batches", "document_details": "details",
    "conflict_decisions": "conflicts", "gap_closings": "gaps", "gap_answers": "gaps", "golden_questions": "golden",
}  # fmt: skip
"""By table, what people call the place."""
OTHER = "other"
"""The place of a table that has no name among these."""
_DELETED = frozenset({"failures", "addresses", "entries", "context_sentences", "embedding_batches"})
"""Tables whose rows are made anew when documents are read, and so go as a whole."""
_RULES = frozenset({"rule_nodes", "rule_aliases", "rule_statements", "rule_evidences", "rule_reviews"})
EARLY: Mapping[str, frozenset[str]] = {
    **{name: frozenset() for name in _RULES}, "corrections": frozenset({"uri"}),
    "document_details": frozenset({"uri"}),
}  # fmt: skip
"""Tables that are changed before documents are read again, which must find in these what they will say; with the columns
that wait until then.
"""
_IDS = frozenset({
    "source_id", "set_id", "key_id", "agent_id", "audit_id", "conflict_id", "digest", "sha256", "quote_sha256", "vector_key", "label_key",
    "identity", "fingerprint", "pack", "packs", "kind", "rel", "status", "restores", "type", "action", "origin", "media_type",
    "language", "code", "refusal",
})  # fmt: skip
"""Columns of hashes, ids and words of the program."""
_KEPT = {
    "sources": frozenset({"path", "settings"}), "library": frozenset({"key"}), "erasure_holds": frozenset({"target"}),
}  # fmt: skip
"""Columns that say where something lies: a source is not read any more where these change."""
MARKED = "erasing"
"""Fingerprint of a live document of which something is erased: whoever reads its source next reads it again."""


@dataclass(frozen=True, slots=True, eq=False)
class ErasedTexts:
    """Finds and takes out what a person left in the tables."""

    database: Database

    def documents_with(self, found: ErasedValues) -> tuple[dict[str, set[int]], dict[str, set[int]], int]:
        """The live documents and the removed ones in which a person stands, by source; and the number of passages."""
        live: dict[str, set[int]] = {}
        past: dict[str, set[int]] = {}
        passages = 0
        with self.database.reading("looking for a person") as connection:
            for table in (t.documents, t.passages, t.readings):
                texts = _texts_of(table)
                columns = [table.c.document_id, *texts]
                extra = [t.documents.c.source_id, t.documents.c.removed_seq]
                origin = table if table is t.documents else table.join(
                    t.documents, t.documents.c.document_id == table.c.document_id
                )  # fmt: skip
                query = sa.select(*columns, *(one.label(f"of_{one.name}") for one in extra)).select_from(origin)
                for row in connection.execute(query, execution_options={"yield_per": 1_000}):
                    if any(_holds(found, value) for value in row[1 : len(columns)]):
                        by = live if row[-1] is None else past
                        by.setdefault(row[-2], set()).add(row[0])
                        passages += table is t.passages
        return live, past, passages

    def counted(self, found: ErasedValues) -> dict[str, int]:
        """By place, in how many rows a person stands, but for documents."""
        counts: Counter[str] = Counter()
        with self.database.reading("looking for a person") as connection:
            for table in _searched():
                for row in _rows(connection, table):
                    if any(_holds(found, row[column.name]) for column in _texts_of(table)):
                        counts[PLACES.get(table.name, OTHER)] += 1
        return dict(counts)

    def mask(self, found: ErasedValues, *, early: bool = False) -> dict[str, int]:
        """Take a person out of the tables but for documents; returns the number of rows by place.

        Args:
            early: Only in what is looked at while documents are read again.
        """
        counts: Counter[str] = Counter()
        with self.database.changing("erasing a person") as connection:
            for table in _searched():
                if early and table.name not in EARLY:
                    continue
                later = EARLY.get(table.name, frozenset()) if early else frozenset()
                columns = [column for column in _texts_of(table) if column.name not in later]
                changed = _masked_rows(connection, table, columns, found)
                if changed:
                    counts[PLACES.get(table.name, OTHER)] += changed
            if counts:
                seq = next_seq(connection, "")
                s = t.synonyms.c
                ended = t.synonyms.update().where(
                    s.removed_seq.is_(None), sa.or_(s.term.contains(ERASED_MARK), s.synonym.contains(ERASED_MARK))
                )
                connection.execute(ended.values(removed_seq=seq))  # whose words nobody asks with any more
                if counts.keys() & {PLACES[name] for name in _RULES}:
                    version = t.library.update().where(t.library.c.key == VERSION_KEY)
                    connection.execute(version.values(value=str(seq)))
                    names = t.vectors.c.vector_key.startswith(NAMES)
                    connection.execute(
                        t.vectors.delete().where(names)
                    )  # they are made anew from the names that are left
        return dict(counts)

    def mark(self, documents: Mapping[str, Collection[int]]) -> None:
        """Have live documents read again."""
        d = t.documents.c
        with self.database.changing("marking documents") as connection:
            for numbers in documents.values():
                for part in batches(sorted(numbers)):
                    which = t.documents.update().where(d.document_id.in_(part), d.removed_seq.is_(None))
                    connection.execute(which.values(fingerprint=MARKED))

    def marked(self) -> dict[str, list[int]]:
        """Live documents that were not read again since they were marked, by source."""
        d = t.documents.c
        query = sa.select(d.source_id, d.document_id).where(d.fingerprint == MARKED, d.removed_seq.is_(None))
        found: dict[str, list[int]] = {}
        with self.database.reading("reading marked documents") as connection:
            for source_id, number in connection.execute(query):
                found.setdefault(source_id, []).append(number)
        return found

    def documents_at(self, source_id: str, uri: str) -> tuple[list[int], list[int]]:
        """The live and the removed documents that were read from an address, or are parts of what was."""
        d = t.documents.c
        parts = sa.or_(d.uri == uri, *(d.uri.startswith(uri + mark, autoescape=True) for mark in "?#"))
        query = sa.select(d.document_id, d.removed_seq).where(d.source_id == source_id, parts)
        with self.database.reading("looking for a document") as connection:
            rows = connection.execute(query).all()
        return [n for n, gone in rows if gone is None], [n for n, gone in rows if gone is not None]

    def documents_in(self, source_id: str) -> tuple[list[int], list[int]]:
        """The live and the removed documents of a source, without those whose texts are erased."""
        d = t.documents.c
        query = sa.select(d.document_id, d.removed_seq).where(d.source_id == source_id, d.fingerprint != "")
        with self.database.reading("looking for documents") as connection:
            rows = connection.execute(query).all()
        return [n for n, gone in rows if gone is None], [n for n, gone in rows if gone is not None]

    def refs_at(self, source_id: str, uri: str) -> frozenset[str]:
        """The short addresses of the passages that documents at an address have and had."""
        live, past = self.documents_at(source_id, uri)
        p = t.passages.c
        found: set[str] = set()
        with self.database.reading("looking for passages") as connection:
            for part in batches([*live, *past]):
                query = sa.select(p.passage_id).where(p.document_id.in_(part))
                found.update(f"{source_id}#{number}" for number in connection.scalars(query))
        return frozenset(found)

    def address_of(self, document_id: int) -> tuple[str, str] | None:
        """Source and address of a document, live or removed; None where there is none, or its texts are erased."""
        d = t.documents.c
        query = sa.select(d.source_id, d.uri).where(d.document_id == document_id, d.uri != "")
        with self.database.reading("looking for a document") as connection:
            row = connection.execute(query).first()
        return None if row is None else (row[0], row[1])

    def forget_documents(self, documents: Collection[int]) -> int:
        """Erase the texts of removed documents, and of what was marked and is removed; returns how many those are."""
        d, p = t.documents.c, t.passages.c
        count = 0
        with self.database.changing("erasing documents") as connection:
            marked = connection.scalars(
                sa.select(d.document_id).where(d.fingerprint == MARKED, d.removed_seq.is_not(None))
            )
            for part in batches(sorted({*documents, *marked})):
                gone = sa.and_(d.document_id.in_(part), d.removed_seq.is_not(None))
                count += int(
                    connection.scalar(
                        sa.select(sa.func.count()).select_from(t.documents).where(gone, d.fingerprint != "")
                    )
                    or 0
                )
                words = p.document_id.in_(sa.select(d.document_id).where(gone))
                forget_words(connection, gone, words)
        return count

    def forget_address(self, source_id: str, uri: str) -> dict[str, int]:
        """Delete what is kept of a document beside its texts: by place, how many rows."""
        counts: Counter[str] = Counter()
        with self.database.changing("erasing a document") as connection:
            for table in (
                t.corrections,
                t.failures,
                t.addresses,
                t.entries,
                document_readers,
                stated_files,
                document_details,
            ):
                c = table.c
                parts = sa.or_(c.uri == uri, *(c.uri.startswith(uri + mark, autoescape=True) for mark in "?#"))
                gone = connection.execute(table.delete().where(c.source_id == source_id, parts)).rowcount
                if gone:
                    counts[PLACES[table.name]] += gone
            e = t.evidences.c
            words = {"uri": "", "clause": "", "quote": "", "quote_sha256": "", "reviewer": ""}
            quoted = t.evidences.update().where(e.source_id == source_id, e.uri == uri, e.removed_seq.is_not(None))
            if gone := connection.execute(quoted.values(words)).rowcount:
                counts[PLACES["rule_evidences"]] += gone
        return dict(counts)

    def unkept_gaps(self, digests: Collection[str]) -> int:
        """Delete what is kept about questions, decisions and answers; returns how many rows there were."""
        count = 0
        with self.database.changing("erasing decisions on gaps") as connection:
            for part in batches(sorted(digests)):
                for table in (gap_decisions, gap_closings, gap_answers, golden_questions):
                    count += connection.execute(table.delete().where(table.c.digest.in_(part))).rowcount
        return count


def _searched() -> Iterator[sa.Table]:
    for tables in ALL:
        yield from (one for one in tables.sorted_tables if one.name not in OF_DOCUMENTS | SILENT)


def _texts_of(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns of a table that may hold somebody's words."""
    kept = _IDS | _KEPT.get(table.name, frozenset())
    return [one for one in table.columns if isinstance(one.type, sa.Text | sa.JSON) and one.name not in kept]


def _rows(connection: sa.Connection, table: sa.Table) -> Iterator[sa.RowMapping]:
    yield from connection.execute(sa.select(table), execution_options={"yield_per": 500}).mappings()


def _holds(found: ErasedValues, value: Any) -> bool:
    if isinstance(value, str):
        tree = _tree(value)
        return found.holds(value) if tree is None else _holds(found, tree)
    if isinstance(value, Mapping):
        return any(_holds(found, name) or _holds(found, item) for name, item in value.items())
    return isinstance(value, list) and any(_holds(found, item) for item in value)


def _tree(text: str) -> Any:
    """The object or array that a text is, where it is JSON; else None."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return None


def _masked(found: ErasedValues, value: Any) -> Any:
    if isinstance(value, str) and (tree := _tree(value)) is not None:
        return json.dumps(found.masked_value(tree)[0], ensure_ascii=False)
    return found.masked_value(value)[0]


def _masked_rows(
    connection: sa.Connection, table: sa.Table, columns: list[sa.Column[Any]], found: ErasedValues
) -> int:
    """Mask or delete the rows of one table in which a person stands; returns how many."""
    hits = [dict(row) for row in _rows(connection, table) if any(_holds(found, row[one.name]) for one in columns)]
    for row in hits:
        this = sa.and_(*(one == row[one.name] for one in table.primary_key.columns))
        if table.name in _DELETED:
            connection.execute(table.delete().where(this))
            continue
        values = {one.name: _masked(found, row[one.name]) for one in columns if _holds(found, row[one.name])}
        for name, own in _ALSO.get(table.name, {}).items():
            values[name] = own(values, row)
        _update(connection, table, this, values, row)
    return len(hits)


def _quote_hash(values: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return hashlib.sha256(str(values.get("quote", row["quote"])).encode()).hexdigest() if row["quote_sha256"] else ""


def _list_digest(values: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    definition = values.get("definition", row["definition"])
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


_ALSO: Mapping[str, Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], str]]] = {
    "rule_evidences": {"quote_sha256": _quote_hash}, "access_lists": {"digest": _list_digest},
}  # fmt: skip
"""Columns that follow from others."""


def _update(
    connection: sa.Connection,
    table: sa.Table,
    this: sa.ColumnElement[bool],
    values: dict[str, Any],
    row: Mapping[str, Any],
) -> None:
    """Change a row; where its key is another row's then, it gets a mark that tells them apart."""
    unique = {one.name for one in table.primary_key.columns} | {
        one.name for index in table.indexes if index.unique for one in index.columns
    } | {one.name for one in table.columns if one.unique}  # fmt: skip
    try:
        with connection.begin_nested():
            connection.execute(table.update().where(this).values(values))
    except sa.exc.IntegrityError:
        told = hashlib.sha256(repr(sorted((k, str(v)) for k, v in values.items())).encode()).hexdigest()[:8]
        number = next(iter(table.primary_key.columns)).name
        mark = f"~{row[number] if isinstance(row[number], int) else told}"
        own = {name: f"{value}{mark}" if name in unique else value for name, value in values.items()}
        connection.execute(table.update().where(this).values(own))
