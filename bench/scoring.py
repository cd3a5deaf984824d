"""What each step of the score is worth: judged questions, asked with all steps, then with one of them switched off.

    python bench/scoring.py DIR … [--limit 300] [--cache DIR] [--mean]
    python bench/scoring.py --references DIR [--encoder none] [--limit 600]

DIR is a judged set in BEIR layout; its library is built once into the cache. The questions go through the whole search.
Every figure is nDCG@10 with nothing refused, but for the column ``refusing``, which is what `search.abstain = normal` costs:

    plain       queries as they were embedded, without pairs of words, quantities, laws or labels, no clause looked for by name
    shipped     as the program answers
    centre      queries are not moved off general questions
    bridge      nor off their own language, in a library of both
    pairs       words are asked for, articles too, but not which of them stand side by side
    quantities  numbers with a unit are asked for as they are written only
    laws        articles of other laws than most candidates keep their scores
    labels      titles, questions of an FAQ and leads count only as a part of the passages below them
    names       a query that names a clause or a standard is asked as any other
    keywords, vectors   that leg alone
    refusing    what hardly has an answer is refused      elsewhere   asked from within another document

All but the first two are differences to ``shipped``. A star says that nine in ten bootstrap means over the questions lie
on that side of zero (`core.scoring.evaluation.changed`). The last rows are means over sets by language;
``across``: questions in one, passages in the other. With ``--mean`` the built-in encoder takes the plain mean of its
states, in libraries of their own.

With ``--references`` a set is asked for articles by their numbers, in ten ways to write them; the titles of the set's
judged entries (``TITLE 第…条``, metadata ``law`` and ``article_no``) say which. Printed: Hit@1 and what does not come
first. A corpus of law is large, so its library has no vectors unless an encoder is named.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from wenyuan.core.model import Passage
from wenyuan.core.scoring.evaluation import changed
from wenyuan.core.text import wordings
from wenyuan.core.text.analysis import query_terms, search_terms
from wenyuan.core.text.folding import has_han
from wenyuan.core.text.numbers import QUANTITY
from wenyuan.encoders import graph
from wenyuan.encoders.builtin import BuiltinEncoder
from wenyuan.evaluation.built_library import default_cache, entries_of, open_built
from wenyuan.evaluation.corpus import Corpus, open_corpus, read_lines, record_id
from wenyuan.evaluation.measures import measured
from wenyuan.evaluation.questions import JudgedQuery, JudgedSet, read_judged
from wenyuan.evaluation.run import EngineRun, Ranked
from wenyuan.service.library import Library
from wenyuan.service.search import legs
from wenyuan.service.search import question as search_question
from wenyuan.service.search.general_texts import SCRIPTS

K = 10
DEPTH = 30  # passages, so that there are ten documents where several are of one
SAMPLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A way to answer.

    Attributes:
        weight: Of the vector leg, instead of the one that counts.
        centre: Whether queries are moved off general questions; `bridge`: and off their own language.
        pairs: Whether pairs of neighbouring words are asked for.
        quantities: Whether numbers with a unit are asked for in the form that all ways to write them have.
        laws: Whether articles of other laws than most candidates stand behind.
        labels: Whether a passage is as near as its label, where that is nearer.
        names: Whether naming a clause counts.
        refusing: Whether a question is refused that hardly has an answer.
        elsewhere: Asked from within another document.
    """

    weight: float | None = None
    centre: bool = True
    bridge: bool = True
    pairs: bool = True
    quantities: bool = True
    laws: bool = True
    labels: bool = True
    names: bool = True
    refusing: bool = False
    elsewhere: bool = False


STEPS = {
    "plain": Step(centre=False, bridge=False, pairs=False, quantities=False, laws=False, labels=False, names=False),
    "shipped": Step(),
    "centre": Step(centre=False),
    "bridge": Step(bridge=False),
    "pairs": Step(pairs=False),
    "quantities": Step(quantities=False),
    "laws": Step(laws=False),
    "labels": Step(labels=False),
    "names": Step(names=False),
    "keywords": Step(weight=0.0),
    "vectors": Step(weight=1.0),
    "refusing": Step(refusing=True),
    "elsewhere": Step(elsewhere=True),
}


def asked_for(step: Step, query: str) -> list[str]:
    """The terms of a query, in that way."""
    whole = search_terms(query)
    quantities = [term for term in whole if term.startswith(QUANTITY)] if step.quantities else []
    rest = [term for term in whole if not term.startswith(QUANTITY)] if step.pairs else query_terms(query)
    return [*rest, *quantities]


