"""The synonyms of a library: which there are, and which there were at a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from wenyuan.catalog.connect import now, reading, translated
from wenyuan.catalog.dialect import next_seq
from wenyuan.catalog.synonym_tables import synonyms
from wenyuan.core.errors import InvalidRequest, NotPermitted
from wenyuan.core.ports import Deadline
from wenyuan.core.synonyms import MOST_SYNONYMS, Synonym, SynonymsPut, synonym_to_wire

__all__ = ["CatalogSynonyms"]

_BATCH = 500  # rows of one statement, and entries that one record of the audit tells of

_Sides = tuple[tuple[str, ...], ...]


class CatalogSynonyms:
    """Mixed into `Catalog`. A changed table is a change of the library: caches, audits and replays see it."""

    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:
        on_change: Callable[..., None]

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def synonyms(self) -> tuple[Synonym, ...]:
        """Those that count now, in the order in which they were entered."""
        with reading(self._reader, "reading synonyms") as connection:
            return _entries(connection, synonyms.c.removed_seq.is_(None))

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        """Those that counted at a change, in the same order."""
        c = synonyms.c
        counted = sa.and_(c.seq <= seq, sa.or_(c.removed_seq.is_(None), c.removed_seq > seq))
        with reading(self._reader, "reading synonyms", deadline) as connection:
            return _entries(connection, counted)

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        """The last change of the table, up to a change of the catalog; 0 for none."""
        c = synonyms.c
        entered = sa.select(sa.func.max(c.seq)).where(c.seq <= seq).scalar_subquery()
        ended = sa.select(sa.func.max(c.removed_seq)).where(c.removed_seq <= seq).scalar_subquery()
        with reading(self._reader, "reading synonyms", deadline) as connection:
            return max(number or 0 for number in connection.execute(sa.select(entered, ended)).one())

    def put_synonyms(self, entries: Iterable[Synonym], actor: str) -> SynonymsPut:
        """Enter synonyms, at one change; of the same two words the last entry counts, and the same again changes nothing.

        Args:
            actor: Id of the key, or ``local``, with which they are entered.

        Raises:
            InvalidRequest: there would be more than `MOST_SYNONYMS`; then none is entered.
        """
        wanted = _by_sides(entries)
        live = synonyms.c.removed_seq.is_(None)
        with self.writing(), translated("writing synonyms"), self._writer.begin() as connection:
            known = _entries(connection, live)
            new, ended = _changes(wanted, _by_sides(known))
            count = len(known) - len(ended) + len(new)
            if count > MOST_SYNONYMS:
                raise InvalidRequest(f"there would be {count} synonyms; a library has at most {MOST_SYNONYMS}")
            entered: tuple[Synonym, ...] = ()
            if new:
                seq, at = next_seq(connection, "synonyms"), now()
                _end(connection, ended, seq)
                rows = [_row(replace(entry, actor=actor, at=at), seq) for entry in new]
                connection.execute(synonyms.insert(), rows)
                entered = _entries(connection, synonyms.c.seq == seq)
        self._tell(ended, entered)
        changed = len({_sides(entry) for entry in ended})
        unchanged = sum(map(len, wanted.values())) - len(entered)
        return SynonymsPut(added=len(entered) - changed, changed=changed, unchanged=unchanged, entries=entered)

    def remove_synonyms(self, numbers: Sequence[int]) -> tuple[Synonym, ...]:
        """Remove entries by their numbers, at one change; returns them.

        Raises:
            NotPermitted: there is none of a number; then none is removed.
        """
        live = synonyms.c.removed_seq.is_(None)
        with self.writing(), translated("removing synonyms"), self._writer.begin() as connection:
            known = {entry.number: entry for entry in _entries(connection, live)}
            if not numbers or (unknown := [number for number in numbers if number not in known]):
                told = f"the number {unknown[0]}" if numbers else "no number"
                raise NotPermitted(f"there is no synonym of {told}", hint="wenyuan synonyms list")
            removed = [known[number] for number in dict.fromkeys(numbers)]
            _end(connection, removed, next_seq(connection, "synonyms"))
        self._tell(removed, [])
        return tuple(removed)

    def _tell(self, before: Sequence[Synonym], after: Sequence[Synonym]) -> None:
        """The audit: one record of one entry, or one for some hundred that were entered together."""
        if len(before) <= 1 and len(after) <= 1:
            old, new = (synonym_to_wire(one[0]) if one else None for one in (before, after))
            if old or new:
                named = (after or before)[0].label
                self.on_change(
                    "synonym", "changed" if old and new else "added" if new else "removed", named, old, new
                )
            return
        removed, added = [one.label for one in before], [one.label for one in after]
        for start in range(0, max(len(removed), len(added)), _BATCH):
            part = slice(start, start + _BATCH)
            told = {"removed": removed[part], "added": added[part]}
            self.on_change(
                "synonym", "changed" if after else "removed", f"{len(after or before)} synonyms", None, told
            )


def _entries(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[Synonym, ...]:
    c = synonyms.c
    query = sa.select(c.number, c.term, c.synonym, c.both, c.actor, c.at).where(which).order_by(c.number)
    return tuple(Synonym(**row) for row in connection.execute(query).mappings())


def _row(entry: Synonym, seq: int) -> dict[str, object]:
    return {
        "term": entry.term, "synonym": entry.synonym, "both": entry.both, "actor": entry.actor, "at": entry.at,
        "seq": seq,
    }  # fmt: skip


def _end(connection: sa.Connection, entries: Sequence[Synonym], seq: int) -> None:
    numbers = [entry.number for entry in entries]
    for start in range(0, len(numbers), _BATCH):
        some = synonyms.c.number.in_(numbers[start : start + _BATCH])
        connection.execute(synonyms.update().where(some).values(removed_seq=seq))


def _changes(
    wanted: Mapping[_Sides, Sequence[Synonym]], held: Mapping[_Sides, Sequence[Synonym]]
) -> tuple[list[Synonym], list[Synonym]]:
    """What is to be entered that is not held as it is, and what that takes the place of."""
    new: list[Synonym] = []
    ended: dict[int, Synonym] = {}
    for sides, entries in wanted.items():
        for entry in entries:
            others = held.get(sides, ())
            if not any(_same(entry, other) for other in others):
                new.append(entry)
                ended |= {other.number: other for other in others if entry.replaces(other)}
    return new, list(ended.values())


def _sides(entry: Synonym) -> _Sides:
    """The two words of an entry, whichever way it goes."""
    return tuple(sorted(entry.key))


def _same(entry: Synonym, other: Synonym) -> bool:
    return entry.both == other.both and entry.key == other.key


def _by_sides(entries: Iterable[Synonym]) -> dict[_Sides, list[Synonym]]:
    """By their two words; a later entry replaces earlier ones."""
    found: dict[_Sides, list[Synonym]] = {}
    for entry in entries:
        sides = _sides(entry)
        found[sides] = [*(other for other in found.get(sides, ()) if not entry.replaces(other)), entry]
    return found
