"""Other people's programs as child processes that end with this process, however it ends, with all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

# It stands between us and the program, in a session of its own. We hold the other end of a pipe: when that closes, it ends
# the session. It ends as the program ended.
_GUARD = """
import os, select, signal, sys
ours = int(sys.argv[1])
child = os.fork()
if not child:
    os.close(ours)
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    finally:
        os._exit(127)
for handle in (0, 1):
    os.close(handle)
ended = os.pidfd_open(child)
waiting = select.poll()
waiting.register(ours, select.POLLIN)
waiting.register(ended, select.POLLIN)
if ended not in [handle for handle, _ in waiting.poll()]:
    os.killpg(0, signal.SIGKILL)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
if status < 0:
    signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), -status)
os._exit(status if status >= 0 else 128)
"""


@contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A running program; at the end of the block, or of this process, it is killed with all that it started.

    Args:
        command: The program, found as a shell finds it, and its arguments; 127 is its status where it cannot be run.
        options: As of `subprocess.Popen`.

    Raises:
        OSError, ValueError: no process can be started, or not with these arguments.
    """
    guard, ours = os.pipe()
    try:
        try:
            process = subprocess.Popen(  # noqa: S603  (our own program)
                [sys.executable, "-I", "-S", "-c", _GUARD, str(guard), *command],
                pass_fds=(guard,),
                start_new_session=True,
                **options,
            )
        finally:
            os.close(guard)
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    finally:
        os.close(ours)
