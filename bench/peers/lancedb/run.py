"""LanceDB: one table with a vector column and a full-text index, asked with `query_type="hybrid"`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import lancedb
import numpy as np
from harness import Corpus, main


class LanceDB:
    packages = ("lancedb",)

    def build(self, folder: Path, corpus: Corpus) -> None:
        rows = zip(corpus.ids, corpus.texts, corpus.vectors, strict=True)
        table = lancedb.connect(str(folder)).create_table(
            "texts", [{"id": name, "text": text, "vector": row} for name, text, row in rows]
        )
        table.create_fts_index("text")

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.table = lancedb.connect(str(folder)).open_table("texts")

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        search = self.table.search(query_type="hybrid").vector(vector).text(text).limit(k)
        return [row["id"] for row in search.to_list()]


main(LanceDB())
