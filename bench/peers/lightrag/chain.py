"""LightRAG's `get_knowledge_graph` over a graph that is given whole: CORPUS is its JSON, as `compare.py` writes it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from lightrag import LightRAG
from lightrag.utils import EmbeddingFunc, Tokenizer


class Characters:
    def encode(self, content: str) -> list[int]:
        return [ord(letter) for letter in content]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


async def no_model(*_: Any, **__: Any) -> str:
    raise RuntimeError("nothing here needs a language model")


async def no_meaning(texts: list[str], **_: Any) -> np.ndarray:
    return np.ones((len(texts), 8), np.float32)


async def walked(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    rag = LightRAG(
        working_dir=str(folder),
        llm_model_func=no_model,
        embedding_func=EmbeddingFunc(embedding_dim=8, max_token_size=8192, func=no_meaning),
        tokenizer=Tokenizer("characters", Characters()),
    )
    await rag.initialize_storages()
    await rag.ainsert_custom_kg(
        {
            "chunks": [],
            "entities": [{"entity_name": n, "entity_type": kind} for n, kind in given["nodes"]],
            "relationships": [
                {"src_id": a, "tgt_id": b, "description": how, "keywords": how} for a, how, b in given["links"]
            ],
        }
    )
    found, milliseconds, edges = {}, [], []
    for process in given["processes"]:
        begun = time.perf_counter()
        graph = await rag.get_knowledge_graph(process, max_depth=given["depth"], max_nodes=1_000)
        milliseconds.append((time.perf_counter() - begun) * 1e3)
        found[process] = [node.id for node in graph.nodes if node.id != process]
        edges += [(edge.source, edge.target) for edge in graph.edges]
    await rag.finalize_storages()
    return {"found": found, "ms": milliseconds, "edges": edges}


given, folder, result = map(Path, sys.argv[1:4])
folder.mkdir(parents=True, exist_ok=True)
told = asyncio.run(walked(json.loads(given.read_text("utf-8")), folder))
result.write_text(json.dumps(told, ensure_ascii=False), "utf-8")
