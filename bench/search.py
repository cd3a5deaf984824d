"""Speed of the embedded engine on real passages: keyword, vector, hybrid, filters, open, upsert, memory.

    python bench/search.py [--corpus FILE.jsonl …] [--passages 100000] [--folder DIR] [--json]

Texts are real when a corpus is given (JSON Lines with title and text), else made of random words. Vectors are
synthetic unit vectors with the spread of real ones (a common direction, topics, noise) and said to be so in
the output; the query's own embedding is made by the built-in encoder, for real. One process, one core.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import resource
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from wenyuan.catalog import Catalog
from wenyuan.core.filters import Scope
from wenyuan.core.model import EncoderFingerprint, NewDocument, NewPassage, Source
from wenyuan.core.ports import Deadline, IndexSpec
from wenyuan.core.text.analysis import ANALYZER, search_terms
from wenyuan.core.text.folding import has_han
from wenyuan.encoders.builtin import BuiltinEncoder, load_builtin
from wenyuan.engines.local.engine import LocalEngine
from wenyuan.service.query import Query
from wenyuan.service.search.general_texts import SCRIPTS
from wenyuan.service.search.retriever import Retriever
from wenyuan.settings import SearchSettings

DIMENSION = 384
TRAITS = {"hybrid": {key: {"weight": 0.6, "centre": 0.5, "score": 0.0, "most": 0.0, "lift": 0.0} for key in SCRIPTS}}
"""As if measured: synthetic vectors have nothing to say of weights and floors."""


def corpus(files: list[Path], count: int) -> Iterator[tuple[str, str]]:
    """(title, text) of real passages, then of made ones until there are enough."""
    given = 0
    for file in files:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if given >= count:
                    return
                entry = json.loads(line)
                yield entry.get("title", ""), entry["text"]
                given += 1
    draw = random.Random(1)
    words = [f"word{i}" for i in range(20_000)]
    while given < count:
        yield f"passage {given}", " ".join(draw.choices(words, k=60))
        given += 1


class Vectors:
    """Synthetic unit vectors: cosines of .7 between unrelated ones, .8-.95 within a topic."""

    def __init__(self, seed: int = 5) -> None:
        self._draw = np.random.default_rng(seed)
        self._common = self._unit(1)[0]
        self._topics = self._unit(1_000)

    def _unit(self, n: int) -> np.ndarray:
        v = self._draw.normal(size=(n, DIMENSION)).astype(np.float32)
        return v / np.linalg.norm(v, axis=1, keepdims=True)

    def take(self, n: int) -> np.ndarray:
        topic = self._topics[self._draw.integers(0, len(self._topics), n)]
        v = 0.84 * self._common + 0.40 * topic + 0.37 * self._unit(n)
        return (v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)


def fill(catalog: Catalog, files: list[Path], count: int) -> float:
    """Store the passages; returns the seconds."""
    vectors = Vectors()
    for number in range(10):
        catalog.put_source(Source(source_id=f"s{number}"))
    begun = time.perf_counter()
    batch: list[NewDocument] = []
    found: dict[str, np.ndarray] = {}
    rows = vectors.take(count)
    for number, (title, text) in enumerate(corpus(files, count)):
        uri = f"urn:bench:{number}"
        key = f"v{number}"
        passage = NewPassage(
            uri=uri + "#p", headings=(), text=text, sha256="", start=0, end=len(text), vector_key=key
        )
        batch.append(
            NewDocument(
                source_id=f"s{number % 10}",
                uri=uri,
                title=title,
                fingerprint="1",
                passages=(passage,),
                facets={"hundredth": number % 100},
            )
        )
        found[key] = rows[number]
        if len(batch) == 2_000:
            catalog.commit_documents(batch, found)
            batch, found = [], {}
    if batch:
        catalog.commit_documents(batch, found)
    return time.perf_counter() - begun


def timed(call: Callable[[int], object], rounds: int) -> dict[str, float]:
    """Milliseconds: p50, p95, p99."""
    gc.collect()
    gc.freeze()  # as a server does once it listens
    times = []
    for number in range(rounds):
        begun = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - begun) * 1e3)
    times.sort()
    at = {f"p{q}": times[min(len(times) - 1, int(q / 100 * len(times)))] for q in (50, 95, 99)}
    return {name: round(value, 3) for name, value in at.items()}


def rss() -> float:
    """Resident memory now, MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def queries(files: list[Path], count: int) -> list[str]:
    """Six to twenty characters or a few words out of passages."""
    draw = random.Random(3)
    texts = [text for _, text in corpus(files, 5_000)]
    made = []
    while len(made) < count:
        text = draw.choice(texts).replace("\n", "")
        if not has_han(text):
            words = text.split()
            at = draw.randrange(max(1, len(words) - 6))
            made.append(" ".join(words[at : at + draw.randint(3, 6)]))
        else:
            at = draw.randrange(max(1, len(text) - 20))
            made.append(text[at : at + draw.randint(6, 20)])
    return made


