"""Reads of documents and passages, current or as of an earlier change; each from one snapshot."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from itertools import combinations, groupby, islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.rows import index_row, passage_of, recognition_of, source_of, stored_vector, version_of
from wenyuan.catalog.sql import now, told_at_once
from wenyuan.core.fidelity import Recognition
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Label, LabelVector, Passage
from wenyuan.core.ports import Change, Deadline
from wenyuan.core.stated_addresses import Holder
from wenyuan.core.validity import LiveVersion

_BATCH = 500


def _live_at(columns: Any, seq: int) -> sa.ColumnElement[bool]:
    return sa.and_(columns.seq <= seq, sa.or_(columns.removed_seq.is_(None), columns.removed_seq > seq))


def first_within(
    connection: sa.Connection, query: sa.Select[Any], sources: Sequence[str] | None, hidden: HiddenDocuments | None
) -> tuple[int, str, str] | None:
    """The oldest document that a query finds, in the given sources or (None) in any registered source."""
    d = t.documents.c
    within = sa.select(t.sources.c.source_id) if sources is None else sources  # each source id is one index lookup
    rows = connection.execute(query.where(d.source_id.in_(within)).order_by(d.document_id))
    row = next((row for row in rows if hidden is None or not hidden.hides(row[0])), None)
    return None if row is None else (row[0], row[1], row[2])


def _replacement(connection: sa.Connection, gone: Any) -> Mapping[str, Any] | None:
    p, d = t.passages.c, t.documents.c
    same = sa.and_(d.source_id == gone.source_id, d.uri == gone.uri, d.removed_seq.is_(None))
    heir = connection.execute(sa.select(d.document_id, d.fingerprint, d.effective_until).where(same)).first()
    if heir is None:
        return None
    same_text = sa.and_(p.document_id == heir.document_id, p.sha256 == gone.sha256)
    twin = sa.select(p.passage_id).where(same_text).limit(1)
    again = sa.select(p.passage_id).where(
        same_text, p.removed_seq.is_(None), p.corrected.is_not_distinct_from(gone.corrected)
    )
    said = sa.select(p.passage_id).where(same_text, p.context.is_not(None))
    return {
        "document_id": heir.document_id,
        "same_content": heir.fingerprint == gone.fingerprint,
        "same_document": heir.document_id == gone.document_id,
        "effective_until": _date(heir.effective_until),
        "passage_id": connection.scalar(twin),
        "placed": all(connection.scalar(one.limit(1)) is not None for one in (again, said)),
    }


def _date(ordinal: int | None) -> date | None:
    return date.fromordinal(ordinal) if ordinal else None


# What the catalog can be asked. Every block of reads sees one snapshot of the library.


CONTENT_AT = 18
"""Where in a document's fingerprint its content begins: before it stand 16 digits of how it was read, and a colon."""


def batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Split `values` into parts small enough for one SQL statement's parameters."""
    for at in range(0, len(values), _BATCH):
        yield values[at : at + _BATCH]


def _passages(among: Any) -> sa.Select[Any]:
    """Live passages whose id is in `among`, with the columns that `passage_of` needs."""
    p, d, s = t.passages.c, t.documents.c, t.sources.c
    columns = (
        [c for c in p if c.name not in t.INTERNAL]
        + [d.title, d.lead, d.language, d.collection, d.effective_from, d.effective_until, d.facets]
        + [s.trust, s.domain, s.copyright]
    )
    return (
        sa.select(*columns)
        .join(t.documents, d.document_id == p.document_id)
        .join(t.sources, s.source_id == p.source_id)
        .where(p.removed_seq.is_(None), p.passage_id.in_(among))
    )


def _labels(among: Any) -> sa.Select[Any]:
    p, d = t.passages.c, t.documents.c
    return (
        sa.select(p.passage_id, d.title, p.headings, d.language)
        .join(t.documents, d.document_id == p.document_id)
        .where(p.passage_id.in_(among))
    )


def _label_vectors(among: Any) -> sa.Select[Any]:
    p, v = t.passages.c, t.vectors.c
    return (
        sa.select(p.passage_id, p.label_key, p.removed_seq, v.vector, v.crc)
        .outerjoin(t.vectors, v.vector_key == p.label_key)
        .where(p.passage_id.in_(among), p.label_key != sa.literal_column("''"))
    )


