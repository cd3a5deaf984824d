"""What every use of Milvus shares: connecting, how long a call may take, and what failed."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable
from wenyuan.core.ports import Deadline
from wenyuan.installed import install_command

__all__ = ["connect", "leave", "lost", "seconds", "translated"]

_CHANNEL = {
    "grpc.use_local_subchannel_pool": 1,  # else a new connection waits as long as the broken one would have
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1_000,
    "grpc.keepalive_time_ms": 300_000,  # servers that follow gRPC's defaults end a connection that asks more often
}
_LATE = ("deadline exceeded", "deadline_exceeded", "timeout", "timed out")
_GONE = (
    "fail connecting",
    "unavailable",
    "connection refused",
    "failed to connect",
    "closed channel",
    "create connection first",  # another thread has left it
)


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
            "the driver of Milvus is not installed", component=component, hint=install_command("milvus")
        ) from error
    # A connection of its own: one that has broken is left, and not found again by whoever connects next.
    return MilvusClient(
        uri=address,
        token=token,
        db_name=database,
        timeout=seconds(deadline),
        dedicated=True,
        grpc_options=_CHANNEL,
    )


def lost(error: Exception) -> bool:
    """Whether the connection is of no more use."""
    text = str(error).lower()
    return any(word in text for word in _GONE)


def leave(client: Any) -> None:
    """Close a client whose connection has broken; that it cannot be closed properly is no news."""
    with suppress(Exception):
        client.close()


def translated(error: Exception, component: str) -> EngineError:
    """What an exception of asking means here. Its own text may quote addresses, tokens or values: it is not told."""
    text, code = str(error).lower(), getattr(error, "code", None)
    if lost(error):  # the driver tries again until time is up, and says both
        return EngineUnavailable(
            "cannot be reached", component=component, hint="look at milvus.uri, and whether the server runs"
        )
    if isinstance(error, TimeoutError) or any(word in text for word in _LATE):
        return EngineTimeout("no answer came in time", component=component)
    if "auth" in text or "permission" in text or "privilege" in text:
        return EngineUnavailable(
            "refuses its user, password or right", component=component, hint="look at milvus.token"
        )
    named = f"{type(error).__name__} {code if isinstance(code, int) else ''}".strip()
    return EngineUnavailable(f"the server failed ({named})", component=component)
