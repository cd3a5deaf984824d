"""What PostgreSQL says when it refuses a connection (its driver gives no SQLSTATE for that, and its own text may quote
the connection string), and which servers are refused here.
"""

from __future__ import annotations

from typing import Any

from wenyuan.core.errors import ConfigError

__all__ = ["OLDEST_SERVER", "REFUSED", "check_server", "said_at_login"]

OLDEST_SERVER = 15

REFUSED: tuple[tuple[str, str], ...] = (
    ("28", "refuses its user or password"),
    ("3D", "has no such database"),
)
"""By the beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), where the connection was made."""

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
    """What an error of the driver without an SQLSTATE means, as far as the server says it in English."""
    _, fatal, said = text.partition("FATAL:")
    reason = next(
        (reason for beginning, reason in _SAID_AT_LOGIN if fatal and said.strip().startswith(beginning)), ""
    )
    return reason or "cannot be reached, refuses its user or password, or has lost the connection"


def check_server(info: Any, *, component: str, setting: str) -> None:
    """Refuse a server that is too old, or whose database cannot hold every character.

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
            f"the server is PostgreSQL {version}; at least {OLDEST_SERVER} is needed",
            component=component,
            hint=f"upgrade the server, or name another in {setting}",
        )
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ConfigError(
            f"the database is in {encoding}, which cannot hold every character",
            component=component,
            hint="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )
