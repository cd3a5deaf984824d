"""Running the server: in the foreground until a signal, or in a thread until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from wenyuan.core.errors import ConfigError, msg
from wenyuan.server.app import OF_EACH, create_app
from wenyuan.server.binding import BACKLOG, listening
from wenyuan.server.forwarding import Forwarding, received
from wenyuan.server.member import Member
from wenyuan.server.pool import close_pools
from wenyuan.server.process_counts import NumbersNow
from wenyuan.server.refused_connections import Listener
from wenyuan.server.repeated_failures import once_a_minute
from wenyuan.server.request_origin import is_loopback
from wenyuan.server.service_port import Authenticate, FaultSwitch, Service, open_on_loopback, open_to_all
from wenyuan.server.strict_http import StrictProtocol
from wenyuan.settings import ServerSettings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from wenyuan.server.keys import Keys
    from wenyuan.server.token_callers import TokenCallers


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
    tokens: TokenCallers | None = None,
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
        keys: Where the API keys of callers are; with them, and without `authenticate`, see `keys.key_ring`.
        tokens: With `keys`: what checks the tokens of an issuer.
        allow_remote: Listen on other than loopback addresses though there are no `keys`; then `authenticate` is
            open unless given.
        shared_port: Other servers with this option, run by the same user, may listen on the port too; the system
            spreads connections over them. A process computes in Python on one core, so it takes one for each core to use all.
        on_listening: Called with the URL as soon as clients can connect.
        on_stop: Called when a signal says to stop, in its handler; `shutdown.Ending.begin`, where the process is the server's.
        front: What is put in front of the application, such as the console; of several processes the first has it.
        member: Which of several processes this is, that listen at the socket it names; host and port are only looked at.

    Raises:
        ConfigError: the host is not a loopback address and there is no key and `allow_remote` is not given, or
            the address cannot be listened on.
    """
    from wenyuan.server.keys import key_ring

    if authenticate is None and keys is not None:
        authenticate = key_ring(keys, host, tokens)
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
