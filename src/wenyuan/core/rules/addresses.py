"""Where an evidence is opened: at an anchor of its document, or at its words; a clause is no anchor."""

from __future__ import annotations

from wenyuan.core.address import parted, told_words
from wenyuan.core.uri import with_fragment

__all__ = ["address_of", "without_clause"]

_CLAUSES_OPEN = (".md", ".markdown", ".docx")  # headings are anchors, or a form of ours: see docs/addresses.md
_NO_PAGES = (
    ".pdf", ".doc", ".docx", ".xls", ".xlsx", ".ppt", ".pptx", ".csv", ".tsv", ".json", ".jsonl", ".zip",
)  # fmt: skip


def without_clause(uri: str, clause: str) -> str:
    """`uri` without a fragment that only repeats the clause: ``…/37#第十条`` → ``…/37``, for nothing there is called so.

    In Markdown and DOCX, whose clauses are opened in this way, it stays.
    """
    if not clause or "#" not in uri:
        return uri
    document, fragment, directive = parted(uri)
    if fragment != clause or _ends(document, _CLAUSES_OPEN):
        return uri
    return with_fragment(document, "", directive)


def address_of(uri: str, clause: str, quote: str) -> str:
    """Where an evidence is opened: a page of the web without an anchor at the first words of the quote."""
    bare = without_clause(uri, clause)
    if not quote or "#" in bare or not bare.startswith(("https://", "http://")) or _ends(bare, _NO_PAGES):
        return bare
    words = told_words(quote)
    return with_fragment(bare, "", f"text={words}") if words else bare


def _ends(uri: str, endings: tuple[str, ...]) -> bool:
    return uri.partition("?")[0].lower().endswith(endings)
