"""A source of type vector_index, against a real PostgreSQL with pgvector."""

from __future__ import annotations

import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.conninfo import make_conninfo

import postgres_server
from attached_table import (
    COLUMNS,
    DSN_VARIABLE,
    QUERY,
    ROWS,
    Admin,
    Open,
    database_for_tables,
    filled,
    opening,
    source,
)
from engine_laws import SPEC
from patience import HANGS, in_time
from wenyuan import app
from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable, VectorRejected
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline, OutsideHit
from wenyuan.core.scoring.formula import rescale
from wenyuan.engines.external import table_search, table_sessions
from wenyuan.engines.external.postgres import open_attached
from wenyuan.engines.external.table_search import Search
from wenyuan.engines.external.table_sessions import PostgresTable, translate_error
from wenyuan.runtime import postgres, postgres_sessions
from wenyuan.runtime.installation import install_command
from wenyuan.settings import SourcesSettings


@pytest.fixture(scope="session")
def prepared(dsn: str) -> Iterator[str]:
    with database_for_tables(dsn) as made:
        yield made


@pytest.fixture
def admin(prepared: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Admin]:
    monkeypatch.setenv(DSN_VARIABLE, prepared)
    with filled(prepared) as connection:
        yield connection


@pytest.fixture
def opened(admin: Admin) -> Iterator[Open]:
    with opening() as open_one:
        yield open_one


@pytest.fixture
def slow(admin: Admin) -> Callable[[float], None]:
    """Sets how long the view kb.slow takes."""
    admin.execute("CREATE TABLE kb.pace (seconds float); INSERT INTO kb.pace VALUES (0)")
    admin.execute("CREATE VIEW kb.slow AS SELECT d.* FROM kb.docs d, (SELECT pg_sleep(seconds) FROM kb.pace) s")
    return lambda seconds: admin.execute("UPDATE kb.pace SET seconds = %s", (seconds,)) and None


def ask(table: PostgresTable, *, vector: Any = QUERY, limit: int = 10, seconds: float = 20.0) -> list[OutsideHit]:
    deadline = Deadline(time.monotonic() + seconds, time.monotonic)
    return list(table.ask("如何报销？", vector=vector, limit=limit, as_of=date(2026, 6, 1), deadline=deadline))


# --- what is right ------------------------------------------------------------------------------------------------


def test_rows_come_nearest_first_with_what_their_columns_say(opened: Open) -> None:
    """Key, text, title, address, facets and the cosine as score; rows without text or vector are no candidates."""
    hits = ask(opened())
    assert [(h.key, round(h.score, 6)) for h in hits] == [("a-1", 1.0), ("a-2", 0.8), ("a-3", 0.0), ("a-4", 0.0)]
    first, second, third, fourth = hits
    assert first == OutsideHit(
        key="a-1",
        uri="https://kb.example/财务#第十三条",
        content="报销须在三十日内提交",
        score=first.score,
        title="财务制度",
        facets={"部门": "财务", "year": 2024},
    )
    assert second.uri == "source:kb-1/kb/docs#a-2"
    assert (second.title, second.facets) == ("Finance", {"ok": True})
    assert (third.title, third.uri, third.facets) == ("", "source:kb-1/kb/docs#a-3", {})
    assert fourth.content == "ｆｕｌｌ　ｗｉｄｔｈ"
    assert [h.key for h in ask(opened(), limit=2)] == ["a-1", "a-2"]


def test_the_scale_makes_scores_comparable(opened: Open) -> None:
    """The caller's scale rescales cosines; the source's own scale comes before it."""
    assert [h.score for h in ask(opened(scale=(0.6, 1.0)))] == pytest.approx([1.0, 0.5, 0.0, 0.0], abs=1e-6)
    own = open_attached(source(scale=[-1.0, 1.0]), scale=(0.6, 1.0))
    assert [h.score for h in ask(own)] == pytest.approx([1.0, 0.9, 0.5, 0.0], abs=1e-6)
    own.close()


