"""What every request passes: API key, rights of the route, limits on rate and concurrency; and counting them."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wenyuan.core.access import Key, Principal
from wenyuan.core.errors import ConfigError, KnowledgeError, NotPermitted, msg
from wenyuan.runtime import Timing, Timings
from wenyuan.runtime.shortage import is_shortage
from wenyuan.server import Authenticate, Limits, ServerSettings, check_page, is_loopback, is_no_key, open_on_loopback
from wenyuan.server.accepting import short_of_handles
from wenyuan.server.buckets import Buckets, OwnBuckets
from wenyuan.server.handling import GONE, STATUS_HEADER, Body, ClientGone
from wenyuan.server.problems import Pool, Problem, refusal
from wenyuan.service.audit.recorder import ACTING
from wenyuan.service.search.execution import INCOMING

# The declaration of a route: method, path, required right, and its OpenAPI description.


Handler = Callable[[Request], Awaitable[Response]]
Described = Callable[["Route", int], Mapping[str, Any]]
F = TypeVar("F", bound=Callable[..., Awaitable[Response]])


@dataclass(frozen=True, slots=True)
class Operation:
    """A route's description in the OpenAPI document; created by the functions of `server.metrics`.

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
"""Seconds after which it is asked again whether there are any keys, as long as there are none."""
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
        """After a change of the keys: ask again whether there are any. Whether one counts is asked for each request."""
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
        return await self._pool.run(lambda: self._keys.key_of_token(token))


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


_NO_KEY = Principal().key_id  # this machine's own callers, while no keys are needed
_ALL = ""  # the name of the bucket of all together


