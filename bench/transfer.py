"""Says what the numbers of the scoring path are worth in a collection that they were not chosen on.

    python bench/transfer.py DIR[=DIR …] … [--limit 250] [--cache DIR] [--keep FILE]

DIR is a judged set in BEIR layout; sets joined by ``=`` are one family (the same texts, or the same source), and are left
out together. Every library is built once into the cache and answers through the program's own path, with nothing refused:

* its own questions, in the whole library, and in the one document that answers, where a document has several entries;
* its own questions without the documents that answer them (*removed*), and in another document (*near*);
* questions of the other families (*foreign*), in the whole library and in one document; and *nonsense* of sixteen kinds.

Four tables are printed: nDCG@10 by the weight of the vector leg, with the weight that the other families would choose;
what each `search.abstain` keeps and refuses, by the shipped model and by one that is fitted on the other families; the
expected calibration error on own, foreign and removed questions together, by the shipped curve and by the other families'
one; last the model, the weight and the curve of all. A star: nine in ten bootstrap means lie on that side of zero.
`bench/scoring.py` switches off one step of the path at a time.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import platform
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from scoring import bare, gain, opened
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.filters import Filter, In, Not
from wenyuan.core.scoring.answerable import ABSTAIN, MODELS, Model, Standing
from wenyuan.core.scoring.curve_fit import JudgedPassages, best_curve, probabilities
from wenyuan.core.scoring.evaluation import calibration_error, in_bins
from wenyuan.core.scoring.formula import VECTOR_WEIGHT
from wenyuan.core.scoring.probability import CURVES, Curve
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.measures import measured
from wenyuan.evaluation.questions import read_judged
from wenyuan.evaluation.run import EngineRun, Ranked
from wenyuan.service.library import Library
from wenyuan.service.search.abstention import Verdict

K = 10
DEPTH = 30
WEIGHTS = (0.0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
JUNK = 12  # of each kind
STRANGERS = 250
VOTES = {"own": 1.0, "foreign": 0.1, "near": 0.1, "nonsense": 0.05}
"""What each kind of question counts in the fit, shared among the questions of a set and a scope. Removed ones do not: their
neighbours often answer them, which nobody judged."""
FIELDS = ("keyword", "nearness", "apart", "margin", "coverage", "strange")
FITTED = ("nearness", "apart", "margin", "coverage")
COMMON = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"

Asked = Mapping[str, Any]
Told = Mapping[str, Any]


def nonsense(seed: int = 5) -> Iterator[str]:
    """Queries without meaning, of sixteen kinds."""
    draw = random.Random(seed)
    for _ in range(JUNK):
        yield draw.choice(["foo", "asdf", "bla", "测试", "啦啦", "abc", "hey", "好的"]) * draw.randint(4, 9)
        yield "".join(
            draw.choice((COMMON, "abcdefghijklmnopqrstuvwxyz")[draw.random() < 0.5])
            for _ in range(draw.randint(8, 16))
        )
        yield "".join(draw.choices(COMMON, k=draw.randint(6, 14)))
        yield "".join(chr(draw.randint(0x3042, 0x3093)) for _ in range(draw.randint(6, 14)))
        yield "".join(chr(draw.randint(0x430, 0x44F)) for _ in range(draw.randint(6, 18)))
        yield " ".join(
            draw.choice(("qwert", "asdfg", "zxcvb", "poiuy", "lkjh")) * draw.randint(1, 3)
            for _ in range(draw.randint(1, 3))
        )
        yield "".join(draw.choices("0123456789", k=draw.randint(6, 20)))
        yield " ".join(
            "".join(draw.choice("bcdfgklmnprstvz") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
            for _ in range(draw.randint(2, 5))
        )
        yield draw.choice("aqwx的了哈呵嗯啊zZ#") * draw.randint(5, 30)
        yield base64.b64encode(draw.randbytes(draw.randint(6, 30))).decode()
        yield draw.randbytes(draw.randint(4, 16)).hex()
        yield " ".join("".join(draw.choices("01", k=8)) for _ in range(draw.randint(2, 6)))
        yield "".join(chr(draw.randint(0xAC00, 0xD7A3)) for _ in range(draw.randint(3, 10)))
        yield "".join(chr(draw.randint(0x4E00, 0x9FA5)) for _ in range(draw.randint(3, 12)))
        yield " ".join("".join(draw.choices("aeiouäöüyh", k=draw.randint(3, 9))) for _ in range(draw.randint(2, 5)))
        yield "，。？！…" * draw.randint(1, 3) + "".join(draw.choices("嘎嘣吧唧咕噜嘿哟呃", k=draw.randint(3, 9)))


# -- asking ---------------------------------------------------------------------------------------------


@contextmanager
def overheard(library: Library) -> Iterator[dict[str, Any]]:
    """Nothing is refused; how the best passages stood to the last question is told."""
    retriever: Any = library._retriever
    abstention, told = retriever._abstention, {}
    real = abstention.verdict

    def verdict(query: Any, found: Any, ranked: Any, coverage: Any, scope: Any, deadline: Any) -> Verdict:
        told.clear()
        said = real(query, found, ranked, coverage, scope, deadline)
        how = abstention.standing(query, found, ranked, coverage, deadline) if ranked else Standing(keyword=0.0)
        told.update({name: float(getattr(how, name)) for name in FIELDS}, p=said.probability)
        told["missing"] = bool(said.codes)
        return Verdict(said.probability, "")

    abstention.verdict = verdict
    try:
        yield told
    finally:
        del abstention.verdict


def one(
    library: Library,
    told: dict[str, Any],
    entries: Mapping[int, str],
    text: str,
    right: Mapping[str, int],
    **scope: Any,
) -> dict[str, Any] | None:
    """A question's standing, and its first ten entries with score and judgement; None where it asks for nothing."""
    told.clear()
    try:
        hits = library.search(text, limit=DEPTH, **scope).hits
    except InvalidRequest:
        return None
    if not told:
        return None
    best: dict[str, float] = {}
    for hit in hits:
        parts = hit.parts
        best.setdefault(entries[hit.passage_id], (parts["raw"] - parts["rivals"]) / parts["spread"])
    first = [[evidence, int(right.get(entry, 0) > 0)] for entry, evidence in list(best.items())[:K]]
    return {**told, "text": text, "first": first, "said": hits[0].score if hits else 0.0}


