"""The tables of the catalog, and the numbered steps by which an older library becomes a current one.

Rows are never rewritten: a document or passage is added at one commit (``seq``) and removed at another
(``removed_seq``), so the state at any commit can be read back, and an index can follow by number.
"""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog import evaluation_tables, profile_tables, rules_tables, synonym_tables, tuning_tables
from wenyuan.catalog.columns import ID, JSON, TEXT

__all__ = [
    "ALL",
    "FORMER",
    "MIGRATIONS",
    "PSEUDONYMS",
    "SCHEMA_VERSION",
    "commits",
    "documents",
    "failures",
    "library",
    "passages",
    "sources",
    "vectors",
]

tables = sa.MetaData()

library = sa.Table(
    "library",
    tables,
    sa.Column("key", TEXT, primary_key=True),
    sa.Column("value", TEXT, nullable=False),
)

PSEUDONYMS = "pseudonym_key"
"""Key in `library` of what a library in a folder keeps in its file ``pseudonym.key``, in hexadecimal digits."""

FORMER = "former_id/"
"""What the keys in `library` begin with under which its earlier ids are kept: what was made of it carries one of them."""

commits = sa.Table(
    "commits",
    tables,
    sa.Column("seq", ID, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("source_id", TEXT, nullable=False),
    sqlite_autoincrement=True,
)

sources = sa.Table(
    "sources",
    tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("title", TEXT, nullable=False),
    sa.Column("type", TEXT, nullable=False),
    sa.Column("domain", TEXT, nullable=False),
    sa.Column("trust", sa.Integer, nullable=False),
    sa.Column("language", TEXT, nullable=False),
    sa.Column("collection", TEXT, nullable=False),
    sa.Column("path", TEXT, nullable=False),
    sa.Column("copyright", TEXT, nullable=False),
    sa.Column("effective_from", sa.Integer),  # proleptic ordinal day
    sa.Column("effective_until", sa.Integer),
    sa.Column("status", TEXT, nullable=False),
    sa.Column("supersedes", JSON, nullable=False),
    sa.Column("refresh_cycle", TEXT, nullable=False),
    sa.Column("owner", TEXT, nullable=False),
    sa.Column("sensitivity", TEXT, nullable=False),
    sa.Column("tags", JSON, nullable=False),
    sa.Column("settings", JSON, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)

documents = sa.Table(
    "documents",
    tables,
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),  # given by us
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),
    sa.Column("title", TEXT, nullable=False),
    sa.Column("lead", TEXT, nullable=False, server_default=""),  # its first words, where it has no title
    sa.Column("fingerprint", TEXT, nullable=False),  # of the content and of all that shapes its passages
    sa.Column("media_type", TEXT, nullable=False),
    sa.Column("language", TEXT, nullable=False),
    sa.Column("collection", TEXT, nullable=False),
    sa.Column("effective_from", sa.Integer),
    sa.Column("effective_until", sa.Integer),
    sa.Column("own_until", sa.Integer),  # its own end; effective_until may be earlier, where it is superseded
    sa.Column("facets", JSON, nullable=False),
    sa.Column("notes", JSON, nullable=False),
    sa.Column("ingested_at", sa.Float, nullable=False),
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
)
sa.Index(
    "documents_live",
    documents.c.source_id,
    documents.c.uri,
    unique=True,
    sqlite_where=documents.c.removed_seq.is_(None),
    postgresql_where=documents.c.removed_seq.is_(None),
)

