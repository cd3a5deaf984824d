"""Wenyuan beside other engines on many passages: build, disk, recall and time of a question, in one run.

    python bench/peers_at_size.py [--corpus FILE.jsonl …] [--passages 100000] [--rounds 200] [--only NAME…]

Each engine runs in a process of its own, on the cores that this one has; one whose package is missing is named as left
out. Texts are real where a corpus is given, else made; vectors are those of bench/search.py: synthetic, with the
spread of real ones. All get the same vectors and the same words, split as Wenyuan splits them and joined by spaces, so
that Chinese is searched at all. Recall is of the ten nearest, against what numpy finds among all rows.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from search import DIMENSION, TRAITS, Synthetic, Vectors, corpus, fill, queries, soon, timed
from wenyuan.core.text.analysis import ANALYZER, search_terms

TESTS = Path(__file__).parents[1] / "tests"
K = 10
DEPTH = 100
"""Candidates of each leg that a mixed question unites by rank, where an engine leaves this to its caller."""


@dataclass(frozen=True)
class Rows:
    """What every engine is given: rows with words and vectors, and questions with theirs."""

    files: list[Path]
    count: int
    words: list[str]
    vectors: np.ndarray
    texts: list[str]
    asked_words: list[str]
    asked: np.ndarray


def rows(files: list[Path], count: int, rounds: int) -> Rows:
    texts = queries(files, rounds)
    return Rows(
        files=files, count=count, words=[" ".join(search_terms(title + "\n" + text)) for title, text in corpus(files, count)],
        vectors=Vectors().take(count), texts=texts, asked_words=[" ".join(search_terms(text)) for text in texts],
        asked=Vectors(seed=5).take(rounds),
    )  # fmt: skip


Ask = Callable[[int], Sequence[int]]


class Engine:
    """One engine: `build` makes its index in a folder, `ways` opens it and says how it can be asked."""

    package = ""

    def __init__(self, folder: Path, given: Rows, stack: ExitStack) -> None:
        self.folder, self.given, self.stack = folder, given, stack

    def build(self) -> None:
        raise NotImplementedError

    def ways(self) -> dict[str, Ask]:
        """``vectors``, ``words`` and ``both``, as far as the engine has them; each gives row numbers, best first."""
        raise NotImplementedError

    def size(self) -> float:
        """MB on disk."""
        return sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file()) / 1e6


class Wenyuan(Engine):
    """The whole read path, audit aside, with the question's vector at hand; and its two legs alone."""

    package = "wenyuan"

    def _opened(self) -> tuple[Any, Any]:
        from wenyuan.catalog import Catalog
        from wenyuan.core.model import EncoderFingerprint
        from wenyuan.core.ports import IndexSpec
        from wenyuan.engines.local.engine import LocalEngine

        fingerprint = EncoderFingerprint(id="synthetic", sha256="0", dimension=DIMENSION, scale=(0.7, 1.0))
        spec = IndexSpec(analyzer=ANALYZER, encoder=fingerprint)
        made = (self.folder / "catalog.db").exists()
        catalog = Catalog.open(self.folder) if made else Catalog.create(self.folder)
        if not made:
            fill(catalog, self.given.files, self.given.count)
        engine = LocalEngine(self.folder / "index", spec, exclusive=catalog.writing)
        engine.sync(catalog, deadline=soon())
        return catalog, engine

    def build(self) -> None:
        _, engine = self._opened()
        engine.checkpoint(always=True)
        engine.close()

    def ways(self) -> dict[str, Ask]:
        from wenyuan.core.filters import Scope
        from wenyuan.encoders.builtin import load_builtin
        from wenyuan.service.query import Query
        from wenyuan.service.search.retriever import Retriever
        from wenyuan.settings import SearchSettings

        catalog, engine = self._opened()
        catalog.set_value("floor", TRAITS)
        encoder = Synthetic(load_builtin(threads=1), self.given.asked, embedding=False)
        retriever = Retriever(catalog, engine, encoder, SearchSettings(deadline=10))  # type: ignore[arg-type]
        self.stack.callback(engine.close)
        self.stack.callback(retriever.close)
        scope = Scope(sources=frozenset(f"s{n}" for n in range(10)), as_of=None)
        words = [search_terms(text) for text in self.given.texts]

        def vectors(n: int) -> list[int]:
            found = engine.vector(self.given.asked[n], scope=scope, limit=K, deadline=soon())
            return [hit.passage_id - 1 for hit in found.hits]

        def keywords(n: int) -> list[int]:
            found = engine.keyword(words[n], scope=scope, limit=K, deadline=soon())
            return [hit.passage_id - 1 for hit in found.hits]

        def both(n: int) -> list[int]:
            retriever.retrieve(Query(text=self.given.texts[n], limit=K))
            return []

        return {"vectors": vectors, "words": keywords, "both": both}