def family_of(entry: str) -> str:
    """What an entry is a part of: its id up to a ``#``."""
    return entry.partition("#")[0]


def asked(folder: Path, strangers: Sequence[str], cache: Path, limit: int) -> dict[str, Any]:
    """All that is asked of a set's library."""
    corpus, library = opened(folder, cache)
    judged = read_judged(folder, corpus.uris, limit=limit)
    draw = random.Random(3)
    with library, overheard(library) as told:
        entries = entries_of(library, corpus)
        documents = library.catalog.live_documents("eval")
        number = {entry: documents[uri][0] for entry, uri in corpus.uris.items()}
        parts: dict[str, list[str]] = defaultdict(list)
        for entry in number:
            parts[family_of(entry)].append(entry)
        parts = {name: members for name, members in parts.items() if len(members) > 1}
        names = sorted(parts)
        rows: list[dict[str, Any]] = []

        def ask(
            kind: str, text: str, right: Mapping[str, int], only: Filter | None = None, within: str = "all"
        ) -> None:
            found = one(library, told, entries, text, right, filter=only)
            if found is not None:
                rows.append({"kind": kind, "scope": within, **found})

        def inside(name: str) -> Filter:
            return In("document_id", tuple(number[entry] for entry in parts[name]))

        for question in judged.questions:
            right = judged.qrels[question.query_id]
            answers = [entry for entry, grade in right.items() if grade > 0 and entry in number]
            ask("own", question.text, right, question.filter)
            if question.filter is None:
                ask("removed", question.text, {}, Not(In("document_id", tuple(number[entry] for entry in answers))))
            homes = {family_of(entry) for entry in answers} & parts.keys()
            if homes:
                ask("own", question.text, right, inside(draw.choice(sorted(homes))), "document")
                ask("near", question.text, {}, inside(draw.choice([n for n in names if n not in homes])), "document")
        for kind, texts in (("foreign", strangers), ("nonsense", list(nonsense()))):
            for text in texts:
                ask(kind, text, {})
                if names:
                    ask(kind, text, {}, inside(draw.choice(names)), "document")
        return {"rows": rows, "weights": by_weight(library, entries, judged), "shipped": library._retriever.weight}


