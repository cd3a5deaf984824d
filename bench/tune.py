"""What `tune` gives on judged sets: learned from some of the questions, measured on the others, through the library.

    python bench/tune.py DIR[:LEARN] … [--cache DIR] [--seed 1] [--by document|question] [--floor 0]
        [--force]

DIR is a judged set in BEIR layout; LEARN is how many of its questions are learned from (half of them by default, drawn
by the hash of their ids), and as many others are asked: about other documents and in other words or, by question, any
others (then `Library.tune` is told so, too: ``same_documents``). Every set's library is built once into the cache and copied
before it is tuned. For each set: nDCG@10 of the unseen questions before and after, the seconds of `Library.tune`, what
cross-validation promised, what was given, each with the gains that 98 % of a bootstrap over documents lie between, and
whether the two differ by no more than those allow, whether answers given before are replayed as they were, and whether `undo` restores scores.
With `--force` a tuning that was not adopted is measured all the same, to show what the refusal spared.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.scoring.adapt import Tuning
from wenyuan.core.scoring.cross_validation import drawn_means
from wenyuan.core.scoring.folds import deal
from wenyuan.core.text.analysis import query_terms
from wenyuan.evaluation.built_library import default_cache, entries_of, open_built
from wenyuan.evaluation.corpus import open_corpus
from wenyuan.evaluation.measures import measured
from wenyuan.evaluation.pace import Pace
from wenyuan.evaluation.questions import JudgedQuery, read_judged
from wenyuan.evaluation.run import QueryRunner
from wenyuan.service.learning.question_documents import whole

REPLAYED = 2  # an exact replay builds the index of that time anew
COMPARED = 20


def lot(seed: int, query_id: str) -> str:
    return hashlib.sha256(f"{seed}/{query_id}".encode()).hexdigest()


def split(
    questions: Sequence[JudgedQuery], documents: Mapping[str, Sequence[str]], learn: int | None, by: str
) -> tuple[list[JudgedQuery], list[JudgedQuery], list[int]]:
    """Whom to learn from, whom to ask, and of the latter which are about the same documents."""
    dealt = deal([query_terms(q.text) for q in questions], [documents[q.query_id] for q in questions], folds=2)
    halves = dealt.own(0).tolist(), np.intersect1d(dealt.own(1), dealt.others(0)).tolist()
    if by == "question":
        middle = learn or len(questions) // 2
        halves = list(range(middle)), list(range(middle, len(questions)))
    lessons, unseen = (half[:learn] for half in halves)
    groups = [int(dealt.groups[i]) for i in unseen]
    return [questions[i] for i in lessons], [questions[i] for i in unseen], groups


def one(
    folder: Path, learn: int | None, cache: Path, seed: int, by: str, floor: float | None, force: bool
) -> dict[str, Any]:
    corpus = open_corpus(folder)
    judged = read_judged(folder, corpus.uris, qrels=None)
    drawn = sorted(judged.questions, key=lambda q: lot(seed, q.query_id))
    if learn and by == "document":  # so that what is learned from is drawn from as many documents as are asked about
        drawn = drawn[: 2 * learn]
    answered = {q: [whole(corpus.uris[d]) for d, grade in own.items() if grade] for q, own in judged.qrels.items()}
    lessons, unseen, groups = split(drawn, answered, learn, by)
    pairs = [
        QuestionAddress(question=q.text, answer=corpus.uris[document], grade=grade)
        for q in lessons
        for document, grade in judged.qrels[q.query_id].items()
    ]
    search = {} if floor is None else {"floor": floor}
    with open_built(corpus, cache, sys.stderr, search=search) as library:
        built = library.folder
    with tempfile.TemporaryDirectory(dir=cache.parent) as scratch:
        shutil.copytree(built, Path(scratch) / built.name)
        with open_built(corpus, Path(scratch), sys.stderr, search=search) as library:
            asker = QueryRunner(library, entries_of(library, corpus))
            before, plain = figures(asker, unseen, judged.qrels), scores(library, unseen)
            ids = [library.search(q.text).audit_id for q in unseen[:REPLAYED]]
            begun, worked = time.perf_counter(), time.process_time()
            report = library.tune(pairs, same_documents=by == "question")
            seconds, cpu = time.perf_counter() - begun, time.process_time() - worked
            if report.outcome in ("no gain", "curve adopted") and force:
                adopt_anyway(library, pairs)
            after = figures(asker, unseen, judged.qrels)
            same = sum(library.replay(i, exact=True).identical for i in ids)
            if library.tuning() is not None:
                library.undo_tuning()
            restored = scores(library, unseen) == plain
    verdict, gains = report.verdict, after - before
    drawn_gains = drawn_means(gains, np.array(groups), 7)
    promised = verdict and ([verdict.gain, verdict.lower, verdict.upper] if verdict.adopt else [0.0, 0.0, 0.0])
    given = [float(gains.mean()), *map(float, np.quantile(drawn_gains, (0.01, 0.99)))]
    return {
        "set": corpus.name, "learned": len(lessons), "unseen": len(unseen),
        "before": round(before.mean(), 4), "after": round(after.mean(), 4), "gain": round(given[0], 4),
        "promised": promised and [round(p, 4) for p in promised], "given": [round(g, 4) for g in given],
        "kept": promised and bool(kept(promised, given)), "documents": report.documents, "across": report.across,
        "outcome": report.outcome, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1), "replayed": f"{same}/{len(ids)}",
        "restored": restored,
        "held_out": verdict and [round(verdict.before, 4), round(verdict.after, 4), round(verdict.lower, 4)],
        "error": report.error and [round(e, 3) for e in report.error], "collapsed": verdict and verdict.collapsed,
        "strength": verdict and verdict.strength, "weight": verdict and verdict.weight,
        "by_fold": verdict and [[round(b, 3), round(a, 3)] for b, a in verdict.by_fold],
    }  # fmt: skip


def kept(promised: Sequence[float], given: Sequence[float]) -> bool:
    """Whether two means (with the ends of their intervals) differ by no more than both intervals allow."""
    below, above = promised[0] - promised[1], promised[2] - promised[0]
    under, over = given[0] - given[1], given[2] - given[0]
    short = math.hypot(below, over) if given[0] < promised[0] else math.hypot(above, under)
    return abs(given[0] - promised[0]) <= short


def figures(asker: QueryRunner, questions: Sequence[JudgedQuery], qrels: Any) -> Any:
    """nDCG@10 of each question."""
    run = asker.run("fused", questions, Pace("asking", len(questions), "queries", io.StringIO()))
    wanted = {q.query_id: qrels[q.query_id] for q in questions}
    _, each = measured(run, wanted, 10)
    return np.array([each[q.query_id] for q in questions])


def scores(library: Any, questions: Sequence[JudgedQuery]) -> list[list[tuple[int, float]]]:
    return [[(h.passage_id, h.score) for h in library.search(q.text).hits] for q in questions[:COMPARED]]


def adopt_anyway(library: Any, pairs: Sequence[QuestionAddress]) -> None:
    """What would have come of it without the verdict: the whole map, at the weight that is."""
    course, _ = library._course(library.encoder, {"golden": pairs}, None, lambda *_: None)
    everything = np.arange(len(course.lessons))
    learned = course.weakened(course.learned(everything), 1.0, everything)
    tuning = Tuning(weight=library._retriever.weight, encoder=library.encoder.fingerprint.key, map=learned)
    library.catalog.adopt_tuning(tuning, {}, library.collection_under({}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="DIR[:LEARN]")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--by", choices=("document", "question"), default="document")
    parser.add_argument("--floor", type=float, help="as `search.floor`: what is promised is of the order alone")
    parser.add_argument("--force", action="store_true")
    given = parser.parse_args()
    for name in given.sets:
        folder, _, learn = name.partition(":")
        row = one(
            Path(folder), int(learn) if learn else None, given.cache, given.seed, given.by, given.floor, given.force
        )
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
