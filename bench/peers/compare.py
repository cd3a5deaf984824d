"""Wenyuan beside what one would take instead: the same texts, questions, vectors and machine, in one run.

    python bench/peers/compare.py --data FOLDER… [--queries 500] [--only NAME…] [--reuse] [--out docs]

Every folder of --data is a judged set in BEIR layout (``corpus.jsonl``, ``queries.jsonl``, ``qrels.tsv`` or
``qrels_500.tsv``). Each peer has an environment of its own, made once below --cache from its pinned requirements; it is
used by its documented defaults. Peers run one after another; with --reuse, what an earlier run measured and left in
--cache is not measured again. Writes ``benchmarks.md``, ``benchmarks.zh.md`` and
``benchmarks.svg``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from chain import Walk, walks
from report import Measured, written

from wenyuan.app import open_encoder
from wenyuan.evaluation.built_library import default_cache
from wenyuan.evaluation.corpus import open_corpus
from wenyuan.evaluation.questions import JudgedSet, read_judged
from wenyuan.settings import load_settings

HERE = Path(__file__).resolve().parent
PEERS = (
    "wenyuan", "plain_numpy", "plain_tantivy", "llamaindex", "haystack", "lancedb", "chroma", "txtai", "lightrag",
)  # fmt: skip
JUNK = 48
SECONDS = 1_800
DAMAGED_BYTES = 4_096


@dataclass
class Outcome:
    """What a peer did with one set, as `harness` wrote it."""

    build: dict[str, Any]
    ask: dict[str, Any]
    disk: int
    ndcg: float


@dataclass
class Row:
    """A peer.

    Attributes:
        faults: What it answered when its biggest file was ``damaged`` or ``gone``.
    """

    name: str
    sets: dict[str, Outcome] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Set:
    name: str
    folder: Path
    judged: JudgedSet
    documents: int

    @property
    def chinese(self) -> bool:
        return any("\u4e00" <= letter <= "\u9fff" for letter in self.judged.questions[0].text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="judged folders")
    parser.add_argument("--queries", type=int, default=500, help="of each set, at most; always the same ones")
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--cache", type=Path, default=default_cache().parent / "peers")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "docs")
    parser.add_argument("--reuse", action="store_true", help="measure only what no earlier run has measured")
    given = parser.parse_args()
    sets = [prepared(folder, given.queries, given.cache) for folder in given.data]
    measured = Measured(os.getloadavg()[0], given.reuse)
    rows: list[Row] = []
    walked: dict[str, Walk] = {}
    for name in given.only:
        rows.append(compared(name, sets, given.cache, given.reuse))
        if name == given.only[-1]:
            python = given.cache / "environments" / "lightrag" / "bin" / "python"
            walked = walks(python if python.exists() else None, given.cache)
        paths = written(rows, sets, walked, given.out, measured)  # a run that is broken off has told what it measured
    print(*paths, sep="\n")


# --- what every peer is given -------------------------------------------------------------------------------------


def prepared(folder: Path, most: int, cache: Path) -> Set:
    """The set with the vectors of all texts and queries, which are made once."""
    corpus = open_corpus(folder)
    sample = folder / "qrels_500.tsv"
    judged = read_judged(folder, corpus.uris, qrels=sample if sample.exists() else None, limit=most)
    encoder = open_encoder(load_settings().encoder)
    assert encoder is not None
    digest = hashlib.sha256(encoder.fingerprint.key.encode()).hexdigest()[:8]
    to = cache / "sets" / f"{corpus.name}-{most}-{digest}"
    if not (to / "texts.json").exists():
        to.mkdir(parents=True, exist_ok=True)
        told = corpus.texts(corpus.uris)
        texts = ["\n".join(filter(None, told[name])) for name in corpus.uris]
        queries = [question.text for question in judged.questions]
        junk = list(nonsense())
        np.save(to / "vectors.npy", encoder.encode_passages(texts))
        for name, asked in (("query_vectors", queries), ("junk_vectors", junk)):
            plain = [unicodedata.normalize("NFKC", text.strip()) for text in asked]
            np.save(to / f"{name}.npy", encoder.encode_queries(plain))
        content = {"ids": list(corpus.uris), "texts": texts, "queries": queries, "junk": junk}
        told_of = content | {"origin": str(folder.resolve())}
        (to / "texts.json").write_text(json.dumps(told_of, ensure_ascii=False), "utf-8")
    return Set(corpus.name, to, judged, len(corpus))


def nonsense() -> Iterator[str]:
    """Queries without a meaning, made otherwise than the library's own probes: any Han characters, any codes."""
    draw = random.Random(20260101)
    for number in range(JUNK):
        if number % 2:
            yield "".join(chr(draw.randint(0x4E00, 0x9FA5)) for _ in range(draw.randint(4, 12)))
        else:
            letters = "abcdefghijklmnopqrstuvwxyz0123456789"
            words = ("".join(draw.choices(letters, k=draw.randint(4, 9))) for _ in range(draw.randint(1, 4)))
            yield " ".join(words)


