"""Connections to Milvus and calls to it, each within its deadline; the collections of an index, and how far it has come."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    IndexMismatch,
    KnowledgeError,
    msg,
)
from wenyuan.core.ports import Deadline, IndexSpec
from wenyuan.core.scoring import Sums
from wenyuan.runtime import BoundedCalls, CallTimedOut, install_command

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
class Place:
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
        Exception: whatever the driver raises; `Sessions.run` translates.
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

    def named(self, collection: str, key: str, values: Sequence[int | str], fields: Sequence[str]) -> list[Row]:
        """Rows by the values of a field that no two rows share: numbers, or texts that need no quoting."""
        found: list[Row] = []
        for part in parts(values, NAMED_AT_ONCE):
            found += self.rows(collection, f"{key} in {listed(part)}", fields)
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
            self.drop_where(collection, f"{key} in {listed(part)}")

    def drop_where(self, collection: str, where: str) -> None:
        self.client.delete(collection, filter=where, **self._told)


class Sessions:
    """One client for all threads. No error shows the address or the token.

    Raises:
        ConfigError: the address is invalid.
    """

    def __init__(self, place: Place) -> None:
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


def parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]


def listed(values: Sequence[int | str]) -> str:
    """Values in an expression. Texts are digests (hexadecimal): they hold nothing that would have to be quoted."""
    assert all(isinstance(value, int) or value.isalnum() for value in values)
    return "[" + ", ".join(str(value) if isinstance(value, int) else f'"{value}"' for value in values) + "]"


# The collections of one index: three of each library and generation, made once, checked at every start.
#
# ::
#
#     …_passages   id, source, document, validity, facets (see `engines.milvus.search`), the change that added it; its terms as a
#                  sparse vector of BM25 weights, with the length and the mean length that they were made with; its vector
#     …_words      a term's digest → its number, and how many passages hold it: now, and before the last change
#     …_marks      how far the index has come (see `Mark`)

# The state of an index. Milvus has no transactions, so the newest checkpoint record counts.
#
# A mark is a row that is only ever added, so there is one at every moment; older ones are removed afterwards.


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One state of an index.

    Attributes:
        step: Its number.
        library: Whose index this is.
        generation: Of which analyser, encoder and format.
        watermark: The last change of the catalog that counts: rows of later ones are not looked at.
        swept: The last change whose removals have been carried out.
        stamp: What tells change `watermark` from that of another catalog.
        passages: How many rows count.
        length: Of all of them, in terms.
        vectors: How many of them have a vector.
        terms: The highest number that was given to a term.
        least: The least mean length with which rows were weighed (see `engines.milvus.search`); 0 for none.
        open: Whether there may be rows of a later change, from an unfinished step.
        chinese: How many of these are of passages in Chinese.
        total: The sums of vectors, (2 · dim,) float32: of passages in other languages, then of those in Chinese.
    """

    step: int = 0
    library: str
    generation: str
    watermark: int = 0
    swept: int = 0
    stamp: str = ""
    passages: int = 0
    length: int = 0
    vectors: int = 0
    chinese: int = 0
    terms: int = 0
    least: float = 0.0
    open: bool = False
    total: Any = field(compare=False)

    @property
    def mean(self) -> float:
        """Length of a passage, in terms."""
        return self.length / self.passages if self.passages else 0.0

    @property
    def sums(self) -> Sums:
        """Of vectors."""
        return Sums(
            self.total.astype(np.float64).reshape(2, -1),
            np.array([self.vectors - self.chinese, self.chinese], np.int64),
        )

    def settled(self, target: int) -> bool:
        """Whether the index is as the catalog was at change `target`."""
        return self.watermark == self.swept == target and not self.open


_KEPT = 8
"""Marks that stay: a server that reads while it writes may give the older ones alone, never none."""
_BODY = (
    "library", "generation", "watermark", "swept", "stamp", "passages", "length", "vectors", "chinese", "terms", "least",
    "open",
)  # fmt: skip


def newest(session: Session, collection: str) -> Mark | None:
    """The newest checkpoint record; None in a collection without any."""
    rows = session.rows(collection, "step >= 0", ["step", "body", "total"])
    if not rows:
        return None
    row = max(rows, key=lambda row: int(row["step"]))
    try:
        body = json.loads(row["body"]) if isinstance(row["body"], (str, bytes)) else row["body"]
        return Mark(step=int(row["step"]), total=np.array(row["total"], np.float32), **{n: body[n] for n in _BODY})
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise IndexCorrupt(
            msg("its mark cannot be read ({kind})", kind=type(error).__name__),
            component=session.component,
            hint="drop the index's collections; they are built again from the catalog",
        ) from error


def add_mark(session: Session, collection: str, mark: Mark) -> Mark:
    """Make `mark`, under the next number, the one that counts; returns it."""
    made = replace(mark, step=mark.step + 1)
    body = {name: getattr(made, name) for name in _BODY}
    session.put(collection, [{"step": made.step, "body": body, "total": made.total.tolist()}])
    session.drop_where(collection, f"step < {made.step - _KEPT}")
    return made


FORMAT = "milvus/2"
"""Changes with the fields below; another format is another generation."""
OLDEST_SERVER = (2, 4)
"""The first that has sparse vectors."""
MOST_DIMENSIONS = 16_384  # half of what a field takes, since two sums stand in one
MOST_TOKENS = 4_096
_LITE = "milvus_lite"


