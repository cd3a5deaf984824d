"""Evidence as documents see it: what is cited of a source, how its documents stand, and what they no longer say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import sqlalchemy as sa

from wenyuan.catalog import rules_tables as r
from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import reading, translated
from wenyuan.catalog.governance import OnChange
from wenyuan.catalog.rules_merge import RulesChange, lose_support, pieces, retire_unused
from wenyuan.core.model import FOREVER

__all__ = ["CatalogQuotes", "Cited", "Standing"]


@dataclass(frozen=True, slots=True)
class Cited:
    """A live evidence, by its row; ``until`` is the last day of its statement, as an ordinal.

    ``verified``: a document that the library holds was found to have the words.
    """

    row_id: int
    statement_id: int
    quote: str
    until: int
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """How a document stands under its URI.

    Attributes:
        since: The change at which it came to stand so.
        until: Its last day, as an ordinal; 0 when it was removed.
        begins: Its first day, as an ordinal; 0: ever.
    """

    since: int
    until: int
    begins: int = 0


class CatalogQuotes:
    """Mixed into `Catalog`."""

    _reader: sa.Engine
    _writer: sa.Engine
    on_change: OnChange

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def cited(self, source_id: str) -> Mapping[str, list[Cited]]:
        """The live evidence in a source, by the URI of the document that it is in; ``""``: it names only the source."""
        e, s = r.evidences.c, r.statements.c
        query = (
            sa.select(e.uri, e.row_id, e.statement_id, e.quote, s.valid_until, e.verified)
            .join(r.statements, sa.and_(s.statement_id == e.statement_id, s.removed_seq.is_(None)))
            .where(e.source_id == source_id, e.removed_seq.is_(None))
            .order_by(e.row_id)
        )
        found: dict[str, list[Cited]] = {}
        with reading(self._reader, "listing what is cited") as connection:
            for placed in (e.uri != r.NOWHERE, e.uri == r.NOWHERE):  # there is an index for each
                for uri, row_id, number, quote, until, verified in connection.execute(query.where(placed)):
                    one = Cited(row_id, number, quote, until, bool(verified))
                    found.setdefault(uri.partition("#")[0], []).append(one)
        return found

    def source_changed(self, source_id: str, since: int) -> bool:
        """Whether a document of a source came or went after a change of the catalog."""
        d = t.documents.c
        query = sa.select(d.document_id).where(d.source_id == source_id, sa.or_(d.seq > since, d.removed_seq > since))
        with reading(self._reader, "looking whether a source has changed") as connection:
            return connection.scalar(query.limit(1)) is not None

    def texts_of(self, source_id: str) -> Iterator[str]:
        """The text of each live document of a source, one by one."""
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(p.document_id, p.text)
            .join(t.documents, d.document_id == p.document_id)
            .where(d.source_id == source_id, d.removed_seq.is_(None), p.removed_seq.is_(None))
            .order_by(p.document_id, p.start, p.passage_id)
        )
        with (
            reading(self._reader, "reading a source") as connection,
            connection.execution_options(yield_per=1_000).execute(query) as rows,
        ):
            for _, group in groupby(rows, key=itemgetter(0)):
                yield "\n".join(row[1] for row in group)

    def cited_passages(self, source_id: str, uri: str | None, most: int) -> Sequence[int]:
        """Numbers of the live passages of a document, or (None) of all documents of a source, in order; at most `most`."""
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(p.passage_id)
            .join(t.documents, d.document_id == p.document_id)
            .where(d.source_id == source_id, d.removed_seq.is_(None), p.removed_seq.is_(None))
            .order_by(p.document_id, p.start, p.passage_id)
            .limit(most)
        )
        with reading(self._reader, "looking where a source is quoted") as connection:
            return list(connection.scalars(query if uri is None else query.where(d.uri == uri)))

    def mark_quotes(self, source_id: str, verified: Mapping[int, bool]) -> None:
        """Note which quotes, by the row of their evidence, were found in a document of their source, or no longer are."""
        with self.writing(), translated("noting what was compared"), self._writer.begin() as connection:
            change = RulesChange(connection, f"rules:{source_id}")
            rows = list(change.live(r.evidences, r.evidences.c.row_id, verified))
            change.revise(
                r.evidences, {row["row_id"]: {**row, "verified": int(verified[row["row_id"]])} for row in rows}
            )
            change.finish()

    def standings(self, source_id: str, uris: Iterable[str]) -> Mapping[str, Standing]:
        """How documents stand; one that the source has never held is absent."""
        d = t.documents.c
        query = sa.select(d.uri, d.seq, d.removed_seq, d.effective_until, d.effective_from).where(
            d.source_id == source_id
        )
        found: dict[str, Standing] = {}
        wanted = list(uris)
        with reading(self._reader, "looking how documents stand") as connection:
            for live in (d.removed_seq.is_(None), d.removed_seq.is_not(None)):  # there is an index of those that live
                for part in pieces([uri for uri in wanted if uri not in found]):
                    rows = connection.execute(query.where(live, d.uri.in_(part)).order_by(d.removed_seq))
                    found.update((row[0], _standing(*row[1:])) for row in rows.all())
        return found

    def withdraw_evidence(self, source_id: str, lost: Mapping[str, Mapping[int, int]]) -> tuple[int, int]:
        """Remove evidence in a source; returns how many evidences went, and how many statements are retired by it.

        Args:
            lost: By the reason, the statements of evidences, by row.
        """
        with self.writing(), translated("withdrawing evidence"), self._writer.begin() as connection:
            change = RulesChange(connection, f"rules:{source_id}")
            for reason, proofs in lost.items():
                lose_support(change, proofs, reason)
            retire_unused(change)
            change.finish()
        evidences, retired = sum(map(len, lost.values())), change.counts["statements_retired"]
        after = {"evidences_removed": evidences, "statements_retired": retired, "reasons": list(lost)}
        self.on_change("rule", "evidence withdrawn", source_id, None, after)
        return evidences, retired


def _standing(seq: int, removed_seq: int | None, until: int | None, begins: int | None) -> Standing:
    if removed_seq is not None:
        return Standing(removed_seq, 0)
    return Standing(seq, FOREVER if until is None else until, begins or 0)
