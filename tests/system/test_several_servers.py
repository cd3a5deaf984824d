"""Several servers and workers, each a process of its own, on one library on PostgreSQL."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # behind: it has modules of the names of tests/support

import servers

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def own_database(dsn: str) -> str:
    """A database of this test's own, as a URL: the library is in the schema that the settings name by default."""
    import secrets

    import psycopg
    from psycopg.conninfo import make_conninfo

    name = f"wenyuan_servers_{secrets.token_hex(4)}"
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    return make_conninfo(dsn, dbname=name)


@pytest.mark.parametrize("engine", ["local", "postgres"])
def test_no_job_twice_and_nothing_lost(tmp_path: Path, own_database: str, engine: str) -> None:
    """With two servers and three workers each job is done once, every text arrives at both, and the audit is one chain."""
    found = servers.run(tmp_path, own_database, seconds=1, servers=2, workers=3, engine=engine)
    assert found["troubles"] == []
    assert found["jobs"] == found["done"] >= 9
    assert found["questions"]["SUCCESS"] > 0
    assert found["changes"]["gaps"] == 0