_IDS: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
# Numbers as one JSON value, whose text is the same however many there are.
_IDS_SQLITE = sa.select(sa.func.json_each(sa.bindparam("ids")).table_valued("value").c.value)
# Compiled once: compiling it for each request takes longer than reading ten passages.
_PASSAGES, _LABELS, _LABEL_VECTORS = _passages(_IDS), _labels(_IDS), _label_vectors(_IDS)
_PASSAGES_SQLITE, _LABELS_SQLITE, _LABEL_VECTORS_SQLITE = (
    str(made(_IDS_SQLITE).compile(dialect=sqlite.dialect())) for made in (_passages, _labels, _label_vectors)
)
_NAMES = tuple(c.name for c in _PASSAGES.selected_columns)
_JSON = tuple(c.name for c in _PASSAGES.selected_columns if isinstance(c.type, sa.JSON))


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Reads of documents and passages, current and past; also the change feed that engines follow
    (`core.ports.ChangeFeed`).

    Documents and passages are stored with the changes at which they were added and removed. Sources have no history:
    past reads return their current metadata. Of a removed source no text is left.
    """

    database: Database

    def live_documents(self, source_id: str) -> Mapping[str, tuple[int, str]]:
        """URI → (document id, fingerprint) of a source's live documents."""
        d = t.documents.c
        with self.database.reading("listing documents") as connection:
            rows = connection.execute(
                sa.select(d.uri, d.document_id, d.fingerprint).where(
                    d.source_id == source_id, d.removed_seq.is_(None)
                )
            ).all()
        return {uri: (document_id, fingerprint) for uri, document_id, fingerprint in rows}

    def same_contents(self, source_id: str | None = None) -> Sequence[tuple[str, str, int]]:
        """Pairs of sources that hold documents with the same content, with how many; largest first.

        Args:
            source_id: Only pairs whose first is this one; else each pair once, in the order of the ids.
        """
        d = t.documents.c
        content = sa.func.substr(d.fingerprint, CONTENT_AT)
        live = (
            sa.select(content.label("content"), d.source_id).where(d.removed_seq.is_(None), content != "").distinct()
        )
        counts: Counter[tuple[str, str]] = Counter()
        # Brought together here and not by a join: databases compare each with each where no index has the contents.
        with self.database.reading("comparing contents") as connection:
            for _, held in groupby(connection.execute(live.order_by("content")), key=lambda row: str(row.content)):
                sources = sorted(row.source_id for row in held)
                if source_id is None:
                    counts.update(combinations(sources, 2))
                elif source_id in sources:
                    counts.update((source_id, other) for other in sources if other != source_id)
        return sorted(((a, b, n) for (a, b), n in counts.items()), key=lambda one: (-one[2], *one[:2]))

    def uris_of_type(self, source_id: str, media_type: str) -> set[str]:
        """URIs of a source's live documents that were read from files of a media type."""
        d = t.documents.c
        with self.database.reading("listing documents") as connection:
            query = sa.select(d.uri).where(
                d.source_id == source_id, d.media_type == media_type, d.removed_seq.is_(None)
            )
            return set(connection.scalars(query))

    def known_vectors(self, keys: Sequence[str]) -> set[str]:
        """The keys in `keys` whose vectors are stored."""
        found: set[str] = set()
        with self.database.reading("looking up vectors") as connection:
            for part in batches(keys):
                found.update(
                    connection.scalars(sa.select(t.vectors.c.vector_key).where(t.vectors.c.vector_key.in_(part)))
                )
        return found

    def failures(self, source_id: str, but: str = "") -> Mapping[str, str]:
        """URI → reason, of the documents that could not be ingested; without those of the code `but`."""
        f = t.failures.c
        with self.database.reading("listing failures") as connection:
            query = sa.select(f.uri, f.reason).where(f.source_id == source_id, f.code != but).order_by(f.uri)
            return dict(connection.execute(query).all())

    # -- passages -------------------------------------------------------------------------------------

    def passages(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Passage]:
        """Live passages by id; ids of removed passages are absent."""
        doing = "reading passages"
        if self.database.reader.dialect.name == "sqlite":
            found = told_at_once(
                self.database.reader, _PASSAGES_SQLITE, (json.dumps(list(passage_ids)),), doing, deadline
            )
            rows = [dict(zip(_NAMES, values, strict=True)) for values in found]
            for name in _JSON:
                values = json.loads(
                    f"[{','.join([row[name] for row in rows])}]"
                )  # once for all: there are tens of rows
                for row, value in zip(rows, values, strict=True):
                    row[name] = value
            return self._shown({row["passage_id"]: passage_of(row) for row in rows}, deadline)
        with self.database.reading(doing, deadline) as connection:
            read = {
                row["passage_id"]: passage_of(row)
                for part in batches(passage_ids)
                for row in connection.execute(_PASSAGES, {"ids": part}).mappings()
            }
        return self._shown(read, deadline)

    def _shown(self, found: dict[int, Passage], deadline: Deadline | None) -> Mapping[int, Passage]:
        """What of passages is not hidden, which is asked once they are read: nobody may have hidden it in between."""
        hidden = self.database.hidden(deadline)
        return found if hidden is None else {n: p for n, p in found.items() if not hidden.hides(p.document_id)}

    def _hides(self, document_id: int) -> bool:
        hidden = self.database.hidden()
        return hidden is not None and hidden.hides(document_id)

    def labels(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Label]:
        """Labels of passages by id, live or removed."""
        doing = "reading titles"
        if self.database.reader.dialect.name == "sqlite":
            found = told_at_once(
                self.database.reader, _LABELS_SQLITE, (json.dumps(list(passage_ids)),), doing, deadline
            )
            headings = json.loads(
                f"[{','.join([row[2] for row in found])}]"
            )  # once for all: there are hundreds of rows
            return {
                number: Label(title, tuple(above), tongue)
                for (number, title, _, tongue), above in zip(found, headings, strict=True)
            }
        with self.database.reading(doing, deadline) as connection:
            return {
                number: Label(title, tuple(headings), tongue)
                for part in batches(passage_ids)
                for number, title, headings, tongue in connection.execute(_LABELS, {"ids": part})
            }

    def label_vectors(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Sequence[LabelVector]:
        """Label vectors of those passages, live or removed, that have one. That of a removed passage may have been
        deleted.

        Raises:
            CatalogUnavailable: that of a live passage is missing or damaged, or the catalog cannot be read.
        """
        doing = "reading vectors of labels"
        rows: Iterable[Any]
        if self.database.reader.dialect.name == "sqlite":
            ids = json.dumps(list(passage_ids))
            rows = told_at_once(self.database.reader, _LABEL_VECTORS_SQLITE, (ids,), doing, deadline)
        else:
            with self.database.reading(doing, deadline) as connection:
                rows = [
                    row for part in batches(passage_ids) for row in connection.execute(_LABEL_VECTORS, {"ids": part})
                ]
        return [
            LabelVector(number, key, stored_vector(raw, crc, number))
            for number, key, removed, raw, crc in rows
            if raw is not None or removed is None
        ]

    def unlabelled(self) -> bool:
        """Whether some live passage has a text vector, but its label was never embedded."""
        query = sa.select(t.passages.c.passage_id).where(t.UNLABELLED).limit(1)
        with self.database.reading("looking for labels") as connection:
            return connection.scalar(query) is not None

    def some_passages(self, count: int) -> list[Passage]:
        """At most `count` live passages, a sample over the whole library that depends on the texts alone, not on
        their order of ingestion.
        """
        p = t.passages.c
        query = sa.select(p.passage_id).where(p.removed_seq.is_(None)).order_by(p.sha256, p.passage_id).limit(count)
        with self.database.reading("drawing passages") as connection:
            drawn = list(connection.scalars(query))
        found = self.passages(drawn)
        return [found[i] for i in drawn if i in found]

    def document_by_uri(
        self, uri: str, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None:
        """(document id, source id, title) of the live document with this URI in `sources` (None: in any); None when
        there is none.
        """
        d = t.documents.c
        query = sa.select(d.document_id, d.source_id, d.title).where(d.uri == uri, d.removed_seq.is_(None))
        hidden = self.database.hidden(deadline)
        with self.database.reading("looking up a document", deadline) as connection:
            return first_within(connection, query, sources, hidden)

    def holders(self, uris: Sequence[str], but: str = "") -> Mapping[str, Sequence[Holder]]:
        """By URI, the live documents that have it in any source but `but`; URIs without one are absent."""
        d, s = t.documents.c, t.sources.c
        query = (
            sa.select(d.uri, d.source_id, d.document_id, s.trust)
            .join(t.sources, s.source_id == d.source_id)
            .where(d.source_id.in_(sa.select(s.source_id).where(s.source_id != but)), d.removed_seq.is_(None))
            .order_by(d.document_id)
        )
        found: dict[str, list[Holder]] = {}
        hidden = self.database.hidden()
        with self.database.reading("looking up addresses") as connection:
            for part in batches(uris):
                for uri, source_id, number, trust in connection.execute(query.where(d.uri.in_(part))):
                    if hidden is not None and hidden.hides(number):
                        continue
                    found.setdefault(uri, []).append(Holder(source_id=source_id, document_id=number, trust=trust))
        return found

    def document_chars(self, document_ids: Set[int]) -> Mapping[int, int]:
        """By document id, its length in characters: the largest end offset of its passages."""
        p = t.passages.c
        query = sa.select(p.document_id, sa.func.max(p.end)).group_by(p.document_id)
        found: dict[int, int] = {}
        with self.database.reading("measuring documents") as connection:
            for part in batches(sorted(document_ids)):
                found.update(connection.execute(query.where(p.document_id.in_(part))).all())
        return found

    def document_words(self, source_id: str, uri: str) -> str | None:
        """The text of a live document, its passages joined; None when the source has no such document."""
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(p.text)
            .join(t.documents, d.document_id == p.document_id)
            .where(d.source_id == source_id, d.uri == uri, d.removed_seq.is_(None), p.removed_seq.is_(None))
            .order_by(p.start, p.passage_id)
        )
        with self.database.reading("reading a document") as connection:
            texts = list(connection.scalars(query))
        return "\n".join(texts) if texts else None

    def document_passages(self, document_id: int) -> Sequence[tuple[int, str, Recognition | None]]:
        """The live passages of a document in order: id, text, and the recognition confidence of scanned text."""
        p = t.passages.c
        query = sa.select(p.passage_id, p.text, p.recognised)
        query = query.where(p.document_id == document_id, p.removed_seq.is_(None))
        with self.database.reading("reading a document") as connection:
            rows = connection.execute(query.order_by(p.start, p.passage_id)).all()
        if self._hides(document_id):
            return []
        return [(row[0], row[1], recognition_of(row[2])) for row in rows]

    def first_passage(self, document_id: int) -> tuple[int, str] | None:
        """Id of a document's first live passage, and its source; None when there is no such document."""
        p = t.passages.c
        query = sa.select(p.passage_id, p.source_id).where(p.document_id == document_id, p.removed_seq.is_(None))
        with self.database.reading("reading a document") as connection:
            row = connection.execute(query.order_by(p.start, p.passage_id).limit(1)).first()
        return None if row is None or self._hides(document_id) else (row[0], row[1])

    def documents_after(
        self, sources: Sequence[str], after: int, limit: int, day: date
    ) -> Sequence[Mapping[str, Any]]:
        """Live documents of `sources` in force on `day`, by rising id, those with ids above `after`."""
        d, today = t.documents.c, day.toordinal()
        query = (
            sa.select(d.document_id, d.source_id, d.uri, d.title, d.ingested_at)
            .where(d.removed_seq.is_(None), d.document_id > after, d.source_id.in_(sources))
            .where(sa.or_(d.effective_from.is_(None), d.effective_from <= today))
            .where(sa.or_(d.effective_until.is_(None), d.effective_until >= today))
            .order_by(d.document_id)
        )
        hidden = self.database.hidden()
        with self.database.reading("listing documents") as connection:
            if hidden is None:
                return [dict(row) for row in connection.execute(query.limit(limit)).mappings()]
            shown = (
                dict(row) for row in connection.execute(query).mappings() if not hidden.hides(row["document_id"])
            )
            return list(islice(shown, limit))

    def last_days(self, sources: Sequence[str], before: date, most: int) -> Sequence[date]:
        """The latest `most` days before `before` that are the last effective day of a live document of these sources."""
        end, d = t.documents.c.effective_until, t.documents.c
        query = sa.select(end).where(d.removed_seq.is_(None), d.source_id.in_(sources), end < before.toordinal())
        hidden = self.database.hidden()
        with self.database.reading("looking for what was in force before") as connection:
            if hidden is None:
                days = connection.scalars(query.distinct().order_by(end.desc()).limit(most)).all()
            else:
                rows = connection.execute(query.add_columns(d.document_id).order_by(end.desc()))
                days = list(islice(dict.fromkeys(day for day, number in rows if not hidden.hides(number)), most))
        return [date.fromordinal(day) for day in days]

    def live_versions(self, source_id: str) -> list[LiveVersion]:
        """A source's live documents with what deciding between versions needs."""
        d = t.documents.c
        query = sa.select(
            d.document_id, d.uri, d.title, d.effective_from, d.effective_until, d.own_until, d.facets
        ).where(d.source_id == source_id, d.removed_seq.is_(None))
        with self.database.reading("listing versions") as connection:
            return [version_of(row) for row in connection.execute(query).mappings()]

    def document_of_file(self, source_id: str, uris: Sequence[str]) -> int | None:
        """The live document of a source with one of these URIs, or the first part of that file; None without any."""
        d = t.documents.c
        of_file = [sa.or_(d.uri == uri, sa.and_(d.uri >= f"{uri}?", d.uri < f"{uri}@")) for uri in uris]
        query = sa.select(d.document_id).where(
            d.source_id == source_id, d.removed_seq.is_(None), sa.or_(sa.false(), *of_file)
        )
        hidden = self.database.hidden()
        with self.database.reading("looking up a file") as connection:
            numbers = connection.scalars(query.order_by(d.uri))
            return next((number for number in numbers if hidden is None or not hidden.hides(number)), None)

    def passages_of(self, uris: Iterable[str]) -> Mapping[str, Mapping[int, Sequence[int]]]:
        """For URIs of live documents or passages: document id → ids of the passages addressed. Unknown URIs are
        absent.
        """
        p, d = t.passages.c, t.documents.c
        base = sa.select(p.passage_id, p.document_id).where(p.removed_seq.is_(None)).order_by(p.passage_id)
        whole = base.add_columns(d.uri).join(t.documents, d.document_id == p.document_id)
        wanted = list(dict.fromkeys(uris))
        found: dict[str, dict[int, list[int]]] = {}
        hidden = self.database.hidden()
        with self.database.reading("looking up addresses") as connection:
            for part in batches(wanted):
                rows = [
                    *connection.execute(whole.where(d.uri.in_(part))),
                    *connection.execute(base.add_columns(p.uri).where(p.uri.in_(part))),
                ]
                for passage_id, document_id, uri in rows:
                    if hidden is not None and hidden.hides(document_id):
                        continue
                    held = found.setdefault(uri, {}).setdefault(document_id, [])
                    if passage_id not in held:
                        held.append(passage_id)
        return found

    # -- the change feed (core.ports.ChangeFeed) --------------------------------------------------------

    def seq(self) -> int:
        return self.database.remembered.get("seq", self._seq)

    def _seq(self) -> int:
        with self.database.reading("reading the change number") as connection:
            return int(connection.scalar(sa.select(sa.func.max(t.commits.c.seq))) or 0)

    def stamp(self, seq: int) -> str:
        with self.database.reading("reading a change") as connection:
            row = connection.execute(
                sa.select(t.commits.c.at, t.commits.c.source_id).where(t.commits.c.seq == seq)
            ).first()
        return "" if row is None else f"{row[0]!r} {row[1]}"

    def lag(self, watermark: int) -> float:
        c, p = t.commits.c, t.passages.c
        indexed = sa.or_(sa.exists().where(p.seq == c.seq), sa.exists().where(p.removed_seq == c.seq))
        with self.database.reading("reading the change number") as connection:
            at = connection.scalar(sa.select(sa.func.min(c.at)).where(c.seq > watermark, indexed))
        return 0.0 if at is None else max(0.0, now() - at)

    def changes(self, after: int, upto: int, *, vectors: bool = True) -> Iterator[Change]:
        p, d, v = t.passages.c, t.documents.c, t.vectors.c
        removed = sa.select(p.passage_id, p.removed_seq).where(p.removed_seq > after, p.removed_seq <= upto)
        columns = [p.passage_id, p.source_id, p.document_id, p.headings, p.text, p.seq, p.corrected, p.context, p.cell,
                   d.title, d.lead, d.language, d.collection, d.facets, d.effective_from, d.effective_until]  # fmt: skip
        added = sa.select(*columns, *([p.vector_key, p.removed_seq, v.vector, v.crc] if vectors else []))
        added = added.join(t.documents, d.document_id == p.document_id)
        if vectors:
            added = added.outerjoin(t.vectors, v.vector_key == p.vector_key)
        # In the order of the index on seq, which is that of ids, too: by id alone the whole library would be sorted first.
        added = added.where(
            p.seq > after, p.seq <= upto, sa.or_(p.removed_seq.is_(None), p.removed_seq > upto)
        ).order_by(p.seq, p.passage_id)
        with self.database.reading("reading changes") as connection:
            for passage_id, seq in connection.execute(removed):
                yield Change(seq=seq, passage_id=passage_id, row=None)
            # Closed here: the caller may stop early, and a server keeps the cursor open until it is closed.
            with connection.execution_options(yield_per=1_000).execute(added) as rows:
                for row in rows.mappings():
                    yield Change(
                        seq=row["seq"], passage_id=row["passage_id"], row=index_row(row, with_vector=vectors)
                    )

    # -- the past ---------------------------------------------------------------------------------------

    def passage_fate(self, passage_id: int) -> Mapping[str, Any]:
        """What happened to a passage: whether it is live, when and by what it was replaced.

        Returns:
            ``state`` (``live``, ``removed``, or ``never``: then nothing else); ``source_id``, and ``source`` as it
            is registered now (None: not at all); ``document_uri`` (``""`` when it went with its source);
            ``added_seq``; ``removed_at`` in seconds since the epoch; ``effective_from`` and ``effective_until``
            of the document; ``replaced_by``, the live document of the same URI, or None: its ``document_id``,
            ``same_content``, ``same_document`` (the passage was corrected), ``effective_until``, ``passage_id`` of the passage with the same
            text, and ``placed``: whether it stands there again, since its context sentence came, changed or went.
        """
        p, d, c = t.passages.c, t.documents.c, t.commits.c
        query = (
            sa.select(p.source_id, p.document_id, p.sha256, p.seq, p.removed_seq, p.corrected, c.at)
            .add_columns(d.uri, d.fingerprint, d.effective_from, d.effective_until)
            .join(t.documents, d.document_id == p.document_id)
            .outerjoin(t.commits, c.seq == p.removed_seq)
            .where(p.passage_id == passage_id)
        )
        with self.database.reading("looking up a passage") as connection:
            found = connection.execute(query).first()
            if found is None:
                return {"state": "never"}
            registered = sa.select(t.sources).where(t.sources.c.source_id == found.source_id)
            source = connection.execute(registered).mappings().first()
            heir = _replacement(connection, found) if found.removed_seq is not None and found.uri else None
        return {
            "state": "live" if found.removed_seq is None else "removed",
            "source_id": found.source_id,
            "source": None if source is None else source_of(source),
            "document_uri": found.uri,
            "added_seq": found.seq,
            "removed_at": found.at,
            "replaced_by": heir,
            "effective_from": _date(found.effective_from),
            "effective_until": _date(found.effective_until),
        }

    def passages_at(
        self, passage_ids: Sequence[int], seq: int, deadline: Deadline | None = None
    ) -> Mapping[int, Passage]:
        """Passages by id that were live at change `seq`, with the current metadata of their source."""
        p, d, s = t.passages.c, t.documents.c, t.sources.c
        query = (
            sa.select(
                *(c for c in p if c.name not in t.INTERNAL),
                *(d.title, d.lead, d.language, d.collection, d.effective_from, d.effective_until, d.facets),
                *(s.trust, s.domain, s.copyright),
            )
            .join(t.documents, d.document_id == p.document_id)
            .join(t.sources, s.source_id == p.source_id)
            .where(_live_at(p, seq))
        )
        found: dict[int, Passage] = {}
        with self.database.reading("reading passages of the past", deadline) as connection:
            for at in range(0, len(passage_ids), _BATCH):
                part = query.where(p.passage_id.in_(passage_ids[at : at + _BATCH]))
                found.update((row["passage_id"], passage_of(row)) for row in connection.execute(part).mappings())
        return self._shown(found, deadline)

    def document_at(
        self, uri: str, seq: int, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None:
        """(document id, source id, title) of the document that was live under a URI in `sources` at change `seq`;
        None when there was none.
        """
        d = t.documents.c
        query = sa.select(d.document_id, d.source_id, d.title).where(d.uri == uri, _live_at(d, seq))
        hidden = self.database.hidden(deadline)
        with self.database.reading("looking up a document of the past", deadline) as connection:
            return first_within(connection, query, sources, hidden)
