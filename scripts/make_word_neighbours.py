"""Write which words of general English and Chinese say nearly the same: core/scoring/word_neighbours.npz.

    python scripts/make_word_neighbours.py ENGLISH CHINESE

ENGLISH and CHINESE are the files of ``scripts/make_general_words.py``, and only their most frequent words are taken. How near two words
are is told by the built-in encoder: by the vectors of both as questions, and by those of their pieces in its vocabulary. The first
know meaning, but take words for near that are written alike (*pump*, *plump*); the second do not. It takes some minutes. Run it after a
change of the encoder or of the general words.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.scoring import word_neighbours
from wenyuan.core.scoring.general_words import LONGEST, chinese_figures, latin_figures
from wenyuan.core.scoring.word_neighbours import LEAST, LIST
from wenyuan.core.text.analysis import stemmed
from wenyuan.core.text.folding import has_han
from wenyuan.encoders.builtin import load_builtin
from wenyuan.encoders.graph import HIDDEN
from wenyuan.encoders.weights import find_weights, read_weights, unpack

LATIN, HAN = 12_000, 30_000
"""How many words of each are taken."""
MOST = 6
"""Neighbours of a word."""
_LEAST_MEANING, _LEAST_PIECES, _PIECES = 0.3, 0.15, 1.8
_BLOCK = 1_000


def main(english: str, chinese: str) -> None:
    tables = {}
    for name, words, keys in (("latin", *_english(english)), ("han", *_chinese(chinese))):
        meaning, pieces = _centred(_by_meaning(words)), _centred(_by_pieces(words))
        counts, ends, levels = [], [], []
        for first in range(0, len(words), _BLOCK):
            rows = slice(first, first + _BLOCK)
            near = _nearness(meaning[rows] @ meaning.T, pieces[rows] @ pieces.T)
            for place, row in enumerate(near, first):
                row[place] = 0.0
                some = np.argpartition(-row, MOST)[:MOST]
                best = [at for at in some[np.argsort(-row[some])].tolist() if row[at] > LEAST]
                counts.append(len(best))
                ends += best
                levels += [round(100 * float(row[at])) for at in best]
        tables[name] = np.array([key.encode() for key in keys])
        tables[f"{name}_counts"] = np.array(counts, np.uint8)
        tables[f"{name}_ends"] = np.array(ends, np.uint16)
        tables[f"{name}_levels"] = np.array(levels, np.uint8)
        print(f"{name}: {len(keys):,} words, {len(ends):,} neighbours")
    path = Path(word_neighbours.__file__).with_name(LIST)
    np.savez_compressed(path, **tables)
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def _english(path: str) -> tuple[list[str], list[str]]:
    """The most frequent form of each of the most frequent stems, and the stems."""
    counts: Counter[str] = Counter()
    forms: dict[str, tuple[int, str]] = {}
    for word, count in _lines(path):
        (stem,) = stemmed([word.replace("'", "")])
        counts[stem] += count
        forms[stem] = max(forms.get(stem, (0, "")), (count, word))
    known = latin_figures(counts)
    stems = sorted([stem for stem, _ in counts.most_common() if stem in known][:LATIN], key=str.encode)
    return [forms[stem][1] for stem in stems], stems


def _chinese(path: str) -> tuple[list[str], list[str]]:
    counts = Counter({word: count for word, count in _lines(path) if len(word) <= LONGEST and has_han(word)})
    known = chinese_figures(counts)
    words = sorted([word for word, _ in counts.most_common() if word in known][:HAN], key=str.encode)
    return words, words


def _lines(path: str) -> Iterator[tuple[str, int]]:
    for line in Path(path).read_text("utf-8-sig").splitlines():
        word, count, *_ = line.split(" ")
        yield word, int(count)


def _by_meaning(words: Sequence[str]) -> Any:
    return load_builtin().encode_queries(words)


def _by_pieces(words: Sequence[str]) -> Any:
    """The mean of the vectors of each word's pieces in the vocabulary, by what each says."""
    tokenizer, _ = load_builtin().ready()
    file = read_weights(find_weights())
    table = file.blocks("emb.word", HIDDEN)
    vectors = []
    for word in words:
        ids = tokenizer(word)[1:-1]
        says = np.maximum(1.0, -file.scores[ids])
        vectors.append(says @ unpack(table[ids]) / says.sum())
    return np.stack(vectors)


def _centred(vectors: Any) -> Any:
    moved = vectors - vectors.mean(axis=0)
    return moved / np.linalg.norm(moved, axis=1, keepdims=True)


def _nearness(meaning: Any, pieces: Any) -> Any:
    """0 … 1: the mean of what words mean and of the less of both."""
    near = 0.5 * meaning + 0.5 * np.minimum(meaning, _PIECES * pieces)
    return np.where((meaning > _LEAST_MEANING) & (pieces > _LEAST_PIECES), near, 0.0)


if __name__ == "__main__":
    main(*sys.argv[1:])
