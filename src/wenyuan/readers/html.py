"""HTML to a `Document`: the text visible on the page, or the main text of a web page without menus and notices."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.core.text.charsets import charset_of
from wenyuan.core.text.nesting import check_depth
from wenyuan.readers.assemble import Original, assemble, unread
from wenyuan.readers.decoding import decode
from wenyuan.readers.numbered_headings import sectioned
from wenyuan.readers.page import NOT_TEXT, Page
from wenyuan.readers.text import measured

# Extracts the main text of a web page, without menus and notices, by trafilatura.

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


# HTML → `Document`: what a reader of the page sees, as headings, paragraphs, lists, tables and code.
#
# Nothing is fetched. What the page hides (scripts, hidden elements, comments) and what surrounds its text
# (navigation, footers, asides) is left out, and the document's notes say how much of it.


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
    """Read a web page; of a page from a web site, only its main text.

    Raises:
        DocumentRejected: it holds no visible text.
    """
    tree, notes = parsed(content, xml=name.lower().endswith(_XML_NAMES))
    said = _Said.of(tree)
    original = Original(content, uri, name)
    document, page = _read(tree, original, notes, said)
    pictures, unknown = len(tree.css("img, svg, canvas, object")), unread_kinds(tree)
    whole = own_text(tree)
    if from_the_web(uri) and (part := main_text(_without(tree, page, content))):
        small, _ = parsed(part.encode(), xml=False)
        held = own_text(small)
        if is_main(held, document.text):
            count = max(0, len(document.text) - len(held))
            around = msg("only its main text was read: {count} characters around it were left out", count=count)
            document, page = _read(small, original, (*notes, around), said)
            whole = held
    return (measured(document, whole, added=page.added, pictures=pictures, warnings=unread(unknown)),)


def _without(tree: Any, page: Page, content: bytes) -> str:
    """A page as it stands, without what nobody sees on it."""
    if not page.unseen:
        return _decoded(content)[0]
    for node in page.unseen:
        node.decompose()
    return str(tree.html or "")


class _Said(NamedTuple):
    """Metadata of a page."""

    title: str
    language: str
    metadata: dict[str, str]

    @classmethod
    def of(cls, tree: Any) -> _Said:
        title, root = tree.css_first("head > title"), tree.root
        language = (root.attributes.get("lang") or "") if root is not None else ""
        return cls(
            title.text() if title is not None else "", language.split("-")[0].strip().lower()[:8], _metadata(tree)
        )


def _read(tree: Any, original: Original, notes: tuple[str, ...], said: _Said) -> tuple[Document, Page]:
    page = Page(tree.body, styles_of(tree), foreign=has_foreign_styles(tree))
    document = assemble(
        sectioned(page.pieces),
        original,
        title=said.title,
        media_type="text/html",
        language=said.language,
        empty="it holds no visible text",
        notes=(*notes, *page.notes()),
        metadata=said.metadata,
    )
    return document, page


def parsed(content: bytes, *, xml: bool) -> tuple[Any, tuple[str, ...]]:
    """The parsed tree of a page, and notes on its encoding.

    Args:
        xml: It is XHTML by its name; whether it says so itself is seen in any case.

    Raises:
        DocumentRejected: it is in no encoding that is read, or nested too deeply.
    """
    from selectolax.lexbor import LexborHTMLParser

    text, notes = _decoded(content)
    check_depth(text)
    if xml or text.lstrip("\ufeff \t\r\n").startswith("<?xml"):
        text = _CLOSED.sub(r"<\1\2></\1>", text)  # to an HTML parser, <script/> would open a script
    return LexborHTMLParser(text), notes


_MEDIA = "iframe, frame, embed, applet, video, audio, portal"
_CUSTOM = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_MOST_CUSTOM = 100_000  # elements of a page that are looked at


def unread_kinds(tree: Any) -> Counter[str]:
    """What a page shows from elsewhere or by a script, which is not read, by the name of its element: frames, media, and
    elements of the page's own that hold no text.
    """
    found = Counter(str(node.tag) for node in tree.css(_MEDIA))
    for node in tree.css("body *")[:_MOST_CUSTOM]:
        if "-" in node.tag and _CUSTOM.fullmatch(node.tag) and node.child is None:
            found[node.tag] += 1
    return found


def styles_of(tree: Any) -> str:
    """The style sheets that stand in a page; those for some screens, or for paper, within a block that says so."""
    found = []
    for node in tree.css("style"):
        media = (node.attributes.get("media") or "").strip()
        found.append(f"@media {media} {{ {node.text()} }}" if media else node.text())
    return "\n".join(found)


def has_foreign_styles(tree: Any) -> bool:
    """Whether a page takes style sheets from elsewhere."""
    return tree.css_first("link[rel~=stylesheet i]") is not None or "@import" in styles_of(tree)


def own_text(tree: Any) -> str:
    """The text of a page's body, visible or not. Removes scripts and page furniture from the tree."""
    for node in tree.css(NOT_TEXT):
        node.decompose()
    return tree.body.text() if tree.body is not None else ""


def _decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Text decoded by byte order mark, else by ``<meta charset>`` if that is valid, else by detection."""
    declared = _META.search(content[:4096])
    if declared and not content.startswith(_BOMS):
        label = declared[1].decode("ascii").lower()
        if charset := charset_of(_ENCODINGS.get(label, label)):
            with suppress(UnicodeDecodeError):
                return content.decode(charset), ()
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
