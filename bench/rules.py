"""Speed of the rules graph in the catalog: load, disk, memory, opening, and the chains that requests walk.

    python bench/rules.py [--nodes 100000] [--statements 500000] [--rounds 400] [--folder DIR] [--json]

The graph is made up, in the shape of construction rules: 2 % types, 18 % processes, 20 % hazards, 20 % measures,
15 % equipment, 25 % quality points; ends are drawn by Zipf's law, 5 % of the statements wait for a review, 11 % end,
each has one or two evidences in 20 sources. ``W1`` is process → equipment, quality, hazard → measure (2 hops),
``W2`` type → process → hazard → measure (3 hops). Both see what is approved, valid today, from sources of trust ≥ 2.
Most walks meet their nodes for the first time; ``again`` are walks that were walked just before. ``cpu`` is the thread's own time.
When networkx is there, it walks the same graph with the same filters, held in memory.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy

from wenyuan.catalog import Catalog
from wenyuan.core.ports import Deadline
from wenyuan.core.rules.graph import Edge, Graph, View
from wenyuan.core.rules.linking import Linker
from wenyuan.core.rules.model import Alias, Evidence, Node, Statement

TODAY = date(2026, 6, 1)
SHARES = {
    "type": 0.02,
    "process": 0.18,
    "hazard": 0.20,
    "measure": 0.20,
    "equipment": 0.15,
    "quality": 0.25,
}
# relation → from, to, share of all statements
RELATIONS = {
    "contains": ("type", "process", 0.10),
    "requires_equipment": ("process", "equipment", 0.20),
    "produces_hazard": ("process", "hazard", 0.25),
    "mitigated_by": ("hazard", "measure", 0.25),
    "requires_quality_check": ("process", "quality", 0.20),
}
HAZARDS, MEASURES = ["produces_hazard"], ["mitigated_by"]
FIRST = ["requires_equipment", "produces_hazard", "requires_quality_check"]
TRUSTS = {f"s{n}": 1 + n % 5 for n in range(20)}
VIEW = View(trusts={name: trust for name, trust in TRUSTS.items() if trust >= 2}, day=TODAY)
PART = 50_000


def zipf(draw: random.Random, count: int) -> int:
    """An index below `count`; small ones far more often."""
    return min(count - 1, int(count ** draw.random()) - 1)


def made_nodes(count: int) -> dict[str, list[Node]]:
    return {
        kind: [
            Node(
                key=f"{kind}/{n}", kind=kind, name=f"{kind}名称{n}号", labels={"zh": f"{kind}名称{n}号", "en": f"{kind} {n}"},
                aliases=(Alias(text=f"{kind}别名{n}"),),
            )
            for n in range(int(count * share))
        ]
        for kind, share in SHARES.items()
    }  # fmt: skip


def made_statements(nodes: dict[str, list[Node]], count: int) -> Iterator[Statement]:
    draw = random.Random(3)
    given: set[tuple[str, str, str]] = set()
    for rel, (start, end, share) in RELATIONS.items():
        made = 0
        while made < int(count * share):
            src = nodes[start][draw.randrange(len(nodes[start]))]
            dst = nodes[end][zipf(draw, len(nodes[end]))]
            if (src.key, rel, dst.key) in given:
                continue
            given.add((src.key, rel, dst.key))
            made += 1
            yield statement(draw, src.key, rel, dst.key)


def statement(draw: random.Random, src: str, rel: str, dst: str) -> Statement:
    proofs = tuple(
        Evidence(
            source_id=f"s{draw.randrange(len(TRUSTS))}", uri=f"urn:cn:standard:{draw.randrange(2_000)}#第{part}条",
            clause=f"第{draw.randrange(90)}条", quote="施工单位应当在施工前编制专项施工方案并组织专家论证",
        )
        for part in range(1 + (draw.random() < 0.2))
    )  # fmt: skip
    return Statement(
        src=src, rel=rel, dst=dst, evidences=proofs, weight=round(draw.random(), 3),
        status="proposed" if draw.random() < 0.05 else "approved",
        strength=draw.choice(("mandatory", "mandatory", "recommended", "informative")),
        valid_until=date(2020 + draw.randrange(12), 1, 1) if draw.random() < 0.11 else None,
        condition="depth_m >= 5.0" if draw.random() < 0.1 else "",
    )  # fmt: skip


def soon() -> Deadline:
    return Deadline(time.monotonic() + 60, time.monotonic)


def rss() -> float:
    """Resident memory now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def ends(edges: Sequence[Edge], rel: str) -> list[int]:
    return list(dict.fromkeys(edge.dst for edge in edges if edge.rel == rel))


