"""The agent of `examples/langchain_agent.py`, run in the framework's own environment."""

from __future__ import annotations

from agent_loops import LoopLaws, asked_library

__all__ = ["asked_library"]


class TestLangChain(LoopLaws):
    example = "langchain_agent.py"