class Lance(Engine):
    """A table with a full-text index, its vectors scanned; mixed by the default reranker."""

    package = "lancedb"
    indexed = False

    def build(self) -> None:
        import lancedb
        import pyarrow as pa
        from lancedb.index import FTS, IvfPq

        width = pa.list_(pa.float32(), DIMENSION)
        flat = pa.FixedSizeListArray.from_arrays(pa.array(self.given.vectors.reshape(-1)), type=width)
        table = pa.table({"id": pa.array(range(self.given.count)), "text": self.given.words, "vector": flat})
        made = lancedb.connect(str(self.folder)).create_table("texts", table)
        made.create_index("text", config=FTS())
        if self.indexed:
            made.create_index("vector", config=IvfPq(distance_type="cosine"))

    def ways(self) -> dict[str, Ask]:
        import lancedb

        table = lancedb.connect(str(self.folder)).open_table("texts")

        def ids(search: Any) -> list[int]:
            return search.limit(K).to_arrow()["id"].to_pylist()

        def vectors(n: int) -> list[int]:
            return ids(table.search(self.given.asked[n]).distance_type("cosine"))

        def words(n: int) -> list[int]:
            return ids(table.search(self.given.asked_words[n], query_type="fts"))

        def both(n: int) -> list[int]:
            mixed = table.search(query_type="hybrid").vector(self.given.asked[n]).text(self.given.asked_words[n])
            return ids(mixed.distance_type("cosine"))

        return {"vectors": vectors, "words": words, "both": both}


class LanceIndexed(Lance):
    """The same with an index of vectors by its defaults, which is IVF-PQ."""

    indexed = True


