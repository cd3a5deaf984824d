"""A passage as people see it below its title: without the headings that stand there already, and without rules of tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RULE = re.compile(r"\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?\s*)?")


def body(text: str, headings: Sequence[str]) -> str:
    """A passage without its leading headings and without table rules.

    Args:
        headings: What stands above it: its title and headings.
    """
    known = {"".join(heading.split()) for heading in headings}
    lines = text.split("\n")
    while len(lines) > 1 and (not lines[0].strip() or "".join(lines[0].lstrip("#").split()) in known):
        del lines[0]
    return "\n".join(line for line in lines if not _RULE.fullmatch(line.strip()))
