"""The main text of a page of the web, without menus, notices and what else stands around it; by trafilatura."""

from __future__ import annotations

from functools import cache
from typing import Any

_LEAST_SHARE = 0.3
"""Of the page's text, below which what was found is not taken for the main text: the page is read as a whole."""


def from_the_web(uri: str) -> bool:
    """Whether a page was read from a web site, where most of a page may be about other pages."""
    return uri.startswith(("https://", "http://"))


@cache
def _trafilatura() -> Any:
    """The library; None where the extra ``web`` is not installed: pages are read as a whole then."""
    try:
        import trafilatura
    except ImportError:
        return None
    return trafilatura


def main_text(page: str) -> str:
    """The part of a page that holds its main text, as HTML; ``""`` where none is found, or nothing can look for it."""
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
    """Whether the text of a part is enough to be the main text of a page with this text."""
    return len(part) >= _LEAST_SHARE * len(whole)
