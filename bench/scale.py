"""How time, memory and disk grow with the library: each size built and asked in processes of its own, asked on one core or more.

    python bench/scale.py [--sizes 10000 100000 1000000] [--cores 1] [--folder DIR] [--corpus FILE.jsonl …] [--json FILE]

Texts and vectors are those of bench/made.py, recall is against what numpy finds. A million passages need 8 GB of disk,
about a quarter of an hour to be stored and as long to be indexed; with ``--folder`` they are kept for the next time.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from made import DIMENSION, SCOPES, Vectors, allowed, fill
from search import environment, hybrid, queries
from wenyuan.catalog import Catalog
from wenyuan.core.filters import Scope
from wenyuan.core.model import EncoderFingerprint, NewDocument, NewPassage
from wenyuan.core.ports import Deadline, IndexSpec
from wenyuan.core.text.analysis import ANALYZER, search_terms
from wenyuan.engines.local.engine import LocalEngine

SPEC = IndexSpec(
    analyzer=ANALYZER, encoder=EncoderFingerprint(id="synthetic", sha256="0", dimension=DIMENSION, scale=(0.7, 1.0))
)
_ASKED_FOR_RECALL = 100
_UPSERTS = 20
_ROWS = (
    *((f"keyword, {scope}: p50 / p99 / CPU ms", f"keyword {scope}") for scope in SCOPES),
    *((f"vector, {scope}: p50 / p99 / CPU ms", f"vector {scope}") for scope in SCOPES),
    *((f"recall@10, {scope}", f"recall {scope}") for scope in SCOPES),
    ("hybrid, plain score, without embedding: p50 / p99 ms", "hybrid plain ms"),
    ("hybrid without embedding: p50 / p99 ms", "hybrid without embedding ms"),
    ("… naming a clause: p50 / p99 ms", "hybrid naming a clause, without embedding ms"),
    ("hybrid: p50 / p99 ms", "hybrid ms"),
    ("a changed document is found after: p50 / p99 / CPU ms", "upsert ms"),
    ("opening, s", "open s"),
    ("storing, passages a CPU second", "stored per CPU s"),
    ("indexing, passages a CPU second", "indexed per CPU s"),
    ("writing the index anew, s", "purge s"),
    ("counting, ms", "counts ms"),
    ("drawing 240 passages, ms", "sample ms"),
    ("memory of its own after opening, MB", "own MB"),
    ("memory of its own after questions, MB", "own MB asked"),
    ("memory at most while indexing, MB", "peak MB"),
    ("disk: catalog, MB", "catalog.db"),
    ("disk: keyword index, MB", "keyword"),
    ("disk: float32 vectors, MB", "vectors"),
    ("disk: codes and columns, MB", "codes"),
)


def timed(call: Callable[[int], object], rounds: int) -> dict[str, float]:
    """Milliseconds: p50 and p99 of the clock, and half of the calls' processor time, which neighbours change less."""
    gc.collect()
    clock, used = [], []
    for number in range(rounds):
        begun, cpu = time.perf_counter(), time.process_time()
        call(number)
        clock.append((time.perf_counter() - begun) * 1e3)
        used.append((time.process_time() - cpu) * 1e3)
    at = sorted(clock)
    found = {"p50": at[rounds // 2], "p99": at[min(rounds - 1, rounds * 99 // 100)], "cpu": statistics.median(used)}
    return {name: round(value, 2) for name, value in found.items()}


def soon(seconds: float = 60.0) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def opened(folder: Path) -> tuple[Catalog, LocalEngine]:
    catalog = Catalog.open(folder)
    engine = LocalEngine(folder / "index", SPEC, exclusive=catalog.writing)
    engine.sync(catalog, deadline=soon())
    return catalog, engine


def memory() -> float:
    """Memory of this process's own now, MB; mapped files, which the kernel may drop at any time, do not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))


# -- what each process does --------------------------------------------------------------------------------


def stored(folder: Path, files: list[Path], count: int) -> dict[str, Any]:
    begun = time.process_time()
    catalog = Catalog.create(folder)
    fill(catalog, files, count)
    catalog.close()
    return {"stored per CPU s": round(count / (time.process_time() - begun))}


def indexed(folder: Path, count: int) -> dict[str, Any]:
    catalog = Catalog.open(folder)
    engine = LocalEngine(folder / "index", SPEC, exclusive=catalog.writing)
    begun = time.process_time()
    engine.sync(catalog, deadline=soon(36_000))
    engine.checkpoint(always=True)
    found = {"indexed per CPU s": round(count / (time.process_time() - begun)), "peak MB": round(peak())}
    engine.close()
    return found


def purged(folder: Path) -> dict[str, Any]:
    catalog, engine = opened(folder)
    begun = time.perf_counter()
    engine.purge(catalog)
    return {"purge s": round(time.perf_counter() - begun, 1), "purge peak MB": round(peak())}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def asked(folder: Path, files: list[Path], count: int, rounds: int) -> dict[str, Any]:
    begun = time.perf_counter()
    catalog, engine = opened(folder)
    out: dict[str, Any] = {"open s": round(time.perf_counter() - begun, 2), "own MB": round(memory())}
    made = Vectors(count)
    vectors = made.queries(rounds)
    written = queries(files, rounds)
    words = [search_terms(text) for text in written]
    for name, scope in SCOPES.items():
        out[f"keyword {name}"] = timed(keyword(engine, words, scope), rounds)
        out[f"vector {name}"] = timed(vector(engine, vectors, scope), rounds)
    out["own MB asked"] = round(memory())
    best = nearest(made, vectors[:_ASKED_FOR_RECALL], count)
    for name, scope in SCOPES.items():
        found = [vector(engine, vectors, scope)(n) for n in range(min(rounds, _ASKED_FOR_RECALL))]
        hits = [len(set(ids) & set(truth)) / 10 for ids, truth in zip(found, best[name], strict=False)]
        out[f"recall {name}"] = round(statistics.mean(hits), 4)
    out |= hybrid(catalog, engine, written, vectors, rounds)
    out["counts ms"] = elapsed(catalog.counts_by_source)
    out["sample ms"] = elapsed(lambda: catalog.some_passages(240))
    out["upsert ms"] = timed(upsert(catalog, engine), _UPSERTS)
    return out | sizes(folder)


def keyword(engine: LocalEngine, words: list[list[str]], scope: Scope) -> Callable[[int], object]:
    return lambda n: engine.keyword(words[n], scope=scope, limit=100, deadline=soon())


def vector(engine: LocalEngine, vectors: Any, scope: Scope) -> Callable[[int], list[int]]:
    def ask(n: int) -> list[int]:
        return [h.passage_id for h in engine.vector(vectors[n], scope=scope, limit=100, deadline=soon()).hits][:100]

    return ask


def nearest(made: Vectors, vectors: Any, count: int) -> dict[str, list[list[int]]]:
    """By scope, the passages of the ten nearest rows to each query; numbers of passages begin at 1."""
    best = {name: (np.full((len(vectors), 10), -2.0), np.zeros((len(vectors), 10), int)) for name in SCOPES}
    at = 0
    for block in made.blocks():
        cosines = vectors @ block.T
        rows = np.arange(at, at + len(block))
        for name, (scores, ids) in best.items():
            held = np.where(allowed(name, rows), cosines, -2.0)
            both = np.concatenate([scores, held], axis=1)
            numbers = np.concatenate([ids, np.broadcast_to(rows + 1, held.shape)], axis=1)
            top = np.argpartition(-both, 10, axis=1)[:, :10]
            best[name] = np.take_along_axis(both, top, axis=1), np.take_along_axis(numbers, top, axis=1)
        at += len(block)
    return {name: ids.tolist() for name, (_, ids) in best.items()}


def elapsed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return round((time.perf_counter() - begun) * 1e3, 1)


def upsert(catalog: Catalog, engine: LocalEngine) -> Callable[[int], object]:
    """Commit a changed document, and find it."""
    vectors = Vectors(100, seed=9).queries(_UPSERTS)

    def change(n: int) -> object:
        text = f"upsert-{n}-marker 高支模专项方案"
        passage = NewPassage(uri="urn:bench:new#p", headings=(), text=text, sha256="", start=0, end=len(text),
                             vector_key=f"u{n}")  # fmt: skip
        document = NewDocument(source_id="s0", uri="urn:bench:new", title="", fingerprint=str(n), passages=(passage,))
        catalog.commit_documents([document], {f"u{n}": vectors[n]})
        engine.sync(catalog, deadline=soon())
        found = engine.keyword(search_terms(f"upsert-{n}-marker"), scope=SCOPES["all"], limit=1, deadline=soon())
        assert len(found.hits) == 1
        return found

    return change


def sizes(folder: Path) -> dict[str, int]:
    """MB on disk, by what it is for."""
    names = {".db": "catalog.db", ".f32": "vectors", ".faiss": "codes", ".npz": "codes"}
    found = dict.fromkeys(("catalog.db", "keyword", "vectors", "codes"), 0.0)
    for path in folder.rglob("*"):
        if path.is_file():
            kind = "keyword" if path.parent.name == "keyword" else names.get(path.suffix, "catalog.db")
            found[kind] += path.stat().st_size / 1e6
    return {name: round(size) for name, size in found.items()}


# -- all of it ---------------------------------------------------------------------------------------------


def measured(options: argparse.Namespace, folder: Path, size: int) -> dict[str, Any]:
    """What the processes say of one size; what was stored or indexed in an earlier run is not done again."""
    kept = folder / str(size) / "measured.json"
    result: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    for step, known in (
        ("stored", "stored per CPU s"),
        ("indexed", "indexed per CPU s"),
        ("asked", ""),
        ("purged", "purge s"),
    ):
        if known in result:
            continue
        print(f"{size:,} passages: {step} …", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--step", step, "--sizes", str(size), "--folder", str(folder)]
        command += [
            "--rounds",
            str(options.rounds),
            "--cores",
            str(options.cores),
            "--corpus",
            *map(str, options.corpus),
        ]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{size:,} passages could not be {step}")
        result |= json.loads(done.stdout)
        kept.write_text(json.dumps(result))
    return result


def step(options: argparse.Namespace) -> dict[str, Any]:
    (size,) = options.sizes
    folder = options.folder / str(size) / "library"
    if options.step == "stored":
        return stored(folder, options.corpus, size)
    if options.step == "indexed":
        return indexed(folder, size)
    if options.step == "purged":
        return purged(folder)
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[: options.cores]))
    return asked(folder, options.corpus, size, options.rounds)


def table(results: dict[int, dict[str, Any]]) -> str:
    """Markdown, one column a size."""
    lines = [
        "| passages | " + " | ".join(f"{size:,}" for size in results) + " |",
        "|---" + "|---:" * len(results) + "|",
    ]
    for title, key in _ROWS:
        shown = [_shown(result.get(key, "")) for result in results.values()]
        lines.append(f"| {title} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " / ".join(f"{value[name]:,.1f}" for name in ("p50", "p99", "cpu") if name in value)
    return f"{value:,}" if value != "" else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--corpus", type=Path, nargs="*", default=[])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--cores", type=int, default=1, help="for asking")
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--step", choices=("stored", "indexed", "asked", "purged"), help="of one size, in this process"
    )
    options = parser.parse_args()
    if options.step:
        print(json.dumps(step(options)))
        return
    folder = options.folder or Path(tempfile.mkdtemp(prefix="wenyuan-scale-"))
    results = {}
    for size in options.sizes:
        (folder / str(size)).mkdir(parents=True, exist_ok=True)
        results[size] = measured(options, folder, size)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(json.dumps(environment()))
    print(table(results))


if __name__ == "__main__":
    main()
