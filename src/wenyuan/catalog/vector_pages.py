"""Vectors of another encoder for what a library holds.

They are stored beside the old ones, whose place they take in one transaction: until then the library is unchanged,
and an interruption loses no vectors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import insert_new
from wenyuan.catalog.erasure import unused
from wenyuan.catalog.rows import context_of, questions_of, vector_rows
from wenyuan.core.errors import VectorsGone, msg
from wenyuan.core.model import embedded_text, heading_text, indexed_headings, label_text, shown_title
from wenyuan.core.text.leads import label_as_embedded, with_lead

_AT_ONCE = 1_000  # passages read, and given their new keys, at once


KeyOf = Callable[[str], str]
"""Gives the key under which the vector of a text is stored."""


def _not_embedded(_text: str) -> str:
    """Of a library without vectors."""
    return ""


class _Text(NamedTuple):
    """A live passage with the texts to embed: its own, and its label, which may be ``""``."""

    passage_id: int
    text: str
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of passages, and re-embedding with another encoder."""

    database: Database

    def embedded_after(
        self, passage_id: int, limit: int, was: KeyOf = _not_embedded
    ) -> Sequence[tuple[int, str, str]]:
        """Live passages by rising id, those above `passage_id`: id, text and label as embedded.

        Args:
            was: Embedded text → the key of its vector that is stored.
        """
        with self.database.reading("reading texts") as connection:
            return _texts(connection, passage_id, limit, was)

    def keep_vectors(self, vectors: Mapping[str, Any]) -> None:
        """Store vectors by key, (dim,) float32, in preparation of `change_encoder`."""
        with self.database.changing("storing vectors") as connection:
            connection.execute(insert_new(connection, t.vectors), vector_rows(vectors))

    def change_encoder(self, encoder: Mapping[str, Any], before: str, key_of: KeyOf, was: KeyOf) -> int:
        """Switch all live passages to their vectors of another encoder, and delete the old ones; returns the number
        of passages.

        One transaction. What was measured with the old vectors is forgotten; the value ``reembedded`` says that what is
        derived must follow. No passage and no change number is another, so audit, feedback and rules stay as they are.

        Args:
            encoder: Its fingerprint.
            before: The key of the former one's.
            key_of, was: Embedded text → its vector key, and that of the former encoder.

        Raises:
            VectorsGone: there are passages without such a vector; nothing was changed.
        """
        p, v, c = t.passages.c, t.vectors.c.vector_key, t.library.c.key
        live = p.removed_seq.is_(None)
        given = 0
        with self.database.changing("changing the encoder") as connection:
            give = (
                t.passages.update()
                .where(p.passage_id == sa.bindparam("own"))
                .values(vector_key=sa.bindparam("key"), label_key=sa.bindparam("label"))
            )
            for part in _pages(connection, was):
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
                    msg("{lacking} passages came or changed while the library was embedded anew", lacking=lacking),
                    component="catalog",
                    hint="stop who takes sources in, and go on: wenyuan reembed",
                )
            # An exact replay embeds what is not live any more by itself.
            connection.execute(t.passages.update().where(~live).values(vector_key=None, label_key=None))
            connection.execute(t.vectors.delete().where(*unused()))
            said = {"encoder": encoder, "reembedded": {"from": before}}
            connection.execute(t.library.delete().where(c.in_([f"value/{name}" for name in (*said, "floor")])))
            rows = [
                {"key": f"value/{name}", "value": json.dumps(one, ensure_ascii=False)} for name, one in said.items()
            ]
            connection.execute(t.library.insert(), rows)
        return given

    def renew_stamps(self, source_id: str, before: str, after: str) -> int:
        """Replace the reading stamp `before` of live documents by `after`; returns how many."""
        d = t.documents.c
        ours = sa.and_(d.source_id == source_id, d.removed_seq.is_(None), d.fingerprint.startswith(f"{before}:"))
        stamp = sa.literal(after) + sa.func.substr(d.fingerprint, len(before) + 1)
        with self.database.changing("writing how documents were read") as connection:
            changed = connection.execute(t.documents.update().where(ours).values(fingerprint=stamp))
        return changed.rowcount


def _pages(connection: sa.Connection, was: KeyOf) -> Iterator[list[_Text]]:
    after = 0
    while part := _texts(connection, after, _AT_ONCE, was):
        yield part
        after = part[-1].passage_id


def _texts(connection: sa.Connection, after: int, limit: int, was: KeyOf) -> list[_Text]:
    p, d = t.passages.c, t.documents.c
    query = (
        sa.select(p.passage_id, p.label_key, d.title, d.lead, p.headings, p.cell, p.text, p.corrected, p.context)
        .join(t.documents, d.document_id == p.document_id)
        .where(p.removed_seq.is_(None), p.passage_id > after)
        .order_by(p.passage_id)
        .limit(limit)
    )
    return [
        _Text(
            number,
            embedded_text(heading_text(shown_title(title, cell, text), headings), with_lead(lead, text, questions)),
            label if lead else label_as_embedded(label, text, known, was),
        )
        for number, known, title, lead, own, cell, text, told, said in connection.execute(query)
        for questions in [questions_of(told)]
        for headings in [indexed_headings(own, context_of(said))]
        for label in [label_text(shown_title(title, cell, text), headings, lead, questions)]
    ]