# --- one peer -----------------------------------------------------------------------------------------------------


def compared(name: str, sets: Sequence[Set], cache: Path, reuse: bool) -> Row:
    row = Row(name)
    try:
        python = environment(name, cache)
    except subprocess.CalledProcessError as error:
        row.error = f"cannot be installed here: {str(error.stderr).strip().splitlines()[-1][:200]}"
        return row
    for one in sets:
        folder = cache / "indexes" / name / one.folder.name
        if not reuse:
            shutil.rmtree(folder, ignore_errors=True)
            for old in folder.parent.glob(f"{folder.name}.*.json"):
                old.unlink()
        begun = time.monotonic()
        build = acted(python, name, "build", one, folder)
        ask = {"error": "not built"} if "error" in build else acted(python, name, "ask", one, folder)
        if why := build.get("error") or ask.get("error"):
            row.error = f"{one.name}: {why}"
            print(f"{name:14} {row.error}", file=sys.stderr)
            return row
        found = row.sets[one.name] = Outcome(build, ask, size(folder), ndcg(ask["ranked"], one.judged))
        took = time.monotonic() - begun
        print(f"{name:14} {one.name:14} nDCG@10 {found.ndcg:.3f}  {took:.0f} s", file=sys.stderr)
    for fault in ("damaged", "gone"):
        folder = cache / "indexes" / name / sets[0].folder.name
        row.faults[fault] = faulted(python, name, fault, sets[0], folder, row.sets[sets[0].name].ask["ranked"])
    return row


def environment(name: str, cache: Path) -> Path:
    """The interpreter of a peer; the floors and the library itself run in this one's."""
    wanted = HERE / name / "requirements.txt"
    if not wanted.exists():
        return Path(sys.executable)
    folder = cache / "environments" / name
    stamp, digest = folder / "installed", hashlib.sha256(wanted.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, text=True)
        install = [folder / "bin/python", "-m", "pip", "install", "--quiet", "-r", wanted]
        subprocess.run(install, check=True, capture_output=True, text=True)
        stamp.write_text(digest)
    return folder / "bin" / "python"


def acted(python: Path, name: str, action: str, one: Set, folder: Path) -> dict[str, Any]:
    """What the peer wrote down, perhaps in an earlier run; a process that crashes or hangs wrote nothing."""
    result = folder.parent / f"{folder.name}.{action}.json"
    if result.exists():
        kept: dict[str, Any] = json.loads(result.read_text("utf-8"))
        return kept
    result.parent.mkdir(parents=True, exist_ok=True)
    if action == "build":
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was broken off
    command = [python, HERE / name / "run.py", action, one.folder, folder, result]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {SECONDS} s"}
    if not result.exists():
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"error": f"the process ended with {done.returncode}: {last[:200]}"}
    found: dict[str, Any] = json.loads(result.read_text("utf-8"))
    return found


def faulted(python: Path, name: str, fault: str, one: Set, sound: Path, intact: list[list[str]]) -> str:
    """What comes of an index whose biggest file lost its middle, or is not there: opened anew and asked."""
    folder = sound.with_name(f"{sound.name}.{fault}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sound, folder)
    biggest = max((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    if fault == "gone":
        biggest.unlink()
    else:
        content = bytearray(biggest.read_bytes())
        middle = slice(len(content) // 2, len(content) // 2 + DAMAGED_BYTES)
        content[middle] = bytes(255 - byte for byte in content[middle])
        biggest.write_bytes(content)
    found = acted(python, name, "ask", one, folder)
    shutil.rmtree(folder, ignore_errors=True)
    if "error" in found:
        print(f"{name:14} {fault}: {found['error'][:160]}", file=sys.stderr)
        return "raised"
    if found["ranked"] == intact:
        return "same"
    return "empty" if not any(found["ranked"]) else "other"


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def ndcg(ranked: Sequence[Sequence[str]], judged: JudgedSet) -> float:
    """Mean nDCG@10 with the grade as gain (Järvelin & Kekäläinen 2002, as trec_eval computes it)."""
    return sum(
        _one(found, judged.qrels[question.query_id]) for question, found in zip(judged.questions, ranked, strict=True)
    ) / len(ranked)


def _one(found: Sequence[str], grades: Mapping[str, int]) -> float:
    best = sorted(grades.values(), reverse=True)
    return _gain([grades.get(name, 0) for name in found[:10]]) / _gain(best[:10])


def _gain(grades: Sequence[int]) -> float:
    return sum(max(grade, 0) / math.log2(place + 1) for place, grade in enumerate(grades, 1))


if __name__ == "__main__":
    main()
