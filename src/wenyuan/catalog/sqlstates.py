"""What the errors of PostgreSQL's driver mean for a catalog. Their own text may quote values or the connection string:
it is not told.
"""

from __future__ import annotations

import sys
from typing import Any

from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable, EngineTimeout, KnowledgeError
from wenyuan.core.hurry import time_left
from wenyuan.core.postgres_words import REFUSED, said_at_login

__all__ = ["driver_errors", "meant"]

_ROOM = "make room on the server; what was acknowledged before is safe"
_GRANT = "GRANT CREATE ON DATABASE … TO …, by its owner; a catalog's tables belong to the user who made them"
_REASONS: tuple[tuple[str, type[KnowledgeError], str, str], ...] = (
    ("57014", EngineTimeout, "the deadline passed", ""),
    ("25P03", EngineTimeout, "the transaction took too long", ""),
    ("25P04", EngineTimeout, "the transaction took too long", ""),
    ("55P03", CatalogBusy, "another process is writing", ""),
    ("40", CatalogBusy, "the server took the transaction back, because of another one", "try again"),
    *((state, CatalogUnavailable, f"the server {reason}", "look at catalog.dsn") for state, reason in REFUSED),
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
    """The driver's exceptions; none while nobody has loaded it."""
    driver: Any = sys.modules.get("psycopg")
    return (driver.Error, driver.Warning) if driver is not None else ()


def meant(error: BaseException, doing: str, component: str) -> KnowledgeError:
    """What an exception of the driver means here."""
    driver: Any = sys.modules["psycopg"]
    state = getattr(error, "sqlstate", None) or ""
    for beginning, kind, reason, hint in _REASONS:
        if state.startswith(beginning):
            return kind(f"{doing}: {reason}" + _shown(kind, state), component=component, hint=hint)
    if isinstance(error, driver.errors.ConnectionTimeout) and time_left() == 0:
        return EngineTimeout(f"{doing}: the server did not answer before the deadline", component=component)
    if isinstance(error, driver.errors.ConnectionTimeout):
        return CatalogUnavailable(f"{doing}: the server does not answer", component=component)
    if isinstance(error, (driver.OperationalError, driver.InterfaceError)) and not state:
        return CatalogUnavailable(
            f"{doing}: the server {said_at_login(str(error))}", component=component, hint="look at catalog.dsn"
        )
    named = f"{type(error).__name__} {state}".strip()
    return CatalogUnavailable(f"{doing}: the database failed ({named})", component=component)


def _shown(kind: type[KnowledgeError], state: str) -> str:
    return f" ({state})" if issubclass(kind, CatalogError) else ""