def by_weight(library: Library, entries: Mapping[int, str], judged: Any) -> dict[str, list[float]]:
    """nDCG@10 of each question, by the weight of the vector leg."""
    retriever: Any = library._retriever
    real, found = retriever.weight, {}
    for weight in WEIGHTS:
        retriever.weight = weight
        run = EngineRun("fused", ms={"total": [0.0]})
        for q in judged.questions:
            hits = library.search(q.text, limit=DEPTH, filter=q.filter).hits
            best = dict.fromkeys(entries[hit.passage_id] for hit in hits)
            run.ranked[q.query_id] = Ranked(tuple(best), tuple(1.0 / rank for rank, _ in enumerate(best, 1)))
        _, by_question = measured(run, judged.qrels, K)
        found[f"{weight:g}"] = [by_question[q.query_id] for q in judged.questions]
    retriever.weight = real
    return found


def strangers_of(families: Sequence[Sequence[Path]], own: Sequence[Path]) -> list[str]:
    """Questions of the other families, as many of each."""
    others = [family for family in families if family is not own]
    draw, found = random.Random(2), []
    for family in others:
        texts = sorted({json.loads(line)["text"] for one in family for line in (one / "queries.jsonl").open("rb")})
        found += draw.sample(texts, min(len(texts), math.ceil(STRANGERS / len(others))))
    return found


# -- fitting --------------------------------------------------------------------------------------------


def features(row: Asked) -> list[float]:
    return [*(row[name] for name in FITTED), 1.0]


def fitted(sets: Sequence[Told]) -> Model:
    """The logistic regression of these sets; a query that looks like no text is no part of it."""
    x, y, votes = [], [], []
    for told in sets:
        groups: dict[tuple[str, str], list[Asked]] = defaultdict(list)
        for row in told["rows"]:
            if row["kind"] in VOTES and not row["strange"] and not row["missing"]:
                groups[row["kind"], row["scope"]].append(row)
        for (kind, _), rows in groups.items():
            x += map(features, rows)
            y += [float(kind == "own")] * len(rows)
            votes += [VOTES[kind] / len(rows)] * len(rows)
    c = logistic(np.array(x), np.array(y), np.array(votes))
    return Model(**dict(zip(FITTED, c, strict=False)), intercept=c[-1])


def logistic(x: Any, y: Any, votes: Any, ridge: float = 1e-3) -> list[float]:
    """By Newton's method, on standardised features; the last one is the constant."""
    middle, width = x.mean(axis=0), x.std(axis=0) + 1e-9
    middle[-1], width[-1] = 0.0, 1.0
    z, votes, b = (x - middle) / width, votes / votes.sum(), np.zeros(x.shape[1])
    held = ridge * np.append(np.ones(len(b) - 1), 0.0)
    for _ in range(60):
        p = 1.0 / (1.0 + np.exp(-z @ b))
        slope = z.T @ (votes * (p - y)) + held * b
        b -= np.linalg.solve((z.T * (votes * p * (1.0 - p))) @ z + np.diag(held + 1e-9), slope)
    c = b / width
    c[-1] = b[-1] - float((b[:-1] * middle[:-1] / width[:-1]).sum())
    return [float(value) for value in c]


def standing(row: Asked) -> Standing:
    return Standing(**{name: row[name] for name in FIELDS})


def auc(own: Any, others: Any) -> float:
    """How often one of the first stands before one of the others."""
    return float(np.mean(own[:, None] > others[None, :]) + 0.5 * np.mean(own[:, None] == others[None, :]))


