"""Profiles of tasks: which there are, and which there were at a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.schema import profiles
from wenyuan.catalog.sql import now
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.core.errors import InvalidRequest, NotFound, listed, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.task_profiles import TaskProfile, parse_profile, profile_to_wire, task_faults


@dataclass(frozen=True, slots=True, eq=False)
class TaskProfiles:
    """Task profiles. A changed profile is a change of the library: caches, audit records and replays depend on it."""

    database: Database

    def profiles(self) -> tuple[TaskProfile, ...]:
        """The current profiles, by id."""
        return self._profiles(profiles.c.removed_seq.is_(None))

    def profiles_at(self, seq: int, deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        """The profiles at change `seq`, by id."""
        c = profiles.c
        return self._profiles(sa.and_(c.seq <= seq, sa.or_(c.removed_seq.is_(None), c.removed_seq > seq)), deadline)

    def _profiles(self, which: sa.ColumnElement[bool], deadline: Deadline | None = None) -> tuple[TaskProfile, ...]:
        query = sa.select(profiles.c.definition).where(which).order_by(profiles.c.profile_id)
        with self.database.reading("reading profiles of tasks", deadline) as connection:
            return tuple(parse_profile(row) for row in connection.scalars(query))

    def put_profile(self, profile: TaskProfile) -> None:
        """Register a profile, or replace the one with its id; storing an equal one changes nothing.

        Raises:
            InvalidRequest: another profile names one of its tasks.
        """
        refuse_erased(self.database, title=profile.title, tasks=profile.tasks, terms=profile.terms)
        before = self._replaced(profile.profile_id, profile)
        if before != profile:
            self.database.on_change("task", "changed" if before else "added", profile.profile_id, before, profile)

    def remove_profile(self, profile_id: str) -> None:
        """Remove a profile; NotFound when there is none."""
        self.database.on_change("task", "removed", profile_id, self._replaced(profile_id, None), None)

    def _replaced(self, profile_id: str, profile: TaskProfile | None) -> TaskProfile | None:
        """End a profile and store its replacement, if any; returns the former one."""
        live = profiles.c.removed_seq.is_(None)
        with self.database.changing("writing a profile of tasks") as connection:
            known = [parse_profile(row) for row in connection.scalars(sa.select(profiles.c.definition).where(live))]
            before = next((one for one in known if one.profile_id == profile_id), None)
            if profile is None and before is None:
                raise NotFound(
                    msg("there is no profile {profile_id}", profile_id=repr(profile_id)), hint="wenyuan task list"
                )
            if profile == before:
                return before
            seq = next_seq(connection, f"task:{profile_id}")
            connection.execute(
                profiles.update().where(live, profiles.c.profile_id == profile_id).values(removed_seq=seq)
            )
            if profile is not None:
                if faults := task_faults(profile, known):
                    raise InvalidRequest(listed(faults), faults=faults)
                connection.execute(profiles.insert(), _row(profile, seq))
        return before


def _row(profile: TaskProfile, seq: int) -> dict[str, Any]:
    return {"profile_id": profile.profile_id, "definition": profile_to_wire(profile), "at": now(), "seq": seq}
