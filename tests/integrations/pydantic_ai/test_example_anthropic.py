"""The agent of `examples/anthropic_agent.py`, with the real package."""

from __future__ import annotations

from agent_loops import LoopLaws, asked_library

__all__ = ["asked_library"]


class TestAnthropic(LoopLaws):
    example = "anthropic_agent.py"
    root = False