def lessons(rows: Sequence[Asked]) -> list[JudgedPassages]:
    return [
        JudgedPassages(evidence=[e for e, _ in r["first"]], right=[bool(y) for _, y in r["first"]])
        for r in rows
        if r["first"]
    ]


# -- tables ---------------------------------------------------------------------------------------------

Leaving = Callable[[str], list[Told]]


def fusion(told: Mapping[str, Told], leaving: Leaving) -> None:
    print("\n| set | asked | shipped | chosen by the others | " + " | ".join(f"{w:g}" for w in WEIGHTS) + " |")
    print(f"|---|---|---|---|{'---|' * len(WEIGHTS)}")
    table = []
    for name, one_set in told.items():
        weights = one_set["weights"]
        chosen = best_weight(leaving(name))
        shipped = weights[f"{VECTOR_WEIGHT:g}"]
        means = [float(np.mean(weights[f"{w:g}"])) for w in WEIGHTS]
        table.append([float(np.mean(shipped)), float(np.mean(weights[chosen])), *means])
        print(f"| {name} | {len(shipped)} | {bare(np.mean(shipped))} | {chosen}: {gain(shipped, weights[chosen])} | "
              f"{' | '.join(map(bare, means))} |")  # fmt: skip
    mean = np.mean(table, axis=0)
    print(f"| mean | | {bare(mean[0])} | {bare(mean[1])} | {' | '.join(map(bare, mean[2:]))} |")


def best_weight(sets: Sequence[Told]) -> str:
    return max((f"{w:g}" for w in WEIGHTS), key=lambda w: float(np.mean([np.mean(s["weights"][w]) for s in sets])))


