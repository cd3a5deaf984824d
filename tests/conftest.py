"""What tests share: temporary libraries with the deterministic encoder, and engines over a real catalog."""

from __future__ import annotations

import functools
import gc
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import milvus_server
import postgres_server
from wenyuan.core.ports import Deadline

MEMORY = Path("/dev/shm")
"""Where temporary files wait for no disk. A library has a disk confirm each change, for which tests wait most of their time."""


def _has_room(folder: Path) -> bool:
    """Whether it holds what all tests together write at one time."""
    return folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 4 << 30


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="walk randomly for as long as before a release")


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether random walks are to be long."""
    return bool(request.config.getoption("thorough"))


def pytest_configure(config: pytest.Config) -> None:
    """Let no setting of the developer's shell reach a test, and no answer fail because the machine is busy.

    The processes that tests start inherit both. Hypothesis, which environments of tests/integrations have none of, takes
    its time: an example is as slow as the machine is busy, and where it never ran it makes tables of characters first.
    """
    for name in list(os.environ):
        if name.startswith("WENYUAN_"):
            del os.environ[name]
    os.environ["WENYUAN_SEARCH__DEADLINE"] = "10"
    # For workers and other processes that begin after this: hundreds of them import the package, and compile it once.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # Threads of one sum that wait for one another keep cores busy.
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    if "TMPDIR" not in os.environ and _has_room(MEMORY):
        os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="wy-", dir=MEMORY)
        Path(os.environ["TMPDIR"]).chmod(0o1777)  # as of /tmp: some tests run as another user
        tempfile.tempdir = None
        config.add_cleanup(lambda: shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True))
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import HealthCheck, settings

        settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
        settings.load_profile("here")
    gc.disable()  # while modules and tests are gathered, of which nothing is garbage


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no process is left at the end with a long one while others have none."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage among what tests make, and not again and again among some ten thousand tests and all modules."""
    gc.freeze()
    gc.enable()
    runner = sys.modules.get("typer.testing")
    if runner is not None:  # it makes all commands anew for each one that is run
        vars(runner)["_get_command"] = functools.cache(vars(runner)["_get_command"])
    if "sqlalchemy" in sys.modules:
        import compiled_once

        compiled_once.share()
    if "wenyuan" in sys.modules:
        import warm_readers

        warm_readers.share()
        session.config.add_cleanup(warm_readers.end)


@pytest.fixture
def soon() -> Callable[[], Deadline]:
    """A deadline that no test should meet."""
    return lambda: Deadline(time.monotonic() + 30, time.monotonic)


@pytest.fixture
def today() -> date:
    return date(2026, 6, 1)


@pytest.fixture(scope="session")
def dsn() -> Iterator[str]:
    """The connection string of a PostgreSQL with pgvector."""
    with postgres_server.running() as running:
        yield running


@pytest.fixture(scope="session")
def database(dsn: str) -> Iterator[str]:
    """A database of our own, and a user who owns it and is no superuser: row policies count for him."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    tag = f"{os.getpid()}_{secrets.token_hex(4)}"
    name, user = f"wenyuan_engine_{tag}", f"wenyuan_owner_{tag}"
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE ROLE {user} LOGIN PASSWORD 'owner-0815'")
        server.execute(f"CREATE DATABASE {name} OWNER {user}")
        with psycopg.connect(make_conninfo(dsn, dbname=name), autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
        yield make_conninfo(dsn, dbname=name, user=user, password="owner-0815")
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")
        server.execute(f"DROP ROLE {user}")


@pytest.fixture(scope="session")
def milvus() -> Iterator[str]:
    """The address of a Milvus."""
    with milvus_server.running() as address:
        yield address


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[object]:
    """Where a library of this test may lie: in a folder, or (``server``) in a schema of its own on PostgreSQL."""
    if getattr(request, "param", "files") == "files":
        yield tmp_path / "library"
        return
    from catalog_parts import dropped, on_server

    made = on_server(request.getfixturevalue("database"), tmp_path / "library")
    yield made
    dropped(made)


@pytest.fixture
def catalog(place: Any) -> Iterator[object]:
    """A catalog with two empty sources; `catalog_parts.BOTH` asks for one of each kind."""
    from catalog_parts import new_catalog

    with new_catalog(place) as made:
        yield made


@pytest.fixture
def superuser(dsn: str, database: str) -> str:
    """The connection string of a superuser of that database."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    return make_conninfo(dsn, dbname=conninfo_to_dict(database)["dbname"])


@pytest.fixture
def library(tmp_path: Path) -> Iterator[object]:
    """An empty library with the hashing encoder and the default engine."""
    import wenyuan

    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as opened:
        yield opened


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was not run for want of a browser is told in one line, so that nobody takes it for tested."""
    skipped = terminalreporter.stats.get("skipped", [])
    files = Counter(report.nodeid.partition("::")[0] for report in skipped if "browser" in report.keywords)
    if files:
        named = ", ".join(f"{count} of {file}" for file, count in sorted(files.items()))
        terminalreporter.write_line(
            f"NOT RUN for want of Chromium: {named}. To run them: "
            "sudo apt-get install chromium fonts-noto-cjk && .venv/bin/python -m pytest -m browser"
        )
