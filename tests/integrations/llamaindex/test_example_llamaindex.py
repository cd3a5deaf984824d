"""The agent of `examples/llamaindex_agent.py`, run in the framework's own environment."""

from __future__ import annotations

from agent_loops import LoopLaws, asked_library

__all__ = ["asked_library"]


class TestLlamaIndex(LoopLaws):
    example = "llamaindex_agent.py"
