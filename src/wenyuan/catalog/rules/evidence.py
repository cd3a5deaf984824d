"""Evidence as documents see it: what is cited of a source, how its documents stand, and what they no longer say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rules.merge import RulesChange, retire_unused
from wenyuan.catalog.rules.statement_merge import lose_support
from wenyuan.core.model import FOREVER


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
class DocumentStanding:
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

    def standings(self, source_id: str, uris: Iterable[str]) -> Mapping[str, DocumentStanding]:
        """State of documents by URI; URIs that the source never had are absent."""
        d = t.documents.c
        query = sa.select(d.uri, d.seq, d.removed_seq, d.effective_until, d.effective_from).where(
            d.source_id == source_id
        )
        found: dict[str, DocumentStanding] = {}
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


def _standing(seq: int, removed_seq: int | None, until: int | None, begins: int | None) -> DocumentStanding:
    if removed_seq is not None:
        return DocumentStanding(removed_seq, 0)
    return DocumentStanding(seq, FOREVER if until is None else until, begins or 0)
