"""Who belongs to which group, as the library itself knows it: people, and groups within groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.documents import batches
from wenyuan.catalog.group_tables import group_members
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, listed, msg
from wenyuan.core.principals import EVERYONE, parse_groups, parse_name

MAX_MEMBERS = 200_000
"""Of one group, groups within it counted as one each."""
_TOLD = 100
"""Names of members in one audit record."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a library. A group is there as long as it has members; a change counts for the next question."""

    database: Database

    def groups(self) -> Mapping[str, int]:
        """How many members each group has, groups within it counted as one each."""
        m = group_members.c
        query = (
            sa.select(m.group_name, sa.func.count()).where(m.belongs).group_by(m.group_name).order_by(m.group_name)
        )
        with self.database.reading("listing groups") as connection:
            return {name: int(count) for name, count in connection.execute(query)}

    def members(self, group: str) -> tuple[str, ...]:
        """The members of a group, by name; NotFound where it has none."""
        name = _group(group)
        with self.database.reading("reading a group") as connection:
            found = tuple(sorted(_members(connection, name)))
        if not found:
            raise NotFound(msg("there is no group {name}", name=name), hint="wenyuan group list")
        return found

    def set_group(self, group: str, members: Iterable[str]) -> int:
        """Let a group have these members and no others; without any it is removed. Returns how many it has.

        Raises:
            InvalidRequest: something is no name; there are too many; or a group would be in itself.
        """
        name, wanted = _group(group), _names(members)
        refuse_erased(self.database, group=name, members=wanted)
        with self.database.changing("writing a group") as connection:
            held = _members(connection, name)
            self._change(connection, name, wanted - held, held - wanted, len(wanted))
        self._tell(name, wanted - held, held - wanted)
        return len(wanted)

    def change_group(self, group: str, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> int:
        """Take members into a group and out of it; returns how many it has. See `set_group`."""
        name, more, less = _group(group), _names(add), _names(remove)
        if both := sorted(more & less):
            raise _refused("remove", msg("{name} is to be added and removed", name=both[0]))
        refuse_erased(self.database, group=name if more else "", add=more)
        with self.database.changing("writing a group") as connection:
            held = _members(connection, name)
            after = (held | more) - less
            self._change(connection, name, more - held, less & held, len(after))
        self._tell(name, more - held, less & held)
        return len(after)

    def groups_of(self, names: Iterable[str]) -> frozenset[str]:
        """Names of somebody, with all groups that they belong to by these."""
        with self.database.reading("reading who belongs to which group") as connection:
            return groups_above(connection, names)

    @staticmethod
    def _change(connection: sa.Connection, name: str, more: frozenset[str], less: frozenset[str], count: int) -> None:
        if count > MAX_MEMBERS:
            raise _refused("members", msg("must be a list of at most {most} names", most=MAX_MEMBERS))
        circle = [member for member in sorted(more) if member.startswith("group:")]
        above = groups_above(connection, [name]) if circle else frozenset()
        if loop := [member for member in circle if member in above]:
            raise _refused(
                "members", msg("{member} is {group}, or in it: no group is in itself", member=loop[0], group=name)
            )
        if not more and not less:
            return
        seq = next_seq(connection, "groups")  # whose it is may be a name
        m = group_members.c
        for part in batches(sorted(more | less)):
            connection.execute(group_members.delete().where(m.group_name == name, m.member.in_(part)))
        for part in batches(sorted(more | less)):
            rows = [{"member": one, "group_name": name, "belongs": one in more, "seq": seq} for one in part]
            connection.execute(group_members.insert(), rows)

    def _tell(self, name: str, more: frozenset[str], less: frozenset[str]) -> None:
        if more or less:
            self.database.on_change("group", "changed", name, None, {"added": _told(more), "removed": _told(less)})


def groups_above(connection: sa.Connection, names: Iterable[str]) -> frozenset[str]:
    """Names, with the groups that they belong to, and those that these belong to."""
    m = group_members.c
    found = frozenset(names)
    new = found - {EVERYONE}
    while new:
        above: set[str] = set()
        for part in batches(sorted(new)):
            above.update(connection.scalars(sa.select(m.group_name).where(m.member.in_(part), m.belongs)))
        new = frozenset(above - found)
        found |= new
    return found


def groups_changed(connection: sa.Connection, since: int) -> bool:
    """Whether a membership changed after a change of the catalog."""
    m = group_members.c
    return connection.scalar(sa.select(m.seq).where(m.seq > since).limit(1)) is not None


def _members(connection: sa.Connection, name: str) -> frozenset[str]:
    m = group_members.c
    return frozenset(connection.scalars(sa.select(m.member).where(m.group_name == name, m.belongs)))


def _group(name: str) -> str:
    (found,) = parse_groups([name], "group")
    return found


def _names(members: Iterable[str]) -> frozenset[str]:
    found = set()
    faults: list[Fault] = []
    for number, member in enumerate(members):
        try:
            name = parse_name(member, f"members[{number}]")
            if name == EVERYONE:
                raise _refused(
                    f"members[{number}]", msg("must be somebody or a group: {everyone} is in none", everyone=EVERYONE)
                )
            found.add(name)
        except InvalidRequest as error:
            faults += error.faults
    if faults:
        raise InvalidRequest(listed(faults[:10]), faults=tuple(faults))
    return frozenset(found)


def _told(names: frozenset[str]) -> Any:
    """Names for an audit record: all of them, or how many there were."""
    return sorted(names) if len(names) <= _TOLD else len(names)


def _refused(path: str, why: str) -> InvalidRequest:
    return InvalidRequest(listed([Fault(path, why)]), faults=(Fault(path, why),))
