"""Says how far the probability of the first passage is true: as shipped, and by numbers that were fitted without the set.

    python bench/first_passage.py DIR[=DIR …] … [--limit 120] [--cache DIR] [--keep DIR] [--language en|zh]

DIR is a judged set in BEIR layout, or the folder of a small library: ``docs/`` and ``questions.tsv`` with the columns id, kind,
question and must_contain (words that a right passage has, joined by ``|``; kinds ``na_near`` and ``na_far`` have no answer).
Sets joined by ``=`` are one family, and are left out together. Every library is built once into the cache and answers through
the program's own path, with nothing refused: its own questions, those of the other families (*far*), and where a document has
several entries its own ones in another document (*near*).

Two tables are printed, each as shipped and left out: what each `search.abstain` keeps of the questions whose answer stands in
the top three of the small libraries, and refuses of near and far ones; and of each set, at ``normal``, how often the first
passage is right, what was said of it, the expected calibration error (five bins of equally many), AUC of right against wrong
firsts, and the median of right ones. Beside the error stands what it would be if all numbers were right, by chance alone; if the
share of right firsts of the set were known; and if it were learned from thirty of its questions, on the others. Last the numbers
that all sets together would choose.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import platform
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import wenyuan
from scoring import opened
from transfer import FIELDS, FITTED, family_of, logistic
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.filters import In
from wenyuan.core.model import Passage
from wenyuan.core.scoring.answerable import (
    ABSTAIN,
    MODELS,
    WITHOUT_ITS_CODE,
    Model,
    Standing,
)
from wenyuan.core.scoring.blending import probability
from wenyuan.core.scoring.probability import CURVES, WEIGHTS, Field, candidate
from wenyuan.core.scoring.reliability import auc
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.questions import read_judged
from wenyuan.service.library import Library

FIRST = 10
BINS = 5
STRANGERS = 60
ANSWERABLE, NEAR, FAR = 0.95, 0.15, 0.4
"""The share of questions that have an answer, and what near and far ones count in the fit beside them."""
PLACES = (1.0, 0.5, 0.5)
SMALL = 3.0
"""What the first places, and a small library, count in the fit."""
RIDGE = 4e-3
"""What holds the weights, which are those of standardised features."""
DRAWS, LEARNED, TRUST = 100, 30, 1.5
"""Of questions, and of which share of right firsts; how many a library learns from; how far it trusts what holds elsewhere."""
ERRORS = range(2, 6)
"""Columns of the second table, by three digits."""
KINDS = {"na_near": "near", "na_far": "far"}

Row = dict[str, Any]
Right = Callable[[Passage], bool]
Numbers = tuple[Model, Sequence[float], float]
"""The model of an answer in scope; the weights of the evidence that it is this passage, and the intercept."""
SHIPPED: Numbers = (
    MODELS["hybrid"],
    [CURVES["hybrid"].slope * weight for weight in WEIGHTS],
    CURVES["hybrid"].intercept,
)

HEADS = {
    "en": ("as shipped", "left out", "kept, of what is in the top three", "near refused", "far refused", "set", "asked",
           "first is right", "said, mean", "ECE", "by chance", "share known", "30 questions", "AUC", "median of right", "mean"),
    "zh": ("出厂参数", "留出该集", "答案在前三位的：保留", "相近的：拒绝", "无关的：拒绝", "数据集", "问题", "首位正确", "所说，平均",
           "校准误差", "纯属偶然", "已知比例", "学三十问", "AUC", "正确首位的中位数", "平均"),
}  # fmt: skip


# -- asking ---------------------------------------------------------------------------------------------


@contextmanager
def overheard(library: Library) -> Iterator[Row]:
    """Nothing is refused; how the scope and each passage stood to the last question is told."""
    retriever: Any = library._retriever
    abstention, told = retriever._abstention, {}
    verdict, settled = abstention.verdict, Field.settled

    def judged(query: Any, found: Any, ranked: Any, coverage: Any, scope: Any, deadline: Any) -> Any:
        said = verdict(query, found, ranked, coverage, scope, deadline)
        how = abstention.standing(query, found, ranked, coverage, deadline) if ranked else Standing(keyword=0.0)
        told.update(
            {name: float(getattr(how, name)) for name in FIELDS},
            missing=bool(said.codes),
            most=said.most,
        )
        told["sure"] = said.probability == 1.0
        return said._replace(why="")

    def noted(field: Field, hits: Any, groups: Any) -> Any:
        told["features"] = {hit.passage_id: field.features(candidate(hit, groups)) for hit in hits}
        return settled(field, hits, groups)

    with patch.object(abstention, "verdict", judged), patch.object(Field, "settled", noted):
        yield told


def one(library: Library, told: Row, text: str, right: Right, **scope: Any) -> Row:
    """A question's standing, and the features of its first passages with whether each is right."""
    told.clear()
    try:
        answer = library.search(text, limit=FIRST, **scope)
    except InvalidRequest:
        return {}
    hits = [hit for hit in answer.hits if hit.passage_id in told.get("features", {})]
    alike = [(answer.passages[hit.passage_id], *answer.copies.get(hit.passage_id, ())) for hit in hits]
    features = [told["features"][hit.passage_id] for hit in hits]
    return {**told, "text": text, "features": features, "right": [any(map(right, same)) for same in alike]}


