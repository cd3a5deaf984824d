"""Write how much the words of general English and Chinese say: core/scoring/word_frequencies.npz.

    python scripts/make_word_frequencies.py ENGLISH CHINESE

ENGLISH is ``frequency_dictionary_en_82_765.txt`` of the package "symspellpy", CHINESE is ``dict.txt`` of the package "jieba" (NOTICE
names their licences); lines are a word, a space and its count. Run it after a change of the analysis into terms.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from wenyuan.core.scoring import word_frequencies
from wenyuan.core.scoring.word_frequencies import LEAST, RARE_HAN, RARE_LATIN, terms_of


def main(english: str, chinese: str) -> None:
    latin: Counter[str] = Counter()
    for word, count in _lines(english):
        for term in terms_of(word):
            latin[term] += count
    han: Counter[str] = Counter()
    for word, count in _lines(chinese):
        for at in range(len(word) - 1):
            han[word[at : at + 2]] += count
    kept = {**_common(latin, RARE_LATIN), **_common(han, RARE_HAN)}
    terms = sorted(kept, key=str.encode)
    path = Path(word_frequencies.__file__).with_name(word_frequencies.FILE)
    np.savez_compressed(
        path,
        terms=np.array([term.encode() for term in terms]),
        tenths=np.array([round(10 * kept[term]) for term in terms], np.uint8),
    )
    print(f"{path.name}: {len(terms):,} terms, {path.stat().st_size:,} bytes")


def _lines(path: str) -> Iterator[tuple[str, int]]:
    for line in Path(path).read_text("utf-8-sig").splitlines():
        word, count, *_ = line.split(" ")
        yield word, int(count)


def _common(counts: Counter[str], rare: float) -> dict[str, float]:
    """How much each term says, of those that say less than a rare one."""
    total = counts.total()
    said = {term: max(0.0, -float(np.log(count / total)) - LEAST) for term, count in counts.items()}
    return {term: least for term, least in said.items() if least < rare}


if __name__ == "__main__":
    main(*sys.argv[1:])
