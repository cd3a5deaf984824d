"""Connections to a cluster and calls to it, each within its deadline, and tried again where a node has just gone."""

from __future__ import annotations

import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

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

MOST_HITS = 10_000
"""Rows that a cluster gives for one question at most, unless ``index.max_result_window`` says otherwise."""
MOST_AT_ONCE = 1_000
"""Rows of one page, and keys of one question."""
BULK_BYTES = 4 * 1024 * 1024
"""Of one message with rows: clusters take 100 MB, and are served best with a few."""
LONGEST_CALL = 60.0
"""Seconds for one call of whoever has a day."""
_PAUSES = (0.05, 0.15, 0.4, 1.0)  # seconds before a question is asked again
_WRITE_PAUSES = (0.1, 0.2, 0.5, 1.0, *(2.0,) * 28)  # a minute: a cluster chooses another manager meanwhile
_BUSY, _PASSING = 429, (502, 503, 504)
_NO_INDEX, _SHUT = "index_not_found_exception", "cluster_block_exception"
_PARTLY = "search_phase_execution_exception"
_REBUILD = "ask again: indices that are gone are built again from the catalog"
_SECURE, _PLAIN = 443, 9200  # ports, where an address names none

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """Where a cluster is.

    Attributes:
        urls: ``http(s)://host:port``, of any of its nodes.
        user: With `password`; or else `key`, an API key.
        ca: A file with the certificates that sign those of the nodes; empty: the system's.
        calls: How many at once.
    """

    urls: Sequence[str]
    user: str = ""
    password: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    ca: str = ""
    calls: int = 16