def asked(folder: Path, strangers: Sequence[str], cache: Path, limit: int) -> list[Row]:
    """All that is asked of a set's library, each row with its kind."""
    return small(folder, cache) if is_small(folder) else judged_set(folder, strangers, cache, limit)


def is_small(folder: Path) -> bool:
    return (folder / "questions.tsv").exists()


def lines_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "questions.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def questions_of(folder: Path) -> list[str]:
    """The questions of a set that have an answer."""
    if is_small(folder):
        return [line["question"] for line in lines_of(folder) if line["kind"] not in KINDS]
    return sorted({json.loads(line)["text"] for line in (folder / "queries.jsonl").open("rb")})


def flat(text: str) -> str:
    return "".join(text.split())


def small(folder: Path, cache: Path) -> list[Row]:
    files = sorted((folder / "docs").rglob("*"))
    stamp = hashlib.sha256("".join(f"{p.name}{p.stat().st_size}" for p in files).encode()).hexdigest()[:8]
    rows = []
    with wenyuan.open(cache / f"{folder.name}-{stamp}", create=True, search={"deadline": 60}) as library:
        if not library.sources():
            library.add(wenyuan.Source(source_id="docs", path=str(folder / "docs")))
        with overheard(library) as told:
            for line in lines_of(folder):
                wanted = [flat(words) for words in (line["must_contain"] or "").split("|") if words]
                row = one(library, told, line["question"], lambda p, w=wanted: any(x in flat(p.text) for x in w))  # type: ignore[misc]
                rows.append({**row, "kind": KINDS.get(line["kind"], "own")})
    return [row for row in rows if "features" in row]


def judged_set(folder: Path, strangers: Sequence[str], cache: Path, limit: int) -> list[Row]:
    corpus, library = opened(folder, cache)
    judged, draw, rows = read_judged(folder, corpus.uris, limit=limit), random.Random(3), []
    with library, overheard(library) as told:
        entries = entries_of(library, corpus)
        documents = library.catalog.live_documents("eval")
        parts: dict[str, list[int]] = defaultdict(list)
        for entry, uri in corpus.uris.items():
            parts[family_of(entry)].append(documents[uri][0])
        several = sorted(name for name, members in parts.items() if len(members) > 1)

        def ask(kind: str, text: str, right: Mapping[str, int], **scope: Any) -> None:
            row = one(library, told, text, lambda p: right.get(entries.get(p.passage_id, ""), 0) > 0, **scope)
            if "features" in row:
                rows.append({**row, "kind": kind})

        for question in judged.questions:
            right = judged.qrels[question.query_id]
            ask("own", question.text, right, filter=question.filter)
            homes = {family_of(entry) for entry, grade in right.items() if grade > 0}
            if others := [name for name in several if name not in homes] if homes & set(several) else []:
                ask("near", question.text, {}, filter=In("document_id", tuple(parts[draw.choice(others)])))
        for text in strangers:
            ask("far", text, {})
    return rows


# -- fitting and saying ---------------------------------------------------------------------------------


