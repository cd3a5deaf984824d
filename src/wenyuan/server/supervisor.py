"""The process that starts those that serve a library together: it listens, hands the socket on, and answers nothing."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from wenyuan.server.binding import listening
from wenyuan.server.member import Member

log = logging.getLogger(__name__)

_LOOK = 0.05  # seconds between two looks at the processes
_SOON = 5.0  # seconds: one that ends sooner after its start is started again more and more slowly
_LONGEST_WAIT = 30.0
_MORE = 30.0  # seconds after the grace in which a process ends itself whatever hangs in it (`server.shutdown`)
RESTARTS = "restarts"
"""The file that says how many processes were started in place of others."""


def how_ended(code: int) -> str:
    """How a process has ended, by its return code."""
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


@dataclass(slots=True)
class _Place:
    """One of the processes, and the times at which it was or will be started."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    begun: float = 0.0
    due: float = 0.0
    failures: int = 0


@dataclass(slots=True, kw_only=True, eq=False)
class Supervisor:
    """Starts the processes, the first one alone until it takes connections; starts anew those that end.

    Args:
        command: Starts a serving process that looks for its `Member`.
        count: How many.
        listener: Bound, and listening.
        grace: Seconds that a process may take to end after SIGTERM.
        started_again: Called with the number of a process and how it had ended.
    """

    command: Sequence[str]
    count: int
    listener: socket.socket
    grace: float
    started_again: Callable[[int, int], None]
    _places: list[_Place] = field(default_factory=list)
    _folder: str = ""
    _alive: int = -1
    _restarts: int = 0
    _signals: int = 0

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT, which ends all; returns the exit code.

        Where the first process ends before it has taken a connection, its exit code is returned: it has said why.
        """
        with self._sharing(), self._handling():
            self._places = [_Place(number) for number in range(self.count)]
            first = self._places[0]
            self._start(first)
            while not self._signals and not self._member(0).ready.exists():
                if first.process is not None and (code := first.process.poll()) is not None:
                    return code or 1
                time.sleep(_LOOK)
            while not self._signals:
                self._look()
                time.sleep(_LOOK)
            return self._end()

    @contextmanager
    def _sharing(self) -> Iterator[None]:
        """The folder that the processes share, and the pipe that tells them of the end of this one."""
        self._folder = tempfile.mkdtemp(prefix="wenyuan-serve-", dir="/tmp" if Path("/tmp").is_dir() else None)  # noqa: S108  (short: a socket's address has 107 bytes)
        self._alive, writing = os.pipe()
        try:
            yield
        finally:
            for place in self._places:
                if place.process is not None and place.process.poll() is None:
                    place.process.kill()
                    place.process.wait()
            os.close(writing)
            os.close(self._alive)
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def _handling(self) -> Iterator[None]:
        before = {one: signal.signal(one, self._on_signal) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self._tell_all()

    def _tell_all(self) -> None:
        for place in self._places:
            if place.process is not None and place.process.poll() is None:
                with suppress(ProcessLookupError):
                    place.process.terminate()

    def _member(self, number: int, *, again: bool = False) -> Member:
        return Member(
            number=number, count=self.count, listener=self.listener.fileno(), alive=self._alive, folder=self._folder,
            again=again,
        )  # fmt: skip

    def _start(self, place: _Place, *, again: bool = False) -> None:
        member = self._member(place.number, again=again)
        member.ready.unlink(missing_ok=True)
        place.begun = time.monotonic()
        place.process = subprocess.Popen(  # noqa: S603  (our own program)
            self.command,
            env={**os.environ, **member.environment()},
            pass_fds=(member.listener, member.alive),
            start_new_session=True,  # Ctrl-C is for this process, which tells the others once
        )

    def _look(self) -> None:
        """Start what is not running and is due."""
        now = time.monotonic()
        for place in self._places:
            if place.process is None:
                if place.due <= now:
                    self._start(place, again=place.begun > 0)
            elif (code := place.process.poll()) is not None:
                self._ended(place, code, now)

    def _ended(self, place: _Place, code: int, now: float) -> None:
        place.failures = place.failures + 1 if now - place.begun < _SOON else 0
        self._member(place.number).ready.unlink(missing_ok=True)
        place.process, place.due = None, now + min(_LONGEST_WAIT, 2.0**place.failures - 1.0)
        self._restarts += 1
        told = Path(self._folder) / f"{RESTARTS}.new"
        told.write_text(str(self._restarts), "ascii")
        told.replace(told.with_name(RESTARTS))
        self.started_again(place.number, code)

    def _end(self) -> int:
        """Wait until all have ended."""
        until, told = time.monotonic() + self.grace + _MORE, self._signals
        while any(place.process is not None and place.process.poll() is None for place in self._places):
            if time.monotonic() > until:
                log.error("not all serving processes have ended; they are ended now")
                return 1
            if self._signals != told:  # one that was started meanwhile has heard of it, too
                told = self._signals
                self._tell_all()
            time.sleep(_LOOK)
        codes = [place.process.returncode for place in self._places if place.process is not None]
        return 0 if all(code in (0, -signal.SIGTERM) for code in codes) else 1


def lead(command: Sequence[str], count: int, host: str, port: int, grace: float) -> int:
    """Listen, and let `count` processes serve at that socket until SIGTERM or SIGINT; returns the exit code.

    Call it from the main thread.

    Args:
        command: Starts a serving process, which finds in its environment which `Member` it is.
        grace: Seconds that open requests get to finish when it stops.

    Raises:
        ConfigError: the address cannot be listened on.
    """

    def told(number: int, code: int) -> None:
        log.error("serving process %d has ended (%s); another one takes its place", number, how_ended(code))

    with listening(socket.socket, host, port) as listener:
        return Supervisor(command=command, count=count, listener=listener, grace=grace, started_again=told).run()
