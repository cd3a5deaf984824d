"""The synonyms of a library: which there are, and which there were at a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.schema import synonyms
from wenyuan.catalog.sql import now
from wenyuan.catalog.tunings import BATCH
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.core.errors import InvalidRequest, NotFound, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.text.synonyms import MOST_SYNONYMS, Synonym, SynonymsPut, synonym_to_wire

_Sides = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Synonyms:
    """The synonym table: users' words for words of the documents. A change of it is a change of the library."""

    database: Database

    def synonyms(self) -> tuple[Synonym, ...]:
        """The current entries, in the order in which they were entered."""
        with self.database.reading("reading synonyms") as connection:
            return _entries(connection, synonyms.c.removed_seq.is_(None))

    def synonyms_at(self, seq: int, deadline: Deadline | None = None) -> tuple[Synonym, ...]:
        """The entries at change `seq`, in the same order."""
        c = synonyms.c
        counted = sa.and_(c.seq <= seq, sa.or_(c.removed_seq.is_(None), c.removed_seq > seq))
        with self.database.reading("reading synonyms", deadline) as connection:
            return _entries(connection, counted)

    def synonyms_version(self, seq: int, deadline: Deadline | None = None) -> int:
        """Number of the last change of the table up to change `seq`; 0 for none."""
        c = synonyms.c
        entered = sa.select(sa.func.max(c.seq)).where(c.seq <= seq).scalar_subquery()
        ended = sa.select(sa.func.max(c.removed_seq)).where(c.removed_seq <= seq).scalar_subquery()
        with self.database.reading("reading synonyms", deadline) as connection:
            return max(number or 0 for number in connection.execute(sa.select(entered, ended)).one())

    def put_synonyms(self, entries: Iterable[Synonym], actor: str) -> SynonymsPut:
        """Add entries in one change. An entry replaces an earlier one of the same two words; equal entries change
        nothing.

        Args:
            actor: Id of the key, or ``local``, with which they are entered.

        Raises:
            InvalidRequest: there would be more than `MOST_SYNONYMS`; then none is entered.
        """
        wanted = _by_sides(entries)
        words = [word for known in wanted.values() for entry in known for word in (entry.term, entry.synonym)]
        refuse_erased(self.database, synonyms=words)
        live = synonyms.c.removed_seq.is_(None)
        with self.database.changing("writing synonyms") as connection:
            known = _entries(connection, live)
            new, ended = _changes(wanted, _by_sides(known))
            count = len(known) - len(ended) + len(new)
            if count > MOST_SYNONYMS:
                raise InvalidRequest(
                    msg(
                        "there would be {count} synonyms; a library has at most {most_synonyms}",
                        count=count,
                        most_synonyms=MOST_SYNONYMS,
                    )
                )
            entered: tuple[Synonym, ...] = ()
            if new:
                seq, at = next_seq(connection, "synonyms"), now()
                _end_synonym(connection, ended, seq)
                rows = [_row(replace(entry, actor=actor, at=at), seq) for entry in new]
                connection.execute(synonyms.insert(), rows)
                entered = _entries(connection, synonyms.c.seq == seq)
        self._tell(ended, entered)
        changed = len({_sides(entry) for entry in ended})
        unchanged = sum(map(len, wanted.values())) - len(entered)
        return SynonymsPut(added=len(entered) - changed, changed=changed, unchanged=unchanged, entries=entered)

    def remove_synonyms(self, numbers: Sequence[int]) -> tuple[Synonym, ...]:
        """Remove entries by number, in one change; returns them.

        Raises:
            NotFound: there is none of a number; then none is removed.
        """
        live = synonyms.c.removed_seq.is_(None)
        with self.database.changing("removing synonyms") as connection:
            known = {entry.number: entry for entry in _entries(connection, live)}
            if not numbers or (unknown := [number for number in numbers if number not in known]):
                told = f"the number {unknown[0]}" if numbers else "no number"
                raise NotFound(msg("there is no synonym of {told}", told=told), hint="wenyuan synonyms list")
            removed = [known[number] for number in dict.fromkeys(numbers)]
            _end_synonym(connection, removed, next_seq(connection, "synonyms"))
        self._tell(removed, [])
        return tuple(removed)

    def _tell(self, before: Sequence[Synonym], after: Sequence[Synonym]) -> None:
        """Report changes to the audit: one record per entry, or one record for a few hundred entered together."""
        if len(before) <= 1 and len(after) <= 1:
            old, new = (synonym_to_wire(one[0]) if one else None for one in (before, after))
            if old or new:
                named = (after or before)[0].label
                self.database.on_change(
                    "synonym", "changed" if old and new else "added" if new else "removed", named, old, new
                )
            return
        removed, added = [one.label for one in before], [one.label for one in after]
        for start in range(0, max(len(removed), len(added)), BATCH):
            part = slice(start, start + BATCH)
            told = {"removed": removed[part], "added": added[part]}
            self.database.on_change(
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


def _end_synonym(connection: sa.Connection, entries: Sequence[Synonym], seq: int) -> None:
    numbers = [entry.number for entry in entries]
    for start in range(0, len(numbers), BATCH):
        some = synonyms.c.number.in_(numbers[start : start + BATCH])
        connection.execute(synonyms.update().where(some).values(removed_seq=seq))


def _changes(
    wanted: Mapping[_Sides, Sequence[Synonym]], held: Mapping[_Sides, Sequence[Synonym]]
) -> tuple[list[Synonym], list[Synonym]]:
    """The entries to add, and the stored ones that they replace; equal entries are left out."""
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
    """The two words of an entry, in a fixed order whatever its direction."""
    return tuple(sorted(entry.key))


def _same(entry: Synonym, other: Synonym) -> bool:
    return entry.both == other.both and entry.key == other.key


def _by_sides(entries: Iterable[Synonym]) -> dict[_Sides, list[Synonym]]:
    """Entries by their two words; later entries replace earlier ones."""
    found: dict[_Sides, list[Synonym]] = {}
    for entry in entries:
        sides = _sides(entry)
        found[sides] = [*(other for other in found.get(sides, ()) if not entry.replaces(other)), entry]
    return found
