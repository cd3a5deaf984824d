"""Helpers about time, threads, processes, files and the installation."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import stat
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import join, quote
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from wenyuan.core.ports import Deadline


def deadline_after(seconds: float) -> Deadline:
    """A deadline `seconds` from now, on this process's monotonic clock."""
    return Deadline(time.monotonic() + seconds, time.monotonic)


# Work that a process does beside its own, again and again.


class Periodic:
    """A thread that repeats a piece of work until it is stopped.

    Args:
        work: One round; must not raise.
        name: Of the thread.
        every: Seconds between two rounds.
    """

    def __init__(self, work: Callable[[], None], *, name: str, every: float) -> None:
        self._work = work
        self._every = every
        self.stopping = threading.Event()
        """For rounds that can end before their time."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current round and wait for it; may be called twice."""
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self.stopping.is_set():
            self._work()
            self.stopping.wait(self._every)


# Calls that can be left behind: some libraries know no deadline, and a name server may not answer for a minute.


T = TypeVar("T")


class CallTimedOut(Exception):
    """The call did not finish in time; it may still be running."""


class BoundedCalls:
    """Runs calls in at most `most` daemon threads, with a time-out, so that hanging calls are detected and cannot
    pile up.
    """

    def __init__(self, most: int, name: str) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._name = name

    def run(self, call: Callable[[], T], seconds: float) -> T:
        """The result of `call`, or what it raised.

        Raises:
            TooLate: it took longer than `seconds`, or that long all threads were taken.
        """
        until = time.monotonic() + seconds
        if not self._free.acquire(timeout=seconds):
            raise CallTimedOut
        future: Future[T] = Future()
        threading.Thread(target=self._work, args=(future, call), name=self._name, daemon=True).start()
        try:
            return future.result(timeout=max(0.0, until - time.monotonic()))
        except NotDone:
            if future.done():  # the call itself raised a TimeoutError
                raise
            raise CallTimedOut from None

    def _work(self, future: Future[T], call: Callable[[], T]) -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._free.release()


# How much can be computed at once.


