"""What docs/postgres.md says of backups on PostgreSQL: dumped while it is asked, restored elsewhere, and found out."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import postgres_server
import wenyuan
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.core.model import RetrievalRequest, Source

pytestmark = pytest.mark.integration

SEARCH: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0.0, "deadline": 30}}
QUESTIONS = [f"第{n}号窗口的投诉" for n in range(12)]


@pytest.fixture
def bases(dsn: str) -> Iterator[list[str]]:
    """Two databases with the extension, of which the second is empty."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    names = [f"restore_{secrets.token_hex(4)}_{n}" for n in "ab"]
    with psycopg.connect(dsn, autocommit=True) as server:
        for name in names:
            server.execute(f"CREATE DATABASE {name}")
            with psycopg.connect(make_conninfo(dsn, dbname=name), autocommit=True) as session:
                session.execute("CREATE EXTENSION vector")
        yield [make_conninfo(dsn, dbname=name) for name in names]
        for name in names:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def program(name: str) -> str:
    """Of the server that the tests start, or of this machine."""
    own = postgres_server.programs()
    found = own / "bin" / name if own is not None and not postgres_server.GIVEN else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return str(found)


def ran(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def answered(library: wenyuan.Library) -> list[list[tuple[str, Any]]]:
    """Words and score of what is found; the last digit of a cosine hangs on where its rows lie in memory."""
    answers = [library.retrieve_fragments(RetrievalRequest(query=q, max_results=5)) for q in QUESTIONS]
    assert all(answer.status == "SUCCESS" and answer.fragments for answer in answers)
    return [
        [(f.content, pytest.approx(f.metadata["scores"]["raw"], abs=5e-6)) for f in answer.fragments]
        for answer in answers
    ]


@pytest.mark.parametrize("engine", ["local", "postgres"])
def test_a_dump_is_a_library(bases: list[str], tmp_path: Path, engine: str) -> None:
    """Restored into an empty database it answers as before, with its keys and a whole audit, and takes a new id."""
    docs, (first, second) = tmp_path / "docs", bases
    docs.mkdir()
    for n in range(12):
        (docs / f"{n}.md").write_text(f"# 手册 {n}\n\n第{n}号窗口负责投诉。\n", "utf-8")

    def at(dsn: str) -> dict[str, Any]:
        return {**SEARCH, "engine": engine, "catalog": {"dsn": dsn}}

    with wenyuan.open(tmp_path / "one", create=True, **at(first)) as library:
        library.add(Source(source_id="docs", path=str(docs)))
        before = answered(library)
        key, token = library.catalog.create_key(None, frozenset({"retrieve"}), None)
        ran(program("pg_dump"), "--schema=wenyuan", "--file", tmp_path / "dump.sql", first)
        assert answered(library) == before
        name = library.catalog.library_id()
    ran(program("psql"), "--quiet", "--set", "ON_ERROR_STOP=1", "--file", tmp_path / "dump.sql", second)
    with wenyuan.open(tmp_path / "two", **at(second)) as library:
        assert answered(library) == before
        assert library.catalog.key_of_token(token) == key
        assert library.audit.verify().ok
        assert library.readiness().ready
        assert library.catalog.elsewhere()
        assert library.catalog.renew_id() != name
    with wenyuan.open(tmp_path / "two", **at(second)) as library:
        assert not library.catalog.elsewhere()
        assert answered(library) == before
        assert library.ingest("docs").unchanged == 12


def test_a_head_that_is_ahead_of_what_was_restored_says_so(bases: list[str], tmp_path: Path) -> None:
    """A server's folder knows more of the audit than the older dump: that records are missing is told."""
    first, second = bases
    with wenyuan.open(tmp_path / "one", create=True, **SEARCH, catalog={"dsn": first}) as library:
        library.add(Source(source_id="docs", path=str(Path(__file__).parents[2] / "docs" / "quality.md")))
        library.audit.flush()
        ran(program("pg_dump"), "--schema=wenyuan", "--file", tmp_path / "dump.sql", first)
        assert answered(library)
    ran(program("psql"), "--quiet", "--set", "ON_ERROR_STOP=1", "--file", tmp_path / "dump.sql", second)
    told = [""]

    def ask() -> None:
        """Records are written a moment after the answers that they are of: some may be given before."""
        until = time.monotonic() + 60
        with wenyuan.open(tmp_path / "one", **SEARCH, catalog={"dsn": second}) as library:
            while not told[-1] and time.monotonic() < until:
                answer = library.retrieve_fragments(RetrievalRequest(query=QUESTIONS[0], max_results=5))
                told.append(answer.error_message or "")

    with pytest.raises(CatalogUnavailable, match="records were removed or replaced"):
        ask()
    assert "records were removed or replaced" in told[-1]
