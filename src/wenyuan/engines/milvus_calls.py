"""What every use of Milvus shares: connecting, how long a call may take, and what failed."""

from __future__ import annotations

import logging
from typing import Any

from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable
from wenyuan.core.ports import Deadline

__all__ = ["connect", "seconds", "translated"]

_LATE = ("deadline exceeded", "deadline_exceeded", "timeout", "timed out")
_GONE = ("fail connecting", "unavailable", "connection refused", "failed to connect")


def seconds(deadline: Deadline) -> float:
    """What the driver is told: it takes none for no limit at all."""
    return max(0.01, deadline.remaining())


def connect(address: str, token: str, database: str, deadline: Deadline, component: str) -> Any:
    """A client of the driver.

    Raises:
        ConfigError: the driver is not installed.
        Exception: whatever the driver raises; see `translated`.
    """
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it writes whole tracebacks; what failed is raised
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise ConfigError(
            "the driver of Milvus is not installed", component=component, hint='pip install "wenyuan[milvus]"'
        ) from error
    return MilvusClient(uri=address, token=token, db_name=database, timeout=seconds(deadline))


def translated(error: Exception, component: str) -> EngineError:
    """What an exception of asking means here. Its own text may quote addresses, tokens or values: it is not told."""
    text, code = str(error).lower(), getattr(error, "code", None)
    if any(word in text for word in _GONE):  # the driver tries again until time is up, and says both
        return EngineUnavailable("cannot be reached", component=component)
    if isinstance(error, TimeoutError) or any(word in text for word in _LATE):
        return EngineTimeout("no answer came in time", component=component)
    if "auth" in text or "permission" in text or "privilege" in text:
        return EngineUnavailable("refuses its user, password or right", component=component)
    named = f"{type(error).__name__} {code if isinstance(code, int) else ''}".strip()
    return EngineUnavailable(f"the server failed ({named})", component=component)