def test_optional_columns_may_be_left_out(opened: Open) -> None:
    """With id, text and vector alone, hits have a made address and no title."""
    (hit,) = ask(opened(columns={"id": "id", "text": "body", "vector": "embedding"}), limit=1)
    assert (hit.title, hit.uri, hit.facets) == ("", "source:kb-1/kb/docs#a-1", {})


def test_a_filter_leaves_only_equal_rows(admin: Admin, opened: Open) -> None:
    """Text, number and truth are bound, and Chinese values match."""
    admin.execute("ALTER TABLE kb.docs ADD live bool DEFAULT true; UPDATE kb.docs SET n = 7 WHERE id = 'a-3'")
    assert [h.key for h in ask(opened(filter={"title": "财务制度"}))] == ["a-1"]
    assert [h.key for h in ask(opened(filter={"n": 7, "live": True}))] == ["a-3"]
    assert ask(opened(filter={"live": False})) == []


@pytest.mark.parametrize("kind", ["vector", "vector(3)", "halfvec(3)"])
def test_vectors_may_be_half_precise_or_undeclared(admin: Admin, opened: Open, kind: str) -> None:
    """vector with and without a declared dimension, and halfvec, give the same order."""
    admin.execute(f"ALTER TABLE kb.docs ALTER embedding TYPE {kind} USING embedding::{kind}")
    assert [h.key for h in ask(opened())] == ["a-1", "a-2", "a-3", "a-4"]


def test_ids_may_be_numbers(admin: Admin, opened: Open) -> None:
    """An integer id becomes a key of digits."""
    admin.execute("UPDATE kb.docs SET n = ascii(right(id, 1))")
    assert [h.key for h in ask(opened(columns={**COLUMNS, "id": "n"}), limit=2)] == ["49", "50"]