class Limiter:
    """Rate and concurrency limits per key. Used only on the event loop, so it has no lock.

    Args:
        buckets: Those that processes share which serve together; by default this one's own.
    """

    def __init__(
        self, limits: Limits, clock: Callable[[], float] = time.monotonic, buckets: Buckets | None = None
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._buckets = OwnBuckets() if buckets is None else buckets

    @contextmanager
    def admitted(self, key_id: str) -> Iterator[None]:
        """Context for a request of this key, counted as running inside.

        Raises:
            Problem: 429 with Retry-After.
        """
        limits, now = self._limits, self._clock()
        if limits.rate_total:
            _, wait = self._buckets.begin(_ALL, rate=limits.rate_total, concurrency=0, now=now)
            if wait:
                raise _too_many("the service is asked too often", wait)
            self._buckets.end(_ALL)
        if key_id == _NO_KEY or not (limits.rate_per_key or limits.concurrency_per_key):
            yield
            return
        open_, wait = self._buckets.begin(
            key_id, rate=limits.rate_per_key, concurrency=limits.concurrency_per_key, now=now
        )
        if open_:
            raise _too_many(msg("{count} requests of this key are open already", count=open_), 1.0)
        if wait:
            raise _too_many("this key asks too often", wait)
        try:
            yield
        finally:
            self._buckets.end(key_id)


def _too_many(detail: str, wait: float) -> Problem:
    return Problem(429, "too_many_requests", detail, headers={"Retry-After": str(max(1, math.ceil(wait)))})


# What goes through the server: counted by names of closed sets, so that no caller can fill the memory.


def door_of(path: str) -> str:
    """The route group of a path: ``search`` for ``/v1/search``, ``sources`` for all below ``/v1/sources``."""
    return path.removeprefix("/v1").removeprefix("/").partition("/")[0]


def outcome_of(status: int, said: str) -> str:
    """``success``, ``failed`` (a FAILED body), ``refused`` (4xx), ``error`` (5xx), or ``gone``: the client hung up."""
    if said == "FAILED":
        return "failed"
    if not status or said == GONE:
        return "gone"
    return "success" if status < 400 else "refused" if status < 500 else "error"


class RequestMetrics:
    """Counts and durations of requests by route group, status and outcome, and open requests. Safe to share between
    threads.

    Args:
        routes: Whose doors there are; every other path is counted as ``other``.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._doors = frozenset(door_of(route.path) for route in routes)
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._open = 0
        self._limited = 0
        self._timings = Timings()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Context that counts a request as open."""
        with self._lock:
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    def answered(self, path: str, status: int, said: str, seconds: float) -> None:
        """Count a response.

        Args:
            status: HTTP status; 0 when the client hung up before it was sent.
            said: The status that the answer itself has, ``SUCCESS`` or ``FAILED``; ``""`` where it has none; `GONE` of a
                stream that was not read to its end.
        """
        door, outcome = door_of(path), outcome_of(status, said)
        door = door if door in self._doors else "other"
        with self._lock:
            self._requests[door, str(status), outcome] += 1
            self._limited += status == 429
        self._timings.add((door,), seconds)

    def requests(self) -> Mapping[tuple[str, str, str], int]:
        """Number of requests by route group, status and outcome."""
        with self._lock:
            return dict(self._requests)

    @property
    def limited(self) -> int:
        """Number of requests refused with 429."""
        with self._lock:
            return self._limited

    def timings(self) -> Mapping[tuple[str, ...], Timing]:
        """Durations by route group."""
        return self._timings.read()

    @property
    def open(self) -> int:
        with self._lock:
            return self._open


# The outermost layer: assigns request ids, checks origin and principal, and turns every error into a problem
# document.


_REQUEST_ID = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_log = logging.getLogger("wenyuan.server")


class _Answer:
    """The `send` of one request: adds the headers common to all responses, after the request body has been read."""

    def __init__(self, send: Send, body: Body, request_id: str) -> None:
        self._send = send
        self._body = body
        self._request_id = request_id
        self.status = 0
        self.said = ""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            reusable = self._body.finished or await self._body.discard()
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            self.said = headers.get(STATUS_HEADER, "")
            headers["X-Request-Id"] = self._request_id
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Cache-Control"] = "no-store"
            if not reusable:
                headers["Connection"] = "close"
        await self._send(message)


class GuardMiddleware:
    """The outermost ASGI middleware.

    It sets ``request.state.request_id`` (the client's own X-Request-Id if that is 1-64 of ``A-Z a-z 0-9 _ -``),
    ``principal`` and ``body``, and turns every exception into a problem document. Logged at INFO are the
    method, the path if a route has it, the status and the time: never a query, a body or a header.

    Args:
        public: Paths that need no principal: probes carry no keys.
        buckets: See `Limiter`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticate: Authenticate,
        settings: ServerSettings,
        traffic: RequestMetrics,
        public: Collection[str],
        buckets: Buckets | None = None,
    ) -> None:
        self._app = app
        self._public = public
        self._traffic = traffic
        self._authenticate = authenticate
        self._settings = settings
        self._limiter = Limiter(settings.limits, buckets=buckets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._traffic.entered():
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = Headers(scope=scope)
        offered = headers.get("x-request-id", "")
        request_id = offered if _REQUEST_ID.fullmatch(offered) else uuid.uuid4().hex
        body = Body(headers, receive, limit=self._settings.max_body, timeout=self._settings.body_timeout)
        answer = _Answer(send, body, request_id)
        scope.setdefault("state", {}).update(request_id=request_id, body=body)
        INCOMING.set({name: headers[name] for name in ("traceparent", "tracestate") if name in headers})
        try:
            check_page(scope["method"], scope["path"], headers, self._settings.allowed_origins)
            if scope["path"] not in self._public:
                caller = self._authenticate(headers)
                principal = scope["state"]["principal"] = await caller if inspect.isawaitable(caller) else caller
                with self._limiter.admitted(principal.key_id):
                    await self._app(scope, body.receive, answer.send)
            else:
                await self._app(scope, body.receive, answer.send)
        except ClientGone:
            _log.info("the client hung up: request_id=%s", request_id)
        except asyncio.CancelledError:
            # The server stops and this request exceeded its grace period: send that as the response.
            await self._refuse(Problem(503, "shutting_down", "the server stops"), scope, answer, request_id)
        except Exception as error:
            await self._refuse(_problem(error, request_id), scope, answer, request_id)
        seconds = time.perf_counter() - started
        self._traffic.answered(scope["path"], answer.status, answer.said or scope["state"].get("said", ""), seconds)
        self._record(scope, answer.status, request_id, seconds)

    @staticmethod
    async def _refuse(problem: Problem, scope: Scope, answer: _Answer, request_id: str) -> None:
        if answer.status:  # the head is out already: the server cuts the connection, which no one can misread
            return
        try:
            response = refusal(problem, request_id, scope["path"], Headers(scope=scope))
            await response(scope, _nothing, answer.send)
        except ClientGone:
            _log.info("the client hung up: request_id=%s", request_id)

    def _record(self, scope: Scope, status: int, request_id: str, seconds: float) -> None:
        if status and _log.isEnabledFor(logging.INFO):
            path = scope["path"] if "endpoint" in scope or scope["path"] in self._public else "-"
            _log.info(
                "%s %s %d %.1f ms request_id=%s", scope["method"][:16], path, status, seconds * 1000, request_id
            )


def _problem(error: Exception, request_id: str) -> Problem:
    """What is answered for an error; one that is no fault of the request is logged."""
    problem = short_of_handles() if is_shortage(error) else Problem.of(error)
    if problem.status >= 500 and problem is not error and problem.code != "out_of_handles":
        unknown = not isinstance(error, KnowledgeError)  # one that is known says what failed, and where
        _log.error("request failed: request_id=%s: %s", request_id, error, exc_info=unknown)
    return problem


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
