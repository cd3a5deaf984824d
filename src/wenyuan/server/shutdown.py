"""The end of a server process: within a time after SIGTERM or Ctrl-C, whatever hangs in it."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from wenyuan.core.errors import KnowledgeError

log = logging.getLogger(__name__)

CLOSING = 10.0
"""Seconds after the grace of open requests for closing the library."""
_FLUSHING = 8.0  # seconds more for the last entries of the audit, until the guard ends the process
_MOST_NAMED = 20

# A thread in a C call that keeps the interpreter's lock (a long regular expression) stops all others, and no handler
# of a signal runs; only what the interpreter writes to the wake-up descriptor from the signal itself goes out. So a
# process of its own reads that, and the end of it is the end of this process.
_GUARD = """
import os, select, signal, sys, time
process, seconds = int(sys.argv[1]), float(sys.argv[2])
told = b""
while not {signal.SIGTERM, signal.SIGINT} & set(told):
    told = os.read(0, 64)
    if not told:
        sys.exit()
until = time.monotonic() + seconds
while (left := until - time.monotonic()) > 0:
    if select.select([0], [], [], left)[0] and not os.read(0, 64):
        sys.exit()
print("wenyuan: nothing in the server ran for", seconds, "s after the signal; it is ended", file=sys.stderr, flush=True)
os.kill(process, signal.SIGABRT)
if not select.select([0], [], [], 5.0)[0]:
    os.kill(process, signal.SIGKILL)
"""


class Ending:
    """Ends this process where it has not ended by itself some time after it was told to; a context manager.

    Threads cannot be ended from outside, and closing a library waits for them: for a refresh that hangs in a library
    of its connector, for one. What is written to the catalog and the index stays whole, as when the power fails.
    Enter it in the main thread. Left without a signal, it watches no more; after one it does until the process ends.

    Args:
        seconds: From `begin` until the process is ended, with exit code 1 and a line that names what still ran.
        flush: Called before that; KnowledgeError is logged.
    """

    def __init__(self, seconds: float, flush: Callable[[], None] = lambda: None) -> None:
        self._seconds, self._flush = seconds, flush
        self._begun = False
        self._guard: subprocess.Popen[bytes] | None = None
        self._before = -1

    def __enter__(self) -> Ending:
        if not faulthandler.is_enabled():  # what ran when the guard ends the process
            with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr is no file
                faulthandler.enable()
        self._guard = subprocess.Popen(  # noqa: S603  (our own program)
            [sys.executable, "-I", "-S", "-c", _GUARD, str(os.getpid()), str(self._seconds + _FLUSHING)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,  # Ctrl-C is for us
        )
        assert self._guard.stdin
        os.set_blocking(self._guard.stdin.fileno(), False)
        self._before = signal.set_wakeup_fd(self._guard.stdin.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._begun:
            return
        signal.set_wakeup_fd(self._before)
        if self._guard is not None:
            with contextlib.suppress(OSError):
                self._guard.communicate()

    def begin(self) -> None:
        """The process was told to end; may be called in the handler of a signal, and again."""
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._end, name="wenyuan-ending", daemon=True).start()

    def _end(self) -> None:
        time.sleep(self._seconds)
        log.error("not ended within %g s; ended now, while these were running: %s", self._seconds, _running())
        try:
            self._flush()
        except KnowledgeError as error:
            log.error("%s", error)
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(1)


def _running() -> str:
    """The other threads, each with the place where it is."""
    frames = sys._current_frames()
    told = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if thread is not threading.current_thread() and frame is not None:
            code = frame.f_code
            told.append(f"{thread.name} in {code.co_name} ({Path(code.co_filename).name}:{frame.f_lineno})")
    return ", ".join(told[:_MOST_NAMED])
