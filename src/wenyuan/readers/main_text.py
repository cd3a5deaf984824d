"""Extracts the main text of a web page, without menus and notices, by trafilatura."""

from __future__ import annotations

from functools import cache
from typing import Any

_LEAST_SHARE = 0.3
"""Of the page's text, below which what was found is not taken for the main text: the page is read as a whole."""


def from_the_web(uri: str) -> bool:
    """Whether a document was fetched from a web site, where much of a page belongs to other pages."""
    return uri.startswith(("https://", "http://"))


@cache
def _trafilatura() -> Any:
    """The library; None where the extra ``web`` is not installed, and pages are then read completely."""
    try:
        import trafilatura
    except ImportError:
        return None
    return trafilatura


def main_text(page: str) -> str:
    """The part of a page with its main text, as HTML; ``""`` where none is found or trafilatura is missing."""
    library = _trafilatura()
    if library is None:
        return ""
    found = library.extract(
        page,
        output_format="html",
        include_tables=True,
        include_links=False,
        include_images=False,
        include_comments=False,
        include_formatting=True,
        favor_recall=True,
        with_metadata=False,
    )
    return found or ""


def is_main(part: str, whole: str) -> bool:
    """Whether the text of a part is long enough to be the main text of the page."""
    return len(part) >= _LEAST_SHARE * len(whole)
