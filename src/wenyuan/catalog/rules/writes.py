"""Changes of the rules graph: packs, reviews, name vectors, and evidence of changed sources."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rows import unpack_vector, vector_rows
from wenyuan.catalog.rules import packed
from wenyuan.catalog.rules.merge import (
    RulesChange,
    StatementMerge,
    leave_nodes,
    lose_support,
    merge_nodes,
    retire_unused,
)
from wenyuan.catalog.sql import now
from wenyuan.catalog.storage import Database
from wenyuan.catalog.writes import NAMES
from wenyuan.core.errors import CatalogUnavailable, InvalidRequest, NotFound, msg
from wenyuan.core.model import FOREVER
from wenyuan.core.rules import Node, Statement

# Changing the rules graph: what packs bring, what people decide, and what goes with a source.


SCHEMA_VALUE = "rules/schema"
ReviewAction = Literal["approve", "reject", "retire"]
_STATUS = {"approve": "approved", "reject": "rejected", "retire": "retired"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesReport:
    """The result of an import.

    Attributes:
        statements_changed: Other words, another status, or more evidence.
        statements_retired: Left without evidence.
        conflicts: Keys of statements and nodes that another pack defines differently; the stored definition is kept.
        seq: Number of the commit; None: nothing has changed.
    """

    nodes_added: int = 0
    nodes_changed: int = 0
    nodes_retired: int = 0
    statements_added: int = 0
    statements_changed: int = 0
    statements_retired: int = 0
    statements_unchanged: int = 0
    evidences_added: int = 0
    evidences_removed: int = 0
    schema_changed: bool = False
    conflicts: tuple[str, ...] = ()
    seq: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RuleWrites:
    """Changes of the rules graph; each method is one transaction, and one change if anything differs."""

    database: Database

    def apply_rules(
        self,
        pack: str,
        *,
        nodes: Sequence[Node],
        statements: Sequence[Statement],
        prune: bool,
        schema_tree: Mapping[str, Any] | None = None,
    ) -> RulesReport:
        """Import a pack; importing the same content again changes nothing and makes no commit.

        What people decided in a review stays, until the pack that says a statement changes its wording.

        Args:
            prune: The pack is complete: its other stored evidence, nodes and aliases are removed.
            schema_tree: The schema of the library from now on; None: as it is.

        Raises:
            InvalidRequest: a statement has no evidence or is about an unknown node, or a node is given twice.
            CatalogBusy: another process is writing.
        """
        if not pack.strip():
            raise InvalidRequest("a pack needs a name")
        with self.database.changing(f"storing the rules of {pack}") as connection:
            change = RulesChange(connection, f"rules:{pack}")
            differs = schema_tree is not None and _store_schema(change, schema_tree)
            merge_nodes(change, pack, nodes)
            StatementMerge(change, pack).merge(statements, prune=prune)
            if prune:
                leave_nodes(change, pack, nodes)
                retire_unused(change)
            change.finish()
        return RulesReport(
            **change.counts,
            schema_changed=differs,
            conflicts=tuple(dict.fromkeys(change.conflicts)),
            seq=change.made,
        )

    def review_rules(
        self, statement_ids: Sequence[int], action: ReviewAction, *, actor: str, reason: str = ""
    ) -> int:
        """Apply a review decision to statements, all or none; returns how many changed status.

        Raises:
            NotFound: there is no statement of a number.
            InvalidRequest: the action is unknown, or a statement without evidence is to be approved.
        """
        if action not in _STATUS:
            raise InvalidRequest(
                msg("{action} is no action: {status}", action=repr(action), status=", ".join(_STATUS))
            )
        ids = list(dict.fromkeys(statement_ids))
        with self.database.changing("reviewing statements") as connection:
            change = RulesChange(connection, "rules:review")
            held = {row["statement_id"]: row for row in change.live(t.statements, t.statements.c.statement_id, ids)}
            missing = [number for number in ids if number not in held]
            if missing:
                raise NotFound(msg("there are no statements {str}", str=", ".join(map(str, missing[:5]))))
            status = _STATUS[action]
            # A statement retired for lack of evidence differs from one retired in a review.
            rows = [row for row in held.values() if row["status"] != status or row["restores"]]
            if action == "approve":
                _refuse_unsupported(change, [row["statement_id"] for row in rows])
            after = {"status": status, "restores": "", "reason": reason}
            change.revise(t.statements, {row["row_id"]: {**row, **after} for row in rows})
            if rows:
                decided = {"action": action, "actor": actor, "reason": reason, "at": now(), "seq": change.seq}
                connection.execute(
                    t.reviews.insert(),
                    [
                        {
                            **decided,
                            "statement_id": row["statement_id"],
                            "before": packed({name: row[name] for name in after}),
                            "after": packed(after),
                        }
                        for row in rows
                    ],
                )
            change.finish()
        return len(rows)

    def clauses_read(self, source_id: str) -> frozenset[str]:
        """The clauses of a source that were read for rules, each as `mark_clauses_read` was given it."""
        c = t.clauses_read.c
        with self.database.reading("listing what was read for rules") as connection:
            return frozenset(connection.scalars(sa.select(c.key).where(c.source_id == source_id)))

    def mark_clauses_read(self, source_id: str, keys: Collection[str]) -> None:
        """Remember clauses of a source as read for rules; those that are remembered already stay."""
        c = t.clauses_read.c
        with self.database.changing("remembering what was read for rules") as connection:
            known = set(connection.scalars(sa.select(c.key).where(c.source_id == source_id, c.key.in_(keys))))
            new = [{"source_id": source_id, "key": key} for key in keys if key not in known]
            if new:
                connection.execute(t.clauses_read.insert(), new)


def _refuse_unsupported(change: RulesChange, ids: Sequence[int]) -> None:
    live = change.live(t.evidences, t.evidences.c.statement_id, ids)
    bare = sorted(set(ids) - {row["statement_id"] for row in live})
    if bare:
        raise InvalidRequest(
            msg("no evidence supports the statements {str}", str=", ".join(map(str, bare[:5]))),
            hint="import the pack that says them again",
        )


def _store_schema(change: RulesChange, tree: Mapping[str, Any]) -> bool:
    """Store the schema; returns whether it differs from the former one."""
    key, value = f"value/{SCHEMA_VALUE}", json.dumps(tree, ensure_ascii=False)
    table, connection = t.library, change.connection
    if connection.scalar(sa.select(table.c.value).where(table.c.key == key)) == value:
        return False
    connection.execute(table.delete().where(table.c.key == key))
    connection.execute(table.insert(), {"key": key, "value": value})
    return change.seq > 0


def drop_evidence_of(connection: sa.Connection, seq: int, source_id: str) -> int:
    """Remove a source's evidence, in the transaction that removes the source; returns the number of statements
    retired.

    The words of that evidence are overwritten, those of earlier versions, too: removal may be an order.
    """
    e = t.evidences.c
    change = RulesChange(connection, "", seq)
    query = sa.select(e.row_id, e.statement_id).where(e.source_id == source_id, e.removed_seq.is_(None))
    proofs = dict(connection.execute(query).all())
    lose_support(change, proofs, msg("the source {source_id} was removed", source_id=source_id))
    words = {"uri": "", "clause": "", "quote": "", "quote_sha256": "", "reviewer": ""}
    connection.execute(t.evidences.update().where(e.source_id == source_id).values(words))
    connection.execute(t.clauses_read.delete().where(t.clauses_read.c.source_id == source_id))
    if proofs:
        retire_unused(change)
        change.finish()
    return change.counts["statements_retired"]


# Vectors of the names of nodes, kept beside those of passages: by what was embedded with which model.


@dataclass(frozen=True, slots=True, eq=False)
class NameVectors:
    """Embedding vectors of node names."""

    database: Database

    def name_vectors(self, keys: Sequence[str]) -> Mapping[str, Any]:
        """The stored vectors among `keys`, (dim,) float32 by key. A damaged one counts as missing."""
        v = t.vectors.c
        found: dict[str, Any] = {}
        with self.database.reading("reading the vectors of names") as connection:
            for part in batches([NAMES + key for key in keys]):
                query = sa.select(v.vector_key, v.vector, v.crc).where(v.vector_key.in_(part))
                for key, raw, crc in connection.execute(query):
                    try:
                        found[key.removeprefix(NAMES)] = unpack_vector(raw, crc, 0)
                    except CatalogUnavailable:
                        continue
        return found

    def keep_name_vectors(self, vectors: Mapping[str, Any], *, wanted: Collection[str] | None = None) -> None:
        """Store vectors by key. This is no change of the library: results do not depend on whether they are stored.

        Args:
            wanted: The keys of all names there are now; the vectors of others go.
        """
        v = t.vectors
        rows = vector_rows({NAMES + key: vector for key, vector in vectors.items()})
        with self.database.changing("keeping the vectors of names") as connection:
            for part in batches([row["vector_key"] for row in rows]):
                connection.execute(v.delete().where(v.c.vector_key.in_(part)))
            if rows:
                connection.execute(v.insert(), rows)
            if wanted is not None:
                names = sa.select(v.c.vector_key).where(v.c.vector_key.startswith(NAMES))
                keep = {NAMES + key for key in wanted}
                for part in batches([key for key in connection.scalars(names) if key not in keep]):
                    connection.execute(v.delete().where(v.c.vector_key.in_(part)))


# Evidence as documents see it: what is cited of a source, how its documents stand, and what they no longer say.


@dataclass(frozen=True, slots=True)
class Cited:
    """A live evidence with its row id; ``until`` is the last day of its statement, as an ordinal.

    ``verified``: a document that the library holds was found to have the words.
    """

    row_id: int
    statement_id: int
    quote: str
    until: int
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """State of the document under a URI.

    Attributes:
        since: The change at which it came to stand so.
        until: Its last day, as an ordinal; 0 when it was removed.
        begins: Its first day, as an ordinal; 0: ever.
    """

    since: int
    until: int
    begins: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Citations:
    """The evidence that cites documents, for checking it when documents change."""

    database: Database

    def cited(self, source_id: str) -> Mapping[str, list[Cited]]:
        """Live evidence citing a source, by document URI; ``""`` for evidence that names only the source."""
        e, s = t.evidences.c, t.statements.c
        query = (
            sa.select(e.uri, e.row_id, e.statement_id, e.quote, s.valid_until, e.verified)
            .join(t.statements, sa.and_(s.statement_id == e.statement_id, s.removed_seq.is_(None)))
            .where(e.source_id == source_id, e.removed_seq.is_(None))
            .order_by(e.row_id)
        )
        found: dict[str, list[Cited]] = {}
        with self.database.reading("listing what is cited") as connection:
            for placed in (e.uri != t.NOWHERE, e.uri == t.NOWHERE):  # there is an index for each
                for uri, row_id, number, quote, until, verified in connection.execute(query.where(placed)):
                    one = Cited(row_id, number, quote, until, bool(verified))
                    found.setdefault(uri.partition("#")[0], []).append(one)
        return found

    def source_changed(self, source_id: str, since: int) -> bool:
        """Whether a document of a source was added, removed or corrected after change `since`."""
        d, c = t.documents.c, t.corrections.c
        queries = (
            sa.select(d.document_id).where(d.source_id == source_id, sa.or_(d.seq > since, d.removed_seq > since)),
            sa.select(c.correction_id).where(c.source_id == source_id, sa.or_(c.seq > since, c.undone_seq > since)),
        )
        with self.database.reading("looking whether a source has changed") as connection:
            return any(connection.scalar(query.limit(1)) is not None for query in queries)

    def texts_of(self, source_id: str) -> Iterator[str]:
        """The text of each live document of a source, one at a time."""
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(p.document_id, p.text)
            .join(t.documents, d.document_id == p.document_id)
            .where(d.source_id == source_id, d.removed_seq.is_(None), p.removed_seq.is_(None))
            .order_by(p.document_id, p.start, p.passage_id)
        )
        with (
            self.database.reading("reading a source") as connection,
            connection.execution_options(yield_per=1_000).execute(query) as rows,
        ):
            for _, group in groupby(rows, key=itemgetter(0)):
                yield "\n".join(row[1] for row in group)

    def cited_passages(self, source_id: str, uri: str | None, most: int) -> Sequence[int]:
        """Ids of the live passages of a document, or (None) of all documents of a source, in order; at most `most`."""
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(p.passage_id)
            .join(t.documents, d.document_id == p.document_id)
            .where(d.source_id == source_id, d.removed_seq.is_(None), p.removed_seq.is_(None))
            .order_by(p.document_id, p.start, p.passage_id)
            .limit(most)
        )
        with self.database.reading("looking where a source is quoted") as connection:
            return list(connection.scalars(query if uri is None else query.where(d.uri == uri)))

    def mark_quotes(self, source_id: str, verified: Mapping[int, bool]) -> None:
        """Store whether each quote, by the row id of its evidence, was found in a document of its source."""
        with self.database.changing("noting what was compared") as connection:
            change = RulesChange(connection, f"rules:{source_id}")
            rows = list(change.live(t.evidences, t.evidences.c.row_id, verified))
            change.revise(
                t.evidences, {row["row_id"]: {**row, "verified": int(verified[row["row_id"]])} for row in rows}
            )
            change.finish()

    def standings(self, source_id: str, uris: Iterable[str]) -> Mapping[str, Standing]:
        """State of documents by URI; URIs that the source never had are absent."""
        d = t.documents.c
        query = sa.select(d.uri, d.seq, d.removed_seq, d.effective_until, d.effective_from).where(
            d.source_id == source_id
        )
        found: dict[str, Standing] = {}
        wanted = list(uris)
        with self.database.reading("looking how documents stand") as connection:
            for live in (d.removed_seq.is_(None), d.removed_seq.is_not(None)):  # there is an index of those that live
                for part in batches([uri for uri in wanted if uri not in found]):
                    rows = connection.execute(query.where(live, d.uri.in_(part)).order_by(d.removed_seq))
                    found.update((row[0], _standing(*row[1:])) for row in rows.all())
            c = t.corrections.c
            last = sa.select(c.uri, sa.func.max(sa.func.coalesce(c.undone_seq, c.seq))).where(
                c.source_id == source_id
            )
            for uri, seq in connection.execute(last.group_by(c.uri)):
                if uri in found:  # a correction changes what a document says, as a new version does
                    found[uri] = replace(found[uri], since=max(found[uri].since, seq))
        return found

    def withdraw_evidence(self, source_id: str, lost: Mapping[str, Mapping[int, int]]) -> tuple[int, int]:
        """Remove evidence that cites a source; returns the number of evidences removed and of statements retired.

        Args:
            lost: By the reason, the statements of evidences, by row.
        """
        with self.database.changing("withdrawing evidence") as connection:
            change = RulesChange(connection, f"rules:{source_id}")
            for reason, proofs in lost.items():
                lose_support(change, proofs, reason)
            retire_unused(change)
            change.finish()
        evidences, retired = sum(map(len, lost.values())), change.counts["statements_retired"]
        after = {"evidences_removed": evidences, "statements_retired": retired, "reasons": list(lost)}
        self.database.on_change("rule", "evidence withdrawn", source_id, None, after)
        return evidences, retired


def _standing(seq: int, removed_seq: int | None, until: int | None, begins: int | None) -> Standing:
    if removed_seq is not None:
        return Standing(removed_seq, 0)
    return Standing(seq, FOREVER if until is None else until, begins or 0)
