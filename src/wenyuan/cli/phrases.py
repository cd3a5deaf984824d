"""Messages with parts that vary, each known by its pattern: ``{a}`` stands for any text."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["Patterns", "compiled"]

Patterns = tuple[tuple[re.Pattern[str], str], ...]


def compiled(phrases: Mapping[str, str]) -> Patterns:
    """The pattern of each message, in their order, and what it is in the other language."""
    made = []
    for english, chinese in phrases.items():
        parts = re.split(r"\{([a-z])\}", english)
        pattern = "".join(f"(?P<{p}>.+?)" if i % 2 else re.escape(p) for i, p in enumerate(parts))
        made.append((re.compile(pattern, re.DOTALL), chinese))
    return tuple(made)
