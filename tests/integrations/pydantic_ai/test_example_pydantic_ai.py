"""The agent of `examples/pydantic_ai_agent.py`, run in the framework's own environment."""

from __future__ import annotations

from agent_loops import LoopLaws, asked_library

__all__ = ["asked_library"]


class TestPydanticAI(LoopLaws):
    example = "pydantic_ai_agent.py"