@contextmanager
def switched(library: Library, step: Step) -> Iterator[None]:
    """The library answers in that way; what is known of it stays as it is."""
    retriever: Any = library._retriever
    known, abstention = retriever.floors(), retriever._abstention
    off = {name: 0.0 for name, on in (("bridge", step.bridge), ("law", step.laws), ("labels", step.labels)) if not on}
    told = {script: {**known.get(script, {}), **off} for script in SCRIPTS}
    verdict = abstention.verdict
    with ExitStack() as stack:
        patched = partial(_patched, stack)
        patched(retriever, "floors", lambda: told)
        patched(wordings, "search_terms", partial(asked_for, step))
        if not step.names:
            patched(search_question, "reference_of", lambda _query: None)
        if not step.centre:
            patched(legs, "CENTRE", 0.0)
        if step.weight is not None:
            patched(retriever, "weight", step.weight)
        if not step.refusing:
            patched(abstention, "verdict", lambda *asked: verdict(*asked)._replace(why=""))
        yield


def _patched(stack: ExitStack, thing: Any, name: str, value: Any) -> None:
    stack.enter_context(patch.object(thing, name, value))


def worth(library: Library, entries: Mapping[int, str], corpus: Corpus, judged: JudgedSet, step: Step) -> list[float]:
    """nDCG@10 of each question."""
    run, uris = EngineRun("fused", ms={"total": [0.0]}), list(corpus.uris.items())
    with switched(library, step):
        for number, question in enumerate(judged.questions):
            answers = judged.qrels[question.query_id]
            strange = next(uri for entry, uri in uris[number % len(uris) :] + uris if entry not in answers)
            context = {"source_document_uri": strange} if step.elsewhere else None
            found = library.search(question.text, limit=DEPTH, filter=question.filter, context=context).hits
            best = dict.fromkeys(entries[hit.passage_id] for hit in found)
            run.ranked[question.query_id] = Ranked(tuple(best), tuple(1.0 / rank for rank, _ in enumerate(best, 1)))
    _, by_question = measured(run, judged.qrels, K)
    return [by_question[question.query_id] for question in judged.questions]


def take_means() -> None:
    """The built-in encoder adds up its states evenly; its vectors are another encoder's."""
    graph.information = lambda file: np.ones(len(file.pieces), np.float32)
    BuiltinEncoder.fingerprint = replace(BuiltinEncoder.fingerprint, pooling="mean")


def opened(folder: Path, cache: Path, encoder: str = "builtin") -> tuple[Corpus, Library]:
    corpus = open_corpus(folder)
    settings: dict[str, Any] = {"search": {"query_vectors": 100_000}, "audit": {"enabled": False}}
    settings |= {} if encoder == "builtin" else {"encoder": {"kind": encoder}}
    return corpus, open_built(corpus, cache, sys.stderr, **settings)


def ablations(folders: Sequence[Path], cache: Path, limit: int) -> None:
    """One row a set, then the means."""
    print(f"| set | questions | {' | '.join(STEPS)} |\n|---|{'---|' * (len(STEPS) + 1)}")
    told: dict[str, list[list[float]]] = {}
    for folder in folders:
        corpus, library = opened(folder, cache)
        with library:
            judged = read_judged(folder, corpus.uris, limit=limit)
            entries = entries_of(library, corpus)
            found = {name: worth(library, entries, corpus, judged, step) for name, step in STEPS.items()}
            kind = languages(judged.questions, library.catalog.some_passages(SAMPLE))
        shipped = found["shipped"]
        row = [
            bare(np.mean(found[name])) if name in ("plain", "shipped") else gain(shipped, found[name])
            for name in STEPS
        ]
        print(f"| {folder.name} | {len(shipped)} | {' | '.join(row)} |", flush=True)
        told.setdefault(kind, []).append([float(np.mean(found[name])) for name in STEPS])
    for kind, rows in told.items():
        means = dict(zip(STEPS, np.mean(rows, axis=0), strict=True))
        row = [bare(m) if name in ("plain", "shipped") else signed(m - means["shipped"]) for name, m in means.items()]
        print(f"| *mean of {len(rows)}, {kind}* | | {' | '.join(row)} |")