def environment() -> dict[str, object]:
    import faiss
    import tantivy

    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "?")  # fmt: skip
    return {
        "cpu": model, "cores used": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0],
        "python": platform.python_version(), "numpy": np.__version__, "faiss": faiss.__version__,
        "tantivy": getattr(tantivy, "__version__", "?"), "vectors": "synthetic",
    }  # fmt: skip


def recall(engine: LocalEngine, matrix: np.ndarray, asked: np.ndarray, scope: Scope, mask: np.ndarray) -> float:
    """Share of the true ten nearest that are found."""
    hit = 0
    allowed = np.flatnonzero(mask)
    for query in asked:
        truth = set((allowed[np.argsort(-(matrix[allowed] @ query))[:10]] + 1).tolist())
        got = engine.vector(query, scope=scope, limit=10, deadline=soon()).hits
        hit += len(truth & {h.passage_id for h in got})
    return hit / (10 * len(asked))


def soon() -> Deadline:
    return Deadline(time.monotonic() + 60, time.monotonic)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    folder = options.folder or Path(tempfile.mkdtemp(prefix="wenyuan-bench-"))
    result = measure(folder / "library", options.corpus, options.passages, options.rounds)
    print(json.dumps(result, indent=1, ensure_ascii=False))


def measure(folder: Path, files: list[Path], count: int, rounds: int) -> dict[str, object]:
    result: dict[str, object] = {"environment": environment(), "passages": count}
    fingerprint = EncoderFingerprint(id="synthetic", sha256="0", dimension=DIMENSION, scale=(0.7, 1.0))
    spec = IndexSpec(analyzer=ANALYZER, encoder=fingerprint)
    catalog = Catalog.create(folder) if not (folder / "catalog.db").exists() else Catalog.open(folder)
    if not catalog.counts()["passages"]:
        result["store_s"] = round(fill(catalog, files, count), 1)
    begun = time.perf_counter()
    engine = LocalEngine(folder / "index", spec, exclusive=catalog.writing)
    engine.sync(catalog, deadline=Deadline(time.monotonic() + 3600, time.monotonic))
    engine.checkpoint(always=True)
    result["index_s"] = round(time.perf_counter() - begun, 1)
    engine.close()
    del engine
    gc.collect()
    begun = time.perf_counter()
    engine = LocalEngine(folder / "index", spec, exclusive=catalog.writing)
    engine.sync(catalog, deadline=soon())
    result["cold_open_s"] = round(time.perf_counter() - begun, 3)
    everything = frozenset(f"s{n}" for n in range(10))
    scope = Scope(sources=everything, as_of=date(2026, 1, 1))
    tenth = Scope(sources=frozenset({"s3"}), as_of=date(2026, 1, 1))
    asked = Vectors(seed=5).take(rounds)
    words = [search_terms(q) for q in queries(files, rounds)]

    def keyword(where: Scope) -> Callable[[int], object]:
        return lambda n: engine.keyword(words[n], scope=where, limit=100, deadline=soon())

    def vector(where: Scope) -> Callable[[int], object]:
        return lambda n: engine.vector(asked[n], scope=where, limit=100, deadline=soon())

    for name, where in (("all", scope), ("10 %", tenth)):
        result[f"keyword {name} ms"] = timed(keyword(where), rounds)
        result[f"vector {name} ms"] = timed(vector(where), rounds)
    matrix = Vectors().take(count)
    tens = np.arange(count) % 10 == 3
    result["recall@10 all"] = recall(engine, matrix, asked[:100], scope, np.ones(count, bool))
    result["recall@10 10 %"] = recall(engine, matrix, asked[:100], tenth, tens)
    del matrix
    result["upsert visible ms"] = upserts(catalog, engine)
    result |= hybrid(catalog, engine, queries(files, rounds), asked, rounds)
    disk = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())
    result |= {"rss_mb": round(rss()), "disk_mb": round(disk / 1e6)}
    return result