class ClusterSession:
    """The driver's client within one deadline.

    Raises, in every method:
        EngineTimeout: the deadline has passed.
        EngineError: what the cluster said; see `translated`.
    """

    def __init__(self, client: Any, deadline: Deadline, component: str) -> None:
        self.client, self.deadline, self.component = client, deadline, component
        self._nodes = getattr(client.transport.connection_pool, "selector", None)  # none where there is one address
        self.take_another_node()

    def take_another_node(self) -> None:
        """Ask another node from now on, where there are several."""
        if self._nodes is not None:
            self._nodes.begin()

    def is_one_node(self) -> bool:
        """Whether one node alone was asked since this was asked last."""
        if self._nodes is None:
            return True
        chosen = self._nodes.chosen
        self._nodes.forget()
        return bool(chosen <= 1)

    def ask(self, method: str, path: str, body: Any = None, *, ignore: Sequence[int] = (), **params: Any) -> Any:
        """A reply; with a status to be ignored, whatever came with it. It is asked again while a node has just gone."""
        return self._tried(lambda: self._call(method, path, body, ignore, params), _PAUSES)

    def change(self, method: str, path: str, body: Any = None, *, ignore: Sequence[int] = (), **params: Any) -> Any:
        """The same for what changes something, and may be done twice: it is tried for a minute."""
        return self._tried(lambda: self._call(method, path, body, ignore, params), _WRITE_PAUSES)

    def _tried(self, call: Callable[[], T], pauses: Sequence[float]) -> T:
        for pause in pauses:
            try:
                return call()
            except Exception as error:
                if not _passes(error) or self.deadline.remaining() <= pause:
                    raise
            time.sleep(pause)
        return call()

    def _call(self, method: str, path: str, body: Any, ignore: Sequence[int], params: Mapping[str, Any]) -> Any:
        self.deadline.check(self.component)
        told = {
            **params,
            "request_timeout": max(0.01, min(LONGEST_CALL, self.deadline.remaining())),
            "ignore": ignore,
        }
        headers = {"content-type": "application/x-ndjson" if isinstance(body, str) else "application/json"}
        return self.client.transport.perform_request(method, path, params=told, body=body, headers=headers)

    def search(self, index: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The reply of every shard.

        Raises:
            EngineUnavailable: a shard did not answer, or not in time.
        """
        seconds = max(0.01, min(LONGEST_CALL, self.deadline.remaining()))
        told = {"timeout": f"{int(1000 * seconds)}ms", **body}
        found = self.ask("POST", f"/{index}/_search", told, allow_partial_search_results="false")
        return self._whole(found)

    def _whole(self, found: Any) -> Mapping[str, Any]:
        shards = found["_shards"]
        if found.get("timed_out"):
            raise EngineTimeout("a part of the index did not answer in time", component=self.component)
        if shards["failed"] or shards["successful"] != shards["total"]:
            raise EngineUnavailable(
                msg(
                    "{count} of {total} parts of the index answered",
                    count=shards["successful"],
                    total=shards["total"],
                ),
                component=self.component,
                hint="look at the cluster: GET _cluster/allocation/explain",
            )
        answer: Mapping[str, Any] = found
        return answer

    def rows(self, index: str, where: Mapping[str, Any], fields: Sequence[str]) -> Iterator[dict[str, Any]]:
        """All rows that meet a condition, by passage; each with ``_id`` and its fields."""
        after: Any = None
        while True:
            body: dict[str, Any] = {
                "size": MOST_AT_ONCE, "query": where, "_source": False, "docvalue_fields": list(fields),
                "sort": [{"passage_id": "asc"}, {"seq": "asc"}], "track_total_hits": False,
            }  # fmt: skip
            if after is not None:
                body["search_after"] = after
            hits = self.search(index, body)["hits"]["hits"]
            for hit in hits:
                yield row_of(hit)
            if len(hits) < MOST_AT_ONCE:
                return
            after = hits[-1]["sort"]

    def count(self, index: str, where: Mapping[str, Any], most: int | None = None) -> int:
        """How many rows meet a condition; with `most`, one more at most."""
        bound: int | bool = True if most is None else most + 1
        found = self.search(index, {"size": 0, "query": where, "track_total_hits": bound})
        return int(found["hits"]["total"]["value"])

    def named(self, index: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Documents by id, as they are now; those that are not there are absent."""
        found: dict[str, Mapping[str, Any]] = {}
        for some in parts(ids, MOST_AT_ONCE):
            for one in self.ask("POST", f"/{index}/_mget", {"ids": list(some)})["docs"]:
                if "error" in one:
                    if one["error"].get("type") == _NO_INDEX:
                        raise gone(self.component)
                    raise EngineUnavailable("a part of the index does not answer", component=self.component)
                if one["found"]:
                    found[one["_id"]] = one["_source"]
        return found

    def write(self, index: str, documents: Iterable[tuple[str, Mapping[str, Any] | None]], step: int) -> None:
        """Put documents by id, or delete them (None). What the cluster has no room for now is sent again, later.

        Args:
            index: An alias; so nothing makes an index that is gone.
            step: Of the mark. A document that was written under a later one stays: the writer's turn is over.
        """
        lines: list[str] = []
        size = 0
        for key, document in documents:
            action = {"_id": key, "version": step, "version_type": "external_gte"}
            line = json.dumps({"delete": action} if document is None else {"index": action}) + "\n"
            line += "" if document is None else json.dumps(document) + "\n"
            if lines and size + len(line) > BULK_BYTES:
                self._send(index, lines)
                lines, size = [], 0
            lines.append(line)
            size += len(line)
        if lines:
            self._send(index, lines)

    def _send(self, index: str, lines: Sequence[str]) -> None:
        for pause in (*_WRITE_PAUSES, None):
            reply = self.change("POST", f"/{index}/_bulk", "".join(lines), require_alias="true", timeout="10s")
            if not reply["errors"]:
                return
            again = []
            for line, item in zip(lines, reply["items"], strict=True):
                ((kind, told),) = item.items()
                status = int(told["status"])
                if status in (_BUSY, *_PASSING) and (told.get("error") or {}).get("type") != _SHUT:
                    again.append(line)
                elif status >= 300 and not (kind == "delete" and status == 404):
                    raise self._refusal(told)
            if not again:
                return
            if pause is None or self.deadline.remaining() <= pause:
                raise EngineUnavailable(
                    msg("the cluster takes no more writes now ({count} are left)", count=len(again)),
                    component=self.component,
                    hint="look at the cluster's disks and queues; writing goes on with the next question or ingest",
                )
            time.sleep(pause)
            lines = again

    def _refusal(self, told: Mapping[str, Any]) -> EngineError:
        kind = str((told.get("error") or {}).get("type", ""))
        if kind == _NO_INDEX:
            return gone(self.component)
        if kind == _SHUT:
            return _blocked(self.component)
        if kind == "version_conflict_engine_exception":
            return overtaken(self.component)
        return EngineUnavailable(
            msg("the cluster refuses a row ({kind})", kind=kind[:80] or told["status"]), component=self.component
        )

    def refresh(self, index: str) -> None:
        """Let searches see what was written, in every copy.

        Raises:
            EngineUnavailable: a copy did not.
        """
        for pause in (*_WRITE_PAUSES, None):
            if not self.change("POST", f"/{index}/_refresh")["_shards"]["failed"]:
                return
            if pause is None or self.deadline.remaining() <= pause:
                break
            time.sleep(pause)
        raise EngineUnavailable("a part of the index does not answer", component=self.component)

    def drop_where(self, index: str, where: Mapping[str, Any]) -> None:
        """Delete what searches can see and meets a condition."""
        found = self.change(
            "POST", f"/{index}/_delete_by_query", {"query": where}, refresh="true", conflicts="proceed",
            wait_for_completion="true",
        )  # fmt: skip
        if found["timed_out"] or found["failures"] or found.get("version_conflicts"):
            raise EngineUnavailable("a part of the index does not answer", component=self.component)


class ClusterSessions:
    """One client for all threads. No error shows an address, a password or a key.

    Attributes:
        lost: Whether an index was found to be gone.

    Raises:
        ConfigError: an address or the file of certificates is invalid.
    """

    def __init__(self, place: ClusterAddress) -> None:
        self.component = "engine opensearch"
        self.lost = False
        self._place = place
        self._hosts = [_host(url, self.component) for url in place.urls]
        if not self._hosts:
            raise _no_address(self.component)
        self._context = _trust(place.ca, self.component)
        self._errands = BoundedCalls(place.calls, "wenyuan-opensearch")
        self._lock = threading.Lock()
        self._client: Any = None
        self._closed = False

    def run(self, work: Callable[[ClusterSession], T], deadline: Deadline) -> T:
        """The result of `work`; what takes longer than the deadline is left behind.

        Raises:
            EngineTimeout, EngineUnavailable, IndexCorrupt: what the cluster or the driver said.
        """
        deadline.check(self.component)
        if self._closed:
            raise EngineUnavailable("is closed", component=self.component)
        begun = threading.Event()

        def errand() -> T:
            begun.set()
            return work(ClusterSession(self._connected(), deadline, self.component))

        try:
            return self._errands.run(errand, deadline.remaining())
        except CallTimedOut as error:
            raise self._late(begun.is_set()) from error
        except KnowledgeError as error:
            self.lost = self.lost or (isinstance(error, IndexCorrupt) and error.hint == _REBUILD)
            raise
        except Exception as error:  # the driver raises its own, and whatever Python has
            made = translated(error, self.component)
            self.lost = self.lost or isinstance(made, IndexCorrupt)
            raise made from None

    def _late(self, begun: bool) -> EngineTimeout:
        if begun:
            return EngineTimeout("no answer in time", component=self.component)
        return EngineTimeout(
            msg("all {calls} calls were busy until the deadline", calls=self._place.calls),
            component=self.component,
            hint="raise opensearch.calls, or ask less at once",
        )

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                logging.getLogger("opensearch").setLevel(logging.CRITICAL)  # what failed is raised
                try:
                    from opensearchpy import OpenSearch

                    from wenyuan.engines.opensearch.bounded_http import BoundedConnection
                    from wenyuan.engines.opensearch.node_choice import NodeChoice
                except ImportError as error:
                    raise ConfigError(
                        "the driver of OpenSearch is not installed",
                        component=self.component,
                        hint=install_command("opensearch"),
                    ) from error
                place = self._place
                self._client = OpenSearch(
                    self._hosts, connection_class=BoundedConnection, selector_class=NodeChoice, ssl_context=self._context, dead_timeout=2,
                    timeout_cutoff=1, max_retries=len(self._hosts), retry_on_status=(), retry_on_timeout=False,
                    pool_maxsize=place.calls, http_auth=(place.user, place.password) if place.user else None,
                    headers={"authorization": f"ApiKey {place.key}"} if place.key else None,
                )  # fmt: skip
            return self._client

    def close(self) -> None:
        """Leave the cluster. Later calls fail."""
        self._closed = True
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def translated(error: Exception, component: str) -> EngineError:
    """What an exception of the driver means here. Its own text may quote addresses or values: it is not told."""
    name, status = type(error).__name__, getattr(error, "status_code", None)
    kind = str(getattr(error, "error", "")) if isinstance(status, int) else ""
    if kind == _NO_INDEX:
        return gone(component)
    if kind == _SHUT:
        return _blocked(component)
    if name == "ConnectionTimeout":
        return EngineTimeout("no answer came in time", component=component)
    if kind == _PARTLY:
        status = _PASSING[-1]
    meaning = _MEANINGS.get(name) or _MEANINGS.get(status)
    if meaning is not None:
        return EngineUnavailable(meaning[0], component=component, hint=meaning[1])
    named = f"{kind[:80] or name} {status if isinstance(status, int) else ''}".strip()
    return EngineUnavailable(msg("the server failed ({named})", named=named), component=component)


_LOOK = "look at the cluster: GET _cluster/allocation/explain"
_REFUSED = (
    "refuses its user, password or right", "look at opensearch.user, opensearch.password and opensearch.key",
)  # fmt: skip
_NO_ANSWER = ("a part of the index does not answer", _LOOK)
_MEANINGS: Mapping[str | int | None, tuple[str, str]] = {
    "ReplyTooLong": ("a reply is longer than it may be", ""),
    "SSLError": (
        "shows a certificate that is not trusted, or that is of another name",
        "look at opensearch.ca, and whether opensearch.urls name what the certificates name",
    ),
    "ConnectionError": ("cannot be reached", "look at opensearch.urls, and whether the cluster runs"),
    401: _REFUSED,
    403: _REFUSED,
    429: ("the cluster has too much to do", ""),
    **dict.fromkeys(_PASSING, _NO_ANSWER),
}


def gone(component: str) -> IndexCorrupt:
    return IndexCorrupt("an index of it is gone", component=component, hint=_REBUILD)


def overtaken(component: str) -> EngineUnavailable:
    return EngineUnavailable("another process has written to the index meanwhile", component=component)


def _blocked(component: str) -> EngineUnavailable:
    return EngineUnavailable(
        "the cluster has shut the index to writes, or to all: its disks may be full",
        component=component,
        hint='make room; then PUT …/_settings {"index.blocks.read_only_allow_delete": null}',
    )


def _passes(error: Exception) -> bool:
    """Whether it may be over in a moment: a node has just gone, or has too much to do."""
    if isinstance(error, EngineUnavailable):
        return True
    status = getattr(error, "status_code", None)
    kind = getattr(error, "error", "") if isinstance(status, int) else ""
    if kind in (_SHUT, _PARTLY):
        return bool(kind == _PARTLY)
    return status in (_BUSY, *_PASSING) or type(error).__name__ == "ConnectionError"


def _host(url: str, component: str) -> Mapping[str, Any]:
    try:
        found = urlsplit(url.strip())
        port = found.port
    except ValueError:
        raise _no_address(component) from None
    if found.scheme not in ("http", "https") or not found.hostname or found.query or found.fragment:
        raise _no_address(component)
    if found.username or found.password:
        raise ConfigError(
            "an address in opensearch.urls has a user or password",
            component=component,
            hint="say them in opensearch.user and opensearch.password",
        )
    secure = found.scheme == "https"
    host = {"host": found.hostname, "port": port or (_SECURE if secure else _PLAIN), "use_ssl": secure}
    return {**host, "url_prefix": found.path.strip("/")} if found.path.strip("/") else host


def _no_address(component: str) -> ConfigError:
    return ConfigError(
        "opensearch.urls has what is no address",
        component=component,
        hint="export WENYUAN_OPENSEARCH__URLS=https://host:9200,https://other:9200",
    )


def _trust(ca: str, component: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(Path(ca).expanduser()) if ca else None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            msg("opensearch.ca has no certificates that can be read ({kind})", kind=type(error).__name__),
            component=component,
        ) from error


def row_of(hit: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a hit: its fields, those with one value as that value, and ``_id`` and ``_score``."""
    row: dict[str, Any] = dict(hit.get("fields", {}))
    single = {name: values[0] for name, values in row.items() if name not in ("tokens", "ordered")}
    return {**row, **single, "_id": hit["_id"], "_score": hit.get("_score")}
