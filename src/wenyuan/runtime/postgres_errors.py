"""Translation of PostgreSQL errors. Importing it needs no driver."""

from __future__ import annotations

import sys
from typing import Any

from wenyuan.core.errors import (
    CatalogBusy,
    CatalogError,
    CatalogUnavailable,
    ConfigError,
    EngineTimeout,
    KnowledgeError,
    msg,
)
from wenyuan.core.ports import time_left

# What PostgreSQL says when it refuses a connection (its driver gives no SQLSTATE for that, and its own text may quote
# the connection string), and which servers are refused here.


OLDEST_SERVER = 15

REFUSED: tuple[tuple[str, str], ...] = (
    ("28", "refuses its user or password"),
    ("3D", "has no such database"),
)
"""By the beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), where the connection was made."""

FAILED: tuple[tuple[str, str], ...] = (
    *REFUSED,
    ("22", "holds values that cannot be compared"),
    ("53", "has no room: connections, memory or disk"),
    ("57P", "is stopping or starting, or has ended the connection"),
    ("08", "has lost the connection"),
)
"""By the beginning of an SQLSTATE: why a server that is searched did not answer, whoever searches it."""

_SAID_AT_LOGIN = (
    ("password authentication failed", "refuses its user or password (28P01)"),
    ("no pg_hba.conf entry", "refuses its user from this machine (28000)"),
    ("no password supplied", "asks for a password, and the connection string has none (28P01)"),
    ("role ", "has no such user (28000)"),
    ("database ", "has no such database (3D000)"),
    ("too many ", "has no connection left (53300)"),
    ("the database system is ", "is stopping or starting (57P03)"),
)


def said_at_login(text: str) -> str:
    """Meaning of a login error without SQLSTATE, as far as the server's English message tells."""
    _, fatal, said = text.partition("FATAL:")
    reason = next(
        (reason for beginning, reason in _SAID_AT_LOGIN if fatal and said.strip().startswith(beginning)), ""
    )
    return reason or "cannot be reached, refuses its user or password, or has lost the connection"


def check_server(info: Any, *, component: str, setting: str) -> None:
    """Refuse a server that is too old, or whose database encoding is not UTF-8.

    Args:
        info: What the driver knows of the connection.
        component: Whose server it is.
        setting: Names the server, e.g. ``catalog.dsn``.

    Raises:
        ConfigError: it is one of the two.
    """
    version = info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise ConfigError(
            msg(
                "the server is PostgreSQL {version}; at least {oldest_server} is needed",
                version=version,
                oldest_server=OLDEST_SERVER,
            ),
            component=component,
            hint=msg("upgrade the server, or name another in {setting}", setting=setting),
        )
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ConfigError(
            msg("the database is in {encoding}, which cannot hold every character", encoding=encoding),
            component=component,
            hint="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )


# What the errors of PostgreSQL's driver mean for a catalog. Their own text may quote values or the connection string:
# it is not told.


_ROOM = "make room on the server; what was acknowledged before is safe"
_GRANT = "GRANT CREATE ON DATABASE … TO …, by its owner; a catalog's tables belong to the user who made them"
_REASONS: tuple[tuple[str, type[KnowledgeError], str, str], ...] = (
    ("57014", EngineTimeout, "the deadline passed", ""),
    ("25P03", EngineTimeout, "the transaction took too long", ""),
    ("25P04", EngineTimeout, "the transaction took too long", ""),
    ("55P03", CatalogBusy, "another process is writing", ""),
    ("40", CatalogBusy, "the server took the transaction back, because of another one", "try again"),
    *(
        (state, CatalogUnavailable, msg("the server {reason}", reason=reason), "look at catalog.dsn")
        for state, reason in REFUSED
    ),
    ("53100", CatalogUnavailable, "the server's disk is full", _ROOM),
    ("53200", CatalogUnavailable, "the server has no memory left", ""),
    ("53300", CatalogUnavailable, "the server has no connection left", "lower catalog.sessions, or raise its limit"),
    ("53", CatalogUnavailable, "the server has no room", _ROOM),
    ("58030", CatalogUnavailable, "the server cannot write to its disk", _ROOM),
    ("57P", CatalogUnavailable, "the server is stopping or starting, or has ended the connection", ""),
    ("08", CatalogUnavailable, "the connection to the server was lost", ""),
    ("25006", CatalogUnavailable, "the server only reads; it is a replica", "name the primary in catalog.dsn"),
    ("42501", CatalogUnavailable, "the server does not let its user do that", _GRANT),
    ("42P01", CatalogUnavailable, "the server has no such table", "look at catalog.schema_name, or restore a backup"),
    ("3F", CatalogUnavailable, "the server has no such schema", "look at catalog.schema_name, or restore a backup"),
    ("XX001", CatalogUnavailable, "the server reports damaged data", "restore the database from a backup"),
    ("XX002", CatalogUnavailable, "the server reports a damaged index", "REINDEX it, or restore a backup"),
)
"""By the beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), the first that fits."""


def driver_errors() -> tuple[type[Exception], ...]:
    """The driver's exception classes; empty while it is not loaded."""
    driver: Any = sys.modules.get("psycopg")
    return (driver.Error, driver.Warning) if driver is not None else ()


def translate_error(error: BaseException, doing: str, component: str) -> KnowledgeError:
    """The error for an exception of the driver."""
    driver: Any = sys.modules["psycopg"]
    state = getattr(error, "sqlstate", None) or ""
    for beginning, kind, reason, hint in _REASONS:
        if state.startswith(beginning):
            return kind(f"{doing}: {reason}" + _describe_state(kind, state), component=component, hint=hint)
    if isinstance(error, driver.errors.ConnectionTimeout) and time_left() == 0:
        return EngineTimeout(
            msg("{doing}: the server did not answer before the deadline", doing=doing), component=component
        )
    if isinstance(error, driver.errors.ConnectionTimeout):
        return CatalogUnavailable(msg("{doing}: the server does not answer", doing=doing), component=component)
    if isinstance(error, (driver.OperationalError, driver.InterfaceError)) and not state:
        return CatalogUnavailable(
            msg("{doing}: the server {error}", doing=doing, error=said_at_login(str(error))),
            component=component,
            hint="look at catalog.dsn",
        )
    named = f"{type(error).__name__} {state}".strip()
    return CatalogUnavailable(
        msg("{doing}: the database failed ({named})", doing=doing, named=named), component=component
    )


def _describe_state(kind: type[KnowledgeError], state: str) -> str:
    return f" ({state})" if issubclass(kind, CatalogError) else ""
