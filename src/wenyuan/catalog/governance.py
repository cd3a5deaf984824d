"""Agents, keys, sources, task profiles and the library's identity."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.rows import source_of, source_row
from wenyuan.catalog.rules.writes import drop_evidence_of
from wenyuan.catalog.schema import profiles
from wenyuan.catalog.sql import insert_new, next_seq, now, translated
from wenyuan.catalog.storage import ADOPTED, Database, Place
from wenyuan.catalog.writes import forget_source, retire
from wenyuan.core.access import (
    Agent,
    Key,
    TaskProfile,
    agent_to_wire,
    parse_agent,
    parse_key_name,
    parse_profile,
    profile_to_wire,
    task_faults,
)
from wenyuan.core.errors import CatalogBusy, CatalogUnavailable, InvalidRequest, NotFound, listed, msg
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.core.sources import LONGEST_CLAIM, SourceState
from wenyuan.runtime import has_ended

__all__ = ["Access", "Identity", "SourceRegistry", "SourceState", "TaskProfiles", "name_library"]


# Agents and their keys.


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """Agents and API keys. A changed agent is a change of the library: caches and audit records depend on it."""

    database: Database

    def agents(self) -> tuple[Agent, ...]:
        with self.database.reading("listing agents") as connection:
            rows = connection.execute(sa.select(t.agents.c.definition).order_by(t.agents.c.agent_id)).scalars().all()
        return tuple(parse_agent(row) for row in rows)

    def agent(self, agent_id: str) -> Agent:
        """An agent by its id; NotFound when there is none."""
        return self.database.remembered.get(("agent", agent_id), lambda: self._agent(agent_id))

    def _agent(self, agent_id: str) -> Agent:
        with self.database.reading("reading an agent") as connection:
            row = connection.scalar(sa.select(t.agents.c.definition).where(t.agents.c.agent_id == agent_id))
        if row is None:
            raise NotFound(msg("there is no agent {agent_id}", agent_id=repr(agent_id)), hint="wenyuan agent list")
        return parse_agent(row)

    def put_agent(self, agent: Agent) -> None:
        """Register an agent, or replace its description.

        Raises:
            InvalidRequest: it could not be read again, e.g. because its scope is empty.
        """
        parse_agent(agent_to_wire(agent))
        before = {a.agent_id: a for a in self.agents()}.get(agent.agent_id)
        with self.database.changing("writing an agent") as connection:
            next_seq(connection, f"agent:{agent.agent_id}")
            connection.execute(t.agents.delete().where(t.agents.c.agent_id == agent.agent_id))
            connection.execute(
                t.agents.insert(),
                {"agent_id": agent.agent_id, "definition": agent_to_wire(agent), "updated_at": now()},
            )
        if before != agent:
            self.database.on_change("agent", "changed" if before else "added", agent.agent_id, before, agent)

    def remove_agent(self, agent_id: str) -> int:
        """Remove an agent and revoke its keys; returns how many keys that were."""
        before = self.agent(agent_id)
        with self.database.changing("removing an agent") as connection:
            next_seq(connection, f"agent:{agent_id}")
            connection.execute(t.agents.delete().where(t.agents.c.agent_id == agent_id))
            revoked = _revoked(connection, t.keys.c.agent_id == agent_id)
        self.database.on_change("agent", "removed", agent_id, before, None)
        self._tell_revoked(revoked)
        return len(revoked)

    # -- keys ---------------------------------------------------------------------------------------

    def create_key(
        self, agent_id: str | None, rights: frozenset[str], expires_at: float | None, name: str = ""
    ) -> tuple[Key, str]:
        """Create a key; returns it with its secret, which is shown only here and stored as a hash.

        Raises:
            InvalidRequest: the name is too long or no line of text.
        """
        name = parse_key_name(name)
        if agent_id is not None:
            self.agent(agent_id)
        key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        token = f"wy_{key_id}_{secret}"
        key = Key(key_id=key_id, agent_id=agent_id, rights=rights, created_at=now(), expires_at=expires_at, name=name)
        with self.database.changing("writing a key") as connection:
            connection.execute(
                t.keys.insert(),
                {
                    "key_id": key_id,
                    "sha256": hashlib.sha256(token.encode()).hexdigest(),
                    "agent_id": agent_id,
                    "rights": sorted(rights),
                    "created_at": key.created_at,
                    "expires_at": expires_at,
                    "revoked_at": None,
                    "name": name,
                },
            )
        self.database.on_change("key", "created", key_id, None, key)
        return key, token

    def keys(self) -> tuple[Key, ...]:
        with self.database.reading("listing keys") as connection:
            rows = connection.execute(sa.select(t.keys).order_by(t.keys.c.created_at)).mappings().all()
        return tuple(_key_of(row) for row in rows)

    def key_of_token(self, token: str) -> Key | None:
        """The key whose secret is `token`, including revoked and expired keys; None when no key matches."""
        parts = token.split("_", 2)
        if len(parts) != 3 or parts[0] != "wy":
            return None
        row = self.database.remembered.get(("key", parts[1]), lambda: self._key_row(parts[1]))
        given = hashlib.sha256(token.encode()).hexdigest()
        if row is None or not hmac.compare_digest(row["sha256"], given):
            return None
        return _key_of(row)

    def _key_row(self, key_id: str) -> sa.RowMapping | None:
        with self.database.reading("checking a key") as connection:
            return connection.execute(sa.select(t.keys).where(t.keys.c.key_id == key_id)).mappings().first()

    def revoke_key(self, key_id: str) -> None:
        """Revoke a key at once; NotFound when there is none."""
        with self.database.changing("revoking a key") as connection:
            known = connection.scalar(sa.select(sa.func.count()).where(t.keys.c.key_id == key_id))
            revoked = _revoked(connection, t.keys.c.key_id == key_id)
        if not known:
            raise NotFound(msg("there is no key {key_id}", key_id=repr(key_id)), hint="wenyuan key list")
        self._tell_revoked(revoked)

    def _tell_revoked(self, keys: Sequence[Key]) -> None:
        for key in keys:
            self.database.on_change("key", "revoked", key.key_id, key, None)


def _revoked(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[Key, ...]:
    """Revoke keys; returns those that were valid until now."""
    live = sa.and_(which, t.keys.c.revoked_at.is_(None))
    rows = connection.execute(sa.select(t.keys).where(live).order_by(t.keys.c.created_at)).mappings().all()
    connection.execute(t.keys.update().where(live).values(revoked_at=now()))
    return tuple(_key_of(row) for row in rows)


def _key_of(row: sa.RowMapping) -> Key:
    return Key(
        key_id=row["key_id"],
        agent_id=row["agent_id"],
        rights=frozenset(row["rights"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        name=row["name"],
    )


# Sources: which there are, and how each of them is doing.


@dataclass(frozen=True, slots=True, eq=False)
class SourceRegistry:
    """The registered sources, and the state of each: when it was last read, and which worker is reading it."""

    database: Database

    def sources(self, deadline: Deadline | None = None) -> tuple[Source, ...]:
        with self.database.reading("listing sources", deadline) as connection:
            rows = connection.execute(sa.select(t.sources).order_by(t.sources.c.source_id)).mappings().all()
        return tuple(source_of(row) for row in rows)

    def registered_at(self) -> Mapping[str, float]:
        """When each source was registered: seconds since the epoch, by its id."""
        with self.database.reading("listing sources") as connection:
            rows = connection.execute(sa.select(t.sources.c.source_id, t.sources.c.created_at)).all()
        return {name: float(since) for name, since in rows}

    def source(self, source_id: str) -> Source:
        """A source by its id; NotFound when there is none."""
        with self.database.reading("reading a source") as connection:
            row = (
                connection.execute(sa.select(t.sources).where(t.sources.c.source_id == source_id)).mappings().first()
            )
        if row is None:
            raise NotFound(
                msg("there is no source {source_id}", source_id=repr(source_id)), hint="wenyuan source list"
            )
        return source_of(row)

    def put_source(self, source: Source) -> None:
        """Add a source, or replace its description. This is a change of the library: derived data is updated."""
        before = {s.source_id: s for s in self.sources()}.get(source.source_id)
        values = source_row(source)
        with self.database.changing("writing a source") as connection:
            next_seq(connection, source.source_id)
            changed = connection.execute(
                t.sources.update().where(t.sources.c.source_id == source.source_id).values(**values, updated_at=now())
            )
            if changed.rowcount == 0:
                connection.execute(t.sources.insert(), {**values, "created_at": now(), "updated_at": now()})
        if before != source:
            self.database.on_change("registry", "changed" if before else "added", source.source_id, before, source)

    def remove_source(self, source_id: str) -> int:
        """Remove a source and everything ingested from it; returns the number of removed documents.

        Texts, titles, names and vectors are overwritten in the file, not kept for a later look: removal may be
        an order. What stays are numbers, by which indexes learn of the removal. Rules that only it supported are
        retired.
        """
        before = self.source(source_id)
        with self.database.place.held_source(source_id), self.database.writing():
            with self.database.changing("removing a source") as connection:
                seq = next_seq(connection, source_id)
                gone = retire(connection, seq, t.documents.c.source_id == source_id)
                drop_evidence_of(connection, seq, source_id)
                forget_source(connection, source_id)
            self.database.place.forget()
        self.database.on_change("registry", "removed", source_id, before, None)
        return gone

    # -- how they are doing ---------------------------------------------------------------------------

    def source_states(self) -> Mapping[str, SourceState]:
        """State by source id; a source that was never read is absent. Claims of dead processes on this machine are
        left out.
        """
        with self.database.reading("reading the state of sources") as connection:
            rows = connection.execute(sa.select(t.source_state)).mappings().all()
        states = [SourceState(**row) for row in rows]
        return {
            s.source_id: replace(s, claimed_by="", claimed_until=None) if has_ended(s.claimed_by) else s
            for s in states
        }

    def put_source_state(self, state: SourceState) -> None:
        """Store a source's state. This is no change of the library: nothing derived depends on it."""
        values = {name: getattr(state, name) for name in SourceState.__slots__}
        with self._claiming("writing the state of a source", 10.0) as connection:
            connection.execute(t.source_state.delete().where(t.source_state.c.source_id == state.source_id))
            connection.execute(t.source_state.insert(), values)

    def claim_source(
        self, source_id: str, worker: str, until: float, *, due_by: float | None = None, wait: float = 10.0
    ) -> bool:
        """Claim a source for a refresh; False when another worker holds it or, with `due_by`, when it is not due.

        Atomic: of several workers that try at once, one gets it, and the others do not wait for it.

        Args:
            wait: Seconds to wait for the writer of a library in a folder; then CatalogBusy.
        """
        s, at = t.source_state.c, now()
        held = s.claimed_until.between(at, at + LONGEST_CLAIM)  # as `SourceState.held_by`
        free = [s.source_id == source_id, sa.or_(s.claimed_by == "", s.claimed_by == worker, sa.not_(held))]
        if due_by is not None:
            free.append(s.next_refresh <= due_by)
        fresh = SourceState(source_id=source_id)
        with self._claiming("claiming a source", wait) as connection:
            values = {name: getattr(fresh, name) for name in SourceState.__slots__}
            connection.execute(insert_new(connection, t.source_state), values)
            by = connection.scalar(sa.select(s.claimed_by).where(s.source_id == source_id)) or ""
            if has_ended(by):
                free[1] = sa.or_(free[1], s.claimed_by == by)
            mine = sa.select(s.source_id).where(*free).with_for_update(skip_locked=True)
            if connection.scalar(mine) is None:
                return False
            claimed = {"claimed_by": worker, "claimed_until": until}
            connection.execute(t.source_state.update().where(s.source_id == source_id).values(**claimed))
        return True

    def let_go(self, source_id: str, worker: str, /, *, wait: float = 10.0, **values: Any) -> bool:
        """Release a worker's claim and store the source's state; False when the worker no longer holds the claim."""
        s = t.source_state.c
        mine = t.source_state.update().where(s.source_id == source_id, s.claimed_by == worker)
        with self._claiming("writing the state of a source", wait) as connection:
            done = connection.execute(mine.values(claimed_by="", claimed_until=None, **values))
        return done.rowcount == 1

    @contextmanager
    def _claiming(self, doing: str, wait: float) -> Iterator[sa.Connection]:
        """A transaction on claims. In a folder it waits for the writer lock; on PostgreSQL it does not."""
        apart = self.database.claims is not self.database.writer
        with (
            nullcontext() if apart else self.database.writing(wait=wait),
            translated(doing),
            self.database.claims.begin() as connection,
        ):
            yield connection


