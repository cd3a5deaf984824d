"""Anthropic: fragments as ``search_result`` blocks, which its models cite.

>>> from wenyuan.integrations.anthropic import search_results  # doctest: +SKIP
>>> tool_result = {"type": "tool_result", "tool_use_id": "…", "content": search_results(fragments)}  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wenyuan.core.model import Fragment
from wenyuan.core.text.injection import visible

__all__ = ["failed_result", "search_results"]


def search_results(fragments: Iterable[Fragment], *, citations: bool = True) -> list[dict[str, Any]]:
    """Blocks for the content of a tool result or of a user's message, in the order of the fragments.

    Args:
        citations: Whether the model shall cite them; of one request, all blocks must say the same.
    """
    return [
        {
            "type": "search_result",
            "source": fragment.source,
            "title": _title(fragment),
            "content": [{"type": "text", "text": visible(fragment.content) or "……"}],
            "citations": {"enabled": citations},
        }
        for fragment in fragments
    ]


def failed_result(tool_use_id: str, error: Exception) -> dict[str, Any]:
    """The tool result that tells the model of a failure: never an empty list of blocks."""
    said = f"The knowledge service failed; this is not an empty answer: {error}"
    return {"type": "tool_result", "tool_use_id": tool_use_id, "is_error": True, "content": said}


def _title(fragment: Fragment) -> str:
    told = fragment.metadata
    parts = [str(part) for part in (told.get("title"), told.get("heading")) if part]
    marks = [f"trust {told['trust']}"] if "trust" in told else []
    marks += [f"degraded: {told['degraded']} did not answer"] if told.get("degraded") else []
    return (" > ".join(parts) or fragment.source) + (f" ({', '.join(marks)})" if marks else "")
