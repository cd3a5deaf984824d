"""Authentication by API key, rights per route, and limits on rate and concurrency."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Key, Principal
from wenyuan.core.errors import ConfigError, NotPermitted
from wenyuan.core.messages import msg
from wenyuan.server.problems import Pool, Problem
from wenyuan.server.settings import Limits, is_loopback, is_no_key, open_on_loopback
from wenyuan.service.audit.recorder import ACTING

# The declaration of a route: method, path, required right, and its OpenAPI description.


Handler = Callable[[Request], Awaitable[Response]]
Described = Callable[["Route", int], Mapping[str, Any]]
F = TypeVar("F", bound=Callable[..., Awaitable[Response]])


@dataclass(frozen=True, slots=True)
class Operation:
    """A route's description in the OpenAPI document; created by the functions of `openapi`.

    Attributes:
        described: Given the route, and the HTTP status of answers that say FAILED.
        takes, gives: Shapes that it refers to.
    """

    described: Described
    takes: tuple[type[BaseModel], ...] = ()
    gives: tuple[type[BaseModel], ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP method on one path.

    Attributes:
        right: That the caller needs; None: open to everybody, who is not even asked for a key.
        operation: None: the document does not name it.
    """

    method: str
    path: str
    right: str | None
    operation: Operation | None


def route(method: str, path: str, right: str | None, operation: Operation | None) -> Callable[[F], F]:
    """Decorator that declares a route of a handler; one handler may have several."""

    def declare(handler: F) -> F:
        told = handler.__dict__
        told["routes"] = (Route(method, path, right, operation), *told.get("routes", ()))
        return handler

    return declare


def declared(owner: type) -> Iterator[tuple[str, Route]]:
    """The declared routes of a class, each with the name of its handler."""
    for name, member in vars(owner).items():
        for one in getattr(member, "routes", ()):
            yield name, one


# Who calls, and what they may do.


_FRESH = 0.5
"""Seconds for which what the catalog said of a key counts: a revoked key is refused after at most that."""
_MOST_KEPT = 10_000
_TOKEN = re.compile(r"wy_[0-9a-f]{8}_[A-Za-z0-9_\-]{43}")


class Keys(Protocol):
    """Storage of API keys; `catalog.Catalog` implements it."""

    def keys(self) -> Sequence[Key]: ...

    def key_of_token(self, token: str) -> Key | None: ...


