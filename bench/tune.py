"""What `tune` gives on judged sets: learned from some of the questions, measured on the others, through the library.

    python bench/tune.py DIR[:LEARN] … [--cache DIR] [--seed 1] [--force]

DIR is a judged set in BEIR layout; LEARN is how many of its questions are learned from (half of them by default, drawn
by the hash of their ids), and as many others are asked. Every set's library is built once into the cache and copied
before it is tuned. For each set: nDCG@10 of the unseen questions before and after, the seconds of `Library.tune`, what
cross-validation said, whether answers given before are replayed as they were, and whether `undo` restores scores.
With `--force` a tuning that was not adopted is measured all the same, to show what the refusal spared.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.adapt import Tuning
from wenyuan.core.learned import Pair
from wenyuan.evaluation.asking import Asker
from wenyuan.evaluation.building import default_cache, entries_of, open_built
from wenyuan.evaluation.corpus import open_corpus
from wenyuan.evaluation.judged import Question, read_judged
from wenyuan.evaluation.measures import measured
from wenyuan.evaluation.pace import Pace

REPLAYED = 2  # an exact replay builds the index of that time anew
COMPARED = 20


def lot(seed: int, query_id: str) -> str:
    return hashlib.sha256(f"{seed}/{query_id}".encode()).hexdigest()


def one(folder: Path, learn: int | None, cache: Path, seed: int, force: bool) -> dict[str, Any]:
    corpus = open_corpus(folder)
    judged = read_judged(folder, corpus.uris, qrels=None)
    drawn = sorted(judged.questions, key=lambda q: lot(seed, q.query_id))
    count = learn or len(drawn) // 2
    lessons, unseen = drawn[:count], drawn[count : 2 * count]
    pairs = [
        Pair(question=q.text, answer=corpus.uris[document], grade=grade)
        for q in lessons
        for document, grade in judged.qrels[q.query_id].items()
    ]
    with open_built(corpus, cache, sys.stderr) as library:
        built = library.folder
    with tempfile.TemporaryDirectory(dir=cache.parent) as scratch:
        shutil.copytree(built, Path(scratch) / built.name)
        with open_built(corpus, Path(scratch), sys.stderr) as library:
            asker = Asker(library, entries_of(library, corpus))
            before, plain = figure(asker, unseen, judged.qrels), scores(library, unseen)
            ids = [library.search(q.text).audit_id for q in unseen[:REPLAYED]]
            begun, worked = time.perf_counter(), time.process_time()
            report = library.tune(pairs)
            seconds, cpu = time.perf_counter() - begun, time.process_time() - worked
            if report.outcome == "no gain" and force:
                adopt_anyway(library, pairs)
            after = figure(asker, unseen, judged.qrels)
            same = sum(library.replay(i, exact=True).identical for i in ids)
            if library.tuning() is not None:
                library.undo_tuning()
            restored = scores(library, unseen) == plain
    verdict = report.verdict
    return {
        "set": corpus.name, "learned": len(lessons), "unseen": len(unseen),
        "before": round(before, 4), "after": round(after, 4), "gain": round(after - before, 4),
        "outcome": report.outcome, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1), "replayed": f"{same}/{len(ids)}",
        "restored": restored,
        "held_out": verdict and [round(verdict.before, 4), round(verdict.after, 4), round(verdict.lower, 4)],
        "error": report.error and [round(e, 3) for e in report.error], "collapsed": verdict and verdict.collapsed,
        "strength": verdict and verdict.strength, "weight": verdict and verdict.weight,
        "by_fold": verdict and [[round(b, 3), round(a, 3)] for b, a in verdict.by_fold],
    }  # fmt: skip


def figure(asker: Asker, questions: Sequence[Question], qrels: Any) -> float:
    run = asker.run("fused", questions, Pace("asking", len(questions), "queries", io.StringIO()))
    wanted = {q.query_id: qrels[q.query_id] for q in questions}
    figures, _ = measured(run, wanted, 10)
    return float(figures["ndcg@10"])


def scores(library: Any, questions: Sequence[Question]) -> list[list[tuple[int, float]]]:
    return [[(h.passage_id, h.score) for h in library.search(q.text).hits] for q in questions[:COMPARED]]


def adopt_anyway(library: Any, pairs: Sequence[Pair]) -> None:
    """What would have come of it without the verdict: the whole map, at the weight that is."""
    course, _ = library._course(library.encoder, {"golden": pairs}, None, lambda *_: None)
    everything = np.arange(len(course.lessons))
    learned = course.weakened(course.learned(everything), 1.0, everything)
    tuning = Tuning(weight=library._retriever.weight(), encoder=library.encoder.fingerprint.key, map=learned)
    library.catalog.adopt_tuning(tuning, {}, library.floor_under(tuning))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="DIR[:LEARN]")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--force", action="store_true")
    given = parser.parse_args()
    for name in given.sets:
        folder, _, learn = name.partition(":")
        row = one(Path(folder), int(learn) if learn else None, given.cache, given.seed, given.force)
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
