"""The HTTP server as an ASGI application, a thin layer with strict validation over a `Service`; and how it runs: start,
signals, shutdown, and the HTTP protocol class.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from uvicorn.protocols.http.h11_impl import H11Protocol

from wenyuan.core.errors import ConfigError, msg
from wenyuan.server import (
    Authenticate,
    FaultSwitch,
    KnowledgeService,
    ServerSettings,
    Service,
    is_loopback,
    open_on_loopback,
    open_to_all,
)
from wenyuan.server.accepting import Listener
from wenyuan.server.access import GuardMiddleware, KeyRing, RequestMetrics, Route, declared, guarded
from wenyuan.server.binding import BACKLOG, listening
from wenyuan.server.buckets import SharedBuckets
from wenyuan.server.forwarding import Forwarding, received
from wenyuan.server.handling import FAULT_HEADER, STATUS_HEADER, RequestHandler, routes_of
from wenyuan.server.member import Member
from wenyuan.server.metrics import Metrics, Probes, document_of
from wenyuan.server.numbers import NumbersNow, SharedNumbers
from wenyuan.server.problems import PROBLEM_JSON, Problem, close_pools, problem_body
from wenyuan.server.remote_callers import RemoteAddresses
from wenyuan.server.repeated import once_a_minute
from wenyuan.server.routes.ask import Answers, Dify, Fragments, Knowledge, Mcp, Stores
from wenyuan.server.routes.audit import Audit
from wenyuan.server.routes.documents import CorrectionRoutes, DocumentRoutes, Originals
from wenyuan.server.routes.evaluations import Evaluations, Feedback
from wenyuan.server.routes.governance import KeyRoutes, Synonyms, Tasks, ToolPages
from wenyuan.server.routes.quarantine import QuarantineRoutes
from wenyuan.server.routes.registry import Agents, IngestJobs, SourceList, Sources
from wenyuan.server.routes.rules import Rules, United
from wenyuan.server.routes.uploads import Uploads
from wenyuan.service.file_addresses import AddressBook
from wenyuan.service.operations.health import Health, LibraryWork
from wenyuan.wire import encode

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from wenyuan.server.access import Keys
    from wenyuan.service.library import Library

__all__ = ["FAULT_HEADER", "STATUS_HEADER", "create_app"]


# The application: its routes, and what lies around them.

_SIMPLE = (Fragments, SourceList, Metrics, Probes)
_LIBRARY = (
    Fragments, Knowledge, Answers, ToolPages, Dify, Mcp, Stores, Sources, DocumentRoutes, CorrectionRoutes, Originals,
    Uploads, QuarantineRoutes, Agents, Tasks, Synonyms, Audit, Feedback, Evaluations, United, Rules, KeyRoutes, Metrics, Probes,
)  # fmt: skip
ROUTES: tuple[Route, ...] = tuple(one for part in _LIBRARY for _, one in declared(part))
"""All that a server can have."""
_OF_EACH = (Fragments, Knowledge, Answers, ToolPages, Dify, Mcp, Stores, United, Probes)
OF_EACH = tuple(one.path for part in _OF_EACH for _, one in declared(part))
"""Paths that each of several processes answers: questions, which take the time, and what is said of the process itself."""
PUBLIC = frozenset(one.path for one in ROUTES if one.right is None)
"""Paths that need no principal: probes carry no keys."""


def create_app(
    service: Service,
    *,
    settings: ServerSettings | None = None,
    authenticate: Authenticate = open_on_loopback,
    fault: FaultSwitch | None = None,
    member: Member | None = None,
) -> Starlette:
    """The ASGI application that serves a service.

    Args:
        service: What answers; it is called from several threads.
        authenticate: Who is calling, see `Authenticate`.
        fault: Only for conformance tests: with it, a request whose header ``X-Wenyuan-Fault`` names a part is
            answered inside ``fault(name)``, so that a real failure can be asked for. Without it the
            header means nothing.
        member: Which of several processes this is; None where it serves alone.
    """
    settings = settings or ServerSettings()
    traffic = RequestMetrics(ROUTES)
    numbers = NumbersNow(traffic, _work_of(service), None if member is None else SharedNumbers(member))
    buckets = None if member is None else SharedBuckets(member.limits, member.number, member.count)
    document = openapi_document(settings, governed=isinstance(service, KnowledgeService))
    book = _address_book(service, settings)
    parts = _parts(service, RequestHandler(settings, fault, _library_id(service)), authenticate, book)
    parts += [Metrics(service, numbers), Probes(service, document)]
    around = [] if book is None else [Middleware(RemoteAddresses, known=book)]
    app = Starlette(
        routes=_routes(parts),
        middleware=[
            *around,
            Middleware(
                GuardMiddleware, authenticate=authenticate, settings=settings, traffic=traffic, public=PUBLIC,
                buckets=buckets,
            ),
        ],
        exception_handlers={HTTPException: _no_route},
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.state.numbers = numbers
    return app


def _work_of(service: Service) -> Callable[[], LibraryWork] | None:
    health = getattr(service, "health", None)
    return health.work if isinstance(health, Health) else None


def openapi_document(settings: ServerSettings, *, governed: bool = True) -> Mapping[str, Any]:
    """The OpenAPI document of a server with these settings.

    Args:
        governed: Whether the service behind it knows agents, sources and keys.
    """
    simple = tuple(one for part in _SIMPLE for _, one in declared(part))
    return document_of(settings, ROUTES if governed else simple, ROUTES)


def _library_id(service: Service) -> str:
    return str(service.catalog.library_id()) if isinstance(service, KnowledgeService) else ""


def _address_book(service: Service, settings: ServerSettings) -> AddressBook | None:
    """The addresses of a library's files; None for a service that has no catalog."""
    if not isinstance(service, KnowledgeService):
        return None
    library = cast("Library", service)
    return AddressBook(library.catalog, library.folder, map(str, settings.ingest_roots))


