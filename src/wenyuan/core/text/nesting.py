"""How deep the elements of an HTML page stand in one another."""

from __future__ import annotations

import re

from wenyuan.core.errors import DocumentRejected

_MAX_DEPTH = 600  # browsers stop at 512
_MAX_TABLES = 200  # each costs its page several levels, and the reader a walk through all below it
_NESTING = re.compile(
    r"<(/?)(div|section|article|main|aside|nav|header|footer|figure|details|table|ul|ol|dl|blockquote|center)"
    r"(?=[\s/>])",
    re.IGNORECASE,
)
"""Opened and closed elements that are never left open by habit, as ``<p>`` and ``<a>`` are."""


def check_depth(text: str) -> None:
    """Refuse a page with elements in one another beyond all use: at each the parser goes through all around it.

    Raises:
        DocumentRejected: it is nested too deeply.
    """
    depth = tables = 0
    for tag in _NESTING.finditer(text):
        step = -1 if tag[1] else 1
        depth = max(depth + step, 0)
        if tag[2].lower() == "table":
            tables = max(tables + step, 0)
        if depth > _MAX_DEPTH or tables > _MAX_TABLES:
            raise DocumentRejected("it is nested too deeply")