def fitted(sets: Mapping[str, list[Row]], small_ones: set[str]) -> Numbers:
    """What these sets would choose: a logistic regression of each part, without weights below 0."""
    x, y, votes = [], [], []
    scopes: list[tuple[list[float], float, float]] = []
    for name, rows in sets.items():
        counts = SMALL if name in small_ones else 1.0
        own = [row for row in rows if row["kind"] == "own" and row["features"]]
        for row in own:
            for features, right, place in zip(row["features"], row["right"], PLACES, strict=False):
                x.append([*features, 1.0])
                y.append(float(right))
                votes.append(place * counts / len(own))
        for kind, vote in (("own", 1.0), ("near", NEAR), ("far", FAR)):
            some = [
                r
                for r in rows
                if r["kind"] == kind and r["features"] and not (r["missing"] or r["sure"] or r["strange"])
            ]
            scopes += [
                ([*(r[n] for n in FITTED), 1.0], float(kind == "own"), vote * counts / len(some)) for r in some
            ]
    *weights, intercept = rising(np.array(x), np.array(y), np.array(votes))
    *model, constant = rising(*(np.array(column) for column in zip(*scopes, strict=True)))
    constant += math.log(ANSWERABLE / (1.0 - ANSWERABLE) * (NEAR + FAR))
    return Model(**dict(zip(FITTED, model, strict=True)), intercept=constant), weights, intercept


def rising(x: Any, y: Any, votes: Any) -> list[float]:
    """A logistic regression whose weights are none below 0; the last number is the constant."""
    kept = list(range(x.shape[1]))
    while True:
        found = logistic(x[:, kept], y, votes, RIDGE)
        falling = [at for at, weight in enumerate(found[:-1]) if weight < 0.0]
        if not falling:
            weights = dict(zip(kept, found, strict=True))
            return [weights.get(at, 0.0) for at in range(x.shape[1])]
        kept.pop(falling[0])


def said(row: Row, numbers: Numbers) -> tuple[float, list[float]]:
    """The probability that the scope answers, and that of each first passage."""
    if not row["features"]:
        return 0.0, []
    model, weights, intercept = numbers
    answerable = model.probability(Standing(**{name: row[name] for name in FIELDS}))
    answerable = 1.0 if row["sure"] else min(answerable, WITHOUT_ITS_CODE) if row["missing"] else answerable
    evidence = (float(np.dot(weights, features)) for features in row["features"])
    return answerable, [
        min(answerable, row["most"]) * probability(intercept + one) for one in accumulate(evidence, min)
    ]


def calibration(chances: Sequence[float], right: Sequence[bool]) -> float:
    """Expected calibration error in bins of equally many."""
    order = np.argsort(chances)
    p, y = np.array(chances)[order], np.array(right, float)[order]
    parts = zip(np.array_split(p, BINS), np.array_split(y, BINS), strict=True)
    return sum(abs(float(a.mean() - b.mean())) * len(a) for a, b in parts if len(a)) / len(p)


def by_chance(chances: Sequence[float]) -> float:
    """The calibration error that right numbers have, in the mean over what may happen."""
    draw = np.random.default_rng(5)
    return float(np.mean([calibration(chances, draw.random(len(chances)) < np.array(chances)) for _ in range(DRAWS)]))


def moved(
    chances: Sequence[float], right: Sequence[bool], trust: float, of: Sequence[float] | None = None
) -> list[float]:
    """Probabilities moved by one constant so that they say how often these are right.

    Args:
        trust: In no move at all; 0: none.
        of: Which are moved, if not `chances`.
    """
    logits, share = logits_of(chances), float(np.sum(right))
    low, high = -8.0, 8.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        too_much = float(np.sum(1.0 / (1.0 + np.exp(-logits - middle)))) + trust * middle > share
        low, high = (low, middle) if too_much else (middle, high)
    return (1.0 / (1.0 + np.exp(-logits_of(chances if of is None else of) - low))).tolist()  # type: ignore[no-any-return]


def logits_of(chances: Sequence[float]) -> Any:
    p = np.clip(np.array(chances), 1e-4, 1.0 - 1e-4)
    return np.log(p / (1.0 - p))