def chain(graph: Graph, process: int) -> int:
    """W1; returns how many statements it met."""
    first = graph.edges([process], FIRST, view=VIEW, limit=500, deadline=soon())
    hazards = ends(first, "produces_hazard")
    return len(first) + len(graph.edges(hazards, MEASURES, view=VIEW, limit=500, deadline=soon()))


def three_hops(graph: Graph, type_: int) -> int:
    """W2; returns how many statements it met."""
    contained = graph.edges([type_], ["contains"], view=VIEW, limit=500, deadline=soon())
    found = graph.edges(ends(contained, "contains"), HAZARDS, view=VIEW, limit=500, deadline=soon())
    hazards = ends(found, "produces_hazard")
    last = graph.edges(hazards, MEASURES, view=VIEW, limit=500, deadline=soon())
    return len(contained) + len(found) + len(last)


def timed(call: Callable[[Any], int], starts: Sequence[Any]) -> dict[str, float]:
    """Percentiles in ms, and the mean number of statements that a call met."""
    times, busy, met = [], [], 0
    for start in starts:
        begun, cpu = time.perf_counter(), time.thread_time()
        met += call(start)
        times.append((time.perf_counter() - begun) * 1e3)
        busy.append((time.thread_time() - cpu) * 1e3)
    times.sort()
    shown = {"p50": times[len(times) // 2], "p95": times[len(times) * 95 // 100], "max": times[-1]}
    shown["cpu p50"] = sorted(busy)[len(busy) // 2]
    return {**{name: round(value, 3) for name, value in shown.items()}, "statements": round(met / len(starts), 1)}


class InMemory:
    """The same graph in networkx, walked with the same filters; an edge has its statements in lists."""

    def __init__(self, library: Any, statements: Iterator[Statement]) -> None:
        self._graph = library.MultiDiGraph()
        for s in statements:
            self._graph.add_edge(s.src, s.dst, key=s.rel, said=s)

    def hop(self, nodes: Sequence[str], relations: Sequence[str], limit: int = 500) -> list[Statement]:
        found = []
        for node in nodes:
            if node in self._graph:
                for _, _, rel, said in self._graph.out_edges(node, keys=True, data="said"):
                    if rel in relations and said.status == "approved" and self._in_view(said):
                        found.append(said)
        found.sort(key=lambda s: (s.strength, -s.weight))
        return found[: limit + 1]

    def _in_view(self, said: Statement) -> bool:
        in_force = said.valid_until is None or said.valid_until >= TODAY
        return in_force and any(e.source_id in VIEW.trusts for e in said.evidences)

    def chain(self, process: str) -> int:
        first = self.hop([process], FIRST)
        hazards = dict.fromkeys(s.dst for s in first if s.rel == "produces_hazard")
        return len(first) + len(self.hop(list(hazards), MEASURES))

    def three_hops(self, type_: str) -> int:
        contained = self.hop([type_], ["contains"])
        found = self.hop(list(dict.fromkeys(s.dst for s in contained)), HAZARDS)
        last = self.hop(list(dict.fromkeys(s.dst for s in found)), MEASURES)
        return len(contained) + len(found) + len(last)


def load(folder: Path, nodes: int, statements: int) -> dict[str, Any]:
    catalog = Catalog.create(folder)
    made = made_nodes(nodes)
    everything = [node for kind in made.values() for node in kind]
    begun = time.perf_counter()
    catalog.apply_rules("bench", nodes=everything, statements=(), prune=False)
    seconds = {"nodes": time.perf_counter() - begun, "statements": 0.0, "first 50,000": 0.0}
    part: list[Statement] = []

    def store() -> None:
        begun = time.perf_counter()
        catalog.apply_rules("bench", nodes=(), statements=part, prune=False)
        spent = time.perf_counter() - begun
        seconds["statements"] += spent
        seconds["first 50,000"] = seconds["first 50,000"] or spent
        part.clear()

    for said in made_statements(made, statements):
        part.append(said)
        if len(part) == PART:
            store()
    if part:
        store()
    counts = catalog.rules.counts()
    catalog.close()
    disk = sum(file.stat().st_size for file in folder.iterdir())
    return {"load s": {k: round(v, 1) for k, v in seconds.items()}, "disk MB": round(disk / 1e6), "counts": counts}


def numbers(catalog: Catalog, kind: str, rounds: int) -> list[tuple[int, str]]:
    found = [(n.node_id, n.key) for n in catalog.rules.find_nodes(kind=kind, limit=100_000)]
    return random.Random(7).choices(found, k=rounds)


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    catalog = Catalog.open(folder)
    processes, types = numbers(catalog, "process", rounds), numbers(catalog, "type", rounds)
    catalog.close()
    del catalog
    gc.collect()
    before = rss()
    begun = time.perf_counter()
    catalog = Catalog.open(folder)
    chain(catalog.rules, processes[0][0])
    cold = (time.perf_counter() - begun) * 1e3
    graph = catalog.rules
    out: dict[str, Any] = {"cold open and first chain ms": round(cold, 1)}
    for number, _ in processes[:50]:
        chain(graph, number)
    out["W1 ms"] = timed(lambda n: chain(graph, n), [n for n, _ in processes])
    out["W2 ms"] = timed(lambda n: three_hops(graph, n), [n for n, _ in types])
    for name, call, found in (("W1 again ms", chain, processes[-50:]), ("W2 again ms", three_hops, types[-10:])):
        for number, _ in found:
            call(graph, number)
        out[name] = timed(partial(call, graph), [n for n, _ in found])
    out["RSS growth MB"] = round(rss() - before, 1)
    begun, cpu = time.perf_counter(), time.thread_time()
    linker = Linker(graph.lexicon())
    seconds = {"s": time.perf_counter() - begun, "cpu s": time.thread_time() - cpu}
    out["linker built"] = {name: round(value, 2) for name, value in seconds.items()}
    texts = [f"本工程在{key.replace('/', '名称')}号施工前应做好准备" for _, key in processes]
    out["linking ms"] = timed(lambda text: len(linker.link(text).spans), texts)
    out["RSS growth with the linker MB"] = round(rss() - before, 1)
    out["keys"] = {"processes": [k for _, k in processes], "types": [k for _, k in types]}
    catalog.close()
    return out


def beside(keys: dict[str, list[str]], nodes: int, statements: int) -> dict[str, Any]:
    try:
        import networkx
    except ImportError:
        return {"networkx": "not installed"}
    before = rss()
    graph = InMemory(networkx, made_statements(made_nodes(nodes), statements))
    return {
        "networkx": {
            "RSS growth MB": round(rss() - before),
            "W1 ms": timed(graph.chain, keys["processes"]),
            "W2 ms": timed(graph.three_hops, keys["types"]),
        }
    }


def environment() -> dict[str, Any]:
    import pysqlite3.dbapi2 as driver

    return {
        "python": platform.python_version(), "sqlite": driver.sqlite_version, "sqlalchemy": sqlalchemy.__version__,
        "machine": platform.machine(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--statements", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--folder", type=Path, help="made when missing, used again when there")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = args.folder or Path(made) / "library"
        result: dict[str, Any] = {"environment": environment()}
        if not folder.exists():
            result |= load(folder, args.nodes, args.statements)
        result |= measure(folder, args.rounds)
    result |= beside(result.pop("keys"), args.nodes, args.statements)
    result["peak RSS MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    if args.json:
        print(json.dumps(result, ensure_ascii=False))
    else:
        for name, value in result.items():
            print(f"{name:28} {value}")


if __name__ == "__main__":
    main()
