"""Adapters for the frameworks that agents are built with: `langchain`, `llamaindex`, `haystack`, `pydantic_ai`, and
blocks for `anthropic`.

Each takes the URL of a service, a `wenyuan.Client`, or any object that keeps the contract, such as a `wenyuan.Library`.
A failure raises `wenyuan.RetrievalFailed`: no framework gets an empty list instead. Results that came despite a
failed part have ``metadata["degraded"]`` in each document.
"""

from __future__ import annotations

from wenyuan.integrations.asker import Asker, flat, told

__all__ = ["Asker", "flat", "told"]