passages = sa.Table(
    "passages",
    tables,
    sa.Column("passage_id", ID, primary_key=True, autoincrement=True),
    sa.Column("document_id", ID, sa.ForeignKey("documents.document_id"), nullable=False),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),
    sa.Column("headings", JSON, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    sa.Column("sha256", TEXT, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("line", sa.Integer),
    sa.Column("cell", TEXT),
    sa.Column("vector_key", TEXT),  # null in a keyword-only library
    sa.Column("label_key", TEXT),  # of the vector of its label; "" has none, null was never asked
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sqlite_autoincrement=True,
)
sa.Index("passages_document", passages.c.document_id)
sa.Index("passages_seq", passages.c.seq)
sa.Index("passages_vector", passages.c.vector_key)
_UNLABELLED = sa.and_(
    passages.c.label_key.is_(None), passages.c.vector_key.is_not(None), passages.c.removed_seq.is_(None)
)
unlabelled = sa.Index(
    "passages_unlabelled", passages.c.passage_id, sqlite_where=_UNLABELLED, postgresql_where=_UNLABELLED
)
sa.Index(
    "passages_removed",
    passages.c.removed_seq,
    sqlite_where=passages.c.removed_seq.is_not(None),
    postgresql_where=passages.c.removed_seq.is_not(None),
)

INTERNAL = frozenset(("vector_key", "label_key", "seq", "removed_seq"))
"""Columns of a passage that are no part of what it says."""

# Vectors are kept by what was embedded with which model, so that the same text is never embedded twice.
vectors = sa.Table(
    "vectors",
    tables,
    sa.Column("vector_key", TEXT, primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),  # float32, little endian
    sa.Column("crc", sa.BigInteger, nullable=False),
)

failures = sa.Table(
    "failures",
    tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("uri", TEXT, primary_key=True),
    sa.Column("code", TEXT, nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)


agents = sa.Table(
    "agents",
    tables,
    sa.Column("agent_id", TEXT, primary_key=True),
    sa.Column("definition", JSON, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)

# A key's secret is never stored, only its hash.
keys = sa.Table(
    "keys",
    tables,
    sa.Column("key_id", TEXT, primary_key=True),
    sa.Column("sha256", TEXT, nullable=False),
    sa.Column("agent_id", TEXT),
    sa.Column("rights", JSON, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("expires_at", sa.Float),
    sa.Column("revoked_at", sa.Float),
)

source_state = sa.Table(
    "source_state",
    tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("last_success", sa.Float),
    sa.Column("last_failure", sa.Float),
    sa.Column("failure", TEXT, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("next_refresh", sa.Float),
    sa.Column("claimed_by", TEXT, nullable=False),
    sa.Column("claimed_until", sa.Float),
)


def _first_tables(connection: sa.Connection) -> None:
    tables.create_all(connection)


def _governance(connection: sa.Connection) -> None:
    """Adds what makes a source governed, and agents, keys and the state of sources."""
    held = {column["name"] for column in sa.inspect(connection).get_columns("sources")}
    added = {
        "status": "'in_force'",
        "supersedes": "'[]'",
        "refresh_cycle": "'never'",
        "owner": "''",
        "sensitivity": "'public'",
        "tags": "'[]'",
    }
    for name, default in added.items():
        if name not in held:
            kind = "JSON" if default == "'[]'" else "TEXT"
            connection.execute(sa.text(f"ALTER TABLE sources ADD COLUMN {name} {kind} NOT NULL DEFAULT {default}"))
    if "own_until" not in {column["name"] for column in sa.inspect(connection).get_columns("documents")}:
        connection.execute(sa.text("ALTER TABLE documents ADD COLUMN own_until INTEGER"))
        connection.execute(sa.text("UPDATE documents SET own_until = effective_until"))
    tables.create_all(connection)


def _rules(connection: sa.Connection) -> None:
    rules_tables.tables.create_all(connection)


def _tunings(connection: sa.Connection) -> None:
    tuning_tables.tables.create_all(connection)


def _cited(connection: sa.Connection) -> None:
    rules_tables.cited.create(connection, checkfirst=True)


def _profiles(connection: sa.Connection) -> None:
    profile_tables.tables.create_all(connection)


def _evaluations(connection: sa.Connection) -> None:
    evaluation_tables.tables.create_all(connection)


def _verified(connection: sa.Connection) -> None:
    """Adds which quotes were found in a document that the library holds."""
    if "verified" not in {column["name"] for column in sa.inspect(connection).get_columns("rule_evidences")}:
        connection.execute(sa.text("ALTER TABLE rule_evidences ADD COLUMN verified INTEGER NOT NULL DEFAULT 0"))
    rules_tables.unplaced.create(connection, checkfirst=True)


def _synonyms(connection: sa.Connection) -> None:
    synonym_tables.tables.create_all(connection)


def _leads(connection: sa.Connection) -> None:
    """Adds the first words of documents that have no title; those that are held get them when they are read again."""
    if "lead" not in {column["name"] for column in sa.inspect(connection).get_columns("documents")}:
        connection.execute(sa.text("ALTER TABLE documents ADD COLUMN lead TEXT NOT NULL DEFAULT ''"))


def _labels(connection: sa.Connection) -> None:
    """Adds the vectors of labels; passages that are held get them by `wenyuan reembed`, or when they are read again."""
    if "label_key" not in {column["name"] for column in sa.inspect(connection).get_columns("passages")}:
        connection.execute(sa.text("ALTER TABLE passages ADD COLUMN label_key TEXT"))
        unlabelled.create(connection)


MIGRATIONS = (
    _first_tables, _governance, _rules, _tunings, _cited, _profiles, _evaluations, _verified, _synonyms, _leads,
    _labels,
)  # fmt: skip
"""Step n makes version n of version n − 1; steps are only ever added."""

SCHEMA_VERSION = len(MIGRATIONS)

ALL = (
    tables, rules_tables.tables, tuning_tables.tables, profile_tables.tables, evaluation_tables.tables,
    synonym_tables.tables,
)  # fmt: skip
"""Every table of a catalog."""
