"""Whatever packs, people and sources do to the rules graph: what is walked is what a plain reading of it gives."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from catalog_parts import new_catalog, soon
from wenyuan.catalog import Catalog
from wenyuan.catalog.rules.rows import HeldNode, HeldStatement
from wenyuan.core.model import Source
from wenyuan.core.rules.graph import Edge, View
from wenyuan.core.rules.model import Evidence, Node, Statement, StatementStatus, Strength

FIRST = date(2026, 1, 1)
NODES = tuple(Node(key=f"k/{n}", kind="k", name=f"节点{n}") for n in range(5))
SOURCES = ("s1", "s2", "s3")
RELATIONS = ("包含", "leads_to")
STRENGTHS: tuple[Strength, ...] = get_args(Strength)

days = st.integers(0, 3).map(lambda n: FIRST + timedelta(days=n))
proofs = st.builds(
    Evidence,
    source_id=st.sampled_from(SOURCES),
    uri=st.sampled_from(["urn:甲#一", "urn:b#2"]),
    trust=st.none() | st.integers(1, 5),
)


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    ends = sorted((draw(days), draw(days)))
    return Statement(
        src=draw(st.sampled_from(NODES)).key,
        dst=draw(st.sampled_from(NODES)).key,
        rel=draw(st.sampled_from(RELATIONS)),
        condition=draw(st.sampled_from(["", "depth_m >= 5.0"])),
        strength=draw(st.sampled_from(STRENGTHS)),
        weight=draw(st.sampled_from([0.0, 0.5, 1.0])),
        status=draw(st.sampled_from(get_args(StatementStatus))) if draw(st.integers(0, 3)) == 0 else "approved",
        valid_from=draw(st.none() | st.just(ends[0])),
        valid_until=draw(st.none() | st.just(ends[1])),
        evidences=tuple(draw(st.lists(proofs, min_size=1, max_size=3))),
    )


packs = st.sampled_from(["one", "two"])
steps = st.one_of(
    st.tuples(st.just("apply"), packs, st.lists(statements(), max_size=8), st.booleans()),
    st.tuples(st.just("review"), st.integers(0, 20), st.sampled_from(["approve", "reject", "retire"])),
    st.tuples(st.just("remove"), st.sampled_from(SOURCES)),
)


@dataclass(frozen=True)
class Moment:
    """The graph at a change, as a list; ``words`` of evidence are left out, since removal forgets them."""

    seq: int
    statements: tuple[HeldStatement, ...]
    numbers: Mapping[str, int]


def moment(catalog: Catalog) -> Moment:
    book = list(catalog.rules.live_book())
    return Moment(
        catalog.seq(),
        tuple(entry for entry in book if isinstance(entry, HeldStatement)),
        {entry.node.key: entry.node_id for entry in book if isinstance(entry, HeldNode)},
    )


def do(catalog: Catalog, step: Any) -> None:
    match step:
        case ("apply", pack, said, prune):
            catalog.apply_rules(pack, nodes=NODES, statements=said, prune=prune)
        case ("review", place, action):
            held = [e for e in catalog.rules.live_book() if isinstance(e, HeldStatement)]
            if held:
                catalog.review_rules([held[place % len(held)].statement_id], action, actor="someone")
        case ("remove", source):
            catalog.remove_source(source)
            catalog.put_source(Source(source_id=source))


def expected(now: Moment, nodes: Sequence[str], relations: Sequence[str], view: View, limit: int) -> list[Any]:
    found = []
    for held in now.statements:
        said = held.statement
        own = [min(view.trusts[e.source_id], e.trust or 5) for e in said.evidences if e.source_id in view.trusts]
        trusts = sorted(trust for trust in own if trust >= view.min_trust)
        in_force = (said.valid_from or date.min) <= view.day <= (said.valid_until or date.max)
        if said.src in nodes and said.rel in relations and said.status == "approved" and in_force and trusts:
            rank = STRENGTHS.index(said.strength)
            found.append((rank, -said.weight, held.statement_id, said.key, said.dst, trusts[::-1]))
    return sorted(found)[: limit + 1]


def shown(edges: Sequence[Edge], keys: Mapping[int, str]) -> list[Any]:
    return [
        (STRENGTHS.index(e.strength), -e.weight, e.statement_id,
         Statement(src=keys[e.src], rel=e.rel, dst=keys[e.dst], condition=e.condition).key,
         e.end.key, [s.trust for s in e.evidences])
        for e in edges
    ]  # fmt: skip


@settings(max_examples=12)
@given(
    done=st.lists(steps, min_size=1, max_size=6),
    trusts=st.dictionaries(st.sampled_from(SOURCES), st.integers(1, 5)),
    least=st.integers(1, 5),
    day=days,
    nodes=st.sets(st.sampled_from([n.key for n in NODES]), min_size=1),
    relations=st.sets(st.sampled_from(RELATIONS), min_size=1),
    limit=st.integers(0, 8),
)
def test_walk(
    done: Any, trusts: dict[str, int], least: int, day: date, nodes: set[str], relations: set[str], limit: int
) -> None:
    """Edges are those that a plain reading of the graph gives, as it is and as it was at each earlier change."""
    with tempfile.TemporaryDirectory() as folder, new_catalog(Path(folder) / "library") as catalog:
        catalog.put_source(Source(source_id="s3"))
        moments = [moment(catalog)]
        for step in done:
            do(catalog, step)
            moments.append(moment(catalog))
        for then in moments:
            for at in [then.seq, None] if then is moments[-1] else [then.seq]:
                view = View(trusts=trusts, day=day, min_trust=least, at=at)
                starts = [then.numbers[key] for key in sorted(nodes) if key in then.numbers]
                edges = catalog.rules.edges(starts, sorted(relations), view=view, limit=limit, deadline=soon())
                keys = {number: key for key, number in then.numbers.items()}
                assert shown(edges, keys) == expected(then, sorted(nodes), sorted(relations), view, limit)


@settings(max_examples=12)
@given(done=st.lists(steps, max_size=5), pack=packs, said=st.lists(statements(), max_size=8))
def test_import(done: Any, pack: str, said: list[Statement]) -> None:
    """After an import that says all, the pack has what it said, nothing else, and saying it again changes nothing."""
    with tempfile.TemporaryDirectory() as folder, new_catalog(Path(folder) / "library") as catalog:
        catalog.put_source(Source(source_id="s3"))
        for step in done:
            do(catalog, step)
        catalog.apply_rules(pack, nodes=NODES, statements=said, prune=True)
        held = {e.statement.key: e for e in catalog.rules.live_book(pack) if isinstance(e, HeldStatement)}
        wanted: dict[str, set[tuple[str, str]]] = {}
        for statement in said:
            wanted.setdefault(statement.key, set()).update((e.source_id, e.uri) for e in statement.evidences)
        assert {
            key: {(e.source_id, e.uri) for e in entry.statement.evidences} for key, entry in held.items()
        } == wanted
        seq = catalog.seq()
        assert catalog.apply_rules(pack, nodes=NODES, statements=said, prune=True).seq is None
        assert catalog.seq() == seq


@settings(max_examples=8)
@given(said=st.lists(statements(), min_size=1, max_size=10), source=st.sampled_from(SOURCES))
def test_removal(said: list[Statement], source: str) -> None:
    """Removing a source retires exactly the statements that only it supported, and adding it all again restores them."""
    said = [replace(s, status="approved") for s in {s.key: s for s in said}.values()]
    with tempfile.TemporaryDirectory() as folder, new_catalog(Path(folder) / "library") as catalog:
        catalog.put_source(Source(source_id="s3"))
        catalog.apply_rules("one", nodes=NODES, statements=said, prune=True)
        catalog.remove_source(source)
        for statement in said:
            alone = {e.source_id for e in statement.evidences} == {source}
            assert catalog.rules.statement(statement.key).statement.status == ("retired" if alone else "approved")
        catalog.apply_rules("one", nodes=NODES, statements=said, prune=True)
        assert all(catalog.rules.statement(s.key).statement.status == "approved" for s in said)
