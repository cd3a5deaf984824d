"""Adapters for the frameworks that agents are built with: `langchain`, `llamaindex`, `haystack`, `pydantic_ai`, and
blocks for `anthropic`.

Each takes the URL of a service, a `wenyuan.Client`, or any object that keeps the contract, such as a `wenyuan.Library`.
A failure raises `wenyuan.RetrievalFailed`: no framework gets an empty list instead. What came though a part was down
says so in ``metadata["degraded"]`` of each document.
"""
