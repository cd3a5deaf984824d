"""The agent of `examples/haystack_agent.py`, run in the framework's own environment."""

from __future__ import annotations

from agent_loops import LoopLaws, asked_library

__all__ = ["asked_library"]


class TestHaystack(LoopLaws):
    example = "haystack_agent.py"
