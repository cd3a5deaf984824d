"""HTML → `Document`: what a reader of the page sees, as headings, paragraphs, lists, tables and code.

Nothing is fetched. What the page hides (scripts, hidden elements, comments) and what surrounds its text
(navigation, footers, asides) is left out, and the document's notes say how much of it.
"""

from __future__ import annotations

import codecs
import re
from typing import Any

from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, assemble
from wenyuan.readers.decode import decode
from wenyuan.readers.html_walk import Page
from wenyuan.readers.sections import sectioned

__all__ = ["read_html"]

_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_\-]{2,40})""", re.IGNORECASE)
_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ENCODINGS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "big5": "big5hkscs",
    "iso-8859-1": "cp1252",
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be"), "utf-8"),
}
"""What a label means on the web, where it differs from Python's reading (WHATWG Encoding Standard).

A meta element that can be read as ASCII does not stand in UTF-16, whatever it says.
"""
_CLOSED = re.compile(
    r"<(script|style|title|iframe|canvas|textarea|noscript|object|a|div|span|p)(\s[^<>]*)?/>", re.IGNORECASE
)
_XML_NAMES = (".xhtml", ".xht")


def read_html(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a web page.

    Raises:
        DocumentRejected: it holds no visible text.
    """
    from selectolax.lexbor import LexborHTMLParser

    text, notes = _decoded(content)
    if name.lower().endswith(_XML_NAMES) or text.lstrip("\ufeff \t\r\n").startswith("<?xml"):
        text = _CLOSED.sub(r"<\1\2></\1>", text)  # to an HTML parser, <script/> would open a script
    tree = LexborHTMLParser(text)
    page = Page(tree.body)
    title = tree.css_first("head > title")
    root = tree.root
    language = (root.attributes.get("lang") or "") if root is not None else ""
    document = assemble(
        sectioned(page.pieces),
        Original(content, uri, name),
        title=title.text() if title is not None else "",
        media_type="text/html",
        language=language.split("-")[0].strip().lower()[:8],
        empty="it holds no visible text",
        notes=(*notes, *page.notes()),
        metadata=_metadata(tree),
    )
    return (document,)


def _decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Text by byte order mark, else by the page's own ``<meta charset>`` if that fits, else by its bytes."""
    declared = _META.search(content[:4096])
    if declared and not content.startswith(_BOMS):
        label = declared[1].decode("ascii").lower()
        try:
            return content.decode(_ENCODINGS.get(label, label)), ()
        except (LookupError, UnicodeDecodeError):
            result = decode(content)
            return result.text, (*result.notes, f"declares the encoding {label}, which its bytes do not fit")
    result = decode(content)
    return result.text, tuple(result.notes)


def _metadata(tree: Any) -> dict[str, str]:
    found = {}
    for key in ("author", "keywords", "description"):
        node = tree.css_first(f"meta[name={key} i]")
        value = (node.attributes.get("content") or "").strip() if node is not None else ""
        if value:
            found[key] = value[:500]
    return found