class Chroma(Engine):
    """A collection on disk with its HNSW index by cosine; it has no keyword search that ranks."""

    package = "chromadb"

    def _client(self) -> Any:
        import chromadb
        from chromadb.config import Settings

        return chromadb.PersistentClient(path=str(self.folder), settings=Settings(anonymized_telemetry=False))

    def build(self) -> None:
        made = self._client().create_collection(
            "texts", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        for at in range(0, self.given.count, 5_000):
            part = slice(at, min(at + 5_000, self.given.count))
            ids = [str(n) for n in range(part.start, part.stop)]
            made.add(ids=ids, documents=self.given.words[part], embeddings=self.given.vectors[part])

    def ways(self) -> dict[str, Ask]:
        collection = self._client().get_collection("texts", embedding_function=None)

        def vectors(n: int) -> list[int]:
            found = collection.query(query_embeddings=[self.given.asked[n]], n_results=K)
            return [int(name) for name in found["ids"][0]]

        return {"vectors": vectors}


class Tantivy(Engine):
    """An index of words alone, without the text."""

    package = "tantivy"

    def build(self) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("id", stored=True)
        schema.add_text_field("text", tokenizer_name="whitespace")
        index = tantivy.Index(schema.build(), path=str(self.folder))
        writer = index.writer()
        for number, words in enumerate(self.given.words):
            writer.add_document(tantivy.Document(id=number, text=words))
        writer.commit()
        writer.wait_merging_threads()

    def ways(self) -> dict[str, Ask]:
        import tantivy

        index = tantivy.Index.open(str(self.folder))
        searcher, schema = index.searcher(), index.schema

        def words(n: int) -> list[int]:
            parts = [
                (tantivy.Occur.Should, tantivy.Query.term_query(schema, "text", word))
                for word in self.given.asked_words[n].split()
            ]
            found = searcher.search(tantivy.Query.boolean_query(parts), K)
            return [searcher.doc(address)["id"][0] for _, address in found.hits]

        return {"words": words}


def united(*rankings: Sequence[int]) -> list[int]:
    """Reciprocal ranks added, with the usual constant of 60."""
    score: dict[int, float] = {}
    for ranking in rankings:
        for place, row in enumerate(ranking):
            score[row] = score.get(row, 0.0) + 1 / (60 + place)
    return sorted(score, key=score.__getitem__, reverse=True)[:K]


class SqliteVec(Engine):
    """A vec0 table, scanned, and an FTS5 table; mixed by rank."""

    package = "sqlite_vec"

    def _connected(self) -> Any:
        import pysqlite3
        import sqlite_vec

        connection = pysqlite3.connect(self.folder / "rows.db")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        return connection

    def build(self) -> None:
        with self._connected() as base:
            base.execute(f"CREATE VIRTUAL TABLE near USING vec0(vector float[{DIMENSION}] distance_metric=cosine)")
            base.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='')")
            numbered = enumerate(self.given.vectors)
            base.executemany("INSERT INTO near(rowid, vector) VALUES (?, ?)", ((n, v.tobytes()) for n, v in numbered))
            base.executemany("INSERT INTO words(rowid, text) VALUES (?, ?)", enumerate(self.given.words))

    def ways(self) -> dict[str, Ask]:
        base = self._connected()

        def nearest(n: int, limit: int) -> list[int]:
            sql = "SELECT rowid FROM near WHERE vector MATCH ? AND k = ? ORDER BY distance"
            return [row for (row,) in base.execute(sql, (self.given.asked[n].tobytes(), limit))]

        def worded(n: int, limit: int) -> list[int]:
            terms = " OR ".join(f'"{word}"' for word in self.given.asked_words[n].replace('"', "").split())
            sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
            return [row for (row,) in base.execute(sql, (terms, limit))] if terms else []

        return {
            "vectors": lambda n: nearest(n, K), "words": lambda n: worded(n, K),
            "both": lambda n: united(nearest(n, DEPTH), worded(n, DEPTH)),
        }  # fmt: skip


class Pgvector(Engine):
    """PostgreSQL with an HNSW index of vectors and a GIN index of words, each by its defaults; mixed by rank."""

    package = "psycopg"

    def _connected(self) -> Any:
        import psycopg

        sys.path.insert(0, str(TESTS / "support"))
        import postgres_server

        self.session = psycopg.connect(self.stack.enter_context(postgres_server.running()), autocommit=True)
        self.stack.callback(self.session.close)
        return self.session

    def build(self) -> None:
        base = self._connected()
        base.execute("CREATE EXTENSION IF NOT EXISTS vector")
        base.execute(f"CREATE TABLE texts (id int PRIMARY KEY, words tsvector, vector vector({DIMENSION}))")
        with base.cursor().copy("COPY texts FROM STDIN") as copy:
            for number, (words, vector) in enumerate(zip(self.given.words, self.given.vectors, strict=True)):
                lexemes = " ".join(sorted({f"'{_lexeme(word)}'" for word in words.split()}))
                copy.write_row((number, lexemes, "[" + ",".join(map(str, vector.tolist())) + "]"))
        base.execute("CREATE INDEX ON texts USING gin (words)")
        base.execute("SET maintenance_work_mem = '1GB'")
        base.execute("CREATE INDEX ON texts USING hnsw (vector vector_cosine_ops)")
        base.execute("ANALYZE texts")

    def ways(self) -> dict[str, Ask]:
        base = self.session

        def nearest(n: int, limit: int) -> list[int]:
            given = "[" + ",".join(map(str, self.given.asked[n].tolist())) + "]"
            base.execute(f"SET hnsw.ef_search = {max(40, limit)}")
            sql = "SELECT id FROM texts ORDER BY vector <=> %s::vector LIMIT %s"
            return [row for (row,) in base.execute(sql, (given, limit))]

        def worded(n: int, limit: int) -> list[int]:
            terms = " | ".join(f"'{_lexeme(word)}'" for word in self.given.asked_words[n].split())
            sql = (
                "SELECT id FROM texts, to_tsquery('simple', %s) AS q WHERE words @@ q "
                "ORDER BY ts_rank(words, q) DESC LIMIT %s"
            )
            return [row for (row,) in base.execute(sql, (terms, limit))] if terms else []

        return {
            "vectors": lambda n: nearest(n, K), "words": lambda n: worded(n, K),
            "both": lambda n: united(nearest(n, DEPTH), worded(n, DEPTH)),
        }  # fmt: skip

    def size(self) -> float:
        found = self.session.execute("SELECT pg_total_relation_size('texts')").fetchone()
        return float(found[0]) / 1e6


