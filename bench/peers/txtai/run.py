"""txtai: `Embeddings(hybrid=True)`, the vectors given by an external function."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import Corpus, main
from txtai import Embeddings

KNOWN: dict[str, np.ndarray] = {}


def given(texts: list[str]) -> np.ndarray:
    return np.array([KNOWN[text] for text in texts])


class Txtai:
    packages = ("txtai",)

    def build(self, folder: Path, corpus: Corpus) -> None:
        KNOWN.update(corpus.lookup())
        made = Embeddings(method="external", transform=given, hybrid=True)
        made.index(zip(corpus.ids, corpus.texts, strict=True))
        made.config["transform"] = ""  # a function cannot be stored
        made.save(str(folder / "index"))

    def open(self, folder: Path, corpus: Corpus) -> None:
        KNOWN.update(corpus.lookup())
        self.index = Embeddings()
        self.index.load(str(folder / "index"), config={"transform": given})

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        return [name for name, _ in self.index.search(text, k)]


main(Txtai())
