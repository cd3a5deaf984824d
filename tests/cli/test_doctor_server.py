"""What ``wenyuan doctor`` says of a library whose record and index lie on a PostgreSQL, in both languages."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

import postgres_server
from wenyuan.app import create_library, open_library
from wenyuan.cli.root import app
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.engines.postgres import sessions
from wenyuan.i18n.translation import translated
from wenyuan.runtime import postgres_errors as postgres
from wenyuan.runtime.postgres import _TO_ALL

Doctor = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture(scope="module")
def own() -> Iterator[postgres_server.Server]:
    with postgres_server.own() as server:
        yield server


@pytest.fixture
def world(own: postgres_server.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of the schema in which a library lies that has answered a question."""
    schema = f"of_{tmp_path.name.lower()}"
    for name, value in (("ENGINE", "postgres"), ("ENCODER__KIND", "hashing"), ("CATALOG__SCHEMA_NAME", schema)):
        monkeypatch.setenv(f"WENYUAN_{name}", value)
    monkeypatch.setenv("WENYUAN_CATALOG__DSN", own.dsn)
    (tmp_path / "a.md").write_text("# 手册\n\n连接池 connections\n", "utf-8")
    with create_library(tmp_path / "library") as library:
        library.add(Source(source_id="kb", path=str(tmp_path / "a.md")))
        library.retrieve_fragments(RetrievalRequest(query="连接池", max_results=3))
    yield schema


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    def ask(language: str = "en") -> tuple[int, dict[str, str], str]:
        said = CliRunner().invoke(app, ["--library", str(tmp_path / "library"), "--lang", language, "doctor"])
        shown = re.finditer(r"^(\S+) +([^:：\n]+)(?:: |：)(.*)$", said.output, re.MULTILINE)
        lines = {found[2]: f"{found[1]} {found[3]}" for found in shown}
        return said.exit_code, lines, said.output

    return ask


def changed(dsn: str, schema: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))
        session.execute(statement)


def test_all_is_well(world: str, doctor: Doctor, own: postgres_server.Server) -> None:
    """It says where the record lies and where the audit ends, and counts no files that are not there."""
    code, lines, said = doctor()
    assert code == 0, said
    assert f"schema {world} of the PostgreSQL at 127.0.0.1:" in lines["library"]
    assert re.fullmatch(r"ok ends at [0-9]+:[0-9a-f]{64}", lines["audit"])
    assert "catalog" not in lines["disk"]
    assert "index" not in lines["disk"]
    assert postgres_server.PASSWORD not in said
    code, lines, _ = doctor("zh")
    assert "PostgreSQL（127.0.0.1:" in lines["知识库"]
    assert lines["审计"].startswith("正常 链头为 ")


@pytest.mark.parametrize(
    ("wrong", "english", "chinese"),
    [
        ({"password": "wrong-4711"}, "refuses its user or password (28P01)", "服务器拒绝该用户或口令（28P01）"),
        ({"dbname": "nowhere"}, "has no such database (3D000)", "服务器没有这个数据库（3D000）"),
        ({"port": "1"}, "cannot be reached", "服务器无法连接"),
    ],
)
def test_a_server_that_cannot_be_asked(
    world: str,
    doctor: Doctor,
    own: postgres_server.Server,
    monkeypatch: pytest.MonkeyPatch,
    wrong: dict[str, str],
    english: str,
    chinese: str,
) -> None:
    """The reason is told, with the setting to look at; never the password."""
    monkeypatch.setenv("WENYUAN_CATALOG__DSN", make_conninfo(own.dsn, **wrong))
    for language, reason, hint in (("en", english, "look at catalog.dsn"), ("zh", chinese, "检查 catalog.dsn")):
        code, _, said = doctor(language)
        assert code == 1
        assert reason in said
        assert hint in said
        assert "4711" not in said
    assert f"的模式 {world}：{chinese}" in said


@pytest.mark.parametrize(
    ("harm", "english", "chinese"),
    [
        ("ALTER SCHEMA {schema} RENAME TO {schema}_moved", "there is no library in schema", "中没有知识库"),
        ("UPDATE library SET value = '99' WHERE key = 'schema'", "has format 99", "知识库格式为 99"),
        ("DROP TABLE documents CASCADE", "has no such table (42P01)", "服务器没有所需的表（42P01）"),
        (
            "ALTER TABLE audit DISABLE TRIGGER USER; DELETE FROM audit",
            "records were removed or replaced",
            "有记录被删除或替换",
        ),
    ],
)
def test_a_record_that_is_not_whole(
    world: str, doctor: Doctor, own: postgres_server.Server, harm: str, english: str, chinese: str
) -> None:
    """A schema, format or table that is not there, and records of the audit that are gone, are faults with a way out."""
    changed(own.dsn, world, harm.format(schema=world))
    for language, reason, next_ in (("en", english, "next: "), ("zh", chinese, "下一步：")):
        code, _, said = doctor(language)
        assert code == 1
        assert reason in said
        assert next_ in said


@pytest.mark.parametrize(
    ("harm", "english", "chinese"),
    [
        ("UPDATE state SET stamp = 'x'", "is not the catalog's", "与目录库的不是同一个"),
        ("DELETE FROM vectors", "1 passages and 0 vectors", "含 1 个段落、0 个向量"),
    ],
)
def test_an_index_that_is_not_the_catalogs(
    world: str, doctor: Doctor, own: postgres_server.Server, tmp_path: Path, harm: str, english: str, chinese: str
) -> None:
    """One of another history, and one that has lost rows, is a fault of the engine, with what helps."""
    with open_library(tmp_path / "library") as library:
        index = library.engine.schema  # type: ignore[attr-defined]
    changed(own.dsn, index, harm)
    for language, reason, next_ in (("en", english, "drop "), ("zh", chinese, "删除")):
        code, _, said = doctor(language)
        assert code == 1
        assert reason in said
        assert next_ in said


def test_every_reason_has_its_chinese() -> None:
    """Whatever a server of PostgreSQL is said to do is said in Chinese, too, with what helps."""
    said = [f"the server {reason}" for _, reason in (*postgres.REFUSED, *postgres._SAID_AT_LOGIN)]
    for _, kind, reason, hint in postgres._REASONS:
        said += [f"counting: {reason}{postgres._describe_state(kind, '12345')}", *([hint] if hint else [])]
    said += [f"engine postgres at host:1: {reason} (12345)" for _, _, reason in (*sessions._MEANINGS, *_TO_ALL)]
    said += [sessions._LOOK, sessions._REBUILD, postgres.said_at_login("")]
    english = re.compile("(?<![A-Za-z])(the|is|has|of|to|at|its|or|not|it|another|took)(?![A-Za-z])")
    assert [text for text in said if english.search(translated(text))] == []


def test_server_that_is_gone(world: str, doctor: Doctor, own: postgres_server.Server) -> None:
    """While the server is away doctor says so and ends; when it is back, all is well again."""
    own.stop(signal.SIGQUIT)
    try:
        code, _, said = doctor()
        assert code == 1
        assert "cannot be reached" in said
    finally:
        own.start()
    assert doctor()[0] == 0