@dataclass(frozen=True, slots=True)
class Names:
    """The collections of one index.

    Attributes:
        vectors: Dimension of the vectors; 0 for an index without.
    """

    base: str
    library: str
    generation: str
    vectors: int

    @classmethod
    def of(cls, prefix: str, library_id: str, spec: IndexSpec) -> Names:
        generation = f"{spec.key}/{FORMAT}"
        own = hashlib.sha256(f"{library_id}/{generation}".encode()).hexdigest()
        return cls(f"{prefix}_{own[:16]}", library_id, generation, spec.encoder.dimension if spec.encoder else 0)

    @property
    def passages(self) -> str:
        return f"{self.base}_passages"

    @property
    def words(self) -> str:
        return f"{self.base}_words"

    @property
    def marks(self) -> str:
        return f"{self.base}_marks"


def check_server(session: Session) -> None:
    """ConfigError for a server that has no sparse vectors."""
    version = str(session.client.get_server_version(timeout=seconds(session.deadline)))
    if version.startswith(_LITE):
        return
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is not None and (int(found[1]), int(found[2])) >= OLDEST_SERVER:
        return
    raise ConfigError(
        msg(
            "the server is Milvus {version}; at least {oldest_server}.{oldest_server2} is needed",
            version=version,
            oldest_server=OLDEST_SERVER[0],
            oldest_server2=OLDEST_SERVER[1],
        ),
        component=session.component,
        hint="upgrade the server, or name another in milvus.uri",
    )


def find(session: Session, names: Names) -> Mark | None:
    """The index's mark, its collections loaded; None when they are yet to be made.

    Raises:
        IndexMismatch: there are collections of its names that are not this library's index.
    """
    for name, fields in _fields(names).items():
        if not session.client.has_collection(name, timeout=seconds(session.deadline)):
            return None
        told = session.client.describe_collection(name, timeout=seconds(session.deadline))
        if {_shape(field) for field in told["fields"]} != set(fields):
            raise _foreign(session, name)
        session.client.load_collection(name, timeout=seconds(session.deadline))
    mark = newest(session, names.marks)
    if mark is not None and (mark.library, mark.generation) != (names.library, names.generation):
        raise _foreign(session, names.marks)
    return mark


def make(session: Session, names: Names, index: str) -> Mark:
    """Make what is missing; the caller holds the library's lock."""
    for name, fields in _fields(names).items():
        if not session.client.has_collection(name, timeout=seconds(session.deadline)):
            _create(session, name, fields, index)
    found = find(session, names)
    if found is not None:
        return found
    zero = np.zeros(max(2, 2 * names.vectors), np.float32)
    return add_mark(session, names.marks, Mark(library=names.library, generation=names.generation, total=zero))


def _foreign(session: Session, name: str) -> IndexMismatch:
    return IndexMismatch(
        msg("collection {name} is not this library's index, or is one of another version", name=repr(name)),
        component=session.component,
        hint="choose another milvus.prefix, or drop that collection if nobody needs it",
    )


Shape = tuple[str, str, int]  # name, kind, dimension


def _shape(field: Mapping[str, Any]) -> Shape:
    return field["name"], getattr(field["type"], "name", ""), int(field.get("params", {}).get("dim", 0))


def _fields(names: Names) -> Mapping[str, tuple[Shape, ...]]:
    """By collection; the first field is the key."""
    vector: tuple[Shape, ...] = (("vector", "FLOAT_VECTOR", names.vectors),) if names.vectors else ()
    return {
        names.passages: (
            ("passage_id", "INT64", 0),
            ("source", "VARCHAR", 0),
            ("document_id", "INT64", 0),
            ("tokens", "ARRAY", 0),
            ("compared", "JSON", 0),
            ("valid_from", "INT64", 0),
            ("valid_until", "INT64", 0),
            ("seq", "INT64", 0),
            ("length", "INT64", 0),
            ("mean", "DOUBLE", 0),
            ("embedded", "BOOL", 0),
            ("words", "SPARSE_FLOAT_VECTOR", 0),
            *vector,
        ),
        names.words: (
            ("term", "VARCHAR", 0),
            ("number", "INT64", 0),
            ("held", "INT64", 0),
            ("at", "INT64", 0),
            ("before", "INT64", 0),
            ("nothing", "FLOAT_VECTOR", 2),  # a collection must have a vector
        ),
        names.marks: (
            ("step", "INT64", 0),
            ("body", "JSON", 0),
            ("total", "FLOAT_VECTOR", max(2, 2 * names.vectors)),
        ),
    }


_INDEXED = ("source", "document_id", "seq", "number", "at")


def _create(session: Session, name: str, fields: tuple[Shape, ...], index: str) -> None:
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    indexes = MilvusClient.prepare_index_params()
    for number, (column, kind, dimension) in enumerate(fields):
        more: dict[str, Any] = {"dim": dimension} if dimension else {}
        if kind == "VARCHAR":
            more = {"max_length": 64}
        elif kind == "ARRAY":
            more = {"element_type": DataType.VARCHAR, "max_length": 64, "max_capacity": MOST_TOKENS}
        schema.add_field(column, DataType[kind], is_primary=number == 0, **more)
        if kind == "SPARSE_FLOAT_VECTOR":
            indexes.add_index(column, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        elif kind == "FLOAT_VECTOR":
            kind_of = index if column == "vector" else "FLAT"
            indexes.add_index(column, index_type=kind_of, metric_type="IP", params=_built(kind_of))
        elif column in _INDEXED:
            indexes.add_index(column, index_type="INVERTED")
    client, told = session.client, seconds(session.deadline)
    client.create_collection(name, schema=schema, consistency_level="Strong", timeout=told)
    client.create_index(name, indexes, timeout=told, sync=False)  # there is nothing yet to wait for


def _built(index: str) -> dict[str, int]:
    return {"M": 32, "efConstruction": 200} if index == "HNSW" else {}
