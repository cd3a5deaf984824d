"""A floor: BM25 of tantivy with its default analyser. Words alone."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import numpy as np
import tantivy
from harness import Corpus, main


class Tantivy:
    packages = ("tantivy",)

    def build(self, folder: Path, corpus: Corpus) -> None:
        schema = tantivy.SchemaBuilder().add_text_field("id", stored=True, tokenizer_name="raw")
        schema = schema.add_text_field("body").build()
        writer = (index := tantivy.Index(schema, path=str(folder))).writer()
        for name, text in zip(corpus.ids, corpus.texts, strict=True):
            writer.add_document(tantivy.Document(id=name, body=text))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.index = tantivy.Index.open(str(folder))
        self.searcher = self.index.searcher()

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        query, _ = self.index.parse_query_lenient(text, ["body"])
        hits = self.searcher.search(query, k).hits
        return [self.searcher.doc(address)["id"][0] for _, address in hits]


main(Tantivy())
