"""Knowledge as files: sources as folders, documents by their addresses, their texts by lines."""

from wenyuan.service.tree.knowledge_tree import KnowledgeTree

__all__ = ["KnowledgeTree"]