def _parts(
    service: Service, handler: RequestHandler, authenticate: Authenticate, book: AddressBook | None
) -> list[object]:
    """The route handlers for a service: all of them for a library, fewer for a service without agents and keys."""
    if book is None or not isinstance(service, KnowledgeService):
        return [Fragments(service, handler), SourceList(service, handler)]
    library, runs = cast("Library", service), IngestJobs()
    keys_changed = authenticate.forget if isinstance(authenticate, KeyRing) else lambda: None
    return [
        Fragments(service, handler), Knowledge(service, handler), Answers(service, handler), ToolPages(),
        Dify(library, handler), Mcp(library, handler),
        Stores(library, handler), Sources(library, handler, time.time, runs), DocumentRoutes(library, handler),
        CorrectionRoutes(library, handler), Originals(library, handler, book), Uploads(library, handler, runs),
        QuarantineRoutes(library, handler), Agents(library, handler, keys_changed),
        Tasks(library, handler), Synonyms(library, handler), Audit(library, handler), Feedback(library, handler),
        Evaluations(library, handler), United(library, handler), Rules(library, handler),
        KeyRoutes(library.catalog, handler, keys_changed, time.time),
    ]  # fmt: skip


def _routes(parts: Iterable[object]) -> Sequence[BaseRoute]:
    """One route per path, for declared handlers only."""
    # A pack is called as its author likes, and its name may have a slash in it, as a path has.
    checked = {
        (one.method, one.path.replace("{pack}", "{pack:path}").replace("{path}", "{path:path}")): guarded(
            one.right, getattr(part, name)
        )
        for part in parts
        for name, one in declared(type(part))
    }
    return routes_of(checked, _no_method)


async def _no_method(_request: Request, allow: Mapping[str, str]) -> Response:
    raise Problem(405, "method_not_allowed", "this path has no such method", headers=allow)


async def _no_route(_request: Request, error: Exception) -> Response:
    """404 for an unknown path."""
    assert isinstance(error, HTTPException)
    raise Problem(error.status_code, "not_found", "there is nothing at this path")


# HTTP/1.1 below the application: bytes that are no request, and requests that never come.


HEAD_TIMEOUT = 10.0
"""Seconds in which the head of a request must arrive once it, or its connection, has begun."""

_LINGER = 1.0
"""Seconds in which a client that still sends can read why it was refused; closing at once would reset it."""


_MOST_HEAD = 65_536
"""Bytes of a request line and its headers, however they are cut into packets."""


