"""Sessions with the server, scopes as SQL conditions with bound values, and the tables of an index."""

from __future__ import annotations

from wenyuan.core.errors import ConfigError, EngineError, EngineUnavailable, IndexCorrupt, msg
from wenyuan.runtime.postgres import Meaning, parsed, place, translated
from wenyuan.runtime.postgres_sessions import PostgresSessions

# Sessions with the server of the index.


LIFETIME = 600.0
"""Seconds after which a session is made anew."""

_MEANINGS: tuple[Meaning, ...] = (
    ("42501", EngineUnavailable, "does not let its user do what an index needs"),
    ("3F", IndexCorrupt, "has lost the index's schema"),
    ("42", IndexCorrupt, "holds other tables than the index's"),
    ("XX001", IndexCorrupt, "reports damaged data"),
    ("XX002", IndexCorrupt, "reports a damaged index"),
    ("22", IndexCorrupt, "holds values that cannot be compared"),
    ("40", EngineUnavailable, "has taken the transaction back, because of another one"),
)
_LOOK = "look at postgres.dsn; where it is not set, catalog.dsn counts"
_REBUILD = "drop the index's schema; it is built again from the catalog"


def open_sessions(dsn: str, most: int) -> PostgresSessions:
    """Sessions with the server that a connection string names, which no error shows."""
    refusal = ConfigError(
        "postgres.dsn is no connection string",
        component="engine postgres",
        hint="export WENYUAN_POSTGRES__DSN='postgresql://user:password@host:5432/database'",
    )
    params = parsed(dsn, refusal)
    component = msg("engine postgres at {params}", params=place(params))
    return PostgresSessions(
        params,
        component,
        {},
        most=most,
        idle=most,
        lifetime=LIFETIME,
        meaning=translate_error,
        busy="postgres.sessions",
    )


def translate_error(error: Exception, component: str) -> EngineError:
    """What an exception of the driver means here."""
    return translated(error, component, _MEANINGS, look=_LOOK, rebuild=_REBUILD)