def from_thirty(chances: Sequence[float], right: Sequence[bool]) -> float | None:
    """The calibration error of the other questions where a constant is learned from some, in the mean over draws of them."""
    if len(chances) < 2 * LEARNED - 10:
        return None
    draw, errors = np.random.default_rng(7), []
    p, y = np.array(chances), np.array(right)
    for _ in range(DRAWS // 4):
        order = draw.permutation(len(p))
        some, rest = order[:LEARNED], order[LEARNED:]
        errors.append(calibration(moved(p[some], y[some], TRUST, p[rest]), y[rest]))
    return float(np.mean(errors))


# -- tables ---------------------------------------------------------------------------------------------


def settings(sets: Mapping[str, list[Row]], numbers: Mapping[str, Numbers], head: Sequence[str]) -> None:
    print(f"| | {' | '.join(head[2:5])} |\n|---|---|---|---|")
    probabilities = {
        kind: [
            said(row, numbers[name])[0]
            for name, rows in sets.items() for row in rows
            if row["kind"] == kind and (kind != "own" or any(row["right"][:3]))
        ]
        for kind in ("own", "near", "far")
    }  # fmt: skip
    for setting, least in ABSTAIN.items():
        if least:
            shares = {kind: np.mean(np.array(p) >= least) if p else math.nan for kind, p in probabilities.items()}
            refused = (percent(1 - shares[kind], 0) for kind in ("near", "far"))
            print(f"| {setting} | {percent(shares['own'], 1)} | {' | '.join(refused)} |")


def percent(share: float, digits: int) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def firsts(
    sets: Mapping[str, list[Row]], numbers: Mapping[str, Numbers], small_ones: set[str], head: Sequence[str]
) -> None:
    print(f"| {' | '.join(head[5:15])} |\n|{'---|' * 10}")
    table = []
    for name, rows in sets.items():
        told = [(said(row, numbers[name]), row["right"]) for row in rows if row["kind"] == "own" and row["features"]]
        kept = [(chances[0], right[0]) for (scope, chances), right in told if scope >= ABSTAIN["normal"]]
        if not kept:
            continue
        chances, right = [p for p, _ in kept], [y for _, y in kept]
        area = auc([p for p, y in kept if y], [p for p, y in kept if not y])
        sure = [p for p, y in kept if y]
        figures = [
            np.mean(right),
            np.mean(chances),
            calibration(chances, right),
            by_chance(chances),
            calibration(moved(chances, right, 0.0), right),
            from_thirty(chances, right),
            area,
            np.median(sure) if sure else None,
        ]
        table.append(figures)
        print(f"| {f'*{name}*' if name in small_ones else name} | {len(told)} | {cells(figures)} |")
    columns = [[value for value in column if value is not None] for column in zip(*table, strict=True)]
    print(f"| {head[15]} | | {cells([np.mean(column) if column else None for column in columns])} |")


def cells(figures: Sequence[Any]) -> str:
    shown = ("–" if value is None else f"{value:.{3 if at in ERRORS else 2}f}" for at, value in enumerate(figures))
    return " | ".join(text.removeprefix("0") if text.startswith("0.") else text for text in shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="DIR[=DIR …]")
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--keep", type=Path, help="a folder: what was asked is kept there, and read the next time")
    parser.add_argument("--language", choices=HEADS, default="en", help="of the tables' heads")
    given = parser.parse_args()
    families = [[Path(name) for name in word.split("=")] for word in given.sets]
    small_ones = {folder.name for family in families for folder in family if is_small(folder)}
    sets: dict[str, list[Row]] = {}
    family_by_name: dict[str, int] = {}
    for number, family in enumerate(families):
        others = [
            [text for folder in other for text in questions_of(folder)] for other in families if other is not family
        ]
        draw, share = random.Random(2), math.ceil(STRANGERS / max(1, len(others)))
        strangers = [text for texts in others for text in draw.sample(texts, min(len(texts), share))]
        for folder in family:
            kept = given.keep / f"{folder.name}.json" if given.keep else None
            if kept is not None and kept.exists():
                sets[folder.name] = json.loads(kept.read_text("utf-8"))
            else:
                sets[folder.name] = asked(folder, strangers, given.cache, given.limit)
                if kept is not None:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(sets[folder.name], ensure_ascii=False), "utf-8")
            family_by_name[folder.name] = number
            print(f"{folder.name}: {len(sets[folder.name])} questions asked", file=sys.stderr, flush=True)
    left_out = {
        number: fitted({name: rows for name, rows in sets.items() if family_by_name[name] != number}, small_ones)
        for number in range(len(families))
    }
    head = HEADS[given.language]
    print(f"{platform.machine()}, {platform.python_version()}, at most {given.limit} questions a set")
    companies = {name: rows for name, rows in sets.items() if name in small_ones}
    for title, numbers in (
        (head[0], dict.fromkeys(sets, SHIPPED)),
        (head[1], {name: left_out[family_by_name[name]] for name in sets}),
    ):
        print(f"\n{title}\n")
        settings(companies or sets, numbers, head)
        print()
        firsts(sets, numbers, small_ones, head)
    model, weights, intercept = fitted(sets, small_ones)
    print(f"\nof all: {model}\nweights {', '.join(f'{w:.2f}' for w in weights)}, intercept {intercept:.2f}")


if __name__ == "__main__":
    main()
