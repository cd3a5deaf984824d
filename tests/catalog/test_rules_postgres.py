"""The rules graph on PostgreSQL: the same tables and the same SQL say the same as on SQLite."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from catalog_parts import new_catalog
from wenyuan.catalog import schema
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.rules.graph import RulesGraph
from wenyuan.catalog.rules.rows import HeldNode, HeldStatement
from wenyuan.catalog.rules.writes import RuleWrites, drop_evidence_of
from wenyuan.core.errors import CatalogUnavailable, EngineTimeout
from wenyuan.core.ports import Deadline
from wenyuan.core.rules.checking import check_book
from wenyuan.core.rules.graph import View
from wenyuan.core.rules.inference import Inference, Start, infer
from wenyuan.core.rules.schema_parser import parse_schema
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book

TODAY = date(2026, 6, 1)
REMOVED = "mohurd_37"


class Here:
    """A place that has nothing but one engine."""

    def __init__(self, engine: sa.Engine) -> None:
        self.reader = self.writer = self.claims = engine

    def version(self) -> int:
        return 0

    def held(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        return nullcontext()


class Rules:
    """The rules of a catalog that lies in PostgreSQL."""

    def __init__(self, engine: sa.Engine) -> None:
        self.database = Database(Here(engine))  # type: ignore[arg-type]
        self.rules, writes = RulesGraph(engine), RuleWrites(self.database)
        self.apply_rules, self.review_rules = writes.apply_rules, writes.review_rules


@pytest.fixture(scope="module")
def pack() -> Any:
    """The construction pack, checked."""
    with located("construction") as folder:
        book = read_book(folder)
    assert book.schema_tree is not None
    found = parse_schema(book.schema_tree)
    sources = {declared.source.source_id for declared in book.sources}
    return found, check_book(book, found, known={}, sources=sources, default_source=None, default_status=None)


@pytest.fixture(scope="module")
def elsewhere(database: str) -> Iterator[sa.Engine]:
    """A schema of PostgreSQL with the tables of the rules."""
    import psycopg

    def connect() -> Any:
        return psycopg.connect(database, options="-c search_path=rules_graph")

    engine = sa.create_engine("postgresql+psycopg://", creator=connect)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE SCHEMA rules_graph"))
        schema.tables.create_all(connection)
        schema.rules_tables.create_all(connection)
    yield engine
    with engine.begin() as connection:
        connection.execute(sa.text("DROP SCHEMA rules_graph CASCADE"))
    engine.dispose()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, elsewhere: sa.Engine, pack: Any) -> Iterator[tuple[Any, Any]]:
    """The same pack in SQLite and in PostgreSQL; then changed, reviewed, and without one of its sources."""
    _, checked = pack
    with new_catalog(Path(tmp_path_factory.mktemp("rules")) / "library") as here:
        there = Rules(elsewhere)
        reports = [one.apply_rules("construction", nodes=checked.nodes, statements=checked.statements, prune=True)
                   for one in (here, there)]  # fmt: skip
        assert replace(reports[0], seq=None) == replace(reports[1], seq=None)
        assert reports[0].statements_added > 400
        for one in (here, there):
            one.review_rules([1, 2], "reject", actor="a", reason="r")
            one.review_rules([3], "retire", actor="a")
            with one.database.writer.begin() as connection:
                drop_evidence_of(connection, next_seq(connection, REMOVED), REMOVED)
        yield here, there


def soon() -> Deadline:
    return Deadline(time.monotonic() + 60, time.monotonic)


def view(pack: Any, **more: Any) -> View:
    sources = {e.source_id for s in pack[1].statements for e in s.evidences}
    return View(trusts=dict.fromkeys(sorted(sources), 5), day=TODAY, **more)


def nodes(one: Any) -> dict[str, int]:
    return {entry.node.key: entry.node_id for entry in one.rules.live_book() if isinstance(entry, HeldNode)}


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_edges(both: tuple[Any, Any], pack: Any, inverse: bool, first: bool) -> None:
    """Every hop from every node gives the same statements with the same evidence, as they are and as they were."""
    here, there = both
    kinds = sorted(pack[0].relations)
    assert nodes(here) == nodes(there)
    for at, limit in (((1 if first else None), 500), ((1 if first else None), 3)):
        edges = [
            one.rules.edges(list(nodes(one).values()), kinds, view=view(pack, at=_commit(one, at)), limit=limit,
                            deadline=soon(), inverse=inverse)
            for one in both
        ]  # fmt: skip
        assert edges[0] == edges[1]
        assert len(edges[0]) == limit + 1 or limit > 3


def _commit(one: Any, number: int | None) -> int | None:
    """The commit of an import; a catalog of its own has made others before."""
    if number is None:
        return None
    with one.database.reader.connect() as connection:
        return int(connection.scalar(sa.select(sa.func.min(schema.nodes.c.seq))) or 0)


def test_inference(both: tuple[Any, Any], pack: Any) -> None:
    """From every node the same rules follow, with the same paths, scores and evidence."""
    derived: list[list[Inference]] = [
        [
            infer(one.rules, pack[0], [Start(number)], view=view(pack), parameters={"depth_m": 6}, deadline=soon())
            for number in sorted(nodes(one).values())[:80]
        ]
        for one in both
    ]
    assert derived[0] == derived[1]
    assert sum(len(found.rules) for found in derived[0]) > 100


def test_books(both: tuple[Any, Any]) -> None:
    """Lists, counts, names and single statements are the same, and a statement's past too."""
    here, there = both
    assert list(here.rules.lexicon()) == list(there.rules.lexicon())
    assert here.rules.counts() == there.rules.counts()
    kept = [
        [e.statement for e in one.rules.live_book("construction") if isinstance(e, HeldStatement)] for one in both
    ]
    assert kept[0] == kept[1] != []
    for number in (1, 3, 40):
        assert here.rules.statement(number).statement == there.rules.statement(number).statement
        fates = [one.rules.statement_fate(number, TODAY) for one in both]
        assert fates[0]["state"] == fates[1]["state"]
        assert len(fates[0]["lost"]) == len(fates[1]["lost"])
    found = [[n.key for n in one.rules.find_nodes("基坑", limit=9)] for one in both]
    assert found[0] == found[1] != []


def test_second_import(both: tuple[Any, Any], pack: Any) -> None:
    """Saying the same again restores on either what the source took, and then changes nothing."""
    _, checked = pack
    again = [one.apply_rules("construction", nodes=checked.nodes, statements=checked.statements, prune=True)
             for one in (*both, *both)]  # fmt: skip
    assert replace(again[0], seq=None) == replace(again[1], seq=None)
    assert again[0].evidences_added > 0
    assert (again[2].seq, again[3].seq) == (None, None)


def test_deadline(elsewhere: sa.Engine, both: tuple[Any, Any], pack: Any) -> None:
    """A walk that takes too long is stopped inside of PostgreSQL."""
    with elsewhere.connect() as other:
        other.execute(sa.text("LOCK TABLE rule_statements IN ACCESS EXCLUSIVE MODE"))
        late = Deadline(time.monotonic() + 0.2, time.monotonic)
        with pytest.raises(EngineTimeout, match="deadline"):
            RulesGraph(elsewhere).edges([1], ["triggers"], view=view(pack), limit=5, deadline=late)
        other.rollback()


def test_no_table(database: str) -> None:
    """Without its tables the graph is unavailable, not empty."""
    import psycopg

    engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(database))
    with pytest.raises(CatalogUnavailable):
        RulesGraph(engine).version()
    engine.dispose()
