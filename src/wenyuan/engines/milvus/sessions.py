"""Connections to Milvus and calls to it, each within its deadline; the collections of an index, and how far it has come."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    KnowledgeError,
    msg,
)
from wenyuan.core.ports import Deadline
from wenyuan.core.slices import parts
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.runtime.installation import install_command

# What every use of Milvus shares: connecting, how long a call may take, and what failed.


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
    # A separate connection: a broken one is abandoned, and not reused by the next connect.
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
    return EngineUnavailable(msg("the server failed ({named})", named=named), component=component)


# Calls to the server: each within its deadline, each reading what was written before it (consistency *Strong*).
#
# The only place where the driver's exceptions become ours.


MOST_HITS = 16_384
"""Rows that Milvus gives for one question at most."""
MOST_AT_ONCE = 1_000
"""Rows in one message: those of 4,096 dimensions are 20 MB, and servers take 64."""
NAMED_AT_ONCE = 5_000
"""Keys in one message, as a list in an expression."""
LONGEST_CALL = 120.0
"""Seconds for one call of whoever has a day: the driver goes on trying to reach a server that is gone."""
_STRONG = "Strong"
_LOST = re.compile(r"collection.{0,80}not (found|exist|loaded)|can't find collection|not loaded", re.DOTALL)
_LOST_CODES = (4, 100, 101)
_REBUILD = (
    "drop the index's collections, or load them where they were released; they are built again from the catalog"
)

Row = Mapping[str, Any]
T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """Where a server is.

    Attributes:
        uri: ``http(s)://host:port``.
        token: ``user:password`` or an API key.
        database: Of the server; empty: its own default.
        calls: How many at once.
    """

    uri: str
    token: str = field(default="", repr=False)
    database: str = ""
    calls: int = 16


class Session:
    """The driver's client within one deadline. Rows are dicts by field.

    Raises, in every method:
        EngineTimeout: the deadline has passed.
        Exception: whatever the driver raises; `MilvusSessions.run` translates.
    """

    def __init__(self, client: Any, deadline: Deadline, component: str) -> None:
        self.client, self.deadline, self.component = client, deadline, component

    @property
    def _told(self) -> dict[str, Any]:
        self.deadline.check(self.component)
        return {"timeout": min(LONGEST_CALL, seconds(self.deadline))}

    def nearest(
        self, collection: str, field: str, vector: Any, *, where: str, limit: int, fields: Sequence[str], search: Row
    ) -> list[tuple[float, Row]]:
        """(inner product, row) of the best rows, best first."""
        found = self.client.search(
            collection,
            data=[vector],
            anns_field=field,
            limit=min(limit, MOST_HITS),
            filter=where,
            output_fields=list(fields),
            search_params={"metric_type": "IP", "params": dict(search)},
            consistency_level=_STRONG,
            **self._told,
        )
        return [(float(hit["distance"]), hit["entity"]) for hit in found[0]]

    def rows(self, collection: str, where: str, fields: Sequence[str], *, limit: int = MOST_HITS) -> list[Row]:
        """Rows that meet a condition, in no order."""
        return list(
            self.client.query(
                collection,
                filter=where,
                output_fields=list(fields),
                limit=limit,
                consistency_level=_STRONG,
                **self._told,
            )
        )

    def named(
        self, collection: str, key: str, values: Sequence[int | str], fields: Sequence[str], *, where: str = ""
    ) -> list[Row]:
        """Rows by the values of a field that no two rows share: numbers, or texts that need no quoting.

        Args:
            where: What they must meet besides.
        """
        found: list[Row] = []
        for part in parts(values, NAMED_AT_ONCE):
            found += self.rows(
                collection, f"{key} in {value_list(part)}" + (f" and {where}" if where else ""), fields
            )
        return found

    def count(self, collection: str, where: str) -> int:
        found = self.client.query(
            collection, filter=where, output_fields=["count(*)"], consistency_level=_STRONG, **self._told
        )
        return int(found[0]["count(*)"])

    def put(self, collection: str, rows: Sequence[Row]) -> None:
        """Write rows; one with the key of another takes its place, so a call that is tried again does no harm."""
        for part in parts(rows, MOST_AT_ONCE):
            self.client.upsert(collection, list(part), **self._told)

    def drop(self, collection: str, key: str, values: Sequence[int]) -> None:
        for part in parts(values, NAMED_AT_ONCE):
            self.drop_where(collection, f"{key} in {value_list(part)}")

    def drop_where(self, collection: str, where: str) -> None:
        self.client.delete(collection, filter=where, **self._told)


class MilvusSessions:
    """One client for all threads. No error shows the address or the token.

    Raises:
        ConfigError: the address is invalid.
    """

    def __init__(self, place: ServerAddress) -> None:
        self.component = "engine milvus"
        if not place.uri.startswith(("http://", "https://")):
            raise ConfigError(
                "milvus.uri is no address",
                component=self.component,
                hint="export WENYUAN_MILVUS__URI=https://host:19530",
            )
        self._place = place
        self.collections: tuple[str, ...] = ()
        """To be loaded whenever a connection is made."""
        self._errands = BoundedCalls(place.calls, "wenyuan-milvus")
        self._lock = threading.Lock()
        self._client: Any = None
        self._closed = False

    def run(self, work: Callable[[Session], T], deadline: Deadline) -> T:
        """The result of `work`; what takes longer than the deadline is left behind.

        Raises:
            EngineTimeout, EngineUnavailable, IndexCorrupt: what the server or the driver said.
        """
        deadline.check(self.component)
        if self._closed:
            raise EngineUnavailable("is closed", component=self.component)
        begun = threading.Event()

        def errand() -> T:
            begun.set()
            return work(Session(self._connected(deadline), deadline, self.component))

        try:
            return self._errands.run(errand, deadline.remaining())
        except CallTimedOut as error:
            raise self._late(begun.is_set()) from error
        except KnowledgeError:
            raise
        except Exception as error:  # the driver raises its own, those of gRPC, and whatever Python has
            if lost(error):
                self._leave()
            raise failure(error, self.component) from None

    def _late(self, begun: bool) -> EngineTimeout:
        if begun:
            return EngineTimeout("no answer in time", component=self.component)
        return EngineTimeout(
            msg("all {calls} calls were busy until the deadline", calls=self._place.calls),
            component=self.component,
            hint="raise milvus.calls, or ask less at once",
        )

    def _connected(self, deadline: Deadline) -> Any:
        with self._lock:
            if self._client is None:
                place = self._place
                client = connect(place.uri, place.token, place.database, deadline, self.component)
                for name in self.collections:  # a server that was started again may have them on disk alone
                    client.load_collection(name, timeout=seconds(deadline))
                self._client = client
            return self._client

    def _leave(self) -> None:
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            leave(client)

    def close(self) -> None:
        """Leave the server. Later calls fail."""
        self._closed = True
        self._leave()


def failure(error: Exception, component: str) -> EngineError:
    """What an exception of the driver means here. Its own text is not told."""
    if getattr(error, "code", None) in _LOST_CODES or _LOST.search(str(error).lower()):
        return IndexCorrupt(
            "the index's collections are not there, or not loaded", component=component, hint=_REBUILD
        )
    return translated(error, component)


def value_list(values: Sequence[int | str]) -> str:
    """Values in an expression. Texts are digests (hexadecimal): they hold nothing that would have to be quoted."""
    assert all(isinstance(value, int) or value.isalnum() for value in values)
    return "[" + ", ".join(str(value) if isinstance(value, int) else f'"{value}"' for value in values) + "]"
