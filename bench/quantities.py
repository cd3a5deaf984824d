"""What it gives that a quantity is found however it is written: 三十日 asked for as 30天.

    python bench/quantities.py DIR … [--cache DIR] [--limit 300]

DIR is a judged set in BEIR layout; its library is built once into the cache. Asked for are places of its texts: a number
with its unit and some characters on both sides, as they stand there, and with the Chinese numerals written in figures
(日 as 天). Right are all entries that have the place, five at most. The whole search is asked, without floor, as it is
shipped and without quantities as terms (see `core.text.numbers`), and with the keyword leg alone; nDCG@10.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

from scoring import Step, opened, worth
from wenyuan.core.text.folding import fold
from wenyuan.core.text.numbers import quantities
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.corpus import Corpus, read_lines, record_id
from wenyuan.evaluation.questions import JudgedQuery, JudgedSet

SPELT = re.compile(
    r"[一二三四五六七八九十百千万两]{1,8}(日|天|个月|年|元|小时|分钟|公里|米|人|倍|周岁)|百分之[一二三四五六七八九十]+"
)
BEFORE, BEHIND = 7, 9  # characters of a place
MOST = 5
STEPS = {
    "shipped": Step(),
    "without": Step(quantities=False),
    "keywords": Step(weight=0.0),
    "… without": Step(weight=0.0, quantities=False),
}


def in_figures(match: re.Match[str]) -> str:
    """``三十日`` → ``30天``; what is no quantity (第三年) stays."""
    told = quantities(match[0])
    number = re.match(r"=([\d.]+)", told[0])[1] if told else ""  # type: ignore[index]
    if not number:
        return match[0]
    return number + ("%" if match[1] is None else "天" if match[1] == "日" else match[1])


def places(corpus: Corpus, limit: int) -> Iterator[tuple[str, set[str]]]:
    """Places, each with the entries that have it."""
    texts = {record_id(r, corpus.path, n): fold(r["text"]) for n, _, r in read_lines(corpus.path)}
    draw, found = random.Random(3), 0
    for entry in draw.sample(sorted(texts), len(texts)):
        spelt = [m for m in SPELT.finditer(texts[entry]) if not texts[entry][: m.start()].endswith(("第", "月"))]
        if not spelt or found >= limit:
            continue
        chosen = draw.choice(spelt)
        place = texts[entry][max(0, chosen.start() - BEFORE) : chosen.end() + BEHIND].strip(" \n，。；：,.;:")
        holding = {name for name, text in texts.items() if place in text}
        if "\n" not in place and 0 < len(holding) <= MOST and SPELT.sub(in_figures, place) != place:
            found += 1
            yield place, holding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--limit", type=int, default=300)
    given = parser.parse_args()
    print(f"| set | places | asked | {' | '.join(STEPS)} |\n|---|---|---{'|---' * len(STEPS)}|")
    for folder in given.sets:
        corpus, library = opened(folder, given.cache)
        asked = list(places(corpus, given.limit))
        with library:
            entries = entries_of(library, corpus)
            for written in (str, lambda place: SPELT.sub(in_figures, place)):
                questions = tuple(
                    JudgedQuery(query_id=str(n), text=written(place), context={}, filter=None)
                    for n, (place, _) in enumerate(asked)
                )
                qrels = {str(n): dict.fromkeys(holding, 1) for n, (_, holding) in enumerate(asked)}
                judged = JudgedSet(questions=questions, qrels=qrels)
                how = "as written" if written is str else "in figures"
                told = [
                    sum(each) / len(each)
                    for each in (worth(library, entries, corpus, judged, s) for s in STEPS.values())
                ]
                row = " | ".join(f"{value:.3f}" for value in told)
                print(f"| {folder.name} | {len(asked)} | {how}, e.g. {questions[0].text} | {row} |", flush=True)


if __name__ == "__main__":
    main()
