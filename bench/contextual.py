"""What context sentences change in ranking, with a sentence that a script makes: title and heading path, as a sentence.

    python bench/contextual.py DIR … [--cache DIR] [--limit 200]

Each set (BEIR layout) is asked twice: as it is, and with a sentence for each passage that passed the program's checks. The
script reads what a model would be shown and says only what stands there, so this is a baseline without a model: what a
model adds beyond it is what it says that neither the title nor the headings do. Figures are means of nDCG@10 and R@10, and
their change with what lies between nine in ten bootstrap means.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewriting import change_cells
from scoring import opened
from wenyuan import Library
from wenyuan.core.ports import Deadline, ModelReply, ModelUse
from wenyuan.core.scoring.evaluation import ndcg, recall
from wenyuan.core.text.folding import has_han
from wenyuan.core.text.token_meter import estimate_tokens
from wenyuan.evaluation.built_library import SOURCE_ID, default_cache, entries_of
from wenyuan.evaluation.questions import JudgedSet, read_judged
from wenyuan.service.generation.context_sentences import ContextReport, ContextSentences
from wenyuan.service.ingest.embedding import Embedding
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.settings import LlmSettings

AT, DEPTH = 10, 30


class Script:
    """In the place of a model: says the title and the headings that it is shown, as one sentence."""

    component = fingerprint = "script"

    def ask(
        self, messages: Sequence[Mapping[str, str]], *, schema: Mapping[str, Any], read: Callable[[Any], Any],
        deadline: Deadline,
    ) -> ModelReply[Any]:  # fmt: skip
        """See `LanguageModel`."""
        told = json.loads(messages[1]["content"])
        where = " > ".join(filter(None, (told["title"], told["heading"])))
        sentence = f"本段出自“{where}”。" if has_han(told["text"]) else f"This passage is from “{where}”."
        text = json.dumps({"sentence": sentence}, ensure_ascii=False)
        asked = sum(estimate_tokens(one["content"]) for one in messages)
        return ModelReply(value=read(json.loads(text)), text=text, tokens_in=asked, tokens_out=estimate_tokens(text))

    def use(self) -> ModelUse:
        return ModelUse(calls={}, tokens_in=0, tokens_out=0, cost=0.0)

    def close(self) -> None: ...


def settled(library: Library, *, wanted: bool) -> ContextReport:
    """Give all passages their sentences, or take them away."""
    source = replace(library.catalog.source(SOURCE_ID), settings={"llm": {"context": True}} if wanted else {})
    contexts = ContextSentences(catalog=library.catalog, llm=Script(), settings=LlmSettings(model="script"))
    redactor = Redactor.of(source)
    report = contexts.settle(
        source, contexts.of(source, redactor), Embedding(library.catalog, library.encoder),
        progress=lambda _done, _total: None, follow=lambda: None,
    )  # fmt: skip
    library.ingestion.ingester.follow()
    library.measure_collection()
    return report


def measured(library: Library, entries: Mapping[int, str], judged: JudgedSet) -> np.ndarray[Any, Any]:
    """(questions, 2): nDCG@10 and R@10 of each."""
    rows = []
    for question in judged.questions:
        grades = judged.qrels[question.query_id]
        hits = library.search(question.text, limit=DEPTH, filter=question.filter).hits
        found = list(dict.fromkeys(entries[hit.passage_id] for hit in hits))
        worth = [grades.get(entry, 0) for entry in found]
        ideal = [grade for grade in grades.values() if grade > 0]
        rows.append((ndcg(worth, ideal, AT), recall(worth, len(ideal), AT)))
    return np.array(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--limit", type=int, default=200, help="questions of a set")
    options = parser.parse_args()
    print("| set | questions | passages | sentences | nDCG@10 | with | change | R@10 | with | change |")
    print(f"|{'---|' * 10}")
    for folder in options.folders:
        corpus, library = opened(folder, options.cache)
        with library:
            judged = read_judged(folder, corpus.uris, limit=options.limit)
            settled(library, wanted=False)
            plain = measured(library, entries_of(library, corpus), judged)
            report = settled(library, wanted=True)
            placed = measured(library, entries_of(library, corpus), judged)
            count = library.catalog.counts()["passages"]
            settled(library, wanted=False)
        cells = change_cells(plain, placed)
        print(f"| {folder.name} | {len(plain)} | {count} | {report.made} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
