"""Profiles of tasks: which there are, and which there were at a change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from wenyuan.catalog.connect import now, reading, translated
from wenyuan.catalog.dialect import next_seq
from wenyuan.catalog.profile_tables import profiles
from wenyuan.core.errors import InvalidRequest, NotPermitted
from wenyuan.core.ports import Deadline
from wenyuan.core.profiles import TaskProfile, parse_profile, profile_to_wire, task_faults

__all__ = ["CatalogProfiles"]


class CatalogProfiles:
    """Mixed into `Catalog`. A changed profile is a change of the library: caches, audits and replays see it."""

    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:
        on_change: Callable[..., None]

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def profiles(self) -> tuple[TaskProfile, ...]:
        """Those that count now, by id."""
        return self._profiles(profiles.c.removed_seq.is_(None))

    def profiles_at(self, seq: int, deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        """Those that counted at a change, by id."""
        c = profiles.c
        return self._profiles(sa.and_(c.seq <= seq, sa.or_(c.removed_seq.is_(None), c.removed_seq > seq)), deadline)

    def _profiles(self, which: sa.ColumnElement[bool], deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        query = sa.select(profiles.c.definition).where(which).order_by(profiles.c.profile_id)
        with reading(self._reader, "reading profiles of tasks", deadline) as connection:
            return tuple(parse_profile(row) for row in connection.scalars(query))

    def put_profile(self, profile: TaskProfile) -> None:
        """Register a profile, or replace the one of its id; the same again changes nothing.

        Raises:
            InvalidRequest: another profile names one of its tasks.
        """
        before = self._replaced(profile.profile_id, profile)
        if before != profile:
            self.on_change("task", "changed" if before else "added", profile.profile_id, before, profile)

    def remove_profile(self, profile_id: str) -> None:
        """Raises NotPermitted when there is none of that id."""
        self.on_change("task", "removed", profile_id, self._replaced(profile_id, None), None)

    def _replaced(self, profile_id: str, profile: TaskProfile | None) -> TaskProfile | None:
        """End a profile and put another in its place; returns what it was."""
        live = profiles.c.removed_seq.is_(None)
        with self.writing(), translated("writing a profile of tasks"), self._writer.begin() as connection:
            known = [parse_profile(row) for row in connection.scalars(sa.select(profiles.c.definition).where(live))]
            before = next((one for one in known if one.profile_id == profile_id), None)
            if profile is None and before is None:
                raise NotPermitted(f"there is no profile {profile_id!r}", hint="wenyuan task list")
            if profile == before:
                return before
            seq = next_seq(connection, f"task:{profile_id}")
            connection.execute(
                profiles.update().where(live, profiles.c.profile_id == profile_id).values(removed_seq=seq)
            )
            if profile is not None:
                if faults := task_faults(profile, known):
                    raise InvalidRequest("; ".join(f"{f.path} {f.message}" for f in faults), faults=faults)
                connection.execute(profiles.insert(), _row(profile, seq))
        return before


def _row(profile: TaskProfile, seq: int) -> dict[str, Any]:
    return {"profile_id": profile.profile_id, "definition": profile_to_wire(profile), "at": now(), "seq": seq}
