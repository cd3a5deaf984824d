"""The tables of the catalog."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

# The kinds of columns, so that SQLite and PostgreSQL hold the same values and put them in the same order.


class _Words(sa.TypeDecorator[str]):
    """Text in PostgreSQL: by code points, as SQLite orders it, and with NUL, which PostgreSQL does not hold.

    NUL is written as 1, 1 and the character 1 as 1, 2, which leaves the order of texts as it was.
    """

    impl = sa.Text(collation="C")
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        if value is None or ("\x00" not in value and "\x01" not in value):
            return value
        return value.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        if value is None or "\x01" not in value:
            return value
        return value.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01")


class _Tree(sa.TypeDecorator[Any]):
    """JSON as text: with its own order of keys, NaN and NUL, and so that rows can be compared."""

    impl = sa.Text(collation="C")
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str:
        return json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        return None if value is None else json.loads(value)


TEXT = sa.Text().with_variant(_Words(), "postgresql")
JSON = sa.JSON().with_variant(_Tree(), "postgresql")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""On SQLite an INTEGER primary key is the row id; AUTOINCREMENT makes sure that a number is never given twice."""


# What was learned from judged questions, and the judgements that callers gave of answers.


tuning_tables = sa.MetaData()

# A tuning counts from the change at which it was adopted until the one at which it was undone or replaced.
tunings = sa.Table(
    "tunings",
    tuning_tables,
    sa.Column("tuning_id", ID, primary_key=True, autoincrement=True),
    sa.Column("seq", ID, nullable=False),
    sa.Column("undone_seq", ID),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("undone_at", sa.Float),
    sa.Column("encoder", TEXT, nullable=False),  # key of the encoder's fingerprint
    sa.Column("fingerprint", TEXT, nullable=False),
    sa.Column("map", sa.LargeBinary),  # `core.scoring.adapt.QueryMap.to_bytes`; null: vectors are used as they are
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("report", JSON, nullable=False),
    sqlite_autoincrement=True,
)

