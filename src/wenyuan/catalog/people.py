"""People whom an issuer has told: what the ids in records stand for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.people_tables import people
from wenyuan.catalog.sql import now
from wenyuan.catalog.typed_names import without_erased
from wenyuan.core.person import PERSON_ID, Person

_REMEMBERED = 10_000
"""Names of people that need not be looked up again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPerson:
    """Somebody who has asked or changed something.

    Attributes:
        person_id: As records name them.
        first_seen, named_at: Seconds since the epoch: when they came first, and since when they have this name.
    """

    person_id: str
    issuer: str
    subject: str
    name: str
    first_seen: float
    named_at: float


class People:
    """People by id. They change no answer, and so are no change of the library. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._met: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def meet(self, person: Person) -> None:
        """Write down who somebody is, where that is not known, or their name has changed."""
        with self._lock:
            if self._met.get(person.person_id) == person.name:
                self._met.move_to_end(person.person_id)
                return
        c, at = people.c, now()
        name, subject = (without_erased(self.database, one) for one in (person.name, person.subject))
        with self.database.changing("writing who has signed in") as connection:
            held = connection.scalar(sa.select(c.name).where(c.person_id == person.person_id))
            if held is None:
                row = {
                    "person_id": person.person_id, "issuer": person.issuer, "subject": subject, "name": name,
                    "first_seen": at, "named_at": at,
                }  # fmt: skip
                connection.execute(people.insert(), row)
            elif held != name:
                change = people.update().where(c.person_id == person.person_id)
                connection.execute(change.values(name=name, named_at=at))
        with self._lock:
            self._met[person.person_id] = person.name
            while len(self._met) > _REMEMBERED:
                self._met.popitem(last=False)

    def person_names(self, ids: Iterable[str]) -> dict[str, str]:
        """What those among some principals are called whom an issuer has told, by their ids."""
        wanted = sorted({name for name in ids if name.startswith(PERSON_ID)})
        return {one.person_id: one.name for one in self.people(wanted) if one.name} if wanted else {}

    def all_people(self) -> Iterator[KnownPerson]:
        """Everybody, in the order of their ids."""
        after = ""
        while page := self.people(after=after, limit=1_000):
            yield from page
            after = page[-1].person_id

    def people(
        self, ids: Sequence[str] | None = None, *, after: str = "", limit: int = 100
    ) -> tuple[KnownPerson, ...]:
        """People by id, in the order of their ids.

        Args:
            ids: Only these; None: all.
            after: Those behind this id.
            limit: How many at most, where `ids` are not given.
        """
        c = people.c
        query = sa.select(people).order_by(c.person_id)
        found: list[KnownPerson] = []
        with self.database.reading("reading who has signed in") as connection:
            if ids is None:
                rows = connection.execute(query.where(c.person_id > after).limit(limit)).mappings()
                return tuple(KnownPerson(**row) for row in rows)
            for part in batches(sorted(set(ids))):
                found += [
                    KnownPerson(**row) for row in connection.execute(query.where(c.person_id.in_(part))).mappings()
                ]
        return tuple(found)