class KeyRing:
    """Checks ``Authorization: Bearer wy_…``; implements `Authenticate`.

    Args:
        keys: Asked in threads, never on the event loop.
        open_without_keys: Whether everybody may do everything as long as there is no unrevoked key. Once there was
            one, keys are required until the server restarts: to revoke the last key must not open the door.
        clock: Seconds since the epoch.
        ticks: Seconds that never go back.
    """

    def __init__(
        self,
        keys: Keys,
        *,
        open_without_keys: bool,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._needed = not open_without_keys
        self._looked = float("-inf")
        self._clock = clock
        self._ticks = ticks
        self._known: OrderedDict[bytes, tuple[float, Key]] = OrderedDict()
        self._pool = Pool(2, 256)

    async def __call__(self, headers: Mapping[str, str]) -> Principal:
        """The principal of a request.

        Raises:
            Problem: 401, no key or none that counts; 503, too many wait to be checked.
            NotPermitted: no key is needed, but the host name is a foreign one.
            CatalogError: the keys cannot be read, so no request is admitted.
        """
        given = [value for name, value in headers.items() if name == "authorization"]
        if all(map(is_no_key, given)) and not await self._keys_needed():
            open_on_loopback(headers)
            return Principal()
        key = await self._key(given)
        if key is None or key.revoked_at is not None or (key.expires_at or float("inf")) <= self._clock():
            raise Problem.unauthenticated("an API key is needed: Authorization: Bearer wy_…, not revoked or expired")
        return Principal(key_id=key.key_id, agent_id=key.agent_id, rights=key.rights)

    def forget(self) -> None:
        """Drop cached keys after a change; the next request reads them from the catalog."""
        self._known.clear()
        self._looked = float("-inf")

    async def _keys_needed(self) -> bool:
        if not self._needed and self._ticks() - self._looked >= _FRESH:
            begun = self._ticks()
            found = await self._pool.run(self._keys.keys)
            self._needed = self._needed or any(key.revoked_at is None for key in found)
            self._looked = begun
        return self._needed

    async def _key(self, given: Sequence[str]) -> Key | None:
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        token = token.strip(" ")
        if scheme.lower() != "bearer" or not _TOKEN.fullmatch(token):
            return None
        digest = hashlib.sha256(token.encode()).digest()  # the secret itself is not kept
        at, key = self._known.get(digest, (float("-inf"), None))
        if key is None or self._ticks() - at >= _FRESH:
            begun = self._ticks()
            key = await self._pool.run(lambda: self._keys.key_of_token(token))
            if key is not None:
                self._known[digest] = (begun, key)
                self._known.move_to_end(digest)
                while len(self._known) > _MOST_KEPT:
                    self._known.popitem(last=False)
        return key


def key_ring(keys: Keys, host: str) -> KeyRing:
    """The authentication for a server that listens on `host`.

    Raises:
        ConfigError: others than this machine can reach it, and there is no key that counts.
    """
    if is_loopback(host):
        return KeyRing(keys, open_without_keys=True)
    now, held = time.time(), keys.keys()
    if not any(key.revoked_at is None and (key.expires_at or float("inf")) > now for key in held):
        raise ConfigError(
            msg(
                "{host} is not a loopback address, and the library has no API keys: nobody could be told "
                "from anybody",
                host=host,
            ),
            component="server",
            hint="make a key first: wenyuan key create --rights retrieve,search; or keep to 127.0.0.1",
        )
    return KeyRing(keys, open_without_keys=False)


def guarded(right: str | None, handler: Handler) -> Handler:
    """Wrap a handler: the caller needs `right`, and changes are recorded as the caller's in the audit log."""
    if right is None:
        return handler

    async def checked(request: Request) -> Response:
        principal = request.state.principal
        if not isinstance(principal, Principal) or not principal.may(right):
            raise NotPermitted(msg("this needs a key with the right {right}", right=repr(right)))
        acting = ACTING.set(principal)  # the threads that work for this request take it over
        try:
            return await handler(request)
        finally:
            ACTING.reset(acting)

    return checked


# How much one caller may ask for, and all together: a token bucket and a count of open requests for each.
#
# It lives in the process: with several server processes each has its own share.


_REMEMBERED = 10_000  # callers
_NO_KEY = Principal().key_id  # this machine's own callers, while no keys are needed
_BURST_SECONDS = 2.0  # what a quiet caller may save up


class Bucket:
    """Token bucket: each request takes one token, and tokens are refilled over time.

    Args:
        rate: Tokens a second.
        most: How many may be saved up; by default those of two seconds.
    """

    def __init__(self, rate: float, now: float, most: float = 0.0) -> None:
        self.rate = rate
        self.most = most or max(1.0, rate * _BURST_SECONDS)
        self.tokens = self.most
        self.at = now
        self.open = 0

    def wait(self, now: float) -> float:
        """Seconds until a request may proceed; 0 takes a token."""
        self.tokens = min(self.most, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1.0:
            self.tokens -= 1.0
            return 0.0
        return (1.0 - self.tokens) / self.rate


class Limiter:
    """Rate and concurrency limits per key. Used only on the event loop, so it has no lock."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._callers: OrderedDict[str, Bucket] = OrderedDict()
        self._all = Bucket(limits.rate_total, clock())

    @contextmanager
    def admitted(self, key_id: str) -> Iterator[None]:
        """Context for a request of this key, counted as running inside.

        Raises:
            Problem: 429 with Retry-After.
        """
        now = self._clock()
        if self._limits.rate_total and (wait := self._all.wait(now)):
            raise _too_many("the service is asked too often", wait)
        if key_id == _NO_KEY:
            yield
            return
        caller = self._callers.get(key_id)
        if caller is None:
            caller = self._callers[key_id] = Bucket(self._limits.rate_per_key, now)
            while len(self._callers) > _REMEMBERED:
                self._callers.popitem(last=False)
        self._callers.move_to_end(key_id)
        if self._limits.concurrency_per_key and caller.open >= self._limits.concurrency_per_key:
            raise _too_many(msg("{count} requests of this key are open already", count=caller.open), 1.0)
        if self._limits.rate_per_key and (wait := caller.wait(now)):
            raise _too_many("this key asks too often", wait)
        caller.open += 1
        try:
            yield
        finally:
            caller.open -= 1


def _too_many(detail: str, wait: float) -> Problem:
    return Problem(429, "too_many_requests", detail, headers={"Retry-After": str(max(1, math.ceil(wait)))})
