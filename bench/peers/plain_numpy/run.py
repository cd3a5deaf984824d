"""A floor: cosines by one matrix product, sorted. Vectors alone."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import json

import numpy as np
from harness import Corpus, main


class Numpy:
    packages = ("numpy",)

    def build(self, folder: Path, corpus: Corpus) -> None:
        np.save(folder / "vectors.npy", corpus.vectors)
        (folder / "ids.json").write_text(json.dumps(corpus.ids), "utf-8")

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.vectors = np.load(folder / "vectors.npy")
        self.ids = json.loads((folder / "ids.json").read_text("utf-8"))

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        return [self.ids[i] for i in np.argsort(-(self.vectors @ vector), kind="stable")[:k]]


main(Numpy())
