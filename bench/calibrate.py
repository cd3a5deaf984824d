"""Fits the curve that makes scores probabilities, and says how well it does on sets that it was not fitted on.

    python bench/calibrate.py DIR … [--limit 500] [--cache DIR] [--keep FILE] [--encoder none]

DIR is a judged set in BEIR layout. Every set's library is built once into the cache and asked its questions. What counts
is what `wenyuan eval` counts: the first ten documents, each at its best passage. A set votes with the curve that is most
likely for it; the curve of several is the median over families of sets (those whose names are given joined by ``=``
share their texts and have one vote, as ``zh_xquad=en_xquad``), so that one set that judges otherwise does not pull all.
Each family is left out in turn. Printed: for each set the expected calibration error of the score and of the probability,
and how likely the first document is said to be and is; then what questions of the other sets get; then the curve of all.
With ``--keep`` candidates and judgements are kept in a file, and read from it the next time.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.calibrate import Curve
from wenyuan.core.calibration import Judged, best_curve, probabilities
from wenyuan.core.measures import calibration_error, in_bins
from wenyuan.evaluation.building import default_cache, entries_of, open_built
from wenyuan.evaluation.corpus import open_corpus
from wenyuan.evaluation.judged import read_judged

K = 10
STRANGE = 10  # questions of each other set


def asked(folder: Path, others: Sequence[Path], cache: Path, limit: int, encoder: str) -> dict[str, Any]:
    """What a set's library found: by question the candidates' scores, and the first documents with score and judgement."""
    corpus = open_corpus(folder)
    judged = read_judged(folder, corpus.uris, limit=limit)
    overrides = {} if encoder == "builtin" else {"encoder": {"kind": encoder}}
    with open_built(corpus, cache, sys.stderr, **overrides) as library:
        entries = entries_of(library, corpus)
        legs, seen = library._retriever._own, []
        real = legs.candidates

        def overheard(*args: Any, **more: Any) -> Any:
            found = real(*args, **more)
            seen.append([hit.score for hit in found[0]])
            return found

        legs.candidates = overheard  # type: ignore[method-assign]

        def one(text: str, grades: Mapping[str, int], condition: Any = None) -> dict[str, Any]:
            seen.clear()
            answer = library.search(text, limit=100, filter=condition)
            best: dict[str, float] = {}
            for hit in answer.hits:
                best.setdefault(entries[hit.passage_id], hit.parts.get("raw", hit.score))
            first = [[score, int(grades.get(entry, 0) > 0)] for entry, score in list(best.items())[:K]]
            return {"field": sorted(seen[-1], reverse=True)[:60] if seen else [], "first": first}

        return {
            "mode": library._retriever.mode,
            "own": [one(q.text, judged.qrels[q.query_id], q.filter) for q in judged.questions],
            "strange": [one(text, {}) for other in others for text in texts(other)],
        }


def texts(folder: Path) -> list[str]:
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines[:: max(1, len(lines) // STRANGE)][:STRANGE]]


def lessons(questions: Sequence[Mapping[str, Any]]) -> list[Judged]:
    return [
        Judged(field=q["field"], scores=[s for s, _ in q["first"]], right=[bool(y) for _, y in q["first"]])
        for q in questions
        if q["first"]
    ]


def median(curves: Sequence[Curve]) -> Curve:
    return Curve(*(float(np.median([getattr(c, name) for c in curves])) for name in ("intercept", "slope")))


def mean(curves: Sequence[Curve]) -> Curve:
    return Curve(*(float(np.mean([getattr(c, name) for c in curves])) for name in ("intercept", "slope")))


def error(questions: Sequence[Judged], scores: Sequence[Sequence[float]]) -> float:
    """As `wenyuan eval` has it."""
    judged = (
        (score, right)
        for q, own in zip(questions, scores, strict=True)
        for score, right in zip(own, q.right, strict=True)
    )
    return calibration_error(in_bins(judged)) or 0.0


def row(questions: Sequence[Judged], curve: Curve) -> tuple[float, ...]:
    found = [probabilities(q, curve) for q in questions]
    return (
        error(questions, [q.scores for q in questions]),
        error(questions, found),
        float(np.mean([own[0] for own in found])),
        float(np.mean([q.right[0] for q in questions])),
    )


def report(families: Sequence[Sequence[str]], told: Mapping[str, Mapping[str, Any]]) -> None:
    sets = {name: lessons(one["own"]) for name, one in told.items()}
    votes = [mean([best_curve(sets[name]) for name in family]) for family in families]
    rows = []
    print("| set | score | probability | first place: said / is |\n|---|---|---|---|")
    for number, family in enumerate(families):
        curve = median([vote for other, vote in enumerate(votes) if other != number])
        for name in family:
            rows.append(row(sets[name], curve))
            before, after, said, right = rows[-1]
            print(f"| {name} | {before:.3f} | {after:.3f} | {said:.2f} / {right:.2f} |", flush=True)
    before, after, *_ = np.mean(rows, axis=0)
    print(f"| mean | {before:.3f} | {after:.3f} | |")
    curve = median(votes)
    strange = [probabilities(q, curve)[0] for one in told.values() for q in lessons(one["strange"])]
    asked_of_others = sum(len(one["strange"]) for one in told.values())
    if strange:
        print(
            f"questions of other sets: {len(strange)} of {asked_of_others} pass the floor; first place {np.mean(strange):.2f}"
        )
    print(
        f"curve: Curve({curve.intercept:.2f}, {curve.slope:.2f}), votes {[(round(v.intercept, 2), round(v.slope, 2)) for v in votes]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="DIR[=DIR …]")
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--encoder", choices=("builtin", "none"), default="builtin")
    given = parser.parse_args()
    families = [[Path(name) for name in word.split("=")] for word in given.sets]
    told = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    for family in families:
        others = [folder for other in families if other is not family for folder in other]
        for folder in family:
            if folder.name not in told:
                told[folder.name] = asked(folder, others, given.cache, given.limit, given.encoder)
                if given.keep:
                    given.keep.write_text(json.dumps(told))
    print(
        f"{platform.machine()}, {platform.python_version()}, at most {given.limit} questions a set, encoder {given.encoder}"
    )
    report([[folder.name for folder in family] for family in families], told)


if __name__ == "__main__":
    main()
