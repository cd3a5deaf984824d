"""Vectors of a new encoder beside the old ones, and erasure of what was removed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.rows import vector_rows
from wenyuan.catalog.sql import insert_new, reading, translated
from wenyuan.catalog.storage import Place
from wenyuan.core.errors import VectorsGone
from wenyuan.core.model import EncoderFingerprint, embedded_text, heading_text, label_text, shown_title
from wenyuan.core.text.summaries import with_lead

# Vectors of another encoder for what a library holds. They are stored beside the old ones, whose place they take in one
# transaction: until then the library is what it was, and what was embedded is not lost when that is broken off.


_AT_ONCE = 1_000  # passages read, and given their new keys, at once


class _Text(NamedTuple):
    """A live passage, and what is embedded of it: its text, and its label, which may be ``""``."""

    passage_id: int
    text: str
    label: str


class CatalogVectors:
    """Mixed into `Catalog`."""

    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

        def value(self, key: str) -> Any: ...

    def encoder(self) -> EncoderFingerprint | None:
        """What made the vectors; None while there are none."""
        value = self.value("encoder")
        return None if value is None else EncoderFingerprint(**{**value, "scale": tuple(value["scale"])})

    def embedded_after(self, passage_id: int, limit: int) -> Sequence[tuple[int, str, str]]:
        """Live passages by rising number, those above `passage_id`: number, the text and the label that are embedded."""
        with reading(self._reader, "reading texts") as connection:
            return _texts(connection, passage_id, limit)

    def keep_vectors(self, vectors: Mapping[str, Any]) -> None:
        """Store vectors by key, (dim,) float32, for passages that will be given them."""
        with self.writing(), translated("storing vectors"), self._writer.begin() as connection:
            connection.execute(insert_new(connection, t.vectors), vector_rows(vectors))

    def change_encoder(self, encoder: Mapping[str, Any], before: str, key_of: Callable[[str], str]) -> int:
        """Give every live passage its vector of another encoder, and delete the old ones; returns how many passages.

        One transaction. What was measured with the old vectors is forgotten; the value ``reembedded`` says that what is
        derived must follow. No passage and no change number is another, so audit, feedback and rules stay as they are.

        Args:
            encoder: Its fingerprint.
            before: The key of the former one's.
            key_of: Embedded text → vector key.

        Raises:
            VectorsGone: there are passages without such a vector; nothing was changed.
        """
        p, v, c = t.passages.c, t.vectors.c.vector_key, t.library.c.key
        live = p.removed_seq.is_(None)
        given = 0
        with self.writing(), translated("changing the encoder"), self._writer.begin() as connection:
            give = (
                t.passages.update()
                .where(p.passage_id == sa.bindparam("own"))
                .values(vector_key=sa.bindparam("key"), label_key=sa.bindparam("label"))
            )
            for part in _pages(connection):
                keys = [
                    {"own": one.passage_id, "key": key_of(one.text), "label": key_of(one.label) if one.label else ""}
                    for one in part
                ]
                connection.execute(give, keys)
                given += len(part)
            stored = sa.and_(
                sa.select(sa.literal(1)).where(v == p.vector_key).exists(),
                sa.or_(p.label_key == "", sa.select(sa.literal(1)).where(v == p.label_key).exists()),
            )
            lacking = connection.scalar(sa.select(sa.func.count()).select_from(t.passages).where(live, ~stored))
            if lacking:
                raise VectorsGone(
                    f"{lacking} passages came or changed while the library was embedded anew",
                    component="catalog",
                    hint="stop who takes sources in, and go on: wenyuan reembed",
                )
            # An exact replay embeds what is not live any more by itself.
            connection.execute(t.passages.update().where(~live).values(vector_key=None, label_key=None))
            connection.execute(t.vectors.delete().where(*_unused()))
            said = {"encoder": encoder, "reembedded": {"from": before}}
            connection.execute(t.library.delete().where(c.in_([f"value/{name}" for name in (*said, "floor")])))
            rows = [
                {"key": f"value/{name}", "value": json.dumps(one, ensure_ascii=False)} for name, one in said.items()
            ]
            connection.execute(t.library.insert(), rows)
        return given

    def renew_stamps(self, source_id: str, before: str, after: str) -> int:
        """Say of live documents that were read in the way `before` that it was in the way `after`; returns how many."""
        d = t.documents.c
        ours = sa.and_(d.source_id == source_id, d.removed_seq.is_(None), d.fingerprint.startswith(f"{before}:"))
        stamp = sa.literal(after) + sa.func.substr(d.fingerprint, len(before) + 1)
        with self.writing(), translated("writing how documents were read"), self._writer.begin() as connection:
            changed = connection.execute(t.documents.update().where(ours).values(fingerprint=stamp))
        return changed.rowcount


def _pages(connection: sa.Connection) -> Iterator[list[_Text]]:
    after = 0
    while part := _texts(connection, after, _AT_ONCE):
        yield part
        after = part[-1].passage_id


def _texts(connection: sa.Connection, after: int, limit: int) -> list[_Text]:
    p, d = t.passages.c, t.documents.c
    query = (
        sa.select(p.passage_id, d.title, d.lead, p.headings, p.cell, p.text)
        .join(t.documents, d.document_id == p.document_id)
        .where(p.removed_seq.is_(None), p.passage_id > after)
        .order_by(p.passage_id)
        .limit(limit)
    )
    return [
        _Text(
            number,
            embedded_text(heading_text(title, headings), with_lead(lead, text)),
            label_text(shown_title(title, cell, text), headings, lead),
        )
        for number, title, lead, headings, cell, text in connection.execute(query)
    ]


# Forgetting for good: the words of what was removed are overwritten in the file. What stays are numbers, by which
# indexes learn of the removal and by which an audit can say that something was there.


NAMES = "name:"
"""Keys of vectors begin so that are of names in the rules graph: these come from no source."""

_OF_PASSAGES: Mapping[str, Any] = {
    "uri": "", "headings": [], "text": "", "sha256": "", "cell": None, "vector_key": None,
    "label_key": None,
}  # fmt: skip
_OF_DOCUMENTS: Mapping[str, Any] = {
    "uri": "", "title": "", "lead": "", "fingerprint": "", "facets": {}, "notes": []
}  # fmt: skip


class CatalogForgetting:
    """Mixed into `Catalog`."""

    _place: Place
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def forget_removed(self, source_id: str) -> int:
        """Overwrite what is left of the removed and replaced documents of a source; returns how many those were.

        Nothing that is live changes, so it is no change of the library. An answer of the past that held one of
        them can be proven by its hash in the audit, but not be given again.
        """
        d, p = t.documents.c, t.passages.c
        gone = sa.and_(d.source_id == source_id, d.removed_seq.is_not(None))
        with self.writing():
            with translated("forgetting what was removed"), self._writer.begin() as connection:
                told = sa.select(sa.func.count()).select_from(t.documents).where(gone, d.fingerprint != "")
                count = int(connection.scalar(told) or 0)
                if count:
                    forget_words(connection, gone, sa.and_(p.source_id == source_id, p.removed_seq.is_not(None)))
            self._place.forget()
        return count


def forget_words(
    connection: sa.Connection, documents: sa.ColumnElement[bool], passages: sa.ColumnElement[bool]
) -> None:
    """Overwrite the words of documents and passages, and delete the vectors that no live passage has."""
    connection.execute(t.passages.update().where(passages).values(dict(_OF_PASSAGES)))
    connection.execute(t.documents.update().where(documents).values(dict(_OF_DOCUMENTS)))
    connection.execute(t.vectors.delete().where(*_unused(), t.vectors.c.vector_key.not_like(f"{NAMES}%")))


def _unused() -> list[sa.ColumnElement[bool]]:
    """What vectors must meet to be deleted: no live passage has them, for its text or for its label."""
    p, key = t.passages.c, t.vectors.c.vector_key
    return [
        key.not_in(sa.select(own).where(p.removed_seq.is_(None), own.is_not(None)))
        for own in (p.vector_key, p.label_key)
    ]
