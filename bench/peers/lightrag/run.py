"""LightRAG in its naive mode (vectors of chunks). The language model is a stub that finds no entity, as there is none.

Its tokenizer would be downloaded, so one that counts characters is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import asyncio
from typing import Any

import numpy as np
from harness import Corpus, K, main
from lightrag import LightRAG as Rag
from lightrag import QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer


class Characters:
    def encode(self, content: str) -> list[int]:
        return [ord(letter) for letter in content]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


async def silent(prompt: str, *_: Any, **__: Any) -> str:
    return "<|COMPLETE|>"


class LightRAG:
    packages = ("lightrag-hku",)

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()

    def _rag(self, folder: Path, corpus: Corpus) -> Rag:
        known = corpus.lookup()

        async def given(texts: list[str], **_: Any) -> np.ndarray:
            return np.array([known[text] for text in texts])

        rag = Rag(
            working_dir=str(folder),
            llm_model_func=silent,
            embedding_func=EmbeddingFunc(embedding_dim=corpus.vectors.shape[1], max_token_size=8192, func=given),
            tokenizer=Tokenizer("characters", Characters()),
            chunk_token_size=100_000,
            chunk_overlap_token_size=0,
        )
        self.loop.run_until_complete(rag.initialize_storages())
        return rag

    def build(self, folder: Path, corpus: Corpus) -> None:
        rag = self._rag(folder, corpus)
        run = self.loop.run_until_complete
        run(rag.ainsert(corpus.texts, ids=corpus.ids, file_paths=corpus.ids))
        run(rag.finalize_storages())

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.rag = self._rag(folder, corpus)

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        asked = QueryParam(mode="naive", chunk_top_k=K, enable_rerank=False)
        answer = self.loop.run_until_complete(self.rag.aquery_data(text, asked))
        return [chunk["file_path"] for chunk in answer.get("data", {}).get("chunks", [])]


main(LightRAG())
