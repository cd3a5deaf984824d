"""What other words for a question change in ranking, with wordings that a script makes of the judged answers.

    python bench/rewriting.py DIR … [--cache DIR] [--limit 200]

Each set (BEIR layout) is asked three times: the question alone; with a wording from a passage that answers it (its first
sentence), which is more than any model can know, and so a bound for what rewriting can give; and with one from a passage that
answers another question, which is worse than a model that understands nothing. Both pass the program's checks first, and how
many these left out is told. Figures are means of nDCG@10 and R@10, and their change with what lies between nine in ten bootstrap
means.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scoring import opened
from wenyuan import Library
from wenyuan.core.ports import Deadline, ModelReply, ModelUse
from wenyuan.core.scoring.evaluation import changed, ndcg, recall
from wenyuan.core.text.boundaries import sentences
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.questions import JudgedSet, read_judged

AT, DEPTH = 10, 30
_MOST = 200  # characters of a wording


class Script:
    """In the place of a model: says for each question the wording that it was given."""

    component = fingerprint = "script"

    def __init__(self, wordings: Mapping[str, str]) -> None:
        self._wordings = wordings

    def ask(
        self, messages: Sequence[Mapping[str, str]], *, schema: Mapping[str, Any], read: Callable[[Any], Any],
        deadline: Deadline,
    ) -> ModelReply[Any]:  # fmt: skip
        """See `LanguageModel`."""
        wording = self._wordings.get(json.loads(messages[1]["content"])["question"], "")
        value = {"questions": [wording] if wording else []}
        return ModelReply(value=read(value), text=json.dumps(value), tokens_in=0, tokens_out=0)

    def use(self) -> ModelUse:
        return ModelUse(calls={}, tokens_in=0, tokens_out=0, cost=0.0)

    def close(self) -> None: ...


def first_sentences(library: Library, entries: Mapping[int, str]) -> dict[str, str]:
    """By entry of the set, the first sentence of its first passage that is no heading."""
    found: dict[str, str] = {}
    for number, passage in library.catalog.passages(sorted(entries)).items():
        spans = [passage.text[start:end] for start, end in sentences(passage.text)]
        text = next((one for one in spans if not one.startswith("#") and len(one) > 8), "")
        found.setdefault(entries[number], " ".join(text.split())[:_MOST])
    return found


def measured(library: Library, entries: Mapping[int, str], judged: JudgedSet, *, rewrite: bool) -> tuple[Any, int]:
    """nDCG@10 and R@10 of each question, (questions, 2); and how many wordings the checks left out."""
    rows, left = [], 0
    for question in judged.questions:
        grades = judged.qrels[question.query_id]
        context = {"rewrite": True} if rewrite else None
        answer = library.search(question.text, limit=DEPTH, filter=question.filter, context=context)
        left += 0 if answer.rewriting is None else sum(answer.rewriting.left_out.values())
        found = list(dict.fromkeys(entries[hit.passage_id] for hit in answer.hits))
        worth = [grades.get(entry, 0) for entry in found]
        ideal = [grade for grade in grades.values() if grade > 0]
        rows.append((ndcg(worth, ideal, AT), recall(worth, len(ideal), AT)))
    return np.array(rows), left


def change_cells(plain: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> list[str]:
    """Three cells of a table for each metric: its mean before and after, and the change with what nine in ten bootstrap means lie between.

    Args:
        plain, other: ``(questions, metrics)``.
    """
    cells: list[str] = []
    for before, after in zip(plain.T, other.T, strict=True):
        change = changed(list(before), list(after))
        told = f"{change.mean:+.3f} ({change.lower:+.3f} … {change.upper:+.3f})"
        cells += [f"{before.mean():.3f}", f"{after.mean():.3f}", told]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--limit", type=int, default=200, help="questions of a set")
    options = parser.parse_args()
    print("| set | questions | wordings | left out | nDCG@10 | with | change | R@10 | with | change |")
    print(f"|{'---|' * 10}")
    for folder in options.folders:
        corpus, library = opened(folder, options.cache)
        with library:
            judged = read_judged(folder, corpus.uris, limit=options.limit)
            entries = entries_of(library, corpus)
            said = first_sentences(library, entries)
            best = [max(judged.qrels[q.query_id].items(), key=lambda one: one[1])[0] for q in judged.questions]
            texts = [question.text for question in judged.questions]
            plain, _ = measured(library, entries, judged, rewrite=False)
            half = len(best) // 2  # neighbours are often about the same
            for name, of in (("of its answer", best), ("of another", [*best[half:], *best[:half]])):
                wordings = {text: said.get(entry, "") for text, entry in zip(texts, of, strict=True)}
                library.rewriter = replace(library.rewriter, llm=Script(wordings))
                worded, left = measured(library, entries, judged, rewrite=True)
                cells = change_cells(plain, worded)
                print(f"| {folder.name} | {len(plain)} | {name} | {left} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
