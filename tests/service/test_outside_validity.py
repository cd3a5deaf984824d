"""What is in force of sources that lie elsewhere: a service that knows no days, a table with columns for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from attached_table import COLUMNS, DSN_VARIABLE, Admin, Open, database_for_tables, filled, opening
from attached_table import QUERY as VECTOR
from scripted_server import Scripted, reply, scripted
from wenyuan.cli.root import app
from wenyuan.core.errors import ConfigError
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.ports import Deadline
from wenyuan.engines.external import table_search
from wenyuan.service.search.searcher import SearchRequest

DAYS = {"effective_from": "since", "effective_until": "until"}
ROWS_OF_DAYS = """
ALTER TABLE kb.docs ADD since {kind}, ADD until {kind};
UPDATE kb.docs SET until = '2025-12-31' WHERE id = 'a-1';
UPDATE kb.docs SET since = '2026-01-01', until = '2026-06-01' WHERE id = 'a-2';
UPDATE kb.docs SET since = '2026-06-02' WHERE id = 'a-3';
"""


# --- a table ------------------------------------------------------------------------------------------------
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


def keys(table: Any, day: date, limit: int = 10) -> list[str]:
    import time

    deadline = Deadline(time.monotonic() + 20, time.monotonic)
    return [h.key for h in table.ask("报销", vector=VECTOR, limit=limit, as_of=day, deadline=deadline)]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_rows_count_on_their_days(admin: Admin, opened: Open, kind: str) -> None:
    """A row counts from its first day to its last, both included; without a day it has no bound."""
    admin.execute(ROWS_OF_DAYS.format(kind=kind))
    table = opened(columns={**COLUMNS, **DAYS})
    assert keys(table, date(2025, 12, 31)) == ["a-1", "a-4"]
    assert keys(table, date(2026, 1, 1)) == ["a-2", "a-4"]
    assert keys(table, date(2026, 6, 1)) == ["a-2", "a-4"]
    assert keys(table, date(2026, 6, 2)) == ["a-3", "a-4"]


def test_one_of_the_columns_is_enough(admin: Admin, opened: Open) -> None:
    """A table may know only when its rows end."""
    admin.execute(ROWS_OF_DAYS.format(kind="date"))
    assert keys(opened(columns={**COLUMNS, "effective_until": "until"}), date(2026, 6, 1)) == ["a-2", "a-3", "a-4"]


def test_hits_say_their_days(admin: Admin, opened: Open) -> None:
    """A hit carries its days; PostgreSQL's infinity is no day, and no bound."""
    admin.execute(ROWS_OF_DAYS.format(kind="date"))
    admin.execute("UPDATE kb.docs SET until = 'infinity', since = '-infinity' WHERE id = 'a-4'")
    table = opened(columns={**COLUMNS, **DAYS})
    import time

    deadline = Deadline(time.monotonic() + 20, time.monotonic)
    hits = table.ask("x", vector=VECTOR, limit=9, as_of=date(2026, 6, 1), deadline=deadline)
    assert [(h.effective_from, h.effective_until) for h in hits] == [
        (date(2026, 1, 1), date(2026, 6, 1)),
        (None, None),
    ]


@pytest.mark.parametrize("exact", [True, False])
def test_rows_out_of_force_take_nobodys_place(
    admin: Admin,
    opened: Open,
    monkeypatch: pytest.MonkeyPatch,
    exact: bool,
) -> None:
    """With 1,500 nearer rows that have ended, the six that count are all found, with an HNSW index, too."""
    admin.execute(
        "ALTER TABLE kb.docs ADD since date, ADD until date; DELETE FROM kb.docs; "
        "INSERT INTO kb.docs (id, body, embedding, until) SELECT 'x' || i, 'text', "
        "ARRAY[1, i / 1500.0, 0]::vector, CASE WHEN i % 250 = 249 THEN NULL ELSE date '2020-01-01' END "
        "FROM generate_series(1, 1500) i; CREATE INDEX ON kb.docs USING hnsw (embedding vector_cosine_ops)"
    )
    admin.execute("ANALYZE kb.docs")
    if not exact:
        monkeypatch.setattr(table_search, "EXACT_ROWS", 0)
    found = keys(opened(columns={**COLUMNS, **DAYS}), date(2026, 6, 1), limit=6)
    assert sorted(found) == sorted(f"x{n}" for n in (249, 499, 749, 999, 1249, 1499))


@pytest.mark.parametrize(("column", "says"), [("title", "text, no date"), ("gone", "no column 'gone'")])
def test_a_column_that_holds_no_days_is_refused(
    opened: Open,
    column: str,
    says: str,
) -> None:
    """A column of texts, or one that is not there, is a fault of the settings."""
    with pytest.raises(ConfigError, match=says):
        opened(columns={**COLUMNS, "effective_from": column})


