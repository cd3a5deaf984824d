"""One reading process, from the service's side: start it, exchange requests and answers, end it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import SourceError, msg
from wenyuan.readers.frames import HEADER, encode_json, frame, parse_json

_START_SECONDS = 60.0
_PIPE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Resource limits for reading one document.

    Attributes:
        max_bytes: Size of the file.
        memory: Address space of the worker, bytes.
        cpu_seconds: Processor time; `wall_seconds` is elapsed time.
        answer_bytes: Maximum size of the worker's answer.
        in_process_bytes: Plain formats up to this size are read without a worker: the worst text of it takes a
            quarter of a second.
        blocks: Blocks of all documents of one file.
        documents_per_worker: Documents after which a worker is replaced.
    """

    max_bytes: int = 50_000_000
    memory: int = 1_500_000_000
    cpu_seconds: float = 20.0
    wall_seconds: float = 20.0
    answer_bytes: int = 256_000_000
    in_process_bytes: int = 32_000
    blocks: int = 1_000_000
    documents_per_worker: int = 500


class Died(Exception):
    """The worker process ended; the message is the reason reported for the document.

    Attributes:
        by_itself: It was not killed by the service, so state left by an earlier document may be the cause.
    """

    by_itself = False


class _Ended(Died):
    by_itself = True


class ReadingProcess:
    """One reading process. `ask` exchanges a request for an answer within the limits, or raises `Died`.

    Raises:
        SourceError: the process does not start.
    """

    def __init__(self, limits: ReadingLimits) -> None:
        self.served = 0
        self._limits = limits
        with tempfile.TemporaryFile() as words:  # a file, since a pipe that nobody reads would block the child
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-P", "-m", "wenyuan.readers.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                bufsize=0,
                cwd="/",
                env=environment(),
                start_new_session=True,
            )
            assert self._process.stdin and self._process.stdout
            self._to, self._from = self._process.stdin, self._process.stdout
            os.set_blocking(self._to.fileno(), False)
            os.set_blocking(self._from.fileno(), False)
            hello = frame(encode_json({"memory": limits.memory, "cpu_seconds": limits.cpu_seconds}))
            try:
                self._exchange([hello], _START_SECONDS)
            except Died as death:
                self.end()
                words.seek(0)
                last = words.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise SourceError(msg("the reading process does not start: {last}", last=last or death)) from death

    def ask(self, request: bytes, content: bytes, *, seconds: float | None = None) -> dict[str, Any]:
        """The worker's answer to one request.

        Args:
            seconds: How long it may take, where that is not `ReadingLimits.wall_seconds`.
        """
        self.served += 1
        sent = [frame(request) + HEADER.pack(len(content)), content]  # not joined: a file may be long
        return self._exchange(sent, seconds or self._limits.wall_seconds)

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill the process; a thread that waits in `ask` gets `Died`."""
        self._process.kill()

    def end(self) -> None:
        """Kill the process if it is running, and wait for it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                pipe.close()

    def _exchange(self, outgoing: Sequence[bytes], seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        waiting = deque(memoryview(part) for part in outgoing)
        incoming = bytearray()
        while True:
            if len(incoming) >= HEADER.size:
                (size,) = HEADER.unpack_from(incoming)
                if size > self._limits.answer_bytes:
                    raise Died(f"its text is larger than {self._limits.answer_bytes:,} bytes")
                if len(incoming) >= HEADER.size + size:
                    return self._decoded(incoming)
            ready = self._ready(deadline, seconds, writing=bool(waiting))
            if self._to.fileno() in ready and waiting:
                left = self._written(waiting.popleft())
                if left:
                    waiting.appendleft(left)
            if self._from.fileno() in ready:
                chunk = os.read(self._from.fileno(), _PIPE_BYTES)
                if not chunk:
                    raise self._death()
                incoming += chunk

    def _ready(self, deadline: float, seconds: float, *, writing: bool) -> set[int]:
        """The file descriptors that are ready for reading or writing before the deadline."""
        poll = select.poll()
        poll.register(self._from.fileno(), select.POLLIN)
        if writing:
            poll.register(self._to.fileno(), select.POLLOUT)
        remaining = deadline - time.monotonic()
        ready = {descriptor for descriptor, _ in poll.poll(max(remaining, 0) * 1_000)}
        if not ready:
            raise Died(f"reading it took longer than {seconds:g} s")
        return ready

    def _written(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._to.fileno(), left[:_PIPE_BYTES]) :]
        except BrokenPipeError:
            return left[:0]  # it died during the request: reading its answer reports that next

    def _decoded(self, answer: bytearray) -> dict[str, Any]:
        """The value of an answer, which is emptied: as bytes, text and values it would be there several times."""
        try:
            with memoryview(answer) as whole:
                text = str(whole[HEADER.size :], "utf-8", "surrogatepass")
            answer.clear()
            return parse_json(text)
        except (ValueError, RecursionError) as error:
            raise Died(msg("the reader's answer is not valid: {error}", error=error)) from error

    def _death(self) -> Died:
        """A `Died` with the reason why the process ended."""
        code = self._process.wait(timeout=5)
        if code >= 0:
            return _Ended(f"the reader ended with code {code}")
        name = signal.Signals(-code).name
        if name == "SIGXCPU":
            return Died("reading it took more processor time than is allowed (SIGXCPU)")
        return _Ended(f"the reader was ended by {name}: a crash, or memory ran out")


def environment() -> dict[str, str]:
    """Environment variables for the child: Python's module paths, and no secrets of the service."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8", "PATH": os.defpath}