@pytest.mark.parametrize("exact", [True, False])
def test_a_selective_filter_does_not_starve_an_indexed_search(
    admin: Admin, opened: Open, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    """With an HNSW index and a filter that few rows pass, all of them are found: compared exactly, or by going on."""
    admin.execute(
        "INSERT INTO kb.docs (id, body, embedding, n) SELECT 'x' || i, 'text', "
        "ARRAY[1, i / 1500.0, random()]::vector, i % 250 FROM generate_series(1, 1500) i"
    )
    admin.execute("CREATE INDEX ON kb.docs USING hnsw (embedding vector_cosine_ops); ANALYZE kb.docs")
    if not exact:
        monkeypatch.setattr(table_search, "EXACT_ROWS", 0)
    table = opened(filter={"n": 3})
    assert ("enable_indexscan" in looked(table).settings) is exact
    assert len(ask(table, limit=10)) == 6


def looked(table: PostgresTable) -> Search:
    """How the table is searched, as was found out when it was opened."""
    assert table._looked is not None
    return table._looked[0]


def test_large_tables_use_the_index(admin: Admin, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit the statement can be an index scan; below it, never."""
    admin.execute(
        "INSERT INTO kb.docs (id, body, embedding) SELECT 'x' || i, 'text', ARRAY[1, i, random()]::vector "
        "FROM generate_series(1, 500) i"
    )
    admin.execute("CREATE INDEX ON kb.docs USING hnsw (embedding vector_cosine_ops); ANALYZE kb.docs")

    def plan(table: PostgresTable) -> str:
        search = looked(table)

        def work(connection: psycopg.Connection[Any]) -> str:
            explained = sql.SQL("EXPLAIN {}").format(search.statement)
            return str(connection.execute(explained, {"vector": "[1,0,0]", "limit": 5}).fetchall())

        deadline = Deadline(time.monotonic() + 5, time.monotonic)
        settings = {**search.settings, "enable_seqscan": "off"}  # the table is not large
        return table._sessions.run(work, deadline, settings=settings)

    assert "Index Scan" not in plan(opened())
    monkeypatch.setattr(table_search, "EXACT_ROWS", 100)
    assert "Index Scan using docs_embedding_idx" in plan(opened())


def test_many_may_ask_at_once(opened: Open) -> None:
    """Forty questions in twenty threads all get the whole answer; few sessions stay."""
    table = opened()
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: [h.key for h in ask(table)], range(40)))
    assert answers == [["a-1", "a-2", "a-3", "a-4"]] * 40
    assert 1 <= table._sessions._pool.checkedin() <= table_sessions.MOST_IDLE


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3).filter(lambda v: np.linalg.norm(v) > 1e-3))
def test_scores_are_the_rescaled_cosine(opened: Open, vector: list[float]) -> None:
    """For any question vector each score is the rescaled cosine, and scores never rise."""
    hits = ask(opened(lazy=True), vector=vector)
    unit = np.asarray(vector) / np.linalg.norm(vector)
    cosines = {key: float(unit @ stored) / float(np.linalg.norm(stored)) for key, _, stored, *_ in ROWS if stored}
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    for hit in hits:
        assert hit.score == pytest.approx(rescale(cosines[hit.key], (0.0, 1.0)), abs=1e-5)


# --- what the settings may say ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"table": "kb.absent"}, "no table 'absent' in schema 'kb'"),
        ({"table": "docs"}, "no table 'docs' in schema 'public'"),
        ({"table": "KB.DOCS"}, "no table 'DOCS' in schema 'KB'"),
        ({"table": "a.b.c"}, "table: "),
        ({"table": ""}, "table: "),
        ({"columns": {**COLUMNS, "text": "文本"}}, "no column '文本'; it has body, embedding, id"),
        ({"columns": {**COLUMNS, "vector": "body"}}, "column 'body' is text, not vector"),
        ({"columns": {**COLUMNS, "metadata": "title"}}, "column 'title' is no json"),
        ({"columns": {"id": "id", "text": "body"}}, "columns.vector: Field required"),
        ({"columns": {**COLUMNS, "vektor": "embedding"}}, "columns.vektor: "),
        ({"filter": {"absent": 1}}, "no column 'absent'"),
        ({"filter": {"title": 1}}, "another table than the settings describe .42883."),
        ({"filter": {"n": "seven"}}, "cannot be compared .22P02."),
        ({"filter": {"n": [1, 2]}}, "filter.n"),
        ({"dimension": 4}, "vectors of 3 dimensions, the settings say 4"),
        ({"dimension": "3"}, "dimension: "),
        ({"dimension": 0}, "dimension: "),
        ({"dimension": ...}, "dimension: Field required"),
        ({"distance": "l2"}, "distance: "),
        ({"scale": [1.0, 0.0]}, "two rising cosines"),
        ({"encoder": ""}, "encoder: "),
        ({"dsn_env": "postgresql://u:Geheim@h/db"}, "dsn_env: "),
        ({"dsn_env": "WENYUAN_NOT_SET"}, "variable WENYUAN_NOT_SET is not set"),
        ({"colums": {}}, "colums: there is no such setting; did you mean 'columns'"),
        ({"timeout": 0}, "timeout: "),
    ],
)
def test_wrong_settings_are_refused_when_opening(opened: Open, changes: dict[str, Any], says: str) -> None:
    """Every setting that cannot be right is a ConfigError that names source and setting, never the value of a secret."""
    with pytest.raises(ConfigError, match=says) as caught:
        opened(**changes)
    assert str(caught.value).startswith("source kb-1")
    assert "Geheim" not in "".join(traceback.format_exception(caught.value))


def test_another_encoder_is_refused() -> None:
    """Model and dimension that the settings name must be those of the encoder that will embed questions."""
    encoder = EncoderFingerprint(id="bge-m3", sha256="", dimension=3)
    with pytest.raises(ConfigError, match=r"its vectors are of e5 \(3 dimensions\).*bge-m3 \(3\)"):
        open_attached(source(encoder="e5"), encoder=encoder)
    with pytest.raises(ConfigError, match="cannot be compared"):
        open_attached(source(dimension=4), encoder=encoder)


def test_the_same_encoder_is_accepted_by_id_and_by_key(admin: Admin) -> None:
    """An encoder may be named by its id or by its whole fingerprint."""
    encoder = EncoderFingerprint(id="bge-m3", sha256="ab", dimension=3)
    for name in (encoder.id, encoder.key):
        open_attached(source(encoder=name), encoder=encoder).close()


def test_what_is_no_connection_string_is_not_shown(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection string that cannot be read is a ConfigError that names its variable, and shows nothing of it."""
    monkeypatch.setenv(DSN_VARIABLE, "Geheim-0815 at db.internal")
    with pytest.raises(ConfigError, match="what WENYUAN_TABLE_DSN holds is no connection string") as caught:
        open_attached(source())
    shown = "".join(traceback.format_exception(caught.value))
    assert "Geheim" not in shown
    assert "db.internal" not in shown


def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing driver is a ConfigError that says what to install."""
    monkeypatch.setenv(DSN_VARIABLE, "host=127.0.0.1")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for module in ("postgres", "table_search", "table_sessions"):
        monkeypatch.delitem(sys.modules, f"wenyuan.engines.external.{module}", raising=False)
    open_source = app._open_outside(SPEC, "ours", SourcesSettings(), None)
    with pytest.raises(ConfigError, match="driver of PostgreSQL") as caught:
        open_source(source())
    assert caught.value.hint == install_command("postgres")


def test_lazy_sources_are_checked_at_the_first_question(opened: Open) -> None:
    """A lazy source opens whatever its table is, and its first question fails."""
    table = opened(lazy=True, table="kb.absent")
    with pytest.raises(EngineUnavailable, match="no table 'absent'"):
        ask(table)


# --- hostile names, values and rows -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ['docs"; DROP SCHEMA kb; --', "docs; DROP SCHEMA kb", "docs WHERE 1=1 --", "docs%s", "%(f0)s", "do cs", "库'"],
)
def test_a_hostile_name_is_a_name(admin: Admin, opened: Open, name: str) -> None:
    """A table and a column called like an attack are searched when they exist, and are refused when they do not."""
    with pytest.raises(ConfigError, match="no table"):
        opened(table=f"kb.{name}")
    with pytest.raises(ConfigError, match="no column"):
        opened(columns={**COLUMNS, "title": name})
    table = sql.Identifier("kb", name)
    admin.execute(sql.SQL("CREATE TABLE {} AS SELECT * FROM kb.docs").format(table))
    admin.execute(sql.SQL("ALTER TABLE {} RENAME title TO {}").format(table, sql.Identifier(name)))
    hit, *_ = ask(opened(table=f"kb.{name}", columns={**COLUMNS, "title": name}, filter={name: "财务制度"}))
    assert (hit.key, hit.title) == ("a-1", "财务制度")
    admin.execute(sql.SQL("DROP TABLE {}").format(table))
    assert admin.execute("SELECT count(*) FROM kb.victim").fetchone() == (0,)


@pytest.mark.parametrize(
    "value", ["x' OR '1'='1", "x'; DROP TABLE kb.victim; --", "%(vector)s", "\\", "财务制度' --"]
)
def test_a_hostile_value_is_a_value(admin: Admin, opened: Open, value: str) -> None:
    """A filter's value is compared, not executed: it matches the row that holds it and no other."""
    assert ask(opened(filter={"title": value})) == []
    admin.execute("UPDATE kb.docs SET title = %s WHERE id = 'a-2'", (value,))
    assert [h.key for h in ask(opened(filter={"title": value}))] == ["a-2"]


def test_a_value_that_postgresql_cannot_hold_is_an_error(opened: Open) -> None:
    """NUL in a filter is refused when opening."""
    with pytest.raises(ConfigError):
        opened(filter={"title": "a\0b"})


def test_a_search_cannot_write(admin: Admin, opened: Open) -> None:
    """A view whose function writes fails in the read-only session, and nothing is written."""
    admin.execute(
        "CREATE OR REPLACE FUNCTION kb.spill() RETURNS int LANGUAGE sql VOLATILE AS "
        "'INSERT INTO kb.victim VALUES (1) RETURNING 1'"
    )
    admin.execute("CREATE OR REPLACE VIEW kb.leaky AS SELECT d.* FROM kb.docs d, kb.spill() s")
    table = opened(lazy=True, table="kb.leaky")
    with pytest.raises(EngineUnavailable, match="25006"):
        ask(table)
    assert admin.execute("SELECT count(*) FROM kb.victim").fetchone() == (0,)


def test_a_vector_without_direction_is_an_error(admin: Admin, opened: Open) -> None:
    """A stored zero vector, whose cosine is NaN, fails the question with a way out; pgvector itself refuses NaN."""
    admin.execute("UPDATE kb.docs SET embedding = '[0,0,0]' WHERE id = 'a-3'")
    with pytest.raises(EngineUnavailable, match="a vector that has no direction") as caught:
        ask(opened())
    assert "NULL" in caught.value.hint
    assert [h.key for h in ask(opened(), limit=3)] == ["a-1", "a-2", "a-4"]
    with pytest.raises(psycopg.errors.DataException, match="NaN not allowed"):
        admin.execute("UPDATE kb.docs SET embedding = '[NaN,0,0]'")


def test_vectors_of_several_dimensions_are_an_error(admin: Admin, opened: Open) -> None:
    """A column without a declared dimension that holds another one is refused."""
    admin.execute("ALTER TABLE kb.docs ALTER embedding TYPE vector")
    admin.execute("UPDATE kb.docs SET embedding = '[1,2]' WHERE id = 'a-2'")
    with pytest.raises(ConfigError, match=r"cannot be compared \(22"):
        opened()


def test_ids_that_are_not_unique_are_an_error(admin: Admin, opened: Open) -> None:
    """Two rows of one id cannot both be named, so the question fails."""
    admin.execute("UPDATE kb.docs SET n = 1")
    with pytest.raises(EngineUnavailable, match="'n' is not unique"):
        ask(opened(columns={**COLUMNS, "id": "n"}))


@pytest.mark.parametrize(
    "vector", [None, [0, 0, 0], [1, 0], [[1, 0, 0]], [float("nan"), 0, 0], [float("inf"), 0, 0], ["1", "0", "0"]]
)
def test_a_question_without_a_vector_is_refused(opened: Open, vector: Any) -> None:
    """The question's own vector is checked: no NaN, no zero, no other dimension reaches the database."""
    with pytest.raises(VectorRejected, match="source kb-1 at "):
        ask(opened(), vector=vector)


# --- what breaks --------------------------------------------------------------------------------------------------


def test_a_slow_search_ends_at_the_deadline(admin: Admin, opened: Open, slow: Callable[[float], None]) -> None:
    """The question fails at its deadline, and the server has stopped working on it soon after."""
    table = opened(table="kb.slow")
    slow(HANGS)
    with in_time(0.35), pytest.raises(EngineTimeout, match="source kb-1 at "):
        ask(table, seconds=0.4)
    for _ in range(1_000):
        working = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%kb%slow%LIMIT%'"
        if admin.execute(working + " AND pid <> pg_backend_pid()").fetchone() == (0,):
            break
        time.sleep(0.02)
    else:
        pytest.fail("the server still works on a question that was given up")
    slow(0)
    assert len(ask(table)) == 4


def test_the_sources_own_timeout_counts_too(opened: Open, slow: Callable[[float], None]) -> None:
    """A timeout shorter than the deadline ends the question."""
    table = opened(table="kb.slow", timeout=0.3)
    slow(HANGS)
    with in_time(), pytest.raises(EngineTimeout):
        ask(table)


def test_a_server_that_obeys_no_timeout_is_cancelled(
    admin: Admin, opened: Open, slow: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a statement timeout of the server's own, the client gives up in time and cancels the statement."""
    table = opened(table="kb.slow")
    slow(HANGS)
    monkeypatch.setattr(postgres_sessions, "allow", lambda *_, **__: None)
    with in_time(), pytest.raises(EngineTimeout, match="no answer in time"):
        ask(table, seconds=0.3)
    left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'wenyuan' AND datname = current_database()"
    for _ in range(1_500):
        waiting = [t for t in threading.enumerate() if t.name == "wenyuan-postgres"]
        if not waiting and admin.execute(left).fetchone() == (0,):
            break
        time.sleep(0.02)
    else:
        pytest.fail("the statement was not cancelled")


def test_a_deadline_that_has_passed_asks_nobody(opened: Open) -> None:
    """Nothing is connected to when there is no time left."""
    table = opened(lazy=True, dsn_env=DSN_VARIABLE)
    with pytest.raises(EngineTimeout):
        table.ask("x", vector=QUERY, limit=1, as_of=date(2026, 6, 1), deadline=Deadline(1.0, lambda: 2.0))
    assert table._sessions._pool.checkedin() == 0


def killed(admin: Admin, state: str) -> int:
    """Ends the sessions that ask, or that wait to."""
    return len(
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'wenyuan' AND state = %s AND pid <> pg_backend_pid()",
            (state,),
        ).fetchall()
    )


def test_a_connection_killed_while_it_searches_is_a_failure(
    admin: Admin, opened: Open, slow: Callable[[float], None]
) -> None:
    """A session ended in the middle of a question fails it, with what PostgreSQL says."""
    table = opened(table="kb.slow", lazy=True)
    slow(10)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, table)
        for _ in range(200):
            time.sleep(0.02)
            if killed(admin, "active"):
                break
        with pytest.raises(EngineUnavailable, match=r"has ended the connection \(57P01\)") as caught:
            answer.result(5)
    assert postgres_server.PASSWORD not in "".join(traceback.format_exception(caught.value))


def test_a_connection_lost_while_idle_is_made_again(admin: Admin, opened: Open) -> None:
    """A kept session that the server has ended does not fail the next question."""
    table = opened()
    assert killed(admin, "idle") >= 1
    assert len(ask(table)) == 4


def test_what_asking_again_cannot_mend_is_not_asked_again(
    admin: Admin, opened: Open, slow: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kept session on which the statement itself fails is not replaced by a new one."""
    table = opened(table="kb.slow")
    admin.execute(
        "CREATE OR REPLACE FUNCTION kb.full() RETURNS float LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$"
    )
    admin.execute("CREATE OR REPLACE VIEW kb.slow AS SELECT d.* FROM kb.docs d, (SELECT kb.full()) s")
    monkeypatch.setattr(table._sessions, "_connect", lambda: pytest.fail("asked again"))
    with pytest.raises(EngineUnavailable, match="has no room"):
        ask(table)


def test_a_table_that_changes_is_a_failure(admin: Admin, opened: Open) -> None:
    """A column that has gone since the source was opened fails the question; it is no empty answer."""
    table = opened()
    admin.execute("ALTER TABLE kb.docs DROP title")
    with pytest.raises(EngineUnavailable, match=r"another table than the settings describe \(42703\)"):
        ask(table)
    with pytest.raises(EngineUnavailable, match="no column 'title'"):
        ask(table)


def test_rights_are_needed(admin: Admin, opened: Open, prepared: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who may not read the table is told so when opening."""
    admin.execute("DROP ROLE IF EXISTS wenyuan_reader")
    admin.execute("CREATE ROLE wenyuan_reader LOGIN PASSWORD 'r'; GRANT USAGE ON SCHEMA kb, ext TO wenyuan_reader")
    monkeypatch.setenv(DSN_VARIABLE, make_conninfo(prepared, user="wenyuan_reader", password="r"))
    with pytest.raises(ConfigError, match="does not let its user read the table"):
        opened()
    admin.execute("GRANT SELECT ON kb.docs TO wenyuan_reader")
    assert len(ask(opened())) == 4
    admin.execute("DROP OWNED BY wenyuan_reader; DROP ROLE wenyuan_reader")


@pytest.mark.parametrize(
    "wrong", [{"password": "Falsch-4711"}, {"user": "niemand"}, {"dbname": "nirgends"}, {"port": 1}, {"host": ".."}]
)
def test_a_database_that_refuses_is_unavailable(
    prepared: str, monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    """Wrong password, user, database, port or host: unavailable, and no secret in the message or its causes."""
    monkeypatch.setenv(DSN_VARIABLE, make_conninfo(prepared, **wrong))
    with pytest.raises(EngineUnavailable, match="source kb-1 at ") as caught:
        open_attached(source())
    shown = "".join(traceback.format_exception(caught.value))
    assert postgres_server.PASSWORD not in shown
    assert "Falsch-4711" not in shown


def test_a_server_that_says_nothing_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that accepts and is silent costs no more than the deadline, at opening and at asking."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv(DSN_VARIABLE, f"host=127.0.0.1 port={silent.getsockname()[1]} user=x connect_timeout=60")
        with in_time(), pytest.raises(EngineTimeout, match=r"source kb-1 at 127\.0\.0\.1:"):
            open_attached(source(timeout=0.3))
        table = open_attached(source(), lazy=True)
        with in_time(), pytest.raises(EngineTimeout):
            ask(table, seconds=0.2)
        table.close()


def test_a_closed_source_answers_nothing(opened: Open) -> None:
    """After closing, a question fails and no session is left."""
    table = opened()
    table.close()
    with pytest.raises(EngineUnavailable, match="is closed"):
        ask(table)
    assert table._sessions._pool.checkedin() == 0


def test_a_local_socket_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path on this machine does not stand in messages."""
    monkeypatch.setenv(DSN_VARIABLE, "host=/var/run/secret-place user=x")
    table = open_attached(source(), lazy=True)
    assert table.component == "source kb-1 at a local socket"
    table.close()


# --- translation --------------------------------------------------------------------------------------------------


def test_every_exception_of_the_driver_is_meant() -> None:
    """Each of psycopg's exceptions is caught and becomes one of ours, without its text; there are more than 200."""
    kinds = postgres_server.drivers_exceptions()
    assert len(kinds) > 200
    assert [kind.__name__ for kind in kinds if not issubclass(kind, postgres.FAILURES)] == []
    for kind in kinds:
        failure = translate_error(kind("postgresql://u:Geheim@h/db"), "source kb-1")
        assert isinstance(failure, EngineUnavailable | EngineTimeout)
        assert str(failure).startswith("source kb-1: ")
        assert "Geheim" not in str(failure)


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (psycopg.errors.QueryCanceled, EngineTimeout, "in time"),
        (psycopg.errors.ConnectionTimeout, EngineTimeout, "in time"),
        (psycopg.errors.LockNotAvailable, EngineTimeout, "in time"),
        (psycopg.errors.InvalidPassword, EngineUnavailable, "user or password .28P01."),
        (psycopg.errors.TooManyConnections, EngineUnavailable, "no room"),
        (psycopg.errors.DiskFull, EngineUnavailable, "no room"),
        (psycopg.errors.AdminShutdown, EngineUnavailable, "stopping"),
        (psycopg.errors.CannotConnectNow, EngineUnavailable, "starting"),
        (psycopg.errors.InvalidCatalogName, EngineUnavailable, "no such database"),
        (psycopg.errors.DataCorrupted, EngineUnavailable, "failed .DataCorrupted XX001."),
        (psycopg.OperationalError, EngineUnavailable, "cannot be reached"),
        (ConnectionResetError, EngineUnavailable, "cannot be reached"),
        (psycopg.Warning, EngineUnavailable, "failed .Warning."),
    ],
)
def test_the_message_says_what_to_look_at(error: type[Exception], kind: type[EngineError], says: str) -> None:
    """What is late is a timeout; the rest says what refused."""
    with pytest.raises(kind, match=says):
        raise translate_error(error("x"), "source kb-1")
