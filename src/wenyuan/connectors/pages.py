"""Links of a page and pages of a sitemap; called in a process of its own (`core.connectors.Parse`)."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.remote_addresses import ascii_host
from wenyuan.core.text.charsets import charset_of
from wenyuan.core.text.nesting import check_depth

MOST_LINKS = 5_000
"""So many links of one page are followed."""
MOST_UNPACKED = 50 << 20
"""Bytes of an unpacked sitemap."""
MOST_NAMED = 200_000
"""So many pages of one sitemap are read, and so many sitemaps; the protocol allows 50,000."""
_LONGEST = 2_000  # characters of an address
_USUAL = {"http": 80, "https": 443}
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([A-Za-z0-9_\-]{1,40})", re.IGNORECASE)


def plain_address(address: str, base: str = "") -> str:
    """Normal form of a web address; ``""`` for anything else.

    Without a fragment and the usual port, its host in small letters, and what is no ASCII escaped.
    """
    if len(address) > 2 * _LONGEST:
        return ""
    try:
        parts = urlsplit(urljoin(base, address.strip()))
        scheme, host, port = parts.scheme.lower(), ascii_host(parts.hostname or ""), parts.port
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
        query = quote(parts.query, safe="/%:@!$&'()*+,;=~?[]")
    except ValueError:
        return ""
    if scheme not in _USUAL or not host or "@" in parts.netloc:
        return ""
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, _USUAL[scheme]) else f"{shown}:{port}"
    plain = urlunsplit((scheme, place, path, query, ""))
    return plain if len(plain) <= _LONGEST else ""


def links_of(content: bytes, base: str, content_type: str = "") -> dict[str, Any]:
    """Of an HTML page: ``links`` in its order, each once; whether its robots meta tags allow to ``index`` it, and to
    ``follow`` its links.

    Args:
        content_type: Of the HTTP header, which may name the character set.

    Raises:
        DocumentRejected: it is nested too deeply.
    """
    from selectolax.lexbor import LexborHTMLParser

    text = _text(content, content_type)
    check_depth(text)
    tree = LexborHTMLParser(text)
    links: dict[str, None] = {}
    index = follow = True
    for node in tree.css("base, meta, a[href], area[href]"):
        values = {name.lower(): value or "" for name, value in node.attributes.items()}
        if node.tag == "base":
            base = plain_address(values.get("href", ""), base) or base
        elif node.tag == "meta":
            if values.get("name", "").lower() in ("robots", "wenyuan"):
                words = values.get("content", "").lower()
                index &= "noindex" not in words and "none" not in words
                follow &= "nofollow" not in words and "none" not in words
        elif "nofollow" not in values.get("rel", "").lower():
            address = plain_address(values["href"], base) if values["href"] else ""
            if address and len(links) < MOST_LINKS:
                links[address] = None
    return {"links": list(links), "index": index, "follow": follow}


def _text(content: bytes, content_type: str) -> str:
    named = _CHARSET.search(content_type.encode("latin-1", "replace")) or _CHARSET.search(content[:2_048])
    charset = charset_of(named[1].decode()) if named else ""
    return content.decode(charset or "utf-8", "replace")


def sitemap_of(content: bytes) -> dict[str, Any]:
    """A sitemap (sitemaps.org), also packed by gzip: its ``pages`` with their days of change (``""`` without one),
    and the addresses of ``more`` sitemaps.

    Raises:
        DocumentRejected: it is no sitemap, or too large when unpacked.
    """
    from lxml import etree

    packed = content.startswith(b"\x1f\x8b")
    stream: BinaryIO = io.BytesIO(_unpacked(content) if packed else content)
    pages: dict[str, str] = {}
    more: list[str] = []
    root = ""
    try:
        for entry in _entries(stream):
            if isinstance(entry, str):
                root = entry
                continue
            kind, values = entry
            if kind == "url":
                pages.setdefault(values["loc"], values.get("lastmod", ""))
            else:
                more.append(values["loc"])
            if len(pages) + len(more) >= MOST_NAMED:
                break
    except (etree.LxmlError, ValueError, LookupError) as error:
        raise DocumentRejected("it is no XML") from error
    if not pages and not more and root not in ("urlset", "sitemapindex"):
        raise DocumentRejected("it is no sitemap")
    return {"pages": pages, "more": more}


def _entries(stream: BinaryIO) -> Iterator[str | tuple[str, dict[str, str]]]:
    """The name of the root, then each ``url`` and ``sitemap`` that has a ``loc``, with the texts of its children."""
    from lxml import etree

    depth = 0
    values: dict[str, str] = {}
    for event, element in etree.iterparse(
        stream,
        events=("start", "end"),
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
    ):
        name = element.tag.rpartition("}")[2]
        if event == "start":
            depth += 1
            if depth == 1:
                if element.getroottree().docinfo.doctype:
                    raise DocumentRejected("it declares entities")
                yield name
            elif depth == 2:
                values = {}
            continue
        depth -= 1
        if depth == 2:
            values[name] = (element.text or "").strip()
        elif depth == 1:
            if name in ("url", "sitemap") and values.get("loc"):
                yield name, values
            element.getparent().remove(element)  # its memory


def _unpacked(content: bytes) -> bytes:
    """The bytes in one or more members of gzip."""
    pieces, room = [], MOST_UNPACKED
    while content.startswith(b"\x1f\x8b"):
        unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            pieces.append(unpacking.decompress(content, room + 1))
        except zlib.error as error:
            raise DocumentRejected("it is damaged") from error
        room -= len(pieces[-1])
        if room < 0:
            raise DocumentRejected("it unfolds to too much")
        if not unpacking.eof:
            raise DocumentRejected("it is damaged")
        content = unpacking.unused_data
    return b"".join(pieces)
