"""Agents and their keys, as the catalog keeps them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.reader_tables import key_principals
from wenyuan.catalog.sql import now
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.core.access import Agent, Key, agent_to_wire, parse_agent, parse_key_name
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.principals import parse_groups, parse_user


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
        refuse_erased(self.database, agent_id=agent.agent_id, title=agent.title)
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
        self, agent_id: str | None, rights: frozenset[str], expires_at: float | None, name: str = "", *,
        user: str = "", groups: Iterable[str] = (),
    ) -> tuple[Key, str]:  # fmt: skip
        """Create a key; returns it with its secret, which is shown only here and stored as a hash.

        Args:
            user, groups: With whose eyes it reads documents; ``hr`` is ``group:hr``.

        Raises:
            InvalidRequest: the name is too long or no line of text; or of whose eyes, something is no name.
        """
        name = parse_key_name(name)
        user, members = user and parse_user(user, "as"), parse_groups(list(groups))
        refuse_erased(self.database, **{"name": name, "as": user, "groups": members})
        if agent_id is not None:
            self.agent(agent_id)
        key_id, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        token = f"wy_{key_id}_{secret}"
        key = Key(
            key_id=key_id,
            agent_id=agent_id,
            rights=rights,
            created_at=now(),
            expires_at=expires_at,
            name=name,
            user=user,
            groups=members,
        )
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
            _put_principal(connection, key)
        self.database.on_change("key", "created", key_id, None, key)
        return key, token

    def keys(self) -> tuple[Key, ...]:
        with self.database.reading("listing keys") as connection:
            rows = connection.execute(_keys().order_by(t.keys.c.created_at)).mappings().all()
        return tuple(_key_of(row) for row in rows)

    def key_of_token(self, token: str) -> Key | None:
        """The key whose secret is `token`, including revoked and expired keys; None when no key matches."""
        parts = token.split("_", 2)
        if len(parts) != 3 or parts[0] != "wy":
            return None
        held = self.database.remembered.get(("key", parts[1]), lambda: self._held_key(parts[1]))
        given = hashlib.sha256(token.encode()).hexdigest()
        if held is None or not hmac.compare_digest(held[0], given):
            return None
        return held[1]

    def _held_key(self, key_id: str) -> tuple[str, Key] | None:
        """The hash of a key, and the key."""
        with self.database.reading("checking a key") as connection:
            row = connection.execute(_keys().where(t.keys.c.key_id == key_id)).mappings().first()
        return None if row is None else (row["sha256"], _key_of(row))

    def change_key(self, key_id: str, *, user: str, groups: Iterable[str]) -> Key:
        """Give a key other eyes; counts for the next request. NotFound when there is none."""
        user, members = user and parse_user(user, "as"), parse_groups(list(groups))
        refuse_erased(self.database, **{"as": user, "groups": members})
        with self.database.changing("writing a key") as connection:
            row = connection.execute(_keys().where(t.keys.c.key_id == key_id)).mappings().first()
            if row is not None:
                before = _key_of(row)
                key = replace(before, user=user, groups=members)
                _put_principal(connection, key)
        if row is None:
            raise NotFound(msg("there is no key {key_id}", key_id=repr(key_id)), hint="wenyuan key list")
        self.database.on_change("key", "changed", key_id, before, key)
        return key

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
    rows = connection.execute(_keys().where(live).order_by(t.keys.c.created_at)).mappings().all()
    connection.execute(t.keys.update().where(live).values(revoked_at=now()))
    return tuple(_key_of(row) for row in rows)


def _keys() -> sa.Select[Any]:
    """Keys, with whose eyes they read."""
    p = key_principals.c
    return sa.select(t.keys, p.user, p.groups).outerjoin(key_principals, p.key_id == t.keys.c.key_id)


def _put_principal(connection: sa.Connection, key: Key) -> None:
    connection.execute(key_principals.delete().where(key_principals.c.key_id == key.key_id))
    if key.user or key.groups:
        row = {"key_id": key.key_id, "user": key.user, "groups": sorted(key.groups)}
        connection.execute(key_principals.insert(), row)


def _key_of(row: sa.RowMapping) -> Key:
    return Key(
        key_id=row["key_id"],
        agent_id=row["agent_id"],
        rights=frozenset(row["rights"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        name=row["name"],
        user=row["user"] or "",
        groups=frozenset(row["groups"] or ()),
    )
