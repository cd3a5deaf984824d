"""What PostgreSQL says when it refuses a connection: its driver gives no SQLSTATE for that, and its own text may quote
the connection string.
"""

from __future__ import annotations

__all__ = ["REFUSED", "said_at_login"]

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