def languages(questions: Sequence[JudgedQuery], passages: Sequence[Passage]) -> str:
    """Those of a set's questions and passages, in a word."""
    asked = float(np.mean([has_han(question.text) for question in questions]))
    held = float(np.mean([passage.language == "zh" for passage in passages]))
    if 0.05 < held < 0.95:
        return "both"
    return "across" if (asked > 0.5) != (held > 0.5) else "Chinese" if held > 0.5 else "English"


def gain(before: Sequence[float], after: Sequence[float]) -> str:
    change = changed(before, after)
    return signed(change.mean) + ("" if change.verdict == "no difference" else "*")


def bare(figure: Any) -> str:
    return f"{figure:.3f}".removeprefix("0")


def signed(change: float) -> str:
    return f"{change:+.3f}".replace("-", "−").replace("0.", ".", 1) if round(change, 3) else "0"


WIDE = {ord(digit): 0xFEE0 + ord(digit) for digit in "0123456789"}
DIGITS = "零一二三四五六七八九"
FORMS: Mapping[str, Callable[[str, int], str]] = {
    "T第十三条": lambda title, n: f"{title}第{chinese(n)}条",
    "《中华人民共和国T》第十三条": lambda title, n: f"《中华人民共和国{title}》第{chinese(n)}条",
    "T第13条": lambda title, n: f"{title}第{n}条",
    "T 第 13 条": lambda title, n: f"{title} 第 {n} 条",
    "T第１３条": lambda title, n: f"{title}第{str(n).translate(WIDE)}条",
    "T第13条规定了什么": lambda title, n: f"{title}第{n}条规定了什么",
    "第十三条 T": lambda title, n: f"第{chinese(n)}条 {title}",
    "请问T里面第十三条是怎么说的？": lambda title, n: f"请问{title}里面第{chinese(n)}条是怎么说的？",
    "T Article 13": lambda title, n: f"{title} Article {n}",
    "Article 13 of T": lambda title, n: f"Article {n} of {title}",
}


def chinese(number: int) -> str:
    """A number of 1 … 1999 as articles are counted."""
    thousands, hundreds, tens, ones = (number // base % 10 for base in (1000, 100, 10, 1))
    text = f"{DIGITS[thousands]}千" if thousands else ""
    text += f"{DIGITS[hundreds]}百" if hundreds else "零" if thousands and (tens or ones) else ""
    if tens:
        text += "十" if tens == 1 and not text else f"{DIGITS[tens]}十"
    elif ones and hundreds:
        text += "零"
    return text + (DIGITS[ones] if ones else "")


def references(folder: Path, cache: Path, limit: int, encoder: str) -> None:
    """Hit@1 of each form."""
    corpus, library = opened(folder, cache, encoder)
    judged = read_judged(folder, corpus.uris, limit=limit)
    wanted = {entry for grades in judged.qrels.values() for entry, grade in grades.items() if grade > 0}
    records = {record_id(r, corpus.path, n): r["metadata"] for n, _, r in read_lines(corpus.path)}
    asked = [(records[entry]["law"], int(records[entry]["article_no"]), entry) for entry in sorted(wanted)]
    with library:
        entries = entries_of(library, corpus)

        def first(text: str) -> str:
            return next((entries[hit.passage_id] for hit in library.search(text, limit=1).hits), "nothing")

        own = sum(first(q.text) in judged.qrels[q.query_id] for q in judged.questions)
        print(f"{len(corpus)} entries, encoder {encoder}\n| asked as | Hit@1 | of |\n|---|---|---|")
        print(
            f"| *the set's own questions* | {own / len(judged.questions):.3f} | {len(judged.questions)} |", flush=True
        )
        for name, form in FORMS.items():
            begun, missed = time.monotonic(), []
            for law, number, entry in asked:
                got = first(form(law, number))
                missed += [f"{form(law, number)} → {got}"] if got != entry else []
            print(f"| {name} | {1 - len(missed) / len(asked):.3f} | {len(asked)} |", flush=True)
            took = (time.monotonic() - begun) * 1e3 / len(asked)
            print("\n".join([f"{took:.0f} ms a question", *missed[:10]]), file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--references", action="store_true")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--encoder", choices=("none", "builtin"), default="none")
    parser.add_argument("--mean", action="store_true")
    given = parser.parse_args()
    if given.mean:
        take_means()
    print(f"{platform.machine()}, {platform.python_version()}, at most {given.limit} questions a set")
    if given.references:
        for folder in given.sets:
            references(folder, given.cache, given.limit, given.encoder)
    else:
        ablations(given.sets, given.cache, given.limit)


if __name__ == "__main__":
    main()
