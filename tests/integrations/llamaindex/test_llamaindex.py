"""The LlamaIndex retriever against the real package."""

from __future__ import annotations

import asyncio
from typing import Any

from adapter_laws import QUERIES, AdapterLaws, library, url
from wenyuan.integrations.llamaindex import WenyuanRetriever

__all__ = ["library", "url"]


def read(nodes: list[Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(n.node.node_id, n.node.get_content(), n.node.metadata) for n in nodes]


class TestLlamaIndex(AdapterLaws):
    def ask(self, service: Any, query: str, k: int, **restrictions: Any) -> Any:
        return read(WenyuanRetriever(service, top_k=k, **restrictions).retrieve(query))

    def ask_async(self, service: Any, query: str, k: int) -> Any:
        return read(asyncio.run(WenyuanRetriever(service, top_k=k).aretrieve(query)))


def test_scores_and_flat_metadata(url: str) -> None:
    """Nodes have the score of their fragment, and no value that a store would refuse."""
    nodes = WenyuanRetriever(url).retrieve(QUERIES[0])
    assert [n.score for n in nodes] == [n.node.metadata["retrieval_score"] for n in nodes]
    for node in nodes:
        assert all(isinstance(v, (str, int, float, bool, type(None))) for v in node.node.metadata.values())
        assert "scores.keyword" in node.node.metadata