# Feedback: which caller judged which part of an audited answer as right or wrong. A caller's last judgement counts.
feedback = sa.Table(
    "feedback",
    tuning_tables,
    sa.Column("audit_id", TEXT, primary_key=True),
    sa.Column("ref", TEXT, primary_key=True),
    sa.Column("actor", TEXT, primary_key=True),
    sa.Column("good", sa.Boolean, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)


# Calibrations of a judge (`core.scoring.risk`): each counts as a tuning does.


judge_tables = sa.MetaData()

calibrations = sa.Table(
    "judge_calibrations",
    judge_tables,
    sa.Column("calibration_id", ID, primary_key=True, autoincrement=True),
    sa.Column("seq", ID, nullable=False),
    sa.Column("undone_seq", ID),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("undone_at", sa.Float),
    sa.Column("calibration", JSON, nullable=False),  # see `core.scoring.risk.Calibration.stored`
    sa.Column("report", JSON, nullable=False),
    sqlite_autoincrement=True,
)


# Evaluations: how well the library answered questions with known answers, and the questions.


evaluation_tables = sa.MetaData()

golden_sets = sa.Table(
    "golden_sets", evaluation_tables, sa.Column("set_id", TEXT, primary_key=True), sa.Column("pairs", JSON, nullable=False)
)  # fmt: skip

evaluations = sa.Table(
    "evaluations",
    evaluation_tables,
    sa.Column("evaluation_id", ID, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("set_id", TEXT, nullable=False),
    sa.Column("report", JSON, nullable=False),
    sa.Column("asked", JSON, nullable=False),
    sqlite_autoincrement=True,
)
sa.Index("evaluations_set", evaluations.c.set_id)


# Task profiles, as operators configure them.


profile_tables = sa.MetaData()

# A profile counts from the change at which it was registered until the one at which it was replaced or removed.
profiles = sa.Table(
    "task_profiles",
    profile_tables,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("profile_id", TEXT, nullable=False),
    sa.Column("definition", JSON, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sqlite_autoincrement=True,
)


# The tables of the rules graph.
#
# Nodes and statements have numbers that we assign and never change, even when they are retired and return.
# Like documents they are kept as versions: a row is added at one commit (``seq``) and removed at another
# (``removed_seq``). Indexes hold the rows of the past too, so that it is read as fast as the present.
# JSON is kept as text: most rows that a request reads have none, and that is seen without decoding.


rules_tables = sa.MetaData()

nodes = sa.Table(
    "rule_nodes",
    rules_tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("node_id", ID, nullable=False),
    sa.Column("key", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("labels", TEXT, nullable=False),
    sa.Column("codes", TEXT, nullable=False),
    sa.Column("scope", TEXT, nullable=False),
    sa.Column("attributes", TEXT, nullable=False),
    sa.Column("packs", TEXT, nullable=False),  # the packs that bring it; the first one says what it is
    sa.Column("folded", TEXT, nullable=False),  # name and labels, as lists of nodes are searched
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
)

aliases = sa.Table(
    "rule_aliases",
    rules_tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("node_id", ID, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    sa.Column("language", TEXT, nullable=False),
    sa.Column("type", TEXT, nullable=False),
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("folded", TEXT, nullable=False),
    sa.Column("pack", TEXT, nullable=False),
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
)

statements = sa.Table(
    "rule_statements",
    rules_tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("statement_id", ID, nullable=False),
    sa.Column("key", TEXT, nullable=False),
    sa.Column("src", ID, nullable=False),
    sa.Column("rel", TEXT, nullable=False),
    sa.Column("dst", ID, nullable=False),
    sa.Column("condition", TEXT, nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),  # of its strength: 0 mandatory, 1 recommended, 2 informative
    sa.Column("sentence", TEXT, nullable=False),
    sa.Column("valid_from", sa.Integer, nullable=False),  # proleptic ordinal day, 0: ever
    sa.Column("valid_until", sa.Integer, nullable=False),  # core.model.FOREVER: without end
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("status", TEXT, nullable=False),
    sa.Column("restores", TEXT, nullable=False),  # retired for want of evidence: its status when that comes back
    sa.Column("reason", TEXT, nullable=False),  # of its status, where it was not its author who gave it
    sa.Column("pack", TEXT, nullable=False),  # the pack whose wording it has
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
)

evidences = sa.Table(
    "rule_evidences",
    rules_tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("statement_id", ID, nullable=False),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),
    sa.Column("clause", TEXT, nullable=False),
    sa.Column("quote", TEXT, nullable=False),
    sa.Column("quote_sha256", TEXT, nullable=False),
    sa.Column("trust", sa.Integer),  # null: its source's
    sa.Column("reviewer", TEXT, nullable=False),
    sa.Column("pack", TEXT, nullable=False),
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sa.Column("verified", sa.Integer, nullable=False, server_default="0"),  # 1: a document here has the words
)

# What people decided; rows are only ever added.
reviews = sa.Table(
    "rule_reviews",
    rules_tables,
    sa.Column("review_id", ID, primary_key=True, autoincrement=True),
    sa.Column("statement_id", ID, nullable=False),
    sa.Column("action", TEXT, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("before", TEXT, nullable=False),
    sa.Column("after", TEXT, nullable=False),
    sa.Column("seq", ID, nullable=False),
    sqlite_autoincrement=True,
)


# Clauses that a language model has read for rules: a hash of what it was shown, by which model, and how it was asked.
clauses_read = sa.Table(
    "rule_clauses_read",
    rules_tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("key", TEXT, primary_key=True),
    sqlite_with_rowid=False,
)


PROPOSED: sa.ColumnElement[str] = sa.literal_column("'proposed'")
"""The status as an index knows it: a bound value would not let it be used."""


NOWHERE: sa.ColumnElement[str] = sa.literal_column("''")
"""No URI, as an index knows it."""


def _one_live(column: sa.Column[sa.Text]) -> None:
    where = column.table.c.removed_seq.is_(None)
    name = f"{column.table.name}_live"
    sa.Index(name, column, unique=True, sqlite_where=where, postgresql_where=where)


# SQLite plans without statistics. So no index but the right one may fit what a walk asks: none by status, and none
# of the evidence by source or pack, which are asked for when a source or a pack goes, and then all rows are read.
# `cited` is one by source that no walk can use, since it asks nothing about the URI.
sa.Index("rule_nodes_id", nodes.c.node_id)
sa.Index("rule_nodes_key", nodes.c.key)
_one_live(nodes.c.key)
sa.Index("rule_aliases_node", aliases.c.node_id)
sa.Index("rule_statements_id", statements.c.statement_id)
sa.Index("rule_statements_src", *(statements.c[name] for name in ("src", "rel", "removed_seq", "status")))
sa.Index("rule_statements_dst", *(statements.c[name] for name in ("dst", "rel", "removed_seq", "status")))
_one_live(statements.c.key)
_waiting = sa.and_(statements.c.removed_seq.is_(None), statements.c.status == PROPOSED)
sa.Index("rule_statements_proposed", statements.c.statement_id, sqlite_where=_waiting, postgresql_where=_waiting)
sa.Index("rule_evidences_statement", evidences.c.statement_id)
sa.Index("rule_reviews_statement", reviews.c.statement_id)

_placed = sa.and_(evidences.c.removed_seq.is_(None), evidences.c.uri != NOWHERE)
cited = sa.Index("rule_evidences_cited", evidences.c.source_id, sqlite_where=_placed, postgresql_where=_placed)
_unplaced = sa.and_(evidences.c.removed_seq.is_(None), evidences.c.uri == NOWHERE)
_own = evidences.c.source_id
unplaced = sa.Index("rule_evidences_unplaced", _own, sqlite_where=_unplaced, postgresql_where=_unplaced)


# Synonyms: users' words for words of the documents, as operators enter them.


synonym_tables = sa.MetaData()

# An entry counts from the change at which it was entered until the one at which it was replaced or removed.
synonyms = sa.Table(
    "synonyms",
    synonym_tables,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("term", TEXT, nullable=False),
    sa.Column("synonym", TEXT, nullable=False),
    sa.Column("both", sa.Boolean, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sqlite_autoincrement=True,
)
sa.Index("synonyms_seq", synonyms.c.seq)
sa.Index("synonyms_removed", synonyms.c.removed_seq)


# Sources, documents and passages; `catalog.format_upgrades` has the steps by which an older library becomes a current one.
#
# Rows are never rewritten: a document or passage is added at one commit (``seq``) and removed at another
# (``removed_seq``), so the state at any commit can be read back, and an index can follow by number.


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
# Lists by title or state are answered from it alone: rows are five times as many pages. PostgreSQL takes no such keys.
named = sa.Index(
    "documents_named",
    *(documents.c[name] for name in ("source_id", "uri", "title", "effective_from", "effective_until", "own_until")),
    documents.c.removed_seq,
    sqlite_where=documents.c.removed_seq.is_(None),
    info={"dialect": "sqlite"},
)
_ENDING = sa.and_(documents.c.removed_seq.is_(None), documents.c.effective_until.is_not(None))
ending = sa.Index(  # most documents have no end, and verification asks for the last ones that had
    "documents_ending",
    documents.c.source_id,
    documents.c.effective_until,
    sqlite_where=_ENDING,
    postgresql_where=_ENDING,
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
    sa.Column("corrected", TEXT),  # JSON, see `rows.corrected_text`; null: it is as it was cut
    sa.Column("recognised", TEXT),  # JSON, see `rows.recognition_text`; null: nothing of it was an image
    sa.Column("context", TEXT),  # JSON, see `rows.context_text`; null: no model said where it stands
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sqlite_autoincrement=True,
)
sa.Index("passages_document", passages.c.document_id)
sa.Index("passages_seq", passages.c.seq)
sa.Index("passages_vector", passages.c.vector_key)
UNLABELLED = sa.and_(
    passages.c.label_key.is_(None), passages.c.vector_key.is_not(None), passages.c.removed_seq.is_(None)
)
unlabelled = sa.Index(
    "passages_unlabelled", passages.c.passage_id, sqlite_where=UNLABELLED, postgresql_where=UNLABELLED
)
sa.Index(
    "passages_removed",
    passages.c.removed_seq,
    sqlite_where=passages.c.removed_seq.is_not(None),
    postgresql_where=passages.c.removed_seq.is_not(None),
)

_CONTEXT = sa.and_(passages.c.context.is_not(None), passages.c.removed_seq.is_(None))
with_context = sa.Index(
    "passages_with_context", passages.c.source_id, sqlite_where=_CONTEXT, postgresql_where=_CONTEXT
)

INTERNAL = frozenset(("vector_key", "label_key", "context", "seq", "removed_seq"))
"""Columns of a passage that are no part of what it says."""

# Context sentences by a language model, and refused ones, so that no passage is asked about twice.
context_sentences = sa.Table(
    "context_sentences",
    tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("key", TEXT, primary_key=True),  # `core.context_sentences.key_of`
    sa.Column("sentence", TEXT, nullable=False),  # "" where it was refused
    sa.Column("refusal", TEXT, nullable=False),  # "" where it was not
    sa.Column("model", TEXT, nullable=False),
    sa.Column("prompt", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
)

# How a document was read: only of those whose reader says anything of that. No words but the warnings.
readings = sa.Table(
    "readings",
    tables,
    sa.Column("document_id", ID, sa.ForeignKey("documents.document_id"), primary_key=True, autoincrement=False),
    sa.Column("score", sa.Float),  # `core.fidelity.Fidelity.score`
    sa.Column("fidelity", TEXT),  # JSON; null: its reader does not say
    sa.Column("lines", sa.LargeBinary),  # see `rows.pack_lines`; null: there are none
    sa.Column("uncertain", TEXT),  # JSON; null: nothing is
)
sa.Index("readings_score", readings.c.score)

# What people corrected, by address and words, since numbers change when a document is read again. One counts from
# the change at which it was made until the one at which it was undone.
corrections = sa.Table(
    "corrections",
    tables,
    sa.Column("correction_id", ID, primary_key=True, autoincrement=True),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),  # of the document
    sa.Column("action", TEXT, nullable=False),
    sa.Column("detail", JSON, nullable=False),  # `core.corrections.Correction`; empty where its words were forgotten
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", ID, nullable=False),
    sa.Column("undone_seq", ID),
    sa.Column("undone_by", TEXT, nullable=False),
    sa.Column("undone_at", sa.Float),
    sa.Column("lost_seq", ID),  # null: its words are in the document, or the document is not there
    sqlite_autoincrement=True,
)
sa.Index("corrections_document", corrections.c.source_id, corrections.c.uri)

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

# Stored addresses that redaction changed, by a keyed hash of the true ones (`catalog.addresses`).
addresses = sa.Table(
    "addresses",
    tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("identity", TEXT, primary_key=True),
    sa.Column("base", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),
    sa.Column("places", JSON, nullable=False, server_default="[]"),  # of values that documents showed to be some
)
sa.Index("addresses_uri", addresses.c.source_id, addresses.c.uri, unique=True)

# What connectors listed of a source when it was last read.
listing_tables = sa.MetaData()

entries = sa.Table(
    "entries",
    listing_tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("key", TEXT, primary_key=True),
    sa.Column("entry", JSON, nullable=False),
    sa.Column("how", TEXT, nullable=False),  # it was read: what the fingerprints of its documents begin with
    sa.Column("documents", JSON, nullable=False),  # their URIs
    sa.Column("uri", TEXT, nullable=False, server_default=""),  # the entry's; "" in rows of a former version
)
entries_uri = sa.Index("entries_uri", entries.c.source_id, entries.c.uri)


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
    sa.Column("name", TEXT, nullable=False, server_default=""),
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