def upserts(catalog: Catalog, engine: LocalEngine) -> dict[str, float]:
    """From the commit of one changed document to its being found."""
    vectors = Vectors(seed=9).take(20)
    times = []
    for number in range(20):
        text = f"upsert-{number}-marker 高支模专项方案"
        passage = NewPassage(
            uri="urn:bench:new#p", headings=(), text=text, sha256="", start=0, end=len(text), vector_key=f"u{number}"
        )
        document = NewDocument(
            source_id="s0", uri="urn:bench:new", title="", fingerprint=str(number), passages=(passage,)
        )
        begun = time.perf_counter()
        catalog.commit_documents([document], {f"u{number}": vectors[number]})
        engine.sync(catalog, deadline=soon())
        found = engine.keyword(search_terms(f"upsert-{number}-marker"), limit=1,
                               scope=Scope(sources=frozenset({"s0"}), as_of=date(2026, 1, 1)), deadline=soon())  # fmt: skip
        times.append((time.perf_counter() - begun) * 1e3)
        assert len(found.hits) == 1
    times.sort()
    return {"p50": round(statistics.median(times), 1), "max": round(times[-1], 1)}


class Synthetic:
    """Gives questions vectors like those of the rows, and embeds them for real as well, for its time.

    A real vector is about equally far from all synthetic rows, where the scan can leave out nothing early.
    """

    def __init__(self, encoder: BuiltinEncoder, vectors: np.ndarray, *, embedding: bool = True) -> None:
        self.fingerprint = encoder.fingerprint
        self._encoder, self._vectors, self._embedding = encoder, vectors, embedding

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> np.ndarray:
        if self._embedding:
            self._encoder.encode_queries(texts, deadline=deadline)
        return self._like_rows(texts)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> np.ndarray:
        return self._like_rows(texts)

    def _like_rows(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._vectors[zlib.crc32(text.encode()) % len(self._vectors)] for text in texts])


def hybrid(
    catalog: Catalog, engine: LocalEngine, asked: list[str], vectors: np.ndarray, rounds: int
) -> dict[str, object]:
    """The whole read path in process, with the question's own embedding, and with it taken for granted.

    ``plain`` is the linear score alone, as of a library of which nothing was measured.
    """
    encoder = load_builtin(threads=1)
    clauses = [f"第{7 + n % 60}条{text}" for n, text in enumerate(asked)]
    known, embedded = Synthetic(encoder, vectors, embedding=False), Synthetic(encoder, vectors)
    out: dict[str, object] = {"encode query ms": timed(lambda n: encoder.encode_queries([asked[n]]), rounds)}
    for name, vectored, floor, texts in (
        ("hybrid plain", known, None, asked), ("hybrid without embedding", known, TRAITS, asked),
        ("hybrid naming a clause, without embedding", known, TRAITS, clauses), ("hybrid", embedded, TRAITS, asked),
    ):  # fmt: skip
        catalog.set_value("floor", floor)
        retriever = Retriever(catalog, engine, vectored, SearchSettings(deadline=10))  # type: ignore[arg-type]
        for text in texts[:5]:
            retriever.retrieve(Query(text=text, limit=10))
        begun = time.process_time()
        out[f"{name} ms"] = timed(lambda n: retriever.retrieve(Query(text=texts[n], limit=10)), rounds)  # noqa: B023
        out[f"{name} CPU ms"] = round((time.process_time() - begun) / rounds * 1e3, 2)
        retriever.close()
    return out


if __name__ == "__main__":
    main()
