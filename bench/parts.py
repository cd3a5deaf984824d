"""Where the time of a question goes: processor time and elapsed time of its parts, in process, on one core.

    python bench/parts.py --library FOLDER [--questions FILE.jsonl] [--synthetic] [--json]
    python bench/parts.py --corpus FILE.jsonl [--passages 100000] …       # makes a library with synthetic vectors

Each part is timed where it is called, so what one calls counts in both.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import wenyuan
from search import environment
from serve import LIMIT, made, options_for, questions, vectored
from wenyuan.core.model import RetrievalRequest
from wenyuan.service import fragment_search as facade
from wenyuan.service.search import legs

Times = dict[str, list[tuple[float, float]]]


def timed(place: Any, name: str, part: str, times: Times) -> None:
    """Replace a function by one that notes how long it took, and how long it computed."""
    real: Callable[..., Any] = getattr(place, name)

    def noting(*args: Any, **named: Any) -> Any:
        begun, computing = time.perf_counter(), time.thread_time()
        try:
            return real(*args, **named)
        finally:
            times[part].append(((time.perf_counter() - begun) * 1e3, (time.thread_time() - computing) * 1e3))

    setattr(place, name, noting)


def watch(library: wenyuan.Library, times: Times) -> None:
    held: Any = library
    own = held._retriever._own
    for place, name, part in (
        (own._vectors.encoder, "encode_queries", "query → vector"),
        (held.engine, "vector", "vector leg"),
        (held.engine, "keyword", "keyword leg"),
        (held.engine, "cosines", "cosines of what only the keyword leg found"),
        (own._laws, "of", "laws and languages of candidates, read once each"),
        (legs, "contenders", "which candidates can be in the answer"),
        (held.engine, "keyword_scores", "keyword scores of those of them that only the vector leg found"),
        (held._retriever._own_search, "_ranked", "from candidates to ranking"),
        (held.catalog, "passages", "… of which passages of the record"),
        (held._retriever._abstention, "verdict", "whether there is an answer"),
        (held.recorder, "attested", "the audit's record"),
        (facade, "fragments_of", "fragments"),
    ):
        timed(place, name, part, times)


def main() -> None:
    options = options_for(__doc__).parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if options.library is None:
        options.library, options.synthetic = made(options), True
    asked, times, took = questions(options), defaultdict(list), []
    with wenyuan.open(options.library, search={"deadline": 30.0}) as library:
        vectored(library, options.synthetic)
        watch(library, times)
        for text in asked[:30]:
            library.retrieve_fragments(RetrievalRequest(query=text, max_results=LIMIT))
        times.clear()
        gc.collect()
        gc.freeze()  # as the server does
        computing = time.process_time()
        for text in asked:
            begun = time.perf_counter()
            answer = library.retrieve_fragments(RetrievalRequest(query=text, max_results=LIMIT))
            took.append((time.perf_counter() - begun) * 1e3)
            assert answer.status == "SUCCESS", answer.error_message
        computing = (time.process_time() - computing) / len(asked) * 1e3
    whole = sorted(took)
    found: dict[str, Any] = {
        part: {name: round(statistics.median(column), 2) for name, column in zip(("ms", "CPU ms"), zip(*pairs, strict=True), strict=True)}
        for part, pairs in times.items()
    }  # fmt: skip
    found["all"] = {"ms": round(statistics.median(whole), 2), "CPU ms": round(computing, 2)}
    found["all, p99"] = {"ms": round(whole[len(whole) * 99 // 100], 2)}
    if options.json:
        print(json.dumps({"environment": environment(), **found}, indent=1, ensure_ascii=False))
        return
    print(json.dumps(environment()))
    for part, figures in found.items():
        print(f"| {part} | " + " | ".join(f"{figure}" for figure in figures.values()) + " |")


if __name__ == "__main__":
    main()