def _lexeme(word: str) -> str:
    return word.replace("\\", "\\\\").replace("'", "''")


ENGINES: dict[str, tuple[str, type[Engine]]] = {
    "wenyuan": ("**Wenyuan** (exact scan)", Wenyuan),
    "lancedb": ("LanceDB, scan", Lance),
    "lancedb_ivf_pq": ("LanceDB, IVF-PQ", LanceIndexed),
    "chroma": ("Chroma, HNSW", Chroma),
    "tantivy": ("tantivy alone", Tantivy),
    "sqlite_vec": ("sqlite-vec, scan, with FTS5", SqliteVec),
    "pgvector": ("pgvector, HNSW, with tsvector", Pgvector),
}


def recall(ask: Ask, given: Rows, rounds: int) -> float:
    hit = 0
    for number in range(rounds):
        truth = np.argpartition(-(given.vectors @ given.asked[number]), K)[:K]
        hit += len(set(truth.tolist()) & set(ask(number)))
    return hit / (K * rounds)


def measured(name: str, files: list[Path], count: int, rounds: int) -> dict[str, Any]:
    """Build, open and ask one engine, in this process."""
    given = rows(files, count, rounds)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wenyuan-bench-")))
        engine = ENGINES[name][1](folder, given, stack)
        begun = time.perf_counter()
        engine.build()
        out: dict[str, Any] = {"build s": round(time.perf_counter() - begun, 1), "disk MB": round(engine.size())}
        gc.collect()
        ways = engine.ways()
        for way, ask in ways.items():
            for number in range(min(5, rounds)):
                ask(number)
            out[way] = timed(ask, rounds)
        if "vectors" in ways:
            out["recall"] = round(recall(ways["vectors"], given, min(rounds, 100)), 3)
        return out


HEADS = (
    "engine",
    "build, s",
    "disk, MB",
    "vectors, ms p50 / p95",
    "recall@10",
    "words, ms p50 / p95",
    "both, ms p50 / p95",
)


def table(found: dict[str, dict[str, Any]]) -> str:
    """The results as a table of Markdown."""

    def times(way: str, of: dict[str, Any]) -> str:
        return f"{of[way]['p50']:.2f} / {of[way]['p95']:.2f}" if way in of else "–"

    lines = ["| " + " | ".join(HEADS) + " |", "|---" + "|---:" * (len(HEADS) - 1) + "|"]
    for name, of in found.items():
        share = of.get("recall", math.nan)
        cells = (
            ENGINES[name][0], of["build s"], of["disk MB"], times("vectors", of),
            "–" if math.isnan(share) else f"{share:.3f}", times("words", of), times("both", of),
        )  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", nargs="*", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measured(options.only[0], options.corpus, options.passages, options.rounds)))
        return
    found: dict[str, dict[str, Any]] = {}
    for name in options.only:
        if importlib.util.find_spec(ENGINES[name][1].package) is None:
            print(f"left out: {name} ({ENGINES[name][1].package} is not installed)", file=sys.stderr)
            continue
        arguments = [*sys.argv, "--child", "--only", name]
        answer = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, check=False, text=True)
        if answer.returncode:
            print(f"failed: {name} ended with {answer.returncode}", file=sys.stderr)
            continue
        found[name] = json.loads(answer.stdout.splitlines()[-1])
        print(name, found[name], file=sys.stderr)
    print(f"{options.passages:,} passages, {options.rounds} questions, {len(os.sched_getaffinity(0))} cores\n")
    print(table(found))


if __name__ == "__main__":
    main()
