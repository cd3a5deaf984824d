"""Unified retrieval of rules and cases.

from wenyuan.knowledge_retriever import KnowledgeRetriever

with KnowledgeRetriever.from_storage("library") as retriever:
    found = retriever.retrieve("深基坑开挖的安全措施", chapter="ch08_safety", parameters={"depth_m": 6})
    for item in found.items:
        print(item.priority, f"{item.score:.2f}", item.content)
"""

from __future__ import annotations

from wenyuan.knowledge_retriever.config import (
    CHAPTERS_NEED_KG,
    DEFAULT_VECTOR_THRESHOLD,
    DEFAULT_VECTOR_TOP_K,
    PRIORITY_FREE_GEN,
    PRIORITY_KG_RULE,
    PRIORITY_TEMPLATE,
    PRIORITY_VECTOR_CASE,
    TEMPLATE_COLLECTION,
)
from wenyuan.knowledge_retriever.models import (
    Items,
    ProcessRequirements,
    RetrievalItem,
    RetrievalResponse,
    RetrievalResult,
)
from wenyuan.knowledge_retriever.retriever import KnowledgeRetriever
from wenyuan.knowledge_retriever.retriever_engines import KGRetriever, VectorRetriever

__all__ = [
    "CHAPTERS_NEED_KG",
    "DEFAULT_VECTOR_THRESHOLD",
    "DEFAULT_VECTOR_TOP_K",
    "PRIORITY_FREE_GEN",
    "PRIORITY_KG_RULE",
    "PRIORITY_TEMPLATE",
    "PRIORITY_VECTOR_CASE",
    "TEMPLATE_COLLECTION",
    "Items",
    "KGRetriever",
    "KnowledgeRetriever",
    "ProcessRequirements",
    "RetrievalItem",
    "RetrievalResponse",
    "RetrievalResult",
    "VectorRetriever",
]
