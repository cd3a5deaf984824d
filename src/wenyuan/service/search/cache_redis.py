"""Search result cache in Redis, shared by several processes, and the JSON encoding of results."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import date
from typing import Any, Generic, TypeVar

from wenyuan.core.errors import ConfigError, KnowledgeError, msg
from wenyuan.core.fidelity import Recognition, Uncertain
from wenyuan.core.filters import And, In, Not, Or, Range, Scope
from wenyuan.core.model import Corrected, Passage
from wenyuan.core.ports import Hit, Ranking
from wenyuan.core.scoring.probability import Curve
from wenyuan.core.text.wordings import Wording
from wenyuan.runtime.installation import install_command
from wenyuan.service.query import Confidence, FollowUp, LegReport, Query, SearchAnswer
from wenyuan.service.rules.derive import Derived
from wenyuan.service.search.searcher import ResultPassage, SearchResult

# Answers kept in Redis, for several processes that serve one library. Needs the extra ``redis``.
#
# What is kept there are texts of the library: who may read that Redis reads them, and who may write to it can make
# answers up. It is to be guarded like the library itself.


V = TypeVar("V")
log = logging.getLogger(__name__)

PATIENCE = 0.2
"""Seconds that one word with Redis may take: computing an answer takes hardly longer."""
_NAMES = "wenyuan:"  # what the names of all kept answers begin with
_PAUSE = 5.0  # seconds for which a Redis that failed is left alone


def open_redis(url: str) -> Any:
    """A client for ``redis://``, ``rediss://`` or ``unix://``; it connects when it is first used.

    Raises:
        ConfigError: the extra is not installed, or the URL cannot be used. It is not repeated: it may hold a password.
    """
    try:
        import redis
    except ImportError as error:
        raise ConfigError(
            "cache.url is set, but the redis client is not installed",
            component="cache",
            hint=install_command("redis"),
        ) from error
    try:
        return redis.Redis.from_url(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, retry=None)
    except (ValueError, TypeError) as error:
        raise ConfigError("cache.url cannot be used; write redis://host:6379/0", component="cache") from error


class RedisStore(Generic[V]):
    """A `service.search.answer_cache.CacheStore` in Redis. If Redis is down, slow or full, it behaves as empty; that is logged
    once.

    Args:
        client: Of `open_redis`.
        prefix: Names everything besides the key that an answer depends on: library, settings, formats.
        seconds: How long a value is kept.
        max_bytes: Of one value; a larger one is not kept.
        write, read: A value as bytes and back; `read` raises ValueError for anything else.
        clock: Seconds since the epoch, the same for all processes.
    """

    def __init__(
        self,
        client: Any,
        *,
        prefix: str,
        seconds: float,
        max_bytes: int,
        write: Callable[[V], bytes],
        read: Callable[[bytes], V],
        clock: Callable[[], float] = time.time,
    ) -> None:
        import redis

        self._errors = (redis.RedisError, OSError)
        self._client = client
        self._prefix = prefix
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._write = write
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._down_until = 0.0
        self._down = False

    def get(self, key: Hashable) -> tuple[V, float] | None:
        kept = self._reply(lambda: self._client.get(self._name(key)))
        if not isinstance(kept, bytes):
            return None
        try:
            head, _, body = kept.partition(b"\n")
            age = max(0.0, self._clock() - float(json.loads(head)["at"]))
            return (self._read(body), age) if age < self._seconds else None
        except (ValueError, TypeError, KeyError) as error:
            log.warning("cache: what Redis kept is no answer (%s)", error)
            return None

    def put(self, key: Hashable, value: V) -> None:
        try:
            body = self._write(value)
        except (TypeError, ValueError) as error:  # it is given all the same
            log.warning("cache: an answer cannot be kept (%s)", error)
            return
        if len(body) > self._max_bytes:
            return
        kept = json.dumps({"at": self._clock()}).encode() + b"\n" + body
        self._reply(lambda: self._client.set(self._name(key), kept, px=max(1, int(self._seconds * 1000))))

    def held(self) -> tuple[int, int]:
        return 0, 0

    def clear(self) -> None:
        """Forget the answers of all libraries that are kept there: their names do not say whose they are."""
        try:
            for name in self._client.scan_iter(match=f"{_NAMES}*", count=1_000):
                self._client.delete(name)
        except self._errors as error:
            raise KnowledgeError(
                msg("the kept answers cannot be deleted: {kind}", kind=type(error).__name__), component="cache"
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _name(self, key: Hashable) -> str:
        return _NAMES + hashlib.sha256(repr((self._prefix, key)).encode()).hexdigest()

    def _reply(self, call: Callable[[], Any]) -> Any:
        """The reply of Redis; None while it is unavailable."""
        with self._lock:
            if time.monotonic() < self._down_until:
                return None
        try:
            answer = call()
        except self._errors as error:
            with self._lock:
                first, self._down = not self._down, True
                self._down_until = time.monotonic() + _PAUSE
            if first:
                log.warning("cache: Redis does not answer (%s); answers are not kept meanwhile", type(error).__name__)
            return None
        with self._lock:
            back, self._down = self._down, False
        if back:
            log.info("cache: Redis answers again")
        return answer


# Answers as JSON and back, for keeping them outside of this process. Only the classes named here come back.
#
# A dataclass, and a hit, is ``{"$": its name, field: value …}``; what JSON does not have is tagged likewise. Arrays are tuples.


FORMAT = "kept/2"
"""Changes with what is written here; the fields of the classes count by themselves."""

_TAG = "$"
_CLASSES: Mapping[str, Any] = {
    cls.__name__: cls
    for cls in (
        SearchResult,
        ResultPassage,
        Hit,
        Passage,
        Recognition,
        Corrected,
        Uncertain,
        LegReport,
        Query,
        SearchAnswer,
        Confidence,
        FollowUp,
        Wording,
        Scope,
        In,
        Range,
        And,
        Or,
        Not,
        Derived,
        Curve,
    )
}


def result_to_json(result: SearchResult) -> bytes:
    """Serialise a result without the query text; the cache key holds a hash of it.

    Raises:
        TypeError: it holds a value of a kind that is not known here, or the question in the words of synonyms.
    """
    if any(wording.entries for _, answer in result.answers for wording in answer.wordings):
        raise TypeError("an answer that tells its question cannot be kept")
    answers = tuple((replace(query, text=""), answer) for query, answer in result.answers)
    return json.dumps(_plain(replace(result, answers=answers)), ensure_ascii=False, separators=(",", ":")).encode()


def result_from_json(written: bytes) -> SearchResult:
    """Inverse of `result_to_json`.

    Raises:
        ValueError: it is anything else.
    """
    try:
        found = _value_from_json(json.loads(written))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no kept answer: {type(error).__name__}") from error
    if not isinstance(found, SearchResult):
        raise ValueError("no kept answer")
    return found


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case date():
            return {_TAG: "date", "at": value.isoformat()}
        case Ranking():
            return {_TAG: "Ranking", "hits": [_plain(hit) for hit in value]}
        case Hit() | Uncertain():  # before tuples, since named tuples are tuples
            return {_TAG: type(value).__name__, **{name: _plain(item) for name, item in value._asdict().items()}}
        case tuple() | list():
            return [_plain(item) for item in value]
        case frozenset():
            return {_TAG: "set", "of": sorted(map(_plain, value))}
        case Mapping():
            return {_TAG: "map", "of": [[_plain(key), _plain(item)] for key, item in value.items()]}
    if is_dataclass(value) and type(value).__name__ in _CLASSES:
        return {_TAG: type(value).__name__, **{f.name: _plain(getattr(value, f.name)) for f in fields(value)}}
    raise TypeError(f"a {type(value).__name__} cannot be kept")


def _value_from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_value_from_json, value))
    if not isinstance(value, dict):
        return value
    tag = value.pop(_TAG)
    match tag:
        case "date":
            return date.fromisoformat(value["at"])
        case "Ranking":
            return Ranking(_value_from_json(value["hits"]))
        case "set":
            return frozenset(_value_from_json(value["of"]))
        case "map":
            return dict(_value_from_json(value["of"]))
    return _CLASSES[tag](**{name: _value_from_json(item) for name, item in value.items()})