# Profiles of tasks: which there are, and which there were at a change.


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


# Which library this is: an id among libraries that ask one another, and the place for which it was given.


KEY_MARK = "pseudonym_key_mark"
"""Key in `library` of what tells the key of a library in a folder from every other key, and does not give it away."""


def mark_of(key: bytes) -> str:
    """What is recorded of a key, see `KEY_MARK`."""
    return hmac.new(key, b"mark", hashlib.sha256).hexdigest()[:32]


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """The library's id. A copied folder has the original's id until `renew_id`, and must not be mistaken for it."""

    database: Database

    def where(self) -> str:
        """The folder, or the server and schema, that holds the catalog."""
        return str(self.database.place)

    def library_id(self) -> str:
        """The id by which libraries that query one another know this one; a copy shares it until `renew_id`."""
        return self._identity("library_id")

    def names(self) -> tuple[str, ...]:
        """The current id, then former ones; data that belongs to this library carries one of them."""
        with self.database.reading("reading the library's ids") as connection:
            key, value = t.library.c.key, t.library.c.value
            former = connection.scalars(sa.select(value).where(key.startswith(t.FORMER)).order_by(key))
            return self.library_id(), *former

    def elsewhere(self) -> bool:
        """Whether the id was assigned at another location: this library was copied, moved to another disk or
        restored.

        False also for libraries of before this was recorded.
        """
        recorded = self._identity("library_file")
        return bool(recorded) and recorded != self.lies()

    def lies(self) -> str:
        """Identifies the library's location, to tell a copy from the original; equal on all servers of one library."""
        with self.database.reading("looking where the library lies") as connection:
            return self.database.place.identity(connection)

    def pseudonym_key(self) -> bytes:
        """The key for pseudonyms where all processes share it through the database; empty in a folder, which has it
        in a file.
        """
        return bytes.fromhex(self._identity(t.PSEUDONYMS))

    def key_mark(self) -> str:
        """What was recorded of the library's key in its file; empty where nothing was."""
        return self._identity(KEY_MARK)

    def mark_key(self, mark: str) -> None:
        """Record it, unless somebody is writing, or nothing can be written: the next process does."""
        with (
            suppress(CatalogBusy, CatalogUnavailable),
            self.database.writing(wait=0),
            translated("recording the library's key"),
            self.database.writer.begin() as connection,
        ):
            if connection.scalar(sa.select(t.library.c.key).where(t.library.c.key == KEY_MARK)) is None:
                connection.execute(t.library.insert(), {"key": KEY_MARK, "value": mark})

    def renew_key_mark(self, mark: str) -> tuple[int, int]:
        """Record another key: the identities of addresses that the former one made are forgotten. What has an address that
        is made without the key is found again by it.

        Returns:
            How many identities there were, and how many corrections in force are of documents with one.
        """
        a, c, key = t.addresses.c, t.corrections.c, t.library.c.key
        with self.database.changing("recording the library's key") as connection:
            count = connection.scalar(sa.select(sa.func.count()).select_from(t.addresses)) or 0
            theirs = sa.and_(a.source_id == c.source_id, a.uri == c.uri)
            held = sa.select(sa.func.count()).select_from(t.corrections.join(t.addresses, theirs))
            corrections = connection.scalar(held.where(c.undone_seq.is_(None))) or 0
            connection.execute(t.addresses.delete())
            newest = connection.scalar(sa.select(sa.func.max(t.documents.c.document_id))) or 0
            connection.execute(t.library.delete().where(key.in_((KEY_MARK, f"value/{ADOPTED}"))))
            connection.execute(
                t.library.insert(),
                [{"key": KEY_MARK, "value": mark}, {"key": f"value/{ADOPTED}", "value": str(newest)}],
            )
        return count, corrections

    def renew_id(self) -> str:
        """Give this library a new id and return it. Processes that have it open keep using the old one."""
        with self.database.changing("naming the library") as connection:
            return name_library(connection, self.database.place)

    def _identity(self, key: str) -> str:
        with self.database.reading("reading the library's id") as connection:
            return str(connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == key)) or "")


def name_library(connection: sa.Connection, place: Place) -> str:
    """Store a new id, with the location it is assigned to."""
    name = uuid.uuid4().hex
    former = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == "library_id"))
    if former:
        connection.execute(t.library.insert(), {"key": t.FORMER + former, "value": former})
    for key, value in (("library_id", name), ("library_file", place.identity(connection))):
        connection.execute(t.library.delete().where(t.library.c.key == key))
        connection.execute(t.library.insert(), {"key": key, "value": value})
    return name