def usable_cores() -> int:
    """Number of cores this process may use: its CPU affinity where available, else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Which process is this, and has another one of this machine ended? A number alone would not tell: it is given again.


_PROC = Path("/proc")


def own_name(number: int) -> str:
    """A unique name for this process, from host, process id and start time, and `number`."""
    return f"{socket.gethostname()}-{os.getpid()}-{_begun(os.getpid())}.{_numbering()}-{number:x}"


def has_ended(name: str) -> bool:
    """Whether a name made by `own_name` belongs to a process of this machine that has ended; False where unknown."""
    host, *rest = name.rsplit("-", 3)
    if len(rest) != 3 or host != socket.gethostname() or not rest[0].isdecimal():
        return False
    begun, _, numbering = rest[1].partition(".")
    # In another container of this host the same number is another process, and cannot be seen.
    return bool(begun) and numbering == _numbering() and _begun(int(rest[0])) != begun


def _begun(pid: int) -> str:
    """Start time of a process in system ticks; ``""`` where unknown, ``gone`` when there is no such process."""
    if not _PROC.joinpath("self/stat").exists():
        return ""
    try:
        told = _PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return "gone"
    state, *fields = told.rpartition(")")[2].split()  # its name stands in brackets, and may hold anything
    return "gone" if state in "ZX" else fields[18]


def _numbering() -> str:
    """Identifies the process id namespace: each container has its own."""
    try:
        return str(_PROC.joinpath("self/ns/pid").stat().st_ino)
    except OSError:
        return "0"


# How this copy of the program was installed, and the commands to reinstall it, also with an extra.
#
# Installers record where a package came from in ``direct_url.json`` beside it (packaging.python.org, "Recording the
# Direct URL Origin of installed distributions"): a folder, perhaps editable, an archive, or a version control system.


_NAME = "wenyuan"


def install_command(
    *extras: str, beside: Sequence[str] = (), options: Sequence[str] = (), pip: Sequence[str] | None = None
) -> str:
    """A shell command that installs this copy of the program.

    Args:
        extras: Optional parts to install with it, as ``pyproject.toml`` names them.
        beside: Further packages.
        options: Of ``pip install``.
        pip: The installer; by default that of the Python that runs this.

    Returns:
        Where nothing is known of where the copy came from: what sets up a checkout, with ``CHECKOUT`` for its folder.
    """
    origin = _origin()
    what = _requirement(origin, extras)
    if what:
        return join([*(own_pip() if pip is None else pip), "install", *options, *what, *beside])
    more = [*([_with(".", extras)] if extras else ()), *beside]
    made = "cd CHECKOUT && make demo"
    return f"{made} && {join(['.venv/bin/pip', 'install', *options, *more])}" if more or options else made


def upgrade_command() -> str:
    """A shell command that upgrades this copy of the program; ``WHEEL`` stands for a file to download."""
    origin = _origin()
    if origin.get("vcs_info"):
        newest = {**origin, "vcs_info": {**origin["vcs_info"], "requested_revision": ""}}
        return join([*own_pip(), "install", "--upgrade", *_requirement(newest, ())])
    if "archive_info" in origin:
        return join([*own_pip(), "install", "--upgrade", "WHEEL"])
    if not _requirement(origin, ()):
        return "cd CHECKOUT && git pull && make demo"
    return f"git -C {quote(_path(origin))} pull && {install_command()}"


def own_pip() -> tuple[str, ...]:
    """The command for pip of the running Python, in its shortest form."""
    found = shutil.which("pip")
    mine = Path(sys.executable).parent
    return ("pip",) if found and Path(found).parent == mine else (sys.executable, "-m", "pip")


def _origin() -> Mapping[str, Any]:
    """The installation record of the program (PEP 610); empty where none can be read."""
    try:
        found = json.loads(distribution(_NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("url"), str) else {}


def _requirement(origin: Mapping[str, Any], extras: Sequence[str]) -> list[str]:
    """The requirement that reinstalls this program; empty where its origin is unknown or gone."""
    url = origin.get("url", "")
    if vcs := origin.get("vcs_info"):
        at = f"@{vcs['requested_revision']}" if vcs.get("requested_revision") else ""
        below = f"#subdirectory={origin['subdirectory']}" if origin.get("subdirectory") else ""
        return [f"{_with(_NAME, extras)} @ {vcs['vcs']}+{url}{at}{below}"]
    if url.startswith("file:") and not Path(_path(origin)).exists():
        return []
    if "dir_info" in origin:
        editable = ["-e"] if origin["dir_info"].get("editable") else []
        return [*editable, _with(_path(origin), extras)]
    return [f"{_with(_NAME, extras)} @ {url}"] if url else []


def _path(origin: Mapping[str, Any]) -> str:
    return url2pathname(urlsplit(origin["url"]).path)


def _with(what: str, extras: Sequence[str]) -> str:
    return f"{what}[{','.join(extras)}]" if extras else what


# Is there a file or folder, or can that not be seen? The same answer on every Python.
#
# Since Python 3.14 ``Path.exists``, ``is_file`` and ``is_dir`` say False where the system refuses to tell. A folder that this
# user may not search would look as if nothing were in it: a library as if it were not there, documents as if they were removed.


def exists(path: Path) -> bool:
    """Whether a path exists, following links. OSError where that cannot be determined."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """Whether a path is a regular file, following links; False where it does not exist. OSError as in `exists`."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_dir(path: Path) -> bool:
    """Whether a path is a folder, following links; False where it does not exist. OSError as in `exists`."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _mode(path: Path) -> int | None:
    """The file mode of a path; None where it does not exist, is a broken link, or leads through a file."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself leads to nothing
            return None
        raise


# Objects that are made of parts, and hand on what callers ask of them.


Given = ParamSpec("Given")
Result = TypeVar("Result")


def delegate(
    part: str, method: Callable[Concatenate[Any, Given], Result]
) -> Callable[Concatenate[Any, Given], Result]:
    """Make a method of a part available on its owner, with signature and docstring.

    Args:
        part: The object's attribute that is the part.
    """

    @wraps(method)
    def called(owner: Any, /, *given: Given.args, **named: Given.kwargs) -> Result:
        return method(getattr(owner, part), *given, **named)

    return called


# Counters and durations, in memory, of this process.


BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the classes of times, in seconds; above the last there is one more."""

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """A histogram of durations.

    Attributes:
        classes: How many there were of each class of `BOUNDS`, not summed up.
        seconds: All of them together.
    """

    classes: tuple[int, ...]
    seconds: float

    @property
    def count(self) -> int:
        return sum(self.classes)


class Timings:
    """Histograms by name. Names must come from a closed set, otherwise memory grows. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._classes: dict[Names, list[int]] = {}
        self._seconds: dict[Names, float] = {}

    def add(self, names: Names, seconds: float) -> None:
        """Add one observation."""
        with self._lock:
            classes = self._classes.setdefault(names, [0] * (len(BOUNDS) + 1))
            classes[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[names] = self._seconds.get(names, 0.0) + seconds

    def read(self) -> Mapping[Names, Timing]:
        """A consistent snapshot of all histograms."""
        with self._lock:
            return {names: Timing(tuple(found), self._seconds[names]) for names, found in self._classes.items()}

    def forget(self, names: Sequence[Names]) -> None:
        """Drop the histograms of these names."""
        with self._lock:
            for name in names:
                self._classes.pop(name, None)
                self._seconds.pop(name, None)
