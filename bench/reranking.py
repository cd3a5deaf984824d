"""What a reranker would give: the passages that the product finds, in the order that a cross-encoder gives them.

    python bench/reranking.py gather DIR … --keep FOLDER [--cache DIR] [--limit 600]
    python bench/reranking.py measure NAME … --keep FOLDER [--limit 150]

*gather* asks the library of each judged set (BEIR layout), with nothing refused, and keeps the first thirty passages of
each question as a reranker would read them. *measure* puts the first ten and twenty in another order, by what
`bench/cross_encoder.py` has learned from other sets:

    alone       by its logit
    blended     as `core/scoring/rerank.py` blends it, as a probability, with the search's
    added       by the search's logit and its own, each with a weight

The curve that makes a probability of a logit (less the mean of the question's), and the weights, are those of a logistic
regression over questions that were left aside in the sets that were learned from. Figures are changes of MRR@3 / nDCG@10,
with what lies between nine in ten bootstrap means; a star: zero does not.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cross_encoder import ASIDE, Asked, Judge, lessons, read
from scoring import STEPS, bare, opened, signed, switched
from transfer import logistic
from wenyuan.core.scoring.blending import SHARES, probability, share_at
from wenyuan.core.scoring.evaluation import changed, ndcg, reciprocal_rank
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.questions import read_judged
from wenyuan.service.search.reranking import _text

DEPTH = 30
AT = (10, 20)


def gathered(folder: Path, cache: Path, limit: int) -> dict[str, Any]:
    """Questions with what is found, best first, as (passage, entry, probability, grade); and the texts of passages."""
    corpus, library = opened(folder, cache)
    judged = read_judged(folder, corpus.uris, limit=limit)
    rows, texts = [], {}
    with library, switched(library, STEPS["shipped"]):
        entries = entries_of(library, corpus)
        for question in judged.questions:
            grades = judged.qrels[question.query_id]
            hits = library.search(question.text, limit=DEPTH, filter=question.filter).hits
            found = [
                (h.passage_id, entries[h.passage_id], h.score, grades.get(entries[h.passage_id], 0)) for h in hits
            ]
            passages = library.catalog.passages([h.passage_id for h in hits])
            texts |= {number: _text(passage) for number, passage in passages.items()}
            rows.append({"text": question.text, "found": found, "ideal": [g for g in grades.values() if g > 0]})
    return {"questions": rows, "texts": texts}


def measure(names: Sequence[str], keep: Path, limit: int) -> None:
    """Each way of reranking against the shipped order, set by set; then processor time."""
    judge = Judge(keep / "model.npz")
    aside = [
        (q, texts)
        for questions, texts in (read(keep, name) for name in judge.names)
        for q in lessons(questions)[:ASIDE:4]
    ]
    judged = [(q, judge(q["text"], [t[number] for number, *_ in q["found"][:10]])) for q, t in aside]
    curve, mix = curves(judged)
    print(f"{platform.machine()}, {platform.python_version()}; learned from {', '.join(judge.names)}")
    print(
        f"{len(aside)} questions aside: {curve[0]:.2f} · logit {curve[1]:+.2f}; {mix[0]:.2f} · search {mix[1]:+.2f} · logit"
    )
    ways = [f"{way} {top}" for top in AT for way in ("alone", "blended", "added")]
    print(f"| set | questions | shipped: MRR@3, nDCG@10 | {' | '.join(ways)} |\n|---|---|---|{'---|' * len(ways)}")
    means = []
    for name in names:
        questions, texts = read(keep, name)
        worth: dict[str, list[tuple[float, float]]] = {way: [] for way in ("shipped", *ways)}
        for q in questions[:limit]:
            said = judge(q["text"], [texts[number] for number, *_ in q["found"][: max(AT)]])
            for way, order in orders(q["found"], said, curve, mix):
                worth[way].append(worth_of(order, q["ideal"]))
        columns = {way: np.array(rows).T for way, rows in worth.items()}
        cells = [
            " / ".join(told(*pair) for pair in zip(columns["shipped"], columns[way], strict=True)) for way in ways
        ]
        shipped = ", ".join(bare(figure) for figure in columns["shipped"].mean(axis=1))
        print(f"| {name} | {len(questions[:limit])} | {shipped} | {' | '.join(cells)} |", flush=True)
        means.append([(columns[way] - columns["shipped"]).mean(axis=1) for way in ways])
    for word, rows in (("mean", np.mean(means, axis=0)), ("least", np.min(means, axis=0))):
        print(f"| *{word}* | | | {' | '.join(' / '.join(signed(float(v)) for v in row) for row in rows)} |")
    for top in AT:
        print(f"{top} passages: {timed(judge, *read(keep, names[-1]), top):.0f} ms of processor time a question")


def curves(judged: Sequence[tuple[Asked, Sequence[float]]]) -> tuple[list[float], list[float]]:
    """How likely a passage answers: by the logit, less the mean of the question's, and by the search's logit and that."""
    x = [
        (odds(hit[2]), logit, 1.0)
        for q, told in judged
        for hit, logit in zip(q["found"], centred(told), strict=False)
    ]
    y = [float(grade > 0) for q, logits in judged for *_, grade in q["found"][: len(logits)]]
    one, both = (logistic(np.array(x)[:, columns], np.array(y), np.ones(len(x))) for columns in ([1, 2], [0, 1, 2]))
    return one, both


def odds(share: float) -> float:
    """The logit of a probability."""
    return math.log(max(share, 1e-6) / max(1 - share, 1e-6))


def centred(logits: Sequence[float]) -> list[float]:
    """A softmax over a question's passages was learned, which leaves open where their logits lie."""
    return [logit - float(np.mean(logits)) for logit in logits]