def abstention(told: Mapping[str, Told], leaving: Leaving) -> None:
    names = " / ".join(ABSTAIN)
    print(f"\nin %, at {names} = {' / '.join(map(str, ABSTAIN.values()))}; left out (by the shipped model)")
    print("| set | in | own kept | foreign refused | nonsense refused | near refused | removed refused | AUC own, foreign | "
          "first score of foreign |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    table: dict[str, list[list[float]]] = defaultdict(list)
    for name, one_set in told.items():
        models = (fitted(leaving(name)), MODELS["hybrid"])
        for scope in ("all", "document"):
            rows = [r for r in one_set["rows"] if r["scope"] == scope]
            p = [
                {k: np.array([m.probability(standing(r)) for r in rows if r["kind"] == k]) for k in KINDS}
                for m in models
            ]
            if not len(p[0]["own"]):
                continue
            figures = [share for own in p for kind in KINDS for share in shares(own, kind)]
            figures += [
                auc(p[0]["own"], p[0]["foreign"]),
                float(np.mean([r["said"] for r in rows if r["kind"] == "foreign"])),
            ]
            table[scope].append(figures)
            print(f"| {name} | {scope} | {abstained(figures)} |")
    for scope, rows in table.items():
        for word, of in (("mean", np.mean), ("least", np.min)):
            columns = ([v for v in column if not math.isnan(v)] for column in zip(*rows, strict=True))
            print(
                f"| *{word}* | {scope} | {abstained([float(of(column)) if column else math.nan for column in columns])} |"
            )


def abstained(figures: Sequence[float]) -> str:
    """The cells of a row: shares by the model that is left out, in brackets by the shipped one; AUC; first score."""
    size = len(figures) // 2 - 1
    pairs = ((slashed(figures[i : i + 3]), slashed(figures[size + i : size + i + 3])) for i in range(0, size, 3))
    return " | ".join(
        [*(f"{a} ({b})" if a != "–" else a for a, b in pairs), f"{figures[-2]:.3f}", f"{figures[-1]:.2f}"]
    )


KINDS = ("own", "foreign", "nonsense", "near", "removed")


def shares(p: Mapping[str, Any], kind: str) -> list[float]:
    """Of a kind of question kept, or refused, at each setting; NaN where there is none."""
    own = p[kind]
    kept = [float(np.mean(own >= least)) if len(own) else math.nan for least in ABSTAIN.values()]
    return [100 * (share if kind == "own" else 1 - share) for share in kept]


def slashed(values: Sequence[float]) -> str:
    return "–" if math.isnan(values[0]) else " / ".join(f"{value:.1f}".removesuffix(".0") for value in values)


def calibration(told: Mapping[str, Told], leaving: Leaving) -> None:
    print(
        "\n| set | ECE: shipped | left out | the share alone | first place: said / is | of foreign |\n|---|---|---|---|---|---|"
    )
    table = []
    for name, one_set in told.items():
        others = leaving(name)
        model, curve = fitted(others), curve_of(others)
        rows = [r for r in one_set["rows"] if r["scope"] == "all" and r["kind"] in ("own", "foreign", "removed")]
        rows = [r for r in rows if r["first"] and MODELS["hybrid"].probability(standing(r)) >= ABSTAIN["normal"]]
        figures = [
            error(rows, MODELS["hybrid"], CURVES["hybrid"]),
            error(rows, model, curve),
            error(rows, None, curve),
        ]
        own = [r for r in rows if r["kind"] == "own"]
        said, right = np.mean([r["said"] for r in own]), np.mean([r["first"][0][1] for r in own])
        foreign = np.mean(
            [r["said"] * (r["p"] >= ABSTAIN["normal"]) for r in one_set["rows"] if r["kind"] == "foreign"]
        )
        table.append(figures)
        print(f"| {name} | {' | '.join(f'{f:.3f}' for f in figures)} | {said:.2f} / {right:.2f} | {foreign:.2f} |")
    print(f"| mean | {' | '.join(f'{f:.3f}' for f in np.mean(table, axis=0))} | | |")


def curve_of(sets: Sequence[Told]) -> Curve:
    """The median of what each set would choose for its own questions."""
    curves = [best_curve(lessons([r for r in s["rows"] if (r["kind"], r["scope"]) == ("own", "all")])) for s in sets]
    return Curve(*(float(np.median([getattr(c, name) for c in curves])) for name in ("intercept", "slope")))


def error(rows: Sequence[Asked], model: Model | None, curve: Curve) -> float:
    """Expected calibration error of the first ten; without a model every question counts as answerable."""
    pairs = []
    for row, lesson in zip(rows, lessons(rows), strict=True):
        answerable = 1.0 if model is None else model.probability(standing(row))
        pairs += [
            (answerable * p, right) for p, right in zip(probabilities(lesson, curve), lesson.right, strict=True)
        ]
    return calibration_error(in_bins(pairs)) or 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="DIR[=DIR …]")
    parser.add_argument("--limit", type=int, default=250)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument(
        "--keep", type=Path, help="a folder: what was asked is kept there, and read from it the next time"
    )
    given = parser.parse_args()
    families = [[Path(name) for name in word.split("=")] for word in given.sets]
    told: dict[str, Told] = {}
    family: dict[str, int] = {}
    for number, folders in enumerate(families):
        for folder in folders:
            kept = given.keep / f"{folder.name}.json" if given.keep else None
            if kept is not None and kept.exists():
                told[folder.name] = json.loads(kept.read_text())
            else:
                told[folder.name] = asked(folder, strangers_of(families, folders), given.cache, given.limit)
                if kept is not None:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(told[folder.name]))
            family[folder.name] = number
            print(f"{folder.name}: {len(told[folder.name]['rows'])} questions asked", file=sys.stderr, flush=True)

    def leaving(name: str) -> list[Told]:
        return [one_set for other, one_set in told.items() if family[other] != family[name]]

    print(f"{platform.machine()}, {platform.python_version()}, at most {given.limit} questions a set")
    fusion(told, leaving)
    abstention(told, leaving)
    calibration(told, leaving)
    everything = list(told.values())
    own = [r for one_set in everything for r in one_set["rows"] if (r["kind"], r["scope"]) == ("own", "all")]
    print(f"\n{sum(bool(r['strange']) for r in own)} of {len(own)} own questions look like no text")
    print(f"\nof all: {fitted(everything)}\nweight {best_weight(everything)}, {curve_of(everything)}")


if __name__ == "__main__":
    main()