# --- a service ----------------------------------------------------------------------------------------------
def fragment(number: int, **metadata: Any) -> dict[str, Any]:
    return {
        "source": f"kb:law#{number}",
        "content": f"第{number}条 投诉应当答复。",
        "retrieval_score": 0.9 - number / 100,
        "metadata": metadata,
    }


FRAGMENTS = [
    fragment(1, effective_until="2025-12-31"),
    fragment(2, effective_from="2026-01-01", effective_until="2026-06-01"),
    fragment(3, effective_from="2026-06-02"),
    fragment(4, effective_from="bald"),
    fragment(5, effective_from=None, effective_until=""),
]


@contextmanager
def asking(folder: Path, server: Scripted, **more: Any) -> Iterator[wenyuan.Library]:
    settings = {"url": f"http://127.0.0.1:{server.port}", "allow_private": True}
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.catalog.put_source(
            wenyuan.Source(source_id="partner", type="api", domain="法规", settings=settings, **more)
        )
        yield library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with (
        scripted(reply(200, {"status": "SUCCESS", "fragments": FRAGMENTS})) as server,
        asking(tmp_path, server) as made,
    ):
        yield made


def test_nothing_is_said_of_what_only_others_were_asked(library: wenyuan.Library) -> None:
    """That our own sources hold an answer is neither likely nor unlikely where none of them was searched."""
    answer = library.search("投诉", limit=9)
    assert answer.hits
    assert answer.answerable is None
    assert library.find(SearchRequest(query="投诉")).answerable is None


@pytest.mark.parametrize(("day", "numbers"), [("2025-06-01", "1 5"), ("2026-06-01", "2 5"), ("2026-06-02", "3 5")])
def test_fragments_count_on_their_days(library: wenyuan.Library, day: str, numbers: str) -> None:
    """A fragment whose metadata says that it is not in force on the day is not given, nor one that says no day."""
    asked = RetrievalRequest(query="投诉 答复", max_results=5, context={"as_of": day})
    given = library.retrieve_fragments(asked).fragments
    assert [f.source.partition("#")[2] for f in given] == numbers.split()


def test_what_is_withheld_is_counted(library: wenyuan.Library) -> None:
    """The leg says how many were not in force, in the answer and in the audit."""
    found = library.find(SearchRequest(query="投诉 答复", as_of=date(2026, 6, 1)))
    (leg,) = (leg for leg in found.legs if leg.name == "source partner")
    assert (leg.hits, leg.withheld) == (2, 3)
    library.audit.flush()
    (legs,) = (r.record["legs"] for r in library.audit.list() if r.kind == "retrieval")
    assert {"hits": 2, "withheld": 3}.items() <= next(x for x in legs if x["name"] == "source partner").items()


def test_the_days_of_a_fragment_come_before_its_sources(tmp_path: Path) -> None:
    """A passage says the days of its fragment where it has some, and those of its source where it has none."""
    more = {"effective_from": date(2020, 1, 1)}
    answer = reply(200, {"status": "SUCCESS", "fragments": FRAGMENTS})
    with scripted(answer) as server, asking(tmp_path, server, **more) as library:
        asked = RetrievalRequest(query="投诉", max_results=5, context={"as_of": "2026-06-01"})
        second, fifth = library.retrieve_fragments(asked).fragments
    assert second.metadata is not None
    assert (second.metadata["effective_from"], second.metadata["effective_until"]) == ("2026-01-01", "2026-06-01")
    assert fifth.metadata is not None
    assert fifth.metadata["effective_from"] == "2020-01-01"


@pytest.mark.parametrize(("lang", "says"), [("en", "not in force on the day: 3"), ("zh", "当日未生效或已失效：3")])
def test_explain_names_every_leg(tmp_path: Path, lang: str, says: str) -> None:
    """search --explain shows a source elsewhere as a leg, with what was withheld."""
    answer = reply(200, {"status": "SUCCESS", "fragments": FRAGMENTS})
    with scripted(answer) as server:
        with asking(tmp_path, server):
            pass
        args = ["--library", str(tmp_path / "library"), "--lang", lang, "search", "投诉 答复", "--explain"]
        environment = {"WENYUAN_ENCODER__KIND": "hashing"}
        done = CliRunner().invoke(app, [*args, "--as-of", "2026-06-01"], env=environment)
    assert done.exit_code == 0, done.output
    assert says in done.output
    assert ("source partner" if lang == "en" else "来源 partner") in done.output