def orders(
    found: Sequence[Any], logits: Sequence[float], curve: Sequence[float], mix: Sequence[float]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """What is found in each order; what is not reranked stays behind."""
    yield "shipped", found
    for top in AT:
        near = centred(logits[:top])
        said = [probability(curve[0] * logit + curve[1]) for logit in near]
        shares = [share_at(place, SHARES) for place in range(1, len(said) + 1)]
        mixed = [(1 - share) * hit[2] + share * p for hit, p, share in zip(found, said, shares, strict=False)]
        added = [mix[0] * odds(hit[2]) + mix[1] * logit for hit, logit in zip(found, near, strict=False)]
        for way, scores in (("alone", said), ("blended", mixed), ("added", added)):
            order = sorted(range(len(said)), key=lambda n: -scores[n])
            yield f"{way} {top}", [*(found[n] for n in order), *found[top:]]


def worth_of(order: Sequence[Any], ideal: Sequence[int]) -> tuple[float, float]:
    """MRR@3 and nDCG@10, each entry once."""
    grades = list({entry: grade for _, entry, _, grade in order}.values())
    return reciprocal_rank(grades, 3), ndcg(grades, ideal, 10)


def told(before: Sequence[float], after: Sequence[float]) -> str:
    change = changed(list(before), list(after))
    star = "" if change.verdict == "no difference" else "*"
    return f"{signed(change.mean)}{star} ({signed(change.lower)} … {signed(change.upper)})"


def timed(judge: Judge, questions: Sequence[Asked], texts: Mapping[int, str], top: int) -> float:
    """Milliseconds of processor time of a question; no text was read before."""
    some, begun = questions[-20:], time.process_time()
    for q in some:
        judge.reader.forget()
        judge(q["text"], [texts[number] for number, *_ in q["found"][:top]])
    return (time.process_time() - begun) / len(some) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("gather", "measure"))
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--limit", type=int, default=600)
    given = parser.parse_args()
    if given.step == "measure":
        measure([folder.name for folder in given.sets], given.keep, given.limit)
        return
    given.keep.mkdir(parents=True, exist_ok=True)
    for folder in given.sets:
        told = gathered(folder, given.cache, given.limit)
        (given.keep / f"{folder.name}.json").write_text(json.dumps(told, ensure_ascii=False))
        print(f"{folder.name}: {len(told['questions'])} questions", flush=True)


if __name__ == "__main__":
    main()
