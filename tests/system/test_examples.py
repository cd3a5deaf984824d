"""The agents in `examples` that need no framework; the others are run in environments of their own."""

from __future__ import annotations

from pathlib import Path

from agent_loops import EXAMPLES, LoopLaws, asked_library

__all__ = ["asked_library"]


class TestOpenAI(LoopLaws):
    example = "openai_agent.py"
    inside = True


class TestMcp(LoopLaws):
    example = "mcp_agent.py"
    inside = True


def test_every_example_is_run() -> None:
    """Each file of the folder is named by a test."""
    tests = Path(__file__).parents[1]
    here = (Path(__file__), Path(__file__).with_name("test_verifying_agent.py"))
    named = "".join(p.read_text("utf-8") for p in [*here, *tests.glob("integrations/*/test_example*.py")])
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in named] == []