class StrictConnection(h11.Connection):
    """h11's view of a connection, which also refuses what another server on the way may read otherwise.

    That is a body with a length and in chunks (RFC 9112, 6.3), and another version than HTTP/1; and heads that are too long.
    """

    def next_event(self) -> Any:
        """As h11's; RemoteProtocolError for a request that is refused."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            size = len(event.target) + sum(len(name) + len(value) + 4 for name, value in event.headers)
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("a length and chunks")
            if event.http_version not in (b"1.0", b"1.1"):
                raise h11.RemoteProtocolError("another version", error_status_hint=505)
            if size > _MOST_HEAD:
                raise h11.RemoteProtocolError("the head is too long", error_status_hint=431)
        return event


class StrictProtocol(H11Protocol):
    """uvicorn's protocol, with a time limit on request heads and problem documents for invalid HTTP."""

    head_timeout = HEAD_TIMEOUT
    _head_timer: asyncio.TimerHandle | None = None
    _refused = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = StrictConnection(h11.SERVER, _MOST_HEAD)
        # uvicorn writes its access log, with the query string, to any handler that the root logger has.
        self.access_log = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        # IDLE: the client has sent no complete head yet. Between requests uvicorn's keep-alive timer rules,
        # which it drops as soon as the first byte of the next head is there.
        if self._refused or self.conn.their_state is not h11.IDLE or self.timeout_keep_alive_task is not None:
            self._unwatch()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_timeout, self._give_up)

    def _unwatch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are no HTTP/1.1 with a problem document; called by uvicorn, whose own answer is plain
        text.
        """
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # an answer is under way: only cut it off
            self.transport.close()
            return
        request_id = uuid.uuid4().hex
        body = encode(problem_body(400, "invalid_http", "this is not a valid HTTP/1.1 request", request_id))
        headers = [
            (b"content-type", PROBLEM_JSON.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        self.transport.write_eof()
        self.loop.call_later(_LINGER, self.transport.close)


# Running the server: in the foreground until a signal, or in a thread until told to stop.


_TICK = 0.1
"""Seconds between two ticks of uvicorn; every tenth tells the date."""
_LEAST_TO_CLOSE = 1.0  # seconds for what still computes when the grace is over
_LOOK = 0.01
"""Seconds between two looks, while it stops, at whether all is answered, or a second signal came."""
_KEEP_ALIVE = 30
"""Seconds an idle connection stays open: longer than clients keep theirs, so that they close first."""


class _Server(uvicorn.Server):
    """uvicorn's server, for which a requested stop is a success, and which stops at once when nothing is open."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None] = lambda: None) -> None:
        super().__init__(config)
        self.stopped_at = math.inf
        """When it was told to stop, by `time.monotonic`."""
        self._on_stop = on_stop
        self._told = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        with super().capture_signals():
            yield
            # uvicorn would raise the signal once more after draining, and the process would die by it:
            # to a supervisor that is a crash.
            self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:  # asked twice, by whatever signal: do not wait for open requests
            self.force_exit = True
        super().handle_exit(sig, frame)
        self._on_stop()
        self.leave()

    def leave(self) -> None:
        """Stop soon; from any thread, and from a signal's handler."""
        self.should_exit = True
        self.stopped_at = min(self.stopped_at, time.monotonic())
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has stopped, and its loop is closed
                self._loop.call_soon_threadsafe(self._told.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        """Until it is told to stop: uvicorn's ticks, which tell the date."""
        told, ticks = asyncio.create_task(self._told.wait()), 0
        while not await self.on_tick(ticks):
            await asyncio.wait({told}, timeout=_TICK)
            ticks += 1

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for open requests, until the grace is over or a second signal comes; `asyncio.run` then cancels the rest.

        uvicorn alone would wait on: from Python 3.12 on, `asyncio.Server.wait_closed` lasts until the last connection ends.
        """
        for open_ in (*self.servers, *(sockets or ())):
            open_.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        until = time.monotonic() + (self.config.timeout_graceful_shutdown or 0)
        while (state.connections or state.tasks) and not self.force_exit and time.monotonic() < until:
            await asyncio.sleep(_LOOK)


def _listen(host: str, port: int, *, shared: bool = False) -> Listener:
    listener = listening(Listener, host, port, shared=shared)
    listener.reserve()
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _server(app: ASGIApp, grace: float, on_stop: Callable[[], None] = lambda: None) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            http=StrictProtocol,
            loop="asyncio",  # it accepts through the listener, which refuses what there is no handle for
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=max(1, round(grace)),
        ),
        on_stop,
    )


def serve(  # noqa: PLR0913  (what a server is made of; nearly all has a default)
    service: Service,
    host: str = "127.0.0.1",
    port: int = 8765,
    *,
    settings: ServerSettings | None = None,
    authenticate: Authenticate | None = None,
    keys: Keys | None = None,
    fault: FaultSwitch | None = None,
    allow_remote: bool = False,
    shared_port: bool = False,
    on_listening: Callable[[str], None] | None = None,
    on_stop: Callable[[], None] = lambda: None,
    front: Callable[[ASGIApp], ASGIApp] | None = None,
    member: Member | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the open requests and return.

    Call it from the main thread, which is where signals arrive; a second signal ends the waiting.

    Args:
        port: 0 for any free one.
        keys: Where the API keys of callers are; with them, and without `authenticate`, see `access.key_ring`.
        allow_remote: Listen on other than loopback addresses though there are no `keys`; then `authenticate` is
            open unless given.
        shared_port: Other servers with this option, run by the same user, may listen on the port too; the system
            spreads connections over them. A process computes in Python on one core, so it takes one for each core to use all.
        on_listening: Called with the URL as soon as clients can connect.
        on_stop: Called when a signal says to stop, in its handler; `ending.Ending.begin`, where the process is the server's.
        front: What is put in front of the application, such as the console; of several processes the first has it.
        member: Which of several processes this is, that listen at the socket it names; host and port are only looked at.

    Raises:
        ConfigError: the host is not a loopback address and there is no key and `allow_remote` is not given, or
            the address cannot be listened on.
    """
    from wenyuan.server.access import key_ring

    if authenticate is None and keys is not None:
        authenticate = key_ring(keys, host)
    elif not allow_remote and not is_loopback(host):
        raise ConfigError(
            msg(
                "{host} is not a loopback address, and without API keys everybody who reaches it could read "
                "everything",
                host=host,
            ),
            component="server",
            hint="keep to 127.0.0.1, or make a key: wenyuan key create --rights retrieve,search",
        )
    settings = settings or ServerSettings()
    authenticate = authenticate or (open_to_all if allow_remote else open_on_loopback)
    made = create_app(service, settings=settings, authenticate=authenticate, fault=fault, member=member)
    app: ASGIApp = made if front is None or (member is not None and not member.first) else front(made)
    with ExitStack() as stack, once_a_minute():
        listeners: list[socket.socket] = []
        if member is None:
            listeners.append(stack.enter_context(_listen(host, port, shared=shared_port)))
        else:
            app = _joined(app, made.state.numbers, member, listeners, stack)
        if on_listening:
            on_listening(_url(listeners[0]))
        if member is not None:
            member.ready.touch()
        # What is here by now stays. To look through all of it for garbage takes a request's time several times over,
        # and would be done in the middle of one.
        gc.collect()
        gc.freeze()
        server = _server(app, settings.grace, on_stop)
        try:
            server.run(sockets=listeners)
        finally:  # what computes has the rest of the grace
            until = min(server.stopped_at, time.monotonic()) + settings.grace
            close_pools(max(_LEAST_TO_CLOSE, until - time.monotonic()))


def _joined(
    app: ASGIApp, numbers: NumbersNow, member: Member, listeners: list[socket.socket], stack: ExitStack
) -> ASGIApp:
    """The application of one of several processes; `listeners` gets the sockets that it accepts at."""
    listener = Listener(fileno=member.listener)
    listener.in_turn = True
    listeners.append(stack.enter_context(listener))
    listener.listen(BACKLOG)
    listener.reserve()
    writing = numbers.keep_writing()
    writing.start()
    stack.callback(numbers.write)
    stack.callback(writing.stop)
    member.end_with_starter()
    if not member.first:
        return Forwarding(app, OF_EACH, member.door)
    Path(member.door).unlink(missing_ok=True)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listeners.append(stack.enter_context(door))
    door.bind(member.door)
    door.listen(BACKLOG)
    return received(app)


def start_in_thread(app: ASGIApp, *, port: int = 0, grace: float = 5.0) -> tuple[str, Callable[[], None]]:
    """Serve an application on loopback from a thread.

    Returns:
        Its URL, and the function that stops it and waits until it has.

    Raises:
        ConfigError: the port is taken, or the server does not start.
    """
    listener = _listen("127.0.0.1", port)
    server = _server(app, grace)
    thread = threading.Thread(target=server.run, args=([listener],), name="wenyuan-server", daemon=True)
    thread.start()

    def stop() -> None:
        server.leave()
        thread.join()
        listener.close()

    while not server.started:
        if not thread.is_alive():
            listener.close()
            raise ConfigError("the server did not start", component="server")
        time.sleep(0.005)
    return _url(listener), stop
